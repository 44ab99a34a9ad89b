"""Carry out each payment once."""


class KeyReused(Exception):
    """The key belongs to another request."""


class InProgress(Exception):
    """The request is under way."""


class Declined(Exception):
    """The payment was declined; the arguments say why."""


class Payments:
    """Payments by their idempotency keys."""

    def __init__(self, charge, clock, keep: int = 86_400) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def pay(self, key: str, request: dict) -> tuple[object, bool]:
        """Return the response, and whether it is a repeated one."""
        raise NotImplementedError
