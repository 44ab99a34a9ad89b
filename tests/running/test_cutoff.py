"""The verdict on problems that are newer than a day."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating import GatePolicy, pin
from codegate.operations.baselines import samples_of
from codegate.running import Gate, Run, gate_run
from codegate.running.gate import check_policy
from codegate.suite import Provenance, load_suite
from tests.kit.runs import manifest, outcome

OLD, NEW = [f"old-{i:02}" for i in range(20)], [f"new-{i:02}" for i in range(20)]
TAGS = {**dict.fromkeys(OLD, ("date:2024-06-01",)), **dict.fromkeys(NEW, ("date:2025-03-01",))}
NOW = datetime.now(UTC).isoformat(timespec="seconds")


def run(model: str, failing: list[str], cutoff: date | None, samples: int = 5) -> Run:
    spec = CandidateSpec(provider="openai", model=f"{model}-2025-06-01", training_cutoff=cutoff)
    plan = manifest(samples, (spec,), id=model, problems=dict.fromkeys(TAGS, "0" * 64), tags=TAGS, created=NOW)
    outcomes = tuple(
        outcome(name not in failing, name, sample, spec, problem_digest="0" * 64, finished=NOW)
        for name in TAGS
        for sample in range(samples)
    )
    return Run(manifest=plan, outcomes=outcomes)


@pytest.mark.requirement("D8")
def test_a_verdict_can_be_on_newer_problems_alone() -> None:
    before = pin([samples_of(run("a", [], None))])
    worse = run("b", OLD[:10], date(2025, 1, 31))
    (whole,) = gate_run(worse, Gate(before, GatePolicy(confirm_samples=0)))
    assert (whole.kind, whole.problems) == ("regressed", 40)
    newer = GatePolicy(confirm_samples=0, newer_than=date(2025, 1, 31))
    (verdict,) = gate_run(worse, Gate(before, newer))
    assert (verdict.kind, verdict.problems) == ("pass", 20)
    assert {one.problem for one in verdict.excluded} == set(OLD)
    assert verdict.excluded[0].reason == "not newer than 2025-01-31 (`gate.newer_than`)"
    late = GatePolicy(confirm_samples=0, newer_than=date(2025, 3, 1))
    (verdict,) = gate_run(worse, Gate(before, late))
    assert verdict.kind == "inconclusive", "no problem is left"


def test_a_model_that_was_trained_later_is_refused() -> None:
    before = pin([samples_of(run("a", [], None))])
    gate = Gate(before, GatePolicy(confirm_samples=0, newer_than=date(2025, 1, 31)))
    with pytest.raises(UsageError, match="openai:b-2025-06-01 has the training cut-off 2025-02-01"):
        gate_run(run("b", [], date(2025, 2, 1)), gate)


def test_floors_alone_are_held_against_newer_problems_alone() -> None:
    newer = GatePolicy.model_validate(
        {"cohorts": {"all": {"floor": 0.9, "tier": "critical"}}, "newer_than": date(2025, 1, 31)}
    )
    remembers = run("a", NEW[:15], date(2025, 1, 31))
    (verdict,) = gate_run(remembers, Gate(None, newer))
    assert (verdict.kind, verdict.problems, verdict.candidate_rate) == ("regressed", 20, 0.25)
    assert {one.problem for one in verdict.excluded} == set(OLD)
    with pytest.raises(UsageError, match="has the training cut-off 2025-02-01"):
        gate_run(run("b", [], date(2025, 2, 1)), Gate(None, newer))
    with pytest.raises(UsageError, match="no problem is left"):
        gate_run(remembers, Gate(None, newer.model_copy(update={"newer_than": date(2025, 3, 1)})))


def test_a_problem_in_quarantine_is_listed_beside_older_ones() -> None:
    before = pin([samples_of(run("a", [], None))])
    later = run("b", [], None)
    manifest = later.manifest.without({NEW[0]: "it is flaky"})
    manifest = manifest.model_copy(update={"tags": {name: TAGS[name] for name in manifest.problems}})
    kept = tuple(outcome for outcome in later.outcomes if outcome.problem != NEW[0])
    later = later.model_copy(update={"manifest": manifest, "outcomes": kept})
    (verdict,) = gate_run(later, Gate(before, GatePolicy(newer_than=date(2025, 1, 31))))
    reasons = {one.problem: one.reason for one in verdict.excluded}
    assert (verdict.problems, len(reasons), reasons[NEW[0]]) == (19, 21, "quarantined: it is flaky")


def test_a_gate_without_the_key_has_the_digest_that_it_had() -> None:
    assert "newer_than" not in GatePolicy().model_dump(mode="json")


def test_a_floor_is_for_a_tag_that_a_newer_problem_carries() -> None:
    suite = load_suite(Path(__file__).parents[2] / "suites" / "functions")
    dated = Provenance(kind="handwritten", date=datetime(2025, 3, 1, tzinfo=UTC))
    problems = [replace(one, manifest=one.manifest.model_copy(update={"provenance": dated})) for one in suite.problems]
    policy = GatePolicy.model_validate({"cohorts": {"team:web": {"floor": 0.9}}, "newer_than": date(2025, 1, 31)})
    words = r"no problem of suite functions newer than 2025-01-31 \(`gate.newer_than`\) carries\."
    with pytest.raises(UsageError, match=words):
        check_policy(policy, replace(suite, problems=tuple(problems)))
