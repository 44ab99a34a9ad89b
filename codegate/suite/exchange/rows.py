"""JSON Lines written by strangers: each row is read on its own, and one that is broken is named, not fatal."""

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
MAX_ROWS: Final = 20_000
_SHOWN: Final = 3

Result = TypeVar("Result")


@dataclass(frozen=True)
class Row:
    """One row: its fields, and the number of its line (in a JSON array: of its element), from 1."""

    number: int
    data: dict[str, Any] = field(repr=False)

    @property
    def place(self) -> str:
        """Return where the row is, for people."""
        return f"row {self.number}"


@dataclass(frozen=True)
class Skipped:
    """A row that could not be used, and why; 0 stands for a row that its reason names."""

    number: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.number}: {self.reason}" if self.number else self.reason


def read_rows(path: Path) -> tuple[tuple[Row, ...], tuple[Skipped, ...]]:
    """Read a file of JSON Lines, or one JSON array of objects.

    Returns:
        The rows that are JSON objects, and the lines that are not.

    Raises:
        UsageError: the file cannot be read, is over a cap (256 MiB, 20,000 rows), or is of another format.
    """
    data = read_bytes(path, MAX_FILE_BYTES).removeprefix(b"\xef\xbb\xbf")
    if data.startswith((b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")):
        raise UsageError(f"{path} is compressed.", "Unpack it first (for example `gunzip`).")
    if data.startswith(b"PAR1"):
        raise UsageError(f"{path} is a Parquet file.", "Convert it to JSON Lines first.")
    if data.lstrip()[:1] == b"[":
        return _array(data, path)
    rows: list[Row] = []
    skipped: list[Skipped] = []
    # Only a line feed ends a line of JSON Lines; strings may hold the other characters that end a line elsewhere.
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        _check_count(len(rows) + len(skipped), path)
        try:
            rows.append(Row(number, _object(line)))
        except UsageError as error:
            skipped.append(Skipped(number, error.cause))
    return tuple(rows), tuple(skipped)


def _array(data: bytes, path: Path) -> tuple[tuple[Row, ...], tuple[Skipped, ...]]:
    try:
        values = parse_json(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.") from error
    _check_count(len(values) - 1, path)
    found = list(enumerate(values, start=1))
    rows = tuple(Row(number, value) for number, value in found if isinstance(value, dict))
    return rows, tuple(
        Skipped(number, "it is no JSON object.") for number, value in found if not isinstance(value, dict)
    )


def _check_count(before: int, path: Path) -> None:
    if before >= MAX_ROWS:
        raise UsageError(f"{path} has more than {MAX_ROWS} rows.", "Import a part of it.")


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_ROW_BYTES:
        raise UsageError(f"it has {len(line)} bytes; {MAX_ROW_BYTES} are allowed.")
    try:
        value = parse_json(line.decode("utf-8"), "the row")
    except UnicodeDecodeError as error:
        raise UsageError("it is not UTF-8 text.") from error
    if not isinstance(value, dict):
        raise UsageError("it is no JSON object.")
    return value


def convert_each(
    rows: Iterable[Row], convert: Callable[[Row], tuple[str, Result]]
) -> tuple[list[Result], list[Skipped]]:
    """Convert each row; one that cannot be is skipped with its reason, and so is a second one of the same id.

    Args:
        rows: the rows.
        convert: returns the row's id and what became of it, or raises CodegateError.

    Raises:
        InfrastructureError: ours: no row's fault.
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
    """Write ``rows`` as JSON Lines, ASCII only: no character of theirs can end a line or be lost on the way.

    Raises:
        InfrastructureError: the disk refused.
    """
    write_atomic(path, b"".join(json.dumps(row, allow_nan=False).encode("ascii") + b"\n" for row in rows))
