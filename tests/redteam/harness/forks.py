"""Forks a command for every order on stdin. A script, so that it imports nothing but the command line.

What is forked is the real command (``codegate.cli.main.run``) with a folder, an environment, an output and a process
group of its own.
"""

import json
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

MEMORY: Final = 4 << 30
"""Address space of a command: an input that asks for more ends it with a traceback, which no attack may cause."""

_COMMANDS: Final = ("run", "grade", "gate", "baseline", "report", "validate", "mine")


def main() -> None:
    """Carry out the orders on stdin."""
    for name in _COMMANDS:
        import_module(f"codegate.cli.{name}")
    import_module("codegate.github.entry")
    for line in sys.stdin:
        order = json.loads(line)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _become(order)
        code = _end_of(child, started + order["seconds"])
        sys.stdout.write(json.dumps({"code": code, "seconds": time.monotonic() - started}) + "\n")
        sys.stdout.flush()


def _end_of(child: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _become(order: dict[str, Any]) -> None:
    """Be the command that ``order`` asks for, and end as it ends."""
    from codegate.cli.main import run

    os.setsid()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number, path in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o600), number)
    code = 70
    try:
        run(order["arguments"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


if __name__ == "__main__":
    main()
