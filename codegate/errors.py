"""The exceptions and exit codes of every command.

Every error that a person can meet says what happened, where, and what to do about it. ``cli`` prints
``str(error)`` and exits with ``error.exit_code``; a traceback means a bug in codegate.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import Final, NoReturn

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
"""The signals that interrupt a command."""

UNWRITTEN: Final = "interrupted before anything was written."


class ExitCode(IntEnum):
    """Exit codes of every command."""

    PASS = 0
    REGRESSED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INFRASTRUCTURE = 4
    INTERRUPTED = 130


class CodegateError(Exception):
    """An expected error, with its cause and a remedy.

    Args:
        cause: what happened, and where (file, key, command).
        remedy: what the reader can do about it; may be empty.
    """

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".rstrip()


class UsageError(CodegateError):
    """A wrong argument, configuration, suite or baseline."""


class InfrastructureError(CodegateError):
    """A fault of a daemon, provider, disk or network.

    It is never the model's failure, and never a pass.
    """

    exit_code = ExitCode.INFRASTRUCTURE


class Interrupted(CodegateError):
    """Ctrl-C or SIGTERM stopped the command; a run's journal stays."""

    exit_code = ExitCode.INTERRUPTED


@contextmanager
def interrupted_as(cause: str, remedy: str = "") -> Iterator[None]:
    """Turn Ctrl-C in the block into ``Interrupted`` with this cause."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(cause, remedy) from error


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay signals: raise ``KeyboardInterrupt`` only after the block.

    An interrupted import can hide the signal and fail with another error. A second signal ends the process. Outside of
    the main thread this does nothing.
    """
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        came.append(number)
        for other in SIGNALS:
            signal.signal(other, end_process)

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in before:
        if before[number] != signal.SIG_IGN:  # a shell lets its background jobs ignore Ctrl-C
            signal.signal(number, hold)
    try:
        yield
    finally:
        for number in () if came else before:
            signal.signal(number, before[number])
    if came:
        raise KeyboardInterrupt


def end_process(number: int, _frame: FrameType | None) -> NoReturn:
    """End this process by the default action of signal ``number``.

    Commands install this signal handler after their first signal. A further exception could interrupt the clean-up and
    leave a lock in a broken state.
    """
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # process 1 survives the signal: the kernel gives it no default action
