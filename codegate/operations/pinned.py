"""Find the pinned baseline that a commit is compared with.

The lock is read from the commit that a pull request is merged into, never from the pull request's own tree. The
baseline's bytes may come from anywhere: an artifact that a trusted run uploaded, a release, a file of the repository.
They are used only if they have the SHA-256 that the lock holds. Otherwise there is no baseline, and nothing passes.
Protocol: docs.github.com/rest, "Get repository content", "Get a release by tag name", "Get a release asset".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

from codegate.durable import sha256
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.forge import AnswerTooLarge, Forbidden, GitHub, GitHubError, NotFound
from codegate.gating import Baseline, Lock
from codegate.gating.baseline import MAX_BASELINE_BYTES, MAX_LOCK_BYTES, parse_lock, verify_pinned
from codegate.strict import printable, read_bytes
from codegate.suite import GitError, check_path, git

_RAW: Final = "application/vnd.github.raw+json"
_FETCH: Final = "Give the input `github-token`, or check out the whole history (fetch-depth: 0)."
_PIN: Final = (
    "Pin one with `codegate baseline pin RUN`, commit the lock and the baseline file, and give the job "
    "`permissions: contents: read`."
)
_RESTORE: Final = "Put the pinned bytes back where the lock says, or pin a new baseline"

Source = tuple[str, Callable[[], bytes | None] | CodegateError]
"""A place that may have the pinned bytes: its name for people, and a function that returns them or the error that
excludes the place."""


class NoBaseline(CodegateError):
    """No baseline was found, so nothing can pass.

    The exit code is that of a usage error, which no policy lets pass. If a source did not answer, the exit code is that
    of an infrastructure fault. ``refused`` has a sentence for each source that was tried.
    """

    def __init__(self, cause: str, remedy: str, refused: tuple[str, ...] = (), *, unreachable: bool = False) -> None:
        super().__init__(f"no baseline: {cause}", remedy)
        self.refused = refused
        if unreachable:
            self.exit_code = ExitCode.INFRASTRUCTURE


@dataclass(frozen=True)
class PinnedBaseline:
    """A verified baseline with its lock, and both files' bytes.

    ``source`` names where the bytes came from. ``notes`` are sentences for the report about anything unusual.
    """

    baseline: Baseline
    data: bytes
    lock: Lock
    lock_data: bytes
    source: str
    notes: tuple[str, ...]


def explain_no_download(lock: Lock) -> Iterator[Source]:
    """Yield an error that explains why nothing is downloaded.

    Yield nothing if the lock names no place to download from.
    """
    if lock.transport is not None:
        yield "artifacts and releases", UsageError("only the action fetches them.")


def find_pinned(
    name: str,
    workspace: Path,
    base: str | None,
    github: GitHub | None = None,
    fetched: Callable[[Lock], Iterator[Source]] = explain_no_download,
) -> PinnedBaseline:
    """Return the verified baseline that the lock pins.

    ``name`` is the lock's path in the commit ``base`` (None: in the tree). Links in the path are not followed, because
    a pull request could add one. The first source that has the baseline is used. Sources that ``fetched`` yields come
    first. Without ``github``, commits are read from the local clone only.

    Raises:
        NoBaseline: there is no lock, or a broken one, or no source has the bytes that it pins.
        GitHubError: neither GitHub nor the local clone has the base commit.
    """
    check_path(name)
    lock, lock_data, changed = _read_lock(github, base, name, workspace)
    refused: list[str] = []
    unreachable = False
    for source, fetch in chain(fetched(lock), _sources(github, base, lock, name, workspace)):
        try:
            if isinstance(fetch, CodegateError):
                raise fetch
            data = fetch()
        except (UsageError, GitHubError) as error:
            unreachable = unreachable or _may_answer_later(error)
            lacking = f" The token lacks `{error.permission}`." if isinstance(error, Forbidden) else ""
            refused.append(f"Not used: {source}: {error.cause}{lacking}")
            continue
        if data is None:
            refused.append(f"Not used: {source}: it has no such file.")
            continue
        if sha256(data) != lock.sha256:
            refused.append(f"Not used: {source}: its content is not the pinned one, whose SHA-256 differs.")
            continue
        try:
            baseline = verify_pinned(lock, data, name, source)
        except UsageError as error:  # lock and baseline disagree about suite or model
            raise NoBaseline(error.cause, error.remedy, tuple(refused)) from error
        used = [*refused, f"The baseline came from {source}."] if refused else []
        return PinnedBaseline(baseline, data, lock, lock_data, source, (*changed, *used))
    cause = f"nothing has the bytes that {name} pins. {' '.join(refused)}"
    workflow = lock.transport.workflow if lock.transport is not None and lock.transport.artifact is not None else ""
    new = f": run {printable(workflow)} on the default branch with the pinned model" if workflow else ""
    raise NoBaseline(cause, f"{_RESTORE}{new}.", tuple(refused), unreachable=unreachable)


def _read_lock(
    github: GitHub | None, base: str | None, name: str, workspace: Path
) -> tuple[Lock, bytes, tuple[str, ...]]:
    where, data = "the checked-out tree", _file_here(workspace / name, MAX_LOCK_BYTES)
    changed: tuple[str, ...] = ()
    if base is not None:
        where, proposed = f"the base commit {base[:12]}", data
        try:
            data = _file_of_commit(github, base, name, workspace, MAX_LOCK_BYTES)
        except UsageError as error:
            raise NoBaseline(f"{name} of {where} is not usable: {error.cause}", error.remedy or _PIN) from error
        if proposed != data:
            changed = (f"This change edits {name}; until it is merged, the one of the base commit counts.",)
    if data is None:
        raise NoBaseline(f"there is no {name} in {where}, or none that the token may read.", _PIN)
    try:
        return parse_lock(data, name), data, changed
    except UsageError as error:
        raise NoBaseline(f"the {name} of {where} is broken: {error.cause}", error.remedy) from error


def _may_answer_later(error: CodegateError) -> bool:
    return isinstance(error, GitHubError) and (error.status is None or error.status == 429 or error.status >= 500)


def _sources(github: GitHub | None, base: str | None, lock: Lock, lock_name: str, workspace: Path) -> Iterator[Source]:
    name = f"file {printable(lock.baseline)!r}"
    path = (PurePosixPath(lock_name).parent / lock.baseline).as_posix()
    yield f"{name} of the checked-out tree", partial(_file_here, workspace / path, MAX_BASELINE_BYTES)
    if base is not None:
        read = partial(_file_of_commit, github, base, path, workspace, MAX_BASELINE_BYTES)
        yield f"{name} of the base commit {base[:12]}", read


def _file_of_commit(github: GitHub | None, commit: str, name: str, workspace: Path, most: int) -> bytes | None:
    """Return a file's bytes at ``commit``, or None.

    GitHub is queried first, because an earlier step may have written into the local clone. Raises UsageError for a file
    of more than ``most`` bytes, and GitHubError if neither has the commit.
    """
    problem: GitHubError | None = None
    if github is not None:
        try:
            return github.download(github.repo(f"contents/{quote(name)}"), most, _RAW, ref=commit)
        except NotFound:
            return None
        except AnswerTooLarge as error:
            raise UsageError(error.cause) from error
        except GitHubError as error:
            problem = error
    try:
        git(workspace, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except GitError as error:
        raise problem or UsageError(f"commit {commit[:12]} cannot be read: {error.cause}", _FETCH) from error
    try:
        blob = git(workspace, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:{name}")
        return git(workspace, "cat-file", "blob", blob.decode("ascii").strip(), limit=most)
    except GitError:
        return None


def _file_here(path: Path, most: int) -> bytes | None:
    try:
        return read_bytes(path, most)
    except UsageError:
        return None
