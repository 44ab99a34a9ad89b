"""A repository in a language that nothing here knows is mined by the command that its user gives."""

import shlex
from contextlib import closing
from pathlib import Path

import pytest

from codegate.environments import Recipe
from codegate.mining import MineRequest
from codegate.mining.miner import mine_repository
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import load_suite
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

ADD = "add() {\n  echo $(($1 %s $2))\n}\n"
#: Runs each function of the given files whose name begins with ``test_``, and writes what came of it as JUnit XML.
RUN = """#!/bin/sh
echo '<testsuite>' >report.xml
for file in "$@"; do
  for name in $(sed -n 's/^\\(test_[a-z]*\\)().*/\\1/p' "$file"); do
    echo "<testcase file='$file' name='$name'>" >>report.xml
    sh -c ". ./lib/add.sh; . ./$file; $name" || echo '<failure/>' >>report.xml
    echo '</testcase>' >>report.xml
  done
done
echo '</testsuite>' >>report.xml
"""
TEST = 'test_zero() {\n  [ "$(add 0 0)" = 0 ]\n}\n'
MORE = TEST + 'test_sum() {\n  [ "$(add 2 5)" = 7 ]\n}\n'
FIX = f"Fix add (#7){BODY}"
COMMAND = ("sh", "run.sh", "{files}")


@pytest.mark.bwrap
def test_the_command_of_a_recipe_proves_problems_of_any_language(history: HistoryBuilder, tmp_path: Path) -> None:
    history.commit("Begin.", {"lib/add.sh": ADD % "-", "tests/add_test.sh": TEST, "run.sh": RUN})
    history.commit(FIX, {"lib/add.sh": ADD % "+", "tests/add_test.sh": MORE})
    out, options = (
        tmp_path / "suite",
        MineRequest(rounds=2, recipe=Recipe(tests=shlex.join(COMMAND), report=("report.xml",))),
    )
    with closing(BubblewrapBackend("junit")) as backend:
        report = mine_repository(history.folder, out, options, backend, lambda _: None)
    assert out.exists(), report.results
    (problem,) = load_suite(out).problems
    assert (problem.manifest.language, problem.manifest.runner, problem.manifest.command) == ("junit", "junit", COMMAND)
    assert problem.tests.FAIL_TO_PASS == ("tests/add_test.sh::test_sum",)
    assert problem.tests.PASS_TO_PASS == ("tests/add_test.sh::test_zero",)
    assert problem.manifest.controls is not None
