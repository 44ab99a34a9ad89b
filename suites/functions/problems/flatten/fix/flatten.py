"""Nested data on one level."""

from collections.abc import Mapping


def flatten(data: Mapping[str, object]) -> dict[str, object]:
    """Return nested data as one level of dotted keys."""
    found: dict[str, object] = {}
    for key, value in data.items():
        name = key.replace("\\", "\\\\").replace(".", "\\.")
        inner = {str(place): each for place, each in enumerate(value)} if isinstance(value, list) else value
        if isinstance(inner, dict) and inner:
            found |= {f"{name}.{rest}": each for rest, each in flatten(inner).items()}
        else:
            found[name] = value
    return found
