"""Search test files in a process of its own: hostile text may take a parser more time and memory than there is."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final, cast

from codegate.languages import grammar_of
from codegate.languages.controls import TestSyntax, read_units, with_known
from codegate.languages.registry import controls_of, languages
from codegate.languages.syntax import parse
from codegate.plugins import load_part
from codegate.suite import RunnerName

_MAX_BYTES: Final = 1 << 20
_MAX_RECORDS: Final = 64 << 20
_CPU_SECONDS: Final = 30
_SECONDS: Final = 300.0
_MEMORY_BYTES: Final = 2 << 30
_MAX_DEPTH: Final = 10_000


class SearchError(Exception):
    """The search did not come to its end."""


def search_tests(
    texts: Mapping[str, str],
    runner: RunnerName,
    older: Mapping[str, str] | None = None,
    cpu_seconds: int = _CPU_SECONDS,
) -> bytes:
    """Return the units of test files, as JSON lines.

    A test that cannot be parsed has nothing, and neither has a runner of which this knows no tests. A patch may know
    ``older`` versions of the files; those of more than 1 MiB count as absent.

    Raises:
        SearchError: a file has more than 1 MiB, or a limit ended the search: CPU time, 2 GiB of memory.
    """
    if not controls_of(runner) or not texts:
        return b""
    older = {path: text for path, text in (older or {}).items() if len(text.encode("utf-8")) <= _MAX_BYTES}
    for path, text in texts.items():
        if len(text.encode("utf-8")) > _MAX_BYTES:
            message = f"{path} has more than {_MAX_BYTES >> 20} MiB"
            raise SearchError(message)
    program = "from codegate.languages.searching import main; main()"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            input=json.dumps(
                {"files": dict(texts), "older": older, "runner": runner, "cpu_seconds": cpu_seconds}
            ).encode("ascii"),
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # and no secret
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        message = f"the search took more than {_SECONDS:.0f} s"
        raise SearchError(message) from error
    if done.returncode or len(done.stdout) > _MAX_RECORDS:
        if done.returncode == -signal.SIGXCPU:
            message = f"the search took more than {cpu_seconds} s of CPU time"
            raise SearchError(message)
        words = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SearchError(words or f"the search ended with status {done.returncode}")
    return done.stdout


def main() -> None:
    """Search the files on standard input, within limits."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (asked["cpu_seconds"], asked["cpu_seconds"]))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.setrecursionlimit(_MAX_DEPTH)
    for path, text in asked["files"].items():
        # A number of thousands of digits is a ValueError or an OverflowError wherever it is calculated with or written.
        with contextlib.suppress(RecursionError, ValueError, OverflowError):
            for record in find(path, text, asked["runner"], asked["older"].get(path, "")):
                sys.stdout.write(f"{json.dumps(record)}\n")


def find(path: str, text: str, runner: RunnerName, older: str = "") -> list[dict[str, Any]]:
    """Return the units found in one file, of which an ``older`` version is known."""
    grammar = grammar_of(PurePosixPath(path).suffix)
    if grammar is None:
        return []
    syntax = cast("TestSyntax", load_part(controls_of(runner)))
    units, known = (
        read_units(path, one.encode("utf-8"), parse(one, grammar, _CPU_SECONDS), syntax) for one in (text, older)
    )
    units = with_known(units, text.encode("utf-8"), known, older.encode("utf-8"))
    alone = any(runner in language.alone for language in languages())
    return [{**unit.model_dump(), "alone": alone or unit.alone} for unit in units]
