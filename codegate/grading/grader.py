"""The grader: a patch in, a ``Grade`` out, by execution in a fresh sandbox and nothing else."""

from codegate.grading.classify import classify_failure
from codegate.grading.grade import FailureClass, Grade, LintResult, TestResult
from codegate.grading.inspection import inspect
from codegate.grading.policy import sort_patch
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testrun import TestReport, TestSelection, put_tree, run_placed_tests, run_tests
from codegate.suite import PatchError, Problem, Tree, apply_patch

GRADER_VERSION = "1"
"""Raised when the same patch may get another grade than before: baselines are then no longer comparable."""

_INSPECTION_SECONDS = 60.0


def grade(problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes) -> Grade:
    """Grade ``patch`` against ``base``: apply, compile, hidden tests, lint, measure, classify.

    Args:
        problem: what was asked.
        base: its base tree.
        patch: unified diff, as written by a suspect.
        sandboxes: where the code runs; a fresh one is used, and hidden tests enter only there.

    Raises:
        SandboxError: ours or the daemon's fault; there is no grade then.
    """
    total = len(problem.tests.expected)
    if not patch.strip():
        return _failed(total, "no_patch", "the answer changes nothing")
    try:
        changes = apply_patch(base, patch)
    except PatchError as error:
        return _failed(total, "patch_does_not_apply", str(error), applied=False)
    sorted_patch = sort_patch(problem, base, changes)
    if sorted_patch.hostile:
        detail = "; ".join(sorted_patch.hostile)
        return _failed(total, "tampering", detail, applied=False, dropped=sorted_patch.dropped)
    if not sorted_patch.applied:
        detail = "the patch changes tests, configuration or documentation only" if changes else "the patch is empty"
        return _failed(total, "no_patch", detail, dropped=sorted_patch.dropped)
    tree = base.overlay(sorted_patch.applied)
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        inspection = inspect(sandbox, base, sorted_patch.applied, _INSPECTION_SECONDS)
        if inspection.errors:
            path, reason = next(iter(inspection.errors.items()))
            return _failed(
                total, "syntax_error", f"{path}: {reason}", applied=True, compiled=False,
                dropped=sorted_patch.dropped, lint=inspection.lint,
            )  # fmt: skip
        put_tree(sandbox, tree.overlay(problem.hidden))
        report = run_placed_tests(sandbox, test_selection(problem))
    return _grade_report(problem, report, inspection.lint, sorted_patch.dropped)


def run_hidden_tests(problem: Problem, tree: Tree, sandboxes: Sandboxes, selection: TestSelection) -> TestReport:
    """Run the hidden tests on ``tree`` (sources as given) in a fresh sandbox; raises as ``grade``."""
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        return run_tests(sandbox, tree.overlay(problem.hidden), selection)


def test_selection(problem: Problem) -> TestSelection:
    """Return the selection that grading uses: the hidden test files under the problem's limits."""
    limits = problem.manifest.limits
    return TestSelection(
        files=problem.manifest.test_files,
        python_path=problem.manifest.python_path,
        timeout_seconds=limits.seconds,
        output_bytes=limits.output_kb << 10,
    )


def _grade_report(problem: Problem, report: TestReport, lint: LintResult | None, dropped: tuple[str, ...]) -> Grade:
    tests = tuple(report.results.get(test) or TestResult(id=test, status="missing") for test in problem.tests.expected)
    failing = [test for test in tests if test.status != "passed"]
    resolved = not failing and report.complete and not report.forged
    failure: FailureClass | None = None
    detail = ""
    if not resolved:
        failure, detail = classify_failure(report, failing) if failing else _unproven(report)
    passed = len(tests) - len(failing)
    return Grade(
        resolved=resolved,
        score=0.0 if failure == "tampering" else round(100 * passed / len(tests), 2),
        applied=True,
        compiled=not report.collection_errors,
        tests_passed=passed,
        tests_total=len(tests),
        failure=failure,
        detail=detail[:4000],
        tests=tests,
        lint=lint,
        exit_code=report.exit_code,
        seconds=report.seconds,
        cpu_seconds=report.cpu_seconds,
        peak_memory_bytes=report.peak_memory_bytes,
        dropped=dropped,
        output=report.output,
    )


def _unproven(report: TestReport) -> tuple[FailureClass, str]:
    if report.forged:
        return "tampering", "something other than the test driver wrote to the result channel"
    if report.memory_exceeded:
        return "memory_exceeded", "the memory limit was hit before the tests ended"
    if report.timed_out:
        return "timeout", "the test process did not end by itself"
    return "runtime_error", "the test process ended before its end record"


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
        detail=detail[:4000],
        dropped=dropped,
        lint=lint,
    )
