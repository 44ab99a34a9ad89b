"""Asking uv for a hash-locked list of wheels as of a day. Nothing of them is run."""

import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from datetime import date
from typing import Final

from uv import find_uv_bin

from codegate.errors import InfrastructureError, UsageError
from codegate.host_program import run_program
from codegate.sandbox.interpreter import index_environment

_NETWORK_WORDS: Final = (
    "error sending request", "dns error", "failed to fetch", "connection", "timed out", "certificate", "client error",
    "request failed", "could not connect", "status server error", "valid authentication credentials",
)  # fmt: skip
_REFUSED: Final = re.compile(r"An index URL \((\S+)\) could not be queried due to a lack of valid authentication.*")
#: A wheel of an index that does not say when its files came: it is of no day that a bound allows.
_UNDATED: Final = re.compile(r"`([\w.-]+?)-\d\S*` is missing an upload date")
_SECONDS: Final = 120.0


def lock_wheels(requirements: tuple[str, ...], python: str, bound: date) -> str:
    """Return the requirements of a lock, each with its hashes.

    Files that an index (most private ones) gives no upload day are left out, and allowed where nothing resolves
    without them.

    Args:
        requirements: PEP 508 strings.
        python: minor version of the interpreter.
        bound: no package that was released on or after this day.

    Raises:
        UsageError: no wheels of the index fit; the message has uv's reason.
        InfrastructureError: the package index cannot be reached, or uv cannot be run.
    """
    allowed: set[str] = set()
    code, out, words = _compile(requirements, python, bound, allowed)
    while code != 0 and (undated := {*_UNDATED.findall(words)} - allowed):
        allowed |= undated
        code, out, words = _compile(requirements, python, bound, allowed)
    if code == 0:
        if "://" in out or any(line.startswith("-") for line in out.splitlines()):
            raise InfrastructureError("uv wrote an address or an option into a lock; this version cannot be used.")
        return out
    refused = _REFUSED.search(words)
    words = refused[0] if refused else words
    if any(word in words.lower() for word in _NETWORK_WORDS):
        raise InfrastructureError(
            f"the package index cannot be reached: {' '.join(words.split())[:300]}.",
            "Check the network, the proxy, and UV_DEFAULT_INDEX and UV_INDEX with their credentials.",
        )
    why = " ".join(words.partition("cause:")[2].split() or words.split())[:300]
    raise UsageError(f"{requirements[0]} cannot be installed for Python {python}: {why}.", "Check the agent's version.")


def _compile(requirements: tuple[str, ...], python: str, bound: date, undated: Iterable[str]) -> tuple[int, str, str]:
    command = [
        find_uv_bin(), "pip", "compile", "--no-config", "--no-progress", "--generate-hashes", "--no-header",
        "--no-annotate", "--python", sys.executable, "--no-python-downloads", "--python-version", python,
        "--python-platform", f"{platform.machine()}-manylinux_2_28",
        "--only-binary", ":all:", "--exclude-newer", f"{bound.isoformat()}T00:00:00Z",
        *(f"--exclude-newer-package={name}=false" for name in sorted(undated)), "-",
    ]  # fmt: skip
    try:
        wanted = "".join(f"{requirement}\n" for requirement in requirements).encode("utf-8")
        done = run_program(command, env=index_environment(), cwd="/", seconds=_SECONDS, stdin=wanted)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"cannot run uv to resolve an environment: {error}.") from error
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace")
