"""What a forge knows of a change and git does not: the issues it closes, labels, and texts as they were before it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class LinkedIssue:
    """An issue that a change closes.

    Attributes:
        body: as it was before the change's first commit; empty when that cannot be known.
        edited: when the body was last edited, at any time; None: never, or not known.
    """

    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    created: datetime
    edited: datetime | None


@dataclass(frozen=True)
class Enrichment:
    """What a forge says of one change: its pull request's title, body and labels, and the issues that it closes."""

    title: str
    body: str
    labels: tuple[str, ...]
    issues: tuple[LinkedIssue, ...]
