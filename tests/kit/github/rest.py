"""Pull requests, issues, comments and check runs of ``acme/demo``.

Workflow runs are in ``artifacts``, files of commits are in ``content``.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.kit.github.server import FakeGitHub, Listing, Reply, Request, route

REPO = r"/repos/acme/demo"
HOME, FORK = 1000, 2000
"""Ids of the repository and of a stranger's fork of it."""

MAX_BODY, MAX_OUTPUT = 65_536, 65_535
_SPEAK, _HEAR = "issues: write | pull-requests: write", "issues: read | pull-requests: read"


@dataclass
class Rest:
    """What the repository holds; numbers of issues and pull requests are of one row."""

    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    commits: dict[str, list[int]] = field(default_factory=dict)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(500))

    def add_pull(
        self, number: int, sha: str, *, head: int | None = FORK, branch: str = "patch", state: str = "open",
        base: int = HOME, known: bool = True,
    ) -> None:  # fmt: skip
        """Open a pull request; ``known``: its commit leads to it, which that of a fork does not always do."""
        owner = "acme" if head == HOME else "mallory"
        self.pulls[number] = {
            "number": number,
            "state": state,
            "title": "A change",
            "head": {"sha": sha, "ref": branch, "label": f"{owner}:{branch}", "repo": {"id": head} if head else None},
            "base": {"sha": "b" * 40, "ref": "main", "repo": {"id": base, "full_name": "acme/demo"}},
        }
        if known:
            self.commits.setdefault(sha, []).append(number)

    def add_comment(self, number: int, login: str, body: str) -> dict[str, Any]:
        """Let somebody comment."""
        comment = {
            "id": next(self.ids),
            "user": {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"},
            "body": body,
            "html_url": f"https://git.acme.example/acme/demo/pull/{number}#issuecomment",
        }
        self.comments.setdefault(number, []).append(comment)
        return comment

    def add_issue(self, number: int, login: str, body: str, *, state: str = "open", pull: bool = False) -> None:
        """Let somebody open an issue; a pull request is listed as one, too."""
        self.issues[number] = {
            "id": next(self.ids),
            "number": number,
            "user": {"login": login},
            "title": "An issue",
            "body": body,
            "state": state,
            "html_url": f"https://git.acme.example/acme/demo/issues/{number}",
        } | ({"pull_request": {}} if pull else {})


def _missing() -> Reply:
    return Reply({"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}, 404)


def _invalid(what: str) -> Reply:
    return Reply({"message": "Validation Failed", "errors": [{"message": what}]}, 422)


def _bad_text(body: object) -> Reply | None:
    if not isinstance(body, str) or not body.strip():
        return _invalid("body can't be blank")
    if len(body) > MAX_BODY:
        return _invalid(f"body is too long (maximum is {MAX_BODY} characters)")
    return None


@route("GET", "/user")
def _user(github: FakeGitHub, request: Request) -> object:
    assert request.token is not None
    if not request.token.login:
        return Reply({"message": "Requires authentication"}, 401)
    if request.token.app:
        return Reply({"message": "Resource not accessible by integration"}, 403)
    return {"login": request.token.login}


@route("GET", rf"{REPO}/issues/(\d+)/comments", needs=_HEAR)
def _comments(github: FakeGitHub, request: Request) -> object:
    rest, number = github.store(Rest), int(request.groups[0])
    if number not in rest.pulls and number not in rest.issues:
        return _missing()
    return Listing(rest.comments.get(number, []))


@route("POST", rf"{REPO}/issues/(\d+)/comments", needs=_SPEAK)
def _add_comment(github: FakeGitHub, request: Request) -> object:
    rest, number = github.store(Rest), int(request.groups[0])
    if number not in rest.pulls and number not in rest.issues:
        return _missing()
    if refused := _bad_text(request.body.get("body")):
        return refused
    assert request.token is not None
    return Reply(rest.add_comment(number, request.token.login, request.body["body"]), 201)


def _comment(github: FakeGitHub, request: Request) -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
    for entries in github.store(Rest).comments.values():
        for entry in entries:
            if entry["id"] == int(request.groups[0]):
                return entries, entry
    return None


@route("PATCH", rf"{REPO}/issues/comments/(\d+)", needs=_SPEAK)
def _change_comment(github: FakeGitHub, request: Request) -> object:
    found = _comment(github, request)
    if found is None:
        return _missing()
    if refused := _bad_text(request.body.get("body")):
        return refused
    found[1]["body"] = request.body["body"]
    return found[1]


@route("DELETE", rf"{REPO}/issues/comments/(\d+)", needs=_SPEAK)
def _delete_comment(github: FakeGitHub, request: Request) -> object:
    found = _comment(github, request)
    if found is None:
        return _missing()
    found[0].remove(found[1])
    return Reply(status=204)


@route("GET", rf"{REPO}/pulls", needs="pull-requests: read")
def _pulls(github: FakeGitHub, request: Request) -> object:
    state, head = request.query.get("state", "open"), request.query.get("head")
    return Listing(
        [
            pull
            for pull in github.store(Rest).pulls.values()
            if state in {"all", pull["state"]}
            and head in {None, pull["head"]["label"]}
            and request.query.get("base") in {None, pull["base"]["ref"]}
        ]
    )


@route("POST", rf"{REPO}/pulls", needs="pull-requests: write")
def _open_pull(github: FakeGitHub, request: Request) -> object:
    rest, body = github.store(Rest), request.body
    if refused := _bad_text(body.get("body")):
        return refused
    number = max([*rest.issues, *rest.pulls], default=0) + 1
    rest.add_pull(number, "e" * 40, head=HOME, branch=body["head"])
    rest.pulls[number] |= {"title": body["title"], "body": body["body"]}
    return Reply(rest.pulls[number], 201)


@route("PATCH", rf"{REPO}/pulls/(\d+)", needs="pull-requests: write")
def _change_pull(github: FakeGitHub, request: Request) -> object:
    pull = github.store(Rest).pulls.get(int(request.groups[0]))
    if pull is None:
        return _missing()
    pull |= request.body
    return pull


@route("GET", rf"{REPO}/commits/([^/]+)/pulls", needs="pull-requests: read")
def _pulls_of_commit(github: FakeGitHub, request: Request) -> object:
    rest, sha = github.store(Rest), request.groups[0]
    if sha not in rest.commits:
        return Reply({"message": f"No commit found for SHA: {sha}"}, 422)
    return Listing([rest.pulls[number] for number in rest.commits[sha]])


@route("GET", rf"{REPO}/issues", needs="issues: read")
def _issues(github: FakeGitHub, request: Request) -> object:
    state = request.query.get("state", "open")
    found = [entry for entry in github.store(Rest).issues.values() if state in {"all", entry["state"]}]
    return Listing(found if request.query.get("direction") == "asc" else found[::-1])


@route("POST", rf"{REPO}/issues", needs="issues: write")
def _open_issue(github: FakeGitHub, request: Request) -> object:
    rest = github.store(Rest)
    if not request.body.get("title"):
        return _invalid("title is missing")
    if refused := _bad_text(request.body.get("body")):
        return refused
    number = max([*rest.issues, *rest.pulls], default=0) + 1
    assert request.token is not None
    rest.add_issue(number, request.token.login, request.body["body"])
    rest.issues[number]["title"] = request.body["title"]
    return Reply(rest.issues[number], 201)


@route("PATCH", rf"{REPO}/issues/(\d+)", needs="issues: write")
def _change_issue(github: FakeGitHub, request: Request) -> object:
    issue = github.store(Rest).issues.get(int(request.groups[0]))
    if issue is None:
        return _missing()
    if "body" in request.body and (refused := _bad_text(request.body["body"])):
        return refused
    if request.body.get("state", "open") not in {"open", "closed"}:
        return _invalid("state is not included in the list")
    issue.update(request.body)
    return issue


def _bad_output(output: object) -> Reply | None:
    if output is None:
        return None
    assert isinstance(output, dict)
    for name in ("title", "summary"):
        if not output.get(name):
            return _invalid(f"{name} wasn't supplied")
    for name in ("summary", "text"):
        if len(output.get(name, "")) > MAX_OUTPUT:
            return _invalid(f"{name} exceeds a maximum size of {MAX_OUTPUT} characters")
    return None


_CONCLUSIONS = {"action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"}


@route("POST", rf"{REPO}/check-runs", needs="checks: write")
def _add_check(github: FakeGitHub, request: Request) -> object:
    rest, body = github.store(Rest), request.body
    assert request.token is not None
    if not request.token.app:
        return Reply({"message": "You must authenticate via a GitHub App."}, 403)
    if not body.get("name") or not re.fullmatch(r"[0-9a-f]{40}", body.get("head_sha", "")):
        return _invalid("name and head_sha are required")
    if body.get("status") == "completed" and body.get("conclusion") not in _CONCLUSIONS:
        return _invalid("conclusion is not included in the list")
    if refused := _bad_output(body.get("output")):
        return refused
    made = body | {"id": next(rest.ids), "html_url": f"https://git.acme.example/acme/demo/runs/{len(rest.checks)}"}
    rest.checks[made["id"]] = made
    return Reply(made, 201)
