"""The event that started the workflow.

The runner writes the payload, but the author of a pull request controls much of its content, such as titles and
branches. Only the fields that are listed here are used, and only if their type and form are right. Protocol:
docs.github.com, "Events that trigger workflows" and "Webhook events and payloads".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AfterValidator,
    AliasPath,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
)

from codegate.errors import UsageError
from codegate.forge import DEFAULT_API
from codegate.gating.baseline import WORKFLOW_FILE
from codegate.strict import Lenient, parse_json, printable, read_text
from codegate.suite import GitError, git
from codegate.suite.model import Commit

_Id = Annotated[int, Field(strict=True, gt=0, lt=1 << 62)]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$")]
_EventName = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,60}$")]
_Url = Annotated[
    str,
    StringConstraints(pattern=r"^https?://[A-Za-z0-9.:\[\]-]{1,300}(/[A-Za-z0-9._~/-]{0,300})?$"),
    AfterValidator(lambda address: address.rstrip("/")),
]
_Number = Annotated[int, BeforeValidator(lambda text: int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0)]
_Ref = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20\x7f-\x9f~^:?*\[\\\s]{1,255}$")]
"""Name of a branch, without characters that ``git check-ref-format`` forbids, so that it is one word."""

MAX_PAYLOAD_BYTES: Final = 32 << 20
"""Most bytes of a payload; GitHub's largest has 25 MB."""

UNKNOWN_WORKFLOW: Final = (
    "GITHUB_WORKFLOW_REF names no workflow file of this repository, and artifacts are taken from its runs only. Run "
    "this from a file in .github/workflows of this repository, without an @ in its name."
)

_BY_MEMBERS: Final = frozenset(
    {"push", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group", "release", "create", "deployment"}
)
"""Events that only members with write access can start."""
_BY_PROPOSAL: Final = frozenset({"pull_request", "pull_request_review", "pull_request_review_comment"})
"""Events in which GitHub gives a fork's run neither secrets nor a writing token."""
_REMARKS: Final = {"pull_request_review": "review", "pull_request_review_comment": "comment"}
"""Events that anybody can start on a public repository's own pull requests, with the payload's key for the remark."""
_MEMBERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})

_FOREIGN: Final[Mapping[str, str]] = {
    "pull_request_target": "Run the suite on pull_request, and comment on workflow_run.",
    "workflow_run": "It may comment what that run reported: use mode report.",
}
"""Events that get secrets although the commit can be from a fork, with advice on what to do instead."""


class PullRequest(Lenient):
    """The used fields of a pull request.

    ``head_repository_id`` is None if that repository was deleted or is not named.
    """

    number: _Id
    base_ref: _Ref | None = Field(default=None, validation_alias=AliasPath("base", "ref"))
    base_sha: Commit = Field(validation_alias=AliasPath("base", "sha"))
    head_sha: Commit = Field(validation_alias=AliasPath("head", "sha"))
    head_repository_id: _Id | None = Field(default=None, validation_alias=AliasPath("head", "repo", "id"))


class WorkflowRun(Lenient):
    """The workflow run whose end started this one.

    ``event`` is the name of the event that started that run. ``head_repository`` is None if the repository was deleted.
    """

    id: _Id
    workflow_id: _Id | None = None
    head_sha: Commit
    head_branch: _Ref | None = None
    head_repository: _Name | None = Field(default=None, validation_alias=AliasPath("head_repository", "full_name"))
    head_repository_id: _Id | None = Field(default=None, validation_alias=AliasPath("head_repository", "id"))
    event: _EventName


class _MergeGroup(Lenient):
    base_sha: Commit


class _Remark(Lenient):
    author_association: str = ""


class _Repository(Lenient):
    id: _Id | None = None
    default_branch: _Ref | None = None


class _Environment(Lenient):
    GITHUB_EVENT_NAME: _EventName
    GITHUB_REPOSITORY: _Name
    GITHUB_SHA: Commit
    GITHUB_REF: str = ""
    GITHUB_EVENT_PATH: str = ""
    GITHUB_WORKFLOW_REF: str = ""
    GITHUB_SERVER_URL: _Url = "https://github.com"
    GITHUB_API_URL: _Url = DEFAULT_API
    GITHUB_REPOSITORY_ID: _Number = 0
    GITHUB_RUN_ID: _Number = 0
    GITHUB_RUN_ATTEMPT: _Number = 0

    @property
    def workflow_path(self) -> str:
        """Return the path of this workflow's file in the repository.

        "" if the file is in another repository, or its name contains an @.
        """
        reference = self.GITHUB_WORKFLOW_REF
        path = reference.removeprefix(f"{self.GITHUB_REPOSITORY}/").partition("@")[0]
        return path if path != reference and path.isprintable() and re.fullmatch(WORKFLOW_FILE, path) else ""


_PartT = TypeVar("_PartT", bound=Lenient)


@dataclass(frozen=True)
class Event:
    """The event that started this workflow run.

    An empty text, None and 0 stand for an unknown field.

    Attributes:
        pull: the pull request that the event is about.
        base_sha: commit whose rules apply: the base of a pull request or a merge queue.
        sha: the run's commit as in GITHUB_SHA (for a pull request, the merge commit).
        ref: the reference of ``sha``, as in GITHUB_REF.
        server_url: address of GitHub's web pages, or of an Enterprise server's.
        api_url: address of its API.
        workflow_path: path of this workflow's file in the repository.
        by_member: whether a member or collaborator started the run; False only for reviews and their comments.
    """

    name: str
    repository: str
    repository_id: int | None
    default_branch: str
    pull: PullRequest | None
    workflow_run: WorkflowRun | None
    base_sha: str | None
    sha: str
    ref: str
    server_url: str
    api_url: str
    run_id: int
    run_attempt: int
    workflow_path: str
    by_member: bool = True

    @property
    def fork(self) -> bool:
        """Return whether the commit may be from another repository."""
        source = self.pull or self.workflow_run
        if source is None:
            return False
        return self.repository_id is None or source.head_repository_id != self.repository_id

    @property
    def head_sha(self) -> str:
        """Return the pull request's or run's head commit, else ``sha``."""
        source = self.pull or self.workflow_run
        return source.head_sha if source is not None else self.sha

    @property
    def run_url(self) -> str | None:
        """Return this run's web page; None outside a workflow."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}" if self.run_id else None


def read_event(environment: Mapping[str, str]) -> Event:
    """Read the event from the runner's variables and payload.

    Raises:
        UsageError: the runner's variables or the payload are unusable.
    """
    given = _valid(_Environment, {name: value for name, value in environment.items() if value}, "")
    name, path = given.GITHUB_EVENT_NAME, given.GITHUB_EVENT_PATH
    payload = parse_json(read_text(Path(path), MAX_PAYLOAD_BYTES), "the event's payload") if path else {}
    if not isinstance(payload, dict):
        raise UsageError("the payload of the event is no object.")

    def part(model: type[_PartT], key: str) -> _PartT:
        if payload.get(key) is None:
            raise UsageError(f"the payload of the event has no {key}.")
        return _valid(model, payload[key], key)

    about = part(_Repository, "repository") if payload.get("repository") is not None else _Repository()
    pull = part(PullRequest, "pull_request") if name in {*_BY_PROPOSAL, "pull_request_target"} else None
    base = pull or (part(_MergeGroup, "merge_group") if name == "merge_group" else None)
    return Event(
        name=name,
        repository=given.GITHUB_REPOSITORY,
        repository_id=about.id or given.GITHUB_REPOSITORY_ID or None,
        default_branch=about.default_branch or "",
        pull=pull,
        workflow_run=part(WorkflowRun, "workflow_run") if name == "workflow_run" else None,
        base_sha=base.base_sha if base is not None else None,
        sha=given.GITHUB_SHA,
        ref=given.GITHUB_REF,
        server_url=given.GITHUB_SERVER_URL,
        api_url=given.GITHUB_API_URL,
        run_id=given.GITHUB_RUN_ID,
        run_attempt=given.GITHUB_RUN_ATTEMPT,
        workflow_path=given.workflow_path,
        by_member=name not in _REMARKS or part(_Remark, _REMARKS[name]).author_association in _MEMBERS,
    )


def _valid(model: type[_PartT], document: Any, place: str) -> _PartT:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        path = ".".join(str(part) for part in (*([place] if place else []), *error.errors()[0]["loc"]))
        where = f"{printable(path)} of the event" if place else path
        raise UsageError(f"{where} is missing, or not what GitHub writes there.") from None


def with_merged_base(event: Event, repository: Path) -> Event:
    """Return the event with the base that GitHub merged into.

    GitHub makes a pull request's merge commit on the tip of its base branch; the payload's base can be weeks older. If
    the pull request's author could have made the merge commit, the payload's base is kept. The commit is certainly
    GitHub's if three things hold. The runner names it for the pull request (GITHUB_REF and GITHUB_SHA, which no step
    can set). The commit is checked out. It merges the head into a commit of the fetched base branch that contains the
    payload's base.
    """
    pull = event.pull
    if pull is None or event.name not in _BY_PROPOSAL or event.ref != f"refs/pull/{pull.number}/merge":
        return event
    try:
        listed = git(repository, "rev-list", "--parents", "--max-count=1", "HEAD", "--").decode("ascii").split()
        if listed[:1] != [event.sha] or listed[2:] != [pull.head_sha]:
            return event
        base = listed[1]
        for earlier, later in ((pull.base_sha, base), (base, f"refs/remotes/origin/{pull.base_ref}")):
            git(repository, "merge-base", "--is-ancestor", earlier, later)
    except GitError:
        return event
    return replace(event, base_sha=base)


def refusal(event: Event) -> str | None:
    """Return why this event must not run suites, or None."""
    if not event.by_member and not event.fork:  # GitHub gives a fork's run no secrets
        return (
            f"GitHub names the author of this {_REMARKS[event.name]} neither owner, member nor collaborator, and the "
            "run holds the repository's secrets, so no suite is run. Run the suite on pull_request."
        )
    if event.name in _BY_MEMBERS or event.name in _BY_PROPOSAL or (event.name in _FOREIGN and not event.fork):
        run = event.workflow_run
        if run is not None and run.event not in _BY_MEMBERS:
            return f"a workflow_run run after {run.event} has no base commit that decides. {_FOREIGN[event.name]}"
        return None
    if event.name in _FOREIGN:
        return (
            f"a {event.name} run of another repository's commit holds this repository's secrets, so no suite is run "
            f"in it. {_FOREIGN[event.name]}"
        )
    return (
        f"strangers can start a run on {event.name}, and it holds this repository's secrets, so no suite is run in it. "
        "Run the suite on pull_request, push, schedule or workflow_dispatch."
    )
