"""Lengths of time as people write them."""

import re

_DURATION = re.compile(r"\s*" + "".join(rf"(?:([0-9]+)\s*{unit}\s*)?" for unit in "dhms"))


def seconds(text: str) -> int:
    """Return how many seconds a duration such as ``1h30m`` has."""
    match = _DURATION.fullmatch(text.lower())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is no duration")
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest
