"""What GitHub's answers mean: which errors there are, what a token lacks, and how long to wait.

Protocol: docs.github.com/rest, "Rate limits for the REST API" and "Troubleshooting the REST API".
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from codegate.errors import InfrastructureError, UsageError
from codegate.reporting import one_line
from codegate.strict import parse_json

_SECONDARY_LIMIT_SECONDS: Final = 60.0
_NUMBER: Final = re.compile(r"\d{1,12}")
_PERMISSION: Final = re.compile(r"([a-z_]{1,40})=(read|write|admin)")

_PERMISSIONS: Final = (
    (re.compile(r"/issues/comments/|/issues/\d+/comments"), "pull-requests"),
    (re.compile(r"/pulls(?:/|$)|/commits/[^/]+/pulls$"), "pull-requests"),
    (re.compile(r"/issues(?:/|$)|/labels(?:/|$)"), "issues"),
    (re.compile(r"/check-(?:runs|suites)(?:/|$)"), "checks"),
    (re.compile(r"/actions/"), "actions"),
    (re.compile(r"/(?:contents|releases|commits|git|compare)(?:/|$)"), "contents"),
)


class GitHubError(InfrastructureError):
    """GitHub did not do what it was asked to.

    Attributes:
        status: HTTP status of the last answer; None where there was none.
        uncertain: what was told may have been done all the same.
    """

    def __init__(self, cause: str, remedy: str = "", *, status: int | None = None, uncertain: bool = False) -> None:
        super().__init__(cause, remedy)
        self.status = status
        self.uncertain = uncertain


class Forbidden(GitHubError):
    """The token may not do this.

    Attributes:
        permission: what it lacks, as a workflow's ``permissions`` has it, such as ``issues: write``.
    """

    def __init__(self, cause: str, permission: str) -> None:
        remedy = (
            f"Give the job `permissions: {permission}`; the token of a run that a fork's pull request started can "
            "only read, whatever the workflow says."
        )
        super().__init__(cause, remedy, status=403)
        self.permission = permission


class NotFound(GitHubError):
    """It is not there, or the token may not know of it: GitHub answers both alike."""


class Gone(GitHubError):
    """It was there, and is no more."""


@dataclass(frozen=True)
class Answer:
    """An answer as it came; the names of its headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def refuse(method: str, path: str, answer: Answer, token: str | None) -> None:
    """Raise what an answer means, unless it is a success.

    Raises:
        GitHubError: its text says what GitHub said, without ``token``.
    """
    if answer.status in {200, 201, 202, 204}:
        return
    cause = f"GitHub: {method} {path} answered HTTP {answer.status}{_said(answer, token)}."
    if answer.status == 401:
        raise GitHubError(cause, "Check the input `github-token`.", status=401)
    if answer.status == 403 and "locked" in cause:
        raise GitHubError(cause, "Unlock the conversation.", status=403)
    if answer.status == 403:
        raise Forbidden(cause, _missing(method, path, answer.headers))
    if answer.status == 404:
        lacking = _missing(method, path, answer.headers)
        raise NotFound(cause, f"It does not exist, or the token lacks `{lacking}`.", status=404)
    if answer.status == 410:
        raise Gone(cause, status=410)
    raise GitHubError(cause, status=answer.status)


def seconds_to_wait(answer: Answer) -> float | None:
    """Return how many seconds GitHub wants to be left alone, or None when it answered."""
    if answer.status not in {403, 429}:
        return None
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    after = answer.headers.get("retry-after", "")
    if answer.status == 403 and not spent and not after and b"rate limit" not in answer.body[:4096]:
        return None
    if _NUMBER.fullmatch(after):
        return float(after)
    reset = answer.headers.get("x-ratelimit-reset", "")
    if spent and _NUMBER.fullmatch(reset):
        return max(0.0, float(reset) - time.time()) + 1
    return _SECONDARY_LIMIT_SECONDS


def _said(answer: Answer, token: str | None) -> str:
    try:
        document = parse_json(answer.body[:20_000].decode("utf-8", "replace"), "it")
    except UsageError:
        return ""
    if not isinstance(document, dict):
        return ""
    errors = document.get("errors")
    parts = [document.get("message"), *(errors[:3] if isinstance(errors, list) else [])]
    texts = [part.get("message") or part.get("code") if isinstance(part, dict) else part for part in parts]
    said = "; ".join(text for text in texts if isinstance(text, str) and text)
    if token:
        said = said.replace(token, "***")
    return f": {one_line(said, 300).rstrip('.')}" if said else ""


def _missing(method: str, path: str, headers: Mapping[str, str]) -> str:
    """Return the permission that a request needs: as GitHub says, else as its documentation does."""
    # Sets of permissions, of which any one will do, each of one permission or several.
    sets = headers.get("x-accepted-github-permissions", "")[:1000].split(";")
    named = [[f"{name.replace('_', '-')}: {level}" for name, level in _PERMISSION.findall(one)] for one in sets]
    if any(named):
        return " or ".join(" and ".join(one) for one in named if one)
    level = "read" if method == "GET" else "write"
    name = next((name for pattern, name in _PERMISSIONS if pattern.search(path)), "contents")
    return f"{name}: {level}"
