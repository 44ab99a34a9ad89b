"""Layers in bubblewrap sandboxes, and the folders of their builds.

``tar`` packs and unpacks archives inside a bubblewrap sandbox, because a repository's code wrote their content. A
sandbox gets an overlay of the folders that were unpacked once into the cache, and its writes go to a tmpfs. Where the
kernel refuses overlays, the sandbox gets a copy of the folders.
"""

import contextlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegate.durable import write_atomic
from codegate.host_program import run_program
from codegate.sandbox.bubblewrap_program import bare_system
from codegate.sandbox.cache import (
    cache_folder,
    explain_disk_errors,
    layers_folder,
    own_folder,
    remove_tree,
    temporary_folder,
)
from codegate.sandbox.contract import Layer, SandboxError, SandboxLimits
from codegate.sandbox.layers import BUILD_FOLDERS, PARTS, Source, read_layer, tar_blocks
from codegate.sandbox.session import workspace_bytes
from codegate.sandbox.toolchains import Interpreter, MachineToolchain
from codegate.sandbox.tools import uv_program
from codegate.sandbox.watched import LISTING, listed_bytes

ETC: Final = (
    "alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "protocols",
    "services", "ssl/certs", "ssl/openssl.cnf",
)  # fmt: skip
"""Paths in the machine's ``/etc`` that sandboxes of recorded builds see."""
_SETTINGS: Final = ("pip.conf", "etc/pip.conf", "etc/npmrc")
_WRITABLE: Final = "writable"
_ARCHIVE: Final = "/opt/codegate/layer.tar"
_TAR_SECONDS: Final = 1800.0
_END_SECONDS: Final = 10.0
_PAGE_BYTES: Final = 1 << 12
_PROBE_SECONDS: Final = 10.0
_MEASURE_SECONDS: Final = 120.0

_MOUNT: Final = """
set -e
options=$1; size=$2; shift 2
mount -t tmpfs -o "size=$size,mode=0755,nosuid,nodev" tmpfs writable
mkdir -m 1777 writable/tmp
mkdir writable/upper writable/upper/env writable/upper/tree writable/work writable/work/env writable/work/tree \\
    writable/env writable/tree
for part in env tree; do
    mount -t overlay -o "$options,lowerdir=$part,upperdir=writable/upper/$part,workdir=writable/work/$part" \\
        overlay "writable/$part"
done
exec "$@"
"""
"""Shell program that mounts the layer's overlays in its own mount namespace and then becomes the command that follows.
The layer is in the current folder and has relative names, because its path can hold characters with a meaning in mount
options."""
_TRY: Final = "cd writable/tree && rm -r old && mkdir old && rmdir old"
"""Command that tests an overlay. It fails if the upper folder takes no extended attributes, as for a plain user on a
tmpfs of Linux before 6.6."""
_COPY: Final = """
set -e
for place in /opt/env /workspace; do
    part=env; [ $place = /opt/env ] || part=tree
    tar -x -f "$1" -C $place --strip-components=1 --same-permissions $part </dev/null
done
shift; exec "$@"
"""
"""Shell program that copies an archive's files to their places in a sandbox, then becomes the command that follows."""


@dataclass(frozen=True)
class WritableFolders:
    """The writable folders of one sandbox, with mount arguments.

    Attributes:
        mounts: bubblewrap's arguments that mount the folders.
        mount_overlays: command that mounts the overlays and then runs bubblewrap; empty without overlays.
        copy_layer: command that copies the layer and then runs the supervisor; empty if overlays show the layer.
        current: the folder to run ``mount_overlays`` in.
        file_bytes: size limit of one file; 0: the size of the workspace.
        memory_bytes: memory that the folders use before any command runs.
    """

    mounts: tuple[str, ...] = ()
    mount_overlays: tuple[str, ...] = ()
    copy_layer: tuple[str, ...] = ()
    current: Path = Path("/")
    file_bytes: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True)
class Overlays:
    """The options with which this machine mounts overlay file systems.

    Attributes:
        namespaces: options of ``unshare``.
        options: mount options of each overlay.
    """

    namespaces: tuple[str, ...]
    options: str

    def mount_command(self, size: int) -> tuple[str, ...]:
        """Return a command that mounts overlays, then runs its arguments.

        The overlays cover the layer in the current folder. A sandbox can write ``size`` bytes to them.
        """
        unshare = shutil.which("unshare") or "unshare"
        return (unshare, *self.namespaces, "--mount", "--", "/bin/sh", "-c", _MOUNT, "sh", self.options, str(size))

    def are_supported(self) -> bool:
        """Return whether this machine mounts overlays with these options.

        Raises:
            SandboxError: the cache's folder cannot be written.
        """
        with temporary_folder(layers_folder()) as folder:
            for name in (*PARTS, "tree/old", "tree/old/er", _WRITABLE):
                (folder / name).mkdir()
            argv = [*self.mount_command(1 << 20), "/bin/sh", "-c", _TRY]
            try:
                done = subprocess.run(
                    argv, cwd=folder, env={}, capture_output=True, timeout=_PROBE_SECONDS, check=False
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired):
                return False
            return done.returncode == 0


_ROOTS: Final = Overlays((), "redirect_dir=on")
"""Overlay options for root, with which folders of the layer can be renamed. Other users get EXDEV, as in containers."""
_USERS: Final = Overlays(("--user", "--map-root-user"), "userxattr")


def find_overlays() -> Overlays | None:
    """Return the options that mount overlays here, or None.

    Raises:
        SandboxError: the cache's folder cannot be written.
    """
    kinds = (_ROOTS, _USERS) if os.geteuid() == 0 else (_USERS,)
    return next((kind for kind in kinds if kind.are_supported()), None)


class MountableLayer:
    """A recorded build's files, ready to be mounted into sandboxes.

    With ``overlays`` the files are unpacked once into the cache. Without them, each sandbox gets a copy.

    Raises:
        SandboxError: the archive has another SHA-256, or cannot be unpacked.
    """

    def __init__(self, layer: Layer, bubblewrap: str, overlays: Overlays | None) -> None:
        self.layer = layer
        self._overlays = overlays
        self._sizes = _sizes(layer) if overlays is None else {}
        self._folder = Path() if overlays is None else unpacked_folder(layer, bubblewrap)

    def writable_folders(self, limits: SandboxLimits) -> WritableFolders:
        """Return the writable folders of a sandbox with these limits."""
        size = workspace_bytes(limits)
        if self._overlays is not None:
            return WritableFolders(
                bind_mounts(self._folder / _WRITABLE), self._overlays.mount_command(size), current=self._folder
            )
        places = ["--size", str(size), "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108 - the sandbox's own
        for part, place in PARTS.items():
            places += ["--size", str(size + self._sizes[part]), "--perms", "0755", "--tmpfs", place]
        places += ["--ro-bind", str(self.layer.archive), _ARCHIVE]
        copy_layer = ("/bin/sh", "-c", _COPY, "sh", _ARCHIVE)
        return WritableFolders(tuple(places), copy_layer=copy_layer, memory_bytes=sum(self._sizes.values()))


def machine_mounts(
    interpreter: Interpreter, toolchains: Sequence[MachineToolchain]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return bubblewrap's arguments that mount and mask the machine's files.

    All of ``/usr`` and the toolchains are mounted at their own paths. Masked are Python's installed packages outside
    ``/usr``, and the settings of installers, which may hold credentials.
    """
    prefixes = [interpreter.prefix, *(one.folder for one in toolchains if one.name == "python")]
    own = [prefix for prefix in prefixes if not prefix.is_relative_to("/usr")]
    settings = (path for name in ETC if (path := Path("/etc", name)).exists())
    mounts, masks = [], []
    for path in dict.fromkeys(
        (Path("/usr"), *settings, *own, *(path for one in toolchains for path in one.outside_usr))
    ):
        mounts += ["--ro-bind", str(path), str(path)]
    for path in sorted({path for prefix in own for path in prefix.glob("lib/python3*/site-packages")}):
        masks += ["--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)]
    folders = dict.fromkeys((Path("/usr"), Path("/usr/local"), *prefixes, *(one.folder for one in toolchains)))
    # Installers' settings can hold an index's credentials. An empty file hides them; pip fails on an unreadable one.
    secret = [path for folder in folders for name in _SETTINGS if (path := folder / name).is_file()]
    for path in secret:
        masks += ["--ro-bind", str(_empty_file()), str(path.resolve())]
    return tuple(mounts), tuple(masks)


def _empty_file() -> Path:
    path = cache_folder() / "users" / "empty"
    if not path.is_file():
        write_atomic(path, b"")
    return path


def bind_mounts(folder: Path) -> tuple[str, ...]:
    """Return bubblewrap's arguments that mount a build's folder writable."""
    places = {**PARTS, "tmp": "/tmp"}  # noqa: S108 - the sandbox's own
    return tuple(part for name, place in places.items() for part in ("--bind", str(folder / name), place))


def unpack(layer: Layer, folder: Path, bubblewrap: str) -> None:
    """Unpack a layer's archive into ``folder``.

    Raises:
        SandboxError: the archive has another SHA-256, or cannot be unpacked.
    """
    mounts = []
    for part in PARTS:
        (folder / part).mkdir(exist_ok=True)  # a mount point in the sandbox, so no archive can replace it by a link
        mounts += ["--bind", str(folder / part), f"/layer/{part}"]
    options = ["-x", "-f", "-", "-C", "/layer", "--no-same-owner", "--same-permissions"]
    with sandboxed_tar(bubblewrap, mounts, options, stdin=subprocess.PIPE) as tar:
        assert tar.stdin is not None  # noqa: S101 - a pipe
        with contextlib.suppress(BrokenPipeError), tar.stdin as pipe:  # tar's own message has the reason
            for block in tar_blocks(read_layer(layer)):
                pipe.write(block)


@contextlib.contextmanager
def sandboxed_tar(
    bubblewrap: str, mounts: Sequence[str], options: Sequence[str], **pipes: int
) -> "Iterator[subprocess.Popen[bytes]]":
    """Yield a ``tar`` process, sandboxed to see only ``mounts``.

    ``pipes`` are arguments ``stdin`` or ``stdout`` of Popen. Close these pipes in the ``with`` block.

    Raises:
        SandboxError: ``tar`` failed, or took too long.
    """
    argv = [
        *bare_system(bubblewrap, "CAP_DAC_OVERRIDE", "CAP_FOWNER"), *mounts, "--remount-ro", "/",
        "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LC_ALL", "C.UTF-8", "--", "tar", *options,
    ]  # fmt: skip
    with tempfile.TemporaryFile() as errors:
        standard = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **pipes}
        tar = subprocess.Popen(argv, stderr=errors, env={}, cwd="/", start_new_session=True, **standard)  # type: ignore[call-overload]
        timer = threading.Timer(_TAR_SECONDS, tar.kill)
        timer.start()
        try:
            yield tar
            tar.wait()
        finally:
            # tar ends because its pipe is closed. Killing a bubblewrap that still starts would leave a waiting process
            # behind.
            with contextlib.suppress(subprocess.TimeoutExpired):
                tar.wait(_END_SECONDS)
            timer.cancel()
            tar.kill()
            tar.wait()
        if tar.returncode:
            errors.seek(0)
            lines = errors.read(1 << 16).decode("utf-8", "replace").strip().splitlines()[-3:]
            raise SandboxError(f"tar failed on what was built; it says: {' | '.join(lines) or 'nothing'}.")


def unpacked_folder(layer: Layer, bubblewrap: str) -> Path:
    """Return the cache's folder with the files of ``layer``.

    The layer is unpacked if it is not in the cache yet.

    Raises:
        SandboxError: the archive has another SHA-256, or cannot be unpacked.
    """
    folder = layers_folder() / layer.sha256
    if not folder.is_dir():
        with temporary_folder(folder.parent) as made:
            (made / _WRITABLE).mkdir()
            unpack(layer, made, bubblewrap)
            with contextlib.suppress(OSError):  # another process unpacked the layer first
                made.rename(folder)
    return folder


def _sizes(layer: Layer) -> dict[str, int]:
    """Return how many bytes each folder's copy takes.

    The result has the keys of ``PARTS``. A tmpfs uses whole pages.
    """
    sizes = dict.fromkeys(PARTS, 0)
    for member, _ in read_layer(layer):
        sizes[member.name.partition("/")[0]] += -(-member.size // _PAGE_BYTES) * _PAGE_BYTES
    return sizes


def builds_folder() -> Path:
    """Return the cache's folder for builds that are still running."""
    return cache_folder() / "builds"


class BuildFolder:
    """Folders on disk that one build writes.

    If the build continues ``layer``, the folders begin with the layer's files.

    Raises:
        SandboxError: a folder cannot be made, or the layer cannot be unpacked.
    """

    def __init__(self, layer: Layer | None, bubblewrap: str) -> None:
        self._bubblewrap = bubblewrap
        self.path = own_folder(builds_folder())
        self._given = 0
        try:
            with explain_disk_errors(f"make a folder for the build in {self.path.parent}"):
                self._fill(layer)
            self._given = self.written()
        except SandboxError:
            self.remove()
            raise

    def _fill(self, layer: Layer | None) -> None:
        (self.path / "tmp").mkdir()
        (self.path / "tmp").chmod(0o1777)
        if layer is not None:
            unpack(layer, self.path, self._bubblewrap)
        for name in ("env", *(f"env/{name}" for name in BUILD_FOLDERS), "tree"):
            with contextlib.suppress(FileExistsError):  # the layer may have a link there
                (self.path / name).mkdir()
        programs = self.path / "env" / "bin"
        if not programs.is_symlink() and not os.path.lexists(programs / "uv"):
            # A copy, because the build can write to the file: through a link it could change the machine's own program.
            shutil.copy(uv_program(platform.machine()), programs / "uv")

    @contextlib.contextmanager
    def tars(self) -> Iterator[tuple[Source, Source]]:
        """Yield tars of ``/opt/env`` and the workspace, in this order.

        The build's processes must have ended.
        """
        with contextlib.ExitStack() as stack:
            streams = []
            for part in PARTS:
                mounts = ["--ro-bind", str(self.path / part), f"/layer/{part}"]
                options = ["-c", "-f", "-", "--sort=name", "-C", "/layer", part]
                tar = stack.enter_context(sandboxed_tar(self._bubblewrap, mounts, options, stdout=subprocess.PIPE))
                assert tar.stdout is not None  # noqa: S101 - a pipe
                streams.append(stack.enter_context(tar.stdout))
            env, tree = streams
            yield env, tree

    def remove(self) -> None:
        """Remove all folders, whatever their files' modes."""
        remove_tree(self.path)

    def written(self) -> int:
        """Return how many bytes the build has added on disk.

        Raises:
            SandboxError: the size cannot be measured.
        """
        # ``find`` runs in a sandbox, because the build's processes can replace a folder by a link at any time.
        system = bare_system(self._bubblewrap, "CAP_DAC_OVERRIDE")
        find = ("--ro-bind", str(self.path), "/build", "--", "/usr/bin/find", "/build", *LISTING)
        try:
            done = run_program([*system, *find], env={}, seconds=_MEASURE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SandboxError(f"cannot measure the build in {self.path}: {error}.") from error
        return listed_bytes(done.stdout) - self._given
