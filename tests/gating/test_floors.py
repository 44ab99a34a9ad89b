"""Absolute demands without a baseline: a release gate of a share of all problems, or of those with a tag."""

import pytest
from scipy import stats

from codegate.errors import UsageError
from codegate.gating import CandidateSamples, GatePolicy, compare
from codegate.gating.floors import against_floors
from codegate.gating.policy import CohortPolicy, Tier
from tests.gating.sampling import side, uniform


def floor(tag: str, share: float, tier: Tier = "critical") -> GatePolicy:
    return GatePolicy(cohorts={tag: CohortPolicy(floor=share, tier=tier)})


def solving(n: int, solved: int, lost: int = 0, tagged: int = 0) -> CandidateSamples:
    """Return ``n`` problems of which the first ``solved`` pass and the last ``lost`` have no grade."""
    results: dict[str, list[bool | None]] = {**uniform(n, solved), **{f"p{i:03}": [None] for i in range(n - lost, n)}}
    return side(results).model_copy(update={"tags": {f"p{i:03}": ("tier:1",) for i in range(tagged)}})


@pytest.mark.requirement("D5")
@pytest.mark.parametrize(
    ("solved", "kind", "words"),
    [
        (100, "pass", "On all 100 problems the candidate solves 100.0%"),
        (95, "pass", "the floor is 95.0%"),
        (94, "inconclusive", "below the critical floor of 95.0%; with so few problems this may be chance"),
        (85, "regressed", "below the critical floor of 95.0% beyond chance"),
    ],
)
def test_a_floor_for_all_problems_decides_without_a_baseline(solved: int, kind: str, words: str) -> None:
    verdict = against_floors(solving(100, solved), floor("all", 0.95))
    assert (verdict.kind, verdict.baseline_label, verdict.baseline_rate) == (kind, None, None)
    assert words in verdict.reason
    assert verdict.candidate_rate == pytest.approx(solved / 100)


@pytest.mark.requirement("D5")
def test_a_floor_of_a_cohort_looks_at_its_problems_alone() -> None:
    policy = floor("tier:1", 0.9)
    assert against_floors(solving(60, 20, tagged=20), policy).kind == "pass"
    failing = against_floors(side(uniform(60, 0)).model_copy(update={"tags": {"p000": ("tier:1",)}}), policy)
    assert failing.kind == "inconclusive", "one failure of one problem is no proof"
    assert "the 1 problem tagged 'tier:1'" in failing.reason


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("share", [0.75, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 20, 30])
def test_a_candidate_at_its_floor_is_called_below_it_in_one_of_twenty_runs_at_most(n: int, share: float) -> None:
    """With Wilson's bound in 25 % for one problem and a floor of 75 %."""
    chance = 0.0
    for solved in range(n + 1):
        verdict = against_floors(solving(n, solved), floor("all", share))
        (cohort,) = verdict.cohorts
        assert (verdict.kind == "regressed") == (cohort.upper is not None and cohort.upper < share)
        chance += float(stats.binom.pmf(solved, n, share)) * (verdict.kind == "regressed")
    assert chance <= 0.05


def test_the_interval_of_a_floor_is_at_the_level_that_decides() -> None:
    verdict = against_floors(solving(20, 10), floor("all", 0.75))
    assert verdict.kind == "regressed"
    assert verdict.reason.startswith(
        "On all 20 problems the candidate solves 50.0% (90.0% interval 30.2% to 69.8%), below the critical floor of 75"
    )


def test_a_floor_that_is_not_critical_only_warns() -> None:
    policy = GatePolicy(must_pass=("p000",), cohorts={"all": CohortPolicy(floor=0.9)})
    verdict = against_floors(solving(60, 10), policy)
    assert verdict.kind == "pass"
    assert "below the supporting floor of 90.0% beyond chance" in verdict.warnings[0]


def test_a_problem_that_must_pass_decides_without_a_baseline() -> None:
    policy = GatePolicy(must_pass=("p000", "p019"))
    assert against_floors(solving(20, 20), policy).kind == "pass"
    assert against_floors(solving(20, 19), policy).must_pass_failed == ("p019",)
    assert against_floors(solving(20, 19), policy).kind == "regressed"
    assert against_floors(solving(20, 20, lost=1), policy).kind == "inconclusive"


@pytest.mark.requirement("F4")
def test_lost_samples_never_make_a_pass() -> None:
    policy = floor("all", 0.95)
    assert against_floors(solving(100, 100, lost=2), policy).kind == "pass"
    reached = against_floors(solving(100, 100, lost=7), policy)
    assert (reached.kind, len(reached.excluded)) == ("inconclusive", 7)
    assert "7 more have no graded sample" in reached.reason
    assert against_floors(solving(100, 100, lost=20), policy).kind == "infrastructure"
    assert against_floors(solving(100, 100, lost=100), policy).kind == "infrastructure"
    some = against_floors(side({f"p{i:03}": [True, True, True, None, None] for i in range(40)}), policy)
    assert (some.kind, "Some samples were lost; counted as failed" in some.reason) == ("inconclusive", True)
    assert against_floors(side({f"p{i:03}": [*([True] * 9), None] for i in range(40)}), policy).kind == "pass"
    unseen = side({**uniform(40, 40), "p007": [None]}).model_copy(update={"tags": {"p007": ("tier:1",)}})
    assert against_floors(unseen, floor("tier:1", 0.5)).kind == "inconclusive"


def test_a_wanted_number_of_problems_holds_for_floors_too() -> None:
    policy = floor("all", 0.5).model_copy(update={"min_problems": 30})
    assert against_floors(solving(20, 20), policy).kind == "inconclusive"
    assert against_floors(solving(30, 30), policy).kind == "pass"


def test_a_floor_of_an_unknown_tag_is_refused() -> None:
    with pytest.raises(UsageError, match="no problem carries the tag 'teir:1'"):
        against_floors(solving(20, 20, tagged=5), floor("teir:1", 0.5))


def test_candidates_share_the_error_of_a_broken_floor() -> None:
    alone, together = (against_floors(solving(100, 89), floor("all", 0.95), count) for count in (1, 50))
    assert (alone.kind, together.kind) == ("regressed", "inconclusive")


@pytest.mark.requirement("D5")
def test_a_floor_for_all_problems_gates_beside_a_baseline() -> None:
    policy = floor("all", 0.95)
    weak = side({f"p{i:03}": [i >= 40] * 5 for i in range(120)})
    verdict = compare(weak, weak, policy)
    assert verdict.kind == "regressed"
    assert "it solves 66.7% (92.0% interval 58.4% to 74.2%), below the critical floor of 95.0% beyond" in verdict.reason
    assert compare(weak, weak, GatePolicy()).kind == "pass"


def test_only_a_critical_floor_stands_alone() -> None:
    assert floor("all", 0.95).critical_floors
    assert not floor("all", 0.95, "supporting").critical_floors
    assert not GatePolicy(must_pass=("p000",)).critical_floors, "the run that becomes the baseline is no release gate"
