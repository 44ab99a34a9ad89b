"""Options that several commands share."""

import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

import click

from codegate.cli.output import want_json
from codegate.sandbox import check_choice

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)


class Finite(click.FloatRange):
    """A number in a range, which ``nan`` is outside of."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; see ``click.ParamType.convert``."""
        found = super().convert(value, param, ctx)
        return found if math.isfinite(found) else self.fail(f"{value!r} is no number.", param, ctx)


def _choice(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    return check_choice(value)


def dollars(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Decimal | None:
    """Return the exact sum of US dollars that an option names, or None where it is not given."""
    if value is None:
        return None
    try:
        sum_ = Decimal(value)
    except InvalidOperation:
        raise click.BadParameter(f"{value!r} is no sum of dollars.") from None
    if not sum_.is_finite() or not 0 <= sum_ <= 1_000_000:
        raise click.BadParameter(f"{value} is no sum between 0 and 1,000,000.")
    return sum_


def json_option(function: Decorated, words: str = "Print one JSON document on stdout.") -> Decorated:
    """Add ``--json``; ``codegate.cli.output`` knows whether it was given."""
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=lambda _context, _option, value: want_json(value),
        help=words,
    )(function)


def sandbox_option(function: Decorated) -> Decorated:
    """Add ``--sandbox``."""
    return click.option(
        "--sandbox",
        callback=_choice,
        default="auto",
        show_default=True,
        metavar="[auto|docker|docker:RUNTIME|bwrap|e2b|modal]",
        help="Where untrusted code runs; auto: Docker where a daemon answers, else bubblewrap. A RUNTIME is one that "
        "the daemon knows, such as runsc. The last two rent machines, which cost money (docs/sandboxes.md).",
    )(function)


def repository_option(function: Decorated) -> Decorated:
    """Add ``--repository``."""
    return click.option(
        "--repository", type=FOLDER, help="Repository that the base commits are in, when not where suite.yml says."
    )(function)


def config_option(function: Decorated) -> Decorated:
    """Add ``--config``."""
    return click.option(
        "--config", type=FILE, help="Configuration with the gate's policy; default codegate.yml, if present."
    )(function)


def jobs_option(function: Decorated) -> Decorated:
    """Add ``--jobs``."""
    return click.option(
        "--jobs", type=click.IntRange(1, 256), default=2, show_default=True, help="Concurrent sandboxes."
    )(function)
