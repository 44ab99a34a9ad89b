"""Every bundled suite: complete at each change, proved by night."""

import shutil
from pathlib import Path
from typing import Final

import pytest

from codegate.operations.suites import validate
from codegate.sandbox import Choice
from codegate.suite import Suite, load_base, load_suite, proved_places

FOLDER: Final = Path(__file__).parents[2] / "suites"
PROBLEMS: Final = {"arbiter": 17, "functions": 10, "refactoring": 6, "tiers": 27, "answers": 24}


@pytest.fixture(scope="module", params=PROBLEMS)
def suite(request: pytest.FixtureRequest) -> Suite:
    return load_suite(FOLDER / request.param)


def test_every_suite_is_known_here() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/suite.yml")} == PROBLEMS.keys()


def test_all_problems_are_active_and_were_proved(suite: Suite) -> None:
    assert len(suite.active) == len(suite.problems) == PROBLEMS[suite.name]
    digests = {problem.id: problem.digest for problem in suite.problems}
    proved = [proof for proof in suite.proved if proof.problems == digests and proof.rounds >= 5]
    assert {proof.place["sandbox"] for proof in proved} == {"bwrap", "docker"}
    assert len(proved_places(suite, {"sandbox": "bwrap"})) == 2, "runs in one can be compared with runs in the other"
    for problem in suite.problems:
        assert (problem.manifest.controls is None) == (problem.manifest.answer is not None), problem.id
        assert problem.tests.QUARANTINED == (), problem.id
        assert problem.manifest.tags["category"], problem.id


def test_a_statement_names_the_files_that_it_is_about(suite: Suite) -> None:
    for problem in suite.problems:
        if problem.manifest.answer is not None:
            continue
        for path in problem.fix:
            assert f"`{path}`" in problem.statement, problem.id
        base = load_base(suite, problem, suite.folder)
        assert {*problem.fix, *problem.manifest.public_tests} <= set(base), problem.id


@pytest.mark.requirement("G9")
def test_a_refactoring_fails_by_its_structure_alone() -> None:
    for problem in load_suite(FOLDER / "refactoring").problems:
        assert {test.partition("::")[0] for test in problem.tests.FAIL_TO_PASS} == {"tests/test_structure.py"}
        behaviour = [test for test in problem.tests.PASS_TO_PASS if "test_structure" not in test]
        assert len(behaviour) >= 6, problem.id


@pytest.mark.full
@pytest.mark.parametrize(
    "sandbox", [pytest.param("bwrap", marks=pytest.mark.bwrap), pytest.param("docker", marks=pytest.mark.docker)]
)
@pytest.mark.timeout(3000)
def test_every_problem_is_proved(suite: Suite, sandbox: Choice, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    request.getfixturevalue(f"{sandbox}_backend")
    shutil.copytree(suite.folder, tmp_path / suite.name)
    report = validate(tmp_path / suite.name, None, lambda _: None, sandbox=sandbox, rounds=5)
    assert (report.proven, report.quarantined, report.faults) == (True, (), {})
    assert report.suite.digest == suite.digest
