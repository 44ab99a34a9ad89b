"""Every command: its exit code, the shape of its ``--json`` and the files that it writes.

What the shape of the demo's document is, ``slow/test_demo.py`` says: it keeps the document.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.golden.golden import QUICKSTART, check, codegate, pretty, shape, union, unpack
from tests.golden.runs import write_judgements, write_run

pytestmark = pytest.mark.timeout(1800)  # a hundred processes, on a machine that others may use

_BWRAP: Final = ("--sandbox", "bwrap")
_OLD, _NEW = "m-2025-06-01", "m-2025-12-01"
#: What names one thing of many in a path: a problem, a candidate, an environment.
_ID: Final = re.compile(r"quickstart-\w+|[0-9a-f]{16}|recorded-\w+")
_SECONDS: Final = re.compile(r"\.infrastructure_(median|p95)\.value$")


class Session:
    """Commands one after the other in one folder, and what each of them did."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._identity = home / ".gitconfig"
        self._identity.write_text("[user]\n\tname = Ada L.\n")
        self.commands: dict[str, dict[str, Any]] = {}
        self.shapes: dict[str, list[dict[str, str]]] = {}

    def run(self, *words: str, name: str = "", environment: Mapping[str, str] | None = None) -> Any:
        """Run a command with ``--json`` and return its document, or of several lines the list of them."""
        before = self._files()
        environment = {"GIT_CONFIG_GLOBAL": str(self._identity), **(environment or {})}
        done = codegate(*words, "--json", cwd=self.home, environment=environment)
        assert done.stdout, (words, done.stderr)
        document = done.document if done.stdout.startswith("{\n") else [*map(json.loads, done.stdout.splitlines())]
        first = document[0] if isinstance(document, list) else document
        found, schema = _steady(shape(document)), first["schema"]
        self.shapes.setdefault(schema, []).append(found)
        files = sorted({_ID.sub("*", path) for path in self._files() - before})
        name = name or " ".join(words)
        self.commands[name] = {"exit": done.code, "schema": schema, "shape": found, "writes": files}
        return document

    def _files(self) -> set[str]:
        found = (path for path in self.home.rglob("*") if path.is_file() and ".git" not in path.parts)
        return {str(path.relative_to(self.home)) for path in found}

    def check(self, name: str) -> None:
        """Compare what the commands did with a golden file.

        Of the shape, all commands that print a schema have one, and each says which paths of it are not there.
        """
        unions = {schema: union(shapes) for schema, shapes in sorted(self.shapes.items())}
        for command in self.commands.values():
            found, whole = command.pop("shape"), unions[command["schema"]]
            command["lacks"] = [path for path in whole if path not in found and _parent(path) in found]
        check(name, pretty({"commands": self.commands, "shapes": unions}))


def _steady(found: dict[str, str]) -> dict[str, str]:
    """Return a shape without what hangs on the machine: a grade of nothing takes no millisecond, or one."""
    return {path: "null|number" if kind == "number" and _SECONDS.search(path) else kind for path, kind in found.items()}


def _parent(path: str) -> str:
    return path.removesuffix("[]") if path.endswith("[]") else path.rpartition(".")[0]


@pytest.mark.full
@pytest.mark.bwrap
def test_commands_that_execute(tmp_path: Path) -> None:
    unpack(tmp_path / "repository")
    for path in (QUICKSTART / "transcripts").iterdir():
        shutil.copy(path, tmp_path)
    replay = [{"provider": "replay", "model": f"{name}.jsonl", "name": name} for name in ("good", "worse")]
    (tmp_path / "replay.yml").write_text(json.dumps({"suite": "suite", "sandbox": "bwrap", "candidates": replay}))
    gated = {"suite": "suite", "sandbox": "bwrap", "candidates": ["reference", "empty"], "gate": {"max_samples": 1}}
    (tmp_path / "gated.yml").write_text(json.dumps(gated))
    session = Session(tmp_path)
    both = ("--candidate", "reference", "--candidate", "empty")
    # Fresh: what an earlier mining on this machine remembers would leave out times.
    mine = ("mine", "repository", "--out", "suite", "--name", "quickstart", "--max-problems", "2", "--fresh")
    problems = session.run(*mine, "--rounds", "1", *_BWRAP)["problems"]
    session.run("mine", "report", "suite")
    session.run("mine", "choose", "suite", "--out", "small", "--size", "1")
    session.run("mine", "export", "suite", "--slug", "acme/tallybook", "--out", "rows.jsonl")
    rows = ("rows.jsonl", "--format", "swe-bench", "--repository", "repository")
    session.run("mine", "import", *rows, "--out", "imported", *_BWRAP)
    session.run("review", "suite", "--out", "review.html")
    session.run("review", "suite", "--drop", problems[0], name="review suite --drop")
    session.run("review", "suite", "--keep", problems[0], name="review suite --keep")
    session.run("validate", "small", "--rounds", "1", *_BWRAP)
    session.run("new", "problem", "by-hand", "--suite", "small")
    session.run("lint", "small")
    session.run("plan", "suite", *both)
    session.run("run", "suite", *both, "--out", "run", *_BWRAP)
    session.run("baseline", "pin", "run", "--candidate", "reference", "--min-samples", "1")
    session.run("gate", "run")
    session.run("run", "--config", "gated.yml", "--out", "gated")
    session.run("run", "--config", "replay.yml", "--no-gate", "--out", "replayed")
    session.run("run", "suite", "--resume", "run", "--no-gate", *_BWRAP)
    session.run("report", "run", "--format", "predictions", "--out", "answers")
    (tmp_path / "predictions.jsonl").write_text(
        "".join(
            json.dumps({"instance_id": problem, "model_name_or_path": "none", "model_patch": ""}) + "\n"
            for problem in problems
        )
    )
    session.run("run", "suite", "--predictions", "predictions.jsonl", "--no-gate", "--out", "predicted", *_BWRAP)
    session.run("grade", "suite", "--predictions", "predictions.jsonl", *_BWRAP)
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    session.run("run", "suite", *both, "--sandbox", "docker", name="run without Docker", environment=nowhere)
    shared = session.run("plan", "suite", *both, "--shards", "2", "--samples", "1", "--no-gate")["shards"]
    for part in shared["matrix"]["shard"]:
        shard = ("--shard", part, "--run-id", shared["run_id"], "--out", f"shards/{part[0]}")
        words = ("run", "suite", *both, "--samples", "1", "--no-gate", *shard, *_BWRAP)
        session.run(*words, name=f"run --shard {part}")
    session.run("merge", "shards", "--out", "merged")
    session.check("commands_executing.json")


@pytest.mark.sandbox
def test_commands_that_read(tmp_path: Path) -> None:
    results = {f"p-{index:02}": [index % 5 < 2 or (index + j) % 3 > 0 for j in range(5)] for index in range(20)}
    write_run(tmp_path / "pinned", results)
    write_run(tmp_path / "again", {problem: each[:2] for problem, each in results.items()})
    write_run(tmp_path / "newer", results, _NEW)
    write_run(tmp_path / "worse", {problem: [False] * 5 for problem in results}, _NEW)
    session = Session(tmp_path)
    session.run("baseline", "pin", "pinned")
    session.run("baseline", "show")
    for run in ("newer", "worse"):
        session.run("gate", run)
    write_judgements(tmp_path / "worse", ["p-00", "p-01"], _NEW)
    session.run("judge", "worse")
    session.run("report", "newer", "worse", "--out", "reports")
    session.run("history", "append", "pinned", "again", "newer")
    session.run("history", "show", "--baseline", "codegate.lock")
    session.run("history", "watch")
    session.run("baseline", "refresh", "again")
    session.run("baseline", "reset", "newer", "--from", _OLD, "--reason", "cheaper")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    session.run("init", "--workflows")
    # Which sandboxes this machine has is not frozen: the doctor sees git and nothing else.
    git = shutil.which("git")
    assert git is not None
    (tmp_path / ".git" / "bin").mkdir()
    (tmp_path / ".git" / "bin" / "git").symlink_to(git)
    bare = {"PATH": str(tmp_path / ".git" / "bin"), "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    session.run("doctor", environment=bare)
    session.check("commands_reading.json")
