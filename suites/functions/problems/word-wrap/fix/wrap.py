"""Words in lines."""


def wrap(text: str, width: int) -> list[str]:
    """Return the words of ``text`` in lines of at most ``width`` characters."""
    if width < 1:
        raise ValueError("width must be at least 1")
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines += [word[start : start + width] for start in range(0, len(word), width)]
    return lines
