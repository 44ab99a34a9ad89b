"""Read untrusted rows of JSON from a file or folders."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from codegate.durable import write_atomic
from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.strict import parse_json, read_bytes, read_text
from codegate.suite.folder import path_inside
from codegate.suite.reader import MAX_JSON_BYTES
from codegate.wording import join_first

MAX_FILE_BYTES: Final = 256 << 20
MAX_ROW_BYTES: Final = 16 << 20
MAX_ROWS: Final = 100_000
_ADAPTER_ROW: Final = "tests/config.json"
_SHOWN: Final = 3

Result = TypeVar("Result")


def read_rows(
    path: Path, convert: Callable[[dict[str, Any], str], tuple[str, Result]]
) -> tuple[list[Result], list[str]]:
    """Return the converted rows, and why others were skipped.

    Args:
        path: a file of JSON Lines, one JSON array or one object; or one of Harbor's task folders, or a folder of them.
            A task folder has to hold the row as ``tests/config.json``, which Harbor's adapter for SWE-bench writes.
        convert: function from a row and its place ("row 3") to the row's id and the result. It may raise CodegateError
            to skip the row; an InfrastructureError ends the reading.

    Raises:
        UsageError: ``path`` cannot be read, is over a limit (256 MiB, 100,000 rows), or is of another format.
    """
    taken: dict[str, str] = {}
    results: list[Result] = []
    skipped: list[str] = []
    for number, value in _tasks(path) if path.is_dir() else _values(path):
        place = f"row {number}"
        try:
            if isinstance(value, UsageError):
                raise value
            if not isinstance(value, dict):
                raise UsageError("it is no JSON object.")
            name, result = convert(value, place)
            if name in taken:
                raise UsageError(f"{taken[name]} has the id {name!r} too.")
        except InfrastructureError:
            raise
        except CodegateError as error:
            skipped.append(f"{place}: {error.cause[:500]}")
        except RecursionError:
            skipped.append(f"{place}: it is nested too deeply.")
        else:
            taken[name] = place
            results.append(result)
    return results, skipped


def check_any(results: Sequence[object], skipped: Sequence[str], path: Path) -> None:
    """Raise UsageError if ``results``, the file's usable rows, is empty.

    The message has the first reasons in ``skipped``.
    """
    if results:
        return
    if not skipped:
        raise UsageError(f"{path} holds no rows.")
    reasons = join_first((reason.rstrip(".") for reason in skipped), _SHOWN, "; ")
    raise UsageError(f"{path} has no row that can be used. {reasons}.", "Check its format.")


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write ``rows`` as JSON Lines, in ASCII."""
    write_atomic(path, b"".join(json.dumps(row, allow_nan=False).encode("ascii") + b"\n" for row in rows))


def _values(path: Path) -> list[tuple[int, object]]:
    """Return a file's JSON values with their positions from 1.

    A position is a line's number, or an element's in an array. A broken line has its error as the value.
    """
    data = read_bytes(path, MAX_FILE_BYTES).removeprefix(b"\xef\xbb\xbf")
    if data.startswith((b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")):
        raise UsageError(f"{path} is compressed.", "Unpack it first (for example `gunzip`).")
    if data.startswith(b"PAR1"):
        raise UsageError(f"{path} is a Parquet file.", "Convert it to JSON Lines first.")
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
    if len(data) > limit:
        return UsageError(f"it has {len(data)} bytes; {limit} are allowed.")
    try:
        return parse_json(data.decode("utf-8"), place)
    except UnicodeDecodeError:
        return UsageError(f"{place} is not UTF-8 text.")
    except UsageError as error:
        return error


def _tasks(folder: Path) -> Iterator[tuple[int, object]]:
    """Yield number and row of each task folder.

    ``folder`` is one task folder, or holds several. A missing or broken row is replaced by its error.
    """
    try:
        inner = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror or error}.") from error
    tasks = [folder] if _is_task(folder) else sorted(filter(_is_task, inner))
    if not tasks or len(tasks) > MAX_ROWS:
        raise UsageError(f"{folder} has no task folders, or more than {MAX_ROWS}.", "Give one, or a folder of them.")
    for number, task in enumerate(tasks, start=1):
        try:
            place = path_inside(task, _ADAPTER_ROW)
            if not place.exists():
                raise UsageError(f"it has no {_ADAPTER_ROW}; its scripts alone say what the fix and the tests are.")
            yield number, parse_json(read_text(place, MAX_JSON_BYTES), str(place))
        except UsageError as error:
            yield number, UsageError(f"{task.name}: {error.cause}")


def _is_task(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in ("task.toml", "task.yaml"))
