"""Words in lines."""


def wrap(text: str, width: int) -> list[str]:
    """Return the words of ``text`` in lines of at most ``width`` characters."""
    raise NotImplementedError
