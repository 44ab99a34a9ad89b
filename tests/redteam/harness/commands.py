"""Runs the command line over and over without importing it each time; ``forks`` is the other end."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final

HOME: Final = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Done:
    """How a command ended; ``code`` is None when it had to be killed."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float


class Commands:
    """Starts commands, one after the other; a context."""

    def __enter__(self) -> "Commands":
        self._folder = TemporaryDirectory(prefix="codegate-redteam-")
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("forks.py")],
            env={**os.environ, "PYTHONPATH": str(HOME)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def run(
        self, *arguments: str | Path, cwd: Path, environment: Mapping[str, str] | None = None, seconds: float = 60
    ) -> Done:
        """Run ``codegate ARGUMENTS`` in ``cwd`` with ``environment`` over this process's own."""
        out, err = (Path(self._folder.name) / name for name in ("out", "err"))
        order = {
            "arguments": [str(argument) for argument in arguments],
            "cwd": str(cwd),
            "environment": {**os.environ, **(environment or {})},
            "out": str(out),
            "err": str(err),
            "seconds": seconds,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        said = [path.read_bytes().decode("utf-8", "backslashreplace") for path in (out, err)]
        return Done(answer["code"], said[0], said[1], answer["seconds"])
