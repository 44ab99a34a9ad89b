"""Read untrusted files (bytes, JSON, XML), and write JSON.

A file's kind and size are checked before it is read, and the shape of a document before it is parsed, because a small
file can demand very much memory or a deep recursion.
"""

import json
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, NoReturn
from xml.parsers import expat

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from codegate.errors import UsageError


class Strict(BaseModel):
    """A frozen pydantic model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lenient(BaseModel):
    """A frozen pydantic model that ignores unknown keys.

    Use it for data of other programs, which can get new keys.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)


Folder = Annotated[Path, WithJsonSchema({"type": "string", "format": "directory-path"})]
File = Annotated[Path, WithJsonSchema({"type": "string", "format": "file-path"})]

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 2_000_000
"""Most values that a JSON document may hold. Two million of the smallest take about 150 MB of memory."""
MAX_DIGITS: Final = 20
"""Most digits of a whole number in JSON, enough for 64 bits. Python can parse longer ones, but not print the longest.
"""
LARGEST: Final = 1e100
"""Largest absolute value of a number in JSON. The sum of larger ones could become infinite."""

# Matches all text but brackets, braces and commas. Possessive quantifiers keep an unclosed quote from backtracking.
_CONTENT: Final = re.compile(r'(?:"(?:[^"\\]++|\\.)*+"?+|[^\[\]{},"])++', re.DOTALL)


@contextmanager
def open_regular(path: Path, limit: int) -> Iterator[BinaryIO]:
    """Yield a regular file, open for reading.

    Raises:
        UsageError: the file is missing, a link, no regular file, or over ``limit`` bytes.
    """
    try:
        # O_NONBLOCK does not wait for the other end of a pipe; O_NOFOLLOW refuses a link.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise UsageError(f"{path} is not a regular file.")
            if about.st_size > limit:
                raise UsageError(f"{path} is larger than {limit} bytes.")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                yield file
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist.", "Check its name.") from error
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114  it does not raise
            raise UsageError(f"{path} is a symbolic link.", "Put the file itself there.") from error
        raise UsageError(f"cannot read {path}: {error.strerror or error}.") from error
    except ValueError as error:  # the name holds a NUL
        raise UsageError(f"{str(path)!r} is no name of a file.") from error


def read_bytes(path: Path, limit: int) -> bytes:
    """Return a regular file's bytes; raises what ``open_regular`` does."""
    with open_regular(path, limit) as file:
        data = file.read(limit + 1)
    if len(data) > limit:  # the file grew, or the system does not know its size, as in /proc
        raise UsageError(f"{path} is larger than {limit} bytes.")
    return data


def read_lines(path: Path, limit: int, longest: int) -> Iterator[bytes]:
    """Yield a regular file's lines with their ends.

    Only one line is in memory. Raises the errors of ``open_regular``, and UsageError for a line of more than
    ``longest`` bytes.
    """
    with open_regular(path, limit) as file:
        number = 0
        while line := file.readline(longest + 1):
            number += 1
            if len(line) > longest:
                raise UsageError(f"{path}, line {number} is longer than {longest} bytes.")
            yield line


def read_text(path: Path, limit: int) -> str:
    """Return the UTF-8 text of a regular file.

    Raises the errors of ``open_regular``, and UsageError for text that is not UTF-8.
    """
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.") from error


def check_shape(text: str) -> None:
    """Raise ValueError for JSON with too many levels or values."""
    structure = _CONTENT.sub("", text)
    brackets = structure.replace(",", "")
    if len(structure) > MAX_VALUES:
        raise ValueError(f"it holds more than {MAX_VALUES} values")
    # Each round removes at least one level of brackets, and two levels if both kinds alternate.
    left = brackets
    for _ in range(MAX_DEPTH // 2):
        if not left:
            return
        left = left.replace("[]", "").replace("{}", "")
    depth = 0
    for sign in brackets:
        depth += 1 if sign in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")


def parse_json(text: str, place: str) -> Any:
    """Parse JSON; refuse duplicate keys and extreme numbers.

    ``place`` names the file in messages.

    Raises:
        UsageError: ``text`` is no JSON, or has duplicate keys, NaN, an infinity or too large a number.
    """
    try:
        check_shape(text)
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is not usable JSON: {error_line(error)}.") from error


def log_json(document: Any, indent: int | None = None) -> str:
    """Return ``document`` as ASCII JSON, safe in GitHub's job log.

    The runner would execute text such as ``##[group]`` as a command.
    """
    text = json.dumps(document, indent=indent, ensure_ascii=True, allow_nan=False)
    return text.replace("##[", "#\\u0023[")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:80]!r} is given twice")
            seen.add(key)
    return mapping


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number) or abs(number) > LARGEST:
        raise ValueError(f"{digits[:80]} is not finite, or as good as")
    return number


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number is too long")
    return int(digits)


def fits_pattern(text: str, pieces: Sequence[str]) -> bool:
    """Return whether ``text`` is ``pieces`` with any text in between."""
    # Not a regular expression: one made from a megabyte of `*a` takes half a minute to compile.
    first, *others = pieces
    if not others:
        return text == first
    at = len(first) if text.startswith(first) else len(text) + 1
    for piece in others[:-1]:
        found = text.find(piece, at)
        at = found + len(piece) if found >= 0 else len(text) + 1
    return len(text) - at >= len(others[-1]) and text.endswith(others[-1])


def printable(part: object, most: int = 200) -> str:
    """Return untrusted text, cut to ``most`` characters and escaped."""
    text = str(part)[:most]
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def error_line(error: Exception, most: int = 200) -> str:
    """Return an error's message in one line, without full stop.

    The line has at most ``most`` characters, not counting escapes.
    """
    text = " ".join(str(error).split()).replace(' in "<unicode string>",', " at")
    return printable(text, most).removesuffix(".")


@dataclass
class XmlElement:
    """An element of an XML document.

    ``name`` has no namespace; ``text`` leaves out the text of child elements.
    """

    name: str
    attributes: dict[str, str]
    text: str = ""
    children: list["XmlElement"] = field(default_factory=list)

    def below(self) -> Iterator["XmlElement"]:
        """Yield the element and all below it, in document order."""
        stack = [self]
        while stack:
            yield (element := stack.pop())
            stack += reversed(element.children)


def parse_xml(data: bytes) -> XmlElement:
    """Parse an XML document; return its root.

    Raises:
        ValueError: ``data`` is no XML, is nested too deep, or has a document type (which could define entities).
    """
    root = XmlElement("", {})
    stack = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) > MAX_DEPTH:
            raise ValueError("nested too deep")
        element = XmlElement(name.rpartition(":")[2], attributes)
        stack[-1].children.append(element)
        stack.append(element)

    def end(_name: str) -> None:
        stack.pop()

    def add(text: str) -> None:
        stack[-1].text += text

    def refuse(*_: object) -> None:
        raise ValueError("a document type is not accepted")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = add, refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error
    return root.children[0]
