"""Options that several commands share."""

import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import TypeAdapter

from codegate.cli.output import want_json
from codegate.sandbox import Choice, check_choice
from codegate.strict import Strict

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)


class Finite(click.FloatRange):
    """A command's parameter: a number in a range, never ``nan``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return ``value`` as a number within the range."""
        found = super().convert(value, param, ctx)
        return found if math.isfinite(found) else self.fail(f"{value!r} is no number.", param, ctx)


def usd(value: str) -> Decimal:
    """Parse an exact sum of US dollars.

    The function's name is the metavar in the help.
    """
    try:
        dollars = Decimal(value)
    except InvalidOperation:
        raise click.BadParameter(f"{value!r} is no sum of dollars.") from None
    if not dollars.is_finite() or not 0 <= dollars <= 1_000_000:
        raise click.BadParameter(f"{value} is no sum between 0 and 1,000,000.")
    return dollars


def request_options(model: type[Strict]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a model's fields as options.

    The command gets the model as ``request``. Each field with a description is an option with the field's type, bounds,
    default and help. A field with several values is a repeatable option, named in the singular.
    """
    schema = model.model_json_schema()["properties"]
    # Of alternatives the first counts: the others are null, or a number as text.
    shapes = {name: {**field.get("anyOf", [{}])[0], **field} for name, field in schema.items()}
    fields = {name: shape for name, shape in shapes.items() if "description" in shape}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**values: Any) -> Any:
            given = {name: values.pop(name) for name in fields}
            return function(**values, request=model(**given))

        for name, field in reversed(fields.items()):
            command = _option(name, field)(command)
        return command

    return decorate


def _option(name: str, shape: dict[str, Any], **more: Any) -> Callable[[Decorated], Decorated]:
    many, default, examples = shape.get("type") == "array", shape.get("default"), shape.get("examples", ())
    return click.option(
        f"--{(name.removesuffix('s') if many else name).replace('_', '-')}",
        name,
        type=_type_of(shape["items"] if many else shape),
        multiple=many,
        is_flag=shape.get("type") == "boolean",
        default=default,
        show_default=bool(default),
        metavar="|".join(examples).join("[]" if examples[1:] else ("", "")) or None,
        help=shape["description"],
        **more,
    )


def _type_of(shape: dict[str, Any]) -> "click.ParamType[Any] | None":  # the lowest click has no type parameters
    match shape:
        case {"enum": choices}:
            return click.Choice(choices)
        case {"type": "integer"}:
            return click.IntRange(shape.get("minimum"), shape.get("maximum"))
        case {"format": "decimal"}:
            return click.types.FuncParamType(usd)
        case {"type": "number"}:
            least = shape.get("exclusiveMinimum")
            return Finite(shape.get("minimum", least), shape.get("maximum"), min_open=least is not None)
        case {"format": "date"}:
            return click.DateTime(["%Y-%m-%d"])
        case {"format": "directory-path"}:
            return FOLDER
        case {"format": "file-path"}:
            return FILE
        case _:
            return None  # a flag or text


def json_option(function: Decorated, words: str = "Print one JSON document on stdout.") -> Decorated:
    """Add ``--json`` to a command; ``json_wanted`` returns its value.

    ``words`` describe it in the help.
    """
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=lambda _context, _option, value: want_json(value),
        help=words,
    )(function)


sandbox_option = _option(
    "sandbox",
    TypeAdapter(Choice).json_schema() | {"default": "auto"},
    callback=lambda _context, _option, value: check_choice(value),
)
repository_option = click.option(
    "--repository", type=FOLDER, help="Repository that the base commits are in, when not where suite.yml says."
)
baseline_option = click.option(
    "--baseline", type=FILE, help="The baseline's lock; default as in the configuration, or codegate.lock."
)
reports_option = click.option("--reports", type=FOLDER, help="Where the reports go; default <run>/reports.")
candidate_option = click.option("--candidate", "name", help="Which candidate, when the runs have several.")
config_option = click.option(
    "--config", type=FILE, help="Configuration with the gate's policy; default codegate.yml, if present."
)


def jobs_option(default: int | Callable[[], int] = 2, shown: bool | str = True) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds ``--jobs`` to a command.

    In the help, a text ``shown`` replaces the default.
    """
    return click.option(
        "--jobs", type=click.IntRange(1, 256), default=default, show_default=shown, help="Concurrent sandboxes."
    )
