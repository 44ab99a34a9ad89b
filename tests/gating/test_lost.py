"""No regression stands on answers that a limit of the configuration cut."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.gating import CandidateSamples, GatePolicy, Sample, compare
from codegate.gating.decision import judge_limits
from codegate.gating.floors import against_floors
from codegate.gating.policy import CohortPolicy
from codegate.gating.verdict import VerdictKind
from tests.gating.sampling import side, uniform

POLICY = GatePolicy()


def otherwise(made: CandidateSamples) -> VerdictKind:
    """Return the verdict on samples whose cut answers count as passed: another one."""
    return "pass"


ADVICE = "Raise `sampling.max_output_tokens` from 200 to 32000."


def failing(n: int, cut: int, failure: str = "truncated", limits: dict[str, str] | None = None) -> CandidateSamples:
    """Return a candidate that solves none of ``n`` problems; ``cut`` of its answers ended by ``failure``."""
    made = side(uniform(n, 0), label="new")
    passed = None if failure.startswith("provider.") else False
    samples = {
        problem: tuple(
            entry.model_copy(
                update={"failure": failure, "passed": passed, "lost": {} if passed is False else {failure: 1}}
            )
            if number < cut
            else entry
            for entry in entries
        )
        for number, (problem, entries) in enumerate(made.samples.items())
    }
    return made.model_copy(update={"samples": samples, "limits": limits or {}})


@pytest.mark.requirement("V3")
def test_truncated_answers_are_reported_as_misconfiguration() -> None:
    baseline = side(uniform(30, 26, 3))
    assert compare(baseline, failing(30, 0), POLICY).kind == "regressed"
    verdict = compare(baseline, failing(30, 30, limits={"truncated": ADVICE, "context_overflow": "No."}), POLICY)
    assert verdict.kind == "inconclusive"
    assert verdict.reason.startswith(
        "A limit cut 30 of 30 answers (truncated 30), more than 10%: this measures the limit, not the model. "
        f"{ADVICE} Measured under this limit: "
    )
    assert "0.0%" in verdict.reason, "what was measured is there as well"
    assert verdict.futile, "more samples would be cut as well"
    assert verdict.exit_code == 3


@pytest.mark.parametrize("failure", ["truncated", "context_overflow", "provider.timeout"])
def test_more_than_a_tenth_is_too_much(failure: str) -> None:
    assert judge_limits(failing(30, 3, failure), "regressed", "Worse.", otherwise) == ("regressed", "Worse.")
    kind, reason = judge_limits(failing(30, 4, failure), "regressed", "Worse.", otherwise)
    assert kind == "inconclusive"
    assert f"4 of 30 answers ({failure} 4)" in reason
    assert reason.endswith("Raise that limit. Measured under this limit: Worse.")


@pytest.mark.parametrize("failure", ["truncated", "provider.timeout"])
def test_a_regression_that_stands_with_the_cut_answers_as_passed_is_not_excused(failure: str) -> None:
    """From all to nothing, with one answer in nine cut."""
    made = failing(30, 0)
    passed = False if failure == "truncated" else None
    cut = Sample(index=0, passed=passed, failure=failure, lost={} if passed is False else {failure: 1})
    entries = (cut, *(Sample(index=index, passed=False, failure="logic_error") for index in range(1, 9)))
    worse = made.model_copy(update={"samples": dict.fromkeys(made.samples, entries)})
    verdict = compare(side(uniform(30, 30, 10)), worse, POLICY)
    assert verdict.kind == "regressed", verdict.reason
    assert f"A limit cut 30 of 270 answers ({failure} 30); counted as passed they would not change" in verdict.reason
    floors = GatePolicy(cohorts={"all": CohortPolicy(floor=0.9, tier="critical")})
    assert against_floors(worse, floors).kind == "regressed"
    assert against_floors(failing(30, 30), floors).kind == "inconclusive"


@pytest.mark.parametrize("failure", ["refused", "empty_answer", "no_patch", "timeout", "provider.overloaded"])
def test_what_the_model_did_itself_is_no_limit(failure: str) -> None:
    assert judge_limits(failing(30, 30, failure), "regressed", "Worse.", otherwise) == ("regressed", "Worse.")


def test_what_must_pass_and_was_truncated_is_no_regression() -> None:
    policy = GatePolicy(must_pass=("p000",))
    assert compare(side(uniform(30, 30, 3)), failing(30, 30), policy).kind == "inconclusive"


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    ("cause", "kind"),
    [("provider.timeout", "inconclusive"), ("agent", "inconclusive"), ("provider.overloaded", "pass")],
)
def test_a_pass_must_hold_with_answers_that_a_fault_took_as_failures(cause: str, kind: str) -> None:
    baseline = side({f"p{i:03}": [*([True] * 8), *([False] * 2)] for i in range(30)})
    made = side({f"p{i:03}": [*([True] * 7), *([False] * 2), None] for i in range(30)}, label="new")
    samples = {
        name: (
            *entries[:-1],
            entries[-1].model_copy(update={"failure": cause, "lost": {} if kind == "pass" else {cause: 1}}),
        )
        for name, entries in made.samples.items()
    }
    verdict = compare(baseline, made.model_copy(update={"samples": samples}), POLICY)
    assert verdict.kind == kind
    assert ("with the lost samples counted as failures it would not pass" in verdict.reason) == (kind != "pass")


def asked_until_they_pass(draw: random.Random, rate: float, cause: str, share: float) -> str:
    """Return the verdict on a candidate whose failing answers end in a fault, and are asked for at each look again."""
    baseline = side(uniform(30, 30, 10))
    samples: dict[str, list[Sample]] = {name: [] for name in baseline.samples}
    for look in POLICY.looks:
        for entries in samples.values():
            for index in range(look):
                lost = dict(entries[index].lost) if index < len(entries) else {}
                if index < len(entries) and entries[index].passed is not None:
                    continue
                passed: bool | None = draw.random() < rate
                if not passed and draw.random() < share:
                    passed, lost = None, {cause: lost.get(cause, 0) + 1}
                entries[index:] = [Sample(index=index, passed=passed, failure=None if passed else cause, lost=lost)]
        made = side(uniform(30, 30), label="new").model_copy(
            update={"samples": {k: tuple(v) for k, v in samples.items()}}
        )
        verdict = compare(baseline, made, POLICY, looks=POLICY.looks)
        if verdict.kind != "inconclusive" or verdict.futile:
            break
    return verdict.kind


@pytest.mark.requirement("F4")
def test_failures_that_end_in_a_fault_and_are_asked_again_until_they_pass_make_no_pass() -> None:
    """The candidate lost ten points. With the faults of one cause forgotten, it passed in 10 of 10 of its gates."""
    draw = random.Random(1)
    causes = ("provider.timeout", "agent", "sandbox", "provider.malformed")
    ends = Counter(asked_until_they_pass(draw, 0.9, cause, 0.8) for cause in causes for _ in range(10))
    assert ends["pass"] <= 5, ends


def test_an_equal_candidate_passes_although_some_of_its_answers_are_lost_at_random() -> None:
    """As a perfect candidate that loses 4 % of its tries: its losses count, and it still passes."""
    draw = random.Random(2)
    ends = Counter(asked_until_they_pass(draw, 0.96, "provider.timeout", 1.0) for _ in range(20))
    assert ends["pass"] >= 17, ends


@given(st.integers(0, 30), st.sampled_from(["pass", "incomparable", "infrastructure"]))
def test_other_verdicts_stand(cut: int, kind: str) -> None:
    assert judge_limits(failing(30, cut), kind, "So.", otherwise) == (kind, "So.")  # type: ignore[arg-type]  # of the list above


def asked_twice(made: CandidateSamples, problems: set[str]) -> CandidateSamples:
    """Return samples of which those of ``problems`` lost their first answer to a time limit."""
    lost = {"provider.timeout": 1}
    samples = {
        name: tuple(entry.model_copy(update={"lost": lost}) if name in problems else entry for entry in entries)
        for name, entries in made.samples.items()
    }
    return made.model_copy(update={"samples": samples})


@pytest.mark.parametrize(
    "demand",
    [{"must_pass": ["p000"]}, {"cohorts": {"tier:1": {"floor": 0.9, "tier": "critical"}}}],
)
def test_what_a_policy_demands_must_hold_with_lost_answers_as_failures_too(demand: dict[str, object]) -> None:
    """The candidate is better than the baseline, but solves what is demanded only when it is asked a second time."""
    policy = GatePolicy.model_validate(demand)
    few = {f"p{i:03}" for i in range(4)}
    baseline = side(uniform(48, 30, 10)).model_copy(update={"tags": dict.fromkeys(few, ("tier:1",))})
    made = asked_twice(side(uniform(48, 48, 5), label="new"), few)
    assert compare(baseline, made, POLICY).kind == "pass"
    verdict = compare(baseline, made, policy)
    assert verdict.kind == "inconclusive"
    assert "with the lost samples counted as failures it would not pass (provider.timeout 20)" in verdict.reason
    [warning] = [warning for warning in verdict.warnings if "lost to infrastructure" in warning]
    assert warning.endswith("counted as failures they would make the verdict regressed.")


def test_floors_alone_want_must_pass_solved_without_a_lost_answer() -> None:
    policy = GatePolicy(must_pass=("p000",), cohorts={"all": CohortPolicy(floor=0.5, tier="critical")})
    made = side(uniform(30, 30, 3), label="new")
    assert against_floors(made, policy).kind == "pass"
    verdict = against_floors(asked_twice(made, {"p000"}), policy)
    assert verdict.kind == "inconclusive"
    assert "no sample solves a problem of `gate.must_pass`: p000 (provider.timeout 3)" in verdict.reason


def failing_from(made: CandidateSamples, first: int) -> CandidateSamples:
    """Return samples of which those from number ``first`` on have failed."""
    samples = {
        name: tuple(entry.model_copy(update={"passed": entry.index < first}) for entry in entries)
        for name, entries in made.samples.items()
    }
    return made.model_copy(update={"samples": samples})


def test_no_regression_rests_on_answers_that_the_baseline_lost() -> None:
    """What the pinned model gets wrong takes too long, so that it was asked until it was right."""
    honest, made, worse = (side(uniform(30, 30, 10), label=label) for label in ("x", "new", "worse"))
    made, worse = (failing_from(one, first) for one, first in ((made, 8), (worse, 5)))
    entries = [
        Sample(index=index, passed=True, lost={"provider.timeout": 1} if index > 7 else {}) for index in range(10)
    ]
    lucky = honest.model_copy(update={"samples": dict.fromkeys(honest.samples, tuple(entries))})
    verdict = compare(lucky, made, POLICY)
    assert verdict.kind == "inconclusive"
    assert "with the baseline's lost answers counted as failures it would not be worse (provider.timeout 60)" in (
        verdict.reason
    )
    assert compare(lucky, worse, POLICY).kind == "regressed"
    assert compare(lucky, worse, GatePolicy(must_pass=("p000",))).kind == "regressed"
