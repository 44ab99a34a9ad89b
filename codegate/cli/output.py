"""Print a command's output: lines for people, or JSON."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import click

from codegate.errors import CodegateError

if TYPE_CHECKING:
    from codegate.candidates import Redactor


_WIDTH: Final = 100  # columns of tables if the output is no terminal

_json_wanted = False


def want_json(wanted: bool) -> None:
    """Set whether stdout gets only the JSON document."""
    global _json_wanted  # noqa: PLW0603 - a process has one stdout
    _json_wanted = wanted


def json_wanted() -> bool:
    """Return whether the command was called with ``--json``."""
    return _json_wanted


def say(*lines: str) -> None:
    """Print lines for people, safe for terminals and CI systems.

    API keys are removed. With ``--json`` the lines go to stderr, or nowhere if stderr shows only errors.
    """
    if not (_json_wanted and is_quiet()):
        for line in lines:
            _print(line, err=_json_wanted)


def note(text: str) -> None:
    """Print lines on stderr, unless only errors are wanted.

    If there is a progress bar, the lines appear above it.
    """
    if is_quiet():
        return
    if _above:
        _above[-1](_fit(text))
    else:
        _print(text, err=True)


@contextmanager
def notes_through(write: Callable[[str], None]) -> Iterator[None]:
    """Print notes with ``write`` during the ``with`` block.

    A progress bar uses this, so that notes do not break it.
    """
    _above.append(write)
    try:
        yield
    finally:
        _above.remove(write)


_above: list[Callable[[str], None]] = []
_log: Final = logging.getLogger("codegate")


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"{datetime.now():%H:%M:%S} {record.name.removeprefix('codegate.')}: {record.getMessage()}")


def set_level(name: str) -> None:
    """Set how much stderr shows: ``error``, ``info`` or ``debug``.

    ``info`` has notes and progress, ``debug`` a log as well.
    """
    _log.setLevel(name.upper())
    _log.propagate = False
    if not _log.handlers:
        _log.addHandler(_Notes())


def is_quiet() -> bool:
    """Return whether stderr is for errors only."""
    return _log.level >= logging.ERROR


def _print(text: str, *, err: bool) -> None:
    write(_fit(text), err=err)


def write(text: str, *, err: bool = False) -> None:
    """Write lines to stdout or stderr; ignore a closed pipe.

    The exit code stays the command's own: a pipe into ``head`` does not change a verdict.
    """
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def _fit(text: str) -> str:
    from codegate.reporting import untrusted  # noqa: PLC0415  not needed before there is something to say

    return untrusted(text, _redactor())  # a CI system may read these lines


@cache
def _redactor() -> "Redactor":
    from codegate.candidates import redactor_for  # noqa: PLC0415  as above

    return redactor_for()


def _json(document: Any, indent: int | None = None) -> str:
    from codegate.strict import log_json  # noqa: PLC0415  as above

    return log_json(_redactor().clean(document), indent)


def emit(document: Any) -> None:
    """Print the command's JSON document, if ``--json`` was given."""
    if _json_wanted:
        write(_json(document, indent=2))


def print_error(error: CodegateError) -> None:
    """Print an expected error as one line on stderr.

    With ``--json`` it is also a document on stdout. A command at the end of the remedy is printed on its own line, for
    copying.
    """
    advice, _, command = error.remedy.partition("\n")
    _print(f"codegate: {' '.join(f'{error.cause} {advice}'.split())}", err=True)
    if command:
        _print(f"  {command}", err=True)
    if _json_wanted:
        about = {"cause": error.cause, "remedy": error.remedy, "exit_code": int(error.exit_code)}
        write(_json({"schema": "codegate.error/1", "error": about}))


def columns() -> int:
    """Return the width of tables: the terminal's, else 100."""
    stream = sys.stderr if _json_wanted else sys.stdout
    return (stream.isatty() and os.get_terminal_size(stream.fileno()).columns) or _WIDTH
