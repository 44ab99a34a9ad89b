"""Estimate rates, means and quantiles, each with interval and n.

Pure, without random numbers. The unit is the problem: attempts at one problem resemble each other, so repeated samples
never narrow an interval. For a share of attempts, tests or tokens the interval counts as many independent units as
there are problems, or fewer if problems have unequal weights. Such an interval is never too narrow, and with one sample
per problem it is exact.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.gating.statistics import newcombe, student_quantile, wilson

Z95: Final = 1.959963984540054
"""The standard normal quantile of 97.5 %."""


@dataclass(frozen=True)
class Estimate:
    """A value with its n and its 95 % interval.

    Attributes:
        n: number of observations behind the value; 0: unknown.
        value: None if unknown.
        low: None if unknown, as with one problem.
        high: None if unknown, or if the data give no upper bound; ``low`` is known then.
        of: what ``n`` counts, in the plural: ``problems``.
    """

    n: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    of: str = "problems"

    @property
    def sample(self) -> str:
        """Return n as text: ``n=24``, or ``n=156 calls``.

        The noun is left out for problems and attempts.
        """
        noun = self.of.removesuffix("s") if self.n == 1 else self.of
        return f"n={self.n:,}" if self.of in {"problems", "attempts"} else f"n={self.n:,} {noun}"

    def words(self) -> str:
        """Return a share as text, such as ``83.3% [64–93%] n=24``."""
        if self.value is None or self.low is None or self.high is None:
            return "unknown"
        return f"{self.value:.1%} [{self.low * 100:.0f}–{self.high * 100:.0f}%] {self.sample}"

    def times(self, factor: float) -> "Estimate":
        """Return the estimate multiplied by ``factor``, which is positive."""

        def scaled(value: float | None) -> float | None:
            return None if value is None else value * factor

        return Estimate(self.n, scaled(self.value), scaled(self.low), scaled(self.high), self.of)


@dataclass(frozen=True)
class Difference:
    """Candidate minus baseline, with its 95 % interval; None: unknown."""

    n: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None


def mean_rate(rates: Iterable[float]) -> Estimate:
    """Return the mean of rates in 0..1, with Wilson's interval.

    ``rates`` has one rate per problem. With one sample per problem the interval is Wilson's (1927, JASA 22:209). With
    more samples it is wider than necessary, because the largest variance of values with mean m is assumed, m(1 - m)
    (Bhatia and Davis 2000).
    """
    return pooled_share(((rate, 1) for rate in rates), of="problems")


def pooled_share(parts: Iterable[tuple[float, float]], *, of: str) -> Estimate:
    """Return the share sum(part) / sum(whole), with its interval.

    ``parts`` has one (part, whole) per problem; ``of`` names what whole counts. The interval is Wilson's with n = (sum
    w)^2 / sum w^2 (Kish 1965, Survey Sampling, 11.7): the number of independent units if everything within a problem is
    alike.
    """
    known = [(part, whole) for part, whole in parts if whole > 0]
    if not known:
        return Estimate(of=of)
    total = math.fsum(whole for _, whole in known)
    units = total * total / math.fsum(whole * whole for _, whole in known)
    rate = min(max(math.fsum(part for part, _ in known) / total, 0.0), 1.0)
    low, high = wilson(min(rate * units, units), units, Z95)
    return Estimate(round(total), rate, min(low, rate), max(high, rate), of)


def share_difference(candidate: Sequence[float], baseline: Sequence[float]) -> Difference:
    """Return mean(candidate) - mean(baseline), with Newcombe's interval.

    Both arguments have one rate per problem, in the same order. The interval is for independent shares (1998, Stat.
    Med. 17:873, method 10). The pairing is ignored, so the interval is wider than necessary, but it does not vanish if
    no problem differs. The gate has a sharper test.
    """
    n = len(candidate)
    if n == 0 or len(baseline) != n:
        return Difference()
    first, second = min(math.fsum(candidate), n), min(math.fsum(baseline), n)
    low, high = newcombe(first, n, second, n, Z95)
    value = (first - second) / n
    return Difference(n, value, min(low, value), max(high, value))


def mean_of_problems(groups: Iterable[Sequence[float]], *, of: str) -> Estimate:
    """Return the mean of the problems' means, with Student's interval.

    ``groups`` has each problem's values. The estimate's n counts all values; ``of`` names them, such as ``attempts``.
    """
    known = [group for group in groups if group]
    means = [math.fsum(group) / len(group) for group in known]
    n = sum(map(len, known))
    if not means:
        return Estimate(of=of)
    value = math.fsum(means) / len(means)
    if len(means) < 2:
        return Estimate(n, value, of=of)
    half = student_quantile(0.975, len(means) - 1) * statistics.stdev(means) / math.sqrt(len(means))
    return Estimate(n, value, max(value - half, 0.0), value + half, of)


def ratio(pairs: Sequence[tuple[float, float]], n: int, *, of: str) -> Estimate:
    """Return the ratio sum(a) / sum(b), with Fieller's interval.

    ``pairs`` has one (a, b) per problem, computed from ``n`` values; ``of`` names these values. Fieller 1954, JRSS B
    16:175: the interval contains each R with (mean(a) - R mean(b))^2 <= t^2 var(a - R b) / problems. If mean(b) may be
    0, the interval is unbounded; if it is 0, the ratio is unknown.
    """
    problems = len(pairs)
    top, bottom = math.fsum(a for a, _ in pairs), math.fsum(b for _, b in pairs)
    if bottom <= 0:
        return Estimate(n, of=of)
    value = top / bottom
    if problems < 2:
        return Estimate(n, value, of=of)
    mean_a, mean_b = top / problems, bottom / problems
    factor = student_quantile(0.975, problems - 1) ** 2 / (problems * (problems - 1))
    var_a = factor * math.fsum((a - mean_a) ** 2 for a, _ in pairs)
    var_b = factor * math.fsum((b - mean_b) ** 2 for _, b in pairs)
    both = factor * math.fsum((a - mean_a) * (b - mean_b) for a, b in pairs)
    # (mean_b^2 - var_b) R^2 - 2 (mean_a mean_b - both) R + (mean_a^2 - var_a) <= 0
    square, middle, rest = mean_b * mean_b - var_b, mean_a * mean_b - both, mean_a * mean_a - var_a
    root = math.sqrt(max(middle * middle - square * rest, 0.0))
    if square <= 1e-12 * mean_b * mean_b:
        return Estimate(n, value, of=of)
    low, high = (middle - root) / square, (middle + root) / square
    return Estimate(n, value, max(min(low, value), 0.0), max(high, value), of)


def pass_at_k(n: int, passed: int, k: int) -> float:
    """Return the estimated chance that any of k samples passes.

    1 - C(n - c, k) / C(n, k) with c ``passed`` of ``n`` samples, unbiased: Chen and others 2021, "Evaluating Large
    Language Models Trained on Code", section 2.1.
    """
    return 1.0 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    """Return the estimated chance that all of k samples pass.

    C(c, k) / C(n, k) with c ``passed`` of ``n`` samples, unbiased: Yao and others 2024, "tau-bench", section 4
    (pass^k).
    """
    return math.comb(passed, k) / math.comb(n, k)


def empirical_quantile(groups: Iterable[Sequence[float]], level: float, *, of: str) -> Estimate:
    """Return the ``level`` quantile of all values, by nearest rank.

    ``groups`` has each problem's values; ``of`` names what the values are; n counts the values. With one value per
    problem the interval's ends are the order statistics whose ranks the binomial distribution gives at 2.5 % on each
    side (Thompson 1936; Conover 1999, 3.2). With several values per problem, the ranks for the number of problems are
    scaled to the number of values. An end is None if the problems are too few to bound it: the upper end of the P95
    takes 72.
    """
    known = [group for group in groups if group]
    values = sorted(value for group in known for value in group)
    if not values:
        return Estimate(of=of)
    total, problems = len(values), len(known)
    value = statistics.median(values) if level == 0.5 else values[math.ceil(level * total) - 1]
    below, above = quantile_ranks(problems, level)
    low = None if below is None else values[(below - 1) * total // problems]
    high = None if above is None else values[-(-above * total // problems) - 1]
    return Estimate(total, value, low, high, of)


def quantile_ranks(n: int, level: float) -> tuple[int | None, int | None]:
    """Return the ranks, from 1, of a quantile's interval ends.

    ``level`` is the quantile in 0..1. A rank is None if ``n`` values do not bound that end.
    """
    odds = math.log(level) - math.log1p(-level)
    term = n * math.log1p(-level)  # log P(B = 0)
    below, above, cumulated = None, None, 0.0
    for rank in range(1, n + 1):
        cumulated += math.exp(term)  # P(B <= rank - 1)
        if cumulated <= 0.025:
            below = rank
        if 1.0 - cumulated <= 0.025:
            above = rank
            break
        term += math.log((n - rank + 1) / rank) + odds
    return below, above
