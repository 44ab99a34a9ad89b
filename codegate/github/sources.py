"""Where the bytes of a pinned baseline may be: artifacts, a release, the checked-out tree, the base commit.

Nothing here says that they are the right ones; whoever asks compares their SHA-256 with the lock's.
Protocol: docs.github.com/rest, "Get repository content", "Get a blob", "Get a release by tag name", "Get a release
asset".
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn
from urllib.parse import quote

from codegate.errors import CodegateError, UsageError
from codegate.forge import GitHub, GitHubError, NotFound
from codegate.gating import MAX_BASELINE_BYTES, Lock
from codegate.github.archive import read_members
from codegate.github.artifacts import Artifact, artifact_by_id, artifacts_named, download_artifact
from codegate.github.event import Event
from codegate.github.trust import Untrusted, check_origin, check_run, default_branch
from codegate.strict import read_bytes, shown
from codegate.suite import GitError, git

MAX_ARCHIVE_BYTES: Final = 2 * MAX_BASELINE_BYTES
MOST_ASKED: Final = 20
"""So many artifacts of the default branch are asked about, since each one costs requests."""

_MOST_MENTIONED: Final = 5
_RAW: Final = "application/vnd.github.raw+json"
_OCTETS: Final = "application/octet-stream"
_FETCH: Final = "Give the input `github-token`, or check out the whole history (fetch-depth: 0)."


@dataclass(frozen=True)
class Offer:
    """A place that may have the bytes.

    Attributes:
        source: what to call it, for people.
        fetch: returns them; raises UsageError or GitHubError where it has none that may be used.
        artifact: the artifact that it is, if it is one.
    """

    source: str
    fetch: Callable[[], bytes]
    artifact: Artifact | None = None


def offers(github: GitHub | None, event: Event, lock: Lock, lock_name: str, workspace: Path) -> Iterator[Offer]:
    """Yield the sources in their order; each is asked only when the next one is called for.

    Args:
        github: the API; None: only the checked-out tree and the local clone are asked.
        event: what started the workflow.
        lock: which baseline is pinned.
        lock_name: path of the lock in the repository; the baseline's is relative to its folder.
        workspace: top folder of the checked-out repository.
    """
    transport = lock.transport
    name = f"file {shown(lock.baseline)!r}"
    if transport is not None and github is not None:
        yield from artifact_offers(github, event, lock)
        if transport.release is not None:
            asset = transport.asset or PurePosixPath(lock.baseline).name
            source = f"file {shown(asset)!r} of release {shown(transport.release)!r}"
            yield Offer(source, partial(_asset, github, transport.release, asset))
    elif transport is not None:
        yield Offer("artifacts and releases", partial(_refuse, UsageError("there is no token to ask for them.")))
    path = (PurePosixPath(lock_name).parent / lock.baseline).as_posix()
    yield Offer(f"{name} of the checked-out tree", lambda: _found(file_here(workspace / path, MAX_BASELINE_BYTES)))
    if event.base_sha is not None:
        read = partial(file_of_commit, github, event.base_sha, path, workspace, MAX_BASELINE_BYTES)
        yield Offer(f"{name} of the base commit {event.base_sha[:12]}", lambda: _found(read()))


def artifact_offers(github: GitHub, event: Event, lock: Lock) -> Iterator[Offer]:
    """Yield the pinned artifact, then those of its name, the newest first: of trusted runs, or they say why not."""
    transport = lock.transport
    if transport is None:
        return
    if transport.artifact_id is not None:
        number = transport.artifact_id
        try:  # reviewed with the lock, so whose run it was does not matter
            artifact = artifact_by_id(github, number)
            yield Offer(f"the pinned artifact {number}", partial(_content, github, artifact, lock), artifact)
        except GitHubError as error:
            yield Offer(f"the pinned artifact {number}", partial(_refuse, error))
    if transport.artifact is None:
        return
    try:
        found = artifacts_named(github, transport.artifact)
        branch = default_branch(github, event)
    except (UsageError, GitHubError) as error:
        yield Offer(f"artifacts named {shown(transport.artifact)!r}", partial(_refuse, error))
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
                yield Offer(artifact.words(), partial(_refuse, error))
            continue
        asked += 1
        if asked <= MOST_ASKED:
            read = partial(_trusted_content, github, artifact, lock, branch, transport.workflow)
            yield Offer(artifact.words(), read, artifact)
    more = max(foreign - _MOST_MENTIONED, 0) + max(asked - MOST_ASKED, 0)
    if more:
        yield Offer(f"{more} more artifacts of that name", partial(_refuse, UsageError("they are too many.")))


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
            return _from_api(github, commit, name, most)
        except NotFound:
            return None
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


def file_here(path: Path, most: int) -> bytes | None:
    """Return the bytes of a regular file of at most ``most`` bytes, None where there is none."""
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
