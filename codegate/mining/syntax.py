"""Reading Python source without running it and without a word on the console."""

import ast
import io
import re
import threading
import tokenize
import warnings
from typing import Final

IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")

_lock = threading.Lock()  # warnings.catch_warnings changes the whole process


def parse(source: bytes) -> ast.Module | None:
    """Return the syntax tree of ``source``, or None when it is no Python of this interpreter's."""
    try:
        with _lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def same_syntax(old: bytes, new: bytes) -> bool:
    """Return whether two sources differ in layout and comments only."""
    before, after = parse(old), parse(new)
    if before is None or after is None:
        return False
    try:
        return ast.dump(before) == ast.dump(after)
    except (RecursionError, MemoryError):
        return False


def decode(source: bytes) -> str:
    """Return ``source`` as text in its declared encoding, undecodable bytes replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding, "replace")
    except (SyntaxError, LookupError, ValueError):  # no such encoding, one that is none of text, or a strict one
        return source.decode("utf-8", "replace")
