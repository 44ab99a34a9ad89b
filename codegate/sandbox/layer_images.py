"""The Docker backend's images of recorded builds and system packages."""

import contextlib
import io
import os
import re
import tarfile
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import Layer, NotInstalled, SandboxUnavailable, Unreachable
from codegate.sandbox.daemon import connect
from codegate.sandbox.images import ENVIRONMENT_LABEL, LAYOUT, image_tag, inspect_image, made_image
from codegate.sandbox.layers import BUILD_FOLDERS, BUILT, PARTS, Entry, read_layer, tar_blocks
from codegate.sandbox.session import BESIDE, TOOLS, USER_ID, WORKSPACE
from codegate.sandbox.tools import Tools

if TYPE_CHECKING:
    from docker import APIClient

LAYER_LABEL: Final = "codegate.layer"
CACHE_LABEL: Final = "codegate.cache"
_PACKAGE: Final = re.compile(r"[a-z0-9][a-z0-9+.-]{0,99}")
_UNREACHABLE: Final = 75
_INSTALL: Final = """\
FROM {base}
USER 0
ARG DEBIAN_FRONTEND=noninteractive
RUN install="apt-get install -y --no-install-recommends {names}"; \\
    command -v apt-get >/dev/null && {{ apt-get update -o APT::Update::Error-Mode=any; updated=$?; }} && \\
    {{ $install --simulate || {{ [ $updated = 0 ] && exit 1 || exit {unreachable}; }}; }} && \\
    {{ $install --download-only || exit {unreachable}; }} && $install && rm -rf /var/lib/apt/lists/*
"""
"""Dockerfile that installs packages. The build's exit status is ``unreachable`` if a needed index does not answer."""
_LAST_LINES: Final = 10
_REMOVE_SECONDS: Final = 120
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_STEP: Final = re.compile(r"Step \d|Removing intermediate| *--->")  # lines that the daemon adds to the output
_TIME: Final = 1_000_000_000  # modification time of every entry


def system_image(client: "APIClient", base: str, packages: Sequence[str]) -> str:
    """Return the image id of ``base`` plus Debian packages.

    The packages are installed now if no such image exists.

    Raises:
        UsageError: an entry is no name of a package.
        NotInstalled: no index has a package, or it cannot be installed; the message has apt's last lines.
        Unreachable: an index does not answer.
    """
    names = checked_packages(packages)
    if not names:
        return base
    key = digest([LAYOUT, "system", names, base])
    if (image := made_image(client, key)) is not None:
        return image
    dockerfile = _INSTALL.format(base=base, names=" ".join(names), unreachable=_UNREACHABLE)  # names are plain words
    with io.BytesIO(dockerfile.encode("ascii")) as file:
        output = client.build(
            fileobj=file, tag=image_tag(key), labels={ENVIRONMENT_LABEL: key}, rm=True, forcerm=True, decode=True,
            use_config_proxy=True,
        )  # fmt: skip
        said: deque[str] = deque(maxlen=_LAST_LINES)
        failed: Any = None
        for line in output:  # reading to the end frees the connection
            text = _COLOUR.sub("", str(line.get("stream") or ""))
            said.extend(part.strip() for part in text.splitlines() if part.strip() and not _STEP.match(part))
            failed = line if "error" in line else failed
    if failed is not None:
        words = " | ".join(said) or str(failed["error"])[-300:]
        kind = Unreachable if failed.get("errorDetail", {}).get("code") == _UNREACHABLE else NotInstalled
        raise kind(
            f"the system packages {', '.join(names)} cannot be installed in the base image; apt says: {words}",
            "Check their names (`packages` of the recipe), that the image has apt, and the daemon's network.",
        )
    return str(inspect_image(client, image_tag(key))["Id"])


def checked_packages(packages: Sequence[str]) -> tuple[str, ...]:
    """Return Debian package names, sorted and without duplicates.

    Raises:
        UsageError: an entry is no name of a package.
    """
    if wrong := [name for name in packages if _PACKAGE.fullmatch(name) is None]:
        raise UsageError(f"{wrong[0]!r} is no name of a system package.", "Write it as `apt-get install` takes it.")
    return tuple(sorted(set(packages)))


def layered_image(client: "APIClient", tools: Tools, base: str, layer: Layer, labels: dict[str, str]) -> str:
    """Return the image id of ``base``, tools and recorded build.

    The image is made if absent, in a container with ``labels``.

    Raises:
        SandboxError: the layer's archive is changed or malformed.
    """
    key = digest([LAYOUT, "layer", tools.content, base, layer.sha256])
    return _image_with_entries(client, key, base, layer, chain(machine_entries(tools), layer_entries(layer)), labels)


def image_with_other_build(client: "APIClient", base: str, name: str, layer: Layer, labels: dict[str, str]) -> str:
    """Return the image id of ``base`` plus a further build.

    The files of ``layer`` are in ``/opt/codegate/NAME``, so they replace no files of other builds. The image is made if
    absent, in a container with ``labels``.
    """
    key = digest([LAYOUT, "beside", base, name, layer.sha256])
    return _image_with_entries(client, key, base, layer, other_build_entries(name, layer), labels)


def _image_with_entries(
    client: "APIClient", key: str, base: str, layer: Layer, entries: Iterator[Entry], labels: dict[str, str]
) -> str:
    """Return the image id of ``base`` plus the files ``entries``.

    The image is made if the daemon has none for ``key``. The entries go to the daemon as they are read, into a
    container with ``labels`` that never starts.
    """
    if (image := made_image(client, key)) is not None:
        return image
    container = str(client.create_container(base, ["-"], labels=labels)["Id"])
    try:
        client.put_archive(container, "/", tar_blocks(entries))
        repository, tag = image_tag(key).split(":")
        labels_of_it = {ENVIRONMENT_LABEL: key, LAYER_LABEL: layer.sha256, CACHE_LABEL: _cache()}
        changes = "LABEL " + " ".join(f"{name}={value}" for name, value in labels_of_it.items())
        client.commit(container, repository, tag, changes=changes)
    finally:
        client.remove_container(container, v=True, force=True)
    return str(inspect_image(client, image_tag(key))["Id"])


def remove_layer_images(kept: Collection[str]) -> tuple[int, int]:
    """Remove this cache's images of recorded builds, except ``kept``.

    ``kept`` has the SHA-256 of layers. Images in use by a container stay. Without a Docker daemon nothing is removed.

    Returns:
        how many were removed, and their size in bytes.
    """
    from docker.errors import DockerException  # noqa: PLC0415 - docker takes 0.2 s to import
    from requests.exceptions import RequestException  # noqa: PLC0415

    count = size = 0
    with contextlib.suppress(SandboxUnavailable), contextlib.closing(connect(_REMOVE_SECONDS)) as client:
        for image in client.images(filters={"label": f"{CACHE_LABEL}={_cache()}"}):
            if image["Labels"].get(LAYER_LABEL) not in kept:
                with contextlib.suppress(DockerException, RequestException):
                    client.remove_image(image["Id"])
                    count, size = count + 1, size + int(image["Size"])
    return count, size


def _cache() -> str:
    """Return this cache's id, a label of its images."""
    return digest([os.uname().nodename, str(cache_folder())])[:32]


def machine_entries(tools: Tools, uv: Path | None = None) -> Iterator[Entry]:
    """Yield tar entries of the tools and the writable folders.

    With ``uv``, the program of that path and a new build's folders are added.
    """
    for name in ("etc", "opt", "opt/codegate", TOOLS.lstrip("/")):
        yield _entry(name, tarfile.DIRTYPE), None
    for name in ("passwd", "group"):
        text = (tools.etc / name).read_bytes()
        yield file_entry(f"etc/{name}", io.BytesIO(text), len(text))
    for path in tools.programs.iterdir():
        with path.open("rb") as file:
            yield file_entry(f"{TOOLS}/{path.name}".lstrip("/"), file, path.stat().st_size, 0o755)
    temporary = _entry("tmp", tarfile.DIRTYPE)
    temporary.mode = 0o1777
    yield temporary, None
    own = (BUILT, WORKSPACE) if uv is None else (BUILT, *(f"{BUILT}/{name}" for name in BUILD_FOLDERS), WORKSPACE)
    for place in own:
        yield _owned(_entry(place.lstrip("/"), tarfile.DIRTYPE)), None
    if uv is not None:
        with uv.open("rb") as file:
            entry, data = file_entry(f"{BUILT}/bin/uv".lstrip("/"), file, uv.stat().st_size, 0o755)
            yield _owned(entry), data


def layer_entries(layer: Layer) -> Iterator[Entry]:
    """Yield a layer's tar entries, renamed to their sandbox paths."""
    for entry, data in _renamed_entries(layer, _path_in_sandbox):
        yield _owned(entry), data


def other_build_entries(name: str, layer: Layer) -> Iterator[Entry]:
    """Yield the tar entries of a further build.

    Its files are below ``/opt/codegate/NAME``, readable for all users.
    """
    place = f"{BESIDE}/{name}".lstrip("/")
    for folder in ("opt", BESIDE.lstrip("/"), place):
        yield _entry(folder, tarfile.DIRTYPE), None
    for entry, data in _renamed_entries(layer, lambda name: f"{place}/{name}"):
        entry.mode |= 0o555 if entry.isdir() or entry.mode & 0o100 else 0o444
        yield entry, data


def _renamed_entries(layer: Layer, place: Callable[[str], str]) -> Iterator[Entry]:
    """Yield a layer's tar entries; ``place`` maps their names."""
    for entry, data in read_layer(layer):
        entry.name = place(entry.name)
        if entry.type == tarfile.LNKTYPE:
            entry.linkname = place(entry.linkname)
        yield entry, data


def _path_in_sandbox(name: str) -> str:
    root, separator, rest = name.partition("/")
    return f"{PARTS[root]}{separator}{rest}".lstrip("/")


def _owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = USER_ID
    return entry


def _entry(name: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = 0o644 if kind == tarfile.REGTYPE else 0o755
    entry.mtime = _TIME
    return entry


def file_entry(name: str, data: IO[bytes], size: int, mode: int = 0o644) -> Entry:
    """Return a file's tar entry and data."""
    entry = _entry(name, tarfile.REGTYPE)
    entry.size, entry.mode = size, mode
    return entry, data
