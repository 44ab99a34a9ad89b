"""The gate's goals in short, on simulated suites; ``python -m bench.gate`` measures all of them at length."""

import numpy as np
import pytest

from bench.gate.gates import PASSED, REGRESSED, UNDECIDED, Plan, decide, simulate
from bench.gate.model import CHURN, World, correlation, true_rates
from bench.gate.twin import paired as twin
from codegate.gating import GatePolicy, compare
from codegate.gating.forecast import detectable_drop, power_statement
from codegate.gating.power import CHURN as ASSUMED
from codegate.gating.power import Design, Relation, baseline_facts, outlook, typical_facts
from codegate.gating.statistics import Pair, paired
from tests.gating.sampling import side

RELATIONS: tuple[Relation, ...] = ("same weights", "same family", "other vendor")
KINDS = {"pass": PASSED, "regressed": REGRESSED, "inconclusive": UNDECIDED}


@pytest.mark.parametrize(("n", "kb", "kc", "cluster"), [(20, 10, 3, 1), (24, 1, 1, 1), (36, 5, 2, 3), (60, 10, 1, 4)])
def test_the_simulated_gate_is_the_real_one(n: int, kb: int, kc: int, cluster: int) -> None:
    rng = np.random.default_rng([n, kb])
    policy = GatePolicy()
    for drop in (0.0, 0.1, 0.3):
        p, (q,) = true_rates(rng, 12, World(n=n, relation="other vendor", drop=drop))
        xb, asked = rng.binomial(kb, p), rng.integers(1, kc + 1, p.shape)
        xc = rng.binomial(asked, q)
        found = twin(xb, np.array(kb), xc, asked, margin=0.1, cluster=cluster)
        for look, candidates in ((1, 1), (2, 3), (3, 1)):
            plan = Plan(stored=kb, candidates=candidates)
            kinds = decide(xb, np.array(kb), xc, asked, look, plan, policy, cluster)
            for i in range(len(xb)):
                cells = zip(xb[i].tolist(), xc[i].tolist(), asked[i].tolist(), strict=True)
                pairs = [Pair(b, kb, c, k) for b, c, k in cells]
                names = [f"pr-{j // cluster}" for j in range(n)]
                one = paired(pairs, alpha=0.05, margin=0.1, clusters=names)
                assert found.p_regression[i] == pytest.approx(one.p_regression, abs=1e-9)
                assert found.p_noninferior[i] == pytest.approx(one.p_noninferior, abs=1e-9)
                if i % 4:
                    continue
                before = side({str(j): [s < pair.baseline_passed for s in range(kb)] for j, pair in enumerate(pairs)})
                after = side(
                    {
                        str(j): [s < pair.candidate_passed for s in range(pair.candidate_n)]
                        for j, pair in enumerate(pairs)
                    }
                )
                if max(pair.candidate_n for pair in pairs) != look:
                    continue
                sources = {str(j): name for j, name in enumerate(names)}
                before = before.model_copy(update={"clusters": sources})
                verdict = compare(before, after, policy, looks=3, candidates=candidates)
                assert KINDS[verdict.kind] == kinds[i]


@pytest.mark.parametrize("relation", RELATIONS)
def test_equally_good_models_differ_as_published_pairs_do(relation: Relation) -> None:
    p, (q,) = true_rates(np.random.default_rng(1), 1000, World(relation=relation))
    assert float(((q - p) ** 2).mean()) == pytest.approx(CHURN[relation], rel=0.05, abs=1e-12)
    assert float(p.mean()) == pytest.approx(0.6, abs=0.01)
    assert correlation(0.0, 0.6, 0.4) == 1.0


@pytest.mark.parametrize("n", [24, 60])
@pytest.mark.parametrize("relation", RELATIONS)
def test_an_equal_candidate_is_seldom_called_regressed(n: int, relation: Relation) -> None:
    shares = simulate(World(n=n, relation=relation), suites=2000)
    assert shares.regressed <= 0.05 + 2.5 * 0.0049
    family = simulate(World(n=n, relation=relation), Plan(candidates=3), suites=700)
    assert family.regressed <= 0.05 + 2.5 * 0.0083


@pytest.mark.parametrize("mean", [0.35, 0.6, 0.85])
@pytest.mark.parametrize("dead", [False, True])
def test_a_drop_of_the_margin_seldom_passes(mean: float, dead: bool) -> None:
    shares = simulate(World(n=24, relation="same weights", mean=mean, drop=0.1, dead=dead), suites=2000)
    assert shares.passed <= 0.05 + 2.5 * 0.0049


@pytest.mark.parametrize(("relation", "power", "calls"), [("same family", 0.90, 0.50), ("other vendor", 0.75, 0.60)])
def test_sixty_problems_find_ten_points_for_half_of_the_calls(relation: Relation, power: float, calls: float) -> None:
    worse, equal = (simulate(World(relation=relation, drop=drop), suites=1500) for drop in (0.1, 0.0))
    assert worse.regressed >= power - 2.5 * 0.011
    assert (worse.calls + equal.calls) / 2 <= calls
    assert relation != "same family" or equal.passed >= 0.85


@pytest.mark.parametrize("relation", ["same family", "other vendor"])
def test_confirmed_and_clustered_the_promises_hold(relation: Relation) -> None:
    world = World(n=120, relation=relation, cluster=4)
    assert simulate(world, Plan(confirm=3), suites=800).regressed <= 0.05 + 2.5 * 0.0077
    assert simulate(World(n=120, relation=relation, cluster=4, drop=0.1), suites=500).passed <= 0.05 + 2.5 * 0.0098


@pytest.mark.parametrize("n", [16, 20, 40])
@pytest.mark.parametrize("relation", RELATIONS)
def test_what_is_printed_as_detectable_is_detected(n: int, relation: Relation) -> None:
    printed = detectable_drop(typical_facts(n), Design(), relation)
    assert printed is not None
    less, more = (
        simulate(World(n=n, relation=relation, drop=printed * by), suites=600).regressed for by in (0.88, 1.12)
    )
    assert less <= 0.8 + 0.02
    assert more >= 0.8 - 0.02


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_what_is_foretold_comes_about(relation: Relation, drop: float) -> None:
    foretold = outlook(typical_facts(60), Design(), ASSUMED[relation], drop)
    seen = simulate(World(relation=relation, drop=drop), suites=1500)
    assert foretold.regressed == pytest.approx(seen.regressed, abs=0.035)
    assert foretold.passed == pytest.approx(seen.passed, abs=0.04)
    assert foretold.calls / 180 == pytest.approx(seen.calls, abs=0.03)
    assert foretold.regressed + foretold.passed + foretold.inconclusive == pytest.approx(1.0, abs=1e-6)


def test_a_statement_is_one_sentence() -> None:
    said = power_statement(typical_facts(24), Design(), "same family")
    assert said.sentence() == (
        f"24 problems with at most 3 looks find a drop of {said.detectable_drop:.1%} or more in 4 of 5 cases "
        "(candidate of the same family); an equally good one gets no answer at a 10 pp margin in "
        f"{said.inconclusive:.0%}, and {said.problems_to_pass} problems would do; expected samples per candidate "
        f"{said.calls_worse:.0f} to {said.calls_equal:.0f}, at most {said.calls_most}."
    ).replace("%", " pp", 1)
    few = power_statement(typical_facts(8), Design(), "same family")
    assert (few.detectable_drop, few.certified_margin, few.passed) == (None, None, 0.0)
    assert "are too few to find any drop reliably" in few.sentence()


def test_a_baseline_tells_what_a_typical_suite_of_its_kind_would() -> None:
    rng = np.random.default_rng(3)
    p, _ = true_rates(rng, 1, World(n=2000))
    baseline = side({f"p{i}": [bool(s) for s in rng.random(10) < rate] for i, rate in enumerate(p[0])})
    facts, typical = baseline_facts(baseline), typical_facts(2000)
    for name in ("rate", "stored_variance", "settled", "within_settled", "within_open"):
        assert getattr(facts, name) == pytest.approx(getattr(typical, name), rel=0.12, abs=0.004), name
    sources = baseline.model_copy(update={"clusters": {f"p{i}": f"pr-{i // 4}" for i in range(2000)}})
    assert baseline_facts(sources).units == 500
    with pytest.raises(ValueError, match="without a graded sample"):
        baseline_facts(side({}))
