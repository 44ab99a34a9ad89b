"""The links, in an SQLite file."""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCHEMA = Path(__file__).with_name("schema.sql")


class Taken(Exception):
    """The code belongs to another address."""


class Store:
    """The links in one file. Each call opens the file for itself, so that threads can share a store."""

    def __init__(self, path: str) -> None:
        self._path = path
        with self._opened() as database:
            database.executescript(_SCHEMA.read_text(encoding="utf-8"))

    def add(self, url: str, code: str | None, expires: int | None, now: int) -> tuple[dict, bool]:
        """Add a link and return it, and whether it is new; raises ``Taken``."""
        code = code or secrets.token_hex(5)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            found = self._find(database, code)
            if found is not None and (found["expires"] is None or now < found["expires"]):
                if found["url"] != url:
                    raise Taken
                return found, False
            database.execute("INSERT OR REPLACE INTO links (code, url, expires) VALUES (?, ?, ?)", (code, url, expires))
            database.execute("COMMIT")
        return {"code": code, "url": url, "visits": 0, "expires": expires}, True

    def find(self, code: str) -> dict | None:
        """Return a link, None where there is none."""
        with self._opened() as database:
            return self._find(database, code)

    def visit(self, code: str) -> None:
        """Count one more visit."""
        with self._opened() as database:
            database.execute("UPDATE links SET visits = visits + 1 WHERE code = ?", (code,))

    def remove(self, code: str) -> bool:
        """Remove a link; return whether there was one."""
        with self._opened() as database:
            return database.execute("DELETE FROM links WHERE code = ?", (code,)).rowcount == 1

    @staticmethod
    def _find(database: sqlite3.Connection, code: str) -> dict | None:
        row = database.execute("SELECT code, url, visits, expires FROM links WHERE code = ?", (code,)).fetchone()
        return dict(zip(("code", "url", "visits", "expires"), row, strict=True)) if row else None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        try:
            yield database
        finally:
            database.close()
