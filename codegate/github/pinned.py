"""The pinned baseline: the lock of the base commit says which one counts; its bytes may come from anywhere.

The lock is read from the commit that a pull request is merged into, never from the pull request's own tree. Only
bytes whose SHA-256 the lock holds are taken, whoever has them: the artifact that was pinned, a newer one of that name
which a trusted run uploaded, a release, a file of the repository. Where none fits there is no baseline, and nothing
passes.
Protocol: docs.github.com/rest, "Get repository content", "Get a blob", "Get a release by tag name", "Get a release
asset".
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn
from urllib.parse import quote

from codegate.durable import sha256, write_atomic
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.gating import MAX_BASELINE_BYTES, MAX_LOCK_BYTES, Baseline, Lock, load_lock, load_pinned
from codegate.github.answer import Forbidden, GitHubError, NotFound
from codegate.github.archive import read_members
from codegate.github.artifacts import Artifact, artifact_by_id, artifacts_named, download_artifact
from codegate.github.client import GitHub
from codegate.github.event import Event
from codegate.github.trust import Untrusted, check_origin, check_run, default_branch
from codegate.strict import read_bytes, shown
from codegate.suite import GitError, check_path, git

LOCK_NAME: Final = "codegate.lock"
MAX_ARCHIVE_BYTES: Final = 2 * MAX_BASELINE_BYTES
MOST_ASKED: Final = 20
"""So many artifacts of the default branch are asked about, since each one costs requests."""
REFRESH_DAYS: Final = 21
"""An artifact that ends within this time is uploaded anew: a weekly run may fail twice."""

_MOST_MENTIONED: Final = 5
_RAW: Final = "application/vnd.github.raw+json"
_OCTETS: Final = "application/octet-stream"
_PIN: Final = "Pin one with `codegate baseline pin RUN`, and commit the lock and the baseline file."
_FETCH: Final = "Give the input `github-token`, or check out the whole history (fetch-depth: 0)."
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


@dataclass(frozen=True)
class _Offer:
    """A place that may have the bytes; ``fetch`` raises where it has none that may be used."""

    source: str
    fetch: Callable[[], bytes]
    artifact: Artifact | None = None


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
    local = _here(workspace / name, MAX_LOCK_BYTES)
    where, data = "the checked-out tree", local
    if event.base_sha is not None:
        where = f"the base commit {event.base_sha[:12]}"
        try:
            data = _of_commit(github, event.base_sha, name, workspace, MAX_LOCK_BYTES)
        except UsageError as error:
            raise NoBaseline(f"no baseline: {name} of {where} is not usable: {error.cause}", _PIN) from error
    if data is None:
        raise NoBaseline(f"no baseline: there is no {name} in {where}.", _PIN)
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
    for offer in _offers(github, event, lock, workspace):
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


def longest_kept(github: GitHub, event: Event, lock: Lock) -> Artifact | None:
    """Return the artifact with the pinned bytes that is kept longest; None where none has them.

    Raises:
        GitHubError: no answer that can be used.
    """
    best: Artifact | None = None
    for offer in _artifacts(github, event, lock):
        try:
            fits = sha256(offer.fetch()) == lock.sha256
        except (UsageError, GitHubError) as error:
            if _may_answer_later(error):
                raise
            continue
        if fits and offer.artifact is not None and (best is None or _end(offer.artifact) > _end(best)):
            best = offer.artifact
    return best


def refresh_due(artifact: Artifact | None, now: datetime) -> bool:
    """Return whether the pinned bytes have to be uploaded again: nothing keeps them, or not for long."""
    return artifact is None or artifact.expires_at is None or artifact.expires_at - now < timedelta(days=REFRESH_DAYS)


def _kept(lock: PinnedLock, data: bytes, folder: Path, offer: _Offer, refused: tuple[str, ...]) -> PinnedBaseline:
    path = folder / LOCK_NAME
    write_atomic(path, lock.data)
    write_atomic(folder / lock.lock.baseline, data)
    try:
        baseline = load_pinned(path)
    except UsageError as error:  # the lock contradicts what it pins: it is of another suite or model
        raise NoBaseline(f"no baseline: {error.cause}", error.remedy, refused) from error
    return PinnedBaseline(path, baseline, lock, offer.source, offer.artifact, refused)


def _offers(github: GitHub | None, event: Event, lock: PinnedLock, workspace: Path) -> Iterator[_Offer]:
    """Yield the sources in their order; each is asked only where those before it have failed."""
    transport = lock.lock.transport
    name = f"file {shown(lock.lock.baseline)!r}"
    if transport is not None and github is not None:
        yield from _artifacts(github, event, lock.lock)
        if transport.release is not None:
            asset = transport.asset or PurePosixPath(lock.lock.baseline).name
            source = f"file {shown(asset)!r} of release {shown(transport.release)!r}"
            yield _Offer(source, partial(_asset, github, transport.release, asset))
    elif transport is not None:
        yield _Offer("artifacts and releases", partial(_refuse, UsageError("there is no token to ask for them.")))
    path = (PurePosixPath(lock.name).parent / lock.lock.baseline).as_posix()
    yield _Offer(f"{name} of the checked-out tree", lambda: _found(_here(workspace / path, MAX_BASELINE_BYTES)))
    if event.base_sha is not None:
        read = partial(_of_commit, github, event.base_sha, path, workspace, MAX_BASELINE_BYTES)
        yield _Offer(f"{name} of the base commit {event.base_sha[:12]}", lambda: _found(read()))


def _artifacts(github: GitHub, event: Event, lock: Lock) -> Iterator[_Offer]:
    transport = lock.transport
    if transport is None:
        return
    if transport.artifact_id is not None:
        number = transport.artifact_id
        try:  # reviewed with the lock, so whose run it was does not matter
            artifact = artifact_by_id(github, number)
            yield _Offer(f"the pinned artifact {number}", partial(_content, github, artifact, lock), artifact)
        except GitHubError as error:
            yield _Offer(f"the pinned artifact {number}", partial(_refuse, error))
    if transport.artifact is None:
        return
    try:
        found = artifacts_named(github, transport.artifact)
        branch = default_branch(github, event)
    except (UsageError, GitHubError) as error:
        yield _Offer(f"artifacts named {shown(transport.artifact)!r}", partial(_refuse, error))
        return
    asked, foreign = 0, 0
    for artifact in found:
        if artifact.id == transport.artifact_id:
            continue
        try:
            check_origin(artifact, branch)
        except Untrusted as error:
            foreign += 1
            if foreign <= _MOST_MENTIONED:
                yield _Offer(artifact.words(), partial(_refuse, error))
            continue
        asked += 1
        if asked <= MOST_ASKED:
            read = partial(_trusted_content, github, artifact, lock, branch, transport.workflow)
            yield _Offer(artifact.words(), read, artifact)
    more = max(foreign - _MOST_MENTIONED, 0) + max(asked - MOST_ASKED, 0)
    if more:
        yield _Offer(f"{more} more artifacts of that name", partial(_refuse, UsageError("they are too many.")))


def _trusted_content(github: GitHub, artifact: Artifact, lock: Lock, branch: str, workflow: str) -> bytes:
    check_run(github, artifact, branch, workflow)
    return _content(github, artifact, lock)


def _content(github: GitHub, artifact: Artifact, lock: Lock) -> bytes:
    data = download_artifact(github, artifact, MAX_ARCHIVE_BYTES)
    names = dict.fromkeys((PurePosixPath(lock.baseline).name, lock.baseline), MAX_BASELINE_BYTES)
    found = read_members(data, names, artifact.words())
    return _found(next((found[name] for name in names if name in found), None))


def _asset(github: GitHub, tag: str, name: str) -> bytes:
    document = github.get(github.repo(f"releases/tags/{quote(tag, safe='')}"))
    assets = document.get("assets") if isinstance(document, dict) else None
    for entry in assets if isinstance(assets, list) else []:
        number = entry.get("id") if isinstance(entry, dict) and entry.get("name") == name else None
        if isinstance(number, int) and not isinstance(number, bool) and number > 0:
            return github.download(github.repo(f"releases/assets/{number}"), MAX_BASELINE_BYTES, _OCTETS)
    raise UsageError("the release has no such file.")


def _of_commit(github: GitHub | None, commit: str, name: str, workspace: Path, most: int) -> bytes | None:
    """Return the file as ``commit`` has it, None where it has none: GitHub's word, else the local clone's.

    A step before this one may have written into the clone, so it is asked second.
    """
    problem: GitHubError | None = None
    if github is not None:
        try:
            return _from_api(github, commit, name, most)
        except NotFound:
            return None
        except GitHubError as error:
            problem = error
    try:
        git(workspace, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except GitError as error:
        raise problem or NoBaseline(f"no baseline: the base commit cannot be read: {error.cause}", _FETCH) from error
    try:
        blob = git(workspace, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:{name}")
        return git(workspace, "cat-file", "blob", blob.decode("ascii").strip(), limit=most)
    except GitError:
        return None


def _from_api(github: GitHub, commit: str, name: str, most: int) -> bytes:
    document = github.get(github.repo(f"contents/{quote(name)}"), ref=commit)
    if not isinstance(document, dict) or document.get("type") != "file":
        raise NotFound(f"{shown(name)!r} is no file in commit {commit[:12]}.", status=404)
    size = document.get("size")
    if not isinstance(size, int) or size > most:
        raise UsageError(f"it has more than {most} bytes.")
    encoded: Any = document.get("content")
    if document.get("encoding") == "base64" and isinstance(encoded, str):
        try:
            data = base64.b64decode(encoded)
        except (binascii.Error, ValueError):
            data = b""
        if data and len(data) <= most:
            return data
    blob = document.get("sha")  # above 1 MB the content is left out
    if not isinstance(blob, str) or not blob.isalnum():
        raise GitHubError(f"GitHub: the content of {shown(name)!r} in commit {commit[:12]} is not usable.")
    return github.download(github.repo(f"git/blobs/{blob}"), most, _RAW)


def _here(path: Path, most: int) -> bytes | None:
    try:
        return read_bytes(path, most)
    except UsageError:
        return None


def _found(data: bytes | None) -> bytes:
    if data is None:
        raise UsageError("it has no such file.")
    return data


def _refuse(error: CodegateError) -> NoReturn:
    raise error


def _end(artifact: Artifact) -> float:
    return artifact.expires_at.timestamp() if artifact.expires_at is not None else 0.0


def _may_answer_later(error: CodegateError) -> bool:
    return isinstance(error, GitHubError) and (error.status is None or error.status == 429 or error.status >= 500)
