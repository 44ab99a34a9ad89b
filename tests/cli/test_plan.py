"""``codegate plan``: what a gate can find and what it will take, before anything is spent."""

from decimal import Decimal
from pathlib import Path

import pytest

from codegate.candidates import Prices, Usage
from codegate.running import Outcome, Run
from codegate.running.plan import sample_expense
from codegate.solving import AttemptSummary
from codegate.suite import Suite
from tests.running.runs import manifest, outcome
from tests.running.world import codegate


@pytest.mark.sandbox
def test_without_a_baseline_a_usual_suite_is_assumed(suite: Suite, tmp_path: Path) -> None:
    done = codegate("plan", suite.folder, "--drop", "0.1", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    plan = done.document
    assert (plan["schema"], plan["problems"], plan["baseline"]) == ("codegate.plan/1", 3, None)
    power = plan["power"]
    assert (power["problems"], power["max_samples"], plan["scope"]) == (3, 10, "suite")
    assert power["equal"]["passed"] == 0, "three are too few"
    assert list(plan["found"]) == ["3", "5", "10"]
    assert 0 <= plan["found"]["3"] <= plan["found"]["10"] <= 1
    assert "a pass rate of 60% assumed" in done.stderr
    assert "3 problems, up to 10 samples each: a candidate that is equal on them passes in 0%" in done.stderr


def test_a_rate_is_not_for_a_baseline_and_a_suite_is_needed(suite: Suite, tmp_path: Path) -> None:
    done = codegate("plan", cwd=tmp_path)
    assert (done.code, "no suite was given" in done.stderr) == (2, True)
    done = codegate("plan", suite.folder, "--baseline", "none.lock", cwd=tmp_path)
    assert (done.code, "none.lock" in done.stderr) == (2, True)


@pytest.mark.bwrap
def test_with_a_baseline_all_follows_from_it(suite: Suite, tmp_path: Path) -> None:
    run = ("run", suite.folder, "--candidate", "reference", "--sandbox", "bwrap", "--out", "runs/r")
    assert codegate(*run, cwd=tmp_path).code == 0
    assert codegate("baseline", "pin", "runs/r", "--min-samples", "1", cwd=tmp_path).code == 0
    (tmp_path / "codegate.yml").write_text(
        f"suite: {suite.folder}\ncandidates:\n  - provider: openai\n    model: m-2025-01-01\n"
        "    prices: {input: 1, output: 2}\nconcurrency: {models: 1, sandboxes: 1}\ngate: {max_samples: 2}\n"
    )
    done = codegate("plan", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    plan = done.document
    assert plan["baseline"]
    assert "no folder in runs/" not in done.stderr, "the run is there, under a name of its own"
    assert plan["power"]["max_samples"] == 2
    (expense,) = plan["expenses"].values()
    assert expense["samples_known"] == 3
    assert expense["usd"] is None, "the reference has no tokens"
    assert expense["minutes"][1] > 0
    assert codegate("plan", "--rate", "0.5", cwd=tmp_path).code == 2
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    assert "no folder in runs/ holds run" in codegate("plan", cwd=tmp_path).stderr


def test_what_a_sample_takes_is_the_mean_of_those_that_came_to_something() -> None:
    def made(tokens: int, seconds: float) -> Outcome:
        attempt = AttemptSummary(
            solver="single_shot",
            prompt_version="1",
            usage=Usage(input_tokens=tokens, output_tokens=10, cached_tokens=0),
            model_seconds=seconds,
            tool_seconds=1.0,
        )
        return outcome(True).model_copy(update={"attempt": attempt, "grading_seconds": 3.0})

    run = Run(manifest=manifest(), outcomes=(made(100, 4.0), made(300, 6.0), outcome(None)))
    expense = sample_expense([run], Prices(input=Decimal(1), output=Decimal(10)))
    assert (expense.samples, expense.input_tokens, expense.output_tokens) == (2, 200.0, 10.0)
    assert expense.usd == Decimal("0.0003")
    assert expense.minutes(60, models=2, sandboxes=1) == 3.0
    assert expense.minutes(60, models=1, sandboxes=3) == 6.0
    nothing = sample_expense([], None)
    assert (nothing.samples, nothing.usd, nothing.minutes(60, 1, 1)) == (0, None, None)
