"""What started the workflow, as far as codegate acts on it.

The runner writes the payload, but much of what is in it (titles, branches, who proposes what) is written by whoever
opened the pull request. Only what is listed here is taken from it, by its type and its form.
Protocol: docs.github.com, "Events that trigger workflows" and "Webhook events and payloads".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegate.errors import UsageError
from codegate.forge import DEFAULT_API
from codegate.strict import parse_json, read_text

MAX_PAYLOAD_BYTES: Final = 32 << 20
"""GitHub sends none above 25 MB."""

_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_EVENT: Final = re.compile(r"[a-z_]{1,60}")
_URL: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,300}(?:/[A-Za-z0-9._~/-]{0,300})?")
_REF: Final = re.compile(r"[^\x00-\x20\x7f-\x9f~^:?*\[\\\s\ud800-\udfff]{1,255}")
_WORKFLOW: Final = re.compile(r"\.github/workflows/[A-Za-z0-9._-]{1,200}\.ya?ml")
_WORD: Final = re.compile(r"[a-z_]{1,60}")
_FILE: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,500}")
_MOST_ID: Final = 1 << 62

_BY_MEMBERS: Final = frozenset(
    {"push", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group", "release", "create", "deployment"}
)
"""Events that only somebody who may write to the repository can start."""
_BY_PROPOSAL: Final = frozenset({"pull_request", "pull_request_review", "pull_request_review_comment"})
"""Events that GitHub itself gives neither secrets nor a writing token when the head is foreign."""


@dataclass(frozen=True)
class PullRequest:
    """A pull request; ``head_repository_id`` is None where the head's repository is gone, or not named."""

    number: int
    base_sha: str
    base_ref: str
    head_sha: str
    head_ref: str
    head_repository_id: int | None


@dataclass(frozen=True)
class WorkflowRun:
    """The run whose end started this one.

    Attributes:
        head_repository: ``owner/name`` of where its commit came from; None where that is gone.
        event: what started it.
        path: of its workflow's file.
        conclusion: such as ``success``; None while it runs.
    """

    id: int
    attempt: int
    head_sha: str
    head_branch: str
    head_repository: str | None
    head_repository_id: int | None
    event: str
    path: str
    conclusion: str | None


@dataclass(frozen=True)
class Event:
    """What started the workflow, and where.

    Attributes:
        name: of the event, such as ``pull_request``.
        repository: ``owner/name``.
        repository_id: None where nobody said.
        default_branch: empty where nobody said.
        pull: the pull request that the event is about.
        workflow_run: of a ``workflow_run`` event.
        base_sha: commit that the repository's own rules are read from: the base of a pull request or of a merge queue;
            None where the event has none.
        sha: commit that the run is of, as GitHub counts it (of a pull request, the merge).
        server_url: for people, ``api_url`` for programs; those of an Enterprise server where it is one.
        run_id: of this workflow run, ``run_attempt`` of it; 0 outside of one.
        workflow_path: of this workflow's file in the repository; empty where nobody said.
    """

    name: str
    repository: str
    repository_id: int | None
    default_branch: str
    pull: PullRequest | None
    workflow_run: WorkflowRun | None
    base_sha: str | None
    sha: str
    server_url: str
    api_url: str
    run_id: int
    run_attempt: int
    workflow_path: str

    @property
    def fork(self) -> bool:
        """Return whether a commit of another repository started this; what is not known to be ours is not."""
        source = self.pull or self.workflow_run
        if source is None:
            return False
        return self.repository_id is None or source.head_repository_id != self.repository_id

    @property
    def head_sha(self) -> str:
        """Return the commit that people see: the head of the pull request or of the other run, else the run's own."""
        source = self.pull or self.workflow_run
        return source.head_sha if source is not None else self.sha

    @property
    def run_url(self) -> str | None:
        """Return where people find this run; None outside of a workflow."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}" if self.run_id else None


def read_event(environment: Mapping[str, str]) -> Event:
    """Return what started the workflow that ``environment`` is of.

    Raises:
        UsageError: the payload is missing, too large, no JSON, or has something else where an event has its facts.
    """
    path = environment.get("GITHUB_EVENT_PATH")
    document = parse_json(read_text(Path(path), MAX_PAYLOAD_BYTES), "the event's payload") if path else {}
    payload = _Facts(document, "payload")
    name = _form(environment.get("GITHUB_EVENT_NAME", ""), _EVENT, "GITHUB_EVENT_NAME")
    repository = _form(environment.get("GITHUB_REPOSITORY", ""), _REPOSITORY, "GITHUB_REPOSITORY")
    about = payload.maybe("repository")
    proposed = name in {*_BY_PROPOSAL, "pull_request_target"}
    pull = payload.maybe("pull_request") if proposed else None
    run = payload.maybe("workflow_run") if name == "workflow_run" else None
    queued = payload.maybe("merge_group") if name == "merge_group" else None
    if proposed and pull is None:
        raise UsageError(f"the payload of {name} has no pull_request.")
    if name == "workflow_run" and run is None:
        raise UsageError("the payload of workflow_run has no workflow_run.")
    request = _pull_request(pull) if pull is not None else None
    told = environment.get("GITHUB_REPOSITORY_ID", "")
    return Event(
        name=name,
        repository=repository,
        repository_id=about.maybe_number("id") if about and about.has("id") else _number(told) or None,
        default_branch=about.ref("default_branch") if about and about.has("default_branch") else "",
        pull=request,
        workflow_run=_workflow_run(run) if run is not None else None,
        base_sha=request.base_sha if request else queued.sha("base_sha") if queued is not None else None,
        sha=_form(environment.get("GITHUB_SHA", ""), _SHA, "GITHUB_SHA"),
        server_url=_address(environment, "GITHUB_SERVER_URL", "https://github.com"),
        api_url=_address(environment, "GITHUB_API_URL", DEFAULT_API),
        run_id=_number(environment.get("GITHUB_RUN_ID", "")),
        run_attempt=_number(environment.get("GITHUB_RUN_ATTEMPT", "")),
        workflow_path=_workflow_path(environment.get("GITHUB_WORKFLOW_REF", ""), repository),
    )


def refusal(event: Event) -> str | None:
    """Return why codegate will not run a suite for this event; None where it will.

    A run costs money and holds keys, so nobody can start one who could not push: events that strangers start run with
    the repository's own secrets.
    """
    if event.name in _BY_MEMBERS or event.name in _BY_PROPOSAL:
        return None
    if event.name == "pull_request_target":
        if not event.fork:
            return None
        return (
            "a pull_request_target run of another repository's commit holds this repository's secrets, so no suite is "
            "run in it. Run the suite on pull_request, and comment on workflow_run."
        )
    if event.name == "workflow_run":
        if not event.fork:
            return None
        return (
            "a workflow_run that another repository's commit started holds this repository's secrets, so no suite is "
            "run in it. It may comment what that run reported: use mode report."
        )
    return (
        f"anybody can start a run on {event.name}, and it holds this repository's secrets, so no suite is run in it. "
        "Run the suite on pull_request, push, schedule or workflow_dispatch."
    )


@dataclass(frozen=True)
class _Facts:
    """An object of the payload; ``place`` is its name in what is said to people."""

    data: Any
    place: str

    def __post_init__(self) -> None:
        if not isinstance(self.data, dict):
            raise UsageError(f"{self.place} of the event is no object.")

    def has(self, name: str) -> bool:
        return self.data.get(name) is not None

    def maybe(self, name: str) -> "_Facts | None":
        return _Facts(self.data[name], f"{self.place}.{name}") if self.has(name) else None

    def of(self, name: str) -> "_Facts":
        return _Facts(self.data.get(name), f"{self.place}.{name}")

    def number(self, name: str) -> int:
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _MOST_ID:
            raise UsageError(f"{self.place}.{name} of the event is no number above 0.")
        return value

    def maybe_number(self, name: str) -> int | None:
        return self.number(name) if self.has(name) else None

    def text(self, name: str, form: re.Pattern[str]) -> str:
        return _form(self.data.get(name), form, f"{self.place}.{name} of the event")

    def sha(self, name: str) -> str:
        return self.text(name, _SHA)

    def ref(self, name: str) -> str:
        """Return the name of a branch, by the rules of ``git check-ref-format`` that keep it one word."""
        return self.text(name, _REF)


def _pull_request(facts: _Facts) -> PullRequest:
    base, head = facts.of("base"), facts.of("head")
    home = head.maybe("repo")
    return PullRequest(
        number=facts.number("number"),
        base_sha=base.sha("sha"),
        base_ref=base.ref("ref"),
        head_sha=head.sha("sha"),
        head_ref=head.ref("ref"),
        head_repository_id=home.maybe_number("id") if home is not None else None,
    )


def _workflow_run(facts: _Facts) -> WorkflowRun:
    home = facts.maybe("head_repository")
    return WorkflowRun(
        id=facts.number("id"),
        attempt=facts.maybe_number("run_attempt") or 1,
        head_sha=facts.sha("head_sha"),
        head_branch=facts.ref("head_branch") if facts.has("head_branch") else "",
        head_repository=home.text("full_name", _REPOSITORY) if home is not None else None,
        head_repository_id=home.maybe_number("id") if home is not None else None,
        event=facts.text("event", _WORD),
        path=facts.text("path", _FILE),
        conclusion=facts.text("conclusion", _WORD) if facts.has("conclusion") else None,
    )


def _form(value: object, form: re.Pattern[str], what: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise UsageError(f"{what} is missing, or not what GitHub writes there.")
    return value


def _workflow_path(reference: str, repository: str) -> str:
    """Return the path in ``owner/name/PATH@ref``; a workflow of another repository has none here."""
    path = reference.removeprefix(f"{repository}/").partition("@")[0]
    return path if path != reference and _WORKFLOW.fullmatch(path) else ""


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def _address(environment: Mapping[str, str], name: str, default: str) -> str:
    return _form(environment.get(name) or default, _URL, name).rstrip("/")
