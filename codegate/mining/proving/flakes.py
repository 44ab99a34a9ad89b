"""Vary the conditions of test runs, to find flaky tests.

Most flaky tests depend on the order of tests, the rest on time, the network, randomness and hashing (Gruber et al.,
arXiv 2101.09077). Several things are varied in one run, because most tests depend on none of them.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from codegate.grading import TestSelection
from codegate.languages import languages
from codegate.mining.proving.outcomes import TestOutcomes

Condition = Literal["order", "seed", "clock", "isolation", "load", "timezone"]

CLOCK_DAYS: Final = 400
"""Days by which the clock moves: to another year, month, day and weekday, past most distant dates in tests."""
ZONE: Final = "Pacific/Kiritimati"
BUSY: Final = 3
"""Number of busy processes on the tests' processor; with them, one second of work takes four."""
MAX_ISOLATED: Final = 100
SWEEP: Final = (11,)
"""Hash seeds of runs that vary nothing else. With the other runs' seeds, the fixed tree runs with four."""
_SWEEP_SECONDS: Final = 20.0
REPEATS: Final = 8
"""Repetitions within a run. A test that fails one time in three passes them and the first run in 3 of 100 cases."""
_REPEAT_SECONDS: Final = 1.5
_START_SECONDS: Final = 0.015  # to start a process for one test


@dataclass(frozen=True)
class VariedRun:
    """A run under other conditions, before or after the fix."""

    state: Literal["after", "before"]
    varies: tuple[Condition, ...]
    selection: TestSelection


def varied_runs(
    graded: TestSelection, outcomes: TestOutcomes, rounds: int, cpu_seconds: float = 0.0, seconds: float = 0.0
) -> tuple[VariedRun, ...]:
    """Return runs under varied conditions, before and after the fix.

    The first run of each state, ``graded`` unchanged, is not among them. The rounds vary:

    - Round 2: the order (reversed); after the fix also the clock; before the fix also isolation: each test has its own
      process.
    - Round 3: only after the fix: each fail-to-pass test has its own process, beside busy processes. If the runner can
      vary neither clock, load nor seed, round 2 isolates these tests instead.
    - Rounds 4 and 5: in both states, only the clock and only the time zone.
    - Later rounds: in both states, the order, reversed every other time.

    Each round except 4 and 5 has a new hash seed. Rounds 2 and 3 repeat the tests if the runner can and the tests took
    few ``seconds`` in the first run. If the first run took at most ``_SWEEP_SECONDS`` of processor time
    (``cpu_seconds``), further runs vary the hash seed alone.
    """
    turned, crowded = replace(graded, order="reversed"), _crowded(graded)
    fixed = outcomes.fail_to_pass[:MAX_ISOLATED]
    # A test that sometimes passes without the fix would solve its problem by luck. One that hangs would use up the run.
    failing = [test for test in outcomes.fail_to_pass if outcomes.kinds.get(test) != "timeout"]
    alone = (*failing, *outcomes.pass_to_pass)[:MAX_ISOLATED]
    # Tests that must pass in both states run by themselves only without load, because a hundred processes take a while.
    steps = {
        2: [
            VariedRun("after", ("order", "clock", "seed"), replace(turned, hash_seed=1, clock_days=CLOCK_DAYS)),
            VariedRun("before", ("order", "isolation", "seed"), replace(turned, hash_seed=3, isolated=alone)),
        ],
        3: [VariedRun("after", ("isolation", "load", "seed"), replace(crowded, isolated=fixed, hash_seed=2))],
        4: _both(("clock",), replace(graded, clock_days=CLOCK_DAYS)),
        5: _both(("timezone",), replace(graded, timezone=ZONE)),
    }
    possible = frozenset[str]().union(*(one.varies for one in languages() if graded.runner in one.runners))
    if possible.isdisjoint({"clock", "load", "seed"}):  # then round 2 can also do the work of round 3
        steps[2][0] = VariedRun("after", ("order", "isolation"), replace(turned, hash_seed=1, isolated=fixed))
        steps[3] = []
    found = [
        _repeated(varied, seconds) if number <= 3 and "random" in possible else varied
        for number in range(2, rounds + 1)
        for varied in steps.get(
            number, _both(("seed", "order"), replace(graded if number % 2 else turned, hash_seed=number))
        )
    ]
    if rounds >= 3 and "seed" in possible and cpu_seconds <= _SWEEP_SECONDS:
        found += [VariedRun("after", ("seed",), replace(graded, hash_seed=seed)) for seed in SWEEP]
    found = [replace(each, varies=tuple(what for what in each.varies if what in possible)) for each in found]
    return tuple(each for each in found if each.varies)  # a run that varies nothing is left to the grader


def _repeated(varied: VariedRun, seconds: float) -> VariedRun:
    each = (seconds + _START_SECONDS * (1 + len(varied.selection.isolated))) * (2 if varied.selection.busy else 1)
    repeat = max(1, min(REPEATS, int(_REPEAT_SECONDS / each)))
    return replace(varied, selection=replace(varied.selection, repeat=repeat))


def _both(varies: tuple[Condition, ...], selection: TestSelection) -> list[VariedRun]:
    return [VariedRun("after", varies, selection), VariedRun("before", varies, selection)]


def _crowded(selection: TestSelection) -> TestSelection:
    return replace(selection, busy=BUSY, timeout_seconds=2 * selection.timeout_seconds)
