"""Artifacts, found and downloaded over the REST API: their names, who uploaded them, their bytes and digests.

Protocol: docs.github.com/rest/actions/artifacts.
"""

import itertools
from typing import Annotated, Final

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
    """What was downloaded is larger than allowed, or not what GitHub says that the artifact is."""


class _Answered(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)  # GitHub's answers grow


class ArtifactRun(_Answered):
    """The run that uploaded an artifact, as GitHub knows it; no uploader can forge it.

    ``head_repository_id`` is of the repository that its commit came from; None: that is gone.
    """

    id: _Id
    repository_id: _Id
    head_repository_id: _Id | None = None
    head_branch: _Text | None = None


class Artifact(_Answered):
    """An artifact in GitHub's list.

    Its name may come from any run, also from one of a fork's pull request. ``digest`` is ``sha256:`` and 64 digits, of
    the zip; None on servers that keep none.
    """

    id: _Id
    name: _Text
    size_in_bytes: Annotated[int, Field(strict=True, ge=0)]
    expired: Annotated[bool, Field(strict=True)]
    digest: _Text | None = None
    workflow_run: ArtifactRun | None = None

    def __str__(self) -> str:
        return f"artifact {shown(self.name)!r} ({self.id})"


def list_artifacts(github: GitHub, name: str, run: int | None = None) -> tuple[Artifact, ...]:
    """Return the artifacts of a name, of one run or all, the newest first.

    Nothing about them is to be trusted: a pull request from a fork can upload under any name.

    Raises:
        GitHubError: no answer that can be used.
        UsageError: no artifact can have this name.
    """
    if not name.strip() or len(name) > _MAX_NAME or not name.isprintable() or set(name) & set(_FORBIDDEN_SIGNS):
        raise UsageError(
            f"{shown(name)!r} is no name of an artifact.",
            f'It has 1 to {_MAX_NAME} characters, and none of " : < > | * ? \\ / among them.',
        )
    path = github.repo("actions/artifacts" if run is None else f"actions/runs/{run:d}/artifacts")
    entries = itertools.islice(github.pages(path, "artifacts", name=name), MAX_LISTED)
    try:
        found = [Artifact.model_validate(entry) for entry in entries]
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise GitHubError(f"GitHub: GET {path} answered with no artifact (at {shown(place)!r}).") from None
    wanted = [artifact for artifact in found if artifact.name == name]
    return tuple(sorted(wanted, key=lambda artifact: artifact.id, reverse=True))


def download_artifact(github: GitHub, artifact: Artifact, most: int) -> bytes:
    """Return the zip of ``artifact``, which may have ``most`` bytes, after comparing it with the digest of the list.

    Raises:
        Gone: it has expired.
        DamagedArtifact: it is larger, or its bytes are not those of the digest.
        GitHubError: no answer that can be used.
    """
    if artifact.expired:
        raise Gone(f"{artifact} has expired.", status=410)
    if artifact.size_in_bytes > most:
        raise DamagedArtifact(f"{artifact} is larger than {most} bytes.")
    data = github.download(github.repo(f"actions/artifacts/{artifact.id}/zip"), most)
    if artifact.digest is not None and artifact.digest != f"sha256:{sha256(data)}":
        raise DamagedArtifact(f"{artifact} did not arrive as it was uploaded: its digest does not match.")
    return data
