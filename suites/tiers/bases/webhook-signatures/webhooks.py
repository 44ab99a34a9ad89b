"""Messages of a provider, and whether they are genuine."""


class Rejected(Exception):
    """The message is not accepted; the first argument is the reason."""


def sign(secret: bytes, body: bytes, time: int) -> str:
    """Return the header of a message."""
    raise NotImplementedError


class Webhooks:
    """Receives messages."""

    def __init__(self, secrets: list[bytes], clock, tolerance: int = 300) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def receive(self, header: str, body: bytes) -> dict:
        """Return the object in a message; raises ``Rejected``."""
        raise NotImplementedError
