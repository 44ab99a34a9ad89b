"""The ranking of candidates: by pass@1, ties by lint, then by a judge."""

from collections.abc import Mapping

import pytest

from codegate.candidates import CandidateSpec
from codegate.grading import Grade
from codegate.grading.grade import LintResult
from codegate.reporting import Evidence, build_view
from codegate.reporting.measure_table import ranking
from codegate.running import Outcome, Run
from codegate.running.judge import JudgeHeader, Judgement, RecordedJudgements
from tests.kit.runs import PROBLEMS, manifest, outcome

SPECS = tuple(CandidateSpec(provider="openai", model=f"{name}-2025-01-01", name=name) for name in ("a", "b", "c"))
HEADER = JudgeHeader(judge="j", key="k", prompt="1")


def graded(spec: CandidateSpec, passed: bool, problem: str, findings: int | None) -> Outcome:
    lint = None if findings is None else LintResult(new_findings=findings, score=100)
    failure = None if passed else "logic_error"
    grade = Grade(resolved=passed, score=100 * passed, tests_passed=passed, tests_total=1, failure=failure, lint=lint)
    return outcome(passed, problem, 0, spec, grade=grade)


def ranked(
    passed: Mapping[str, int], findings: Mapping[str, int | None], judged: Mapping[str, bool] | None = None
) -> list[tuple[str, str]]:
    """Return rank and candidate of each row: ``passed`` problems of two, lint ``findings``, and the judge's verdict."""
    specs = [spec for spec in SPECS if spec.name in passed]
    outcomes = tuple(
        graded(spec, index < passed[spec.name], problem, findings[spec.name])
        for spec in specs
        for index, problem in enumerate(PROBLEMS)
    )
    run = Run(manifest=manifest(1, tuple(specs)), outcomes=outcomes)
    said = [
        Judgement(candidate=one.candidate, problem=one.problem, sample=0, passed=judged[spec.name])
        for spec in specs
        for one in run.of(spec.key())
        if judged and spec.name in judged
    ]
    evidence = Evidence(judged={run.manifest.id: RecordedJudgements(HEADER, tuple(said))})
    return [(str(row[0]), str(row[1])) for row in ranking(build_view([run], (), evidence)).rows]


def test_the_pass_rate_comes_before_lint_and_judge() -> None:
    order = ranked({"a": 1, "b": 2, "c": 0}, {"a": 0, "b": 5, "c": 0}, {"a": True, "b": False, "c": True})
    assert order == [("1", "b"), ("2", "a"), ("3", "c")]


@pytest.mark.requirement("G3")
def test_lint_breaks_ties() -> None:
    assert ranked({"a": 2, "b": 2}, {"a": 3, "b": 0}, {"a": True, "b": False}) == [("1", "b"), ("2", "a")]


@pytest.mark.requirement("G9")
def test_a_judge_breaks_ties_that_lint_leaves() -> None:
    assert ranked({"a": 2, "b": 2}, {"a": 0, "b": 0}, {"a": False, "b": True}) == [("1", "b"), ("2", "a")]


def test_what_is_not_known_of_all_breaks_no_tie() -> None:
    assert ranked({"a": 2, "b": 2}, {"a": None, "b": 0}) == [("1", "a"), ("1", "b")]
    assert ranked({"a": 2, "b": 2}, {"a": 0, "b": 0}, {"b": True}) == [("1", "a"), ("1", "b")]


def test_a_single_candidate_is_not_ranked() -> None:
    assert ranked({"a": 2}, {"a": 0}) == []
