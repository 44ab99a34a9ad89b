"""Create and update comments, issues and check runs.

A post of ours is updated in place, and GitHub's refusal becomes a warning. Texts come from ``reporting``, which keeps
them within GitHub's limits. A hidden marker alone proves nothing, because every user can write one: a text is ours if
the marker is its first line and its author is the token's login. Protocol: docs.github.com/rest, issues and
checks/runs.
"""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.forge import Forbidden, GitHub, GitHubError, NotFound
from codegate.github.inputs import OnInconclusive
from codegate.reporting import one_line

BOT: Final = "github-actions[bot]"
"""Login of a workflow's own token. The token cannot query its login."""

Conclusion = Literal["success", "failure", "neutral", "skipped", "cancelled"]

_MOST_NAME: Final = 89  # a check's name, which GitHub cuts at 100 characters, contains this name
_DIGEST: Final = 12
_KEY: Final = re.compile(r"[A-Za-z0-9](?:[._]|-(?!-)|[A-Za-z0-9]){0,99}")
_CONCLUSIONS: Final[Mapping[str, Conclusion]] = {
    "pass": "success",
    "regressed": "failure",
    "ungated": "neutral",
    "skipped": "skipped",
    "interrupted": "cancelled",
}
_UNDECIDED: Final[Mapping[OnInconclusive, Conclusion]] = {"neutral": "neutral", "pass": "success", "fail": "failure"}


@dataclass(frozen=True)
class PostResult:
    """The result of a post: its address, or a warning."""

    did: Literal["created", "updated", "unchanged", "closed", "nothing"]
    url: str | None = None
    warning: str | None = None


def post_comment(github: GitHub, number: int, key: str, body: str, *, begin: bool = True) -> PostResult:
    """Create or update the comment marked with ``key``.

    Further comments with this mark are deleted. Without ``begin``, no comment is created. ``number`` is the issue's or
    pull request's.
    """
    text = f"{marker(key)}\n{body}"
    path = github.repo(f"issues/{number}/comments")

    def own(login: str) -> list[dict[str, Any]]:
        return sorted((item for item in github.pages(path) if _is_own(item, key, login)), key=item_number)

    def post() -> PostResult:
        login = _login(github)
        there = own(login)
        while there:
            try:
                return _update(github, there, text)
            except NotFound:  # the comment was deleted meanwhile
                there = there[1:]
        if not begin:
            return PostResult("nothing")
        made = _create(github, path, {"body": text}, lambda: own(login))
        author = _author(made)
        if author not in {login, None}:  # the login of an app is known only from its own post
            there = own(str(author))
            if len(there) > 1:
                return _update(github, there, text)
        return _posted("created", made)

    return _attempt(f"The comment on #{number}", post)


def _update(github: GitHub, there: list[dict[str, Any]], text: str) -> PostResult:
    oldest, *others = there
    comments = github.repo("issues/comments")
    for item in others:
        with contextlib.suppress(GitHubError):
            github.send("DELETE", f"{comments}/{item_number(item)}")
    if oldest["body"] == text:
        return _posted("unchanged", oldest)
    return _posted("updated", github.send("PATCH", f"{comments}/{item_number(oldest)}", {"body": text}))


def post_issue(github: GitHub, key: str, body: str, regressed: bool) -> PostResult:
    """Open or update an issue; close it after recovery.

    A hidden first line with ``key`` identifies the issue. ``regressed`` false means a recovery, so do not call this for
    a night without a decision (inconclusive, infrastructure).
    """
    text, issues = f"{marker(key)}\n{body}", github.repo("issues")

    def own(login: str) -> list[dict[str, Any]]:
        found = github.pages(issues, state="open", sort="created", direction="asc")
        return [item for item in found if "pull_request" not in item and _is_own(item, key, login)]

    def post() -> PostResult:
        login = _login(github)
        there = own(login)
        if regressed and not there:
            document = {"title": f"codegate: {key} has regressed", "body": text}
            return _posted("created", _create(github, issues, document, lambda: own(login)))
        if regressed and there[0]["body"] == text:
            return _posted("unchanged", there[0])
        if regressed:
            path = f"{issues}/{item_number(there[0], 'number')}"
            return _posted("updated", github.send("PATCH", path, {"body": text}))
        done = PostResult("nothing")
        for item in reversed(there):  # the oldest last, because its address is returned
            path = f"{issues}/{item_number(item, 'number')}"
            github.send("POST", f"{path}/comments", {"body": text})
            done = _posted("closed", github.send("PATCH", path, {"state": "closed", "state_reason": "completed"}))
        return done

    return _attempt("The issue", post)


def conclusion_of(kind: str, on_inconclusive: OnInconclusive) -> Conclusion:
    """Return the check run's conclusion for a verdict.

    ``infrastructure``, ``error`` and ``no baseline`` are failures: neutral would satisfy a required check, and so let
    an unmeasured change in.
    """
    if kind in {"inconclusive", "incomparable"}:
        return _UNDECIDED[on_inconclusive]
    return _CONCLUSIONS.get(kind, "failure")


def post_check(
    github: GitHub,
    head_sha: str,
    name: str,
    kind: str,
    summary: str,
    *,
    details_url: str | None = None,
    on_inconclusive: OnInconclusive = "neutral",
) -> PostResult:
    """Create a check run on a pull request's head commit.

    Pull requests do not show checks of the merge commit (``GITHUB_SHA``). ``kind`` is the verdict, or the kind of a
    result without one. ``summary`` is Markdown; ``details_url`` is the workflow run's page.
    """
    run: dict[str, Any] = {
        "name": one_line(name, 100),
        "head_sha": head_sha,
        "status": "completed",
        "conclusion": conclusion_of(kind, on_inconclusive),
        "output": {"title": one_line(f"codegate: {kind}", 200), "summary": summary},
        **({"details_url": details_url} if details_url is not None else {}),
    }
    # An uncertain first try can leave two equal check runs, of which GitHub shows the later one.
    return _attempt("The check run", lambda: _posted("created", _create(github, github.repo("check-runs"), run, list)))


def marker(key: str) -> str:
    """Return the hidden first line that marks texts of ``key``.

    A key has letters, digits and single ``.``, ``_``, ``-``.
    """
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key[:120]!r} is no name for a gate.", "Use letters, digits, dots, dashes and underscores.")
    return f"<!-- codegate:v1:{key} -->"


def plain_name(words: Sequence[str], more: Sequence[str] = (), *, unique: bool = True) -> str:
    """Return words as one name of letters, digits and dashes.

    A digest follows if letters alone could make two names equal: for other alphabets, a long name, ``more`` words, and
    words that are not ``unique``.
    """
    found = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(filter(None, [*words, *more]))).strip("-")
    if unique and len(found) <= _MOST_NAME and "".join(words).isascii() and not any(more):
        return found
    readable = found[: _MOST_NAME - _DIGEST - 1].strip("-")
    return "-".join(filter(None, [readable, digest([*words, *more])[:_DIGEST]]))


def _posted(did: Literal["created", "updated", "unchanged", "closed"], answer: object) -> PostResult:
    url = answer.get("html_url") if isinstance(answer, dict) else None
    known = isinstance(url, str) and re.fullmatch(r"https?://[!-~]{1,2000}", url)
    return PostResult(did, url if known else None)


def _attempt(what: str, post: Callable[[], PostResult]) -> PostResult:
    try:
        return post()
    except Forbidden as error:  # a token that cannot read cannot write either
        needed = Forbidden(error.cause, error.permission.replace(": read", ": write"))
        return PostResult("nothing", warning=f"{what} could not be written. {needed}")
    except GitHubError as error:
        return PostResult("nothing", warning=f"{what} could not be written. {error}")


def _login(github: GitHub) -> str:
    """Return the token's login name; ``BOT`` if GitHub refuses it."""
    try:
        user = github.get("user")
    except (Forbidden, NotFound):
        return BOT
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else BOT


def _is_own(item: dict[str, Any], key: str, login: str) -> bool:
    body = item.get("body")
    ours = isinstance(body, str) and body.replace("\r\n", "\n").startswith(f"{marker(key)}\n")
    return ours and _author(item) == login


def _author(item: dict[str, Any]) -> str | None:
    user = item.get("user")
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else None


def item_number(item: dict[str, Any], name: str = "id") -> int:
    """Return the number in the field ``name`` of GitHub's answer.

    Raises:
        GitHubError: there is no number.
    """
    number = item.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise GitHubError(f"GitHub: an answer has no {name}.")
    return number


def _create(
    github: GitHub, path: str, body: dict[str, Any], find: Callable[[], list[dict[str, Any]]]
) -> dict[str, Any]:
    """Post a text; after a failure, check whether it arrived.

    The text is posted again only if ``find`` returns no such post.
    """
    try:
        made = github.send("POST", path, body)
    except GitHubError as error:
        if not error.uncertain:
            raise
        found = find()
        made = found[0] if found else github.send("POST", path, body)
    return made if isinstance(made, dict) else {}
