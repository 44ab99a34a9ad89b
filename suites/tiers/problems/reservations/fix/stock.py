"""What a shop has, and what of it is reserved."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCHEMA = Path(__file__).with_name("schema.sql")
_AVAILABLE = """
SELECT COALESCE(SUM(CASE kind WHEN 'reserved' THEN -count WHEN 'confirmed' THEN 0 ELSE count END), 0)
FROM events WHERE item = ?
"""


class SoldOut(Exception):
    """Some items have too few; the argument lists them."""


class Expired(Exception):
    """The order has no reservation, or none any longer."""


class Stock:
    """The stock in one file. Each call opens the file for itself, so that threads can share a stock."""

    def __init__(self, path: str, clock, hold: int = 900) -> None:
        self._path = path
        self._clock = clock
        self._hold = hold
        database = sqlite3.connect(path, timeout=60)
        database.executescript(_SCHEMA.read_text(encoding="utf-8"))
        database.close()

    def receive(self, item: str, count: int) -> None:
        if count < 1:
            raise ValueError("count must be at least 1")
        with self._changing() as database:
            _enter(database, "received", None, {item: count})

    def available(self, item: str) -> int:
        with self._changing() as database:
            return database.execute(_AVAILABLE, (item,)).fetchone()[0]

    def reserve(self, order: str, lines: dict[str, int]) -> None:
        if not lines or min(lines.values()) < 1:
            raise ValueError("an order has lines with counts of at least 1")
        with self._changing() as database:
            state = _state(database, order)
            if state == "confirmed" or (state == "reserved" and _lines(database, order) != lines):
                raise ValueError(f"order {order} is {state}")
            if state == "reserved":
                return
            lacking = [
                item for item, count in lines.items() if database.execute(_AVAILABLE, (item,)).fetchone()[0] < count
            ]
            if lacking:
                raise SoldOut(sorted(lacking))
            database.execute("DELETE FROM lines WHERE order_name = ?", (order,))
            ends = self._now + self._hold
            database.execute("INSERT OR REPLACE INTO orders VALUES (?, 'reserved', ?)", (order, ends))
            database.executemany("INSERT INTO lines VALUES (?, ?, ?)", [(order, *line) for line in lines.items()])
            _enter(database, "reserved", order, lines)

    def confirm(self, order: str) -> None:
        with self._changing() as database:
            state = _state(database, order)
            if state == "confirmed":
                return
            if state != "reserved":
                raise Expired(order)
            _end(database, order, "confirmed", "confirmed")

    def release(self, order: str) -> None:
        with self._changing() as database:
            state = _state(database, order)
            if state == "confirmed":
                raise ValueError(f"order {order} is confirmed")
            if state == "reserved":
                _end(database, order, "ended", "released")

    def history(self, item: str) -> list[tuple[str, str | None, int]]:
        with self._changing() as database:
            return database.execute(
                "SELECT kind, order_name, count FROM events WHERE item = ? ORDER BY id", (item,)
            ).fetchall()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        try:
            database.execute("BEGIN IMMEDIATE")
            self._now = now = self._clock()
            over = "SELECT name FROM orders WHERE state = 'reserved' AND ends <= ? ORDER BY ends, name"
            for (order,) in database.execute(over, (now,)).fetchall():
                _end(database, order, "ended", "expired")
            database.execute("SAVEPOINT expired")
            try:
                yield database
            except Exception:
                database.execute("ROLLBACK TO expired")
                database.execute("COMMIT")
                raise
            database.execute("COMMIT")
        finally:
            database.close()


def _state(database: sqlite3.Connection, order: str) -> str | None:
    row = database.execute("SELECT state FROM orders WHERE name = ?", (order,)).fetchone()
    return row[0] if row else None


def _lines(database: sqlite3.Connection, order: str) -> dict[str, int]:
    return dict(database.execute("SELECT item, count FROM lines WHERE order_name = ?", (order,)).fetchall())


def _end(database: sqlite3.Connection, order: str, state: str, kind: str) -> None:
    database.execute("UPDATE orders SET state = ? WHERE name = ?", (state, order))
    _enter(database, kind, order, _lines(database, order))


def _enter(database: sqlite3.Connection, kind: str, order: str | None, lines: dict[str, int]) -> None:
    rows = [(item, kind, order, count) for item, count in lines.items()]
    database.executemany("INSERT INTO events (item, kind, order_name, count) VALUES (?, ?, ?, ?)", rows)
