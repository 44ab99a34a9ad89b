"""Search test files in a process of its own: hostile text may take a parser more time and memory than there is."""

import contextlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from codegate.languages import grammar_of
from codegate.languages.go.mutation import GoFinder
from codegate.languages.javascript.mutation import JavaScriptFinder
from codegate.languages.mutation import Finder
from codegate.languages.syntax import parse
from codegate.suite import RunnerName

SEARCHED: Final[frozenset[RunnerName]] = frozenset({"node", "vitest", "jest", "mocha", "go"})
"""The runners whose test files can be searched here."""

_MAX_BYTES: Final = 1 << 20
_MAX_RECORDS: Final = 64 << 20
_CPU_SECONDS: Final = 30
_SECONDS: Final = 300.0
_MEMORY_BYTES: Final = 2 << 30
_MAX_DEPTH: Final = 10_000


class SearchError(Exception):
    """The search did not come to its end."""


def search_tests(texts: Mapping[str, str], runner: RunnerName, cpu_seconds: int = _CPU_SECONDS) -> bytes:
    """Return what can be instrumented in test files, as lines of JSON; see ``grading/controls/sites.py``.

    A file of more than 1 MiB has nothing, and neither has a test that cannot be parsed.

    Args:
        texts: of the files, by path.
        runner: one of ``SEARCHED``.
        cpu_seconds: of the search.

    Raises:
        SearchError: a limit ended the search: CPU time, 2 GiB of memory.
    """
    program = "from codegate.languages.searching import main; main()"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            input=json.dumps({"files": dict(texts), "runner": runner, "cpu_seconds": cpu_seconds}).encode("ascii"),
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # and no secret
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        message = f"the search took more than {_SECONDS:.0f} s"
        raise SearchError(message) from error
    if done.returncode or len(done.stdout) > _MAX_RECORDS:
        words = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SearchError(words or f"the search ended with status {done.returncode}")
    return done.stdout


def main() -> None:
    """Search the files on standard input, within limits, and print what is found."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (asked["cpu_seconds"], asked["cpu_seconds"]))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.setrecursionlimit(_MAX_DEPTH)
    for path, text in asked["files"].items():
        with contextlib.suppress(RecursionError):
            for record in find(path, text, asked["runner"]):
                sys.stdout.write(f"{json.dumps(record)}\n")


def find(path: str, text: str, runner: RunnerName) -> list[dict[str, Any]]:
    """Return what can be instrumented in one file; nothing where no grammar reads it."""
    grammar, data = grammar_of(PurePosixPath(path).suffix), text.encode("utf-8")
    if grammar is None or len(data) > _MAX_BYTES:
        return []
    root = parse(text, grammar, seconds=_CPU_SECONDS)
    finder: Finder = GoFinder(path, data, root) if runner == "go" else JavaScriptFinder(path, data, root, runner)
    return finder.search()
