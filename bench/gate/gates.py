"""The whole gate on many simulated suites: looks, levels, several candidates, lost samples, the confirm step."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bench.gate.model import Floats, Ints, LossKind, World, suite_rates, true_rates
from bench.gate.twin import suite
from codegate.gating import GatePolicy
from codegate.gating.decision import FRESH_REACH, NEAR, Terms
from codegate.gating.statistics import stratified_test

UNDECIDED, PASSED, REGRESSED, INFRASTRUCTURE = 0, 1, 2, 3
Verdicts = npt.NDArray[np.int64]
DRIFT = 0.01
_BATCH = 1000


@dataclass(frozen=True)
class Plan:
    """How a run goes.

    Attributes:
        policy: the gate's.
        samples: a fixed number for every problem in a single look; None: the policy's looks.
        stored: baseline samples per problem.
        candidates: gated together.
        confirm: fresh baseline samples per problem after a regression.
        shared: the pinned model has the candidate's rates in these.
        lost: share of the candidate's samples that faults take, at random; they are asked for again at the next look.
        late: the same share of its failing answers, and ``late_right`` of its right ones, by time-outs; a
            sample that lost an answer so counts as failed in what a pass must hold with.
    """

    policy: GatePolicy = field(default_factory=GatePolicy)
    samples: int | None = None
    stored: int = 10
    candidates: int = 1
    confirm: int = 0
    shared: bool = False
    lost: float = 0.0
    late: float = 0.0
    late_right: float = 0.0

    @property
    def looks(self) -> tuple[int, ...]:
        """Return the samples per problem at each look."""
        return (self.samples,) if self.samples else self.policy.looks


@dataclass(frozen=True)
class Shares:
    """Of ``suites``: how often each verdict, and the mean samples per problem that were asked for.

    ``size`` is the mean difference that the regressed ones report.
    """

    suites: int
    regressed: float
    passed: float
    undecided: float
    infrastructure: float
    samples: float
    size: float


def decide(xb: Ints, kb: Ints, xc: Ints, kc: Ints, taken: int, plan: Plan, *, confirming: bool = False) -> Verdicts:
    """Return the verdict of each suite at one look; a twin of ``codegate.gating.decision.decide``."""
    policy = plan.policy
    terms = Terms(policy, plan.looks, taken, plan.candidates, confirming)
    found = suite(xb, kb, xc, kc, margin=policy.margin)
    enough = xb.shape[1] >= terms.fewest_problems and np.broadcast_to(kb, xb.shape).mean() >= 2
    headroom = found.baseline_rate > policy.margin
    passed = enough & (((found.p_noninferior < terms.level) & headroom) | (found.p_gain < terms.level))
    dropped = (found.p_regression < terms.level_regressed) & (found.difference <= -terms.smallest_regression + NEAR)
    return np.where(passed, PASSED, np.where(dropped, REGRESSED, UNDECIDED))


def candidate_verdicts(
    rng: np.random.Generator, p: Floats, q: Floats, xb: Ints, plan: Plan
) -> tuple[Verdicts, Floats, Floats]:
    """Return verdict, samples per problem, as asked for, and difference of each suite for one candidate."""
    xc, kc, first = np.zeros_like(xb), np.zeros_like(xb), np.zeros_like(xb)
    difference = np.zeros(xb.shape[0])
    asked = np.zeros(xb.shape[0])
    verdict = np.zeros(xb.shape[0], dtype=np.int64)
    rows = np.arange(xb.shape[0])
    kb = np.array(plan.stored)
    for before, taken in zip((0, *plan.looks), plan.looks, strict=False):
        wanted = taken - kc[rows]
        made = rng.binomial(wanted, 1 - plan.lost) if plan.lost else wanted
        if plan.late or plan.late_right:
            new = taken - before
            right, made = _on_time(rng, np.full_like(made, new), q[rows], plan)
            again, more = _on_time(rng, wanted - new, q[rows], plan)
            first[rows] += right
            right, made = right + again, made + more
        else:
            right = rng.binomial(made, q[rows])
        xc[rows] += right
        kc[rows] += made
        asked[rows] += wanted.mean(axis=1)
        some = kc[rows] > 0
        # A problem without any sample leaves the comparison: its rates count as equal, which is close enough here.
        left, counts = np.where(some, xc[rows], xb[rows]), np.where(some, kc[rows], plan.stored)
        now = decide(xb[rows], kb, left, counts, taken, plan)
        if plan.late or plan.late_right:
            held = decide(xb[rows], kb, first[rows], np.full_like(counts, taken), taken, plan)
            now[(now == PASSED) & (held != PASSED)] = UNDECIDED
        difference[rows] = (left / counts - xb[rows] / plan.stored).mean(axis=1)
        now[some.mean(axis=1) < 0.9] = UNDECIDED
        if plan.confirm:
            failed = np.flatnonzero(now == REGRESSED)
            today = (q if plan.shared else p)[rows][failed]
            now[failed] = _confirmed(rng, today, xb[rows][failed], left[failed], counts[failed], taken, plan)
        verdict[rows] = now
        rows = rows[now == UNDECIDED]
        if not len(rows):
            break
    thin = (2 * kc < plan.looks[-1]).sum(axis=1) > max(1, int(0.1 * xb.shape[1]))
    verdict[(verdict <= UNDECIDED) & thin] = INFRASTRUCTURE
    return np.maximum(verdict, UNDECIDED), asked, difference


def _on_time(rng: np.random.Generator, asked: Ints, q: Floats, plan: Plan) -> tuple[Ints, Ints]:
    """Return the passes and the grades of answers, of which some time out."""
    right = rng.binomial(asked, q)
    slow_wrong, slow_right = rng.binomial(asked - right, plan.late), rng.binomial(right, plan.late_right)
    return right - slow_right, asked - slow_wrong - slow_right


def _confirmed(rng: np.random.Generator, p: Floats, xb: Ints, xc: Ints, kc: Ints, taken: int, plan: Plan) -> Verdicts:
    """Return REGRESSED where fresh baseline samples confirm it, and -1, which ends the run undecided, where not."""
    if not len(xb):
        return np.zeros(0, dtype=np.int64)
    n = plan.confirm
    fresh = rng.binomial(n, p)
    rows = zip(xb.tolist(), fresh.tolist(), strict=True)
    drifted = [stratified_test([(y, n, x, plan.stored) for x, y in zip(*row, strict=True)]) < DRIFT for row in rows]
    alone = np.array(drifted, dtype=bool)[:, None]
    stored = np.where(alone, fresh, xb + fresh)
    samples = np.broadcast_to(np.where(alone, n, plan.stored + n), xb.shape)
    again = decide(stored, samples, xc, kc, taken, plan, confirming=True)
    alone_too = (xc / kc - fresh / n).mean(axis=1) <= -FRESH_REACH * plan.policy.margin + NEAR
    return np.where((again == REGRESSED) & alone_too, REGRESSED, -1)


def simulate(
    world: World, plan: Plan = Plan(), *, kind: LossKind | None = None, suites: int = 4000, seed: int = 1
) -> Shares:
    """Return how often runs of this kind end in each verdict; with several candidates, how often any regresses.

    Args:
        world: the suites and candidates.
        plan: the gate.
        kind: how the candidate loses exactly ``world.drop`` on each suite; None: the drop is one in the population.
        suites: how many.
        seed: of the random generator.
    """
    counts = dict.fromkeys((UNDECIDED, PASSED, REGRESSED, INFRASTRUCTURE), 0.0)
    asked, done, sizes = 0.0, 0, 0.0
    while done < suites:
        size = min(_BATCH, suites - done)
        rng = np.random.default_rng([seed, done, world.n, round(world.drop * 1000), round(world.mean * 100)])
        if kind is None:
            p, others = true_rates(rng, size, world, plan.candidates)
        else:
            p, q = suite_rates(rng, size, world, kind)
            others = (q,) * plan.candidates
        xb = rng.binomial(plan.stored, p)
        made = [candidate_verdicts(rng, p, q, xb, plan) for q in others]
        worst = np.maximum.reduce([np.where(verdict == PASSED, -1, verdict) for verdict, _, _ in made])
        for name in counts:
            counts[name] += float((worst == (-1 if name == PASSED else name)).sum())
        asked += sum(float(spent.sum()) for _, spent, _ in made) / plan.candidates
        sizes += sum(float(lost[verdict == REGRESSED].sum()) for verdict, _, lost in made) / plan.candidates
        done += size
    shares = {name: count / suites for name, count in counts.items()}
    reported = sizes / max(counts[REGRESSED], 1)
    ends = shares[REGRESSED], shares[PASSED], shares[UNDECIDED], shares[INFRASTRUCTURE]
    return Shares(suites, *ends, asked / suites, reported)


def lucky_baselines(world: World, plan: Plan, *, baselines: int, gates: int, seed: int = 1) -> Floats:
    """Return, for each of many baselines, the share of gates in which the candidate of ``world`` passes."""
    rng = np.random.default_rng([seed, world.n, plan.stored])
    p, q = suite_rates(rng, baselines, world)
    xb = rng.binomial(plan.stored, p)
    all_p, all_q = (np.repeat(rates, gates, axis=0) for rates in (p, q))
    verdict, _, _ = candidate_verdicts(rng, all_p, all_q, np.repeat(xb, gates, axis=0), plan)
    return np.asarray((verdict == PASSED).reshape(baselines, gates).mean(axis=1))
