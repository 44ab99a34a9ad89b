"""Run a command while servers run beside it.

The command gets standard input and all open descriptors; the servers get none of them. Argument 1 lists the servers as
JSON; the command follows it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

NOT_STARTED = 121
SECONDS = 60.0
WAIT = 0.05
GRACE = 10.0


def start(server: dict[str, str]) -> subprocess.Popen[Any]:
    """Start a server; return its process once it is ready.

    ``server`` has its name, and its shell commands ``run`` and ``ready``. If it does not become ready, this program
    exits with the status ``NOT_STARTED``.
    """
    output = tempfile.TemporaryFile()  # noqa: SIM115 - the server's, as long as it runs
    process = subprocess.Popen(["/bin/sh", "-c", server["run"]], stdin=subprocess.DEVNULL, stdout=output,
                               stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    ends = time.monotonic() + SECONDS
    while True:
        ready = subprocess.run(["/bin/sh", "-c", server["ready"]], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        ended = process.poll() is not None
        if ready.returncode == 0 and not ended:
            return process
        if ended or time.monotonic() > ends:
            output.seek(max(0, output.seek(0, os.SEEK_END) - 2000))
            printed = output.read().decode("utf-8", "replace").strip()
            why = "ended with status %s" % process.returncode if ended else "did not serve within %.0f s" % SECONDS
            sys.stderr.write("the service %s %s; it printed last: %s\n" % (server["name"], why, printed or "nothing"))
            sys.stderr.flush()
            os._exit(NOT_STARTED)
        time.sleep(WAIT)


def stop(process: subprocess.Popen[Any]) -> None:
    """Stop a server after letting it write its data."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE)
            return
        except subprocess.TimeoutExpired:
            continue
        except OSError:
            return


def main() -> None:
    """Run the command while servers run; exit with its status."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable: servers cannot open our descriptors through /proc
    running = [start(server) for server in json.loads(sys.argv[1])]
    try:
        status = subprocess.call(sys.argv[2:], close_fds=False)
    except OSError as error:
        sys.stderr.write("%s\n" % error)
        status = 127
    for process in reversed(running):
        stop(process)
    if status == NOT_STARTED:
        status = 1  # NOT_STARTED is reserved for servers that did not start
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
