"""The gate's goals in short, on simulated suites; ``python -m bench.gate`` measures all of them at length."""

import numpy as np
import pytest

from bench.gate.gates import PASSED, REGRESSED, UNDECIDED, Plan, decide, simulate
from bench.gate.model import CHURN, World, correlation, suite_rates, true_rates
from bench.gate.twin import population, suite
from codegate.gating import GatePolicy
from codegate.gating.decision import Terms, compare_counts
from codegate.gating.decision import decide as real
from codegate.gating.policy import Scope
from codegate.gating.power import Relation, forecast, typical_model
from codegate.gating.statistics import Pair

RELATIONS: tuple[Relation, ...] = ("same weights", "same family", "other vendor")
KINDS = {"pass": PASSED, "regressed": REGRESSED, "inconclusive": UNDECIDED}
ERROR = 2.5  # standard errors that a simulated rate may be above its limit


def above(limit: float, suites: int) -> float:
    return limit + ERROR * float(np.sqrt(limit * (1 - limit) / suites))


@pytest.mark.parametrize(("n", "kb", "kc", "cluster"), [(20, 10, 3, 1), (24, 5, 1, 1), (36, 5, 2, 3), (60, 10, 1, 4)])
@pytest.mark.parametrize("scope", ["suite", "population"])
def test_the_simulated_gate_is_the_real_one(n: int, kb: int, kc: int, cluster: int, scope: Scope) -> None:
    rng = np.random.default_rng([n, kb])
    policy = GatePolicy(scope=scope)
    for drop in (0.0, 0.1, 0.3):
        p, (q,) = true_rates(rng, 6, World(n=n, relation="other vendor", drop=drop))
        xb, made = rng.binomial(kb, p), rng.integers(1, kc + 1, p.shape)
        xc = rng.binomial(made, q)
        twin = (
            suite(xb, np.array(kb), xc, made, margin=0.1)
            if scope == "suite"
            else population(xb, np.array(kb), xc, made, margin=0.1, cluster=cluster)
        )
        kinds = decide(xb, np.array(kb), xc, made, kc, Plan(policy, stored=kb, candidates=3), cluster)
        terms = Terms(policy, policy.looks, kc, 3)
        for i in range(len(xb)):
            cells = zip(xb[i].tolist(), xc[i].tolist(), made[i].tolist(), strict=True)
            pairs = [Pair(b, kb, c, k) for b, c, k in cells]
            one = compare_counts(pairs, [f"pr-{j // cluster}" for j in range(n)], terms)
            assert twin.p_regression[i] == pytest.approx(one.p_regression, abs=1e-9)
            assert twin.p_noninferior[i] == pytest.approx(one.p_noninferior, abs=1e-9)
            assert twin.p_gain[i] == pytest.approx(one.p_gain, abs=1e-9)
            assert KINDS[real(one, pairs, terms)] == kinds[i]


@pytest.mark.parametrize("relation", RELATIONS)
def test_equally_good_models_differ_as_published_pairs_do(relation: Relation) -> None:
    p, (q,) = true_rates(np.random.default_rng(1), 1000, World(relation=relation))
    assert float(((q - p) ** 2).mean()) == pytest.approx(CHURN[relation], rel=0.05, abs=1e-12)
    assert float(p.mean()) == pytest.approx(0.6, abs=0.01)
    assert correlation(0.0, 0.6, 0.4) == 1.0


@pytest.mark.parametrize("kind", ["share", "shift", "dead", "mixed", "noisier"])
def test_a_drop_on_the_suite_is_exact(kind: str) -> None:
    p, q = suite_rates(np.random.default_rng(2), 50, World(n=24, drop=0.1), kind)  # type: ignore[arg-type]
    assert (p - q).mean(axis=1) == pytest.approx(np.full(50, 0.1), abs=1e-9)


@pytest.mark.parametrize(("relation", "none"), [("same weights", 0.01), ("same family", 0.033), ("other vendor", 0.07)])
def test_thirty_problems_get_an_answer(relation: Relation, none: float) -> None:
    shares = simulate(World(n=30, relation=relation), suites=3000)
    assert shares.undecided <= above(none, 3000)
    assert shares.regressed <= above(0.07, 3000)
    assert shares.samples <= 4.6


@pytest.mark.parametrize("n", [16, 30, 60])
def test_on_the_suite_the_errors_are_kept_and_drops_are_found(n: int) -> None:
    assert simulate(World(n=n), kind="share", suites=2000).regressed <= above(0.05, 2000)
    for kind in ("share", "dead", "noisier"):
        worse = World(n=n, drop=0.1)
        assert simulate(worse, kind=kind, suites=2000).passed <= above(0.05, 2000)
    if n == 30:
        assert simulate(World(n=n, drop=0.1), kind="share", suites=2000).regressed >= 0.75
        assert simulate(World(n=n, drop=0.2), kind="share", suites=2000).regressed >= 0.99


@pytest.mark.parametrize("mean", [0.9, 0.9999])
@pytest.mark.parametrize("n", [16, 20, 36])
@pytest.mark.parametrize("scope", ["suite", "population"])
def test_a_strong_baseline_makes_passing_no_easier(mean: float, n: int, scope: Scope) -> None:
    """With the t test alone a perfect baseline let 18 % of candidates pass that had lost 10 pp, at 16 problems."""
    plan = Plan(GatePolicy(scope=scope, max_samples=3))
    for dead in (False, True):
        world = World(n=n, relation="same weights", mean=mean, drop=0.1, dead=dead)
        suites = 1500
        kind = None if scope == "population" else "dead" if dead else "share"
        assert simulate(world, plan, kind=kind, suites=suites).passed <= above(0.05, suites)  # type: ignore[arg-type]


@pytest.mark.parametrize(("lost", "limit"), [(0.04, 0.01), (0.08, 0.05)])
def test_lost_samples_end_no_run(lost: float, limit: float) -> None:
    for drop in (0.0, 0.1):
        shares = simulate(World(n=60, drop=drop), Plan(lost=lost), kind="share", suites=1500)
        assert shares.infrastructure <= limit
        assert shares.passed <= above(0.05, 1500) if drop else shares.regressed <= above(0.05, 1500)


@pytest.mark.parametrize("relation", ["same family", "other vendor"])
def test_confirmation_and_pull_requests_keep_the_promises(relation: Relation) -> None:
    world = World(n=120, relation=relation, cluster=4)
    plan = Plan(GatePolicy(scope="population"))
    assert simulate(world, plan, suites=800).regressed <= above(0.05, 800)
    assert simulate(World(n=120, relation=relation, cluster=4, drop=0.1), plan, suites=500).passed <= above(0.05, 500)
    assert simulate(World(n=30), Plan(confirm=3), kind="share", suites=500).regressed <= above(0.05, 500)


@pytest.mark.parametrize("drop", [0.0, 0.1, 0.15])
def test_what_is_foretold_comes_about(drop: float) -> None:
    foretold = forecast(typical_model(30), GatePolicy(), drop=drop)
    seen = simulate(World(n=30, drop=drop), kind="share", suites=2000)
    assert foretold.regressed == pytest.approx(seen.regressed, abs=0.06)
    assert foretold.passed == pytest.approx(seen.passed, abs=0.04)
    assert foretold.samples == pytest.approx(seen.samples, abs=0.4)
