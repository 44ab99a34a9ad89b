"""The programs and files that every sandbox gets.

They are ruff, a few files of ``/etc``, and uv for builds. Programs are installed from wheels, which run no code when
they are unpacked, into the cache.
"""

import contextlib
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from sysconfig import get_python_version
from typing import Final

from codegate.durable import digest, write_atomic
from codegate.host_program import run_program
from codegate.sandbox.cache import cache_folder, explain_disk_errors, temporary_folder
from codegate.sandbox.contract import SandboxError
from codegate.sandbox.layers import BUILT

RUFF_VERSION: Final = "0.17.6"
MACHINES: Final = ("x86_64", "aarch64")
"""Types of processor that sandboxes run on, as in ``uname -m``."""
_INSTALL_SECONDS: Final = 900.0
_ETC: Final = {
    "passwd": "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
    f"sandbox:x:10001:10001:sandbox:{BUILT}/home:/usr/sbin/nologin\n",  # Java takes the home folder from here
    "group": "root:x:0:\nsandbox:x:10001:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


# Variables of the caller that package installers get: addresses of the indexes, proxies, certificates, credentials.
_KEPT: Final = re.compile(
    r"(?:ALL|HTTPS|HTTP|NO)_PROXY|(?:all|https|http|no)_proxy|HOME|NETRC"
    r"|(?:NPM_CONFIG_REGISTRY|npm_config_registry)|PIP_INDEX_URL|PIP_EXTRA_INDEX_URL"
    r"|SSL_CERT_DIR|SSL_CERT_FILE|TMPDIR|UV_CACHE_DIR|UV_DEFAULT_INDEX|UV_INDEX(?:_\w+)?|XDG_CACHE_HOME"
)
# uv reads none of pip's variables. Here are uv's names for them, of which the first that is set wins.
_UV_NAMES: Final = {
    "PIP_INDEX_URL": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "PIP_EXTRA_INDEX_URL": ("UV_INDEX",),
}


@dataclass(frozen=True)
class Tools:
    """The host's folders with the files that every sandbox gets.

    Attributes:
        content: SHA-256 that identifies their content.
        programs: folder with ``ruff``.
        etc: files for ``/etc``.
    """

    content: str
    programs: Path
    etc: Path


def tools_for(machine: str | None = None) -> Tools:
    """Return the tools for a processor architecture, installed if absent.

    ``machine`` is the architecture's name as in ``uname -m``; None: this machine's.

    Raises:
        SandboxError: the tools cannot be installed; the message has the installer's last lines.
    """
    machine = machine or platform.machine()
    ruff = _program("ruff", RUFF_VERSION, machine)
    etc = cache_folder() / "etc" / digest(_ETC)[:16]
    for name, text in _ETC.items():
        if not (etc / name).is_file():
            write_atomic(etc / name, text.encode("ascii"))
    return Tools(digest([RUFF_VERSION, _ETC, machine]), ruff.parent, etc)


def uv_program(machine: str) -> Path:
    """Return the path of ``uv`` for a processor architecture.

    For an architecture other than this machine's, a wheel of it is installed.
    """
    from uv import find_uv_bin  # noqa: PLC0415 - only recorded builds need it

    if sys.platform == "linux" and platform.machine() == machine:
        return Path(find_uv_bin())
    return _program("uv", version("uv"), machine)


def index_environment() -> dict[str, str]:
    """Return the caller's variables for package indexes, with credentials.

    Give them only to programs on the host. ``run_program`` hides credentials in addresses that programs print.
    """
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
    for name, uvs in _UV_NAMES.items():
        if name in kept and kept.keys().isdisjoint(uvs):
            kept[uvs[0]] = kept[name]
        kept.pop(name, None)
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **kept}


def program_place(name: str, release: str, machine: str) -> Path:
    """Return a program's path in the cache, installed or not."""
    return cache_folder() / "programs" / f"{name}-{release}-{machine}" / "bin" / name


def _program(name: str, release: str, machine: str) -> Path:
    """Return the cached program of a wheel, installed if absent."""
    place = program_place(name, release, machine)
    if not place.is_file():
        folder = place.parent.parent
        with explain_disk_errors(f"install {name} in {folder.parent}"), temporary_folder(folder.parent) as made:
            _install(f"{name}=={release}", made / "wheel", machine)
            with contextlib.suppress(OSError):  # another process was first
                (made / "wheel").rename(folder)
    return place


def _install(requirement: str, target: Path, machine: str) -> None:
    from uv import find_uv_bin  # noqa: PLC0415 - not needed where the cache has it

    command = [
        find_uv_bin(), "pip", "install", "--no-config", "--no-progress", "--color=never", "--no-python-downloads",
        "--link-mode=copy", "--only-binary", ":all:", "--no-deps",
        "--python-version", get_python_version(),
        "--python-platform", f"{machine}-manylinux_2_28", "--target", str(target), requirement,
    ]  # fmt: skip
    try:
        done = run_program(command, env=index_environment(), seconds=_INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"installing {requirement} took more than {_INSTALL_SECONDS:.0f} s.") from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()[-8:]
        raise SandboxError(
            f"{requirement} cannot be installed; uv says: {' | '.join(lines)}",
            "Check the connection to the package index.",
        )
