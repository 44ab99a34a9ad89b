"""Sizes for people to read."""

_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]


def shown(size: int) -> str:
    """Return a number of bytes for people to read."""
    sign, size = ("-", -size) if size < 0 else ("", size)
    if size < 1024:
        return f"{sign}{size} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS) - 1)
    tenths = size * 10 // 1024**power
    return f"{sign}{tenths // 10}.{tenths % 10} {_UNITS[power]}"
