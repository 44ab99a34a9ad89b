"""Run tests whose output a model may see.

These are the public tests, the tests that the model wrote, and the repository's full suite. They do not affect grades.
If a problem has a fake service, the calls that it expects are not in these sandboxes, because they are as hidden as the
hidden tests.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from codegate.grading.grade import OwnTests, Regressions, file_of
from codegate.grading.policy import classify_patch
from codegate.grading.runners import find_runner
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_tests
from codegate.languages import PathClassifier, path_language
from codegate.sandbox import FilesRefused
from codegate.suite import Changes, Problem, Tree, apply_patch

_NAMED: Final = 20
_SUITE_LIMITS: Final = 5
"""Time in which a run of the full test suite may begin further files, as a multiple of the problem's time limit. An
answer that hangs takes a whole limit for each file."""


def run_public_tests(problem: Problem, base: Tree, changes: Changes, sandboxes: Sandboxes) -> str:
    """Return the public tests' results as text for a model.

    The tests run on ``base`` with the model's ``changes``. Raises SandboxError if a sandbox failed.
    """
    tree = base.overlay(changes)
    files = tuple(path for path in problem.manifest.public_tests if path in tree)
    try:
        return _run_shown_tests(problem, tree, files, sandboxes).summary
    except FilesRefused as error:  # the model's fault, not the infrastructure's
        return f"The tests could not be run: {error}"


def run_own_tests(problem: Problem, base: Tree, patch: str, tests: str, sandboxes: Sandboxes) -> OwnTests:
    """Count a model's own tests that pass with its ``patch``.

    The tests that pass only with the patch are counted too. A file that cannot be loaded without the patch counts as
    failing. No hidden test is in the sandboxes.

    Raises:
        PatchError: ``patch`` or ``tests`` does not apply to ``base``.
        SandboxError: a sandbox failed.
    """
    written = apply_patch(base, tests)
    files = _runnable(problem, base, written)
    fixed = base.overlay(classify_patch(problem, base, apply_patch(base, patch)).applied)
    if not files:
        return OwnTests(passed=0, proved=0)
    try:
        after = _run_shown_tests(problem, fixed.overlay(written), files, sandboxes)
        passed = {test for test in after.results if after.proven and after.passes(test) and file_of(test) in files}
        before = _run_shown_tests(problem, base.overlay(written), files, sandboxes) if passed else after
    except FilesRefused:
        return OwnTests(passed=0, proved=0)
    failed = {test for test, result in before.results.items() if result.failed}
    unloaded = {file_of(error.id) for error in before.collection_errors}
    missing = {test for test in passed if test not in before.results and file_of(test) in unloaded}
    return OwnTests(passed=len(passed), proved=0 if before.tampering else len(passed & (failed | missing)))


def run_full_test_suite(problem: Problem, base: Tree, sandboxes: Sandboxes) -> frozenset[str]:
    """Return the ids of the repository's tests that reliably pass.

    Reliable tests pass in two runs with the reference fix and its tests, and in one run on the base tree. Each run has
    half the time limit of an answer. Fail-to-pass tests and quarantined tests are left out.

    Raises FilesRefused if a tree does not fit into the sandbox, and SandboxError if a sandbox failed.
    """
    fixed = base.overlay(problem.fix).overlay(problem.hidden)
    files = tuple(file for file in _runnable(problem, base, base) if file in fixed)
    passing: list[frozenset[str]] = []
    for tree in (fixed, fixed, base):
        found = [report for _, report in _run_batches(problem, tree, files, sandboxes, share=0.5)]
        passed = {test for report in found if not report.tampering for test in report.results if report.passes(test)}
        passing.append(frozenset(test for test in passed if file_of(test) in files))
        files = _files_of(passing[-1])
    others = {*problem.tests.FAIL_TO_PASS, *(test.id for test in problem.tests.QUARANTINED)}
    return frozenset.intersection(*passing) - others


def find_regressions(
    problem: Problem, base: Tree, patch: str, passing: frozenset[str], sandboxes: Sandboxes
) -> Regressions | None:
    """Return which of the ``passing`` tests fail with ``patch``.

    None if no test could be compared. ``passing`` is what ``run_full_test_suite`` returned. Only source files of the
    patch are applied. A test that is not reported within a run's limits counts as failing, and so do all tests of a run
    with forged results. Tests of files for which the time was too short are not compared.

    Raises:
        PatchError: ``patch`` does not apply to ``base``.
        SandboxError: a sandbox failed.
    """
    tree = base.overlay(classify_patch(problem, base, apply_patch(base, patch)).applied).overlay(problem.hidden)
    failing = compared = passing
    for _ in range(2):  # failing tests run again; one that then passes is flaky
        ends = time.monotonic() + _SUITE_LIMITS * problem.manifest.limits.seconds
        left, found = set(failing), set[str]()
        for files, report in _run_batches(problem, tree, _files_of(failing), sandboxes):
            batch = {test for test in left if file_of(test) in files}
            found |= {test for test in batch if report.tampering or not report.passes(test)}
            left -= batch
            if time.monotonic() >= ends:
                break
        compared, failing = compared - left, frozenset(found)
    first = tuple(sorted(failing)[:_NAMED])
    return Regressions(compared=len(compared), failing=len(failing), first=first) if compared else None


def _runnable(problem: Problem, base: Tree, paths: Changes) -> tuple[str, ...]:
    classifier = PathClassifier.of(base)
    return tuple(
        path
        for path, file in paths.items()
        if file is not None and not file.is_link and classifier.classify(path) == "test"
        if (language := path_language(path)) is not None and problem.manifest.runner in language.runners
    )


def _files_of(tests: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({file_of(test) for test in tests}))


def _run_batches(
    problem: Problem, tree: Tree, files: tuple[str, ...], sandboxes: Sandboxes, share: float = 1.0
) -> Iterator[tuple[tuple[str, ...], TestReport]]:
    # Each batch gets the limits of the hidden tests.
    # A command that writes JUnit XML is a batch even without files.
    for batch in find_runner(problem.manifest.runner).batches(files) if files else ():
        yield batch, _run_shown_tests(problem, tree, batch, sandboxes, share)


def _run_shown_tests(
    problem: Problem, tree: Tree, files: tuple[str, ...], sandboxes: Sandboxes, share: float = 1.0
) -> TestReport:
    """Run shown test files; ``share`` scales the problem's time limit."""
    # A model may see the output, so the expected calls, which are hidden, are left out.
    service = problem.manifest.service
    service = service.model_copy(update={"expects": ()}) if service else None
    selection = test_selection(problem)
    selection = replace(selection, files=files, service=service, timeout_seconds=share * selection.timeout_seconds)
    return run_tests(partial(sandboxes.open, problem.environment, problem.manifest.limits), tree, selection)
