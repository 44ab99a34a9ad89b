"""Grade a patch by execution in a fresh sandbox."""

import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from codegate.errors import UsageError
from codegate.grading.classify import broken_collection, classify_failure
from codegate.grading.controls.flips import cached_originals, find_flips
from codegate.grading.controls.verdict import (
    RunControls,
    SeparatedRun,
    draw_controls,
    draw_separate_controls,
    innermost,
    separate_copies,
    surviving_tests,
    with_surviving_copies,
)
from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.grade import FailureClass, Grade, LintResult, TestResult
from codegate.grading.policy import classify_patch, suspicious_signs
from codegate.grading.runners import find_runner
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.stderr import stderr_class
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_hidden_tests
from codegate.languages import languages
from codegate.sandbox import FilesRefused, Lease, SandboxError, SandboxFile
from codegate.suite import Changes, ControlAudit, PatchError, Problem, ProblemManifest, Tree, apply_patch, make_patch
from codegate.wording import escaped_bytes

GRADER_VERSION = "17"
"""Version of the grader. It changes if the same patch can get another grade, so that older baselines are not
comparable."""
_LINGERING_SECONDS: Final = 5.0
"""Additional seconds for tests whose process is left to end by itself."""
_LINTED = (".py", ".pyi")


def grade(problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes) -> Grade:
    """Return the grade of ``patch``, a unified diff, on ``base``.

    The patch is applied and compiled. Then the hidden tests run once, together with altered copies, which have to fail.
    If all tests pass, the tests without copies are altered themselves and run a second time. The patch is untrusted
    text.

    Raises:
        SandboxError: the sandbox or its daemon failed, so there is no grade.
    """
    total = len(problem.tests.expected)
    if not patch.strip():
        return _failed(total, "no_patch", "the answer changes nothing")
    try:
        changes = apply_patch(base, patch)
    except PatchError as error:
        return _failed(total, "patch_does_not_apply", str(error), applied=False)
    classified = classify_patch(problem, base, changes)
    dropped = tuple(map(escaped_bytes, classified.dropped))
    if classified.hostile:
        return _failed(total, "tampering", "; ".join(classified.hostile), applied=False, dropped=dropped)
    if not classified.applied:
        detail = "the patch changes tests, configuration or documentation only" if changes else "the patch is empty"
        return _failed(total, "no_patch", detail, dropped=dropped)
    try:
        tree = base.overlay(classified.applied)
    except UsageError as error:  # below a file that comes from the fix instead, the patch has another
        return _failed(total, "patch_does_not_apply", error.cause, applied=False, dropped=dropped)
    try:
        # Inspection runs no code of the patch, so a lease is enough.
        with sandboxes.lease(problem.environment, problem.manifest.limits) as lease:
            inspection = inspect(lease, base, classified.applied, classified.new_modules)
        if inspection.shadowed:
            detail = f"takes the place of the installed module {', '.join(inspection.shadowed)}"
            return _failed(total, "tampering", detail, applied=False, dropped=dropped)
        if inspection.errors:
            detail = ": ".join(next(iter(inspection.errors.items())))
            failed = _failed(total, "syntax_error", detail, applied=True, dropped=dropped)
            return failed.model_copy(update={"compiled": False, "lint": inspection.lint})
        known = {*problem.hidden, *problem.manifest.test_files}
        outdated = tuple(path for path in classified.dropped if path in base and path not in known)
        report, wrong, strong = _run_copies(problem, base, tree, sandboxes, outdated)
    except FilesRefused as error:
        # The reference fix fits into the sandbox, so the patch is at fault.
        return _failed(total, "patch_does_not_apply", str(error), applied=False, dropped=dropped)
    result = _grade_report(problem, report, inspection.lint, dropped)
    if result.resolved and wrong:
        report = _with_tampering(report, wrong, "passes, and passes as well when it expects something else")
        result = _grade_report(problem, report, inspection.lint, dropped)
    suspicious = suspicious_signs(base, classified.applied, problem.fix)
    return result.model_copy(update={"suspicious": suspicious, "controlled": strong if result.resolved else None})


def grade_answer(problem: Problem, text: str, *, contains_code: bool) -> Grade:
    """Return the grade of an answer to a question.

    Nothing is run: only whether the answer, or an attached file, contains code decides. A blank answer is wrong.
    """
    (test,) = problem.tests.expected
    failure: FailureClass | None = None
    if not text.strip():
        failure, detail = "empty_answer", "the answer has no text"
    elif problem.manifest.answer == "code" and not contains_code:
        failure, detail = "no_code", "the answer holds no code, which it must"
    elif problem.manifest.answer == "prose" and contains_code:
        failure, detail = "unwanted_code", "the answer holds code, which nothing asks for"
    if failure is not None:
        result = TestResult(id=test, status="failed", message=detail)
        return _failed(1, failure, detail).model_copy(update={"tests": (result,)})
    result = TestResult(id=test, status="passed")
    return Grade(resolved=True, score=100.0, tests_passed=1, tests_total=1, tests=(result,))


def grade_reference(
    problem: Problem, base: Tree, sandboxes: Sandboxes, unfixed: TestReport | None
) -> tuple[Grade, ControlAudit | None]:
    """Return the reference fix's grade, and its tests' controls.

    The controls are None if no test was run. ``unfixed`` is a run of the marked tests on the base tree; None: these
    tests are run here.
    """
    patch = make_patch(base, problem.fix)
    audit = find_flips(problem, base, sandboxes, unfixed)
    result = grade(_with(problem, audit), base, patch, sandboxes)
    if not result.resolved and audit.flips:  # together, copies can make the fix fail, even if each one alone did not
        audit = audit.model_copy(update={"flips": {}})
        result = grade(_with(problem, audit), base, patch, sandboxes)
    return result, audit if result.tests else None


def _with(problem: Problem, audit: ControlAudit) -> Problem:
    manifest = {**problem.manifest.model_dump(by_alias=True), "controls": audit}
    return replace(problem, manifest=ProblemManifest.model_validate(manifest))


@dataclass(frozen=True)
class Inspection:
    """The results of compiling and linting.

    Attributes:
        errors: compile errors by path; empty: every changed file compiles.
        lint: None when no file was linted, or the linter gave no answer.
        shadowed: new top-level modules that the environment has too.
    """

    errors: Mapping[str, str] = field(default_factory=dict)
    lint: LintResult | None = None
    shadowed: tuple[str, ...] = ()


def inspect(lease: Lease, base: Tree, changes: Changes, new_modules: frozenset[str]) -> Inspection:
    """Compile and lint the changed files in a sandbox.

    A Python file that the compiler cannot finish within the sandbox's limits counts as an error. An error does not
    count if the file did not compile in ``base`` either. A JavaScript or TypeScript file counts only if it compiled in
    ``base``, because only the project's own tools know their syntax. JavaScript and TypeScript files are not linted.
    ``new_modules`` are the top-level modules that ``changes`` add.

    Raises:
        FilesRefused: the changed files do not fit into the sandbox.
        SandboxError: the sandbox failed, or its interpreter does not start.
    """
    suffixes = tuple(suffix for language in languages() for suffix in language.compiled)
    files: dict[str, bool] = {}
    placed: list[SandboxFile] = []
    for path, file in changes.items():
        if path.endswith(suffixes) and file is not None and not file.is_link:
            before = base.get(path)
            files[path] = before is not None and not before.is_link
            placed.append(SandboxFile(f"after/{path}", file.data))
            if before is not None and files[path]:
                placed.append(SandboxFile(f"before/{path}", before.data))
    linted = any(path.endswith(_LINTED) for path in changes)
    if not files:
        return Inspection(lint=_lint({}, {}) if linted else None)
    lease.sandbox.put(tuple(placed))
    texts = [driver_source("compile_check.cjs"), *(f"{there:d}{path}" for path, there in files.items())]
    texts += [f"m{name}" for name in sorted(new_modules)]
    given = "".join(f"{text}\0" for text in texts).encode("utf-8", "surrogateescape")
    command = driver_command("inspect_driver", {}, "{tools}", interpreter=("{interpreter}",))
    done = lease.sandbox.run(replace(command, stdin=given))
    lease.reusable = done.ok
    parts = done.records.decode("utf-8", "surrogateescape").split("\0")[:-1]
    records = list(zip(parts[::3], parts[1::3], parts[2::3], strict=False))
    compiled = {path: error for kind, path, error in records if kind == "compiled"}
    shadowed = tuple(name for kind, name, _ in records if kind == "installed")
    errors = {path: error for path, error in compiled.items() if error}
    unfinished = next((path for path in files if path not in compiled), None)
    if unfinished is not None:
        if done.exit_code is not None and not (done.timed_out or done.memory_exceeded):
            words = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise SandboxError(f"the inspection of changed files failed in the sandbox: {words}")
        errors.setdefault(unfinished, "the compiler did not finish within the limits")
    counts = {kind: _counts(text) for kind, _, text in records if kind in {"before", "after"}}
    old, new = counts.get("before"), counts.get("after")
    lint = _lint(old, new) if old is not None and new is not None and linted and not unfinished else None
    return Inspection(errors, lint, shadowed)


def _counts(text: str) -> Mapping[str, int] | None:
    try:
        return {str(entry["code"] or entry["name"]): int(entry["count"]) for entry in json.loads(text)}
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _lint(before: Mapping[str, int], after: Mapping[str, int]) -> LintResult:
    new = Counter(after) - Counter(before)
    count = new.total()
    return LintResult(new_findings=count, score=max(0, 100 - 10 * count), rules=tuple(sorted(new))[:50])


def _run_copies(
    problem: Problem, base: Tree, tree: Tree, sandboxes: Sandboxes, outdated: tuple[str, ...]
) -> tuple[TestReport, list[str], bool]:
    """Run the hidden tests beside altered copies.

    Return the tests' report, the tests with a copy that wrongly passed, and a flag. The flag says whether every
    fail-to-pass test has a control that a patch cannot tell from the original. ``outdated`` are the base's files that
    the patch would change.
    """
    # Hidden tests run with copies beside them. Tests without copies run again, changed, if all of them passed. A test
    # survives if it passes with a changed expectation. All tests are cross-checked if each has a flip of a value.
    originals, generator = cached_originals(problem, base, sandboxes), secrets.SystemRandom()

    def run(controls: RunControls) -> SeparatedRun:
        selection = replace(test_selection(problem), copies=controls.made, outdated=outdated)
        return separate_copies(controls.made, run_hidden_tests(problem, tree, sandboxes, selection), originals)

    def passes(report: TestReport) -> bool:
        return report.proven and all(map(report.passes, problem.tests.expected))

    controls = draw_controls(problem, originals, generator)
    separated = run(controls)
    report = separated.report
    if short := [test for test in separated.short if test in problem.tests.expected]:
        report = _with_tampering(report, short, "is reported as passed, but not all of its statements were run")
    wrong, strong = with_surviving_copies(controls, separated), controls.strong
    if wrong and passes(report):
        # With threads, a copy can get further than at validation. So a copy has to pass twice, under other names. This
        # gives
        # a guess no second chance: a copy passed in the first run, so the guess was wrong.
        controls = draw_controls(problem, originals, generator)
        separated = run(controls)
        wrong = wrong if with_surviving_copies(controls, separated) or not passes(separated.report) else []
    alone = draw_separate_controls(problem, originals, generator, controls)
    if alone.flips:
        strong |= alone.strong
        if not wrong and passes(report) and tree != base.overlay(problem.fix):
            wrong = surviving_tests(alone, run(alone))
    if not wrong and passes(report) and tree != base.overlay(problem.fix):
        report = _until_exit(problem, base, tree, sandboxes, report)
    calls = problem.service_tests
    return report, wrong, innermost(set(problem.tests.FAIL_TO_PASS) - set(calls)) <= strong


def _until_exit(problem: Problem, base: Tree, tree: Tree, sandboxes: Sandboxes, passing: TestReport) -> TestReport:
    """Return ``passing``, or an incomplete report after an uncaught error.

    The exit status shows an uncaught error, except in a run with copies (which fail) or if the runner forces the exit.
    So the tests run once more, without copies and without a forced exit. This is skipped if the runner reports uncaught
    errors itself and reported none.
    """
    if not (passing.uncaught or find_runner(problem.manifest.runner).forces_exit):
        return passing
    limit = min(problem.manifest.limits.seconds, passing.seconds + _LINGERING_SECONDS)
    selection = replace(test_selection(problem), timeout_seconds=limit, until_exit=True)

    def run(tested: Tree) -> tuple[bool, TestReport]:
        report = run_hidden_tests(problem, tested, sandboxes, selection)
        passed = report.proven and report.clean and all(map(report.passes, problem.tests.expected))
        return passed or report.timed_out, report  # a process that is kept open has no error

    # An error of the project itself also occurs with the reference fix. A second round allows for a flaky one.
    for _ in range(2):
        is_proper, report = run(tree)
        if is_proper or not run(base.overlay(problem.fix))[0]:
            return passing
    return replace(passing, complete=False, exit_code=report.exit_code, output=report.output)


def _with_tampering(report: TestReport, tests: Sequence[str], what: str) -> TestReport:
    more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
    return replace(report, tampering=report.tampering or f"{tests[0]} {what}{more}")


def _grade_report(problem: Problem, report: TestReport, lint: LintResult | None, dropped: tuple[str, ...]) -> Grade:
    tests = tuple(report.results.get(test) or TestResult(id=test, status="missing") for test in problem.tests.expected)
    failing = [test for test in tests if test.status != "passed"]
    passed = len(tests) - len(failing)
    resolved = not failing and report.proven
    compiled = broken_collection(report, failing) is None
    failure, detail = (None, "") if resolved else classify_failure(report, failing, problem.tests.expected)
    # If no test failed and the run still proves nothing, the passes count for nothing.
    credible = resolved or (bool(failing) and compiled and failure != "tampering")
    return Grade(
        resolved=resolved,
        score=round(100 * passed / len(tests), 2) if credible else 0.0,
        applied=True,
        compiled=compiled,
        tests_passed=passed,
        tests_total=len(tests),
        failure=failure,
        detail="" if resolved else _full_detail(detail, dropped),
        tests=tests,
        lint=lint,
        exit_code=report.exit_code,
        stderr_class="none"
        if resolved
        else stderr_class(report.output, timed_out=report.timed_out, memory_exceeded=report.memory_exceeded),
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
    dropped: tuple[str, ...] = (),
) -> Grade:
    return Grade(
        resolved=False,
        score=0.0,
        applied=applied,
        tests_total=total,
        failure=failure,
        detail=_full_detail(detail, dropped),
        dropped=dropped,
    )


def _full_detail(detail: str, dropped: tuple[str, ...]) -> str:
    # A file that was not applied can be the reason why tests fail.
    more = f" (and {len(dropped) - 3} more)" if len(dropped) > 3 else ""
    left_out = f"; not applied: {', '.join(dropped[:3])}{more}" if dropped else ""
    return escaped_bytes(detail)[:3000] + left_out[:1000]
