"""Measure the gate's false alarms on one model's own samples.

The samples of every problem are split at random into a baseline half and a candidate half, and the gate compares them.
Both halves are of one model, so every ``regressed`` is a false alarm.
"""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Final

from codegate.errors import UsageError
from codegate.gating.compare import compare
from codegate.gating.drift import counts_of
from codegate.gating.exact import wilson
from codegate.gating.matching import counted, without_copies
from codegate.gating.policy import GatePolicy
from codegate.gating.power import baseline_model, least_drop
from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.statistics import within_variance

LEAST_SAMPLES: Final = 4
"""Samples per problem that can be halved and still vary on both sides."""
_Z: Final = 1.959963984540054  # standard normal quantile of 0.975


@dataclass(frozen=True)
class Calibration:
    """The gate's verdicts on random splits.

    Attributes:
        problems: how many were split; those with fewer than four independent samples are left out.
        left_out: how many those are.
        half: samples per problem on each side, the least and the most of any problem.
        splits: how many were made.
        seed: of the random splits.
        alarms: splits in which one half was called regressed.
        passes: splits that passed; the others were inconclusive.
        share: alarms / splits, and its 95 % interval ``low`` to ``high`` as a statement about all splits of these
            samples.
        alpha: the share that the policy promises at most.
        noise: mean over problems of p(1-p): the variance of one sample.
        run_noise: standard deviation of a run's pass rate with one sample per problem, from sampling alone.
        detectable_drop: smallest drop that a gate with all of these samples as its baseline finds in 4 of 5 cases.
    """

    problems: int
    left_out: int
    half: tuple[int, int]
    splits: int
    seed: int
    alarms: int
    passes: int
    share: float
    low: float
    high: float
    alpha: float
    noise: float
    run_noise: float
    detectable_drop: float | None

    @property
    def kept(self) -> bool:
        """Return whether the alarms can be as rare as promised."""
        return self.low <= self.alpha


def calibrate(samples: CandidateSamples, policy: GatePolicy, *, splits: int = 400, seed: int = 0) -> Calibration:
    """Return the gate's verdicts on random halves of one model's samples.

    Floors and ``must_pass`` are left out: they are outside of what alpha promises. Equal seeds give equal splits.

    Raises:
        UsageError: fewer than two problems have four independent samples.
    """
    usable = {
        problem: counted(entries)
        for problem, entries in sorted(without_copies(samples).samples.items())
        if len(counted(entries)) >= LEAST_SAMPLES
    }
    if len(usable) < 2:
        raise UsageError(
            f"{len(usable)} of {len(samples.problem_digests)} problems have {LEAST_SAMPLES} independent samples, and "
            "at least 2 are needed.",
            "Run the pinned model with `codegate run SUITE --samples 10`; equal answers count once.",
        )
    plain = policy.model_copy(update={"cohorts": {}, "must_pass": ()})
    kept = samples.model_copy(
        update={
            "problem_digests": {name: samples.problem_digests[name] for name in usable},
            "samples": {name: tuple(entries) for name, entries in usable.items()},
        }
    )
    draw = random.Random(seed)  # noqa: S311  no secret, and the same again for the same seed
    kinds = Counter(_one_split(kept, usable, plain, draw) for _ in range(splits))
    alarms = kinds["regressed"]
    low, high = wilson(alarms, splits, _Z)
    noise = within_variance(list(counts_of(kept).values())) or 0.0
    halves = [len(entries) // 2 for entries in usable.values()]
    return Calibration(
        problems=len(usable),
        left_out=len(samples.problem_digests) - len(usable),
        half=(min(halves), max(halves)),
        splits=splits,
        seed=seed,
        alarms=alarms,
        passes=kinds["pass"],
        share=alarms / splits,
        low=low,
        high=high,
        alpha=policy.alpha,
        noise=noise,
        run_noise=(noise / len(usable)) ** 0.5,
        detectable_drop=least_drop(baseline_model(kept), plain),
    )


def _one_split(
    samples: CandidateSamples, usable: dict[str, list[Sample]], policy: GatePolicy, draw: random.Random
) -> str:
    sides: tuple[dict[str, tuple[Sample, ...]], dict[str, tuple[Sample, ...]]] = ({}, {})
    for problem, entries in usable.items():
        half = len(entries) // 2
        chosen = draw.sample(entries, 2 * half)
        for side, part in zip(sides, (chosen[:half], chosen[half:]), strict=True):
            # Without answers: copies are removed already.
            side[problem] = tuple(
                sample.model_copy(update={"index": index, "answer": None}) for index, sample in enumerate(part)
            )
    left, right = (samples.model_copy(update={"samples": side}) for side in sides)
    return compare(left, right, policy).kind
