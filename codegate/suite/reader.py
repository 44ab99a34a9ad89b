"""Reads files that somebody else wrote: YAML and JSON with caps on size, depth and cleverness, then strict types.

Aliases, anchors, tags and duplicate keys are refused, not counted: no suite needs them, and each is a way to
make a small file mean something that its reader does not see.
"""

import json
import os
import stat
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from codegate.errors import UsageError

MAX_YAML_BYTES: Final = 1 << 20
MAX_JSON_BYTES: Final = 32 << 20
MAX_DEPTH: Final = 32

Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.CSafeLoader):
    """The C safe loader, refusing duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key is given twice", node.start_mark)
        return mapping


def parse_yaml(text: str, place: str) -> Any:
    """Return the plain data in ``text``.

    Args:
        text: the document.
        place: the file's name for error messages.

    Raises:
        UsageError: not one plain YAML document within the caps.
    """
    if len(text.encode("utf-8", "replace")) > MAX_YAML_BYTES:
        raise UsageError(f"{place} is larger than {MAX_YAML_BYTES >> 10} KiB.")
    try:
        _check_events(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506  a subclass of the safe loader
    except yaml.YAMLError as error:
        raise UsageError(f"{place} is not usable YAML: {_one_line(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is not usable YAML: {str(error)[:200]}.") from error


def _check_events(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.YAMLError(f"anchors and aliases are not allowed ({event.start_mark})")
        tag = getattr(event, "tag", None)
        if tag not in {None, "!"}:
            raise yaml.YAMLError(f"tags are not allowed ({event.start_mark})")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH} ({event.start_mark})")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Read a YAML file into ``model``.

    Raises:
        UsageError: missing, unreadable, over a cap, or not what ``model`` says; names the file and the key.
    """
    data = parse_yaml(read_text(path, MAX_YAML_BYTES), str(path))
    return check_model(data, model, str(path))


def read_json(path: Path, model: type[Model]) -> Model:
    """Read a JSON file into ``model``; raises as ``read_yaml``."""
    text = read_text(path, MAX_JSON_BYTES)
    return check_model(parse_json(text, str(path)), model, str(path))


def parse_json(text: str, place: str) -> Any:
    """Return the data in ``text``, refusing duplicate keys, NaN and infinities.

    Raises:
        UsageError: not such JSON.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key is given twice")
        return dict(pairs)

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is not usable JSON: {str(error)[:200]}.") from error


def check_model(data: Any, model: type[Model], place: str) -> Model:
    """Check plain ``data`` against ``model``.

    Raises:
        UsageError: it does not fit; names every key that is wrong, at most ten.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(part) for part in fault['loc']) or 'document'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        more = f" and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise UsageError(f"{place}: {'; '.join(faults[:10])}{more}.") from error


def read_text(path: Path, limit: int) -> str:
    """Return the UTF-8 text of a regular file of at most ``limit`` bytes; links are not followed.

    Raises:
        UsageError: missing, a link or other odd file, too large, or not UTF-8.
    """
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.") from error


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file; raises as ``read_text``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist.") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}.") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path} is not a regular file.")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UsageError(f"{path} is larger than {limit} bytes.")
    return data


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
