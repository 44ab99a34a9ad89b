"""The texts of the fixture projects, a module each."""


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """Return a text with parts of it replaced, each of which has to be there once."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
