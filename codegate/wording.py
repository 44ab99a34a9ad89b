"""Format counts, lists, code and addresses in texts."""

import re
from collections.abc import Iterable


def documentation(page: str) -> str:
    """Return the web address of a documentation page.

    ``page`` is a file in ``docs/``, and may name a heading: ``gate.md#the-rule``.
    """
    return f"https://github.com/codegate-ci/codegate/blob/main/docs/{page}"


def count_of(n: int, what: str) -> str:
    """Return a number with its noun in singular or plural.

    ``what`` is the singular, such as ``problem``.
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def join_first(names: Iterable[str], most: int = 5, separator: str = ", ") -> str:
    """Join the first ``most`` names; add how many more follow."""
    every = list(names)
    more = f"{separator.rstrip(', ')} and {len(every) - most} more" if len(every) > most else ""
    return separator.join(every[:most]) + more


def encodable(text: str) -> str:
    """Replace characters that UTF-8 cannot encode by ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")


def escaped_bytes(text: str) -> str:
    """Replace surrogates in ``text``, such as undecodable bytes, by escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def code_fence(text: str, least: int = 1) -> str:
    """Return a Markdown fence for ``text``: at least ``least`` backticks."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))
