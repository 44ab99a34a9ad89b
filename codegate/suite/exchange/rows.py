"""Untrusted rows in JSON Lines or JSON: each is checked on its own, and a broken one is named, not fatal."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from codegate.durable import write_atomic
from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.strict import parse_json, read_bytes

MAX_FILE_BYTES: Final = 256 << 20
MAX_ROW_BYTES: Final = 16 << 20
MAX_ROWS: Final = 100_000
_SHOWN: Final = 3

Result = TypeVar("Result")


@dataclass(frozen=True)
class Row:
    """One row: its fields, and the number of its line (in a JSON array: of its element), from 1."""

    number: int
    data: dict[str, Any] = field(repr=False)

    @property
    def place(self) -> str:
        """Return where the row is, for messages."""
        return f"row {self.number}"


@dataclass(frozen=True)
class Skipped:
    """A row that cannot be used, and why; its number is 0 where the reason names the row."""

    number: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.number}: {self.reason}" if self.number else self.reason


def read_rows(path: Path) -> tuple[tuple[Row, ...], tuple[Skipped, ...]]:
    """Return the JSON objects in a file of JSON Lines, one JSON array or one object, and what else it holds.

    Raises:
        UsageError: the file cannot be read, is over a cap (256 MiB, 100,000 rows), or is of another format.
    """
    data = read_bytes(path, MAX_FILE_BYTES).removeprefix(b"\xef\xbb\xbf")
    if data.startswith((b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")):
        raise UsageError(f"{path} is compressed.", "Unpack it first (for example `gunzip`).")
    if data.startswith(b"PAR1"):
        raise UsageError(f"{path} is a Parquet file.", "Convert it to JSON Lines first.")
    rows: list[Row] = []
    skipped: list[Skipped] = []
    for number, value in _values(data, path):
        if isinstance(value, dict):
            rows.append(Row(number, value))
        else:
            skipped.append(Skipped(number, value.cause if isinstance(value, UsageError) else "it is no JSON object."))
    return tuple(rows), tuple(skipped)


def _values(data: bytes, path: Path) -> list[tuple[int, object]]:
    """Return each value of a file with its number, and in the place of a broken line its error."""
    # Only a line feed ends a line of JSON Lines; strings may hold the other characters that end a line elsewhere.
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    is_array = data.lstrip().startswith(b"[")
    if is_array or (len(lines) > 1 and isinstance(_parsed(lines[0][1], "the row"), UsageError)):
        whole = _parsed(data, str(path))
        if isinstance(whole, list | dict):
            values = whole if isinstance(whole, list) else [whole]
            _check_count(values, path)
            return list(enumerate(values, start=1))
        if is_array and isinstance(whole, UsageError):
            raise whole
    _check_count(lines, path)
    limit = MAX_ROW_BYTES if len(lines) > 1 else MAX_FILE_BYTES
    return [(number, _parsed(line, "the row", limit)) for number, line in lines]


def _check_count(values: Sequence[object], path: Path) -> None:
    if len(values) > MAX_ROWS:
        raise UsageError(f"{path} has more than {MAX_ROWS} rows.", "Split it.")


def _parsed(data: bytes, place: str, limit: int = MAX_FILE_BYTES) -> object:
    """Return the JSON value in ``data``, or the error."""
    if len(data) > limit:
        return UsageError(f"it has {len(data)} bytes; {limit} are allowed.")
    try:
        return parse_json(data.decode("utf-8"), place)
    except UnicodeDecodeError:
        return UsageError(f"{place} is not UTF-8 text.")
    except UsageError as error:
        return error


def convert_each(
    rows: Iterable[Row], convert: Callable[[Row], tuple[str, Result]]
) -> tuple[list[Result], list[Skipped]]:
    """Convert each row; a row that cannot be converted, or has the id of an earlier one, is skipped with its reason.

    ``convert`` returns a row's id and its result, or raises CodegateError; an InfrastructureError ends the reading.
    """
    taken: dict[str, int] = {}
    results: list[Result] = []
    skipped: list[Skipped] = []
    for row in rows:
        try:
            name, result = convert(row)
        except InfrastructureError:
            raise
        except CodegateError as error:
            skipped.append(Skipped(row.number, error.cause[:500]))
            continue
        except RecursionError:
            skipped.append(Skipped(row.number, "it is nested too deeply."))
            continue
        if name in taken:
            skipped.append(Skipped(row.number, f"row {taken[name]} has the id {name!r} too."))
            continue
        taken[name] = row.number
        results.append(result)
    return results, skipped


def check_any(results: Sequence[object], skipped: Sequence[Skipped], path: Path) -> None:
    """Refuse a file of which no row could be used.

    Raises:
        UsageError: there is none; names the first rows and what is wrong with them.
    """
    if results:
        return
    if not skipped:
        raise UsageError(f"{path} holds no rows.")
    more = f"; and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    shown = "; ".join(str(entry).rstrip(".") for entry in skipped[:_SHOWN])
    raise UsageError(f"{path} has no row that can be used. {shown}{more}.", "Check its format.")


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write ``rows`` as JSON Lines in ASCII, so that no character in them can end a line or be lost."""
    write_atomic(path, b"".join(json.dumps(row, allow_nan=False).encode("ascii") + b"\n" for row in rows))
