"""Proof by execution: which hidden tests the fix makes pass, which stay passing, and which cannot be trusted.

Two states of one tree are run: before (base and hidden tests) and after (and the fix). Each run has a fresh
sandbox, and repeats vary what must not matter (see ``flakes``). A test counts only when every run of a state agrees.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Final

from codegate.grading import TestReport, TestSelection, run_tests
from codegate.mining.cut import Cut
from codegate.mining.languages import RunnerSettings
from codegate.mining.proving.flakes import Cause, Varied, explain, flaky_tests, plan
from codegate.mining.proving.outcomes import TestOutcomes, classify_tests, is_clean
from codegate.mining.units import Rejected
from codegate.sandbox import Sandbox
from codegate.suite import ProblemLimits, Tree

OpenSandbox = Callable[[ProblemLimits], AbstractContextManager[Sandbox]]

_SLOWNESS: Final = 10.0
_SLEEPINESS: Final = 3.0
_LIMITS: Final = (20.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True)
class Validated:
    """Outcomes of a cut, and how they came about.

    Attributes:
        outcomes: what became of each test.
        limits: what the runs were limited to.
        selection: how the tests will be graded.
        command_clean: the exit status of every run of the fixed state agrees with its results.
        seconds: wall-clock time.
        cpu_seconds: processor time of the tests of all runs.
        runs: how many there were.
    """

    outcomes: TestOutcomes
    limits: ProblemLimits
    selection: TestSelection
    command_clean: bool
    seconds: float
    cpu_seconds: float
    runs: int


class _Runs:
    """The runs of one cut, in both states."""

    def __init__(self, cut: Cut, open_sandbox: OpenSandbox, limits: ProblemLimits) -> None:
        before = cut.base.overlay(cut.hidden)
        self._trees = {"after": before.overlay(cut.fix), "before": before}
        self._open = open_sandbox
        self.limits = limits
        self.reports: dict[str, list[TestReport]] = {"after": [], "before": []}
        self.varied: dict[str, list[tuple[Varied, TestReport]]] = {"after": [], "before": []}
        self.count = 0
        self.cpu_seconds = 0.0

    def first(self, state: str, selection: TestSelection) -> TestReport:
        """Run a state as it will be graded."""
        self.reports[state].append(self.run(state, selection))
        return self.reports[state][0]

    def vary(self, varied: Varied) -> None:
        """Run a state with something varied."""
        report = self.run(varied.state, varied.selection)
        self.reports[varied.state].append(report)
        self.varied[varied.state].append((varied, report))

    def run(self, state: str, selection: TestSelection) -> TestReport:
        """Run a state in a fresh sandbox; the report is the caller's."""
        tree: Tree = self._trees[state]
        with self._open(self.limits) as sandbox:
            report = run_tests(sandbox, tree, selection)
        self.count += 1
        self.cpu_seconds += report.cpu_seconds
        return report

    def outcomes(self, today: date, causes: dict[str, Cause] | None = None) -> TestOutcomes:
        """Return what the runs so far have shown."""
        return classify_tests(self.reports["before"], self.reports["after"], today, causes)

    def explain(self, graded: TestSelection, outcomes: TestOutcomes) -> dict[str, Cause]:
        """Return what each quarantined test depends on, by further runs; nothing is run where there is none."""
        causes: dict[str, Cause] = {}
        for state, flaky in flaky_tests(outcomes, self.reports).items():
            if flaky:
                first, varied = self.reports[state][0], self.varied[state]
                causes |= explain(graded, flaky, varied, first, partial(self.run, state))
        return causes


def graded_selection(
    files: tuple[str, ...], python_path: tuple[str, ...], limits: ProblemLimits, settings: RunnerSettings
) -> TestSelection:
    """Return how test files are run when a problem is graded."""
    return TestSelection(
        files=files,
        python_path=python_path,
        runner=settings.runner,
        command=settings.command,
        reports=settings.reports,
        folder=settings.folder,
        timeout_seconds=limits.seconds,
        output_bytes=limits.output_kb << 10,
    )


class Trial:
    """A cut whose tests were run once in each state, and that is worth further runs.

    Attributes:
        seen: what these two runs showed; ``confirm`` may find some of it flaky.
    """

    def __init__(self, runs: _Runs, graded: TestSelection, today: date, first: TestReport, started: float) -> None:
        self._runs, self._graded, self._today, self._first = runs, graded, today, first
        self._spent = time.monotonic() - started
        self.seen = self._validated(runs.outcomes(today))

    def confirm(self, rounds: int) -> Validated | Rejected:
        """Run both states with what must not matter varied, ending early where nothing can come of it.

        Args:
            rounds: runs of the fixed state: 3 usually, 5 to be strict; from 3 on, tests of Python have one more.

        Raises:
            SandboxError: ours or the daemon's fault.
        """
        started = time.monotonic()
        runs, outcomes = self._runs, self.seen.outcomes
        for varied in plan(self._graded, outcomes, rounds, self._first.cpu_seconds):
            runs.vary(varied)
            outcomes = runs.outcomes(self._today)
            if not outcomes.fail_to_pass or outcomes.pass_to_fail:
                break
        if outcomes.pass_to_fail:
            return Rejected("p2f_in_gold", ", ".join(outcomes.pass_to_fail)[:300])
        if not outcomes.fail_to_pass:
            evidence = "; ".join(f"{entry.id}: {entry.quarantine.evidence}" for entry in outcomes.quarantined)
            return Rejected("f2p_flaky" if outcomes.flaky_fix_tests else "no_f2p", evidence[:300])
        outcomes = runs.outcomes(self._today, runs.explain(self._graded, outcomes))
        self._spent += time.monotonic() - started
        return self._validated(outcomes)

    def _validated(self, outcomes: TestOutcomes) -> Validated:
        runs = self._runs
        return Validated(
            outcomes=outcomes,
            limits=runs.limits,
            selection=self._graded,
            command_clean=all(is_clean(report) for report in runs.reports["after"]),
            seconds=self._spent,
            cpu_seconds=runs.cpu_seconds,
            runs=runs.count,
        )


def try_cut(
    cut: Cut,
    open_sandbox: OpenSandbox,
    python_path: tuple[str, ...],
    today: date,
    include_new_tests: bool,
    settings: RunnerSettings,
    allowed: ProblemLimits,
) -> Trial | Rejected:
    """Run ``cut`` once in each state; return what came of it, or why nothing can.

    The fixed state is run first: it shows whether the environment works and how long the tests take, so that
    a bug that hangs costs a limit made to measure. That the reference fix is graded by the real grader is left to
    the caller.

    Args:
        cut: the unit's parts.
        open_sandbox: gives fresh sandboxes of the environment to try.
        python_path: import roots.
        today: the day that quarantines count from.
        include_new_tests: keep a unit whose tests cannot be imported before the fix.
        settings: the test runner.
        allowed: what the first run may use; later ones get a time limit made to measure.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    started = time.monotonic()
    runs = _Runs(cut, open_sandbox, allowed)
    first = runs.first("after", graded_selection(cut.test_files, python_path, allowed, settings))
    rejected = _reject_fixed(first)
    if rejected is not None:
        return rejected
    runs.limits = allowed.model_copy(update={"seconds": time_limit(first)})
    graded = graded_selection(cut.test_files, python_path, runs.limits, settings)
    runs.first("before", graded)
    outcomes = runs.outcomes(today)
    if not outcomes.fail_to_pass:
        return Rejected("no_f2p", f"{len(outcomes.pass_to_pass)} tests pass before the fix too")
    if not include_new_tests and all(kind == "collection" for kind in outcomes.kinds.values()):
        return Rejected("only_new_tests", "no fail-to-pass test could be imported before the fix")
    return Trial(runs, graded, today, first, started)


def time_limit(report: TestReport) -> float:
    """Return the limit of a run for tests that took what ``report`` says, in seconds.

    From a few steps, by processor time first, so that a busy machine seldom makes another problem of the same tests.
    """
    needed = max(_SLOWNESS * report.cpu_seconds, _SLEEPINESS * report.seconds)
    return next((seconds for seconds in _LIMITS if seconds >= needed), _LIMITS[-1])


def _reject_fixed(report: TestReport) -> Rejected | None:
    errors = "; ".join(f"{error.id}: {error.exception}: {error.text[-150:]}" for error in report.collection_errors)
    if report.timed_out:
        return Rejected("timeout", f"the fixed tests took over {report.seconds:.0f} s")
    if not any(result.status == "passed" for result in report.results.values()):
        failed = next((result for result in report.results.values() if result.status in {"failed", "error"}), None)
        seen = errors or (f"{failed.id}: {failed.exception}: {failed.message}" if failed else report.output[-300:])
        return Rejected("env_no_passing_test", " ".join(seen.split())[:300])
    if errors or not report.complete or report.forged:
        return Rejected(
            "collect_error_gold", " ".join(errors.split())[:300] or "the test process did not end by itself"
        )
    return None
