"""codegate-mine.yml: a suite from the history that was checked out, as an artifact."""

from pathlib import Path

import pytest

from codegate.suite import load_suite
from tests.action.act.harness import REPOSITORY, Act, uploaded
from tests.action.act.repository import Repository, install
from tests.kit.github import FakeGitHub
from tests.kit.repository import HistoryBuilder

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]

SUMS = "def total(items):\n    return items[0] + sum(items[1:])\n"
TEST = "from pkg.sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
MESSAGE = """Fix the total of nothing (#3)

The total of an empty list raises an IndexError. The total of an empty list should be 0.
"""
NOTHING = "\n\ndef test_nothing():\n    assert total([]) == 0\n"


def test_the_history_becomes_a_suite_to_look_over(act: Act, github: FakeGitHub, tmp_path: Path) -> None:
    history = HistoryBuilder(tmp_path / "demo")
    history.commit("Begin", {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "tests/test_sums.py": TEST})
    fixed: dict[str, str | bytes | None] = {
        "pkg/sums.py": SUMS.replace("items[0] + sum(items[1:])", "sum(items)"),
        "tests/test_sums.py": TEST + NOTHING,
    }
    history.commit(MESSAGE, fixed)
    history.git("remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
    install(history.folder, "codegate-mine.yml")
    team = Repository(history.folder)
    team.commit("the workflow")
    ran = act.run(team.folder, "codegate-mine.yml", "workflow_dispatch", team.event(inputs={}))
    assert (ran.code, ran.result("mine")) == (0, "success"), ran.log
    uploaded(github)["codegate-suite"].extractall(tmp_path / "suite")
    assert len(load_suite(tmp_path / "suite").problems) == 1
