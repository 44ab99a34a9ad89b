"""The notes, in an SQLite file."""

import sqlite3
from contextlib import contextmanager

_SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT,
    version INTEGER,
    deleted INTEGER NOT NULL DEFAULT 0
)
"""


class Gone(Exception):
    """The note was deleted."""


class Conflict(Exception):
    """The note has another version than the one that was edited."""


class Store:
    """The notes in one file. Each call opens the file for itself, so that threads can share a store."""

    def __init__(self, path):
        self.path = path
        with self.open() as database:
            database.execute(_SCHEMA)

    @contextmanager
    def open(self):
        database = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            yield database
        finally:
            database.close()

    def add(self, title):
        with self.open() as database:
            new = database.execute("INSERT INTO notes (title, version) VALUES (?, 1)", (title,)).lastrowid
        return {"id": new, "title": title, "version": 1}

    def get(self, note):
        """Return a note, None where there was none; raises ``Gone``."""
        with self.open() as database:
            row = database.execute("SELECT id, title, version, deleted FROM notes WHERE id = ?", (note,)).fetchone()
        if row and row[3]:
            raise Gone
        return _note(row) if row else None

    def change(self, note, version, title):
        """Change a note of that version and return it; raises ``Conflict`` and ``Gone``."""
        with self.open() as database:
            changed = database.execute(
                "UPDATE notes SET title = ?, version = version + 1 WHERE id = ? AND version = ? AND NOT deleted",
                (title, note, version),
            ).rowcount
        if changed:
            return {"id": note, "title": title, "version": version + 1}
        if self.get(note) is None:
            return None
        raise Conflict

    def remove(self, note):
        """Delete a note; return whether there was one; raises ``Gone``."""
        with self.open() as database:
            if database.execute("UPDATE notes SET deleted = 1 WHERE id = ? AND NOT deleted", (note,)).rowcount:
                return True
        return self.get(note) is not None

    def page(self, text, after, limit):
        """Return a page of notes, and the id that the next one is after."""
        pattern = "%" + "".join("\\" + letter if letter in "\\%_" else letter for letter in text) + "%"
        with self.open() as database:
            rows = database.execute(
                "SELECT id, title, version FROM notes WHERE NOT deleted AND id > ? AND title LIKE ? ESCAPE '\\' "
                "ORDER BY id LIMIT ?",
                (after, pattern, limit + 1),
            ).fetchall()
        notes = [_note(row) for row in rows[:limit]]
        return notes, notes[-1]["id"] if len(rows) > limit else None


def _note(row):
    return {"id": row[0], "title": row[1], "version": row[2]}
