"""How often the nightly watch pages about nothing, and how soon about a drop: exact stratified test and paired t.

``python bench/nightly.py`` prints one line per suite size; seeded, about five minutes on one core. Difficulties are
U-shaped (Beta with mean 0.6 and strength 0.4), the baseline has 10 samples per problem, a night one. The drop takes
the same share of every problem's rate, or breaks some problems for good.
"""

import random
import sys
from collections.abc import Callable
from statistics import median

from codegate.gating.drift import change_between
from codegate.gating.drop_tests import population_test
from codegate.gating.statistics import Pair
from codegate.gating.trend import PAGE_LEVEL, WARN_LEVEL, WINDOW

SAMPLES = 10
NIGHTS = 30
SIZES = (24, 40, 60)
DROP = 0.10

Counts = dict[str, tuple[int, int]]
Test = Callable[[Counts, Counts], float]


def exact(stored: Counts, fresh: Counts) -> float:
    """Return the one-sided p of the exact stratified test."""
    change = change_between(stored, fresh)
    return 1.0 if change is None else change.p_drop


def paired_t(stored: Counts, fresh: Counts) -> float:
    """Return the one-sided p of the gate's paired t."""
    pairs = [Pair(*stored[name], *fresh[name]) for name in stored]
    p = population_test(pairs, margin=0.10).p_regression
    return 1.0 if p is None else p


def draw_counts(draw: random.Random, rates: list[float], k: int) -> Counts:
    """Return passes of ``k`` samples of each problem."""
    return {str(i): (sum(draw.random() < rate for _ in range(k)), k) for i, rate in enumerate(rates)}


def pooled(nights: list[Counts]) -> Counts:
    """Return the samples of several nights together."""
    return {name: (sum(n[name][0] for n in nights), sum(n[name][1] for n in nights)) for name in nights[0]}


def lowered(draw: random.Random, rates: list[float], mode: str) -> list[float]:
    """Return rates whose mean is ``DROP`` lower."""
    wanted = DROP * len(rates)
    if mode == "spread":
        return [rate * (1 - wanted / sum(rates)) for rate in rates]
    left = list(rates)
    for i in draw.sample(range(len(rates)), len(rates)):
        taken = min(left[i], wanted)
        left[i] -= taken
        wanted -= taken
    return left


def alarms(nights: list[Counts], stored: Counts, test: Test) -> tuple[int | None, int | None]:
    """Return after how many nights the watch first pages and first warns."""
    page = warning = None
    before = 1.0
    for night in range(1, len(nights) + 1):
        if page is None and test(stored, pooled(nights[max(night - WINDOW, 0) : night])) < PAGE_LEVEL:
            page = night
        alone = test(stored, nights[night - 1])
        if warning is None and before < WARN_LEVEL and alone < WARN_LEVEL:
            warning = night
        before = alone
    return page, warning


def simulate(n: int, runs: int, test: Test, seed: int) -> str:
    """Return one line of figures."""
    draw = random.Random(seed)
    pages = warnings = 0
    waits: dict[str, list[float]] = {"spread": [], "broken": []}
    for _ in range(runs):
        rates = [draw.betavariate(0.24, 0.16) for _ in range(n)]
        stored = draw_counts(draw, rates, SAMPLES)
        page, warning = alarms([draw_counts(draw, rates, 1) for _ in range(NIGHTS)], stored, test)
        pages += page is not None
        warnings += warning is not None
        if sum(rates) <= DROP * n:
            continue  # nothing to lose
        for mode, found in waits.items():
            worse = lowered(draw, rates, mode)
            page, _ = alarms([draw_counts(draw, worse, 1) for _ in range(14)], stored, test)
            found.append(float("inf") if page is None else page)
    text = f"{100 * pages / runs:5.1f} % page, {100 * warnings / runs:5.1f} % warn in {NIGHTS} equal nights (n={runs})"
    for mode, found in waits.items():
        week = sum(night <= WINDOW for night in found) / len(found)
        fortnight = sum(night <= 14 for night in found) / len(found)
        text += f"; {mode}: median {median(found):g} nights, {100 * week:.0f} % in 7, {100 * fortnight:.0f} % in 14"
    return text


def main() -> None:
    """Print the figures."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for n in SIZES:
        for name, test in (("exact", exact), ("paired t", paired_t)):
            print(f"n={n:3} {name:9}: {simulate(n, runs, test, seed=n)}", flush=True)


if __name__ == "__main__":
    main()
