"""A small problem whose patches are attacks on the sandbox, and how they are handed in."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegate.suite import Base, ProblemLimits, Tree, TreeFile, make_patch, write_suite
from tests.kit.problem import changes, locked, problem
from tests.kit.repository import make_repository
from tests.redteam.grader.projects import LOCK
from tests.redteam.sandbox import prelude
from tests.redteam.sandbox.prelude import Seen

SOURCE: Final = "cell/work.py"
_BUG: Final = "def work():\n    return 0\n"
_FIX: Final = "def work():\n    return 42\n"
_TEST: Final = "from cell.work import work\n\n\ndef test_work():\n    assert work() == 42\n"
_BASE: Final = Tree({"cell/__init__.py": TreeFile(b""), SOURCE: TreeFile(_BUG.encode())})
_END: Final = """

def work():
    seen = Seen()
    {name}(seen)
    raise AssertionError(seen.text)
"""
LIMITS: Final = ProblemLimits(
    seconds=8, memory_mb=prelude.MEMORY >> 20, pids=prelude.PIDS, disk_mb=prelude.DISK >> 20, output_kb=64
)

Attack = Callable[[Seen], None]


@dataclass(frozen=True)
class Bait:
    """What attacks look for, and what is looked for after them.

    Attributes:
        mark: in the name of whatever an attack leaves behind; a number, so that ``sleep`` takes it.
        secret: a key in the environment of the harness.
        port: where a server of this machine listens on every address.
    """

    mark: str
    secret: str
    port: int


def make_suite(folder: Path) -> Path:
    """Write the suite of the one problem into ``folder``, and the repository that it is of; return its place."""
    commit = make_repository(folder / "repository", {path: file.data for path, file in _BASE.items()})
    environment = locked(LOCK, "tests")
    cell = problem(
        "cell",
        environment.manifest,
        base=Base(commit=commit),
        hidden=changes({"tests/test_work.py": _TEST}),
        fix=changes({SOURCE: _FIX}),
        wanted=["tests/test_work.py::test_work"],
        statement="work() returns a wrong number.\n",
        limits=LIMITS,
    )
    place = folder / "suite"
    write_suite(place, name="cell", repository="../repository", environments=[environment], problems=[cell])
    return place


def patch_of(attack: Attack, bait: Bait) -> str:
    """Return the patch that carries out ``attack`` where the answer should be."""
    text = inspect.getsource(prelude) + "\n\n" + inspect.getsource(attack)
    for name, value in (("@MARK@", bait.mark), ("@SECRET@", bait.secret[::-1]), ("@PORT@", str(bait.port))):
        text = text.replace(name, value)
    text += _END.format(name=attack.__name__)
    return make_patch(_BASE, {SOURCE: TreeFile(text.encode())})


def start(
    suite: Path, patches: Mapping[str, str], sandbox: str, bait: Bait, *, jobs: int = 2
) -> "subprocess.Popen[bytes]":
    """Hand the patches in, by name, in one run of ``codegate grade``."""
    predictions = suite.parent / f"predictions-{sandbox}.jsonl"
    rows = [{"instance_id": "cell", "model_name_or_path": name, "model_patch": text} for name, text in patches.items()]
    predictions.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = [
        sys.executable, "-m", "codegate", "grade", str(suite), "--predictions", str(predictions), "--json",
        "--sandbox", sandbox, "--jobs", str(jobs), "--repository", str(suite.parent / "repository"),
    ]  # fmt: skip

    with (suite.parent / "errors").open("wb") as errors:
        return subprocess.Popen(
            command, cwd=Path(__file__).resolve().parents[3], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=errors, env={**os.environ, "OPENAI_API_KEY": bait.secret},
        )  # fmt: skip


def report_of(grade: Mapping[str, Any]) -> dict[str, list[str]] | None:
    """Return what an attack told about itself, or None when it did not come to that."""
    for test in grade["tests"]:
        _, found, text = str(test["message"]).partition("SEEN{")
        if found:
            told, _ = json.JSONDecoder().raw_decode("{" + text)
            return {"gave way": list(told["gave way"]), "noted": list(told["noted"])}
    return None
