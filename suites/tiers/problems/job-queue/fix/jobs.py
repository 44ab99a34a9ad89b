"""Jobs in an SQLite file."""

import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    key TEXT,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    ready INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    token TEXT,
    error TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS open_keys ON jobs (key) WHERE state IN ('waiting', 'leased');
CREATE INDEX IF NOT EXISTS next_jobs ON jobs (name, state, priority DESC, ready, id);
CREATE INDEX IF NOT EXISTS leases ON jobs (ready) WHERE state = 'leased';
"""


class LeaseLost(Exception):
    """The worker no longer has the job."""


class Queue:
    """The jobs in one file. Each call opens the file for itself, so that threads can share a queue."""

    def __init__(self, path: str, clock, lease: int = 60, attempts: int = 3) -> None:
        self._path = path
        self._clock = clock
        self._lease = lease
        self._attempts = attempts
        database = sqlite3.connect(path, timeout=60)
        database.executescript(_SCHEMA)
        database.close()

    def add(self, name: str, data: object, key: str | None = None, after: int = 0, priority: int = 0) -> int:
        with self._opened() as (database, now):
            if key is not None:
                open_job = "SELECT id FROM jobs WHERE key = ? AND state IN ('waiting', 'leased')"
                found = database.execute(open_job, (key,)).fetchone()
                if found:
                    return found[0]
            return database.execute(
                "INSERT INTO jobs (name, data, key, priority, ready) VALUES (?, ?, ?, ?, ?)",
                (name, json.dumps(data), key, priority, now + after),
            ).lastrowid

    def take(self, names: list[str]) -> dict | None:
        with self._opened() as (database, now):
            rows = []
            for name in names:
                rows += database.execute(
                    "SELECT -priority, ready, id, name, data, attempt FROM jobs "
                    "WHERE name = ? AND state = 'waiting' AND ready <= ? ORDER BY priority DESC, ready, id LIMIT 1",
                    (name, now),
                ).fetchall()
            if not rows:
                return None
            _, _, job, name, data, attempt = min(rows)
            token = secrets.token_hex(8)
            database.execute(
                "UPDATE jobs SET state = 'leased', ready = ?, attempt = ?, token = ? WHERE id = ?",
                (now + self._lease, attempt + 1, token, job),
            )
            return {"id": job, "name": name, "data": json.loads(data), "attempt": attempt + 1, "token": token}

    def done(self, job: int, token: str) -> None:
        with self._held(job, token) as (database, _, _):
            database.execute("UPDATE jobs SET state = 'done' WHERE id = ?", (job,))

    def fail(self, job: int, token: str, error: str) -> None:
        with self._held(job, token) as (database, now, attempt):
            state = "dead" if attempt >= self._attempts else "waiting"
            database.execute(
                "UPDATE jobs SET state = ?, ready = ?, error = ? WHERE id = ?", (state, now + 2**attempt, error, job)
            )

    def extend(self, job: int, token: str) -> None:
        with self._held(job, token) as (database, now, _):
            database.execute("UPDATE jobs SET ready = ? WHERE id = ?", (now + self._lease, job))

    def counts(self) -> dict[str, int]:
        with self._opened() as (database, _):
            found = dict(database.execute("SELECT state, COUNT(*) FROM jobs GROUP BY state").fetchall())
        return {state: found.get(state, 0) for state in ("waiting", "leased", "done", "dead")}

    def dead(self) -> list[tuple[int, str, str]]:
        with self._opened() as (database, _):
            return database.execute("SELECT id, name, error FROM jobs WHERE state = 'dead' ORDER BY id").fetchall()

    def revive(self, job: int) -> None:
        with self._opened() as (database, now):
            revived = "UPDATE jobs SET state = 'waiting', ready = ?, attempt = 0 WHERE id = ? AND state = 'dead'"
            if not database.execute(revived, (now, job)).rowcount:
                raise ValueError(f"job {job} is not dead")

    @contextmanager
    def _held(self, job: int, token: str) -> Iterator[tuple[sqlite3.Connection, int, int]]:
        with self._opened() as (database, now):
            row = database.execute("SELECT state, token, attempt FROM jobs WHERE id = ?", (job,)).fetchone()
            if row is None:
                raise KeyError(job)
            if row[:2] != ("leased", token):
                raise LeaseLost(job)
            yield database, now, row[2]

    @contextmanager
    def _opened(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        database = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        try:
            database.execute("BEGIN IMMEDIATE")
            now = self._clock()
            database.execute(
                "UPDATE jobs SET state = CASE WHEN attempt >= ? THEN 'dead' ELSE 'waiting' END, error = 'lease ended' "
                "WHERE state = 'leased' AND ready <= ?",
                (self._attempts, now),
            )
            try:
                yield database, now
            finally:
                database.execute("COMMIT")
        finally:
            database.close()
