"""The suite ``arbiter``: its structure at each change, its proof and its failure classes by night."""

import re
from pathlib import Path
from typing import Final

import pytest

from codegate.grading import Sandboxes, grade
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Suite, TreeFile, load_base, load_suite, make_patch
from tests.bundled.wrong import WRONG, Wrong

FOLDER: Final = Path(__file__).parents[2] / "suites" / "arbiter"
MARKED: Final = ("edge_case", "temporal", "performance")
UNMARKED: Final = re.compile(r"^\n\ndef test_", re.MULTILINE)


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER)


def test_nothing_passes_at_first(suite: Suite) -> None:
    for problem in suite.problems:
        assert len(problem.tests.FAIL_TO_PASS) >= 10, problem.id
        assert problem.tests.PASS_TO_PASS == (), problem.id


@pytest.mark.requirement("D10")
def test_each_problem_has_tests_of_each_class(suite: Suite) -> None:
    for problem in suite.problems:
        (path,) = problem.manifest.test_files
        file = problem.hidden[path]
        assert file is not None
        text = file.data.decode()
        assert UNMARKED.search(text), problem.id
        assert set(re.findall(r"@pytest\.mark\.(\w+)", text)) >= set(MARKED), problem.id
        assert "import time\n" not in text, problem.id  # no test measures time


def wrong_source(suite: Suite, wrong: Wrong) -> tuple[str, str]:
    """Return the path and the text of a wrong solution."""
    name, _, old, new = wrong
    (problem,) = (problem for problem in suite.problems if problem.id == name)
    ((path, file),) = problem.fix.items()
    assert file is not None
    text = file.data.decode()
    assert text.count(old) == 1, wrong
    return path, text.replace(old, new)


def test_each_problem_has_a_wrong_solution_of_each_marked_class(suite: Suite) -> None:
    for wrong in WRONG:
        wrong_source(suite, wrong)
    classes = {"logic_error", "edge_case_error", "temporal_reasoning_error", "performance_error"}
    for problem in suite.problems:
        assert {failure for name, failure, _, _ in WRONG if name == problem.id} >= classes, problem.id


@pytest.mark.full
@pytest.mark.bwrap
@pytest.mark.timeout(3000)
@pytest.mark.requirement("D10")
def test_failures_are_classified_as_what_they_are(suite: Suite, bwrap_backend: BubblewrapBackend) -> None:
    sandboxes = Sandboxes(bwrap_backend, {})
    for entry in suite.manifest.environments:
        sandboxes.add(suite.environments[entry.id])
    problems = {problem.id: problem for problem in suite.problems}
    mistaken = []
    for wrong in WRONG:
        problem = problems[wrong[0]]
        base = load_base(suite, problem, FOLDER)
        path, text = wrong_source(suite, wrong)
        result = grade(problem, base, make_patch(base, {path: TreeFile(text.encode())}), sandboxes)
        if result.failure != wrong[1]:
            mistaken.append((wrong[0], wrong[1], result.failure, result.detail))
    sandboxes.close()
    assert len(mistaken) <= len(WRONG) * 0.05, mistaken
