"""One sandbox for many runs of code that a repository's owners merged: mining's, not the grader's."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from codegate.grading.drivers import driver_command
from codegate.grading.sandboxes import Sandboxes, environment_key, sandbox_limits
from codegate.sandbox import Sandbox, SandboxError, SandboxLimits
from codegate.suite import EnvironmentManifest, ProblemLimits

_TIDY_SECONDS: Final = 30.0


class SharedSandbox:
    """Gives one sandbox again and again, each time with no process in it and its folders empty.

    Nothing that a model wrote may run here. A sandbox that cannot be cleared, or has little of its lifetime left, is
    replaced. Not thread-safe.

    Args:
        sandboxes: where it is opened.
    """

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes
        self._stack = ExitStack()
        self._sandbox: Sandbox | None = None
        self._kind: tuple[tuple[str, ...], SandboxLimits] | None = None
        self._ends = 0.0

    @contextlib.contextmanager
    def open(self, environment: EnvironmentManifest, limits: ProblemLimits) -> Iterator[Sandbox]:
        """Give the sandbox for the length of a ``with`` block; raises as ``Sandboxes.open``."""
        if environment.recorded is not None:  # a run can write to all of it, and what it wrote cannot be cleared
            with self._sandboxes.open(environment, limits) as fresh:
                yield fresh
            return
        wanted = sandbox_limits(limits)
        kind = environment_key(environment), replace(wanted, lifetime_seconds=0.0)
        sandbox = self._sandbox
        fits = kind == self._kind and time.monotonic() + wanted.lifetime_seconds / 2 < self._ends
        if sandbox is None or not fits or not _clear(sandbox):
            self.close()
            self._ends = time.monotonic() + wanted.lifetime_seconds
            self._kind = kind
            sandbox = self._sandbox = self._stack.enter_context(self._sandboxes.open(environment, limits))
        try:
            yield sandbox
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the sandbox, if there is one; the next use opens another."""
        self._sandbox = None
        self._stack.close()


def tidy(sandbox: Sandbox, watched: Mapping[str, str], *, wipe: bool) -> list[str] | None:
    """Return which of the ``watched`` files are changed, and empty the folders if told to ``wipe`` them.

    None where the files cannot be seen or the folders not emptied.
    """
    settings = {"watched": dict(watched), "wipe": wipe}
    done = sandbox.run(driver_command("tidy_driver", settings, timeout_seconds=_TIDY_SECONDS))
    return [str(path) for path in json.loads(done.records)] if done.ok else None


def _clear(sandbox: Sandbox) -> bool:
    """Empty its folders; return whether that worked."""
    try:
        return tidy(sandbox, {}, wipe=True) is not None
    except SandboxError:
        return False
