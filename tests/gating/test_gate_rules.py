"""Looks, several candidates, copies, clusters, floors and problems that must pass."""

import itertools

import pytest
from pydantic import ValidationError

from codegate.errors import UsageError
from codegate.gating import CandidateSamples, GatePolicy, compare
from codegate.gating.policy import LOOKS, CohortPolicy, error_level
from codegate.gating.samples import beyond_chance
from tests.gating.sampling import side, uniform

POLICY = GatePolicy()
Results = dict[str, list[bool | None]]


def lost(n: int, few: int, k: int = 1) -> Results:
    """Return ``n`` problems of which the first ``few`` are never solved."""
    return {f"p{i:03}": [i >= few] * k for i in range(n)}


def answered(results: Results, answers: dict[str, list[str]]) -> CandidateSamples:
    plain = side(results)
    return plain.model_copy(
        update={
            "samples": {
                problem: tuple(
                    sample.model_copy(update={"answer": answer})
                    for sample, answer in zip(entries, answers[problem], strict=True)
                )
                for problem, entries in plain.samples.items()
            }
        }
    )


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_each_look_has_less_than_the_whole_error(alpha: float) -> None:
    found = [error_level(LOOKS, samples, alpha) for samples in LOOKS]
    assert max(found) < alpha
    assert found == sorted(found)
    assert error_level(LOOKS, 13, alpha) == found[-1]
    for fixed in (1, 3, 10):
        assert error_level((fixed,), fixed, alpha) == pytest.approx(0.8 * alpha), "one look of a fixed number"


def test_only_calibrated_schedules_are_judged() -> None:
    with pytest.raises(ValueError, match="never calibrated"):
        compare(side(uniform(20, 20)), side(uniform(20, 20)), POLICY, looks=(1, 4))
    with pytest.raises(ValueError, match="at least one candidate"):
        compare(side(uniform(20, 20)), side(uniform(20, 20)), POLICY, candidates=0)


def test_a_lost_sample_leaves_a_gap_and_is_no_look_less() -> None:
    candidate = side(uniform(20, 20, 3))
    entries = candidate.samples["p000"]
    gap = candidate.model_copy(update={"samples": {**candidate.samples, "p000": (entries[0], entries[2])}})
    found = compare(side(uniform(20, 20, 5)), gap, POLICY, looks=LOOKS)
    assert (found.samples, found.look) == (3, 3)


def test_the_level_of_a_regression_is_shared_between_candidates_and_that_of_a_pass_is_not() -> None:
    before, after = side(uniform(40, 40, 10)), side(lost(40, 4))
    alone, among = compare(before, after, POLICY), compare(before, after, POLICY, candidates=9)
    assert (alone.kind, among.kind) == ("regressed", "inconclusive")
    assert among.level == alone.level
    assert among.level_regressed == alone.level_regressed / 9
    assert compare(before, side(uniform(40, 40, 5)), POLICY, candidates=9).kind == "pass"


def test_copies_count_once_and_it_is_said() -> None:
    results = lost(40, 7, 3)
    same = answered(results, {problem: ["a"] * 3 for problem in results})
    verdict = compare(side(uniform(40, 40, 10)), same, POLICY)
    once = compare(side(uniform(40, 40, 10)), side(lost(40, 7)), POLICY)
    assert (verdict.p_regression, verdict.interval) == (once.p_regression, once.interval)
    assert verdict.futile
    assert "The candidate's answers are copies of one another on 40 of 40 problems" in verdict.warnings[0]
    assert {flip.candidate_n for flip in verdict.regressions} == {1}
    few = uniform(20, 18, 2)
    unclear = compare(side(uniform(20, 20, 10)), answered(few, {problem: ["a"] * 2 for problem in few}), POLICY)
    assert unclear.kind == "inconclusive"
    assert "more problems would settle it" in unclear.reason, "more samples add nothing"


def test_a_copied_baseline_is_one_sample_too() -> None:
    results = uniform(40, 30, 10)
    copied = answered(results, {problem: ["a"] * 10 for problem in results})
    verdict = compare(copied, side(uniform(40, 30)), POLICY)
    assert verdict.p_noninferior == compare(side(uniform(40, 30)), side(uniform(40, 30)), POLICY).p_noninferior
    assert "The baseline's answers are copies" in verdict.warnings[0]
    assert not verdict.futile


def test_a_copied_candidate_whose_first_tries_were_lost_has_a_verdict() -> None:
    results = uniform(60, 60, 5)
    copied = answered(results, {problem: ["a"] * 5 for problem in results})
    retried = tuple(sample.model_copy(update={"lost": "provider.malformed"}) for sample in copied.samples["p000"])
    candidate = copied.model_copy(update={"samples": {**copied.samples, "p000": retried}})
    assert compare(side(uniform(60, 60, 10)), candidate, POLICY).kind == "pass"


def test_copies_leave_a_mixed_problem_as_it_is() -> None:
    """Right answers are often equal and wrong ones differ: 8 equal passes and 2 failures are no 1 of 3."""
    results: Results = {f"p{i:03}": [True] * 10 if i < 20 else [*[True] * 8, False, False] for i in range(30)}
    answers = {name: ["a"] * 10 if int(name[1:]) < 20 else [*["a"] * 8, "b", "c"] for name in results}
    verdict = compare(answered(results, answers), side({name: [True] * 5 for name in results}), POLICY)
    assert "The baseline's answers are copies" in verdict.warnings[0]
    assert verdict.baseline_rate == pytest.approx((20 + 10 * 0.8) / 30)


def test_a_critical_floor_needs_a_sample_of_every_problem_it_is_about() -> None:
    policy = GatePolicy(cohorts={"money": CohortPolicy(floor=0.8, tier="critical")})
    after: Results = {**uniform(100, 100, 5), **{f"p{i:03}": [None] * 5 for i in range(7)}}
    for before in (8, 0):  # tags may be newer than the baseline: they are no part of a problem's digest
        verdict = compare(tagged(uniform(100, 100, 10), before), tagged(after, 8), policy)
        assert verdict.kind == "inconclusive"
        assert "not every problem under the critical floor of 'money' has a graded sample" in verdict.reason


def test_an_easy_problem_that_is_answered_twice_alike_is_no_copy() -> None:
    results = uniform(40, 40, 3)
    answers = {problem: ["a"] * 3 if i < 20 else ["a", "b", "c"] for i, problem in enumerate(results)}
    verdict = compare(side(uniform(40, 40, 10)), answered(results, answers), POLICY)
    assert (verdict.warnings, verdict.futile) == ((), False)
    assert compare(side(uniform(40, 40, 10)), side(results), POLICY).warnings == (), "unknown answers are no copies"


@pytest.mark.requirement("V1")
def test_pull_requests_are_the_units_of_the_sentence_about_bugs_like_these() -> None:
    before, after = uniform(48, 48, 2), lost(48, 8, 2)
    sources = {problem: f"pr-{i // 4}" for i, problem in enumerate(before)}
    apart = compare(side(before), side(after), POLICY)
    together = compare(side(before), side(after).model_copy(update={"clusters": sources}), POLICY)
    assert (apart.kind, apart.difference) == (together.kind, together.difference), "the verdict is about these problems"
    assert apart.population is not None
    assert together.population is not None
    assert (apart.population.units, together.population.units) == (48, 12)
    assert apart.population.sentence.endswith("; the candidate is worse.")
    assert "-16.7 pp, 93% interval -40.6 to +5.9, from 12 pull requests; a drop" in together.population.sentence


def test_of_few_pull_requests_or_problems_nothing_is_said_about_others() -> None:
    before, after = side(uniform(60, 60, 10)), side(uniform(60, 60, 5))
    sources = {problem: f"pr-{i // 10}" for i, problem in enumerate(before.problem_digests)}
    few = compare(before.model_copy(update={"clusters": sources}), after, POLICY)
    assert (few.kind, few.advisory) == ("pass", False)
    assert few.population is not None
    assert few.population.sentence.endswith(
        ": 60 problems from 6 pull requests are too few to say anything about others."
    )
    ten = compare(side(uniform(10, 10, 10)), side(uniform(10, 10, 10)), POLICY)
    assert (ten.kind, ten.population and ten.population.sentence) == (
        "pass",
        "For bugs like these: 10 problems are too few to say anything about others.",
    )
    many = compare(before, after, POLICY).population
    assert many is not None
    assert many.sentence.endswith("; a drop of 10 pp or more is ruled out too.")


def test_what_must_pass_decides_alone_once_the_looks_are_taken() -> None:
    policy, looks = GatePolicy(must_pass=("p000",)), LOOKS
    before, after = side(uniform(60, 60, 5)), side(lost(60, 1, 2))
    assert compare(before, after, POLICY, looks=looks).kind == "pass"
    early = compare(before, after, policy, looks=looks)
    assert (early.kind, early.must_pass_failed) == ("inconclusive", ("p000",))
    assert "is not solved yet (p000)" in early.reason
    late = compare(before, side(lost(60, 1, 10)), policy, looks=looks)
    assert late.kind == "regressed"
    assert "in 10 samples it never solved a problem of `gate.must_pass`: p000" in late.reason
    once: Results = {**lost(60, 1, 10), "p000": [*[False] * 9, True]}
    assert compare(before, side(once), policy, looks=looks).kind == "pass"


def test_what_must_pass_and_has_no_sample_is_no_pass() -> None:
    policy = GatePolicy(must_pass=("p000",))
    before, after = side(uniform(60, 60, 5)), side({**uniform(60, 60, 5), "p000": [None] * 5})
    verdict = compare(before, after, policy)
    assert verdict.kind == "inconclusive"
    assert "a problem of `gate.must_pass` has no graded sample: p000" in verdict.reason


def test_what_must_pass_and_does_not_exist_is_an_error() -> None:
    with pytest.raises(UsageError, match="must_pass names the problem 'p999'"):
        compare(side(uniform(20, 20)), side(uniform(20, 20)), GatePolicy(must_pass=("p999",)))


def tagged(results: Results, few: int) -> CandidateSamples:
    return side(results).model_copy(update={"tags": {f"p{i:03}": ("money",) for i in range(few)}})


@pytest.mark.parametrize(
    ("tier", "solved", "kind", "warned"),
    [
        ("critical", 12, "pass", False),
        ("critical", 10, "pass", True),
        ("critical", 4, "regressed", True),
        ("supporting", 10, "pass", True),
        ("supporting", 4, "pass", True),
        ("advisory", 10, "pass", False),
        ("advisory", 4, "pass", True),
    ],
)
@pytest.mark.requirement("D5")
def test_a_floor_gates_only_where_it_is_critical_and_broken_beyond_chance(
    tier: str, solved: int, kind: str, warned: bool
) -> None:
    policy = GatePolicy.model_validate({"cohorts": {"money": {"floor": 0.9, "tier": tier}}})
    results: Results = {f"p{i:03}": [i >= 12 - solved] * 5 for i in range(120)}
    verdict = compare(tagged(results, 12), tagged(results, 12), policy)
    assert verdict.kind == kind
    assert any("floor" in warning for warning in verdict.warnings) == warned
    (cohort,) = verdict.cohorts
    assert (cohort.tag, cohort.problems, cohort.floor, cohort.candidate_rate) == ("money", 12, 0.9, solved / 12)


def test_a_critical_floor_that_nothing_was_held_against_is_no_pass() -> None:
    policy = GatePolicy(cohorts={"money": CohortPolicy(floor=0.9, tier="critical")})
    verdict = compare(side(uniform(40, 40, 5)), side(uniform(40, 40, 5)), policy)
    assert verdict.kind == "inconclusive"
    assert "no compared problem carries the tag 'money'" in verdict.reason


def test_what_nothing_can_pass_is_known_before_the_first_sample() -> None:
    before, none = tagged(uniform(40, 40, 10), 12), tagged({name: [] for name in uniform(40, 40)}, 12)
    mistyped = GatePolicy(cohorts={"mony": CohortPolicy(floor=0.9, tier="critical")})
    gone = before.model_copy(update={"excluded": {"q-1": "quarantined: flaky"}})
    for baseline, policy, why in (
        (before, mistyped, "the tag 'mony', which has a critical floor; did you mean 'money'?"),
        (gone, GatePolicy(must_pass=("q-1",)), "problems that are left out of the comparison: q-1."),
        (side({}), GatePolicy(drop_changed=True), "no problems to compare"),
    ):
        verdict = compare(baseline, none, policy, looks=policy.looks)
        assert (verdict.kind, verdict.futile) == ("inconclusive", True)
        assert why in verdict.reason
    assert not compare(before, none, POLICY, looks=POLICY.looks).futile


def test_a_mistyped_tag_warns_whatever_its_tier() -> None:
    policy = GatePolicy(cohorts={"mony": CohortPolicy(floor=0.9), "else": CohortPolicy(floor=0.9)})
    verdict = compare(tagged(uniform(40, 40, 10), 12), tagged(uniform(40, 40, 10), 12), policy)
    assert (verdict.kind, verdict.futile) == ("pass", False)
    assert verdict.warnings == (
        "No compared problem carries the tag 'else', which has a floor.",
        "No compared problem carries the tag 'mony', which has a floor; did you mean 'money'?",
    )


def test_a_cohort_without_a_floor_warns_and_never_gates() -> None:
    verdict = compare(tagged(uniform(200, 200, 10), 12), tagged(lost(200, 11, 2), 12), POLICY)
    assert verdict.kind == "pass"
    assert "12 problems tagged 'money' the pass rate fell from 100.0% to 8.3%" in verdict.warnings[0]
    few = compare(tagged(uniform(200, 200, 10), 40), tagged(lost(200, 1, 2), 40), POLICY)
    assert few.warnings == ()


def test_beyond_chance_is_nine_of_ten_against_none_of_three() -> None:
    shown = {(x, k) for x, k in itertools.product(range(11), range(1, 4)) if beyond_chance(0, k, x, 10)}
    assert shown == {(9, 3), (10, 3), (10, 2)}
    assert not beyond_chance(0, 3, 3, 3)


@pytest.mark.parametrize(
    "bad",
    [
        {"alpha": 0.5},
        {"alpha": float("nan")},
        {"margin": 0},
        {"margin": 0.3},
        {"margin": "0.1"},
        {"scope": "suite"},
        {"scope": "population"},
        *({"max_samples": most} for most in (2, 3, 4, 5)),
        {"looks": 3},
        {"on_inconclusive": "extend"},
        {"must_pass": "p1"},
        {"must_pass": [1]},
        {"cohorts": {"a": {"floor": 1.1}}},
        {"cohorts": {"a": {"tier": "critical"}}},
        {"cohorts": {"a": {"floor": 0.5, "tier": "vital"}}},
        {"confirm_samples": -1},
        {"max_cost_per_resolved": 0},
        {"max_p95_latency": -1.0},
    ],
)
def test_policy_refuses_nonsense(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GatePolicy.model_validate(bad)
