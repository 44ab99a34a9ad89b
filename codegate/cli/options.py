"""Options of commands, made of the parameters of their functions."""

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import click
from pydantic import AfterValidator, Field, create_model

from codegate.cli.output import want_json
from codegate.sandbox import Choice, check_choice
from codegate.strict import File, Folder, Strict


@dataclass(frozen=True)
class Argument:
    """Marks a parameter as an argument of its command.

    ``metavar`` is the argument's name in the help; None: the parameter's name.
    """

    metavar: str | None = None


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


def as_command(
    group: click.Group | None = None,
    name: str | None = None,
    *,
    json: str = "Print one JSON document on stdout.",
    **attributes: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function a command.

    A parameter with a help text, such as ``Annotated[int, "Help."]``, is an option with its type, bounds and default. A
    second text such as ``--from`` is the option's name. An option with several values can be repeated, and its name is
    singular. A parameter marked as ``Argument`` is an argument. If a parameter's type is a model, the model's fields
    with a help text or a description are options. The last option is ``--json``, with ``json`` as its help;
    ``json_wanted`` returns its value. The command is ``name`` of ``group``, if these are given; ``attributes`` are
    click's.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        given = inspect.signature(function).parameters.values()
        fields: dict[str, Any] = {
            one.name: (one.annotation, ... if one.default is one.empty else one.default) for one in given
        }
        model = create_model(function.__name__, __base__=Strict, **fields)
        inner = {field: kind for field, one in model.model_fields.items() if (kind := _model(one.annotation))}

        @wraps(function)
        def run(**values: Any) -> Any:
            for place, kind in inner.items():
                values[place] = {field: values.pop(field) for field in kind.model_fields if field in values}
            return function(**dict(model(**values)))

        def want(_context: click.Context, _option: click.Parameter, value: bool) -> None:
            want_json(value)

        click.option("--json", is_flag=True, expose_value=False, callback=want, help=json)(run)
        for add in reversed([*_declared(model)]):
            add(run)
        return (click.command if group is None else group.command)(name, **attributes)(run)

    return decorate


def _model(kind: Any) -> type[Strict] | None:
    return kind if isinstance(kind, type) and issubclass(kind, Strict) else None


def _declared(model: type[Strict]) -> Iterator[Callable[[Any], Any]]:
    schema = model.model_json_schema()["properties"]
    for name, field in model.model_fields.items():
        # Of a field's alternatives the first counts; the others are null or a number as text.
        shape = {**schema[name].get("anyOf", [{}])[0], **schema[name]}
        many = shape.get("type") == "array"
        kind = _type_of(shape["items"] if many else shape)
        if inner := _model(field.annotation):
            yield from _declared(inner)
        elif argument := next((one for one in field.metadata if isinstance(one, Argument)), None):
            nargs, metavar = -1 if many else 1, argument.metavar
            yield click.argument(name, type=kind, nargs=nargs, required=field.is_required(), metavar=metavar)
        elif texts := [one for one in (shape.get("description"), *field.metadata) if isinstance(one, str)]:
            names = [text for text in texts if text.startswith("--")]
            names = names or [f"--{(name.removesuffix('s') if many else name).replace('_', '-')}"]
            default, examples = shape.get("default"), shape.get("examples", ())
            yield click.option(
                *names,
                name,
                type=kind,
                multiple=many,
                required=field.is_required(),
                is_flag=shape.get("type") == "boolean",
                show_default=shape.get("shown", default is not False and default not in (None, "", [])),
                metavar="|".join(examples).join("[]" if examples[1:] else ("", "")) or None,
                help=next(text for text in texts if text not in names),
                # A required option gets no default at all, because click would take None as its value.
                **{name: shape[name] for name in ("default", "flag_value") if name in shape},
            )


def _type_of(shape: dict[str, Any]) -> "click.ParamType[Any] | None":  # the oldest click has no type parameters
    match shape:
        case {"enum": choices}:
            return click.Choice(choices)
        case {"type": "integer"} if "minimum" in shape or "maximum" in shape:
            return click.IntRange(shape.get("minimum"), shape.get("maximum"))
        case {"type": "integer"}:
            return click.INT
        case {"format": "decimal"}:
            return click.types.FuncParamType(usd)
        case {"type": "number"}:
            least = shape.get("exclusiveMinimum")
            return Finite(shape.get("minimum", least), shape.get("maximum"), min_open=least is not None)
        case {"format": "date"}:
            return click.DateTime(["%Y-%m-%d"])
        case {"format": "directory-path" | "file-path" | "path" as kind}:
            return click.Path(path_type=Path, file_okay=kind != "directory-path", dir_okay=kind != "file-path")
        case _:
            return None  # an option without a type: a flag or text


SuiteFolder: TypeAlias = Annotated[Folder, Argument()]
RunFolder: TypeAlias = Annotated[Folder, Argument()]
RunFolders: TypeAlias = Annotated[tuple[Folder, ...], Argument("RUN [RUN ...]")]
Sandbox: TypeAlias = Annotated[Choice, AfterValidator(check_choice)]
Jobs: TypeAlias = Annotated[int, Field(ge=1, le=256), "Concurrent sandboxes."]
Baseline: TypeAlias = Annotated[File | None, "The baseline's lock; default as in the configuration, or codegate.lock."]
OneCandidate: TypeAlias = Annotated[str | None, "--candidate", "Which candidate, when the runs have several."]
PolicyFile: TypeAlias = Annotated[
    File | None, "Configuration with the gate's policy; default codegate.yml, if present."
]
