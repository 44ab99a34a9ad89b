"""The links, in an SQLite file."""
