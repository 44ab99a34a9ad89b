"""The pinned baseline: the lock of the base commit says which one counts; its bytes may come from anywhere.

The lock is read from the commit that a pull request is merged into, never from the pull request's own tree. Only
bytes whose SHA-256 the lock holds are taken, wherever they are: an artifact that a trusted run uploaded, a release, a
file of the repository. Where none fits there is no baseline, and nothing passes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegate.durable import sha256
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.forge import Forbidden, GitHub, GitHubError
from codegate.gating import Baseline, Lock
from codegate.gating.baseline import MAX_LOCK_BYTES, parse_lock, verify_pinned
from codegate.github.event import Event
from codegate.github.sources import file_here, file_of_commit, sources
from codegate.suite import check_path

_PIN: Final = (
    "Pin one with `codegate baseline pin RUN`, commit the lock and the baseline file, and give the job "
    "`permissions: contents: read`."
)
_RESTORE: Final = "Put the pinned bytes back where the lock says, or pin a new baseline."


class NoBaseline(CodegateError):
    """There is no baseline to compare with, so nothing can pass.

    Its exit code is that of a usage error, which a person has to fix, and not that of an inconclusive verdict, which
    a policy may let pass. Where a source did not answer it is that of an infrastructure fault: trying again may help.

    Attributes:
        refused: a sentence for each source that was tried: which, and why it is not used.
    """

    def __init__(self, cause: str, remedy: str, refused: tuple[str, ...] = (), *, unreachable: bool = False) -> None:
        super().__init__(f"no baseline: {cause}", remedy)
        self.refused = refused
        if unreachable:
            self.exit_code = ExitCode.INFRASTRUCTURE


@dataclass(frozen=True)
class Pinned:
    """The baseline that counts, read and verified once.

    Attributes:
        baseline: what is pinned.
        data: the bytes of its file.
        lock: what pins it.
        lock_data: the bytes of the lock.
        source: where the baseline's bytes came from, for people.
        notes: what a report says about it, a sentence each: nothing where all is as usual.
    """

    baseline: Baseline
    data: bytes
    lock: Lock
    lock_data: bytes
    source: str
    notes: tuple[str, ...]


def fetch_pinned(github: GitHub | None, event: Event | None, name: str, workspace: Path) -> Pinned:
    """Return the baseline that counts for ``event``, from the first source that has its very bytes.

    Args:
        github: the API; None: only the checked-out tree and the local clone are asked.
        event: what started the workflow, if one did; with a base commit, the lock is read from that and nothing else.
        name: path of the lock in the repository, as the workflow says it. Not where it leads in the checked-out tree:
            a pull request could put a link to another lock there.
        workspace: top folder of the checked-out repository.

    Raises:
        UsageError: ``name`` is no path in a repository.
        NoBaseline: there is no lock, or a broken one, or no source has the bytes that it pins.
        GitHubError: neither GitHub nor the local clone has the base commit.
    """
    check_path(name)
    lock, lock_data, changed = _read_lock(github, event, name, workspace)
    refused: list[str] = []
    unreachable = False
    for source in sources(github, event, lock, name, workspace):
        try:
            data = source.fetch()
        except (UsageError, GitHubError) as error:
            unreachable = unreachable or _may_answer_later(error)
            lacking = f" The token lacks `{error.permission}`." if isinstance(error, Forbidden) else ""
            refused.append(f"Not used: {source.name}: {error.cause}{lacking}")
            continue
        if sha256(data) != lock.sha256:
            refused.append(f"Not used: {source.name}: its content is not the pinned one, whose SHA-256 differs.")
            continue
        try:
            baseline = verify_pinned(lock, data, name, source.name)
        except UsageError as error:  # the lock contradicts what it pins: it is of another suite or model
            raise NoBaseline(error.cause, error.remedy, tuple(refused)) from error
        used = [*refused, f"The baseline came from {source.name}."] if refused else []
        return Pinned(baseline, data, lock, lock_data, source.name, (*changed, *used))
    cause = f"nothing has the bytes that {name} pins. {' '.join(refused)}"
    raise NoBaseline(cause, _RESTORE, tuple(refused), unreachable=unreachable)


def _read_lock(
    github: GitHub | None, event: Event | None, name: str, workspace: Path
) -> tuple[Lock, bytes, tuple[str, ...]]:
    """Return the lock that counts, its bytes, and a note where a pull request has another one or none."""
    where, data = "the checked-out tree", file_here(workspace / name, MAX_LOCK_BYTES)
    changed: tuple[str, ...] = ()
    if event is not None and event.base_sha is not None:
        where, proposed = f"the base commit {event.base_sha[:12]}", data
        try:
            data = file_of_commit(github, event.base_sha, name, workspace, MAX_LOCK_BYTES)
        except UsageError as error:
            raise NoBaseline(f"{name} of {where} is not usable: {error.cause}", error.remedy or _PIN) from error
        if proposed != data:
            changed = (f"This pull request changes {name}; until it is merged, the one of the base commit counts.",)
    if data is None:
        raise NoBaseline(f"there is no {name} in {where}, or none that the token may read.", _PIN)
    try:
        return parse_lock(data, name), data, changed
    except UsageError as error:
        raise NoBaseline(f"the {name} of {where} is broken: {error.cause}", error.remedy) from error


def _may_answer_later(error: CodegateError) -> bool:
    return isinstance(error, GitHubError) and (error.status is None or error.status == 429 or error.status >= 500)
