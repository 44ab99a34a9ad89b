import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.gating import CandidateSamples, GatePolicy, compare, confirm
from codegate.gating.comparability import QUARANTINED, without_problems
from codegate.gating.confirm import drift_between, pooled
from codegate.gating.policy import CohortPolicy
from tests.gating.sampling import SETTINGS, side, uniform

POLICY = GatePolicy()


def results(n: int, k: int, first: int) -> dict[str, list[bool | None]]:
    return {f"p{i:03}": [i >= first] * k for i in range(n)}


def results_of(k: int, *passed: int) -> dict[str, list[bool | None]]:
    """Return 30 problems of ``k`` samples, whose passes take turns."""
    return {f"p{i:03}": [j < passed[i % len(passed)] for j in range(k)] for i in range(30)}


def worse(n: int = 40, lost: int = 12) -> CandidateSamples:
    return side(results(n, 3, lost), label="new")


def test_a_regression_that_fresh_samples_repeat_is_confirmed() -> None:
    verdict = confirm(side(uniform(40, 40, 10)), side(uniform(40, 40, 3)), worse(), POLICY)
    assert (verdict.kind, verdict.confirmed) == ("regressed", True)
    assert verdict.drift is not None
    assert (verdict.drift.p, verdict.drift.drifted, verdict.drift.fresh_samples) == (1.0, False, 120)
    assert (
        "Confirmed by fresh samples of the pinned model; no drift of the pinned model shown (100.0% now vs 100.0% then"
        in verdict.reason
    )
    assert "; the baseline above is both together)" in verdict.reason


def test_what_broke_for_the_pinned_model_too_is_no_regression() -> None:
    broken = side(results(40, 3, 12))
    assert compare(side(uniform(40, 40, 10)), worse(), POLICY).kind == "regressed"
    verdict = confirm(side(uniform(40, 40, 10)), broken, worse(), POLICY)
    assert (verdict.kind, verdict.confirmed) == ("inconclusive", False)
    assert verdict.drift is not None
    assert verdict.drift.drifted
    assert "the baseline needs a refresh" in verdict.reason
    assert "both together" not in verdict.reason
    again = confirm(
        side(uniform(40, 40, 10)), side(uniform(40, 20, 3)), side(uniform(40, 20)), POLICY, looks=POLICY.looks
    )
    assert again.kind == "inconclusive"
    assert "sampling goes on" not in again.reason, "it is over"
    assert "of at most 10 samples" not in again.reason
    assert verdict.difference == 0.0, "the candidate is compared with the fresh samples alone"


def test_a_drop_that_the_pinned_model_shares_is_not_confirmed() -> None:
    stored, candidate = side(results_of(10, 6, 6)), side(results_of(10, 5, 5))
    steady, shared = side(results_of(3, 2, 2)), side(results_of(3, 1, 2))
    assert compare(stored, candidate, POLICY).kind == "regressed"
    assert confirm(stored, steady, candidate, POLICY).confirmed
    verdict = confirm(stored, shared, candidate, POLICY)
    assert (verdict.kind, verdict.confirmed) == ("inconclusive", False)
    assert verdict.drift is not None
    assert not verdict.drift.drifted, "the drop is too small to be shown by three samples"
    assert "against these alone the difference is +0.0 pp, and -5 pp or lower confirms" in verdict.reason


def test_a_baseline_that_was_lucky_once_does_not_convict() -> None:
    lucky = results(40, 1, 0)
    honest: dict[str, list[bool | None]] = {f"p{i:03}": [i >= 12, i >= 3, True] for i in range(40)}
    candidate = side(results(40, 1, 6))
    assert compare(side(lucky), candidate, POLICY).kind == "regressed"
    verdict = confirm(side(lucky), side(honest), candidate, POLICY)
    assert (verdict.kind, verdict.confirmed) == ("inconclusive", False)
    assert verdict.drift is not None
    assert not verdict.drift.drifted
    assert "is not confirmed" in verdict.reason


@pytest.mark.parametrize("passed", [38, 40])
def test_what_did_not_regress_is_left_alone(passed: int) -> None:
    stored, fresh, candidate = side(uniform(40, 40, 10)), side(uniform(40, 0, 3)), side(uniform(40, passed, 3))
    assert confirm(stored, fresh, candidate, POLICY) == compare(stored, candidate, POLICY)


def test_fresh_samples_that_are_lost_confirm_nothing() -> None:
    stored, lost = side(uniform(40, 40, 10)), side(dict.fromkeys(uniform(40, 0), [None] * 3), label="pinned")
    verdict = confirm(stored, lost, worse(), POLICY)
    assert (verdict.kind, verdict.confirmed) == ("infrastructure", False)
    assert "40 of 40 problems have fewer than half of the 3 samples of pinned" in verdict.reason
    assert "candidate" not in verdict.reason
    assert verdict.reason.endswith("If that model was shut down, pin another one, or set `gate.confirm_samples: 0`.")
    other = side(uniform(40, 40, 3), conditions={"suite": "another"})
    assert confirm(stored, other, worse(), POLICY).kind == "incomparable"


def test_fresh_samples_under_another_prompt_are_not_pooled_with_stored_ones() -> None:
    newer = {**SETTINGS, "prompt": "2"}
    fresh = side(uniform(40, 40, 3), settings=newer)
    candidate = worse().model_copy(update={"settings": {**newer, "model": "y"}})
    verdict = confirm(side(uniform(40, 38, 10)), fresh, candidate, POLICY)
    assert (verdict.kind, verdict.baseline_rate) == ("regressed", 1.0)
    assert [one.field for one in verdict.changes] == ["prompt"], "as against the baseline"


def test_a_demand_counts_only_where_the_pinned_model_meets_it_today() -> None:
    tagged = {"tags": {f"p{i:03}": ("slow",) for i in range(10)}}
    policy = GatePolicy(must_pass=("p000",), cohorts={"slow": CohortPolicy(floor=0.9, tier="critical")})
    stored = side(uniform(40, 40, 10)).model_copy(update=tagged)
    dead = results(40, 3, 8)
    candidate = side(dead).model_copy(update=tagged)
    assert confirm(stored, side(uniform(40, 40, 3)), candidate, policy).kind == "regressed"
    verdict = confirm(stored, side(dead), candidate, policy)
    assert verdict.kind == "inconclusive"
    assert [warning for warning in verdict.warnings if "p000" in warning and "`gate.must_pass` either" in warning]
    assert [warning for warning in verdict.warnings if "critical floor in its fresh samples" in warning]


@pytest.mark.parametrize("excluded", [True, False])
def test_what_the_pinned_model_could_not_do_again_confirms_nothing(excluded: bool) -> None:
    """Since the run four problems have become unsound on this machine, or their fresh samples were lost."""
    gone = {f"p{i:03}" for i in range(4)}
    tags = {"tags": dict.fromkeys(gone, ("slow",))}
    stored = side(uniform(40, 40, 10)).model_copy(update=tags)
    candidate = side(results(40, 3, 4)).model_copy(update=tags)
    fresh = side({name: [None if name in gone else True] * 3 for name in uniform(40, 40)}).model_copy(update=tags)
    if excluded:
        reasons = dict.fromkeys(gone, f"{QUARANTINED}the reference fix does not pass here")
        fresh = without_problems(fresh, reasons)
    for demand in ({"must_pass": ["p000"]}, {"cohorts": {"slow": {"floor": 0.9, "tier": "critical"}}}):
        policy = GatePolicy.model_validate(demand)
        assert compare(stored, candidate, policy).kind == "regressed"
        verdict = confirm(stored, fresh, candidate, policy)
        assert (verdict.kind, verdict.confirmed) == ("inconclusive", False), verdict.reason
        assert verdict.problems == (36 if excluded else 40)
        assert [warning for warning in verdict.warnings if "fresh samples" in warning and "either" in warning]


counts = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12)


@given(counts)
def test_drift_is_the_same_in_both_directions_and_none_without_change(entries: list[tuple[int, int]]) -> None:
    stored = side({f"p{i}": [j < x for j in range(5)] for i, (x, _) in enumerate(entries)})
    fresh = side({f"p{i}": [j < y for j in range(3)] for i, (_, y) in enumerate(entries)})
    here, there = drift_between(stored, fresh), drift_between(fresh, stored)
    assert here.p == pytest.approx(there.p, abs=1e-12)
    assert drift_between(stored, stored).p == 1.0
    assert 0.0 <= here.p <= 1.0
    both = pooled(stored, fresh)
    assert all([s.index for s in both.samples[p]] == list(range(8)) for p in both.samples)


def test_another_model_behind_the_pinned_name_is_a_warning() -> None:
    stored, candidate = side(uniform(40, 40, 3)), worse()
    fresh = stored.model_copy(update={"model": "model-z"})
    [warning] = confirm(stored, fresh, candidate.model_copy(update={"model": "model-x"}), POLICY).warnings
    assert warning.startswith("x.jsonl was served as model-x for the baseline and as model-z now")
