"""What the runs of a validation vary, and which of it a test's result was found to depend on.

Most flaky tests depend on the order of tests, the rest on time, the network, randomness and hashing (Gruber et al.,
arXiv 2101.09077). Several things are varied in one run, because most tests depend on none of them; only for a test
that shows a difference, they are varied one by one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from codegate.grading import TestReport, TestSelection
from codegate.mining.proving.outcomes import TestOutcomes, status_of

Cause = Literal["order", "seed", "clock", "isolation", "load", "timezone"]

CLOCK_DAYS: Final = 400
"""Another year, month, day of the month and day of the week, and past most dates that somebody once found far away."""
ZONE: Final = "Pacific/Kiritimati"
BUSY: Final = 3
"""Processes that share the tests' processor: what took a second takes four."""
MAX_ISOLATED: Final = 100
SWEEP: Final = (11, 12, 13, 14)
"""Hash seeds of short runs: two words in a set are in one order for half of all seeds."""
_SWEEP_SECONDS: Final = 20.0
_HASHED: Final = frozenset({"pytest", "unittest", "django"})


@dataclass(frozen=True)
class Varied:
    """One run: what it varies, and how."""

    causes: tuple[Cause, ...]
    selection: TestSelection


@dataclass(frozen=True)
class Round:
    """The runs of one round, of the fixed state and of the unfixed one; None: not run."""

    after: Varied
    before: Varied | None


def plan(graded: TestSelection, outcomes: TestOutcomes, rounds: int, cpu_seconds: float = 0.0) -> tuple[Round, ...]:
    """Return the rounds after the first, which runs ``graded`` as it is.

    Round 2 turns the order round, and the clock; round 3 runs tests each by itself, and the fixed state in bad
    company; rounds 4 and 5 turn the clock and the time zone alone, in both states; later ones turn the order every
    other time. Each has hash seeds of its own.

    Args:
        graded: the selection as it will be graded.
        outcomes: what the first round showed.
        rounds: runs of each state.
        cpu_seconds: what a run takes; of slow tests, fewer hash seeds are tried.
    """
    found = []
    for number in range(2, rounds + 1):
        if number == 2:
            turned = replace(graded, order="reversed")
            after = Varied(("order", "clock", "seed"), replace(turned, hash_seed=1, clock_days=CLOCK_DAYS))
            before = Varied(("order", "seed"), replace(turned, hash_seed=3))
        elif number == 3:
            # What must pass in both states is run by itself where there is no load: a hundred children take a while.
            mended, kept = outcomes.fail_to_pass[:MAX_ISOLATED], outcomes.pass_to_pass[:MAX_ISOLATED]
            crowded = replace(_crowded(graded), isolated=mended)
            after = Varied(("isolation", "load", "seed"), replace(crowded, hash_seed=2))
            before = Varied(("isolation", "seed"), replace(graded, isolated=kept, hash_seed=4))
        elif number == 4:
            after = before = Varied(("clock",), replace(graded, clock_days=CLOCK_DAYS))
        elif number == 5:
            after = before = Varied(("timezone",), replace(graded, timezone=ZONE))
        else:
            order: Literal["natural", "reversed"] = "natural" if number % 2 else "reversed"
            after = before = Varied(("seed", "order"), replace(graded, order=order, hash_seed=number))
        found.append(Round(after, before))
    if rounds >= 3 and graded.runner in _HASHED:
        affordable = max(1, int(_SWEEP_SECONDS / max(cpu_seconds, 0.1)))
        found += [Round(Varied(("seed",), replace(graded, hash_seed=seed)), None) for seed in SWEEP[:affordable]]
    return tuple(found)


def explain(
    graded: TestSelection,
    flaky: Sequence[str],
    varied: Sequence[tuple[Varied, TestReport]],
    first: TestReport,
    run: Callable[[TestSelection], TestReport],
) -> dict[str, Cause]:
    """Return what the results of ``flaky`` depend on; a test is left out when that cannot be told.

    Args:
        graded: the selection as it will be graded.
        flaky: ids of tests whose results differ between runs of one state.
        varied: the other runs of that state.
        first: its run as graded.
        run: runs that state once more.
    """
    suspects: dict[str, set[Cause]] = {}
    causes: dict[str, Cause] = {}
    for test in flaky:
        for what, report in varied:
            if _differs(test, first, report):
                suspects.setdefault(test, set()).update(what.causes)
                if len(what.causes) == 1:
                    causes.setdefault(test, what.causes[0])
    files = tuple(file for file in graded.files if any(test.startswith(f"{file}::") for test in suspects))
    narrowed = replace(graded, files=files or graded.files)  # what happens in a file depends on no other one
    for cause, selection in _singles(narrowed, [what.selection.hash_seed for what, _ in varied]):
        open_tests = [test for test, seen in suspects.items() if cause in seen and test not in causes]
        if open_tests:
            report = run(replace(selection, isolated=tuple(open_tests)) if cause == "isolation" else selection)
            causes |= {test: cause for test in open_tests if _differs(test, first, report)}
    return causes


def _singles(graded: TestSelection, seeds: Sequence[int]) -> list[tuple[Cause, TestSelection]]:
    """Return the runs that vary one thing each; what a busy machine can disturb comes last."""
    known = {graded.hash_seed, *SWEEP}
    return [
        ("order", replace(graded, order="reversed")),
        ("clock", replace(graded, clock_days=CLOCK_DAYS)),
        *[("seed", replace(graded, hash_seed=seed)) for seed in dict.fromkeys(seeds) if seed not in known],
        ("isolation", graded),
        ("load", _crowded(graded)),
    ]  # fmt: skip


def _crowded(selection: TestSelection) -> TestSelection:
    return replace(selection, busy=BUSY, timeout_seconds=2 * selection.timeout_seconds)


def _differs(test: str, first: TestReport, other: TestReport) -> bool:
    statuses = {status_of(first, test), status_of(other, test)} - {"unreached"}
    return len(statuses) > 1 and "passed" in statuses


def flaky_tests(outcomes: TestOutcomes, reports: Mapping[str, Sequence[TestReport]]) -> dict[str, list[str]]:
    """Return the quarantined tests by the state, a key of ``reports``, whose runs differ."""
    found: dict[str, list[str]] = {state: [] for state in reports}
    for entry in outcomes.quarantined:
        for state, runs in reports.items():
            if any(_differs(entry.id, runs[0], run) for run in runs[1:]):
                found[state].append(entry.id)
                break
    return found
