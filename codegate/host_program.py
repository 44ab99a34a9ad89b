"""Run programs on the host, outside of any sandbox."""

import contextlib
import logging
import os
import re
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_LOG: Final = logging.getLogger(__name__)
_CREDENTIALS: Final = re.compile(rb"(?<=//)[^/\s]+@")


def run_program(
    command: Sequence[str], *, env: Mapping[str, str], seconds: float
) -> "subprocess.CompletedProcess[bytes]":
    """Run ``command`` without input; return its exit status and output.

    The command and its descendants are killed after ``seconds``, and when codegate exits. User names and passwords are
    removed from addresses in standard error.

    Raises:
        OSError: the command cannot be started.
        subprocess.TimeoutExpired: the command took longer.
    """
    began = time.monotonic()
    with subprocess.Popen(
        command, env=dict(env), cwd="/", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        # At exit, finalizers run newest first: a program that a daemon thread runs ends before its older folders go.
        end = weakref.finalize(process, _kill, process.pid)
        try:
            output, errors = process.communicate(timeout=seconds)
        finally:
            end()
    # The arguments are not logged, because an index's address can hold a password.
    _LOG.debug("%s: exit %s, %.2f s", Path(command[0]).name, process.returncode, time.monotonic() - began)
    return subprocess.CompletedProcess(command, process.returncode, output, without_credentials(errors, env))


def without_credentials(printed: bytes, env: Mapping[str, str] | None = None) -> bytes:
    """Remove user names and passwords from addresses in ``printed``.

    Addresses that a variable of ``env`` holds also lose their path, because it can be a token.
    """
    named = {part for value in (env or {}).values() for part in (value, *value.split()) if "://" in part}
    for address in sorted(named, key=len, reverse=True):
        scheme, _, rest = address.partition("://")
        before, _, after = rest.rpartition("@")
        host = after.partition("/")[0].partition("?")[0]
        printed = printed.replace(address.rstrip("/").encode(), f"{scheme}://{host}".encode())
        if before:
            printed = printed.replace(f"{before}@".encode(), b"")
    return _CREDENTIALS.sub(b"", printed)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
        for _ in range(100):
            os.killpg(group, 0)
            time.sleep(0.01)
