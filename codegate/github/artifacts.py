"""Download artifacts from GitHub, and check which run uploaded them.

The name of an artifact proves nothing, and neither does the name of a branch: a pull request from a fork's branch
``main`` can upload any artifact to this repository's list. Only GitHub's own record of the run counts. Nothing is
extracted to a path that an archive names: the caller gets the bytes of the members that it wants. Protocol:
docs.github.com/rest/actions/artifacts and workflow-runs; PKWARE APPNOTE.TXT 6.3.10, section 4.3.16.
"""

import contextlib
import itertools
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import quote

from pydantic import AwareDatetime, Field, StringConstraints, ValidationError

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.forge import GitHub, GitHubError, Gone, NotFound
from codegate.github.event import Event
from codegate.strict import Lenient, printable
from codegate.suite import is_plain_path
from codegate.suite.model import Commit

MAX_LISTED: Final = 1000
"""Most artifacts of one name that are listed, the newest first."""

_FORBIDDEN_SIGNS: Final = '":<>|*?\r\n\\/'
_MAX_NAME: Final = 256

_Id = Annotated[int, Field(strict=True, ge=1)]
_Text = Annotated[str, StringConstraints(max_length=1000)]


class BadArchive(UsageError):
    """An archive is broken, malicious, too large or unexpected."""


_AnsweredT = TypeVar("_AnsweredT", bound=Lenient)


class ArtifactRun(Lenient):
    """The workflow run that uploaded an artifact.

    GitHub reports the run, so no uploader can forge it. ``head_repository_id`` is the repository of the run's commit;
    None if that repository was deleted.
    """

    id: _Id
    repository_id: _Id
    head_repository_id: _Id | None = None
    head_branch: _Text | None = None


class Artifact(Lenient):
    """An artifact in GitHub's list.

    Any run, also one of a fork's pull request, can give an artifact any name. ``digest`` is the zip's, ``sha256:`` and
    64 digits; None on servers that keep none. ``created_at`` is the time of the upload; None if GitHub does not say.
    """

    id: _Id
    name: _Text
    size_in_bytes: Annotated[int, Field(strict=True, ge=0)]
    expired: Annotated[bool, Field(strict=True)]
    digest: _Text | None = None
    created_at: AwareDatetime | None = None
    workflow_run: ArtifactRun | None = None

    @property
    def age_order(self) -> tuple[datetime, int]:
        """Return a sort key for artifacts, oldest first.

        GitHub's ids are not in the order of the uploads.
        """
        return (self.created_at or datetime.min.replace(tzinfo=UTC), self.id)

    def __str__(self) -> str:
        return f"artifact {printable(self.name)!r} ({self.id})"


def list_artifacts(github: GitHub, name: str, run: int | None = None) -> tuple[Artifact, ...]:
    """Return all artifacts called ``name``, newest first.

    Forks' artifacts are among them. ``run`` is the id of a workflow run; None: all runs.
    """
    if not name.strip() or len(name) > _MAX_NAME or not name.isprintable() or set(name) & set(_FORBIDDEN_SIGNS):
        raise UsageError(
            f"{printable(name)!r} is no name of an artifact.",
            f'It has 1 to {_MAX_NAME} characters, and none of " : < > | * ? \\ / among them.',
        )
    path = github.repo("actions/artifacts" if run is None else f"actions/runs/{run:d}/artifacts")
    entries = itertools.islice(github.pages(path, "artifacts", name=name), MAX_LISTED)
    found = [_checked(entry, Artifact, path, "artifact") for entry in entries]
    wanted = [artifact for artifact in found if artifact.name == name]
    return tuple(sorted(wanted, key=lambda artifact: artifact.age_order, reverse=True))


def download_artifact(github: GitHub, artifact: Artifact, most: int) -> bytes:
    """Download an artifact's zip and check its digest.

    Raises:
        Gone: the artifact has expired.
        BadArchive: the zip has more than ``most`` bytes, or another digest.
    """
    if artifact.expired:
        raise Gone(f"{artifact} has expired.", status=410)
    if artifact.size_in_bytes > most:
        raise BadArchive(f"{artifact} is larger than {most} bytes.")
    data = github.download(github.repo(f"actions/artifacts/{artifact.id}/zip"), most)
    if artifact.digest is not None and artifact.digest != f"sha256:{sha256(data)}":
        raise BadArchive(f"{artifact} did not arrive as it was uploaded: its digest does not match.")
    return data


MAX_MEMBERS: Final = 60_000
"""Most files in a zip. A run has one or two files for each attempt, and a directory of so many takes about 50 MB of
memory."""

_END: Final = struct.Struct("<4s4H2LH")
_MAX_DIRECTORY_BYTES: Final = 16 << 20
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


def read_members(
    data: bytes, wanted: Callable[[str], object], most_bytes: int, place: str
) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of a zip's wanted files.

    ``place`` names the zip in messages.

    Raises:
        BadArchive: ``data`` is not a plain zip, a wanted file is damaged, encrypted, given twice or named as a path
            that leaves a folder, or the wanted files have more than ``most_bytes`` together.
    """
    try:
        with _opened(data) as archive:
            members = [member for member in archive.infolist() if wanted(member.filename) and not member.is_dir()]
            if len({member.filename for member in members}) < len(members):
                raise ValueError("a file is in it twice")
            if sum(member.file_size for member in members) > most_bytes:
                raise ValueError(f"its files have more than {most_bytes} bytes")
            for member in members:
                yield member.filename, _content(archive, member)
    except (ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        cause = printable(error).removesuffix(".") or type(error).__name__
        raise BadArchive(f"{place} is no usable archive: {cause}.") from error
    except (OSError, struct.error, OverflowError, IndexError) as error:  # the directory has invalid offsets
        raise BadArchive(f"{place} is no usable archive: its directory is damaged.") from error


def _opened(data: bytes) -> zipfile.ZipFile:
    """Open a zip, after checking the size of its directory.

    Reading the directory costs memory; the zip's last record has its size.
    """
    if len(data) < _END.size:
        raise ValueError("it does not end as a zip does")
    mark, _, _, _, count, size, offset, comment = _END.unpack(data[-_END.size :])
    if mark != b"PK\x05\x06" or comment:
        raise ValueError("it does not end as a zip does")
    if count > MAX_MEMBERS or size > _MAX_DIRECTORY_BYTES:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    if size + offset + _END.size != len(data):  # a zip64, or there are bytes before or between its parts
        raise ValueError("its directory is not where it says")
    return zipfile.ZipFile(BytesIO(data))


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if not is_plain_path(member.filename):
        raise ValueError(f"{printable(member.filename)!r} is no plain name")
    if member.compress_type not in _METHODS:
        raise ValueError(f"{printable(member.filename)!r} is compressed in a way that no artifact is")
    content = archive.read(member)  # reads at most the member's size and compares its checksum
    if len(content) != member.file_size:
        raise ValueError(f"{printable(member.filename)!r} has another size than it says")
    return content


WRITERS: Final = frozenset({"push", "schedule", "workflow_dispatch"})
"""Events that only members can start. Strangers can cause ``workflow_run`` and ``pull_request_target``."""


class Untrusted(UsageError):
    """An artifact was not uploaded by a trusted run.

    A trusted run is a run of the baseline's workflow on the default branch.
    """


class _Repository(Lenient):
    id: _Id


class _Run(Lenient):
    id: _Id
    event: _Text
    path: _Text
    conclusion: _Text | None
    head_branch: _Text | None
    head_sha: Commit
    repository: _Repository
    head_repository: _Repository | None


def default_branch(github: GitHub, event: Event) -> str:
    """Return the default branch's name, from the event or GitHub."""
    if event.default_branch:
        return event.default_branch
    path = github.repo("")
    document = github.get(path)
    branch = document.get("default_branch") if isinstance(document, dict) else None
    if not isinstance(branch, str) or not branch:
        raise GitHubError(f"GitHub: GET {path} named no default branch.")
    return branch


def check_origin(artifact: Artifact, branch: str) -> ArtifactRun:
    """Return an artifact's run, if its commit is on ``branch``.

    Raises:
        Untrusted: its commit is of another repository or not on ``branch``.
    """
    run = artifact.workflow_run
    if run is None:
        raise Untrusted("GitHub does not say which run uploaded it.")
    if run.head_repository_id != run.repository_id:
        raise Untrusted(f"run {run.id} was of another repository's commit (a fork's).")
    if run.head_branch != branch:
        raise Untrusted(f"run {run.id} was not on the default branch {printable(branch)!r}.")
    return run


def own_artifacts(github: GitHub, name: str, branch: str) -> Iterator[Artifact]:
    """Yield artifacts of this name uploaded from ``branch``, newest first."""
    for artifact in list_artifacts(github, name):
        with contextlib.suppress(Untrusted):
            check_origin(artifact, branch)
            yield artifact


def check_workflow_run(
    github: GitHub, artifact: Artifact, branch: str, workflow: str, conclusions: Collection[str] = ("success",)
) -> None:
    """Raise Untrusted unless a trusted run uploaded the artifact.

    A trusted run is a run of the file ``workflow`` on ``branch`` that a member started and that ended with one of
    ``conclusions``. The run's commit must still be on the branch.
    """
    number = check_origin(artifact, branch).id
    path = github.repo(f"actions/runs/{number}")
    run = _checked(github.get(path), _Run, path, "run")
    reason = ""
    if run.id != number:
        reason = "GitHub answered with another run"
    elif run.head_repository is None or run.head_repository.id != run.repository.id or run.head_branch != branch:
        reason = "it was not of this repository's default branch"
    elif run.event not in WRITERS:
        reason = f"it was started by {printable(run.event)}, which is not one of {', '.join(sorted(WRITERS))}"
    elif run.path.partition("@")[0] != workflow:
        reason = f"it was of the workflow {printable(run.path)!r}, not of {workflow!r}"
    elif run.conclusion not in conclusions:
        reason = f"it ended with {printable(run.conclusion)}" if run.conclusion else "it has not ended"
    elif not _on_branch(github, run.head_sha, branch):
        reason = f"its commit {run.head_sha[:12]} is not on the default branch any more"
    if reason:
        raise Untrusted(f"run {number} is not trusted: {reason}.")


def _checked(document: Any, model: type[_AnsweredT], path: str, what: str) -> _AnsweredT:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise GitHubError(f"GitHub: GET {path} answered with no {what} (at {printable(place)!r}).") from None


def _on_branch(github: GitHub, commit: str, branch: str) -> bool:
    path = github.repo(f"compare/{commit}...{quote(branch, safe='')}")
    try:
        document = github.get(path, per_page=1)
    except NotFound:  # the commit is on no branch or tag
        return False
    return isinstance(document, dict) and document.get("status") in {"ahead", "identical"}
