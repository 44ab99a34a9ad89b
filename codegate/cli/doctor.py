"""``codegate doctor``: what this machine has, and what is missing."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import click

from codegate.cli.options import json_option
from codegate.cli.output import emit, say
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.running import new_run_id
from codegate.sandbox import cache_folder, known_escapes, select_backend
from codegate.strict import shown
from codegate.suite import git

_KEYS: Final = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic"}
_NEEDED_BYTES: Final = 1 << 30
_OLDEST_GIT: Final = (2, 31)
_SIGNS: Final = {True: "ok", False: "--", None: "note"}

_Result: TypeAlias = tuple[bool | None, str]
"""Whether it is there (None: only some candidates need it), and the details."""


@click.command()
@json_option
def command(as_json: bool) -> ExitCode:
    """Check git, the sandboxes, disk space and keys.

    Exits 2 without a git that is new enough, 4 when no sandbox works.
    """
    checks: dict[str, Callable[[], str]] = {
        "python": lambda: f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}",
        "git": _git,
        "docker": lambda: _sandbox("docker"),
        "bwrap": lambda: _sandbox("bwrap"),
        "disk": _disk,
    }
    results = {name: _result(check) for name, check in checks.items()}
    results |= {key: _key(key, provider) for key, provider in _KEYS.items()}
    for name, (fine, words) in results.items():
        say(f"{_SIGNS[fine]:4}  {name:18} {words}", as_json=as_json)
    if as_json:
        document = {name: {"ok": fine, "detail": words} for name, (fine, words) in results.items()}
        emit({"schema": "codegate.doctor/1", "checks": document})
    if not results["git"][0]:
        return ExitCode.USAGE
    return ExitCode.PASS if results["docker"][0] or results["bwrap"][0] else ExitCode.INFRASTRUCTURE


def _result(check: Callable[[], str]) -> _Result:
    try:
        return True, check()
    except CodegateError as error:
        return False, str(error)


def _git() -> str:
    """Return the version of git that runs here, refusing one that is too old."""
    words = git(Path(), "version").decode("utf-8", "replace").strip()
    found = re.match(r"git version (\d+)\.(\d+)", words)
    if found is None or tuple(map(int, found.groups())) < _OLDEST_GIT:
        oldest = ".".join(map(str, _OLDEST_GIT))
        raise UsageError(f"{shown(words)!r} is too old.", f"Install git {oldest} or newer.")
    return words


def _key(name: str, provider: str) -> _Result:
    if os.environ.get(name, "").strip():
        return True, "set"
    return None, f"not set; only `{provider}` candidates need it"


def _sandbox(choice: str) -> str:
    """Return what a sandbox is made of and what it does not promise; a run's preflight tries whether it holds."""
    backend = select_backend(choice, new_run_id())
    try:
        found = backend.describe()
    finally:
        backend.close()
    made_of = f"works ({', '.join(dict.fromkeys((found.engine, found.runtime)))})"
    return "; but ".join([made_of, *found.weaknesses, *known_escapes(found.engine, found.runtime)])


def _disk() -> str:
    folder = cache_folder()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise CodegateError(f"{free >> 20} MiB free at {folder}.", "Free some space: environments are kept there.")
    return f"{free >> 30} GiB free at {folder}"
