"""The whole gate on many simulated suites: looks, levels, several candidates, the confirm step."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.gate.model import Floats, Ints, World, true_rates
from bench.gate.twin import paired
from codegate.gating import GatePolicy
from codegate.gating.exact import stratified
from codegate.gating.looks import levels, settled

UNDECIDED, PASSED, REGRESSED = 0, 1, 2
Counts = tuple[np.random.Generator, Ints, Ints, Ints]
DRIFT = 0.01


@dataclass(frozen=True)
class Plan:
    """How a run goes: ``looks`` of them, or ``samples`` of every problem in a single one; ``stored`` is k_b.

    ``everyone``: every look asks every problem, as a reference.
    """

    looks: int = 3
    samples: int | None = None
    stored: int = 10
    candidates: int = 1
    everyone: bool = False
    confirm: int = 0


@dataclass(frozen=True)
class Shares:
    """Of ``suites``: how often regressed, passed and neither, and the mean calls in shares of three per problem."""

    suites: int
    regressed: float
    passed: float
    undecided: float
    calls: float

    @property
    def error(self) -> float:
        """Return the Monte-Carlo standard error of ``regressed``."""
        return float(np.sqrt(max(self.regressed * (1 - self.regressed), 1 / self.suites) / self.suites))


def decide(
    xb: Ints, kb: Ints, xc: Ints, kc: Ints, look: int, plan: Plan, policy: GatePolicy, cluster: int = 1
) -> npt.NDArray[np.int64]:
    """Return the verdict of each suite at one look."""
    found = paired(xb, kb, xc, kc, margin=policy.margin, cluster=cluster)
    level = levels(plan.looks, look, policy.alpha)
    may_pass = (found.baseline_rate >= 2 * policy.margin) & (found.n >= policy.min_problems)
    passed = (found.p_noninferior < level.passed) & may_pass
    dropped = found.p_regression < level.regressed / plan.candidates
    return np.where(passed, PASSED, np.where(dropped, REGRESSED, UNDECIDED))


def candidate_verdicts(
    rng: np.random.Generator, p: Floats, q: Floats, xb: Ints, plan: Plan, policy: GatePolicy, cluster: int
) -> tuple[Ints, Ints]:
    """Return verdict and calls of each suite for one candidate."""
    suites = xb.shape[0]
    always = (xb == 0) | (xb == plan.stored) if settled(0, plan.stored) and not plan.everyone else np.zeros_like(xb) > 0
    xc, kc = np.zeros_like(xb), np.zeros_like(xb)
    verdict = np.zeros(suites, dtype=np.int64)
    rows = np.arange(suites)
    for look in range(1, plan.looks + 1):
        more = plan.samples or 1
        asked = np.full_like(xb[rows], more) if look % 2 else more * ~always[rows]
        xc[rows] += rng.binomial(asked, q[rows])
        kc[rows] += asked
        kb = np.array(plan.stored)
        verdict[rows] = decide(xb[rows], kb, xc[rows], kc[rows], look, plan, policy, cluster)
        if plan.confirm:
            failed = rows[verdict[rows] == REGRESSED]
            counts = (rng, xb[failed], xc[failed], kc[failed])
            verdict[failed] = _confirmed(p[failed], counts, look, plan, policy, cluster)
        rows = rows[verdict[rows] == UNDECIDED]
        if not len(rows):
            break
    return np.where(verdict < 0, UNDECIDED, verdict), kc.sum(axis=1)


def _confirmed(p: Floats, counts: Counts, look: int, plan: Plan, policy: GatePolicy, cluster: int) -> Ints:
    """Return REGRESSED where fresh baseline samples confirm it, and -1, which ends the run undecided, where not."""
    rng, xb, xc, kc = counts
    if not len(xb):
        return np.zeros(0, dtype=np.int64)
    n = plan.confirm
    fresh = rng.binomial(n, p)
    drifted = [stratified([(y, n, x, plan.stored) for x, y in zip(*r, strict=True)]) < DRIFT for r in _rows(xb, fresh)]
    alone = np.array(drifted, dtype=bool)[:, None]
    stored = np.where(alone, fresh, xb + fresh)
    samples = np.broadcast_to(np.where(alone, n, plan.stored + n), xb.shape)
    again = decide(stored, samples, xc, kc, look, plan, policy, cluster)
    return np.where(again == REGRESSED, REGRESSED, -1)


def _rows(left: Ints, right: Ints) -> list[tuple[list[int], list[int]]]:
    return list(zip(left.tolist(), right.tolist(), strict=True))


def simulate(world: World, plan: Plan = Plan(), *, suites: int = 4000, seed: int = 1) -> Shares:
    """Return how often runs of this kind regress and pass; with several candidates, how often any of them does."""
    policy = GatePolicy()
    regressed = passed = calls = 0.0
    done = 0
    while done < suites:
        size = min(1000, suites - done)
        rng = np.random.default_rng([seed, done, world.n, round(world.drop * 1000), round(world.mean * 100)])
        p, others = true_rates(rng, size, world, plan.candidates)
        xb = rng.binomial(plan.stored, p)
        made = [candidate_verdicts(rng, p, q, xb, plan, policy, world.cluster) for q in others]
        regressed += np.any([verdict == REGRESSED for verdict, _ in made], axis=0).sum()
        passed += np.all([verdict == PASSED for verdict, _ in made], axis=0).sum()
        calls += sum(float(spent.sum()) for _, spent in made) / plan.candidates
        done += size
    shares = (regressed / suites, passed / suites)
    return Shares(suites, *shares, 1 - sum(shares), calls / (3 * world.n * suites))
