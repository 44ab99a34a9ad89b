"""Pages of a feed."""

import sqlite3


class BadCursor(ValueError):
    """The cursor was not made here, or not for this feed."""


def prepare(database: sqlite3.Connection) -> None:
    """Make the indexes that pages need."""
    raise NotImplementedError


def page(
    database: sqlite3.Connection, secret: bytes, size: int = 20, cursor: str | None = None, author: str | None = None
) -> dict:
    """Return a page of the feed."""
    raise NotImplementedError
