"""Pages of a feed."""

import base64
import hmac
import json
import sqlite3

_COLUMNS = ("id", "author", "created", "title")


class BadCursor(ValueError):
    """The cursor was not made here, or not for this feed."""


def prepare(database: sqlite3.Connection) -> None:
    """Make the indexes that pages need."""
    database.execute("CREATE INDEX IF NOT EXISTS feed ON posts (created, id) WHERE hidden = 0")
    database.execute("CREATE INDEX IF NOT EXISTS feed_of_author ON posts (author, created, id) WHERE hidden = 0")


def page(
    database: sqlite3.Connection, secret: bytes, size: int = 20, cursor: str | None = None, author: str | None = None
) -> dict:
    """Return a page of the feed."""
    if not 1 <= size <= 100:
        raise ValueError("size is from 1 to 100")
    back, place = _read(secret, cursor, author) if cursor is not None else (False, None)
    posts = _beyond(database, place, author, size + 1, back=back)
    more = len(posts) > size
    posts = posts[:size]
    if not posts:
        return {"posts": [], "next": None, "previous": None}
    if back:
        posts.reverse()
    first, last = ((post["created"], post["id"]) for post in (posts[0], posts[-1]))
    others = place is not None and bool(_beyond(database, last if back else first, author, 1, back=not back))
    before, after = (more, others) if back else (others, more)
    return {
        "posts": posts,
        "next": _write(secret, author, last, back=False) if after else None,
        "previous": _write(secret, author, first, back=True) if before else None,
    }


def _beyond(
    database: sqlite3.Connection, place: tuple[int, int] | None, author: str | None, most: int, *, back: bool
) -> list[dict]:
    sign, order = (">", "ASC") if back else ("<", "DESC")
    conditions, values = ["hidden = 0"], []
    if author is not None:
        conditions.append("author = ?")
        values.append(author)
    if place is not None:
        conditions.append(f"(created, id) {sign} (?, ?)")
        values += place
    rows = database.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM posts WHERE {' AND '.join(conditions)} "
        f"ORDER BY created {order}, id {order} LIMIT ?",
        (*values, most),
    )
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


def _signature(secret: bytes, body: bytes) -> str:
    return hmac.new(secret, body, "sha256").hexdigest()


def _write(secret: bytes, author: str | None, place: tuple[int, int], *, back: bool) -> str:
    body = base64.urlsafe_b64encode(json.dumps([back, author, *place]).encode())
    return f"{body.decode()}.{_signature(secret, body)}"


def _read(secret: bytes, cursor: str, author: str | None) -> tuple[bool, tuple[int, int]]:
    body, _, signature = cursor.encode("utf-8", "replace").rpartition(b".")
    if not hmac.compare_digest(_signature(secret, body).encode(), signature):
        raise BadCursor("the cursor was not made here")
    back, of, created, post = json.loads(base64.urlsafe_b64decode(body))
    if of != author:
        raise BadCursor("the cursor is of another feed")
    return back, (created, post)
