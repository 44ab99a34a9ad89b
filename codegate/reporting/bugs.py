"""Name a bug by the change that fixed it."""

import re
from typing import Final

from codegate.reporting.cells import Title
from codegate.reporting.view import ProblemView
from codegate.running import ProblemOrigin

# A report may be made from an untrusted result, so an address is checked where it becomes a link.
_PROJECT: Final = re.compile(r"https://[a-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9_.~-]+)+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def bug(change: ProblemOrigin | ProblemView) -> Title:
    """Return a title like ``Keep the last cent (#41, 2025-03-02)``."""
    number = f"#{change.pull_request}" if change.pull_request is not None else ""
    facts = ", ".join(filter(None, (number, change.date)))
    title = change.title.removesuffix(f"({number})").rstrip() if number else change.title
    return Title(f"{title} ({facts})" if title and facts else title or facts, next(iter(links(change).values()), ""))


def links(change: ProblemOrigin | ProblemView) -> dict[str, str]:
    """Return a change's web addresses by name, as on GitHub."""
    if change.project is None or not _PROJECT.fullmatch(change.project):
        return {}
    found = {}
    if change.pull_request is not None:
        found[f"pull request #{change.pull_request}"] = f"{change.project}/pull/{change.pull_request}"
    if change.commit is not None and _COMMIT.fullmatch(change.commit):
        found[f"commit {change.commit[:10]}"] = f"{change.project}/commit/{change.commit}"
    return found | {f"issue #{number}": f"{change.project}/issues/{number}" for number in change.issues}
