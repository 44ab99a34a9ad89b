"""The comment that is updated in place, and the pull request that it belongs on."""

import contextlib
from collections.abc import Iterator
from typing import Any

from codegate.forge import GitHub, GitHubError, NotFound
from codegate.github.event import Event, WorkflowRun
from codegate.github.said import Said, attempted, author, create, is_own, marked, number_of, own_login, said


def upsert_comment(github: GitHub, number: int, key: str, body: str, *, begin: bool = True) -> Said:
    """Say ``body`` about ``key`` in the one comment of a pull request or issue that is for it.

    Where several of ours are there, the oldest is updated and the others, which would say something else, go.

    Args:
        github: the repository.
        number: of the pull request or issue.
        key: which of several gates speaks.
        body: Markdown, without the marker.
        begin: write one where there is none yet.

    Raises:
        UsageError: ``key`` cannot stand in a marker. GitHub's refusals are a warning instead.
    """
    text = marked(key, body)
    return attempted(f"The comment on #{number}", lambda: _upsert(github, number, key, text, begin))


def pull_number(github: GitHub, event: Event) -> int | None:
    """Return the open pull request that an event is about, None where there is none.

    For a ``workflow_run`` GitHub is asked, by the run's commit and then by its branch: the payload names no pull
    request of a fork, and what the run itself says may name any.

    Raises:
        GitHubError: it could not be asked.
    """
    if event.pull is not None:
        return event.pull.number
    run = event.workflow_run
    if run is None or run.event not in {"pull_request", "pull_request_target"}:
        return None
    return min((number_of(found, "number") for found in _asked(github, run) if _is_of(found, event)), default=None)


def _upsert(github: GitHub, number: int, key: str, text: str, begin: bool) -> Said:
    def own(login: str) -> list[dict[str, Any]]:
        """Return our comments, the oldest first."""
        comments = github.pages(github.repo(f"issues/{number}/comments"))
        return sorted(
            (entry for entry in comments if is_own(entry, key, login)), key=lambda entry: number_of(entry, "id")
        )

    login = own_login(github)
    there = own(login)
    while there:
        try:
            return _update(github, there, text)
        except NotFound:  # somebody deleted it meanwhile
            there = there[1:]
    if not begin:
        return Said("nothing")
    made = create(github, github.repo(f"issues/{number}/comments"), {"body": text}, lambda: own(login))
    truly = author(made)
    if truly not in {login, None}:
        # An app's token writes under a name that only what it wrote tells.
        there = own(str(truly))
        if len(there) > 1:
            return _update(github, there, text)
    return said("created", made)


def _update(github: GitHub, there: list[dict[str, Any]], text: str) -> Said:
    oldest, *others = there
    for entry in others:
        with contextlib.suppress(GitHubError):
            github.send("DELETE", github.repo(f"issues/comments/{number_of(entry, 'id')}"))
    if oldest["body"] == text:
        return said("unchanged", oldest)
    return said(
        "updated", github.send("PATCH", github.repo(f"issues/comments/{number_of(oldest, 'id')}"), {"body": text})
    )


def _asked(github: GitHub, run: WorkflowRun) -> Iterator[dict[str, Any]]:
    """Yield pull requests that may be of the run: those of its commit and, where none fits, those of its branch."""
    found = []
    try:
        found = list(github.pages(github.repo(f"commits/{run.head_sha}/pulls")))
    except GitHubError as error:
        if error.status not in {404, 422}:  # the commit is not in this repository
            raise
    yield from found
    if run.head_repository is not None and run.head_branch and not any(_has_head(pull, run) for pull in found):
        owner = run.head_repository.partition("/")[0]
        yield from github.pages(github.repo("pulls"), state="open", head=f"{owner}:{run.head_branch}")


def _is_of(pull: dict[str, Any], event: Event) -> bool:
    run = event.workflow_run
    base = _part(pull, "base")
    return (
        run is not None
        and pull.get("state") == "open"
        and _has_head(pull, run)
        and event.repository_id is not None
        and _part(base, "repo").get("id") == event.repository_id
    )


def _has_head(pull: dict[str, Any], run: WorkflowRun) -> bool:
    head = _part(pull, "head")
    home = _part(head, "repo").get("id")
    return head.get("sha") == run.head_sha and home is not None and home == run.head_repository_id


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}
