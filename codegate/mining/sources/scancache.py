"""Files that spare a scan work that was done before. Losing one costs time and nothing else.

A file says what it is and the digest of the rest, so that one that was cut off or damaged is as good as none. What is
in it is for the reader to check: anybody who may write to the folder may have written it.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from codegate.durable import canonical_json, sha256, write_atomic
from codegate.errors import InfrastructureError

_CACHE_BYTES: Final = 256 << 20
_HEAD_BYTES: Final = 200


def read_cache(file: Path, schema: str) -> dict[str, Any]:
    """Return the content of a cache file; nothing when it is absent, damaged or of another schema."""
    try:
        with file.open("rb") as stream:
            head = stream.readline(_HEAD_BYTES)
            if not head.startswith(f"{schema} ".encode("ascii")):
                return {}
            data = stream.read(_CACHE_BYTES)
        content = json.loads(data) if head == _head(schema, data) else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_cache(file: Path, schema: str, content: dict[str, Any]) -> None:
    """Replace a cache file. A disk that refuses, or a content too large to keep, costs time the next time."""
    data = canonical_json(content)
    if len(data) <= _CACHE_BYTES:
        with suppress(InfrastructureError):
            write_atomic(file, _head(schema, data) + data)


def _head(schema: str, data: bytes) -> bytes:
    return f"{schema} {sha256(data)}\n".encode("ascii")
