"""Environments: what a tree declares, resolved to hash-locked wheels as of the commit's time.

The ladder, best first: everything declared for run time and tests (then the same without the versions that the
tests ask for), what is declared for run time and the test runner, the test runner alone. Resolving executes
nothing: wheels only, and the resolver sees no file of the repository.
"""

import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from uv import find_uv_bin

from codegate.durable import sha256
from codegate.errors import InfrastructureError
from codegate.mining.declarations import Declarations
from codegate.sandbox import index_environment
from codegate.suite import EnvironmentManifest, LockedEnvironment

Rung = Literal["declared", "runtime", "minimal"]

# A package that was released before an interpreter was never tried on it, and may have no wheel for it: the bound is
# never earlier than the interpreter's first birthday.
_INTERPRETER_READY: Final = {
    "3.8": date(2020, 10, 1),
    "3.9": date(2021, 10, 1),
    "3.10": date(2022, 10, 1),
    "3.11": date(2023, 10, 1),
    "3.12": date(2024, 10, 1),
    "3.13": date(2025, 10, 1),
    "3.14": date(2026, 10, 1),
}
_NETWORK_WORDS: Final = (
    "error sending request", "dns error", "failed to fetch", "connection", "timed out", "certificate", "client error",
    "request failed", "could not connect", "status server error",
)  # fmt: skip
_SECONDS: Final = 120.0


class EnvironmentResolver:
    """Resolves declarations by date. Thread-safe; equal questions are asked once.

    Args:
        python: minor version of the interpreter that the environments are for.
    """

    def __init__(self, python: str) -> None:
        self.python = python
        self._locks: dict[tuple[tuple[str, ...], str, date], str | None] = {}
        self._busy: dict[tuple[tuple[str, ...], str, date], threading.Lock] = {}
        self._guard = threading.Lock()

    def ladder(self, declared: Declarations, committed: date) -> Iterator[LockedEnvironment]:
        """Yield the environments that resolve for ``declared``, best first, each lock once.

        Args:
            declared: what the tree declares.
            committed: the day of the commit.

        Raises:
            InfrastructureError: the package index cannot be reached, or uv cannot be run.
        """
        seen: set[str] = set()
        for rung, requirements in rungs(declared):
            for bound in bounds(committed, self.python):
                lock = self._resolve(requirements, declared.name, bound)
                if lock is None:
                    continue
                if lock not in seen:
                    seen.add(lock)
                    yield _environment(self.python, lock, bound, rung)
                break

    def _resolve(self, requirements: tuple[str, ...], own: str, bound: date) -> str | None:
        key = (requirements, own, bound)
        with self._guard:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            if key not in self._locks:
                self._locks[key] = compile_lock(requirements, own, self.python, bound)
            return self._locks[key]


def rungs(declared: Declarations) -> list[tuple[Rung, tuple[str, ...]]]:
    """Return the requirement lists of the ladder, best first, equal ones once."""
    lists: list[tuple[Rung, tuple[str, ...]]] = [
        ("declared", _with_runner((*declared.runtime, *declared.test))),
        ("declared", _with_runner((*declared.runtime, *(_any_version(text) for text in declared.test)))),
        ("runtime", _with_runner(declared.runtime)),
        ("minimal", ("pytest",)),
    ]
    distinct: dict[tuple[str, ...], Rung] = {}
    for rung, requirements in lists:
        distinct.setdefault(requirements, rung)
    return [(rung, requirements) for requirements, rung in distinct.items()]


def bounds(committed: date, python: str) -> list[date]:
    """Return the days before which packages must have been released, the one to try first first.

    The first day of the commit's quarter lets commits of one era share an environment; the day after the commit
    is the last honest one. Neither is earlier than the interpreter.
    """
    earliest = _INTERPRETER_READY.get(python, date.min)
    quarter = date(committed.year, 3 * ((committed.month - 1) // 3) + 1, 1)
    days = [max(quarter, earliest), max(committed + timedelta(days=1), earliest)]
    return list(dict.fromkeys(days))


def compile_lock(requirements: tuple[str, ...], own: str, python: str, bound: date) -> str | None:
    """Return the hash-locked requirements as of ``bound``, or None when they cannot be resolved to wheels.

    Raises:
        InfrastructureError: the package index cannot be reached, or uv cannot be run.
    """
    command = [
        find_uv_bin(), "pip", "compile", "--no-config", "--quiet", "--generate-hashes", "--no-header", "--no-annotate",
        "--python", sys.executable, "--no-python-downloads", "--python-version", python,
        "--python-platform", f"{platform.machine()}-manylinux_2_28",
        "--only-binary", ":all:", "--exclude-newer", f"{bound.isoformat()}T00:00:00Z",
        *(["--no-emit-package", own] if own else []), "-",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            input="".join(f"{requirement}\n" for requirement in requirements).encode("utf-8"),
            env=index_environment(),
            cwd="/",
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"cannot run uv to resolve an environment: {error}.") from error
    words = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        if any(word in words.lower() for word in _NETWORK_WORDS):
            raise InfrastructureError(
                f"the package index cannot be reached: {' '.join(words.split())[:300]}.",
                "Check the network, the proxy and UV_DEFAULT_INDEX, then run the command again.",
            )
        return None
    lock = done.stdout.decode("utf-8")
    if "://" in lock or any(line.startswith("-") for line in lock.splitlines()):
        raise InfrastructureError("uv wrote an address or an option into a lock; this version cannot be used.")
    return lock


def _with_runner(requirements: tuple[str, ...]) -> tuple[str, ...]:
    names = {canonicalize_name(Requirement(requirement).name) for requirement in requirements}
    runner = () if "pytest" in names else ("pytest",)
    return tuple(sorted({*requirements, *runner}))


def _any_version(text: str) -> str:
    requirement = Requirement(text)
    requirement.specifier = SpecifierSet()
    return str(requirement)


def _environment(python: str, lock: str, bound: date, rung: Rung) -> LockedEnvironment:
    content = sha256(lock.encode("utf-8"))
    name = f"py{python.replace('.', '')}-{content[:8]}"
    manifest = EnvironmentManifest(
        id=name,
        python=python,
        lock=f"environments/{name}/requirements.lock",
        lock_sha256=content,
        exclude_newer=bound,
        rung=rung,
    )
    return LockedEnvironment(manifest, lock)
