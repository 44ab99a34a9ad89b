"""Change JSON documents by lists of operations."""

import re
from copy import deepcopy
from typing import Any

_PATH = re.compile(r"(/([^~/]|~[01])*)*")
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)


class PatchError(ValueError):
    """An operation cannot be carried out."""


def apply(document: Any, patch: list[dict[str, Any]]) -> Any:
    """Return what ``patch`` makes of ``document``."""
    root = [deepcopy(document)]  # so that the document itself has a place, too
    for operation in patch:
        _carry_out(root, operation)
    return root[0]


def _carry_out(root: list[Any], operation: dict[str, Any]) -> None:
    kind, path = _field(operation, "op"), _parts(_field(operation, "path"))
    if kind == "add":
        _add(root, path, deepcopy(_field(operation, "value")))
    elif kind == "remove":
        _remove(root, path)
    elif kind == "replace":
        value = deepcopy(_field(operation, "value"))
        parent, key = _find(root, path)
        parent[key] = value
    elif kind == "move":
        source = _parts(_field(operation, "from"))
        if path[: len(source)] == source and path != source:
            raise PatchError("nothing can be moved into itself")
        _add(root, path, _remove(root, source))
    elif kind == "copy":
        parent, key = _find(root, _parts(_field(operation, "from")))
        _add(root, path, deepcopy(parent[key]))
    elif kind == "test":
        parent, key = _find(root, path)
        if not _equal(parent[key], _field(operation, "value")):
            raise PatchError(f"the test of {operation['path']!r} fails")
    else:
        raise PatchError(f"there is no operation {kind!r}")


def _field(operation: dict[str, Any], name: str) -> Any:
    if name not in operation:
        raise PatchError(f"{name!r} is missing")
    return operation[name]


def _parts(path: Any) -> list[str]:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise PatchError(f"{path!r} is no path")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _find(root: list[Any], path: list[str]) -> tuple[Any, Any]:
    """Return what holds the value at ``path``, and its key or index there."""
    parent, key = root, 0
    for part in path:
        parent = parent[key]
        key = _key(parent, part)
        if key not in (parent if isinstance(parent, dict) else range(len(parent))):
            raise PatchError(f"there is no {part!r}")
    return parent, key


def _key(parent: Any, part: str) -> Any:
    if isinstance(parent, dict):
        return part
    if isinstance(parent, list) and part == "-":
        return len(parent)
    if isinstance(parent, list) and _INDEX.fullmatch(part):
        return int(part)
    raise PatchError(f"{part!r} leads nowhere")


def _add(root: list[Any], path: list[str], value: Any) -> None:
    if not path:
        root[0] = value
        return
    holder, place = _find(root, path[:-1])
    parent = holder[place]
    key = _key(parent, path[-1])
    if isinstance(parent, dict):
        parent[key] = value
    elif key <= len(parent):
        parent.insert(key, value)
    else:
        raise PatchError(f"{path[-1]!r} is beyond the end")


def _remove(root: list[Any], path: list[str]) -> Any:
    parent, key = _find(root, path)
    value = parent[key]
    if path:
        del parent[key]
    else:
        root[0] = None
    return value


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
