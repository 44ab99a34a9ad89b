"""What commands print: one JSON document on stdout with ``--json``, and people's lines on stderr then."""

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from codegate.errors import CodegateError

if TYPE_CHECKING:
    from codegate.candidates import Redactor


def say(text: str = "", *, as_json: bool = False) -> None:
    """Print lines for people, without anything that a terminal or a CI system would act on, and without keys.

    They go to stderr where stdout is for JSON.
    """
    _print(text, err=as_json)


def note(text: str) -> None:
    """Print lines for people on stderr."""
    _print(text, err=True)


def _print(text: str, *, err: bool) -> None:
    from codegate.reporting import plain, untrusted  # noqa: PLC0415  not needed before there is something to say

    # First what is invisible, which could stand within a key; a CI system reads these lines too.
    click.echo(untrusted(_redactor().redact_whole(plain(text))), err=err)


@cache
def _redactor() -> "Redactor":
    from codegate.candidates import redactor_for  # noqa: PLC0415  as above

    return redactor_for()


def _json(document: Any, indent: int | None = None) -> str:
    text = json.dumps(_redactor().clean(document), indent=indent, ensure_ascii=True, allow_nan=False)
    return text.replace("##[", "#\\u0023[")  # GitHub's runner would take it for a command


def emit(document: Any) -> None:
    """Print the one machine-readable document."""
    click.echo(_json(document, indent=2))


def print_error(error: CodegateError, *, as_json: bool) -> None:
    """Print an expected error: one line on stderr, and one on stdout, a document, when JSON was asked for."""
    note(f"codegate: {' '.join(str(error).split())}")
    if as_json:
        about = {"cause": error.cause, "remedy": error.remedy, "exit_code": int(error.exit_code)}
        click.echo(_json({"schema": "codegate.error/1", "error": about}))


def on_terminal() -> bool:
    """Return whether people's output goes to a terminal that can redraw a line."""
    return sys.stderr.isatty()
