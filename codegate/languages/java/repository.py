"""Files of a Maven repository: fetched over HTTPS once, then kept by their content. Nothing of them is executed."""

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from codegate.durable import digest, write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox import cache_folder

if TYPE_CHECKING:
    import requests

ADDRESS: Final = "CODEGATE_MAVEN"
"""Variable with the address of a mirror of Maven Central."""
_CENTRAL: Final = "https://repo.maven.apache.org/maven2"
_WORD: Final = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_COORDINATES: Final = re.compile(rf"({_WORD}):({_WORD}):({_WORD})(?::({_WORD}))?")
_LARGEST: Final = 256 << 20
_CHUNK: Final = 1 << 16
_SECONDS: Final = 60.0
_TRIES: Final = 3


class Artifact(NamedTuple):
    """A file of a repository: what ``group:artifact:version[:classifier]`` names."""

    group: str
    name: str
    version: str
    classifier: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, self))

    def path(self, suffix: str) -> str:
        """Return where its file with that suffix is, relative to the repository."""
        file = "-".join(filter(None, self[1:]))
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{file}.{suffix}"


def read_artifact(text: str) -> Artifact:
    """Return the artifact that ``text`` names.

    Raises:
        UsageError: it is no name, or could lead out of a folder.
    """
    match = _COORDINATES.fullmatch(text)
    if match is None or ".." in text:
        shown = text[:120].encode("unicode_escape").decode("ascii")
        raise UsageError(f"{shown!r} is not group:artifact:version, which a Maven repository could have.")
    return Artifact(match[1], match[2], match[3], match[4] or "")


def fetch(artifact: Artifact, suffix: str) -> bytes | None:
    """Return the artifact's file with that suffix, or None where the repository has none. It may be from the cache.

    Raises:
        InfrastructureError: the repository cannot be reached, or the file is too large.
    """
    import requests  # noqa: PLC0415 - where the cache has all, none is asked

    address = f"{os.environ.get(ADDRESS) or _CENTRAL}/{artifact.path(suffix)}"
    place = cache_folder() / "maven" / digest(address)
    if place.is_file():
        return place.read_bytes()
    for attempt in range(1, _TRIES + 1):
        try:
            with requests.get(address, timeout=_SECONDS, stream=True) as reply:
                if reply.status_code == 404:
                    return None
                reply.raise_for_status()
                data = _content(reply)
        except requests.RequestException as error:
            if attempt == _TRIES:
                raise InfrastructureError(
                    f"{artifact} cannot be fetched: {type(error).__name__}.", f"Check the network, or set {ADDRESS}."
                ) from error
        else:
            break
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(place, data)
    return data


def _content(reply: "requests.Response") -> bytes:
    data = bytearray()
    for part in reply.iter_content(_CHUNK):
        data += part
        if len(data) > _LARGEST:
            raise InfrastructureError(f"{reply.url} is over {_LARGEST >> 20} MiB.")
    return bytes(data)
