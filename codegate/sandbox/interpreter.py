"""Find Python interpreters on this machine by running them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from sysconfig import get_python_version
from typing import Final

from codegate.host_program import run_program

_QUESTION: Final = (
    "import json,sys;"
    "print(json.dumps([list(sys.version_info[:2]), getattr(sys,'_base_executable',sys.executable), sys.base_prefix]))"
)
_SECONDS: Final = 20.0

# What a package installer needs of the caller's environment: where the indexes are, how to reach them and as whom.
_KEPT: Final = re.compile(
    r"(?:ALL|HTTPS|HTTP|NO)_PROXY|(?:all|https|http|no)_proxy|HOME|NETRC"
    r"|(?:NPM_CONFIG_REGISTRY|npm_config_registry)|PIP_INDEX_URL|PIP_EXTRA_INDEX_URL"
    r"|SSL_CERT_DIR|SSL_CERT_FILE|TMPDIR|UV_CACHE_DIR|UV_DEFAULT_INDEX|UV_INDEX(?:_\w+)?|XDG_CACHE_HOME"
)
# uv reads none of pip's variables; the first of its own names that is set wins.
_UV_NAMES: Final = {
    "PIP_INDEX_URL": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "PIP_EXTRA_INDEX_URL": ("UV_INDEX",),
}


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter of this machine, outside any virtual environment.

    Attributes:
        executable: its real path.
        prefix: the folder that holds its library.
    """

    executable: Path
    prefix: Path


def index_environment() -> dict[str, str]:
    """Return the caller's variables for package indexes, credentials included.

    Give them to programs on the host alone. ``run_program`` hides credentials in addresses that programs print.
    """
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
    for name, uvs in _UV_NAMES.items():
        if name in kept and kept.keys().isdisjoint(uvs):
            kept[uvs[0]] = kept[name]
        kept.pop(name, None)
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **kept}


@cache
def find_interpreter(minor: str) -> Interpreter | None:
    """Return an interpreter of a minor version (``3.11``), or None."""
    asked = (_ask(candidate, minor) for candidate in _candidates(minor))
    return next((found for found in asked if found is not None), None)


def _candidates(minor: str) -> Iterator[str]:
    if get_python_version() == minor:
        yield getattr(sys, "_base_executable", sys.executable)
    for folder in os.get_exec_path():
        found = shutil.which(f"python{minor}", path=folder)
        if found:
            yield found
    found = _known_to_uv(minor)
    if found:
        yield found


def _known_to_uv(minor: str) -> str | None:
    from uv import find_uv_bin  # noqa: PLC0415 - the last resort

    argv = [find_uv_bin(), "python", "find", "--no-config", "--no-python-downloads", "--system", minor]
    return _output(argv, index_environment()).decode("utf-8", "surrogateescape").strip() or None


def _ask(executable: str, minor: str) -> Interpreter | None:
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": os.environ.get("HOME", "/")}
    try:
        version, base, prefix = json.loads(_output([executable, "-I", "-S", "-c", _QUESTION], environment))
    except ValueError:
        return None
    if ".".join(str(part) for part in version) != minor:
        return None
    return Interpreter(Path(base).resolve(), Path(prefix).resolve())


def _output(argv: list[str], environment: dict[str, str]) -> bytes:
    try:
        done = run_program(argv, env=environment, seconds=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return b""
    return done.stdout if done.returncode == 0 else b""
