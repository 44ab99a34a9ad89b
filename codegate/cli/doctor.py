"""``codegate doctor``: show what this machine has and lacks."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from codegate.candidates import model_shutdowns
from codegate.cli.options import as_command
from codegate.cli.output import emit, say
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.running import new_run_id
from codegate.running.config import CONFIG_NAME, load_config
from codegate.running.opening import opened_providers
from codegate.sandbox import cache_folder, select_backend
from codegate.strict import printable
from codegate.suite import git
from codegate.wording import count_of

_KEYS: Final = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic"}
_NEEDED_BYTES: Final = 1 << 30
_OLDEST_GIT: Final = (2, 31)

Level: TypeAlias = Literal["ok", "warn", "optional", "missing"]


@dataclass(frozen=True)
class _Check:
    level: Level
    detail: str
    needed_for: str


@as_command()
def command() -> ExitCode:
    """Check what codegate needs on this machine.

    Checked are git, the sandboxes, disk space, and the codegate.yml of this folder with its models and their keys.
    Without a codegate.yml, the usual providers' keys are checked.

    ok: available; warn: works, with the limitation shown; optional: not set up; missing: not available. Exits 2 without
    a recent git or if codegate.yml cannot be used, and 4 if neither Docker nor bubblewrap works.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    checks = {
        "python": _Check("ok", version, "codegate itself"),
        "git": _checked(_git, "mining, and the base commits of suites"),
        "docker": _checked(lambda: _sandbox("docker"), "sandboxes as in the GitHub Action"),
        "bwrap": _checked(lambda: _sandbox("bwrap"), "sandboxes without a daemon"),
        "e2b": _checked(lambda: _sandbox("e2b"), "sandboxes on rented machines", otherwise="optional"),
        "modal": _checked(lambda: _sandbox("modal"), "sandboxes on rented machines", otherwise="optional"),
        "disk": _checked(_disk, "environments, which are kept"),
    }
    if Path(CONFIG_NAME).exists():
        checks[CONFIG_NAME] = _checked(_configuration, "runs and gates in this folder")
        if checks[CONFIG_NAME].level != "missing":
            checks["candidates"] = _checked(_candidates, "runs and gates in this folder")
    for key, provider in _KEYS.items() if CONFIG_NAME not in checks else ():
        there = bool(os.environ.get(key, "").strip())
        checks[key] = _Check("ok" if there else "missing", "set" if there else "not set", f"`{provider}` candidates")
    for name, found in checks.items():
        say(f"{found.level:8}  {name:17}  {found.detail}; needed for {found.needed_for}")
    emit({"schema": "codegate.doctor/2", "checks": {name: asdict(found) for name, found in checks.items()}})
    if any(name in checks and checks[name].level == "missing" for name in ("git", CONFIG_NAME, "candidates")):
        return ExitCode.USAGE
    usable = any(checks[name].level != "missing" for name in ("docker", "bwrap"))
    return ExitCode.PASS if usable else ExitCode.INFRASTRUCTURE


def _checked(check: Callable[[], tuple[Level, str]], needed_for: str, otherwise: Level = "missing") -> _Check:
    try:
        level, detail = check()
    except CodegateError as error:
        level, detail = otherwise, str(error).removesuffix(".")
    return _Check(level, detail, needed_for)


def _configuration() -> tuple[Level, str]:
    candidates = load_config(Path(CONFIG_NAME)).candidates
    ends = [one.words for one in model_shutdowns(candidates)]
    return "warn" if ends else "ok", "; ".join([count_of(len(candidates), "candidate"), *ends])


def _candidates() -> tuple[Level, str]:
    with opened_providers(load_config(Path(CONFIG_NAME)).candidates, Path()):
        return "ok", "the keys that they need are set"


def _git() -> tuple[Level, str]:
    words = git(Path(), "version").decode("utf-8", "replace").strip()
    found = re.match(r"git version (\d+)\.(\d+)", words)
    if found is None or tuple(map(int, found.groups())) < _OLDEST_GIT:
        oldest = ".".join(map(str, _OLDEST_GIT))
        raise UsageError(f"{printable(words)!r} is too old.", f"Install git {oldest} or newer.")
    return "ok", words


def _sandbox(choice: str) -> tuple[Level, str]:
    backend = select_backend(choice, new_run_id())
    try:
        found = backend.describe()
    finally:
        backend.close()
    made_of = f"works ({', '.join(dict.fromkeys((found.engine, found.runtime)))})"
    doubts = found.weaknesses
    return "warn" if doubts else "ok", "; but ".join([made_of, *doubts])


def _disk() -> tuple[Level, str]:
    folder = cache_folder()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        return "warn", f"only {free >> 20} MiB free at {folder}: free some space"
    return "ok", f"{free >> 30} GiB free at {folder}"
