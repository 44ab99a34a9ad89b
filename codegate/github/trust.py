"""Which run may have uploaded a baseline: one of the baseline workflow, on the default branch, started by a member.

The name of an artifact proves nothing, and neither does the name of a branch: a pull request from the branch ``main``
of a fork may change the workflow file and upload what it likes into this repository's list. What GitHub itself says
about the run is what counts.
Protocol: docs.github.com/rest/actions/workflow-runs, "Get a workflow run"; /rest/commits, "Compare two commits".
"""

from collections.abc import Collection
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from codegate.errors import UsageError
from codegate.forge import GitHub, GitHubError, NotFound
from codegate.github.artifacts import Artifact
from codegate.github.event import Event
from codegate.strict import shown

WRITERS: Final = frozenset({"push", "schedule", "workflow_dispatch"})
"""Events that only members start; ``workflow_run`` and ``pull_request_target`` act for whoever caused them."""

_Id = Annotated[int, Field(strict=True, ge=1)]
_Text = Annotated[str, StringConstraints(max_length=1000)]


class Untrusted(UsageError):
    """An artifact whose run was not one of the baseline workflow on the default branch."""


class _Repository(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    id: _Id


class _Run(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    id: _Id
    event: _Text
    path: _Text
    conclusion: _Text | None
    head_branch: _Text | None
    head_sha: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
    repository: _Repository
    head_repository: _Repository | None


def default_branch(github: GitHub, event: Event) -> str:
    """Return the repository's default branch: the event's word for it, or GitHub's.

    Raises:
        GitHubError: no answer that can be used.
    """
    if event.default_branch:
        return event.default_branch
    path = github.repo("")
    document = github.get(path)
    branch = document.get("default_branch") if isinstance(document, dict) else None
    if not isinstance(branch, str) or not branch:
        raise GitHubError(f"GitHub: GET {path} named no default branch.")
    return branch


def check_origin(artifact: Artifact, branch: str) -> None:
    """Refuse an artifact that another repository's commit, or one of another branch, brought about.

    Asks nobody: GitHub's list of artifacts says it.

    Raises:
        Untrusted: it is such a one.
    """
    run = artifact.workflow_run
    if run is None:
        raise Untrusted("GitHub does not say which run uploaded it.")
    if run.head_repository_id != run.repository_id:
        raise Untrusted(f"run {run.id} was of another repository's commit (a fork's).")
    if run.head_branch != branch:
        raise Untrusted(f"run {run.id} was not on the default branch {shown(branch)!r}.")


def check_run(
    github: GitHub, artifact: Artifact, branch: str, workflow: str, conclusions: Collection[str] = ("success",)
) -> None:
    """Refuse an artifact unless the run that uploaded it was one of ``workflow`` on ``branch`` that ended well.

    Args:
        github: the repository.
        artifact: what it uploaded.
        branch: the default branch.
        workflow: path of the workflow's file.
        conclusions: how the run may have ended.

    Raises:
        Untrusted: it was not; or its commit is no longer on the branch.
        GitHubError: no answer that can be used.
    """
    check_origin(artifact, branch)
    number = artifact.workflow_run.id if artifact.workflow_run is not None else 0
    path = github.repo(f"actions/runs/{number}")
    run = _run(github.get(path), path)
    reason = ""
    if run.id != number:
        reason = "GitHub answered with another run"
    elif run.head_repository is None or run.head_repository.id != run.repository.id or run.head_branch != branch:
        reason = "it was not of this repository's default branch"
    elif run.event not in WRITERS:
        reason = f"it was started by {shown(run.event)}, which is not one of {', '.join(sorted(WRITERS))}"
    elif run.path.partition("@")[0] != workflow:
        reason = f"it was of the workflow {shown(run.path)!r}, not of {workflow!r}"
    elif run.conclusion not in conclusions:
        reason = f"it ended with {shown(run.conclusion)}" if run.conclusion else "it has not ended"
    elif not _on_branch(github, run.head_sha, branch):
        reason = f"its commit {run.head_sha[:12]} is not on the default branch any more"
    if reason:
        raise Untrusted(f"run {number} is not trusted: {reason}.")


def _run(document: Any, path: str) -> _Run:
    try:
        return _Run.model_validate(document)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise GitHubError(f"GitHub: GET {path} answered with no run (at {shown(place)!r}).") from None


def _on_branch(github: GitHub, commit: str, branch: str) -> bool:
    path = github.repo(f"compare/{commit}...{quote(branch, safe='')}")
    try:
        document = github.get(path, per_page=1)
    except NotFound:  # a commit that nothing leads to
        return False
    return isinstance(document, dict) and document.get("status") in {"ahead", "identical"}
