"""Change JSON documents by lists of operations."""

from typing import Any


class PatchError(ValueError):
    """An operation cannot be carried out."""


def apply(document: Any, patch: list[dict[str, Any]]) -> Any:
    """Return what ``patch`` makes of ``document``."""
    raise NotImplementedError
