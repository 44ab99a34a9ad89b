"""Reading task folders of Harbor's (and of Terminal-Bench's first format), as far as they map to a problem.

A folder that codegate wrote has the problem as a row in ``codegate.json``; one that an adapter made of SWE-bench has
the instance as a row in ``tests/config.json``. Of any other folder there are the words, the tests and the solution,
but no base tree, no fix as files and no test ids: a shell script says them, and codegate runs none to find out.
"""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegate.errors import UsageError
from codegate.strict import parse_json, read_text
from codegate.suite.exchange.harbor import ROW
from codegate.suite.exchange.lossless import of_codegate
from codegate.suite.exchange.rows import MAX_ROWS, Row, Skipped
from codegate.suite.folder import inside, read_folder
from codegate.suite.reader import MAX_JSON_BYTES, MAX_YAML_BYTES, parse_yaml
from codegate.suite.tree import Tree, TreeFile

_ADAPTER_ROW: Final = "tests/config.json"
_NEEDED: Final = frozenset({"instance_id", "base_commit", "patch", "test_patch"})
_PARTS: Final = {"environment": "the image that the agent works in", "solution": "the fix", "tests": "the tests"}


@dataclass(frozen=True)
class HarborTask:
    """A task folder, read.

    Attributes:
        name: the folder's name.
        instruction: what the agent is told.
        configuration: ``task.toml`` (of the first format: ``task.yaml``) as plain data.
        environment: the files below ``environment/``.
        tests: the files below ``tests/``.
        solution: the files below ``solution/``.
        row: the problem as a row of SWE-bench's, where the folder has one.
        unmapped: what of the folder is not in ``row``, one line each.
    """

    name: str
    instruction: str
    configuration: dict[str, Any]
    environment: Tree
    tests: Tree
    solution: Tree
    row: dict[str, Any] | None
    unmapped: tuple[str, ...]


def read_task(folder: Path) -> HarborTask:
    """Read one task folder; nothing in it is run.

    Raises:
        UsageError: it is none, or holds what cannot be read safely.
    """
    if os.path.lexists(folder / "task.toml"):
        configuration = _toml(folder / "task.toml")
        instruction = read_text(inside(folder, "instruction.md"), MAX_YAML_BYTES)
    elif os.path.lexists(folder / "task.yaml"):
        loaded = parse_yaml(read_text(folder / "task.yaml", MAX_YAML_BYTES), str(folder / "task.yaml"))
        configuration = loaded if isinstance(loaded, dict) else {}
        instruction = str(configuration.get("instruction") or "")
    else:
        raise UsageError(f"{folder} is no task folder: it has neither task.toml nor task.yaml.")
    row = _row(folder, instruction)
    return HarborTask(
        name=folder.name,
        instruction=instruction,
        configuration=configuration,
        environment=_tree(folder, "environment"),
        tests=_tree(folder, "tests"),
        solution=_tree(folder, "solution"),
        row=row,
        unmapped=() if row is not None and of_codegate(row) else _unmapped(folder, row),
    )


def read_tasks(folder: Path) -> tuple[tuple[Row, ...], tuple[Skipped, ...]]:
    """Return the rows of a task folder, or of each task folder in ``folder``, in the order of their names.

    Returns:
        The rows, numbered by folder, and the folders that have none.

    Raises:
        UsageError: there is no task folder.
    """
    tasks = [folder] if _is_task(folder) else sorted(path for path in _entries(folder) if _is_task(path))
    if not tasks or len(tasks) > MAX_ROWS:
        raise UsageError(f"{folder} has no task folders, or more than {MAX_ROWS}.", "Give one, or a folder of them.")
    rows, skipped = [], []
    for number, place in enumerate(tasks, start=1):
        try:
            task = read_task(place)
        except UsageError as error:
            skipped.append(Skipped(number, f"{place.name}: {error.cause}"))
            continue
        if task.row is None:
            skipped.append(Skipped(number, f"{place.name}: {'; '.join(task.unmapped)}"))
        else:
            rows.append(Row(number, task.row))
    return tuple(rows), tuple(skipped)


def _entries(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror or error}.") from error


def _is_task(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in ("task.toml", "task.yaml"))


def _row(folder: Path, instruction: str) -> dict[str, Any] | None:
    for name in (ROW, _ADAPTER_ROW):
        if not os.path.lexists(folder / name):
            continue
        place = inside(folder, name)
        value = parse_json(read_text(place, MAX_JSON_BYTES), str(place))
        if not isinstance(value, dict) or not value.keys() >= _NEEDED:
            continue
        if name == ROW and value.get("problem_statement") != instruction:
            raise UsageError(f"{folder / 'instruction.md'} is not what {ROW} says.", f"Remove {ROW} or restore it.")
        return {**value, "problem_statement": value.get("problem_statement") or instruction}
    return None


def _unmapped(folder: Path, row: dict[str, Any] | None) -> tuple[str, ...]:
    if row is None:
        there = [f"{name}/ ({what})" for name, what in _PARTS.items() if os.path.lexists(folder / name)]
        scripts = f"{', '.join(there)} cannot be mapped: scripts say what they do, and are not run"
        return (f"there is no row in {ROW} or {_ADAPTER_ROW}; {scripts}",)
    return ("environment/: an environment is resolved from what the base tree declares", "task.toml: its limits")


def _tree(folder: Path, name: str) -> Tree:
    root = inside(folder, name)
    if not root.is_dir():
        return Tree()
    return Tree({path: TreeFile(data) for path, data in read_folder(root).items()})


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, MAX_YAML_BYTES))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UsageError(f"{path} is not usable TOML: {' '.join(str(error).split())[:200]}.") from error
