"""What commands print: one JSON document on stdout with ``--json``, and people's lines on stderr then."""

import json
import sys
from typing import Any

import click

from codegate.errors import CodegateError


def say(text: str = "", *, as_json: bool = False) -> None:
    """Print lines for people, without anything that a terminal would act on; on stderr where stdout is for JSON."""
    _print(text, err=as_json)


def note(text: str) -> None:
    """Print lines for people on stderr."""
    _print(text, err=True)


def _print(text: str, *, err: bool) -> None:
    from codegate.reporting import plain  # noqa: PLC0415  it is not needed before there is something to say

    click.echo(plain(text), err=err)


def emit(document: Any) -> None:
    """Print the one machine-readable document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False))


def print_error(error: CodegateError, *, as_json: bool) -> None:
    """Print an expected error: one line on stderr, and one on stdout, a document, when JSON was asked for."""
    note(f"codegate: {' '.join(str(error).split())}")
    if as_json:
        about = {"cause": error.cause, "remedy": error.remedy, "exit_code": int(error.exit_code)}
        click.echo(json.dumps({"schema": "codegate.error/1", "error": about}, ensure_ascii=True))


def on_terminal() -> bool:
    """Return whether people's output goes to a terminal that can redraw a line."""
    return sys.stderr.isatty()
