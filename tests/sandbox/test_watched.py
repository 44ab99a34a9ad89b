"""Sandboxes on a disk that knows no limit: what ends them, and who is at fault."""

import threading
import time
from dataclasses import replace
from typing import cast

import pytest

from codegate.sandbox import Command, Completed, SandboxError
from codegate.sandbox.session import KILLED, SandboxSession
from codegate.sandbox.watched import WatchedSandbox, listed_bytes


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


class Slow:
    """A session whose command takes 0.3 s, or is cut off after as long."""

    def __init__(self, *, cut_off: bool) -> None:
        self._cut_off, self._closed = cut_off, threading.Event()

    def run(self, command: Command) -> Completed:
        if self._cut_off:
            self._closed.wait(30)
        time.sleep(0.3)
        if self._cut_off:
            raise SandboxError("the stream is broken.")
        return replace(KILLED, signal=None, exit_code=0, wall_seconds=0.3)

    def close(self) -> None:
        self._closed.set()


@pytest.mark.parametrize("cut_off", [False, True])
def test_a_command_that_wrote_too_much_took_the_time_that_passed(*, cut_off: bool) -> None:
    sandbox = WatchedSandbox(cast("SandboxSession", Slow(cut_off=cut_off)), 1 << 20, lambda: 2 << 20)
    began = time.monotonic()
    done = sandbox.run(Command(("true",)))
    assert b"written to disk" in done.stderr
    assert 0.3 <= done.wall_seconds <= time.monotonic() - began


def test_empty_files_count_as_a_page_each_and_links_once() -> None:
    assert listed_bytes(b"1 0\n2 0\n3 8\n3 8\n") == 3 * 4096 + 8 * 512
