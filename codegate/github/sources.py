"""Where the bytes of a pinned baseline may be: artifacts, a release, the checked-out tree, the base commit.

Nothing here says that they are the right ones; the caller compares their SHA-256 with the lock's.
Protocol: docs.github.com/rest, "Get repository content", "Get a release by tag name", "Get a release asset".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn
from urllib.parse import quote

from codegate.errors import CodegateError, UsageError
from codegate.forge import GitHub, GitHubError, NotFound, TooMuch
from codegate.gating import Lock, Transport
from codegate.gating.baseline import MAX_BASELINE_BYTES
from codegate.github.archive import read_members
from codegate.github.artifacts import Artifact, download_artifact, list_artifacts
from codegate.github.event import Event
from codegate.github.trust import Untrusted, check_origin, check_run, default_branch
from codegate.strict import read_bytes, shown
from codegate.suite import GitError, git

MOST_ASKED: Final = 20
"""So many artifacts of the default branch are asked about, since each one costs requests."""

_MOST_MENTIONED: Final = 5
_RAW: Final = "application/vnd.github.raw+json"
_OCTETS: Final = "application/octet-stream"
_FETCH: Final = "Give the input `github-token`, or check out the whole history (fetch-depth: 0)."


@dataclass(frozen=True)
class Source:
    """A place that may have the bytes: its name for people, and what returns them or raises why there are none."""

    name: str
    fetch: Callable[[], bytes]


def sources(
    github: GitHub | None, event: Event | None, lock: Lock, lock_name: str, workspace: Path
) -> Iterator[Source]:
    """Yield the sources in their order; each is asked only when the next one is called for.

    Args:
        github: the API; None: only the checked-out tree and the local clone are asked.
        event: what started the workflow, if one did.
        lock: which baseline is pinned.
        lock_name: path of the lock in the repository; the baseline's is relative to its folder.
        workspace: top folder of the checked-out repository.
    """
    transport, name = lock.transport, f"file {shown(lock.baseline)!r}"
    if transport is not None and github is None:
        yield Source("artifacts and releases", partial(_refuse, UsageError("there is no token to ask for them.")))
    if transport is not None and github is not None and event is not None:
        if transport.artifact is not None:
            yield from _artifacts(github, event, lock.baseline, transport, transport.artifact)
        if transport.release is not None:
            asset = transport.asset or PurePosixPath(lock.baseline).name
            place = f"file {shown(asset)!r} of release {shown(transport.release)!r}"
            yield Source(place, partial(_asset, github, transport.release, asset))
    path = (PurePosixPath(lock_name).parent / lock.baseline).as_posix()
    yield Source(f"{name} of the checked-out tree", lambda: _found(file_here(workspace / path, MAX_BASELINE_BYTES)))
    if event is not None and event.base_sha is not None:
        read = partial(file_of_commit, github, event.base_sha, path, workspace, MAX_BASELINE_BYTES)
        yield Source(f"{name} of the base commit {event.base_sha[:12]}", lambda: _found(read()))


def file_of_commit(github: GitHub | None, commit: str, name: str, workspace: Path, most: int) -> bytes | None:
    """Return the file as ``commit`` has it, None where it has none: GitHub's word, else the local clone's.

    A step before this one may have written into the clone, so it is asked second.

    Raises:
        UsageError: it is larger than ``most`` bytes, or there is no API to ask and the clone has no such commit.
        GitHubError: neither has the commit.
    """
    problem: GitHubError | None = None
    if github is not None:
        try:
            return github.download(github.repo(f"contents/{quote(name)}"), most, _RAW, ref=commit)
        except NotFound:
            return None
        except TooMuch as error:
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


def file_here(path: Path, most: int) -> bytes | None:
    """Return the bytes of a regular file of at most ``most`` bytes, None where there is none."""
    try:
        return read_bytes(path, most)
    except UsageError:
        return None


def _artifacts(github: GitHub, event: Event, baseline: str, transport: Transport, name: str) -> Iterator[Source]:
    """Yield the artifacts of a name, the newest first: of runs that can be trusted, or they raise why not."""
    try:
        found = list_artifacts(github, name)
        branch = default_branch(github, event)
    except (UsageError, GitHubError) as error:
        yield Source(f"artifacts named {shown(name)!r}", partial(_refuse, error))
        return
    asked, foreign = 0, 0
    for artifact in found:
        try:
            check_origin(artifact, branch)
        except Untrusted as error:
            foreign += 1
            if foreign <= _MOST_MENTIONED:
                yield Source(str(artifact), partial(_refuse, error))
            continue
        asked += 1
        if asked <= MOST_ASKED:
            yield Source(str(artifact), partial(_content, github, artifact, baseline, branch, transport.workflow))
    more = max(foreign - _MOST_MENTIONED, 0) + max(asked - MOST_ASKED, 0)
    if more:
        yield Source(f"{more} more artifacts of that name", partial(_refuse, UsageError("they are too many.")))


def _content(github: GitHub, artifact: Artifact, baseline: str, branch: str, workflow: str) -> bytes:
    check_run(github, artifact, branch, workflow)
    data = download_artifact(github, artifact, 2 * MAX_BASELINE_BYTES)
    names = (PurePosixPath(baseline).name, baseline)
    found = dict(read_members(data, names.__contains__, MAX_BASELINE_BYTES, str(artifact)))
    return _found(next((found[name] for name in names if name in found), None))


def _asset(github: GitHub, tag: str, name: str) -> bytes:
    document = github.get(github.repo(f"releases/tags/{quote(tag, safe='')}"))
    assets = document.get("assets") if isinstance(document, dict) else None
    for entry in assets if isinstance(assets, list) else []:
        number = entry.get("id") if isinstance(entry, dict) and entry.get("name") == name else None
        if isinstance(number, int):
            return github.download(github.repo(f"releases/assets/{number:d}"), MAX_BASELINE_BYTES, _OCTETS)
    raise UsageError("the release has no such file.")


def _found(data: bytes | None) -> bytes:
    if data is None:
        raise UsageError("it has no such file.")
    return data


def _refuse(error: CodegateError) -> NoReturn:
    raise error
