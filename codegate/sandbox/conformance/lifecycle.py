"""Checks of time limits, killed processes, concurrency and leftovers."""

import contextlib
import dataclasses
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codegate.sandbox.conformance.subject import LIMITS, Subject, expect, expect_error, json_output, run_python
from codegate.sandbox.contract import (
    Command,
    EnvironmentRecipe,
    Layer,
    Sandbox,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
)
from codegate.sandbox.selection import select_backend

_DAEMON = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        while True:
            open("/workspace/alive", "w").write(str(time.monotonic()))
            time.sleep(0.02)
    os._exit(0)
while not os.path.exists("/workspace/alive"):
    time.sleep(0.01)
print("started", flush=True)
"""

_OTHERS = """
import json, os
print(json.dumps([int(one) for one in os.listdir("/proc") if one.isdigit() and int(one) not in (1, os.getpid())]))
"""


def time_limit(subject: Subject) -> None:
    """Check that the time limit kills a command's daemons too."""
    with subject.sandbox() as sandbox:
        done = run_python(sandbox, _DAEMON + "\ntime.sleep(60)", timeout=1)
        expect(done.timed_out and not done.ok and done.signal == 9, "timed out", done)
        expect(done.stdout == b"started\n", "what it said before", done.stdout)
        expect(1 <= done.wall_seconds < 4, "about one second", done.wall_seconds)
        _expect_alone(sandbox)


def daemons(subject: Subject) -> None:
    """Check that background processes end when their command ends."""
    with subject.sandbox() as sandbox:
        done = run_python(sandbox, _DAEMON)
        expect(done.ok and not done.timed_out, "a good end", done)
        _expect_alone(sandbox)


def stopped_and_ended_processes(subject: Subject) -> None:
    """Check that stopped processes are killed and ended ones reaped.

    A process that stops itself dies at the timeout, and 400 short-lived processes run although 48 may exist at once.
    """
    orphans = (
        "import os\nfor _ in range(200):\n    if os.fork() == 0:\n        os.fork()\n        os._exit(0)\n    os.wait()"
    )
    with subject.sandbox() as sandbox:
        done = run_python(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", timeout=1)
        expect(done.timed_out, "timed out", done)
        done = run_python(sandbox, orphans)
        expect(done.ok, "400 short-lived processes within 48", done)


def lifetime(subject: Subject) -> None:
    """Check that a sandbox ends itself after its lifetime."""
    with subject.sandbox(dataclasses.replace(LIMITS, lifetime_seconds=3)) as sandbox:
        done = run_python(sandbox, "import time; time.sleep(60)", timeout=60)
        expect(done.timed_out and done.wall_seconds < 4, "timed out by the lifetime", done)
        time.sleep(1.5)
        expect_error(SandboxError, lambda: sandbox.run(Command(("true",))), "an error from a sandbox that is gone")


def concurrent_use(subject: Subject) -> None:
    """Check that four concurrent sandboxes see only their own files."""

    def work(number: int) -> bytes:
        with subject.sandbox() as sandbox:
            output = b""
            for turn in range(5):
                sandbox.put((SandboxFile(f"own-{number}-{turn}", str(number).encode()),))
                output = sandbox.run(Command(("sh", "-c", "ls; cat own-*"))).stdout
            return output

    with ThreadPoolExecutor(4) as threads:
        outputs = list(threads.map(work, range(4)))
    for number, output in enumerate(outputs):
        lines = "".join(f"own-{number}-{turn}\n" for turn in range(5)) + str(number) * 5
        expect(output.decode() == lines, f"only the files of {number}", output)


def closing(subject: Subject) -> None:
    """Check that ``close`` in another thread ends a running call."""
    with subject.sandbox() as sandbox:
        timer = threading.Timer(0.3, sandbox.close)
        timer.start()
        begun = time.monotonic()
        sleep = "import time; time.sleep(60)"
        expect_error(SandboxClosed, lambda: run_python(sandbox, sleep, timeout=60), "SandboxClosed")
        expect(time.monotonic() - begun < 2, "within two seconds", time.monotonic() - begun)
        timer.join()
        sandbox.close()
        expect_error(SandboxClosed, lambda: sandbox.run(Command(("true",))), "SandboxClosed ever after")


def killed_codegate(subject: Subject) -> None:
    """Check that only the sandboxes of a killed codegate end."""
    mark = f"{secrets.randbelow(10**9) + 10**9}.25"
    program = "from codegate.sandbox.conformance.lifecycle import hold; hold()"
    layer = subject.recipe.required_layer
    given = (subject.backend.name, subject.recipe.python, layer.sha256, str(layer.archive), mark)
    with subject.sandbox() as alive:
        holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with holder:
            if holder.stdin is None or holder.stdout is None:
                raise SandboxError("cannot start a second harness.")
            holder.stdin.write(json.dumps(given).encode())
            holder.stdin.close()
            said = holder.stdout.readline()
            expect(said == b"open\n", "a second harness with a sandbox", said)
            _wait_until(lambda: _running(mark), "its command runs")
            holder.send_signal(signal.SIGKILL)
        _wait_until(lambda: not _running(mark), "its command ends")
        subject.backend.sweep()
        expect(subject.backend.sweep() == 0, "nothing left to sweep", "leftovers")
        expect(alive.run(Command(("true",))).ok, "the live sandbox untouched", "gone")


def hold() -> None:
    """Run ``sleep`` in a sandbox until killed.

    ``killed_codegate`` starts this as its second process.
    """
    name, version, sha256, archive, mark = json.load(sys.stdin)
    backend = select_backend(name, "conformance")
    environment = backend.prepare(EnvironmentRecipe(version, layer=Layer(sha256, Path(archive))))
    sandbox = backend.open(environment, SandboxLimits(lifetime_seconds=60))
    os.write(1, b"open\n")
    sandbox.run(Command(("sleep", mark), timeout_seconds=60))


def _running(mark: str) -> bool:
    """Return whether this machine runs ``sleep MARK``.

    Always False if the sandbox is on a remote daemon.
    """
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == b"sleep\0" + mark.encode() + b"\0":
                return True
    return False


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + 15
    while not condition():
        expect(time.monotonic() < limit, what, "not within 15 s")
        time.sleep(0.05)


def _expect_alone(sandbox: Sandbox) -> None:
    others = json_output(run_python(sandbox, _OTHERS))
    expect(others == [], "no other process", others)
    read = "import json; print(json.dumps(open('/workspace/alive').read()))"
    first = json_output(run_python(sandbox, read))
    time.sleep(0.1)
    expect(json_output(run_python(sandbox, read)) == first, "a daemon that is gone", "its mark moves")
