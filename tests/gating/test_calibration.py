import random
from dataclasses import replace

import pytest

from codegate.errors import UsageError
from codegate.gating import CandidateSamples, GatePolicy
from codegate.gating.power import calibrate
from tests.gating.sampling import part, side

pytestmark = pytest.mark.sandbox  # gates are simulated

POLICY = GatePolicy()


def noisy(n: int = 24, k: int = 10, seed: int = 1) -> CandidateSamples:
    draw = random.Random(seed)
    rates = [draw.betavariate(0.24, 0.16) for _ in range(n)]
    return side({f"p{i:02}": [draw.random() < rate for _ in range(k)] for i, rate in enumerate(rates)})


def test_one_model_against_itself_seldom_alarms() -> None:
    found = calibrate(noisy(), POLICY, splits=30)
    assert (found.problems, found.left_out, found.half, found.splits) == (24, 0, (5, 5), 30)
    assert found.kept
    assert found.low <= found.share == found.alarms / 30 <= found.high
    assert found.alarms <= 5
    assert found.run_noise == pytest.approx((found.noise / 24) ** 0.5)
    assert found.detectable_drop is not None
    assert 0.09 <= found.detectable_drop <= 0.14


def test_the_noise_is_the_mean_variance_of_a_sample() -> None:
    half: list[bool | None] = [True, False] * 5
    found = calibrate(side({"a": half, "b": [True] * 10}), POLICY, splits=1)
    assert found.noise == pytest.approx((25 / 90) / 2), "x(k-x)/(k(k-1)) of each problem"


def test_samples_that_depend_on_each_other_are_found_out() -> None:
    """Every problem's samples are one draw: they are all alike, and then equal answers count once."""
    draw = random.Random(2)
    results: dict[str, list[bool | None]] = {f"p{i:02}": [draw.random() < 0.5] * 10 for i in range(24)}
    entries = side(results)
    copies = {
        name: tuple(sample.model_copy(update={"answer": name}) for sample in many)
        for name, many in entries.samples.items()
    }
    with pytest.raises(UsageError, match="0 of 24 problems have 4 independent samples"):
        calibrate(entries.model_copy(update={"samples": copies}), POLICY, splits=5)


def test_what_cannot_be_halved_is_left_out() -> None:
    results: dict[str, list[bool | None]] = {f"p{i}": [True, False, True, True, False] for i in range(4)}
    results["few"] = [True, None, False, True]
    found = calibrate(side(results), POLICY, splits=3)
    assert (found.problems, found.left_out, found.half) == (4, 1, (2, 2))
    with pytest.raises(UsageError, match="--samples 10"):
        calibrate(side({"a": [True] * 4, "b": [True] * 3}), POLICY)


def test_floors_and_must_pass_are_no_false_alarms() -> None:
    strict = GatePolicy(must_pass=("p0",))
    samples = part({f"p{i}": [False, False, True, False] for i in range(16)}).samples
    plain = calibrate(samples, POLICY, splits=5)
    assert calibrate(samples, strict, splits=5).alarms == plain.alarms
    assert replace(plain, low=0.06).kept is False
