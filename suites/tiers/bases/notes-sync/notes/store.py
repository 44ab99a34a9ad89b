"""The notes, in an SQLite file."""

import sqlite3


class Store:
    """The notes in one file. Each call opens the file for itself, so that threads can share a store."""

    def __init__(self, path):
        self.path = path
        with self.open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT, version INTEGER)")

    def open(self):
        return sqlite3.connect(self.path)

    def add(self, title):
        with self.open() as database:
            new = database.execute("INSERT INTO notes (title, version) VALUES (?, 1)", (title,)).lastrowid
        return self.get(new)

    def get(self, note):
        with self.open() as database:
            row = database.execute("SELECT id, title, version FROM notes WHERE id = ?", (note,)).fetchone()
        return {"id": row[0], "title": row[1], "version": row[2]} if row else None

    def change(self, note, title):
        with self.open() as database:
            database.execute("UPDATE notes SET title = ?, version = version + 1 WHERE id = ?", (title, note))
        return self.get(note)

    def remove(self, note):
        with self.open() as database:
            database.execute("DELETE FROM notes WHERE id = ?", (note,))

    def page(self, text):
        with self.open() as database:
            rows = database.execute(f"SELECT id, title, version FROM notes WHERE title LIKE '%{text}%'").fetchall()
        return [{"id": row[0], "title": row[1], "version": row[2]} for row in rows]
