import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from datetime import date
from pathlib import Path

import pytest

from codegate.environments import Recipe, environment_of
from codegate.errors import UsageError
from codegate.suite import Base, Suite, TestSets, TreeFile, write_suite
from codegate.suite.exchange import export_suite, read_rows
from tests.kit.repository import make_repository

from . import builders

BASE = {
    "src/add.py": b"def add(a, b):\n    return a - b\n",
    "src/gone.py": b"x = 1\n",
    "old/file.py": b"x = 1\n",
    "tests/test_old.py": b"def test_old():\n    assert False\n",
    "tests/data/x": b"a file that becomes a folder",
}
TEST = b"""\
import os
import pytest
from add import add


def test_add():
    assert add(2, 2) == 4
    assert os.environ["ADDED"] == "a b"
    assert pytest.__version__ == "8.3.4"


@pytest.mark.parametrize("x", ["a b"])
def test_same(x):
    assert add(0, 0) == 0


def test_elsewhere():
    assert False


@pytest.mark.xfail
def test_known():
    assert False
"""
HIDDEN = {
    "tests/test_add.py": TreeFile(TEST),
    'tests/näme "quoted".bin': TreeFile(bytes(range(256)), "100755"),
    "tests/data/x": None,
    "tests/data/x/y": TreeFile(b"now a folder"),
    "tests/test_old.py": None,
}
FIX = {
    "src/add.py": TreeFile(b"def add(a, b):\n    return a + b\n"),
    "src/gone.py": None,
    "old/file.py": None,
    "old": TreeFile(b"now a file", "100755"),
}
TESTS = TestSets(FAIL_TO_PASS=("tests/test_add.py::test_add",), PASS_TO_PASS=("tests/test_add.py::test_same[a b]",))


def _suite(folder: Path, recipe: Recipe, commit: str) -> Suite:
    environment = environment_of("e-1", recipe, "# uv pip freeze\npytest==8.3.4\n", day=date(2026, 11, 1))
    problem = builders.problem(
        "p-1", base=Base(commit=commit), hidden=HIDDEN, fix=FIX, tests=TESTS, environment=environment.manifest
    )
    return write_suite(folder, name="s", repository=None, problems=[problem], environments=[environment])


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Suite, Path, Path]:
    """A suite, its repository, and its one task folder."""
    home = tmp_path_factory.mktemp("harbor")
    commit = make_repository(home / "shop", BASE)
    suite = _suite(home / "suite", Recipe(setup=("uv pip install pytest",), env={"ADDED": "a b"}), commit)
    report = export_suite(suite, home / "tasks", "harbor", home / "shop", slug="acme/shop")
    assert (report.ids, report.left_out) == ({"p-1": "p-1"}, {})
    return suite, home / "shop", home / "tasks" / "p-1"


def test_a_task_folder_is_harbors(exported: tuple[Suite, Path, Path]) -> None:
    suite, _, task = exported
    config = tomllib.loads((task / "task.toml").read_text())
    assert (config["schema_version"], config["task"]["name"]) == ("1.4", "acme/p-1")
    assert config["task"]["description"] == suite.problems[0].manifest.provenance.title
    assert config["verifier"]["timeout_sec"] > suite.problems[0].manifest.limits.seconds
    assert (task / "instruction.md").read_text() == suite.problems[0].statement
    dockerfile = (task / "environment/Dockerfile").read_text().splitlines()
    assert dockerfile[0] == "FROM python:3.11-slim-bookworm"
    assert (task / "environment/constraints.txt").read_text() == "pytest==8.3.4\n"
    assert all(os.access(task / name, os.X_OK) for name in ("tests/test.sh", "solution/solve.sh"))
    with tarfile.open(task / "environment/base.tar") as archive:
        assert sorted(archive.getnames()) == sorted(BASE)
    shown = b"".join((task / name).read_bytes() for name in ("instruction.md", "environment/Dockerfile"))
    assert b"test_add" not in shown


def _workspace(exported: tuple[Suite, Path, Path], folder: Path) -> Path:
    """Make the task's container: its base tree, with the task's own scripts pointed at it."""
    workspace = folder / "workspace"
    with tarfile.open(exported[2] / "environment/base.tar") as archive:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(workspace)
    return workspace


def _solve(task: Path, workspace: Path) -> None:
    text = (task / "solution/solve.sh").read_text()
    text = text.replace("/workspace", str(workspace)).replace("/solution", str(task / "solution"))
    subprocess.run(["bash", "-c", text], check=True)


def _set_up(task: Path, venv: Path) -> Path:
    """Run the task's set-up in a virtual environment of its own, and return its interpreter."""
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", str(venv)], check=True)
    text = (task / "environment/set-up.sh").read_text()
    text = text.replace("/opt/codegate", str(task / "environment"))
    there = {
        "VIRTUAL_ENV": str(venv),
        "PATH": os.pathsep.join([str(venv / "bin"), str(Path(uv).parent), os.environ["PATH"]]),
    }
    subprocess.run(["bash", "-c", text], env={**os.environ, **there}, check=True)
    return venv / "bin/python"


def _verify(task: Path, workspace: Path) -> tuple[str, dict[str, bool]]:
    tests, logs = workspace.parent / "tests", workspace.parent / "logs"
    tests.mkdir()
    for name in ("codegate_verify.py", "hidden.tar", "expected.json"):
        (tests / name).write_bytes((task / "tests" / name).read_bytes())
    expected = json.loads((tests / "expected.json").read_text())
    (tests / "expected.json").write_text(json.dumps({**expected, "workspace": str(workspace)}))
    environment = {"PATH": os.environ["PATH"], "CODEGATE_LOGS": str(logs)}
    command = [str(_set_up(task, workspace.parent / "venv")), "-I", "-S", str(tests / "codegate_verify.py")]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return (logs / "reward.txt").read_text(), json.loads((logs / "tests.json").read_text())


@pytest.mark.full
@pytest.mark.requirement("D12")
def test_the_solution_is_rewarded_and_no_change_is_not(exported: tuple[Suite, Path, Path], tmp_path: Path) -> None:
    nothing = _workspace(exported, tmp_path / "a")
    assert _verify(exported[2], nothing) == (
        "0\n", {"tests/test_add.py::test_add": False, "tests/test_add.py::test_same[a b]": True},
    )  # fmt: skip
    solved = _workspace(exported, tmp_path / "b")
    _solve(exported[2], solved)
    assert (solved / "old").read_bytes() == b"now a file"
    assert os.access(solved / "old", os.X_OK)
    assert not (solved / "src/gone.py").exists()
    reward, tests = _verify(exported[2], solved)
    assert (reward, set(tests.values())) == ("1\n", {True})
    assert (solved / "tests/data/x/y").read_bytes() == b"now a folder"
    assert not (solved / "tests/test_old.py").exists()


def test_a_link_in_the_workspace_leads_the_hidden_tests_nowhere(
    exported: tuple[Suite, Path, Path], tmp_path: Path
) -> None:
    workspace = _workspace(exported, tmp_path / "a")
    outside = tmp_path / "outside"
    (workspace / "tests").rename(outside)
    (workspace / "tests").symlink_to(outside)
    (workspace / "src/add.py").write_text("import os\nos.environ['CODEGATE_REPORT']\n")
    reward, tests = _verify(exported[2], workspace)
    assert (reward, set(tests.values())) == ("0\n", {False})
    assert sorted(path.name for path in outside.iterdir()) == ["data", "test_old.py"]


def test_what_cannot_be_a_task_folder_is_named(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "shop", BASE)
    go = builders.problem("go-1", base=Base(commit=commit), language="go", runner="go")
    recorded = environment_of("e-1", Recipe(), "", day=date(2026, 11, 1))
    good = builders.problem("good-3", base=Base(commit=commit), environment=recorded.manifest)
    service = builders.problem("service-4", base=Base(commit=commit), service={})
    asked, right = TestSets(FAIL_TO_PASS=("answer::prose",)), {"answer.md": TreeFile(b"Yes.")}
    question = builders.problem(
        "question-5", base=Base(commit=commit), tests=asked, hidden={}, fix=right, answer="prose", test_files=()
    )
    suite = write_suite(
        tmp_path / "suite", name="demo", repository=None, problems=[go, good, service, question],
        environments=[recorded, builders.ENVIRONMENT],
    )  # fmt: skip
    report = export_suite(suite, tmp_path / "tasks", "harbor", tmp_path / "shop")
    assert (list(report.ids), list(report.left_out)) == (["good-3"], ["go-1", "service-4", "question-5"])
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["good-3"]
    assert tomllib.loads((tmp_path / "tasks/good-3/task.toml").read_text())["task"]["name"] == "local/good-3"
    with pytest.raises(UsageError, match="exists already"):
        export_suite(suite, tmp_path / "tasks", "harbor", tmp_path / "shop")
    (tmp_path / "link").symlink_to(tmp_path / "not here")
    with pytest.raises(UsageError, match="exists already"):
        export_suite(suite, tmp_path / "link", "harbor", tmp_path / "shop")
    with pytest.raises(UsageError, match=r"no problem .* go-1"):
        export_suite(builders.suite(tmp_path / "b", go), tmp_path / "none", "harbor", tmp_path / "shop")
    with pytest.raises(UsageError, match="owner/name"):
        export_suite(suite, tmp_path / "none", "harbor", tmp_path / "shop", slug="no/t/one")


def test_a_recipe_says_what_the_task_is_built_on(tmp_path: Path) -> None:
    commit, image = make_repository(tmp_path / "shop", BASE), "registry.example.com/base@sha256:" + "1" * 64
    suite = _suite(tmp_path / "suite", Recipe(image=image, packages=("libpq-dev",)), commit)
    export_suite(suite, tmp_path / "tasks", "harbor", tmp_path / "shop")
    dockerfile = (tmp_path / "tasks/p-1/environment/Dockerfile").read_text()
    assert dockerfile.startswith(f"FROM {image}\n")
    assert "--no-install-recommends libpq-dev &&" in dockerfile
    suite = _suite(tmp_path / "served", Recipe(services=("redis",)), commit)
    with pytest.raises(UsageError, match="has services, which task folders lack"):
        export_suite(suite, tmp_path / "none", "harbor", tmp_path / "shop")


def _folder(place: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.requirement("D12")
def test_a_task_folder_from_elsewhere_is_read_as_its_adapters_row(tmp_path: Path) -> None:
    row = {"instance_id": "a__b-1", "problem_statement": "It breaks."}

    def read(folder: Path) -> tuple[list[object], list[str]]:
        return read_rows(folder, lambda row, place: (place, row))

    _folder(tmp_path / "tasks/adapter", {"task.toml": "", "tests/config.json": json.dumps(row)})
    _folder(tmp_path / "tasks/broken", {"task.toml": "", "tests/config.json": "[]"})
    _folder(tmp_path / "tasks/first", {"task.yaml": "", "tests/config.json": "{"})
    _folder(tmp_path / "tasks/foreign", {"task.toml": "", "tests/test.sh": "#!/bin/bash\n"})
    linked = _folder(tmp_path / "tasks/linked", {"task.toml": "", "tests/x": ""})
    (linked / "tests/config.json").symlink_to(tmp_path / "tasks/adapter/tests/config.json")
    rows, skipped = read(tmp_path / "tasks")
    assert rows == [row]
    assert read(tmp_path / "tasks/adapter")[0] == rows
    reasons = ("row 2: it is no JSON object", "row 3: first: .* not usable JSON", "row 4: foreign: .* scripts",
               "row 5: linked: .* symbolic link")  # fmt: skip
    for words, entry in zip(reasons, skipped, strict=True):
        assert re.match(words, entry)
    with pytest.raises(UsageError, match="no task folders"):
        read(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        read(tmp_path / "nowhere")
