"""Classify hidden tests by runs with and without the fix.

Two states of one tree are run: before (base and hidden tests) and after (with the fix). Each run has a sandbox without
files or processes of another run. Repeated runs vary conditions that must not matter (see ``flakes``). A test counts
only if all runs of a state agree.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Final

from codegate.grading import Copies, TestReport, TestSelection, run_tests
from codegate.mining.cut import Cut
from codegate.mining.languages import RunnerSettings
from codegate.mining.proving.flakes import CLOCK_DAYS, VariedRun, varied_runs
from codegate.mining.proving.outcomes import (
    TestOutcomes,
    classify_tests,
    status_in,
    without_doubtful_passes,
)
from codegate.mining.sources.changes import absent_parts
from codegate.mining.units import Rejected
from codegate.sandbox import Sandbox
from codegate.suite import ProblemLimits, Tree, TreeFile
from codegate.wording import count_of

OpenSandbox = Callable[[ProblemLimits], AbstractContextManager[Sandbox]]
Narrowing = Callable[[Mapping[str, TreeFile | None], str], Mapping[str, TreeFile]]

_LATER_SEED: Final = 7
_SLOWNESS: Final = 10.0
_SLEEPINESS: Final = 3.0
_MOST_NARROWINGS: Final = 4
_MOST_DISK: Final = 2048
_LIMITS: Final = (20.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True)
class ValidatedChange:
    """A change's test results, and how its tests were run.

    Attributes:
        selection: how the tests will be graded.
        command_clean: the exit status of every run of the fixed state agrees with its results.
        opened: function that opens sandboxes of the environment.
    """

    outcomes: TestOutcomes
    limits: ProblemLimits
    selection: TestSelection
    command_clean: bool
    seconds: float
    opened: OpenSandbox

    def run(
        self, tree: Tree, files: tuple[str, ...] | None = None, isolated: tuple[str, ...] = (), *, later: bool = False
    ) -> TestReport:
        """Run tests on ``tree``; return the report.

        By default the graded files run. ``isolated`` tests run each by itself. ``later``: the run is on another day,
        with another hash seed.
        """
        selection = replace(self.selection, files=self.selection.files if files is None else files, isolated=isolated)
        if later:
            selection = replace(selection, hash_seed=_LATER_SEED, clock_days=CLOCK_DAYS)
        return run_tests(partial(self.opened, self.limits), tree, selection)


def graded_selection(files: tuple[str, ...], limits: ProblemLimits, settings: RunnerSettings) -> TestSelection:
    """Return the test selection with which a problem is graded."""
    return TestSelection(
        files=files,
        runner=settings.runner,
        command=settings.command,
        reports=settings.reports,
        folder=settings.folder,
        before=settings.before,
        timeout_seconds=limits.seconds,
        output_bytes=limits.output_kb << 10,
    )


class Trial:
    """A change's tests, run once without and with the fix.

    Attributes:
        seen: the outcomes of these two runs; ``confirm`` may find some of the tests flaky.
        marked: a run of marked tests without the fix; None if other tests passed than in the first run.
    """

    seen: ValidatedChange

    def __init__(self, cut: Cut, open_sandbox: OpenSandbox, today: date, limits: ProblemLimits) -> None:
        self.cut = cut
        before = cut.base.overlay(cut.hidden)
        self.trees = {"after": before.overlay(cut.fix), "before": before}
        self.opened = open_sandbox
        self._today = today
        self._started = time.monotonic()
        self.limits = limits
        self.first: dict[str, TestReport] = {}
        self.varied: list[tuple[VariedRun, TestReport]] = []
        self.marked: TestReport | None = None

    def of(self, cut: Cut) -> "Trial":
        """Return a trial of another cut, with no run yet."""
        return Trial(cut, self.opened, self._today, self.limits)

    def run(self, state: str, selection: TestSelection) -> TestReport:
        """Run the tests; return the report.

        ``state`` is ``before`` or ``after`` the fix. The first report of each is the graded one.
        """
        report = without_doubtful_passes(run_tests(partial(self.opened, self.limits), self.trees[state], selection))
        self.first.setdefault(state, report)
        return report

    def confirm(self, rounds: int, used: Copies | None = None) -> ValidatedChange | Rejected:
        """Repeat the tests under varied conditions; return outcomes or rejection.

        Each state (before and after the fix) has up to ``rounds`` runs. They end early when no fail-to-pass test is
        left, or when a test passes before the fix and fails after it. ``used`` are marked copies of the tests; the
        first repetition before the fix runs them.
        """
        # Other work was done since the first two runs; it does not count as time of the validation.
        self._started = time.monotonic() - self.seen.seconds
        graded, outcomes = self.seen.selection, self.seen.outcomes
        first = self.first["after"]
        seconds = sum(result.seconds for result in first.results.values())
        for varied in varied_runs(graded, outcomes, rounds, first.cpu_seconds, seconds):
            report = None
            if used is not None and varied.state == "before" and self.marked is None:
                report = self.marked = self._as_before(replace(varied.selection, copies=used))
            self.varied.append((varied, report or self.run(varied.state, varied.selection)))
            outcomes = self.outcomes()
            if not outcomes.fail_to_pass or outcomes.pass_to_fail:
                break
        if outcomes.pass_to_fail:
            return Rejected("p2f_in_gold", ", ".join(outcomes.pass_to_fail)[:300])
        if not outcomes.fail_to_pass:
            evidence = "; ".join(f"{entry.id}: {entry.quarantine.evidence}" for entry in outcomes.quarantined)
            return Rejected("f2p_flaky" if outcomes.flaky_fix_tests else "no_f2p", evidence[:300])
        return self.validated(graded, outcomes)

    def _as_before(self, selection: TestSelection) -> TestReport | None:
        """Rerun the tests without the fix; return the report.

        Return None if other tests pass than in the first run.
        """
        report, outcomes = self.run("before", selection), self.seen.outcomes
        tests = (*outcomes.fail_to_pass, *outcomes.pass_to_pass)
        passed = [
            {test for test in tests if status_in(each, test) == "passed"} for each in (self.first["before"], report)
        ]
        return report if passed[0] == passed[1] else None

    def outcomes(self) -> TestOutcomes:
        """Return the outcomes of all runs so far."""
        varied = {
            state: [", ".join(run.varies) for run, _ in self.varied if run.state == state] for state in self.trees
        }
        return classify_tests(self._reports("before"), self._reports("after"), self._today, varied)

    def validated(self, graded: TestSelection, outcomes: TestOutcomes) -> ValidatedChange:
        """Return ``outcomes`` with the runs' limits, selection and duration."""
        return ValidatedChange(
            outcomes=outcomes,
            limits=self.limits,
            selection=graded,
            command_clean=all(report.clean for report in self._reports("after")),
            seconds=time.monotonic() - self._started,
            opened=self.opened,
        )

    def _reports(self, state: str) -> list[TestReport]:
        return [self.first[state], *(report for varied, report in self.varied if varied.state == state)]


def try_cut(
    cut: Cut,
    open_sandbox: OpenSandbox,
    today: date,
    include_new_tests: bool,
    settings: RunnerSettings,
    allowed: ProblemLimits,
    narrowed: Narrowing | None = None,
    least: float = 0.0,
    may_be_at_fault: Callable[[frozenset[str]], bool] = lambda _: False,
    processor_seconds: float = math.inf,
) -> Trial | Rejected:
    """Run a change's tests before and after the fix, once.

    Return the trial, or a rejection. The fixed state runs first. It shows whether the environment works and how long
    the tests take, so that a bug that hangs costs only a measured limit.

    Args:
        cut: the change's tests and fix.
        open_sandbox: opens empty sandboxes of the environment to try.
        today: the day that quarantines count from.
        include_new_tests: keep a change whose tests cannot be imported before the fix.
        settings: the test runner.
        allowed: limits of the first run; later ones get a time limit by its duration.
        narrowed: returns the changed test files without the declarations that a compiler's message names; None: all
            are kept.
        least: smallest time limit of later runs, in seconds. Grading may have to compile code that was compiled already
            in the first run.
        may_be_at_fault: returns whether the environment may be why the given tests fail after the fix.
        processor_seconds: limit of the first run's processor time.

    Raises:
        FilesRefused: a tree does not fit into the sandbox.
        SandboxError: a sandbox failed.
    """
    allowed = with_room(allowed, cut.fixed)
    trial = Trial(cut, open_sandbox, today, allowed)
    first = trial.run("after", graded_selection(cut.test_files, allowed, settings))
    rejected = _reject_fixed(first)
    if rejected is None and first.cpu_seconds > processor_seconds:
        rejected = Rejected("timeout", f"the fixed tests took over {processor_seconds:.0f} s of processor time")
    failing = frozenset(test for test, result in first.results.items() if result.failed)
    ended = not first.unprepared and (rejected is None or rejected.reason != "timeout")
    if failing and ended and (needed := _needs_other_files(trial, failing, settings)):
        return needed
    if rejected is not None:
        absent = absent_parts(cut.fixed)
        return replace(rejected, detail=f"{absent} is not here; {rejected.detail}") if absent else rejected
    if may_be_at_fault(failing):
        return Rejected("env_no_passing_test", f"after the fix these fail: {', '.join(sorted(failing))}"[:300])
    trial.limits = allowed.model_copy(update={"seconds": max(least, measured_limit(first, allowed.seconds))})
    graded = graded_selection(cut.test_files, trial.limits, settings)
    trial.run("before", graded)
    outcomes = trial.outcomes()
    if not outcomes.fail_to_pass:
        return _nothing_fails(trial, outcomes)
    if not include_new_tests and all(kind == "collection" for kind in outcomes.kinds.values()):
        smaller = _compiling(trial, graded, narrowed) if narrowed is not None else None
        outcome = None
        if smaller is not None:
            least = trial.limits.seconds
            outcome = try_cut(smaller, open_sandbox, today, include_new_tests, settings, allowed, least=least)
        new = Rejected("only_new_tests", "no fail-to-pass test could be imported before the fix")
        return outcome if isinstance(outcome, Trial) else new
    trial.seen = trial.validated(graded, outcomes)
    return trial


def _needs_other_files(trial: Trial, failing: frozenset[str], settings: RunnerSettings) -> Rejected | None:
    """Return a rejection if the fix needs other changed files.

    ``failing`` are the tests that fail with the fix. If one of them passes with the whole change, files that are not
    taken for source belong to the fix. Without the rejection, half of the fix would be graded as the whole, and a
    correct patch might fail.
    """
    cut = trial.cut
    fixed, whole = trial.trees["after"], cut.fixed.overlay(cut.hidden)
    others = sorted(path for path in {*fixed, *whole} if fixed.get(path) != whole.get(path))
    if not others:
        return None
    graded = graded_selection(cut.test_files, trial.limits, settings)
    report = run_tests(partial(trial.opened, trial.limits), whole, graded)
    passed = {test for test in failing if status_in(report, test) == "passed"}
    if passed:  # a flaky test may pass by chance
        report = run_tests(partial(trial.opened, trial.limits), fixed, graded)
        passed = {test for test in passed if status_in(report, test) != "passed"}
    return Rejected("needs_other_files", f"{min(passed)} needs one of {', '.join(others)}"[:300]) if passed else None


def _compiling(trial: Trial, graded: TestSelection, narrowed: Narrowing) -> Cut | None:
    """Return a cut whose tests compile before the fix.

    ``narrowed`` removes tests that do not compile. None if that fails, or if no remaining test fails before the fix.
    """
    before = trial.first["before"]
    for _ in range(_MOST_NARROWINGS):
        changed = narrowed(trial.cut.hidden, "\n".join({error.text for error in before.collection_errors}))
        if not changed:
            return None
        trial = trial.of(replace(trial.cut, hidden={**trial.cut.hidden, **changed}))
        before = trial.run("before", graded)
        if not before.collection_errors:
            failed = any(result.failed for result in before.results.values())
            return trial.cut if failed else None
    return None


def with_room(allowed: ProblemLimits, tree: Tree) -> ProblemLimits:
    """Return ``allowed``, with more disk and memory for large trees."""
    size = sum(len(file.data) for file in tree.values()) >> 20
    if size <= allowed.disk_mb // 2:
        return allowed
    disk = min(size + allowed.disk_mb, _MOST_DISK)
    return allowed.model_copy(update={"disk_mb": disk, "memory_mb": max(allowed.memory_mb, 2 * disk)})


def _nothing_fails(trial: Trial, outcomes: TestOutcomes) -> Rejected:
    # A run that was cut short shows nothing.
    before, after = trial.first["before"], trial.first["after"]
    skipped = sum(result.status == "skipped" for result in after.results.values())
    aside = f"; {skipped} skipped" if skipped else ""
    passed = f"before the fix {count_of(len(outcomes.pass_to_pass), 'test')} passed too{aside}"
    if before.timed_out:
        return Rejected("timeout", f"before the fix the tests took over {before.seconds:.0f} s; {passed}")
    return Rejected("no_f2p", passed)


def measured_limit(report: TestReport, most: float = 0.0) -> float:
    """Return a time limit in seconds for measured tests.

    It is the smallest fixed limit that suffices for the run of ``report``. Mainly the run's processor time decides, so
    that a busy machine seldom changes the limit. If none suffices, it is the largest one, or ``most`` if that is
    larger.
    """
    needed = max(_SLOWNESS * report.cpu_seconds, _SLEEPINESS * report.seconds)
    return next((seconds for seconds in _LIMITS if seconds >= needed), max(_LIMITS[-1], most))


def _reject_fixed(report: TestReport) -> Rejected | None:
    errors = "; ".join(dict.fromkeys(f"{error.id}: {error.reason}" for error in report.collection_errors))
    if report.timed_out:
        return Rejected("timeout", report.unprepared or f"the fixed tests took over {report.seconds:.0f} s")
    if report.unprepared:
        return Rejected("env_no_passing_test", report.unprepared)
    if not any(result.status == "passed" for result in report.results.values()):
        failed = next((result for result in report.results.values() if result.failed), None)
        if report.results and not (failed or errors):  # other builds would hardly change the tests' conditions
            return Rejected("no_f2p", f"all tests are skipped ({len(report.results)})")
        # The last lines of a runner's output have its seconds, which differ each time.
        seen = errors or (f"{failed.id}: {failed.exception}: {failed.message}" if failed else report.output[-300:])
        return Rejected("env_no_passing_test", " ".join(seen.split())[:300])
    if errors or not report.complete or report.tampering:
        return Rejected(
            "collect_error_gold", " ".join(errors.split())[:300] or "the test process did not end by itself"
        )
    return None
