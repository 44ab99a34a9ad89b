"""Records: what a probe saw, as the message of the failure that it ends with, which any runner brings back."""

import json
import re
from typing import Final

MARK: Final = "codegate-probe:"
#: Addresses, colours of a terminal, and the names that probes give the functions that a test defines.
_OWN: Final = re.compile(r"\x1b\[[\d;]*m| at 0x[0-9a-fA-F]{4,}|\b(?:TestCodegateShown\.)?test_codegate_\w+\.<locals>\.")

Record = tuple[int, str, str]


def records(message: str) -> list[Record] | None:
    """Return what a probe recorded (place, expression or kind, value), or None when ``message`` is not a probe's."""
    _, mark, rest = message.partition(MARK)
    if not mark:
        return None
    try:
        found = json.loads(rest.partition("\n")[0])
        return [(int(place), str(what), _OWN.sub("", str(value))) for place, what, value in found]
    except (ValueError, TypeError):
        return None
