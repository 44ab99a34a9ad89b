"""The host's programs that resolve and build environments (uv, npm, go); they end with the command that ran them."""

import contextlib
import os
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path


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
        # At exit, what daemon threads still run ends before the folders that it writes to are removed: those are older.
        end = weakref.finalize(process, _kill, process.pid)
        try:
            output, errors = process.communicate(stdin, timeout=seconds)
        finally:
            end()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill(group: int) -> None:
    """End a process group, and wait a moment until nothing of it writes any more."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
        for _ in range(100):
            os.killpg(group, 0)
            time.sleep(0.01)
