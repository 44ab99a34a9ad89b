"""Artifacts, found and downloaded over the REST API: their names, who uploaded them, their bytes and digests.

Protocol: docs.github.com/rest/actions/artifacts.
"""

import itertools
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.forge import GitHub, GitHubError, Gone
from codegate.strict import shown

MAX_LISTED: Final = 1000
"""So many artifacts of a name are looked at, the newest ones."""

_FORBIDDEN_SIGNS: Final = '":<>|*?\r\n\\/'
_MAX_NAME: Final = 256

_Id = Annotated[int, Field(strict=True, ge=1)]
_Text = Annotated[str, StringConstraints(max_length=1000)]


class DamagedArtifact(UsageError):
    """What was downloaded is not what GitHub says that the artifact is, or more than anybody asked for."""


class _Answered(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)  # GitHub's answers grow


class ArtifactRun(_Answered):
    """The run that uploaded an artifact, as GitHub knows it; no uploader can forge it.

    Attributes:
        id: of the run.
        repository_id: the repository that the run is in.
        head_repository_id: the repository that its commit came from; None: it is gone.
        head_branch: the branch of that repository.
        head_sha: the commit.
    """

    id: _Id
    repository_id: _Id
    head_repository_id: _Id | None = None
    head_branch: _Text | None = None
    head_sha: _Text | None = None


class Artifact(_Answered):
    """An artifact in GitHub's list.

    Attributes:
        id: of the artifact.
        name: which any run may give, also one of a fork's pull request.
        size_in_bytes: of the zip.
        expired: its content is gone.
        created_at: when it was uploaded.
        expires_at: when its content will be gone.
        digest: ``sha256:`` and 64 digits, of the zip; None on servers that keep none.
        workflow_run: the run that uploaded it; None: GitHub does not say.
    """

    id: _Id
    name: _Text
    size_in_bytes: Annotated[int, Field(strict=True, ge=0)]
    expired: Annotated[bool, Field(strict=True)]
    created_at: datetime | None = None
    expires_at: datetime | None = None
    digest: _Text | None = None
    workflow_run: ArtifactRun | None = None

    def words(self) -> str:
        """Return what to call it in a sentence."""
        return f"artifact {shown(self.name)!r} ({self.id})"


def check_artifact_name(name: str) -> None:
    r"""Refuse a name that an artifact cannot have.

    Raises:
        UsageError: it is empty, too long, or holds a control character or one of ``" : < > | * ? \ /``.
    """
    if not name.strip() or len(name) > _MAX_NAME or not name.isprintable() or set(name) & set(_FORBIDDEN_SIGNS):
        raise UsageError(
            f"{shown(name)!r} is no name of an artifact.",
            f'It has 1 to {_MAX_NAME} characters, and none of " : < > | * ? \\ / among them.',
        )


def artifacts_named(github: GitHub, name: str) -> tuple[Artifact, ...]:
    """Return the artifacts of a name, whichever run uploaded them, the newest first.

    Nothing about them is to be trusted: a pull request from a fork can upload under any name.

    Raises:
        GitHubError: no answer that can be used.
        UsageError: no artifact can have this name.
    """
    check_artifact_name(name)
    return _listed(github, github.repo("actions/artifacts"), name)


def artifacts_of_run(github: GitHub, run: int, name: str | None = None) -> tuple[Artifact, ...]:
    """Return the artifacts of the run ``run``, of one name or all, the newest first; raises as ``artifacts_named``."""
    if name is not None:
        check_artifact_name(name)
    return _listed(github, github.repo(f"actions/runs/{run:d}/artifacts"), name)


def artifact_by_id(github: GitHub, number: int) -> Artifact:
    """Return the artifact with the id ``number``.

    Raises:
        NotFound: there is none.
        GitHubError: no answer that can be used.
    """
    path = github.repo(f"actions/artifacts/{number:d}")
    found = _artifact(github.get(path), path)
    if found.id != number:
        raise GitHubError(f"GitHub: GET {path} answered with another artifact.")
    return found


def download_artifact(github: GitHub, artifact: Artifact, most: int) -> bytes:
    """Return the zip of ``artifact``, which may have ``most`` bytes, after comparing it with the digest of the list.

    Raises:
        Gone: it has expired.
        DamagedArtifact: it is larger, or its bytes are not those of the digest.
        GitHubError: no answer that can be used.
    """
    if artifact.expired:
        raise Gone(f"{artifact.words()} has expired.", status=410)
    if artifact.size_in_bytes > most:
        raise DamagedArtifact(f"{artifact.words()} is larger than {most} bytes.")
    data = github.download(github.repo(f"actions/artifacts/{artifact.id}/zip"), most)
    if artifact.digest is not None and artifact.digest != f"sha256:{sha256(data)}":
        raise DamagedArtifact(f"{artifact.words()} did not arrive as it was uploaded: its digest does not match.")
    return data


def _listed(github: GitHub, path: str, name: str | None) -> tuple[Artifact, ...]:
    query: dict[str, Any] = {} if name is None else {"name": name}
    entries = itertools.islice(github.pages(path, "artifacts", **query), MAX_LISTED)
    found = [_artifact(entry, path) for entry in entries]
    wanted = [artifact for artifact in found if name is None or artifact.name == name]
    return tuple(sorted(wanted, key=lambda artifact: artifact.id, reverse=True))


def _artifact(entry: Any, path: str) -> Artifact:
    try:
        found = Artifact.model_validate(entry)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise GitHubError(f"GitHub: GET {path} answered with no artifact (at {shown(place)!r}).") from None
    for moment in (found.created_at, found.expires_at):
        if moment is not None and moment.tzinfo is None:
            raise GitHubError(f"GitHub: GET {path} answered with a time of no zone.")
    return found
