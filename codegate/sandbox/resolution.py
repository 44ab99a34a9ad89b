"""Asking uv for a hash-locked list of wheels as of a day. Nothing of the repository is seen or run by it."""

import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from codegate.errors import InfrastructureError
from codegate.host_program import run_program
from codegate.sandbox.interpreter import index_environment

_NETWORK_WORDS: Final = (
    "error sending request", "dns error", "failed to fetch", "connection", "timed out", "certificate", "client error",
    "request failed", "could not connect", "status server error", "valid authentication credentials",
)  # fmt: skip
_NO_WHEEL: Final = re.compile(r"Wheels are required for `([\w.-]+)`")
_UNKNOWN: Final = re.compile(r"Because ([\w.-]+) was not found in the package registry")
_REFUSED: Final = re.compile(r"An index URL \((\S+)\) could not be queried due to a lack of valid authentication.*")
#: A wheel or an archive of an index that does not say when its files came: it is of no day that a bound allows.
_UNDATED: Final = re.compile(r"`([\w.-]+?)-\d\S*` is missing an upload date")
_PIN: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Question:
    """What a lock is asked for.

    Attributes:
        requirements: PEP 508 strings.
        constraints: pins for whatever of them the requirements reach, as ``name==version``.
        own: normalised name of the project itself.
        python: minor version of the interpreter.
        bound: no package that was released on or after this day.
        own_bound: no release of the project itself from this day on, where that is earlier than ``bound``.
    """

    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    own: str
    python: str
    bound: date
    own_bound: date | None = None


@dataclass(frozen=True)
class Answer:
    """A lock, or why there is none.

    Attributes:
        lock: the requirements with their hashes, without the project itself; None when they cannot be resolved to
            wheels.
        own: the project itself with its hashes, where a package of the lock depends on it.
        why: uv's reason, for people; empty with a lock.
        lacking: the package that has no wheel, or that the index does not know.
    """

    lock: str | None
    why: str = ""
    lacking: str | None = None
    own: str = ""


def resolve(question: Question) -> Answer:
    """Return the lock that answers ``question``.

    Files that an index (most private ones) gives no upload day are left out, and allowed where nothing resolves
    without them; never those of the project itself, which may have the fix.

    Raises:
        InfrastructureError: the package index cannot be reached, or uv cannot be run.
    """
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="codegate-constraints-", suffix=".txt") as pins:
        pins.write("".join(f"{pin}\n" for pin in question.constraints))
        pins.flush()
        options = ["--constraints", pins.name] if question.constraints else []
        code, out, words = _compile(question, options)
        allowed = {question.own}
        while code != 0 and (undated := {str(canonicalize_name(name)) for name in _UNDATED.findall(words)} - allowed):
            allowed |= undated
            options += [f"--exclude-newer-package={name}=false" for name in sorted(undated)]
            code, out, words = _compile(question, options)
    if code != 0:
        refused = _REFUSED.search(words)
        words = refused[0] if refused else words
        if any(word in words.lower() for word in _NETWORK_WORDS):
            raise InfrastructureError(
                f"the package index cannot be reached: {' '.join(words.split())[:300]}.",
                "Check the network, the proxy, and UV_DEFAULT_INDEX and UV_INDEX with their credentials.",
            )
        return _refusal(words)
    if "://" in out or any(line.startswith("-") for line in out.splitlines()):
        raise InfrastructureError("uv wrote an address or an option into a lock; this version cannot be used.")
    entries = re.split(r"^(?=\S)", out, flags=re.MULTILINE)
    own = "".join(entry for entry in entries if question.own and entry.startswith(f"{question.own}=="))
    return Answer(out.replace(own, "") if own else out, own=own)


def pinned(lock: str) -> dict[str, Version]:
    """Return the versions in a lock, by normalised name."""
    found = {}
    for name, version in _PIN.findall(lock):
        try:
            found[str(canonicalize_name(name))] = Version(version)
        except InvalidVersion:
            continue
    return found


def covers(lock: str, requirements: tuple[str, ...], python: str) -> bool:
    """Return whether every one of ``requirements`` that applies to ``python`` is in ``lock`` in a version it allows."""
    versions = pinned(lock)
    world = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate(world):
            continue
        version = versions.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            return False
    return True


def _compile(question: Question, options: list[str]) -> tuple[int, str, str]:
    command = [
        find_uv_bin(), "pip", "compile", "--no-config", "--no-progress", "--generate-hashes", "--no-header",
        "--no-annotate", "--python", sys.executable, "--no-python-downloads", "--python-version", question.python,
        "--python-platform", f"{platform.machine()}-manylinux_2_28",
        "--only-binary", ":all:", "--exclude-newer", f"{question.bound.isoformat()}T00:00:00Z",
        *([f"--exclude-newer-package={question.own}={question.own_bound}T00:00:00Z"] if question.own_bound else []),
        *options, "-",
    ]  # fmt: skip
    try:
        wanted = "".join(f"{requirement}\n" for requirement in question.requirements).encode("utf-8")
        done = run_program(command, env=index_environment(), cwd="/", seconds=_SECONDS, stdin=wanted)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"cannot run uv to resolve an environment: {error}.") from error
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace")


def _refusal(words: str) -> Answer:
    wheel, unknown = _NO_WHEEL.search(words), _UNKNOWN.search(words)
    if wheel is not None:
        why = f"{wheel[1]} has no wheel that fits, and building it would run its code"
        return Answer(None, why, str(canonicalize_name(wheel[1])))
    if unknown is not None:
        return Answer(None, f"the package index has no {unknown[1]}", str(canonicalize_name(unknown[1])))
    return Answer(None, " ".join(words.partition("cause:")[2].split() or words.split())[:300])
