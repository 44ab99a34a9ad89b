"""What is paid for a month in which something changed."""

from datetime import date


def invoice(
    month: tuple[int, int], changes: list[tuple[date, str | None, int]], prices: dict[str, int], credits: int = 0
) -> dict:
    """Return the lines, the credit that is used, and the total."""
    raise NotImplementedError
