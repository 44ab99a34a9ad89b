"""Download the pinned baseline from GitHub.

It is in an artifact that a trusted run uploaded, or a file of a release. Protocol: docs.github.com/rest, "Get a release
by tag name", "Get a release asset".
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

from codegate.errors import UsageError
from codegate.forge import GitHub, GitHubError
from codegate.gating import Download, Lock
from codegate.gating.baseline import MAX_BASELINE_BYTES
from codegate.github.artifacts import (
    Artifact,
    Untrusted,
    check_origin,
    check_workflow_run,
    default_branch,
    download_artifact,
    list_artifacts,
    read_members,
)
from codegate.github.event import Event
from codegate.operations.pinned import PinnedBaseline, Source, find_pinned
from codegate.strict import printable
from codegate.wording import count_of

MOST_ASKED: Final = 20
"""Most artifacts of the default branch that are tried, because each one costs requests."""

_MOST_MENTIONED: Final = 5
_OCTETS: Final = "application/octet-stream"


def fetch_pinned(github: GitHub | None, event: Event | None, name: str, workspace: Path) -> PinnedBaseline:
    """Return the baseline for ``event``, downloaded if necessary.

    ``name`` is the lock's path in the workspace.

    Raises:
        NoBaseline: there is no lock, or a broken one, or no source has the bytes that it pins.
        GitHubError: neither GitHub nor the local clone has the base commit.
    """
    base = event.base_sha if event is not None else None
    return find_pinned(name, workspace, base, github, partial(_download_sources, github, event))


def _download_sources(github: GitHub | None, event: Event | None, lock: Lock) -> Iterator[Source]:
    transport = lock.transport
    if transport is not None and github is None:
        yield "artifacts and releases", UsageError("there is no token to fetch them.")
    if transport is not None and github is not None and event is not None:
        if transport.artifact is not None:
            yield from _artifacts(github, event, lock.baseline, transport, transport.artifact)
        if transport.release is not None:
            asset = transport.asset or PurePosixPath(lock.baseline).name
            place = f"file {printable(asset)!r} of release {printable(transport.release)!r}"
            yield place, partial(_asset, github, transport.release, asset)


def _artifacts(github: GitHub, event: Event, baseline: str, transport: Download, name: str) -> Iterator[Source]:
    """Yield the baseline's artifacts; for untrusted ones, an error.

    ``name`` is the artifacts' name, ``baseline`` the path of the baseline file in them.
    """
    try:
        found, branch = list_artifacts(github, name), default_branch(github, event)
    except (UsageError, GitHubError) as error:
        yield f"artifacts named {printable(name)!r}", error
        return
    if not found:
        gone = UsageError("there is none: artifacts end after 90 days, or the repository's retention.")
        yield f"artifact {printable(name)!r} of {printable(transport.workflow)}", gone
    own, foreign = 0, 0
    for artifact in found:
        try:
            check_origin(artifact, branch)
        except Untrusted as error:
            foreign += 1
            if foreign <= _MOST_MENTIONED:
                yield str(artifact), error
            continue
        own += 1
        if own <= MOST_ASKED:
            yield str(artifact), partial(_content, github, artifact, baseline, branch, transport.workflow)
    if more := max(foreign - _MOST_MENTIONED, 0) + max(own - MOST_ASKED, 0):
        yield f"{count_of(more, 'more artifact')} of that name", UsageError("they are too many.")


def _content(github: GitHub, artifact: Artifact, baseline: str, branch: str, workflow: str) -> bytes | None:
    check_workflow_run(github, artifact, branch, workflow)
    data = download_artifact(github, artifact, 2 * MAX_BASELINE_BYTES)
    names = (PurePosixPath(baseline).name, baseline)
    found = dict(read_members(data, names.__contains__, MAX_BASELINE_BYTES, str(artifact)))
    return next((found[name] for name in names if name in found), None)


def _asset(github: GitHub, tag: str, name: str) -> bytes | None:
    document = github.get(github.repo(f"releases/tags/{quote(tag, safe='')}"))
    assets = document.get("assets") if isinstance(document, dict) else None
    for entry in assets if isinstance(assets, list) else []:
        number = entry.get("id") if isinstance(entry, dict) and entry.get("name") == name else None
        if isinstance(number, int):
            return github.download(github.repo(f"releases/assets/{number:d}"), MAX_BASELINE_BYTES, _OCTETS)
    return None
