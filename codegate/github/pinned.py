"""The pinned baseline: the lock of the base commit says which one counts; its bytes may come from anywhere.

The lock is read from the commit that a pull request is merged into, never from the pull request's own tree. Only
bytes whose SHA-256 the lock holds are taken, whoever has them: the artifact that was pinned, a newer one of that name
which a trusted run uploaded, a release, a file of the repository. Where none fits there is no baseline, and nothing
passes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegate.durable import sha256, write_atomic
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.forge import Forbidden, GitHub, GitHubError
from codegate.gating import MAX_LOCK_BYTES, Baseline, Lock, load_lock, load_pinned
from codegate.github.artifacts import Artifact
from codegate.github.event import Event
from codegate.github.sources import Offer, file_here, file_of_commit, offers
from codegate.suite import check_path

LOCK_NAME: Final = "codegate.lock"
_PIN: Final = (
    "Pin one with `codegate baseline pin RUN`, commit the lock and the baseline file, and give the job "
    "`permissions: contents: read`."
)
_RESTORE: Final = "Put the pinned bytes back where the lock says, or pin a new baseline."


class NoBaseline(CodegateError):
    """There is no baseline to compare with, so nothing can pass.

    Its exit code is that of a usage error, which somebody has to mend, and not that of an inconclusive verdict, which
    a policy may let pass. Where a source did not answer it is that of an infrastructure fault: trying again may help.

    Attributes:
        refused: a sentence for each source that was tried: which, and why it is not used.
    """

    def __init__(self, cause: str, remedy: str, refused: tuple[str, ...] = (), *, unreachable: bool = False) -> None:
        super().__init__(cause, remedy)
        self.refused = refused
        if unreachable:
            self.exit_code = ExitCode.INFRASTRUCTURE


@dataclass(frozen=True)
class PinnedLock:
    """The lock that counts.

    Attributes:
        lock: what it says.
        data: its bytes.
        name: its path in the repository.
        commit: the commit that it was read from; None: the checked-out tree itself.
        changed: the checked-out tree, a pull request's, has another one or none.
    """

    lock: Lock
    data: bytes
    name: str
    commit: str | None
    changed: bool


@dataclass(frozen=True)
class PinnedBaseline:
    """The baseline that counts, and how it was found.

    Attributes:
        path: a lock with its baseline beside it, to gate with.
        baseline: what is pinned.
        lock: the lock that pins it.
        source: where its bytes came from, for people.
        artifact: the artifact that they came from, if they did.
        refused: a sentence for each source that was tried before.
    """

    path: Path
    baseline: Baseline
    lock: PinnedLock
    source: str
    artifact: Artifact | None
    refused: tuple[str, ...]

    def notes(self) -> tuple[str, ...]:
        """Return what a report has to say about it, a sentence each; nothing where all is as usual."""
        changed = f"This pull request changes {self.lock.name}; until it is merged, the one of the base commit counts."
        used = f"The baseline came from {self.source}."
        return (*([changed] if self.lock.changed else ()), *self.refused, *([used] if self.refused else ()))


def read_pinned_lock(github: GitHub | None, event: Event, name: str, workspace: Path, folder: Path) -> PinnedLock:
    """Return the lock that counts for ``event``.

    Args:
        github: the API; None: the local clone is asked alone.
        event: with a base commit, the lock is read from it and from nothing else.
        name: path of the lock in the repository, as the workflow says it. Not where it leads in the checked-out tree:
            a pull request could put a link to another lock there.
        workspace: top folder of the checked-out repository.
        folder: outside of it; the lock is written there.

    Raises:
        UsageError: ``name`` is no path in a repository.
        NoBaseline: there is no lock, or one that is broken.
        GitHubError: neither GitHub nor the local clone has the base commit.
        InfrastructureError: the disk refused.
    """
    check_path(name)
    local = file_here(workspace / name, MAX_LOCK_BYTES)
    where, data = "the checked-out tree", local
    if event.base_sha is not None:
        where = f"the base commit {event.base_sha[:12]}"
        try:
            data = file_of_commit(github, event.base_sha, name, workspace, MAX_LOCK_BYTES)
        except UsageError as error:
            raise NoBaseline(
                f"no baseline: {name} of {where} is not usable: {error.cause}", error.remedy or _PIN
            ) from error
    if data is None:
        raise NoBaseline(f"no baseline: there is no {name} in {where}, or none that the token may read.", _PIN)
    written = folder / LOCK_NAME
    write_atomic(written, data)
    try:
        lock = load_lock(written)
    except UsageError as error:
        raise NoBaseline(f"no baseline: the {name} of {where} is broken: {error.cause}", error.remedy) from error
    return PinnedLock(lock, data, name, event.base_sha, changed=event.base_sha is not None and local != data)


def fetch_pinned(
    github: GitHub | None, event: Event, lock: PinnedLock, workspace: Path, folder: Path
) -> PinnedBaseline:
    """Return the baseline that ``lock`` pins, from the first source that has its very bytes.

    Args:
        github: the API; None: only the checked-out tree and the local clone are asked.
        event: what started the workflow.
        lock: the lock that counts.
        workspace: top folder of the checked-out repository.
        folder: outside of it; lock and baseline are written there.

    Raises:
        NoBaseline: no source has them.
        InfrastructureError: the disk refused.
    """
    refused: list[str] = []
    unreachable = False
    for offer in offers(github, event, lock.lock, lock.name, workspace):
        try:
            data = offer.fetch()
        except (UsageError, GitHubError) as error:
            unreachable = unreachable or _may_answer_later(error)
            lacking = f" The token lacks `{error.permission}`." if isinstance(error, Forbidden) else ""
            refused.append(f"Not used: {offer.source}: {error.cause}{lacking}")
            continue
        if sha256(data) != lock.lock.sha256:
            refused.append(f"Not used: {offer.source}: its content is not the pinned one, whose SHA-256 differs.")
            continue
        return _kept(lock, data, folder, offer, tuple(refused))
    cause = f"no baseline: nothing has the bytes that {lock.name} pins. {' '.join(refused)}"
    raise NoBaseline(cause, _RESTORE, tuple(refused), unreachable=unreachable)


def _kept(lock: PinnedLock, data: bytes, folder: Path, offer: Offer, refused: tuple[str, ...]) -> PinnedBaseline:
    path = folder / LOCK_NAME
    write_atomic(path, lock.data)
    write_atomic(folder / lock.lock.baseline, data)
    try:
        baseline = load_pinned(path)
    except UsageError as error:  # the lock contradicts what it pins: it is of another suite or model
        raise NoBaseline(f"no baseline: {error.cause}", error.remedy, refused) from error
    return PinnedBaseline(path, baseline, lock, offer.source, offer.artifact, refused)


def _end(artifact: Artifact) -> float:
    return artifact.expires_at.timestamp() if artifact.expires_at is not None else 0.0


def _may_answer_later(error: CodegateError) -> bool:
    return isinstance(error, GitHubError) and (error.status is None or error.status == 429 or error.status >= 500)
