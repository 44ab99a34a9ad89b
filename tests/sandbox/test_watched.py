"""Sandboxes on a disk that knows no limit: what ends them, and who is at fault."""

from dataclasses import replace
from typing import cast

from codegate.sandbox import Command, Completed, SandboxError
from codegate.sandbox.session import KILLED, SandboxSession
from codegate.sandbox.watched import WatchedSandbox


class OutOfMemory:
    """A session whose machine goes away with the command that took its memory."""

    def run(self, command: Command) -> Completed:
        return replace(KILLED, memory_exceeded=True)

    def close(self) -> None:
        pass


def gone() -> int:
    raise SandboxError("the machine cannot be asked.")


def test_a_command_that_takes_the_machine_along_with_its_memory_is_at_fault_itself() -> None:
    sandbox = WatchedSandbox(cast("SandboxSession", OutOfMemory()), 1 << 20, gone)
    assert sandbox.run(Command(("true",))).memory_exceeded
