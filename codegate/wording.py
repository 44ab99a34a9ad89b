"""Word counts for people, the same in every room."""


def count_of(n: int, what: str) -> str:
    """Return ``n`` with its noun, which is ``what`` for one and has an s for any other number."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
