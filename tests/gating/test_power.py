"""What ``plan`` foretells: the gate itself, simulated on what a baseline shows."""

import pytest

from codegate.gating import CandidateSamples, GatePolicy, Sample
from codegate.gating.power import baseline_model, fitted_model, forecast, power_statement, typical_model
from tests.gating.sampling import side

pytestmark = pytest.mark.sandbox  # gates are simulated

POLICY = GatePolicy()


def stored(counts: list[tuple[int, int]]) -> CandidateSamples:
    names = [f"p-{i}" for i in range(len(counts))]
    return CandidateSamples(
        candidate="c", label="c", model="m", conditions={}, problem_digests=dict.fromkeys(names, "0"),
        samples={
            name: tuple(Sample(index=i, passed=i < passed) for i in range(n))
            for name, (passed, n) in zip(names, counts, strict=True)
        },
    )  # fmt: skip


@pytest.mark.full
def test_a_typical_suite_of_thirty_is_answered() -> None:
    found = power_statement(typical_model([f"p{i}" for i in range(30)]), POLICY)
    assert found.equal.passed > 0.95
    assert found.equal.regressed < 0.02
    assert 2.5 < found.equal.samples < 4.5
    assert found.worse.regressed > 0.7
    assert found.worse.passed < 0.06
    assert found.detectable_drop is not None
    assert 0.09 <= found.detectable_drop <= 0.12
    assert found == power_statement(typical_model([f"p{i}" for i in range(30)]), POLICY), (
        "the same suite, the same forecast"
    )
    first, second = found.sentences()
    assert first.startswith("30 problems, up to 10 samples each: a candidate that is equal on them passes in ")
    assert "one that lost 10 pp ends regressed in " in second


def test_a_fixed_number_of_samples_and_several_candidates_find_less() -> None:
    model = typical_model([f"p{i}" for i in range(24)])
    alone = forecast(model, POLICY, drop=0.12).regressed
    assert forecast(model, POLICY, looks=(2,), drop=0.12).regressed < alone
    assert forecast(model, POLICY, looks=(2,), drop=0.12).samples == 2
    assert forecast(model, POLICY, candidates=5, drop=0.12).regressed <= alone


@pytest.mark.parametrize("passed", [0, 1])
@pytest.mark.parametrize("samples", [2, 10])
def test_a_baseline_that_never_varies_has_a_forecast_too(passed: int, samples: int) -> None:
    found = forecast(baseline_model(stored([(passed * samples, samples)] * 40)), POLICY)
    assert (found.passed, found.regressed) == (passed, 0.0), "never solved: no drop could show"


def test_few_problems_get_no_pass() -> None:
    found = power_statement(typical_model([f"p{i}" for i in range(6)]), POLICY)
    assert found.equal.passed == 0.0
    assert "samples each: nothing passes below 10 problems (`gate.min_problems`)" in found.sentences()[0]
    single = power_statement(typical_model([f"p{i}" for i in range(6)]), POLICY, looks=(2,))
    assert (single.fewest_problems, single.equal.passed) == (16, 0.0)
    assert "or no drop" not in found.sentences()[1]
    assert "too few problems" in power_statement(typical_model([f"p{i}" for i in range(1)]), POLICY).detectable_words()


def test_the_model_is_fitted_to_the_repeats_of_the_baseline() -> None:
    model = fitted_model([(10, 10)] * 12 + [(0, 10)] * 8, [f"p{i}" for i in range(20)])
    assert (model.rate, model.strength, model.problems, model.units) == (0.6, 0.0, 20, 20)
    assert fitted_model([(5, 10)] * 20, ["one"] * 20).units == 1
    with pytest.raises(ValueError, match="without a graded sample"):
        baseline_model(side({}))
