"""The suite ``answers``: whether code is in an answer is detected, reported and gated; nothing is run for it."""

import shutil
import threading
from pathlib import Path
from typing import Final

import pytest

from codegate.candidates import CandidateSpec
from codegate.gating import GatePolicy
from codegate.operations.suites import validate
from codegate.running import Gate, Journal, Run, gate_run, load_run
from codegate.running.predictions import grade_predictions, run_predictions
from codegate.sandbox import select_backend
from codegate.solving import contains_code
from codegate.suite import Suite, load_suite
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.model_server import chat_answer
from tests.running.world import run_here

FOLDER: Final = Path(__file__).parents[2] / "suites" / "answers"
SENSIBLE, ALWAYS_CODE, NEVER_CODE = "sensible-2025-01-01", "always-2025-01-01", "never-2025-01-01"
FLOORS: Final = {f"answer:{kind}": {"floor": 0.9, "tier": "critical"} for kind in ("prose", "code")}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER)


@pytest.mark.requirement("G10")
def test_the_right_answers_are_told_apart(suite: Suite) -> None:
    kinds = [problem.manifest.answer for problem in suite.problems]
    assert (kinds.count("prose"), kinds.count("code")) == (12, 12)
    for problem in suite.problems:
        assert contains_code(problem.reference_answer) is (problem.manifest.answer == "code"), problem.id
        assert problem.manifest.tags["answer"] == problem.manifest.answer


@pytest.mark.bwrap
def test_a_question_whose_answer_is_wrong_is_quarantined(suite: Suite, tmp_path: Path) -> None:
    folder = shutil.copytree(suite.folder, tmp_path / "answers")
    (folder / "problems/restart/fix/answer.md").write_text("```python\n_carts = {}\n```\n")
    report = validate(folder, None, lambda _: None, sandbox="bwrap", rounds=1)
    assert (report.proven, report.quarantined, report.faults) == (False, ("restart",), {})
    (wrong,) = (problem for problem in report.suite.problems if not problem.active)
    assert wrong.manifest.quarantine is not None
    assert wrong.manifest.quarantine.evidence == "the answer holds code, which nothing asks for"


@pytest.fixture(scope="module")
def folder(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models answer: one as is right, one always with code, one never."""

    def reply(request: Request) -> Reply:
        body = request.body
        task = next(message["content"] for message in body["messages"] if message["role"] == "user")
        asked = [problem for problem in suite.problems if task.startswith(problem.statement.strip())]
        right = asked[0].reference_answer if asked else "Yes."  # a run's first request is no question of the suite
        others = {ALWAYS_CODE: "Like this:\n\n```python\npass\n```\n", NEVER_CODE: "It depends on the team."}
        text = others.get(body["model"], right)
        return as_json(chat_answer(model=body["model"], message={"content": text}))

    server = Server(reply)
    specs = [
        CandidateSpec(provider="openai", model=model, base_url=f"{server.url}/v1", solver=solver)
        for model, solver in ((SENSIBLE, "tool_loop"), (ALWAYS_CODE, "single_shot"), (NEVER_CODE, "single_shot"))
    ]
    out = tmp_path_factory.mktemp("answers") / "run"
    try:
        run_here(suite, out, *specs, precheck=True)
    finally:
        server.close()
    return out


@pytest.fixture
def run(folder: Path) -> Run:
    return load_run(folder)


@pytest.mark.bwrap
@pytest.mark.requirement("G10")
def test_code_where_none_belongs_is_a_failure_of_its_own(run: Run) -> None:
    found = {
        spec.model: {outcome.grade.failure for outcome in run.of(spec.key()) if outcome.grade}
        for spec in run.manifest.candidates
    }
    assert found == {SENSIBLE: {None}, ALWAYS_CODE: {None, "unwanted_code"}, NEVER_CODE: {None, "no_code"}}
    assert {outcome.sandbox for outcome in run.outcomes} == {None}


@pytest.mark.bwrap
@pytest.mark.requirement("G10")
def test_cohorts_that_should_hold_no_code_are_gated(run: Run) -> None:
    verdicts = gate_run(run, Gate(None, GatePolicy.model_validate({"cohorts": FLOORS})))
    assert [verdict.kind for verdict in verdicts] == ["pass", "regressed", "regressed"]
    prose = {"cohorts": {"answer:prose": FLOORS["answer:prose"]}}
    assert [verdict.kind for verdict in gate_run(run, Gate(None, GatePolicy.model_validate(prose)))] == [
        "pass",
        "regressed",
        "pass",
    ]


@pytest.mark.bwrap
def test_predictions_of_questions_are_their_answers_in_words(folder: Path, suite: Suite) -> None:
    """Any text was code: nonsense solved each question for code, and nothing one for prose."""
    (predictions, _) = run_predictions([Journal.open(folder)], None, None)
    backend = select_backend("bwrap", "questions")
    try:
        stop = threading.Event()
        graded = grade_predictions(suite, predictions, backend, sandboxes=1, repository=None, stop=stop)
        again = [one.grade.failure if one.grade else "" for one in graded]
    finally:
        backend.close()
    run = load_run(folder)
    made = {outcome.key: outcome.grade for outcome in run.outcomes}
    ordered = (made[spec.key(), name, 0] for spec in run.manifest.candidates for name in run.manifest.problems)
    assert again == [grade.failure if grade else "" for grade in ordered]
    assert len({*again}) == 3
