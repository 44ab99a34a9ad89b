"""Folders beside what a recorded build left: an agent's packages, and the tools that judge code.

Packages come as wheels pinned by hash, so nothing of theirs runs while they are installed. The folders are
cached by content, usable without a network afterwards, and the same for every backend.
"""

import contextlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from codegate.durable import digest
from codegate.host_program import run_program
from codegate.sandbox.cache import cache_folder, sweep, temporary_folder
from codegate.sandbox.contract import AgentRecipe, SandboxError
from codegate.sandbox.interpreter import find_interpreter, index_environment
from codegate.sandbox.npm import install_npm
from codegate.sandbox.packing import pack
from codegate.sandbox.session import AGENT

RUFF_VERSION: Final = "0.17.6"
_LAYOUT: Final = 7  # part of the key: raise it when the folders' layout changes
_BUILD_SECONDS: Final = 900.0
COMPLETE: Final = "complete"
"""File in an environment's folder that says that nothing is missing there; it has the SHA-256 of its archive."""
PARTS: Final = ("site", "tools", "etc", "packages")

_ETC: Final = {
    "passwd": "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
    "sandbox:x:10001:10001:sandbox:/tmp/home:/usr/sbin/nologin\n",
    "group": "root:x:0:\nsandbox:x:10001:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True)
class EnvironmentFolder:
    """Folders on the host: wheels and what npm installed, or else the tools.

    Attributes:
        key: SHA-256 of everything that they were made from.
        content: SHA-256 of their archive: what is in them.
        site: folder of packages.
        tools: folder with the ``ruff`` executable.
        packages: folder of what other package managers installed.
        etc: a few small files for ``/etc``.
    """

    key: str
    content: str
    site: Path
    tools: Path
    etc: Path
    packages: Path


_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_building: dict[str, threading.Lock] = {}
_registry = threading.Lock()


def environment_key(recipe: AgentRecipe, machine: str) -> str:
    """Return the SHA-256 of the recipe and the processor type."""
    return digest([_LAYOUT, recipe.python, recipe.lock, recipe.packages, machine])


def tools_folder(machine: str | None = None) -> EnvironmentFolder:
    """Return the folders of the tools, built where the cache lacks them; see ``build_environment``."""
    machine = machine or platform.machine()
    return _folder(digest([_LAYOUT, RUFF_VERSION, machine]), lambda built: _fill_tools(built, machine))


def build_environment(recipe: AgentRecipe, machine: str | None = None) -> EnvironmentFolder:
    """Install the packages of ``recipe``, or find them in the cache.

    Args:
        recipe: what to build.
        machine: processor type as in ``uname -m``; None for this machine's.

    Raises:
        SandboxError: the installer failed; the message has its last lines.
    """
    machine = machine or platform.machine()
    return _folder(environment_key(recipe, machine), lambda built: _fill(recipe, machine, built))


def _folder(key: str, fill: Callable[[Path], None]) -> EnvironmentFolder:
    """Return what ``fill`` writes into a folder, or wrote into that of the same key before."""
    root = cache_folder() / "environments"
    with _registry:
        lock = _building.setdefault(key, threading.Lock())
    with lock:
        folder = root / key
        content = content_of(folder) or _build(folder, fill)
        with contextlib.suppress(OSError):  # a cache may be read-only
            (folder / COMPLETE).touch()  # when it was used last
    parts = (folder / name for name in PARTS)
    return EnvironmentFolder(key, content, *parts)


def content_of(folder: Path) -> str | None:
    """Return the SHA-256 of the archive of a built environment; None where nothing usable is there."""
    try:
        text = (folder / COMPLETE).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return text if _SHA256.fullmatch(text) else None


def node_site(recipe: AgentRecipe) -> Path:
    """Return a folder with the wheels of the recipe's lock alone, of which npm runs on this machine.

    Raises as ``build_environment``.
    """
    return build_environment(AgentRecipe(recipe.python, recipe.lock)).site


def uv_program(machine: str) -> Path:
    """Return uv for recorded builds on that processor type of Linux: this machine's own, or one from the index.

    Raises:
        SandboxError: the installer failed; the message has its last lines.
    """
    from uv import find_uv_bin  # noqa: PLC0415 - only recorded builds need it

    if sys.platform == "linux" and platform.machine() == machine:
        return Path(find_uv_bin())
    folder = cache_folder() / "uv" / f"{version('uv')}-{machine}"
    if not folder.exists():
        with temporary_folder(folder.parent) as made:
            python = f"{sys.version_info[0]}.{sys.version_info[1]}"
            _install(["--no-deps", f"uv=={version('uv')}"], made / "uv", python, machine)
            with contextlib.suppress(OSError):  # another process was first
                (made / "uv").rename(folder)
    return folder / "bin" / "uv"


def _build(folder: Path, fill: Callable[[Path], None]) -> str:
    try:
        sweep(folder.parent)
        with temporary_folder(folder.parent) as made:
            built = made / "environment"
            for part in PARTS:
                (built / part).mkdir(parents=True)
            fill(built)
            for path in (built, *built.rglob("*")):
                if not path.is_symlink():
                    path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            return put_in_place(built, pack(built, PARTS), folder)
    except OSError as error:
        raise SandboxError(
            f"cannot build the environment in {folder.parent}: {error}.",
            "Free some space, or choose another folder with CODEGATE_CACHE.",
        ) from error


def _fill_tools(built: Path, machine: str) -> None:
    for name, text in _ETC.items():
        (built / "etc" / name).write_text(text, encoding="ascii")
    unpacked, python = built / "ruff", f"{sys.version_info[0]}.{sys.version_info[1]}"
    _install(["--no-deps", f"ruff=={RUFF_VERSION}"], unpacked, python, machine)
    shutil.move(unpacked / "bin" / "ruff", built / "tools" / "ruff")
    shutil.rmtree(unpacked)


def _fill(recipe: AgentRecipe, machine: str, built: Path) -> None:
    site, packages = built / "site", built / "packages"
    _install_lock(recipe.lock, site, recipe.python, machine)
    if recipe.packages:
        install_npm(dict(recipe.packages), node_site(recipe), site, packages)


def _install_lock(text: str, target: Path, python: str, machine: str) -> None:
    """Install the wheels of a lock into ``target``, which sandboxes see as the agent's ``site``."""
    if not text.strip():
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="codegate-lock-", suffix=".txt") as lock:
        lock.write(text)
        lock.flush()
        _install(["--no-deps", "--require-hashes", "-r", lock.name], target, python, machine)
    _compile(target, f"{AGENT}/site", python)


def _install(arguments: list[str], target: Path, python: str, machine: str) -> None:
    from uv import find_uv_bin  # noqa: PLC0415 - not needed where the cache has it

    command = [
        find_uv_bin(), "pip", "install", "--no-config", "--no-progress", "--color=never", "--no-python-downloads",
        "--link-mode=copy", "--only-binary", ":all:", "--python-version", python,
        "--python-platform", f"{machine}-manylinux_2_28", "--target", str(target), *arguments,
    ]  # fmt: skip
    try:
        done = run_program(command, env=index_environment(), cwd="/", seconds=_BUILD_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"installing packages took more than {_BUILD_SECONDS:.0f} s.") from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()[-8:]
        raise SandboxError(
            f"the environment for Python {python} cannot be built; uv says: {' | '.join(lines)}",
            "Check the lock and the connection to the package index.",
        )


def _compile(target: Path, place: str, python: str) -> None:
    """Write byte code for ``target``, where an interpreter of that version is at hand; sandboxes only read it.

    Without it everything works, but every command compiles what it imports.
    """
    interpreter = find_interpreter(python)
    if interpreter is None:
        return
    command = [
        str(interpreter.executable), "-I", "-S", "-m", "compileall", "-q", "-f",
        "--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", place, str(target),
    ]  # fmt: skip
    # It may fail: some packages ship files that are not meant for every version.
    run_program(command, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, cwd="/", seconds=_BUILD_SECONDS)


def put_in_place(built: Path, content: str, folder: Path) -> str:
    """Rename ``built`` to ``folder``, and return the SHA-256 of the archive of what is there then.

    Another process may have been first; an unusable leftover gives way.
    """
    (built / COMPLETE).write_text(content, encoding="ascii")
    for _ in range(3):
        try:
            built.rename(folder)
        except OSError:
            if found := content_of(folder):
                return found
            with contextlib.suppress(OSError):
                folder.rename(built.with_name("unusable"))
        else:
            return content
    raise SandboxError(f"{folder} is in the way and cannot be replaced.", "Remove it.")
