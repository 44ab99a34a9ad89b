"""A sandbox without walls, for tests' own Python: each command is a fork of a process that has pytest loaded.

The drivers and what reads their records are the real ones. A bare run of pytest takes a quarter of the processor
time that it takes in a sandbox, most of which goes into imports.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from time import monotonic
from typing import Any, Final

from codegate.grading import Sandboxes
from codegate.grading.sandboxes import add_to_count, sandbox_limits
from codegate.sandbox import Command, Completed, Lease, Sandbox, SandboxFile
from codegate.suite import EnvironmentManifest, ProblemLimits

_READY: Final = """
import contextlib, functools, gc, json, os, signal, sys, sysconfig, time
packages = sysconfig.get_paths()["purelib"]
sys.path.append(packages)
import faulthandler, pdb, pytest, unittest.mock, _pytest._argcomplete, _pytest.config
for name in _pytest.config.default_plugins:
    __import__("_pytest." + name)
sys.path.remove(packages)

# A driver's program is compiled once.
compiled = functools.cache(lambda program: compile(program, "<string>", "exec"))

def run(order):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.setpgid(0, 0)
    os.chdir(order["workspace"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    for number, name in {0: "stdin", 1: "stdout", 2: "stderr", 93: "records"}.items():
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(order["place"] + "/" + name, flags, 0o600), number)
    sys.argv[:] = ["-c", *order["arguments"]]
    exec(compiled(order["program"]), {"__name__": "__main__"})

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
for line in sys.stdin:
    order = json.loads(line)
    compiled(order["program"])
    gc.freeze()  # pytest collects garbage at its end, twice; that of this process takes half of a short run
    child = os.fork()
    if not child:
        try:
            run(order)
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        sys.stdout.flush()
        os._exit(code)
    ended = signal.sigtimedwait([signal.SIGCHLD], order["seconds"]) is not None
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    signal.sigtimedwait([signal.SIGCHLD], 0)  # of a child that was killed
    print(json.dumps([ended, status, used.ru_utime + used.ru_stime, used.ru_maxrss << 10]), flush=True)
"""


class Unboxed:
    """Runs commands of drivers in folders of their own; ``close`` ends it."""

    def __init__(self) -> None:
        program = [sys.executable, "-P", "-s", "-S", "-B", "-c", _READY]
        self._process = subprocess.Popen(
            program, env={"PYTHONHASHSEED": "0"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._turn = Lock()

    @contextmanager
    def open(self, limits: ProblemLimits) -> Iterator[Sandbox]:
        """Open a folder; of ``limits``, the time of each command alone counts."""
        place = Path(mkdtemp(prefix="unboxed-"))
        (place / "workspace").mkdir()
        try:
            yield _Folder(self, place)
        finally:
            shutil.rmtree(place)

    def run(self, place: Path, command: Command) -> Completed:
        """Run a driver's command in a folder."""
        assert command.argv[1:5] == ("-I", "-S", "-B", "-c"), "a driver's command"
        at = command.argv.index("{records}")
        program, words = command.argv[at - 1], command.argv[at:]  # what may stand before only sets the hash seed
        places = {"{records}": "93", "{workspace}": str(place / "workspace")}
        (place / "stdin").write_bytes(command.stdin)
        order = {
            "place": str(place),
            "workspace": places["{workspace}"],
            "environment": {
                "PATH": os.environ["PATH"], "HOME": str(place), "LC_ALL": "C.UTF-8", "PYTHONPATH": "src",
                "PYTHONHASHSEED": "0", "TZ": "UTC", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **command.environment,
            },
            "program": program,
            "arguments": [places.get(word, word) for word in words],
            "seconds": command.timeout_seconds,
        }  # fmt: skip
        started = monotonic()
        with self._turn:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            ended, status, seconds, memory = json.loads(self._process.stdout.readline())
        code = os.waitstatus_to_exitcode(status)
        stdout, stderr, records = ((place / name).read_bytes() for name in ("stdout", "stderr", "records"))
        return Completed(
            exit_code=code if code >= 0 else None, signal=-code if code < 0 else None, timed_out=not ended,
            memory_exceeded=False, stdout=stdout, stderr=stderr, truncated=False, records=records,
            records_truncated=False, wall_seconds=monotonic() - started, cpu_seconds=seconds, peak_memory_bytes=memory,
        )  # fmt: skip

    def close(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


class _Folder:
    def __init__(self, own: Unboxed, place: Path) -> None:
        self._own, self._place = own, place

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        for file in files:
            path = self._place / "workspace" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)

    def run(self, command: Command) -> Completed:
        return self._own.run(self._place, command)

    def close(self) -> None:
        """Do nothing: the folder goes with its context."""


class UnboxedSandboxes(Sandboxes):
    """Folders in place of sandboxes: what is graded in them is only what a test's own text says."""

    def __init__(self, own: Unboxed) -> None:
        nothing: Any = None
        super().__init__(nothing)
        self._own, self._nothing = own, nothing

    @contextmanager
    def open(self, environment: EnvironmentManifest, limits: ProblemLimits) -> Iterator[Sandbox]:
        """Open a folder, with pytest, whatever the environment."""
        add_to_count(sandboxes=1)
        with self._own.open(limits) as sandbox:
            yield sandbox

    @contextmanager
    def lease(self, environment: EnvironmentManifest, limits: ProblemLimits) -> Iterator[Lease]:
        """Open a folder for one use."""
        with self._own.open(limits) as sandbox:
            yield Lease((self._nothing, sandbox_limits(limits)), sandbox, monotonic())
