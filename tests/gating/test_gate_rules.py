"""Looks, several candidates, copies, clusters, floors and problems that must pass."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codegate.errors import UsageError
from codegate.gating import CandidateSamples, CohortPolicy, GatePolicy, Sample, compare
from codegate.gating.compare import beyond_chance
from codegate.gating.looks import asked, level, levels, looks_taken, samples_by, settled
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


@pytest.mark.parametrize("looks", range(1, 6))
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_each_look_has_less_than_the_whole_error(looks: int, alpha: float) -> None:
    found = [levels(looks, look, alpha) for look in range(1, looks + 1)]
    assert max(x.regressed for x in found) <= alpha
    assert max(x.passed for x in found) < alpha
    assert sum(x.regressed for x in found) >= alpha  # more than Bonferroni allows, because the looks share their data
    assert [x.regressed for x in found] == sorted(x.regressed for x in found)
    assert [x.passed for x in found] == sorted(x.passed for x in found)
    assert levels(looks, looks + 3, alpha) == found[-1]
    assert level(looks, alpha) == found[-1].regressed


@pytest.mark.parametrize("looks", [0, 6])
def test_there_are_one_to_five_looks(looks: int) -> None:
    with pytest.raises(ValueError, match="1 to 5 looks"):
        compare(side(uniform(20, 20)), side(uniform(20, 20)), POLICY, looks=looks)
    with pytest.raises(ValueError, match="at least one candidate"):
        compare(side(uniform(20, 20)), side(uniform(20, 20)), POLICY, candidates=0)


def test_extending_is_decided_before_the_first_look() -> None:
    assert GatePolicy(looks=2).planned_looks == 2
    assert GatePolicy(looks=2, on_inconclusive="extend").planned_looks == 5


def test_every_second_look_asks_only_what_is_open() -> None:
    baseline = side({"always": [True] * 5, "never": [False] * 6, "open": [True, False] * 3, "few": [True] * 4})
    assert asked(baseline, 1) == asked(baseline, 3) == {"always", "never", "open", "few"}
    assert asked(baseline, 2) == {"open", "few"}
    assert asked(baseline, 4, always=["never"]) == {"open", "few", "never"}
    for look in range(1, 6):
        for problem in ("always", "open"):
            made = sum(problem in asked(baseline, i) for i in range(1, look + 1))
            assert samples_by(look, settled_problem=problem == "always") == made


def test_a_gap_in_the_samples_is_a_look_that_left_the_problem_out() -> None:
    candidate = side(uniform(20, 20, 3))
    entries = candidate.samples["p000"]
    gap = candidate.model_copy(update={"samples": {**candidate.samples, "p000": (entries[0], entries[2])}})
    assert looks_taken(gap) == 3
    assert compare(side(uniform(20, 20, 5)), gap, POLICY, looks=3).look == 3


def test_what_one_look_shows_at_the_full_level_it_does_not_show_as_the_first_of_three() -> None:
    before, after = side(uniform(40, 40)), side(lost(40, 5))
    alone, first = compare(before, after, POLICY), compare(before, after, POLICY, looks=3)
    assert alone.p_regression == first.p_regression
    assert (alone.kind, first.kind) == ("regressed", "inconclusive")
    assert alone.interval is not None
    assert first.interval is not None
    assert alone.interval[1] < 0 <= first.interval[1]
    assert first.reason.endswith("Look 1 of at most 3.")
    assert first.confidence > alone.confidence


def test_the_level_of_a_regression_is_shared_between_candidates_and_that_of_a_pass_is_not() -> None:
    before, after = side(uniform(40, 40)), side(lost(40, 5))
    alone, among = compare(before, after, POLICY), compare(before, after, POLICY, candidates=3)
    assert (alone.kind, among.kind) == ("regressed", "inconclusive")
    assert among.level == alone.level
    assert among.level_regressed == alone.level_regressed / 3
    assert compare(before, side(uniform(40, 40)), POLICY, candidates=5).kind == "pass"


@given(st.integers(0, 12), st.integers(1, 5), st.integers(1, 5))
def test_few_changed_problems_are_no_regression(changed: int, looks: int, candidates: int) -> None:
    after = side(lost(60, changed))
    verdict = compare(side(uniform(60, 60)), after, POLICY, looks=looks, candidates=candidates)
    assert verdict.kind != "regressed" or 0.5**changed < verdict.level_regressed


def test_copies_count_once_and_it_is_said() -> None:
    results = lost(40, 7, 3)
    same = answered(results, {problem: ["a"] * 3 for problem in results})
    verdict = compare(side(uniform(40, 40, 10)), same, POLICY)
    once = compare(side(uniform(40, 40, 10)), side(lost(40, 7)), POLICY)
    assert (verdict.p_regression, verdict.interval) == (once.p_regression, once.interval)
    assert verdict.futile
    assert "The candidate's answers are copies of one another on 40 of 40 problems" in verdict.warnings[0]
    assert {flip.candidate_n for flip in verdict.regressions} == {1}


def test_a_copied_baseline_is_one_sample_too() -> None:
    results = uniform(40, 30, 10)
    copied = answered(results, {problem: ["a"] * 10 for problem in results})
    verdict = compare(copied, side(uniform(40, 30)), POLICY)
    assert verdict.p_noninferior == compare(side(uniform(40, 30)), side(uniform(40, 30)), POLICY).p_noninferior
    assert "The baseline's answers are copies" in verdict.warnings[0]
    assert not verdict.futile


def test_an_easy_problem_that_is_answered_twice_alike_is_no_copy() -> None:
    results = uniform(40, 40, 3)
    answers = {problem: ["a"] * 3 if i < 20 else ["a", "b", "c"] for i, problem in enumerate(results)}
    verdict = compare(side(uniform(40, 40, 10)), answered(results, answers), POLICY)
    assert (verdict.warnings, verdict.futile) == ((), False)
    assert compare(side(uniform(40, 40, 10)), side(results), POLICY).warnings == (), "unknown answers are no copies"


def test_problems_of_one_source_count_as_one() -> None:
    before, after = uniform(48, 48), lost(48, 8)
    apart = compare(side(before), side(after), POLICY)
    sources = {problem: f"pr-{i // 4}" for i, problem in enumerate(before)}
    together = compare(side(before), side(after).model_copy(update={"clusters": sources}), POLICY)
    assert (apart.kind, apart.clusters) == ("regressed", None)
    assert (together.kind, together.clusters, together.difference) == ("inconclusive", 12, apart.difference)
    assert "on 48 problems from 12 pull requests" in together.reason
    assert together.advisory, "twelve independent pieces of evidence are fewer than sixteen"


def test_with_too_few_sources_their_likeness_is_said_instead() -> None:
    before = uniform(44, 44)
    sources = {problem: f"pr-{i // 4}" for i, problem in enumerate(before)}
    verdict = compare(side(before).model_copy(update={"clusters": sources}), side(before), POLICY)
    assert verdict.clusters is None
    assert "come from only 11 pull requests" in verdict.warnings[0]


def test_a_source_of_its_own_for_each_problem_changes_nothing() -> None:
    before, after = uniform(30, 25), lost(30, 9)
    own = {problem: f"pr-{problem}" for problem in before}
    verdict = compare(side(before), side(after).model_copy(update={"clusters": own}), POLICY)
    assert verdict == compare(side(before), side(after), POLICY)


def test_what_must_pass_decides_alone_once_the_looks_are_taken() -> None:
    policy = GatePolicy(must_pass=("p000",))
    before, after = side(uniform(60, 60, 5)), side(lost(60, 1))
    assert compare(before, after, POLICY, looks=3).kind == "pass"
    early = compare(before, after, policy, looks=3)
    assert (early.kind, early.must_pass_failed) == ("inconclusive", ("p000",))
    assert "has not been solved yet (p000)" in early.reason
    late = compare(before, side(lost(60, 1, 3)), policy, looks=3)
    assert late.kind == "regressed"
    assert "it never solved what must pass: p000" in late.reason
    once: Results = {**lost(60, 1, 3), "p000": [False, False, True]}
    assert compare(before, side(once), policy, looks=3).kind == "pass"


def test_what_must_pass_and_was_not_asked_is_no_pass() -> None:
    policy = GatePolicy(must_pass=("p000",))
    before, after = side(uniform(60, 60, 5)), side({**uniform(60, 60), "p000": [None]})
    verdict = compare(before, after, policy)
    assert verdict.kind == "inconclusive"
    assert "could not be asked: p000" in verdict.reason


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
def test_a_floor_gates_only_where_it_is_critical_and_broken_beyond_chance(
    tier: str, solved: int, kind: str, warned: bool
) -> None:
    policy = GatePolicy.model_validate({"cohorts": {"money": {"floor": 0.9, "tier": tier}}})
    results: Results = {f"p{i:03}": [i >= 12 - solved] for i in range(120)}
    verdict = compare(tagged(results, 12), tagged(results, 12), policy)
    assert verdict.kind == kind
    assert any("floor" in warning for warning in verdict.warnings) == warned
    (cohort,) = verdict.cohorts
    assert (cohort.tag, cohort.problems, cohort.floor, cohort.candidate_rate) == ("money", 12, 0.9, solved / 12)


def test_a_critical_floor_that_nothing_was_held_against_is_no_pass() -> None:
    policy = GatePolicy(cohorts={"money": CohortPolicy(floor=0.9, tier="critical")})
    verdict = compare(side(uniform(40, 40)), side(uniform(40, 40)), policy)
    assert verdict.kind == "inconclusive"
    assert "no compared problem carries the tag 'money'" in verdict.reason


def test_a_cohort_without_a_floor_warns_and_never_gates() -> None:
    verdict = compare(tagged(uniform(200, 200), 12), tagged(lost(200, 11), 12), POLICY)
    assert verdict.kind == "pass"
    assert "12 problems tagged 'money' the pass rate fell from 100.0% to 8.3%" in verdict.warnings[0]
    assert compare(tagged(uniform(200, 200), 12), tagged(lost(200, 2), 12), POLICY).warnings == ()


def test_cohorts_are_adjusted_for_their_number() -> None:
    before, after = side(uniform(200, 200)), side(lost(200, 6))
    tags = {f"p{i:03}": ("a",) if i < 12 else (f"t{i % 15}",) for i in range(200)}
    one = compare(before, after.model_copy(update={"tags": {f"p{i:03}": ("a",) for i in range(12)}}), POLICY)
    many = compare(before, after.model_copy(update={"tags": tags}), POLICY)
    first = {cohort.tag: cohort for cohort in many.cohorts}["a"]
    assert len(one.warnings) == 1
    assert first.p_holm is not None
    assert first.p_regression is not None
    assert first.p_holm == pytest.approx(16 * first.p_regression)
    assert many.warnings == ()


def test_a_single_flip_is_marked_when_it_is_beyond_chance() -> None:
    before = uniform(40, 40, 10)
    after: Results = {**uniform(40, 40, 3), "p000": [False] * 3, "p001": [False, False, True]}
    verdict = compare(side(before), side(after), POLICY)
    assert [(flip.problem, flip.beyond_chance) for flip in verdict.regressions] == [("p000", True), ("p001", False)]
    assert [flip.problem for flip in verdict.lost] == ["p000"]


def test_beyond_chance_is_nine_of_ten_against_none_of_three() -> None:
    shown = {(x, k) for x, k in itertools.product(range(11), range(1, 4)) if beyond_chance(0, k, x, 10)}
    assert shown == {(9, 3), (10, 3), (10, 2)}
    assert not beyond_chance(0, 3, 3, 3)


def test_the_detectable_drop_shrinks_with_problems_and_grows_with_candidates() -> None:
    def drop(n: int, looks: int = 3, candidates: int = 1) -> float:
        verdict = compare(side(uniform(n, n, 10)), side(uniform(n, n)), POLICY, looks=looks, candidates=candidates)
        assert verdict.detectable_drop is not None
        return verdict.detectable_drop

    assert drop(24) > drop(60) > drop(120)
    assert drop(60, candidates=3) > drop(60)


def test_few_problems_say_no_detectable_drop_or_none_that_is_too_small() -> None:
    def drop(n: int) -> float | None:
        return compare(side(uniform(n, n, 10)), side(uniform(n, n)), POLICY).detectable_drop

    five = compare(side(uniform(5, 5, 1)), side(uniform(5, 1, 1)), POLICY)
    assert (five.kind, five.detectable_drop) == ("inconclusive", None)
    assert "would be found" not in five.reason
    assert drop(9) is None
    assert (drop(10) or 0) >= 0.30
    assert (drop(16) or 0) >= 0.19


@pytest.mark.parametrize(
    "bad",
    [
        {"looks": 0},
        {"looks": 6},
        {"on_inconclusive": "maybe"},
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


def test_a_policy_may_come_from_a_file() -> None:
    policy = GatePolicy.model_validate({"must_pass": ["a", "b"], "cohorts": {"x": {"floor": 1}}, "max_p95_latency": 60})
    assert policy.must_pass == ("a", "b")
    assert policy.cohorts["x"].tier == "supporting"
    assert Sample(index=0, passed=True).answer is None
    assert settled(0, 5)
