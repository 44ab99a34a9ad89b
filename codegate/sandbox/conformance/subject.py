"""The subject of a conformance check, and its failures."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from codegate.sandbox.contract import (
    Backend,
    Command,
    Completed,
    EnvironmentRecipe,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
)

LIMITS = SandboxLimits(lifetime_seconds=120, memory_bytes=256 << 20, pids=48, disk_bytes=32 << 20)


class ConformanceFailure(AssertionError):
    """A backend violates the contract; the text is the evidence."""


@dataclass(frozen=True)
class Subject:
    """The backend to check, and the recipe of its environment."""

    backend: Backend
    recipe: EnvironmentRecipe

    @cached_property
    def environment(self) -> PreparedEnvironment:
        """Return the prepared environment."""
        return self.backend.prepare(self.recipe)

    def sandbox(self, limits: SandboxLimits = LIMITS) -> contextlib.closing[Sandbox]:
        """Return a fresh sandbox for a ``with`` block."""
        return contextlib.closing(self.backend.open(self.environment, limits))

    def probe(self, program: str) -> Any:
        """Run a program in a fresh sandbox; return its JSON."""
        with self.sandbox() as sandbox:
            return json_output(run_python(sandbox, program))


Check = Callable[[Subject], None]


def run_python(sandbox: Sandbox, program: str, *arguments: str, timeout: float = 30) -> Completed:
    """Run a Python program in a sandbox."""
    return sandbox.run(Command(("{python}", "-I", "-S", "-c", program, *arguments), timeout_seconds=timeout))


def json_output(done: Completed) -> Any:
    """Return the JSON document in the last line of output."""
    expect(done.ok and bool(done.stdout.strip()), "the probe runs", done)
    return json.loads(done.stdout.strip().splitlines()[-1])


def expect(held: bool, what: str, evidence: object) -> None:
    """Raise ConformanceFailure unless ``held``: expected ``what``, seen ``evidence``."""
    if not held:
        raise ConformanceFailure(f"expected: {what}; seen: {str(evidence)[:2000]}")


def expect_error(kind: type[SandboxError], action: Callable[[], object], what: str) -> None:
    """Raise ConformanceFailure unless ``action`` raises ``kind``."""
    try:
        seen = action()
    except kind:
        return
    expect(False, what, seen)
