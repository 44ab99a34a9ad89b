"""``codegate doctor``: what this machine has, and what is missing."""

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from codegate.cli.options import json_option
from codegate.cli.output import emit, say
from codegate.errors import CodegateError, ExitCode
from codegate.running import new_run_id
from codegate.sandbox import cache_folder, known_escapes, select_backend
from codegate.suite import git

_KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
_NEEDED_BYTES: Final = 1 << 30


@click.command()
@json_option
def command(as_json: bool) -> ExitCode:
    """Check git, the sandboxes, disk space and keys. Exits 4 when no sandbox works."""
    checks: dict[str, Callable[[], str]] = {
        "python": lambda: f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}",
        "git": lambda: git(Path(), "version").decode("utf-8", "replace").strip(),
        "docker": lambda: _sandbox("docker"),
        "bwrap": lambda: _sandbox("bwrap"),
        "disk": _disk,
        **{key: partial(_key, key) for key in _KEYS},
    }
    results = {name: _result(check) for name, check in checks.items()}
    for name, (fine, words) in results.items():
        say(f"{'ok' if fine else '--'}  {name:18} {words}", as_json=as_json)
    if as_json:
        document = {name: {"ok": fine, "detail": words} for name, (fine, words) in results.items()}
        emit({"schema": "codegate.doctor/1", "checks": document})
    if not results["git"][0]:
        return ExitCode.USAGE
    return ExitCode.PASS if results["docker"][0] or results["bwrap"][0] else ExitCode.INFRASTRUCTURE


def _result(check: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, check()
    except CodegateError as error:
        return False, str(error)


def _key(name: str) -> str:
    return "set" if os.environ.get(name) else "not set"


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
