"""Decide by the counts of one look. Pure, so that ``plan`` can simulate it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal

from codegate.gating.looks import level, look_number
from codegate.gating.policy import GatePolicy
from codegate.gating.population_test import population_test
from codegate.gating.statistics import Comparison, Pair, mean, within_variance
from codegate.gating.suite_test import suite_test

Decision = Literal["pass", "regressed", "inconclusive"]

REACH: Final = 0.9
"""Share of the margin that must be measured before a drop on the suite is a regression."""
CONFIRMED_REACH: Final = 0.75
"""The same once fresh samples of the baseline are pooled in."""
FRESH_REACH: Final = 0.5
"""The same against those fresh samples alone."""
FEWEST_PROBLEMS: Final = 16
"""Compared problems below which nothing passes; on the suite with ten samples ``FEWEST_SAMPLED_WELL``."""
FEWEST_SAMPLED_WELL: Final = 10
FEWEST_UNITS: Final = 12
"""Pull requests below which nothing passes in scope ``population``: a t test of so few has hardly any power."""
POPULATION_LEVEL: Final = 0.7
"""Share of alpha at which the sentence about the population is judged beside a verdict about the suite."""

_POWER_QUANTILE: Final = NormalDist().inv_cdf(0.8)
NEAR: Final = 1e-9


@dataclass(frozen=True)
class Terms:
    """What was fixed before the first look, and how far the run is.

    Attributes:
        policy: the gate's.
        looks: samples per problem at each planned look.
        samples: samples per problem so far.
        candidates: candidates that are gated together and share the error of a regression (Bonferroni).
        confirming: the baseline's samples were renewed because a regression was seen.
    """

    policy: GatePolicy
    looks: tuple[int, ...]
    samples: int
    candidates: int = 1
    confirming: bool = False

    @property
    def look(self) -> int:
        """Return the number of the look, from 1."""
        return look_number(self.looks, self.samples)

    @property
    def pending(self) -> bool:
        """Return whether a look is left."""
        return self.samples < self.looks[-1]

    @property
    def level(self) -> float:
        """Return the one-sided level of ruling out a drop of the margin."""
        return level(self.looks, self.samples, self.policy.alpha)

    @property
    def level_regressed(self) -> float:
        """Return the one-sided level of a regression."""
        if self.confirming and self.policy.scope == "suite":
            return self.policy.alpha
        return self.level / self.candidates

    @property
    def reach(self) -> float:
        """Return the least measured drop that is a regression, in 0..1."""
        if self.policy.scope == "population":
            return 0.0
        return self.policy.margin * (CONFIRMED_REACH if self.confirming else REACH)

    @property
    def fewest_problems(self) -> int:
        """Return how many compared problems a pass takes."""
        if self.policy.min_problems is not None:
            return self.policy.min_problems
        well = self.policy.scope == "suite" and self.looks[-1] >= 10
        return FEWEST_SAMPLED_WELL if well else FEWEST_PROBLEMS


def compare_counts(pairs: Sequence[Pair], clusters: Sequence[str], terms: Terms) -> Comparison:
    """Return what the test of the policy's scope shows; ``clusters`` name the pull request of each pair.

    Where most problems have a single baseline sample (copies count once), sampling noise cannot be separated from
    the differences between problems. Then the population's test decides on the suite, too: it counts both as noise.
    """
    margin, passing, failing = terms.policy.margin, terms.level, terms.level_regressed
    on_suite = terms.policy.scope == "suite"
    if on_suite and mean([pair.baseline_n for pair in pairs]) >= 2:
        return suite_test(pairs, margin=margin, level=passing, level_regressed=failing)
    units = None if on_suite else clusters
    return population_test(pairs, margin=margin, level=passing, level_regressed=failing, clusters=units)


def too_few(pairs: Sequence[Pair], units: int, terms: Terms) -> str | None:
    """Return why there are too few problems for a pass, as the end of a sentence; None where there are enough."""
    if len(pairs) < terms.fewest_problems:
        return f"a pass takes at least {terms.fewest_problems} problems"
    if terms.policy.scope == "population" and units < FEWEST_UNITS:
        return f"a pass takes problems of at least {FEWEST_UNITS} pull requests, and these come from {units}"
    return None


def decide(found: Comparison, pairs: Sequence[Pair], terms: Terms) -> Decision:
    """Return the decision of one look.

    A pass comes first: a drop that is real but smaller than the margin is tolerated. A candidate that is shown to be
    better passes even where the baseline solves so little that no drop could show.
    """
    if found.p_regression is None or found.p_noninferior is None or found.p_gain is None:
        return "inconclusive"
    if too_few(pairs, found.n, terms) is None:
        ruled_out = found.p_noninferior < terms.level and has_headroom(found, terms.policy)
        if ruled_out or found.p_gain < terms.level:
            return "pass"
    if found.p_regression < terms.level_regressed and found.difference <= -terms.reach + NEAR:
        return "regressed"
    return "inconclusive"


def has_headroom(found: Comparison, policy: GatePolicy) -> bool:
    """Return whether the baseline solves enough for a drop of the margin to show."""
    return found.baseline_rate > (policy.margin if policy.scope == "suite" else 2 * policy.margin - NEAR)


def detectable_drop(pairs: Sequence[Pair], terms: Terms) -> float | None:
    """Return about the smallest drop on these problems that ends as regressed in 4 of 5 runs of all looks.

    The measured drop varies with sqrt((W/b + W'/k) / n), W and W' the mean of p(1-p) of the baseline and of a
    candidate that lost the drop m in equal shares: m = max(reach, z se(0)) + z_{0.8} se(m), solved by iteration.

    Returns:
        The drop in 0..1; None in scope ``population``, which ``plan`` simulates, without repeated baseline samples,
        and where not even the loss of everything would be found.
    """
    within = within_variance([(pair.baseline_passed, pair.baseline_n) for pair in pairs])
    if terms.policy.scope == "population" or within is None:
        return None
    n, rate = len(pairs), mean([pair.baseline_rate for pair in pairs])
    stored = within * mean([1.0 / pair.baseline_n for pair in pairs])
    final = Terms(terms.policy, terms.looks, terms.looks[-1], terms.candidates)

    def error(drop: float) -> float:
        kept = 1.0 - drop / rate
        fresh = kept * rate - kept * kept * (rate - within)
        return math.sqrt((stored + max(fresh, 0.0) / final.samples) / n)

    if rate <= 0.0:
        return None
    shown = max(final.reach, -NormalDist().inv_cdf(final.level_regressed) * error(0.0))
    drop = shown
    for _ in range(30):
        drop = min(shown + _POWER_QUANTILE * error(drop), rate)
    return drop if drop < rate else None
