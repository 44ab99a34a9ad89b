"""Tables for all report formats, and their cells' types.

A cell is a ``Name`` (untrusted), a ``Figure`` (our own text, made of numbers) or a sentence, which may quote untrusted
text; a ``Title`` is a sentence with a link. Each format escapes them in its own way.
"""

import re
from dataclasses import dataclass
from typing import Final

from codegate.reporting.view import ProblemView
from codegate.running import ProblemOrigin

# A report may be made from an untrusted result, so an address is checked where it becomes a link.
_PROJECT: Final = re.compile(r"https://[a-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9_.~-]+)+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Name(str):
    """An untrusted name of a candidate, problem, file or fault.

    ``anchor`` is the id of an HTML element to link to: the problem's first failed attempt. "" without a link.
    """

    anchor: str

    def __new__(cls, text: str, anchor: str = "") -> "Name":
        """Return ``text``, linked to the element with id ``anchor``."""
        made = super().__new__(cls, text)
        made.anchor = anchor
        return made


class Title(str):
    """A bug's untrusted title, linked to ``address`` if known."""

    address: str

    def __new__(cls, text: str, address: str = "") -> "Title":
        """Return ``text``, linked to ``address``, which must be checked already."""
        made = super().__new__(cls, text)
        made.address = address
        return made


@dataclass(frozen=True)
class Table:
    """A table with title and note; ``id`` names its element."""

    id: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def bug(change: ProblemOrigin | ProblemView) -> Title:
    """Return a bug's title, like ``Keep the cent (#41, 2025-03-02)``."""
    number = f"#{change.pull_request}" if change.pull_request is not None else ""
    facts = ", ".join(filter(None, (number, change.date)))
    title = change.title.removesuffix(f"({number})").rstrip() if number else change.title
    return Title(f"{title} ({facts})" if title and facts else title or facts, next(iter(links(change).values()), ""))


def links(change: ProblemOrigin | ProblemView) -> dict[str, str]:
    """Return a change's pages on GitHub, by link text.

    These are the pull request, the commit and the issues.
    """
    if change.project is None or not _PROJECT.fullmatch(change.project):
        return {}
    found = {}
    if change.pull_request is not None:
        found[f"pull request #{change.pull_request}"] = f"{change.project}/pull/{change.pull_request}"
    if change.commit is not None and _COMMIT.fullmatch(change.commit):
        found[f"commit {change.commit[:10]}"] = f"{change.project}/commit/{change.commit}"
    return found | {f"issue #{number}": f"{change.project}/issues/{number}" for number in change.issues}
