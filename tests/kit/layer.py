"""Layers as recorded builds leave them, made on this machine: no build sandbox, no proxy."""

import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path

from uv import find_uv_bin

from codegate.sandbox import Backend, EnvironmentRecipe, Layer, Sandbox, SandboxLimits, Toolchain
from codegate.sandbox.tools import index_environment

PATH = "/opt/env/venv/bin:/opt/env/bin:/opt/env/home/.local/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"


def make_layer(
    folder: Path, python: str = "", requirements: Iterable[str] = (), root: str = "", **variables: str
) -> Layer:
    """Return a layer of what ``folder`` has as ``env`` and ``tree``, with a virtual environment of ``requirements``.

    ``root`` is an import root there, as an editable installation makes one.
    """
    (folder / "env/home").mkdir(parents=True, exist_ok=True)
    if python:
        run = partial(subprocess.run, check=True, env=index_environment())
        venv = folder / "env/venv"
        run([find_uv_bin(), "venv", "--quiet", "--no-project", "--python", python, str(venv)])
        if requirements:
            run([find_uv_bin(), "pip", "install", "--quiet", "--python", str(venv / "bin/python"), *requirements])
        if root:
            next(venv.glob("lib/python3*/site-packages")).joinpath("root.pth").write_text(root)
    archive = folder / "layer.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("env", "tree"):
            if (folder / name).is_dir():
                tar.add(folder / name, name, filter=_plain)
    return Layer(
        hashlib.sha256(archive.read_bytes()).hexdigest(),
        archive,
        tuple({"PATH": PATH, "HOME": "/opt/env/home", **variables}.items()),
        "/opt/env/venv/bin/python" if python else "",
    )


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry without its time: what is made again is the same layer."""
    entry.mtime = 1_700_000_000
    return entry


def opener(backend: Backend, layer: Layer, *toolchains: Toolchain) -> Callable[[], AbstractContextManager[Sandbox]]:
    """Return what opens sandboxes of a layer."""
    version = "{}.{}".format(*sys.version_info)
    prepared = backend.prepare(EnvironmentRecipe(version, layer=layer, toolchains=toolchains))
    limits = SandboxLimits(memory_bytes=1 << 30, disk_bytes=512 << 20)
    return lambda: closing(backend.open(prepared, limits))
