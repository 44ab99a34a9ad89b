"""Read untrusted YAML and JSON into strict types.

Size and depth are limited. Aliases, anchors, tags and duplicate keys are refused, because a person who reviews the file
may misread them. Files of other tools may have aliases that do not make them much larger.
"""

import math
import re
from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from codegate.errors import UsageError
from codegate.strict import LARGEST, error_line, parse_json, printable, read_text

MAX_YAML_BYTES: Final = 1 << 20
MAX_JSON_BYTES: Final = 32 << 20
MAX_DEPTH: Final = 32
_MOST_NODES: Final = 100_000  # nodes of a document, with each alias expanded
_MAX_NUMBER: Final = 40
_MAX_FAULTS: Final = 10
_MAX_WORDS: Final = 600  # characters of an error text, which may quote a value of the file
_TABLES: Final = frozenset({"model_type", "dict_type", "model_attributes_type"})
_PLAIN: Final = {
    "missing": "this key is missing",
    "list_type": "it has to be a list",
    "tuple_type": "it has to be a list",
    "too_short": "the list is too short",
    "too_long": "the list is too long",
    "decimal_type": "it has to be a number",
    "decimal_parsing": "it has to be a number",
    **dict.fromkeys(_TABLES, "it has to be a table of keys"),
}
"""Messages by type of error, in place of pydantic's, which name types of Python."""

Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.CSafeLoader):
    """The C safe loader, with stricter mappings and numbers.

    It refuses duplicate keys, merge keys, and numbers that are too long or not finite.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise _refusal("merge keys are not allowed", key)
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) != len(node.value):
            seen: set[object] = set()
            for key, _ in node.value:
                value = self.construct_object(key, deep=True)
                if value in seen:
                    raise _refusal(f"the key {str(value)[:80]!r} is given twice", key)
                seen.add(value)
        return mapping

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        # `1:1:1:...` is a number of base 60 to YAML, and takes quadratic time.
        if len(node.value) > _MAX_NUMBER:
            raise _refusal("a number is too long", node)
        whole = node.tag.endswith(":int")
        number: int | float = self.construct_yaml_int(node) if whole else self.construct_yaml_float(node)
        if not math.isfinite(number) or abs(number) > LARGEST:
            raise _refusal("a number is not finite, or too large", node)
        return number


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)


class _CoreLoader(_Loader):
    """A YAML 1.2 loader: ``on``, ``no`` and dates are texts."""


_CoreLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith((":bool", ":timestamp"))]
    for first, found in _Loader.yaml_implicit_resolvers.items()
}
_CoreLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("(?i:true|false)$"), list("tTfF"))


def _refusal(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def parse_yaml(text: str, place: str, *, core: bool = False) -> Any:
    """Return the plain data in ``text``.

    ``place`` names the file in messages. ``core`` reads the text as YAML 1.2 with aliases, for other tools' files. Our
    own files have no aliases, and in them ``on`` and ``no`` are booleans.

    Raises:
        UsageError: the text is not one plain YAML document within the limits.
    """
    if len(text.encode("utf-8", "replace")) > MAX_YAML_BYTES:
        raise UsageError(f"{place} is larger than {MAX_YAML_BYTES >> 10} KiB.")
    try:
        _check_events(text, aliases=core)
        return yaml.load(text, Loader=_CoreLoader if core else _Loader)  # noqa: S506  a subclass of the safe loader
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:  # ValueError: of an impossible date
        remedy = "Indent with spaces: YAML takes no tabs." if re.search(r"^ *\t", text, re.MULTILINE) else ""
        raise UsageError(f"{place} is not usable YAML: {error_line(error)}.", remedy) from error


def _check_events(text: str, *, aliases: bool) -> None:
    known: dict[str, tuple[int, int]] = {}  # by anchor: number of nodes and levels
    above: list[tuple[str | None, int, int]] = [(None, 0, 0)]  # open nodes: anchor, and numbers so far
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        anchor = getattr(event, "anchor", None)
        if anchor and not aliases:
            raise yaml.YAMLError(f"anchors and aliases are not allowed{event.start_mark}")
        if getattr(event, "tag", None):
            raise yaml.YAMLError(f"tags are not allowed{event.start_mark}")
        if isinstance(event, yaml.CollectionStartEvent):
            above.append((anchor, 1, 0))
            if len(above) - 1 > MAX_DEPTH:
                raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH} levels{event.start_mark}")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, nodes, levels = above.pop()
            levels += 1
        elif isinstance(event, yaml.AliasEvent):
            if anchor not in known:
                raise yaml.YAMLError(f"an alias of what it is in, or of nothing{event.start_mark}")
            nodes, levels = known[anchor]
        else:
            nodes, levels = 1, 0
        if anchor:
            known[anchor] = nodes, levels
        outer, count, deepest = above[-1]
        above[-1] = outer, count + nodes, max(deepest, levels)
        if len(above) - 1 + levels > MAX_DEPTH:
            raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH} levels{event.start_mark}")
        if aliases and count + nodes > _MOST_NODES:
            raise yaml.YAMLError(f"more than {_MOST_NODES} values with its aliases written out{event.start_mark}")


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Return the YAML file at ``path`` as a ``model``.

    Raises:
        UsageError: the file is missing, unreadable, over a limit, or not a ``model``; the message names file and key.
    """
    data = parse_yaml(read_text(path, MAX_YAML_BYTES), str(path))
    return check_model(data, model, str(path))


def read_json(path: Path, model: type[Model], most: int = MAX_JSON_BYTES) -> Model:
    """Return the JSON file at ``path`` as a ``model``.

    Raises:
        UsageError: the file is missing, unreadable, over ``most`` bytes, or not a ``model``.
    """
    return check_model(parse_json(read_text(path, most), str(path)), model, str(path))


def check_model(data: Any, model: type[Model], place: str) -> Model:
    """Return plain ``data`` as a ``model``.

    Raises:
        UsageError: it does not fit; the message names ``place`` and up to ten wrong keys.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        every = error.errors(include_url=False)
        inner = [fault["loc"] for fault in every]
        # Wrong entries are not counted, so a list with some may not be too short.
        found = [
            fault
            for fault in every
            if fault["type"] != "too_short" or not any(loc[:-1][: len(fault["loc"])] == fault["loc"] for loc in inner)
        ]
        faults = [_words(fault, model) for fault in found[:_MAX_FAULTS]]
        more = f" and {len(found) - _MAX_FAULTS} more" if len(found) > _MAX_FAULTS else ""
        remedy = _key_help(found[0], model) if len(found) == 1 else ""
        raise UsageError(f"{place}: {'; '.join(faults)}{more}.", remedy) from error


def _words(fault: ErrorDetails, model: type[BaseModel]) -> str:
    place, kind, given = ".".join(printable(part) for part in fault["loc"]), fault["type"], fault["input"]
    if not place and kind in _TABLES:
        wanted = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
        return f"{'it is empty; ' if given is None else ''}it has to be a table of keys: {', '.join(wanted)}"
    if kind == "extra_forbidden":
        near = _nearest_key(fault, model)
        return f"{place}: there is no such key" + (f" (did you mean `{near}`?)" if near else "")
    # YAML reads `no`, `1.10` and `2024-01-01` as other types than text.
    is_scalar = given is not None and not isinstance(given, dict | list)
    end = " (put it in quotes)" if kind == "string_type" and is_scalar else ""
    if kind == "value_error":
        return f"{place or 'document'}: {error_line(fault['ctx']['error'], _MAX_WORDS)}"
    if not end and (isinstance(given, int | float) or kind == "literal_error"):
        end = f", not {printable(given)}"
    return f"{place or 'document'}: {_PLAIN.get(kind) or printable(fault['msg'])}{end}"


def _key_help(fault: ErrorDetails, model: type[BaseModel]) -> str:
    """Return a wrong key's remedy, or else its description.

    Return "" if there is no remedy and the schema describes no such key.
    """
    if fault["type"] == "extra_forbidden" and not _nearest_key(fault, model):
        return "Remove the key; if another version of codegate wrote the file, use that one, or make the file again."
    if not fault["loc"] or fault["type"] in {"value_error", "extra_forbidden"}:
        return ""
    *table, key = fault["loc"]
    found = (one.get("properties", {}).get(key, {}) for one in _tables_at(table, model.model_json_schema()))
    return next((f"`{key}` is: {one['description']}" for one in found if one.get("description")), "")


def _nearest_key(fault: ErrorDetails, model: type[BaseModel]) -> str:
    *table, key = fault["loc"]
    known = {name for one in _tables_at(table, model.model_json_schema()) for name in one.get("properties", ())}
    return next(iter(get_close_matches(str(key), sorted(known), 1)), "")


def _tables_at(place: Sequence[int | str], schema: dict[str, Any]) -> list[dict[str, Any]]:
    tables = _tables(schema, schema)
    for part in place:
        inner = [
            table.get("items", {}) if isinstance(part, int)
            else table.get("properties", {}).get(part, table.get("additionalProperties"))
            for table in tables
        ]  # fmt: skip
        # If a table can be one of several types, the place names the type that was tried, which is no key.
        tables = [found for one in inner if isinstance(one, dict) for found in _tables(one, schema)] or tables
    return tables


def _tables(part: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in part:
        return _tables(schema["$defs"][part["$ref"].rpartition("/")[2]], schema)
    return [found for one in part.get("anyOf") or part.get("oneOf") or () for found in _tables(one, schema)] or [part]
