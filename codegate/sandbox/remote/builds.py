"""Pack files for rented machines, and fetch what builds made.

A machine serves one sandbox, so the sandbox writes to the machine's folders directly.
"""

import contextlib
import tarfile
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Final

from codegate.sandbox.bubblewrap_layers import ETC
from codegate.sandbox.contract import Layer, SandboxError
from codegate.sandbox.layer_images import file_entry, layer_entries, machine_entries, other_build_entries
from codegate.sandbox.layers import BUILT, BlockStream, Source
from codegate.sandbox.remote.carrier import FOLDER, LINK, Carrier
from codegate.sandbox.session import WORKSPACE
from codegate.sandbox.tools import Tools
from codegate.sandbox.watched import LISTING, listed_bytes

_WRITTEN: Final = (BUILT, WORKSPACE, "/tmp")  # noqa: S108 - the sandbox's own
_PART: Final = 1 << 18
_LARGEST: Final = 2 << 30

PLACES: Final = tuple(part for place in _WRITTEN for part in ("--bind", f"{FOLDER}{place}", place))
"""bubblewrap's arguments that mount a machine's unpacked folders writable into its sandbox."""
SYSTEM: Final = tuple(part for name in ETC for part in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}"))
"""bubblewrap's arguments that show a sandbox the paths ``ETC`` of the machine's ``/etc``."""


def pack(target: Path, tools: Tools, beside: Iterable[tuple[str, Layer]], layer: Layer | None, uv: Path | None) -> None:
    """Write an environment's archive, which rented machines unpack.

    Args:
        target: the archive.
        tools: programs and files of every sandbox.
        beside: layers of further recorded builds, with the names of the folders to unpack them into.
        layer: the environment's recorded build, or the build that a new one continues; None: a new build starts afresh.
        uv: the path of ``uv``, which a new build needs; None: nothing is built.

    Raises:
        SandboxError: the archive is too large, or a layer's archive is changed or malformed.
    """
    unfinished = target.with_suffix(".unfinished")
    with tarfile.open(unfinished, "w:gz", compresslevel=3, format=tarfile.GNU_FORMAT) as archive:
        others = chain.from_iterable(other_build_entries(name, other) for name, other in beside)
        for entry, data in chain(machine_entries(tools, uv), others, () if layer is None else layer_entries(layer)):
            archive.addfile(entry, data)
        for name in ("hosts", "nsswitch.conf"):
            _add(archive, tools.etc / name, f"etc/{name}")
        with resources.as_file(resources.files("codegate.sandbox.remote").joinpath(LINK)) as program:
            _add(archive, program, LINK)
    if unfinished.stat().st_size > _LARGEST:
        unfinished.unlink()
        raise SandboxError(
            f"the environment is over {_LARGEST >> 30} GiB packed, and would be uploaded for each sandbox.",
            "Use Docker or bubblewrap: --sandbox docker.",
        )
    unfinished.rename(target)


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    with path.open("rb") as file:
        archive.addfile(*file_entry(name, file, path.stat().st_size))


def upload_seconds(archive: Path) -> int:
    """Return the time limit for uploading ``archive``, by its size."""
    return 120 + (archive.stat().st_size >> 20)


def disk_meter(carrier: Carrier) -> Callable[[], int]:
    """Return a function that measures the bytes a sandbox wrote.

    Bytes from before this call do not count.

    Raises:
        SandboxError: the machine does not answer.
    """
    places = [f"{FOLDER}{place}" for place in _WRITTEN]

    def measure() -> int:
        with carrier.ask("/usr/bin/find", *places, *LISTING) as output:
            return listed_bytes(output.read())

    given = measure()
    return lambda: measure() - given


@contextlib.contextmanager
def built_folders(carrier: Carrier) -> Iterator[tuple[Source, Source]]:
    """Yield tars of ``/opt/env`` and the workspace, in this order."""

    def folder(place: str) -> Generator[bytes, None, None]:
        parent, _, name = f"{FOLDER}{place}".rpartition("/")
        with carrier.ask("/usr/bin/tar", "-c", "-f", "-", "--sort=name", "-C", parent, name) as output:
            yield from iter(lambda: output.read(_PART), b"")

    with contextlib.closing(folder(BUILT)) as env, contextlib.closing(folder(WORKSPACE)) as tree:
        yield BlockStream(env), BlockStream(tree)
