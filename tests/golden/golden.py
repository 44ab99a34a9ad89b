"""What the golden tests share: the command line, the files, and the shape of a document."""

import difflib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kit.command import FORKER, ROOT, Done

QUICKSTART: Final = ROOT / "suites" / "quickstart"

_DATA: Final = Path(__file__).parent / "data"
_UPDATE: Final = os.environ.get("CODEGATE_GOLDEN") == "update"
_DIFF_LINES: Final = 60
_FIELD: Final = re.compile(r"(?![0-9a-f]{16}$)[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TYPES: Final = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}
# Keys, and what makes a run behave as in CI, are not the tests' business.
_HIDDEN: Final = re.compile(r"(CODEGATE|GITHUB|OPENAI|ANTHROPIC|INPUT)_|CI$")


def codegate(*words: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> Done:
    """Run the command with ``words``."""
    kept = {name: value for name, value in os.environ.items() if not _HIDDEN.match(name)}
    return FORKER.run(*words, cwd=cwd, environment={**kept, **(environment or {})})


def unpack(folder: Path) -> Path:
    """Write the quickstart's history to a git repository in ``folder``."""
    folder.mkdir()
    for words in (("init", "--quiet", "--initial-branch=main", "."), ("fast-import", "--quiet"), ("reset", "--hard")):
        stdin = (QUICKSTART / "history.fast-export").read_bytes() if words[0] == "fast-import" else b""
        subprocess.run(["git", *words], cwd=folder, input=stdin, capture_output=True, check=True)
    return folder


def check(name: str, text: str) -> None:
    """Compare ``text`` with the golden file ``name``; with ``CODEGATE_GOLDEN=update``, write it."""
    path = _DATA / name
    if _UPDATE:
        path.write_text(text)
        return
    known = path.read_text() if path.exists() else ""
    if text != known:
        changes = list(difflib.unified_diff(known.splitlines(), text.splitlines(), name, "now", n=1, lineterm=""))
        more = f"\n... and {len(changes) - _DIFF_LINES} lines more" if len(changes) > _DIFF_LINES else ""
        shown = "\n".join(changes[:_DIFF_LINES])
        pytest.fail(f"{name} is not what it was. Is it meant? `make golden-update`.\n{shown}{more}", pytrace=False)


def pretty(document: Any) -> str:
    """Return ``document`` as JSON, in the order that it has."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def lines(entries: Mapping[str, Any]) -> str:
    """Return ``entries`` as one JSON object with one entry a line, in the order that they have."""
    rows = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def shape(document: Any) -> dict[str, str]:
    """Return the paths in ``document`` and the types found there; ``*`` is a key that is an id, not a field."""
    return union({path: kind} for path, kind in _paths(document, "$"))


def union(shapes: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the paths of all ``shapes``, each with all of its types."""
    found: dict[str, set[str]] = {}
    for one in shapes:
        for path, kinds in one.items():
            found.setdefault(path, set()).update(kinds.split("|"))
    return {path: "|".join(sorted(kinds)) for path, kinds in sorted(found.items())}


def _paths(value: Any, path: str) -> Iterator[tuple[str, str]]:
    inner: Iterable[tuple[str, Any]]
    match value:
        case dict():
            kind = "object"
            inner = [(f"{path}.{key if _FIELD.fullmatch(key) else '*'}", each) for key, each in value.items()]
        case list():
            kind, inner = "array", [(f"{path}[]", each) for each in value]
        case _:
            kind, inner = _TYPES[type(value)], ()
    yield path, kind
    for where, each in inner:
        yield from _paths(each, where)
