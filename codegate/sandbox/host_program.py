"""The host's programs that resolve and build environments (uv, npm, go); they end with the command that ran them."""

import atexit
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_running: "set[subprocess.Popen[bytes]]" = set()


def run_program(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path | str, seconds: float, stdin: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """Return how ``command`` ended, with its output; its descendants are killed after ``seconds`` and at our exit.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took longer.
    """
    with subprocess.Popen(
        command, env=dict(env), cwd=cwd, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        _running.add(process)
        try:
            output, errors = process.communicate(stdin, timeout=seconds)
        finally:
            _kill(process)
            _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@atexit.register
def _kill_all() -> None:
    """End what daemon threads still run, such as a mining's whose time is up."""
    for process in list(_running):
        _kill(process)
