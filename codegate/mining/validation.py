"""Proof by execution: which hidden tests the fix makes pass, which stay passing, and which cannot be trusted.

Two states of one tree are run: before (base and hidden tests) and after (and the fix). Each run has a fresh
sandbox, and repeats vary what must not matter: the order of tests and the hash seed (most flaky Python tests
depend on order: Gruber et al., arXiv 2101.09077). A test counts only when every run of a state agrees.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, Literal

from codegate.grading import TestReport, TestResult, TestSelection, run_tests
from codegate.mining.cut import Cut
from codegate.mining.languages.contract import RunnerSettings
from codegate.mining.units import Rejected
from codegate.sandbox import Sandbox
from codegate.suite import ProblemLimits, Quarantine, QuarantinedTest, Tree

TestKind = Literal["assertion", "exception", "timeout", "collection"]
OpenSandbox = Callable[[ProblemLimits], AbstractContextManager[Sandbox]]

QUARANTINE_DAYS: Final = 90
FIRST_LIMITS: Final = ProblemLimits(seconds=120.0)
PYTEST: Final = RunnerSettings("pytest")
_SLOWNESS: Final = 10.0
_SLEEPINESS: Final = 3.0
_LIMITS: Final = (20.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True)
class TestOutcomes:
    """What became of each hidden test over all runs.

    Attributes:
        fail_to_pass: never passes before the fix, always passes after it.
        pass_to_pass: always passes, in both states.
        quarantined: its result differs between runs of one state, with the evidence.
        pass_to_fail: always passes before the fix, always fails after it.
        flaky_fix_tests: some of ``quarantined`` failed before the fix and passed after it at least once.
        kinds: how each fail-to-pass test fails before the fix.
        evidence: the result of each fail-to-pass test before the fix, for the statement; None: never reported.
    """

    __test__ = False  # not a test class, whatever its name begins with

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    quarantined: tuple[QuarantinedTest, ...]
    pass_to_fail: tuple[str, ...]
    flaky_fix_tests: bool
    kinds: Mapping[str, TestKind]
    evidence: Mapping[str, TestResult | None]


@dataclass(frozen=True)
class Validated:
    """Outcomes of a cut, and the limits that it was validated under."""

    outcomes: TestOutcomes
    limits: ProblemLimits


def selections(
    files: tuple[str, ...],
    python_path: tuple[str, ...],
    limits: ProblemLimits,
    rounds: int,
    settings: RunnerSettings = PYTEST,
) -> list[TestSelection]:
    """Return the runs of one state: as graded first, then in reverse with another hash seed, then other seeds."""
    graded = TestSelection(
        files=files,
        python_path=python_path,
        runner=settings.runner,
        command=settings.command,
        reports=settings.reports,
        timeout_seconds=limits.seconds,
        output_bytes=limits.output_kb << 10,
    )
    varied = [
        replace(graded, order="reversed" if number % 2 else "natural", hash_seed=number) for number in range(1, rounds)
    ]
    return [graded, *varied]


def validate_cut(
    cut: Cut,
    open_sandbox: OpenSandbox,
    python_path: tuple[str, ...],
    rounds: int,
    today: date,
    include_new_tests: bool = False,
    settings: RunnerSettings = PYTEST,
    allowed: ProblemLimits = FIRST_LIMITS,
) -> Validated | Rejected:
    """Run ``cut`` in both states, ``rounds`` times each, ending early where nothing can come of it.

    The fixed state is run first: it shows whether the environment works and how long the tests take, so that
    a bug that hangs costs a limit made to measure. Its last run is left to the caller, who grades the reference
    fix by the real grader.

    Args:
        cut: the unit's parts.
        open_sandbox: gives fresh sandboxes of the environment to try.
        python_path: import roots.
        rounds: runs of each state.
        today: the day that quarantines count from.
        include_new_tests: keep a unit whose tests cannot be imported before the fix.
        settings: the test runner.
        allowed: what the first run may use; later ones get a time limit made to measure.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    before = cut.base.overlay(cut.hidden)
    after = before.overlay(cut.fix)
    limits = allowed
    first = _run(after, selections(cut.test_files, python_path, limits, 1, settings)[0], limits, open_sandbox)
    rejected = _reject_fixed(first)
    if rejected is not None:
        return rejected
    limits = allowed.model_copy(update={"seconds": time_limit(first)})
    runs = selections(cut.test_files, python_path, limits, rounds, settings)
    reports_before = [_run(before, runs[0], limits, open_sandbox)]
    reports_after = [first]
    outcomes = classify_tests(reports_before, reports_after, today)
    if not outcomes.fail_to_pass:
        return Rejected("no_f2p", f"{len(outcomes.pass_to_pass)} tests pass before the fix too")
    if not include_new_tests and all(kind == "collection" for kind in outcomes.kinds.values()):
        return Rejected("only_new_tests", "no test that the fix mends could be imported before it")
    for number, selection in enumerate(runs[1:], start=2):
        reports_before.append(_run(before, selection, limits, open_sandbox))
        if number == 2 or number < rounds:
            reports_after.append(_run(after, selection, limits, open_sandbox))
    outcomes = classify_tests(reports_before, reports_after, today)
    if outcomes.pass_to_fail:
        return Rejected("p2f_in_gold", ", ".join(outcomes.pass_to_fail)[:300])
    if not outcomes.fail_to_pass:
        evidence = "; ".join(f"{entry.id}: {entry.quarantine.evidence}" for entry in outcomes.quarantined)
        return Rejected("f2p_flaky" if outcomes.flaky_fix_tests else "no_f2p", evidence[:300])
    return Validated(outcomes, limits)


def time_limit(report: TestReport) -> float:
    """Return the limit of a run for tests that took what ``report`` says, in seconds.

    From a few steps, by processor time first, so that a busy machine seldom makes another problem of the same tests.
    """
    needed = max(_SLOWNESS * report.cpu_seconds, _SLEEPINESS * report.seconds)
    return next((seconds for seconds in _LIMITS if seconds >= needed), _LIMITS[-1])


def classify_tests(before: list[TestReport], after: list[TestReport], today: date) -> TestOutcomes:
    """Sort the tests of the fixed state by their results in all runs of both states.

    A test that the runs after the fix do not all know has no stable id and is left out, and so is one that is
    skipped or broken after the fix. A test that a run did not get to, because another one used up the time or
    ended the process, says nothing about itself.
    """
    expires = today + timedelta(days=QUARANTINE_DAYS)
    stable = [test for test in after[0].results if all(test in report.results for report in after)]
    fail, keep, broken, quarantined = [], [], [], []
    flaky_fix = False
    for test in stable:
        first = {_status(report, test) for report in before}
        then = {_status(report, test) for report in after}
        reached = first - {"unreached"}
        if len(then) > 1 and "passed" in then:
            flaky_fix = flaky_fix or "passed" not in reached
            quarantined.append(_quarantine(test, before, after, expires))
        elif then != {"passed"}:
            if reached == {"passed"} and then <= {"failed", "error"}:
                broken.append(test)
        elif reached == {"passed"}:
            keep.append(test)
        elif "passed" in reached:
            flaky_fix = True
            quarantined.append(_quarantine(test, before, after, expires))
        elif "skipped" not in reached:
            fail.append(test)
    return TestOutcomes(
        fail_to_pass=tuple(sorted(fail)),
        pass_to_pass=tuple(sorted(keep)),
        quarantined=tuple(sorted(quarantined, key=lambda entry: entry.id)),
        pass_to_fail=tuple(sorted(broken)),
        flaky_fix_tests=flaky_fix,
        kinds={test: _kind(before[0], test) for test in fail},
        evidence={test: before[0].results.get(test) for test in fail},
    )


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


def _run(tree: Tree, selection: TestSelection, limits: ProblemLimits, open_sandbox: OpenSandbox) -> TestReport:
    with open_sandbox(limits) as sandbox:
        return run_tests(sandbox, tree, selection)


def _status(report: TestReport, test: str) -> str:
    result = report.results.get(test)
    if result is not None and result.status != "missing":
        return result.status
    cut_short = report.timed_out or not report.complete
    return "unreached" if cut_short and result is None else "missing"


def _kind(report: TestReport, test: str) -> TestKind:
    file = test.partition("::")[0]
    if any(_file_of(error.id) == file for error in report.collection_errors):
        return "collection"
    result = report.results.get(test)
    if result is None or result.status == "missing":
        return "timeout" if report.timed_out else "exception"
    assertion = result.exception == "AssertionError" or "AssertionError" in report.parents.get(test, ())
    return "assertion" if assertion or (result.exception or "").endswith(".Failed") else "exception"


def _file_of(place: str) -> str:
    return place.partition("::")[0]


def _quarantine(test: str, before: list[TestReport], after: list[TestReport], expires: date) -> QuarantinedTest:
    evidence = (
        f"before the fix: {'/'.join(_status(report, test) for report in before)}; "
        f"after it: {'/'.join(_status(report, test) for report in after)}"
    )
    return QuarantinedTest(id=test, quarantine=Quarantine(reason="flaky", evidence=evidence, expires=expires))
