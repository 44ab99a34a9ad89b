"""The grader: a patch in, a ``Grade`` out, by execution in a fresh sandbox and nothing else."""

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from codegate.grading.classify import broken_collection, classify_failure
from codegate.grading.controls.audit import audit_controls
from codegate.grading.controls.control import (
    Subject,
    examine,
    explain,
    is_tampering,
    refute,
    run_controls_first,
    run_instrumented,
)
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.scan import reaches_out, suspicious_signs
from codegate.grading.controls.search import SitesUnknown, search_once
from codegate.grading.controls.verdict import Contradiction
from codegate.grading.grade import FailureClass, Grade, LintResult, TestResult
from codegate.grading.inspection import Inspection, inspect
from codegate.grading.policy import sort_patch
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport
from codegate.sandbox import FilesRefused
from codegate.suite import ControlAudit, PatchError, Problem, ProblemManifest, Tree, apply_patch, make_patch

GRADER_VERSION = "8"
"""Raised when the same patch may get another grade than before: baselines are then no longer comparable."""

_MOST_BEFORE: Final = 3  # controls before the real run of a patch to be wary of
_MOST_BEFORE_SUSPICIOUS: Final = 5
_MOST_CONTROLS: Final = 4
"""Of a patch with signs of an attempt: as many assertions of each of its tests are asked for something else in turn."""


def grade(problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes) -> Grade:
    """Grade ``patch`` against ``base``: apply, compile, hidden tests, lint, measure, classify.

    Args:
        problem: what was asked.
        base: its base tree.
        patch: unified diff, as written by a suspect.
        sandboxes: where the code runs: the look at the patch and each run of the hidden tests have a fresh one.

    Raises:
        SandboxError: ours or the daemon's fault; there is no grade then.
    """
    return _grade(problem, base, patch, sandboxes, [])


def grade_reference(
    problem: Problem, base: Tree, sandboxes: Sandboxes, rounds: int = 3
) -> tuple[Grade, ControlAudit | None]:
    """Grade a problem's own fix and audit its controls; return both, None where no test was run.

    One run serves both. Test files that their instruments break are graded once more, without them.

    Args:
        problem: what is asked; its own audit does not count.
        base: its base tree.
        sandboxes: where the code runs.
        rounds: mutants that are tried of a fail-to-pass function at most; after the first, until the fix fails one.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    patch = make_patch(base, problem.fix)
    runs: list[tuple[Instruments, TestReport]] = []
    result: Grade | None = None
    with contextlib.suppress(SitesUnknown):
        result = _grade(problem, base, patch, sandboxes, runs)
    if result is not None and not runs:
        return result, None
    audit = audit_controls(problem, base, sandboxes, rounds, runs[0] if runs else None, until_killed=True)
    if result is None or audit.unfit:
        manifest = ProblemManifest.model_validate({**problem.manifest.model_dump(by_alias=True), "controls": audit})
        result = grade(replace(problem, manifest=manifest), base, patch, sandboxes)
    return result, audit


def _grade(
    problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes, runs: list[tuple[Instruments, TestReport]]
) -> Grade:
    """Grade as ``grade`` does; add the run of the hidden tests, when there is one, to ``runs``."""
    total = len(problem.tests.expected)
    if not patch.strip():
        return _failed(total, "no_patch", "the answer changes nothing")
    try:
        changes = apply_patch(base, patch)
    except PatchError as error:
        return _failed(total, "patch_does_not_apply", str(error), applied=False)
    sorted_patch = sort_patch(problem, base, changes)
    dropped = _shown(sorted_patch.dropped)
    if sorted_patch.hostile:
        return _failed(total, "tampering", "; ".join(sorted_patch.hostile), applied=False, dropped=dropped)
    if not sorted_patch.applied:
        detail = "the patch changes tests, configuration or documentation only" if changes else "the patch is empty"
        return _failed(total, "no_patch", detail, dropped=dropped)
    tree = base.overlay(sorted_patch.applied)
    try:
        # Looking at texts has a sandbox of its own: nothing tells the real run from a control.
        with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
            inspection = inspect(sandbox, base, sorted_patch.applied, sorted_patch.new_modules)
        refused = _refused(total, inspection, dropped)
        if refused is not None:
            return refused
        audit = problem.manifest.controls
        files = tuple(file for file in problem.manifest.test_files if audit is None or file not in audit.unfit)
        subject = Subject(problem, tree, base.overlay(problem.fix), search_once(problem, base, files, sandboxes))
        suspicious = suspicious_signs(base, sorted_patch.applied, problem.fix)
        wary = subject.candidate != subject.reference and (bool(suspicious) or reaches_out(base, sorted_patch.applied))
        most = _MOST_BEFORE_SUSPICIOUS if suspicious else _MOST_BEFORE
        before = run_controls_first(subject, most, sandboxes) if wary else ()
        used = instrument(subject.sites)
        report = run_instrumented(problem, tree, used, sandboxes)
        runs.append((used, report))
    except FilesRefused as error:
        # The reference fix passed these doors, so it is the patch that cannot.
        return _failed(total, "patch_does_not_apply", str(error), applied=False, dropped=dropped)
    doubts: frozenset[Contradiction] = frozenset()
    passing = {test for test, result in report.results.items() if result.status == "passed"}
    if subject.candidate != subject.reference:  # the reference is what others are measured by
        doubts = refute(subject, report, used, sandboxes)
        if not doubts and report.proven and passing.issuperset(problem.tests.expected):
            rounds = (_MOST_CONTROLS if suspicious else 2) if wary else 1
            doubts = examine(subject, report, rounds, sandboxes, before, wary=wary)
    result = _grade_report(problem, _doubted(report, doubts), inspection.lint, dropped)
    controlled = subject.controllable if result.resolved else None
    return result.model_copy(update={"suspicious": suspicious, "controlled": controlled})


def _refused(total: int, inspection: Inspection, dropped: tuple[str, ...]) -> Grade | None:
    """Return the grade of a patch that is not run, for what its text is."""
    if inspection.shadowed:
        detail = f"takes the place of the installed module {', '.join(inspection.shadowed)}"
        return _failed(total, "tampering", detail, applied=False, dropped=dropped)
    if inspection.errors:
        path, reason = next(iter(inspection.errors.items()))
        return _failed(
            total, "syntax_error", f"{path}: {reason}", applied=True, compiled=False,
            dropped=dropped, lint=inspection.lint,
        )  # fmt: skip
    return None


def _doubted(report: TestReport, doubts: frozenset[Contradiction]) -> TestReport:
    """Return the report without the passes that contradict themselves."""
    if not doubts:
        return report
    if is_tampering(doubts):
        return replace(report, tampering=report.tampering or explain(doubts))
    unsteady = {entry.test for entry in doubts}
    results = {
        test: result.model_copy(update={"status": "failed", "message": explain(doubts)}) if test in unsteady else result
        for test, result in report.results.items()
    }
    return replace(report, results=results)


def _grade_report(problem: Problem, report: TestReport, lint: LintResult | None, dropped: tuple[str, ...]) -> Grade:
    tests = tuple(report.results.get(test) or TestResult(id=test, status="missing") for test in problem.tests.expected)
    failing = [test for test in tests if test.status != "passed"]
    passed = len(tests) - len(failing)
    resolved = not failing and report.proven
    compiled = broken_collection(report, failing) is None
    failure, detail = (None, "") if resolved else classify_failure(report, failing)
    # Where nothing failed and yet nothing is proven, the reports of passing are worth nothing.
    credible = resolved or (bool(failing) and compiled and failure != "tampering")
    return Grade(
        resolved=resolved,
        score=round(100 * passed / len(tests), 2) if credible else 0.0,
        applied=True,
        compiled=compiled,
        tests_passed=passed,
        tests_total=len(tests),
        failure=failure,
        detail=_plain(detail)[:4000],
        tests=tests,
        lint=lint,
        exit_code=report.exit_code,
        seconds=report.seconds,
        cpu_seconds=report.cpu_seconds,
        peak_memory_bytes=report.peak_memory_bytes,
        dropped=dropped,
        output=report.output,
        behaviour=report.behaviour,
    )


def _failed(
    total: int,
    failure: FailureClass,
    detail: str,
    *,
    applied: bool | None = None,
    compiled: bool | None = None,
    dropped: tuple[str, ...] = (),
    lint: LintResult | None = None,
) -> Grade:
    return Grade(
        resolved=False,
        score=0.0,
        applied=applied,
        compiled=compiled,
        tests_total=total,
        failure=failure,
        detail=_plain(detail)[:4000],
        dropped=dropped,
        lint=lint,
    )


def _shown(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(_plain(path) for path in paths)


def _plain(text: str) -> str:
    """Return ``text`` with the undecodable bytes of file names written out, so that it can be stored as JSON."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
