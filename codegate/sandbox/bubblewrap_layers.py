"""Recorded builds in bubblewrap: where they are written, and how a sandbox gets one writable and afresh.

Archives are packed and unpacked by ``tar`` inside a bubblewrap sandbox: code of a repository wrote what is in them. A
sandbox has an overlay of the unpacked folders, with what it writes on a tmpfs; where the kernel refuses that, a copy.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from codegate.sandbox.bubblewrap_program import isolation, system_links
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import Command, Layer, Sandbox, SandboxError
from codegate.sandbox.interpreter import Interpreter
from codegate.sandbox.layers import BUILT, freeze
from codegate.sandbox.ownership import current_owner, parse_owner
from codegate.sandbox.session import WORKSPACE
from codegate.sandbox.toolchains import MachineToolchain

PARTS: Final = {"env": BUILT, "tree": WORKSPACE}
"""The folders of an archive, and where sandboxes have them."""
_ETC: Final = (
    "alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "protocols",
    "services", "ssl/certs", "ssl/openssl.cnf",
)  # fmt: skip
_WRITABLE: Final = "writable"
_ARCHIVE: Final = "/opt/codegate/layer.tar"
_STALE_SECONDS: Final = 86_400.0
_TAR_SECONDS: Final = 1800.0
_COPY_BYTES: Final = 1 << 20
_PROBE_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.25
_LOOKS: Final = 20  # share of the time that measuring may take, as its inverse

MOUNT: Final = """
set -e
size=$1; shift
mount -t tmpfs -o "size=$size,mode=0755,nosuid,nodev" tmpfs writable
mkdir -m 1777 writable/tmp
for part in env tree; do
    mkdir -p "writable/upper/$part" "writable/work/$part" "writable/$part"
    mount -t overlay -o "userxattr,lowerdir=$part,upperdir=writable/upper/$part,workdir=writable/work/$part" \\
        overlay "writable/$part"
done
exec "$@"
"""
"""Mounts the overlays of the layer in the current folder in a mount namespace of their own; becomes the command after
it. Names are relative: those of the cache may have any character, and mean something in a mount's options."""


def machine(interpreter: Interpreter, toolchains: Sequence[MachineToolchain]) -> tuple[list[str], list[str]]:
    """Return bubblewrap's arguments that show this machine to a recorded build, and those that hide parts of it.

    It is all of ``/usr`` and the toolchains at their own places; not the packages installed beside an interpreter.
    """
    shown = ["--ro-bind", "/usr", "/usr"]
    for path in (Path("/etc", name) for name in _ETC):
        if path.exists():
            shown += ["--ro-bind", str(path), str(path)]
    prefixes = [interpreter.prefix, *(one.folder for one in toolchains if one.name == "python")]
    own = [prefix for prefix in prefixes if not prefix.is_relative_to("/usr")]
    for path in dict.fromkeys((*own, *(path for one in toolchains for path in one.shown))):
        shown += ["--ro-bind", str(path), str(path)]
    packages = sorted({path for prefix in own for path in prefix.glob("lib/python3*/site-packages")})
    masks = [("--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)) for path in packages]
    return shown, [part for mask in masks for part in mask]


def writable(folder: Path) -> list[str]:
    """Return bubblewrap's arguments that give a sandbox the folders of ``folder`` to write in."""
    places = {**PARTS, "tmp": "/tmp"}  # noqa: S108 - the sandbox's own
    return [part for name, place in places.items() for part in ("--bind", str(folder / name), place)]


def unpacked(layer: Layer, bubblewrap: str) -> Path:
    """Return the folder in the cache where a layer is unpacked; it is done now if it was not.

    Raises:
        SandboxError: the archive is not what the layer says, or cannot be unpacked.
    """
    folder = cache_folder() / "layers" / layer.sha256
    if not folder.is_dir():
        with _temporary(folder.parent) as made:
            (made / _WRITABLE).mkdir()
            unpack(layer, made, bubblewrap)
            with contextlib.suppress(OSError):  # another process was first
                made.rename(folder)
    return folder


def has_overlay() -> bool:
    """Return whether this machine lets us mount overlays of what is in the cache.

    Raises:
        SandboxError: the disk refused.
    """
    with _temporary(cache_folder() / "layers") as folder:
        for name in (*PARTS, _WRITABLE):
            (folder / name).mkdir()
        argv = [*overlay(folder, 1 << 20)[0], "true"]
        try:
            done = subprocess.run(argv, cwd=folder, env={}, capture_output=True, timeout=_PROBE_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def overlay(folder: Path, size: int) -> tuple[list[str], Path]:
    """Return the beginning of a command line that needs the overlays of an unpacked layer, and where they are then.

    Args:
        folder: of the layer; it has to be the command's current folder.
        size: of all that is written, in bytes.
    """
    unshare = shutil.which("unshare") or "unshare"
    argv = [unshare, "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", MOUNT, "sh", str(size)]
    return argv, folder / _WRITABLE


def copied(layer: Layer) -> int:
    """Return how much memory a copy of the layer takes.

    Raises:
        SandboxError: its archive is gone.
    """
    try:
        return layer.archive.stat().st_size
    except OSError as error:
        raise SandboxError(f"the environment's archive {layer.archive} cannot be read: {error}.") from error


def copying(layer: Layer, size: int) -> list[str]:
    """Return bubblewrap's arguments for a sandbox that ``copy_layer`` copies the layer into."""
    places = (*PARTS.values(), "/tmp")  # noqa: S108 - the sandbox's own
    mounts = [("--size", str(size), "--perms", "0755", "--tmpfs", place) for place in places]
    return [*(part for mount in mounts for part in mount), "--ro-bind", str(layer.archive), _ARCHIVE]


def copy_layer(sandbox: Sandbox) -> None:
    """Copy the layer of a sandbox to where it belongs in it.

    Raises:
        SandboxError: it does not fit, or is no archive.
    """
    for part, place in PARTS.items():
        argv = ("tar", "-x", "-f", _ARCHIVE, "-C", place, "--strip-components=1", "--same-permissions", part)
        done = sandbox.run(Command(argv, timeout_seconds=_TAR_SECONDS))
        if not done.ok:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise SandboxError(f"the environment cannot be copied into a sandbox; tar says: {said or 'nothing'}.")


def unpack(layer: Layer, folder: Path, bubblewrap: str) -> None:
    """Unpack a layer's archive into ``folder``, which gets its parts.

    Raises:
        SandboxError: the archive is not what the layer says, or cannot be unpacked.
    """
    remedy = f"Remove {layer.archive} and what is beside it; the next run builds it again."
    mounts = []
    for part in PARTS:
        (folder / part).mkdir(exist_ok=True)
        mounts += ["--bind", str(folder / part), f"/layer/{part}"]
    seen = hashlib.sha256()
    options = ["-x", "-f", "-", "-C", "/layer", "--no-same-owner", "--same-permissions"]
    try:
        with layer.archive.open("rb") as archive, _tar(bubblewrap, mounts, options, stdin=subprocess.PIPE) as tar:
            assert tar.stdin is not None  # noqa: S101 - a pipe
            with contextlib.suppress(BrokenPipeError), tar.stdin as pipe:
                while block := archive.read(_COPY_BYTES):
                    seen.update(block)
                    pipe.write(block)
    except OSError as error:
        raise SandboxError(f"cannot unpack the environment's archive {layer.archive}: {error}.", remedy) from error
    if seen.hexdigest() != layer.sha256:
        raise SandboxError(f"the environment's archive {layer.archive} has changed since it was made.", remedy)


class BuildFolder:
    """The folders that a recorded build writes: ``env``, ``tree`` and ``tmp``, on disk, below the cache.

    Args:
        layer: what it begins with.
        bubblewrap: the program.

    Raises:
        SandboxError: the disk refused, or the layer cannot be unpacked.
    """

    def __init__(self, layer: Layer | None, bubblewrap: str) -> None:
        from uv import find_uv_bin  # noqa: PLC0415 - only builds need it

        self._bubblewrap = bubblewrap
        root = cache_folder() / "builds"
        try:
            root.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(dir=root, prefix=f"{str(current_owner()).replace(':', '_')}-"))
            for name in ("tmp", "env", *(f"env/{name}" for name in ("bin", "home", "cache", "tmp")), "tree"):
                (self.path / name).mkdir()
            (self.path / "tmp").chmod(0o1777)
            if layer is not None:
                unpack(layer, self.path, bubblewrap)
            # The build may write to it: a link to the machine's own would let it change that.
            shutil.copy(find_uv_bin(), self.path / "env" / "bin" / "uv")
        except OSError as error:
            raise SandboxError(
                f"cannot make a folder for the build in {root}: {error}.",
                "Free some space, or choose another folder with CODEGATE_CACHE.",
            ) from error

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """See ``BuildSandbox.freeze``; no process of the build may be alive."""
        with contextlib.ExitStack() as stack:
            streams = []
            for part in PARTS:
                mounts = ["--ro-bind", str(self.path / part), f"/layer/{part}"]
                options = ["-c", "-f", "-", "--sort=name", "-C", "/layer", part]
                tar = stack.enter_context(_tar(self._bubblewrap, mounts, options, stdout=subprocess.PIPE))
                assert tar.stdout is not None  # noqa: S101 - a pipe
                streams.append(stack.enter_context(tar.stdout))
            env, tree = streams
            return freeze(env, tree, tracked, archive)

    def remove(self) -> None:
        """Remove it all, whatever modes the build gave its folders."""
        remove_tree(self.path)


def remove_tree(path: Path) -> None:
    """Remove a folder that code of a repository wrote in, as far as the disk lets us."""
    argv = ["rm", "-rf", "--one-file-system", "--", str(path)]
    if subprocess.run(argv, capture_output=True, check=False).returncode:
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(path)], capture_output=True, check=False)
        subprocess.run(argv, capture_output=True, check=False)


def sweep_builds() -> int:
    """Remove the folders of builds whose process is dead, and return how many there were."""
    found = 0
    for path in (cache_folder() / "builds").glob("*-*"):
        owner = parse_owner(path.name.rpartition("-")[0].replace("_", ":"))
        with contextlib.suppress(OSError):
            old = time.time() - path.stat().st_mtime > _STALE_SECONDS  # of another boot, or another machine
        if owner is not None and (owner.known_dead or (old and owner.boot != current_owner().boot)):
            remove_tree(path)
            found += 1
    return found


def used_bytes(folder: Path) -> int:
    """Return what a folder takes on disk; what goes while it is measured is not counted, links are not followed."""
    total, seen, left = 0, set(), [os.fspath(folder)]
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        left.append(entry.path)
                    elif status.st_nlink > 1:
                        if status.st_ino in seen:
                            continue
                        seen.add(status.st_ino)
                    total += status.st_blocks * 512 + 256
    return total


class DiskWatch:
    """Calls ``end`` once a build's folder takes more than ``limit`` bytes, for the length of a ``with`` block.

    The disk itself knows no limit, so that a build may go over by what it writes in a fraction of a second.
    """

    def __init__(self, folder: Path, limit: int, end: Callable[[], None]) -> None:
        self.exceeded = False
        self._folder, self._limit, self._end = folder, limit, end
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="codegate-bwrap-disk", daemon=True)

    def __enter__(self) -> "DiskWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.exceeded = self.exceeded or used_bytes(self._folder) > self._limit

    def _watch(self) -> None:
        due, near = 0.0, 0
        while not self._done.wait(_LOOK_SECONDS):
            disk = os.statvfs(self._folder)
            if time.monotonic() < due and disk.f_bavail * disk.f_frsize > near:
                continue
            begun = time.monotonic()
            used = used_bytes(self._folder)
            if used > self._limit:
                self.exceeded = True
                self._end()
                return
            due = time.monotonic() + _LOOKS * (time.monotonic() - begun)
            # So little space would be left if all that is written from now on were the build's.
            near = disk.f_bavail * disk.f_frsize - (self._limit - used)


@contextlib.contextmanager
def _tar(
    bubblewrap: str, mounts: Sequence[str], options: Sequence[str], **pipes: int
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run ``tar`` in a sandbox that has ``mounts`` and nothing else of the machine's; wait for it.

    Raises:
        SandboxError: it failed, or took too long.
    """
    argv = [
        bubblewrap, *isolation(), "--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_FOWNER",
        "--ro-bind", "/usr", "/usr", *system_links(), "--proc", "/proc", "--dev", "/dev", *mounts, "--remount-ro", "/",
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
            timer.cancel()
            tar.kill()
            tar.wait()
        if tar.returncode:
            errors.seek(0)
            lines = errors.read(1 << 16).decode("utf-8", "replace").strip().splitlines()[-3:]
            raise SandboxError(f"tar failed on what was built; it says: {' | '.join(lines) or 'nothing'}.")


@contextlib.contextmanager
def _temporary(parent: Path) -> Iterator[Path]:
    """Give a folder below ``parent`` that is removed at the end, unless it was renamed."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=".unpacking-"))
    except OSError as error:
        raise SandboxError(
            f"cannot make a folder in {parent}: {error}.",
            "Free some space, or choose another folder with CODEGATE_CACHE.",
        ) from error
    try:
        yield folder
    finally:
        if folder.exists():
            remove_tree(folder)
