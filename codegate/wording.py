"""Counts, lists, code and addresses in texts, the same everywhere."""

import re
from collections.abc import Iterable


def documentation(page: str) -> str:
    """Return the address of a documentation page, or its heading."""
    return f"https://github.com/codegate-ci/codegate/blob/main/docs/{page}"


def count_of(n: int, what: str) -> str:
    """Return ``n`` with the noun ``what`` or its plural."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def few(names: Iterable[str], most: int = 5, separator: str = ", ") -> str:
    """Return the first ``most`` names and the number of others."""
    every = list(names)
    more = f"{separator.rstrip(', ')} and {len(every) - most} more" if len(every) > most else ""
    return separator.join(every[:most]) + more


def encodable(text: str) -> str:
    """Return ``text`` with characters that UTF-8 cannot encode replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def escaped_bytes(text: str) -> str:
    """Return ``text`` with undecodable bytes escaped, as in file names."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def code_fence(text: str, least: int = 1) -> str:
    """Return more backticks than ``text`` has in a row."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))
