"""Fill results of earlier steps into the arguments of later ones."""

import json
import re
from collections.abc import Iterator

_PARTS = re.compile(r"\$\$|\$\{([A-Za-z0-9_-]+)((?:\.[^.{}$]+)*)\}")


def fill(value: object, results: dict) -> object:
    """Return ``value`` with its references replaced."""
    if isinstance(value, dict):
        return {key: fill(part, results) for key, part in value.items()}
    if isinstance(value, list):
        return [fill(part, results) for part in value]
    if not isinstance(value, str):
        return value
    whole = _PARTS.fullmatch(value)
    if whole is not None and whole[1]:
        return _found(whole, results)
    return _PARTS.sub(lambda part: _text(_found(part, results)) if part[1] else "$", value)


def references(value: object) -> Iterator[str]:
    """Yield the steps that ``value`` refers to."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from references(part)
    elif isinstance(value, str):
        yield from (part[1] for part in _PARTS.finditer(value) if part[1])


def _found(reference: re.Match[str], results: dict) -> object:
    try:
        value = results[reference[1]]
        for key in reference[2].split(".")[1:]:
            if isinstance(value, dict):
                value = value[key]
            elif isinstance(value, list) and re.fullmatch("[0-9]+", key):
                value = value[int(key)]
            else:
                raise LookupError
    except LookupError:
        raise LookupError(f"there is no {reference[0]}") from None
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
