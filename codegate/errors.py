"""The exception tree and the exit codes: the same everywhere, so that a caller never has to guess.

Every error that a person can meet says what happened, where, and what to do about it. ``cli`` prints
``str(error)`` and exits with ``error.exit_code``; a traceback means a bug in codegate.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command."""

    PASS = 0
    REGRESSED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INFRASTRUCTURE = 4
    INTERRUPTED = 130


class CodegateError(Exception):
    """An error that codegate expected and can explain.

    Args:
        cause: what happened, with the place (file, key, command) it happened at.
        remedy: what the reader can do about it; empty when there is nothing to add.
    """

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".rstrip()


class UsageError(CodegateError):
    """A wrong argument, configuration, suite or baseline: the user's to fix."""


class InfrastructureError(CodegateError):
    """A daemon, provider, disk or network fault: never the model's failure, never a pass."""

    exit_code = ExitCode.INFRASTRUCTURE


class Interrupted(CodegateError):
    """The run was stopped by Ctrl-C or SIGTERM; what was journalled stays."""

    exit_code = ExitCode.INTERRUPTED
