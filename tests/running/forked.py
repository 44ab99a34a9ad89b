"""A process that has imported the command line once, and carries out each command in a fork of itself.

Starting Python and importing everything takes a second of every command's time, and the tests give some hundred.
What a fork does is what the command does: its own session, streams, environment and exit.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

COMMANDS = (
    "baseline", "calibrate", "gate", "grade", "history", "init", "main", "merge", "mine", "plan", "report", "run",
    "validate",
)  # fmt: skip


class Forker:
    """The process, seen from the tests: one for each worker, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], file_bytes: int | None
    ) -> tuple[int, str, str]:
        """Return exit code, output and errors of a command."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.running.forked"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[2],
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            streams = [Path(folder, "out"), Path(folder, "errors")]
            request = {
                "arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment),
                "streams": [str(path) for path in streams], "file_bytes": file_bytes,
            }  # fmt: skip
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            out, errors = (path.read_text() for path in streams)
        return code, out, errors


def serve() -> None:
    """Carry out one command for each line of the input."""
    for name in COMMANDS:
        import_module(f"codegate.cli.{name}")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            carry_out(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def carry_out(request: dict[str, Any]) -> None:
    """Be the command; ends the process as it would."""
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(request["streams"], 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    if request["file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_bytes"],) * 2)
    import_module("codegate.cli.main").run(request["arguments"])


if __name__ == "__main__":
    serve()
