"""What a shop has, and what of it is reserved."""


class SoldOut(Exception):
    """Some items have too few; the argument lists them."""


class Expired(Exception):
    """The order has no reservation, or none any longer."""


class Stock:
    """The stock in one file. Each call opens the file for itself, so that threads can share a stock."""

    def __init__(self, path: str, clock, hold: int = 900) -> None:
        raise NotImplementedError

    def receive(self, item: str, count: int) -> None:
        raise NotImplementedError

    def available(self, item: str) -> int:
        raise NotImplementedError

    def reserve(self, order: str, lines: dict[str, int]) -> None:
        raise NotImplementedError

    def confirm(self, order: str) -> None:
        raise NotImplementedError

    def release(self, order: str) -> None:
        raise NotImplementedError

    def history(self, item: str) -> list[tuple[str, str | None, int]]:
        raise NotImplementedError
