"""The nightly watch's one issue: opened or updated on a regression, closed with a comment when it is gone."""

from typing import Any

from codegate.forge import GitHub
from codegate.github.said import Said, attempted, create, is_own, marked, number_of, own_login, said


def tell_nightly(github: GitHub, key: str, body: str, regressed: bool) -> Said:
    """Keep the issue about ``key`` true: open while it is regressed, and only then.

    A night that decides nothing (inconclusive, infrastructure) is no recovery: do not call this for it.

    Args:
        github: the repository.
        key: which of several watches speaks; it is in the title.
        body: Markdown, without the marker: what is wrong, or how it is well again.
        regressed: whether the pinned model does worse than when it was pinned.

    Raises:
        UsageError: ``key`` cannot stand in a marker. GitHub's refusals are a warning instead.
    """
    text = marked(key, body)
    return attempted("The issue", lambda: _tell(github, key, text, regressed))


def _tell(github: GitHub, key: str, text: str, regressed: bool) -> Said:
    login = own_login(github)

    def own() -> list[dict[str, Any]]:
        """Return our open issues, the oldest first. No filter of GitHub's: labels can be taken away."""
        issues = github.pages(github.repo("issues"), state="open", sort="created", direction="asc")
        return [entry for entry in issues if "pull_request" not in entry and is_own(entry, key, login)]

    there = own()
    if not regressed:
        return _close(github, there, text)
    if not there:
        document = {"title": f"codegate: {key} has regressed", "body": text}
        return said("created", create(github, github.repo("issues"), document, own))
    if there[0]["body"] == text:
        return said("unchanged", there[0])
    return said("updated", github.send("PATCH", _path(github, there[0]), {"body": text}))


def _close(github: GitHub, there: list[dict[str, Any]], text: str) -> Said:
    done = Said("nothing")
    for entry in reversed(there):  # the oldest last: its address is the one to return
        github.send("POST", f"{_path(github, entry)}/comments", {"body": text})
        answer = github.send("PATCH", _path(github, entry), {"state": "closed", "state_reason": "completed"})
        done = said("closed", answer)
    return done


def _path(github: GitHub, issue: dict[str, Any]) -> str:
    return github.repo(f"issues/{number_of(issue, 'number')}")
