"""Statements: what a model reads about a bug, and what it must not read."""
