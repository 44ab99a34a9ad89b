"""The types of a grade and its parts."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from codegate.grading.behaviour import Behaviour
from codegate.grading.stderr import StderrClass
from codegate.strict import Strict

FailureClass = Literal[
    "syntax_error",
    "missing_dependency",
    "runtime_error",
    "logic_error",
    "edge_case_error",
    "temporal_reasoning_error",
    "performance_error",
    "timeout",
    "memory_exceeded",
    "permission_denied",
    "unsafe_operation",
    "no_patch",
    "patch_does_not_apply",
    "tampering",
    "truncated",
    "refused",
    "context_overflow",
    "empty_answer",
    "no_code",
    "unwanted_code",
]
"""Why an attempt did not resolve its problem. Infrastructure faults have no class: their outcomes have no grade.

``truncated``, ``refused``, ``context_overflow`` and ``empty_answer`` come from the end of the answer, not from
execution: an output limit truncated it, the model or a filter refused, the conversation did not fit the model's
context, or the answer was empty. ``no_code`` and ``unwanted_code`` are for answers to questions, for which nothing
runs.
"""

TestStatus = Literal["passed", "failed", "error", "skipped", "missing"]


_MOST_SECONDS: Final = 1e9
"""Larger times, of a clock that the code under test has changed, could sum up to what no journal holds."""


class TestResult(Strict):
    """One test's result; status ``missing``: it was not reported."""

    __test__ = False  # not a test class, whatever its name begins with

    id: str
    status: TestStatus
    seconds: Annotated[float, AfterValidator(lambda seconds: min(seconds, _MOST_SECONDS))] = 0.0
    exception: str | None = Field(default=None, description="Class name of the exception, qualified.")
    message: str = Field(default="", max_length=4000)
    markers: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Return whether the test ended with a failure or error."""
        return self.status in {"failed", "error"}


def worse_result(first: TestResult | None, second: TestResult) -> TestResult:
    """Return the worse of two results of one test id."""
    order = ("error", "failed", "missing", "skipped", "passed")
    return second if first is None else min(first, second, key=lambda result: order.index(result.status))


def file_of(test: str) -> str:
    """Return the file of a test id."""
    return test.partition("::")[0]


class LintResult(Strict):
    """Ruff's new findings in the changed files."""

    new_findings: int = Field(ge=0)
    score: int = Field(ge=0, le=100, description="100 when nothing new was found, 10 less for each finding.")
    rules: tuple[str, ...] = ()


class OwnTests(Strict):
    """Results of the tests that an answer added; not graded."""

    passed: int = Field(ge=0, description="Tests in the answer's test files that pass on the answer.")
    proved: int = Field(ge=0, description="Tests among these that fail without the answer's source files.")


class Regressions(Strict):
    """Tests of the repository that newly fail; not graded."""

    compared: int = Field(ge=1, description="Tests that pass on the base tree and, twice, with the reference fix.")
    failing: int = Field(ge=0, description="Tests among these that do not pass with the answer, twice.")
    first: tuple[str, ...] = Field(default=(), description="Ids of the first of them.")


class Grade(Strict):
    """The result of grading a patch by execution.

    Attributes:
        resolved: every expected test was reported and passed, the run ended by itself within its limits, and nothing
            was tampered with.
        score: 0-100, the share of expected tests that passed; 100 only when resolved. 0 when the patch does not apply,
            does not compile or tampers with the run, and when all tests passed but the run was disturbed or reached a
            limit, so that the passes prove nothing.
        applied: the patch applied; None when there was none.
        compiled: the changed files compile and the hidden test files could be imported; None before that stage.
        tests_passed: how many of the ``tests_total`` expected tests passed.
        failure: None when resolved.
        exit_code: the worst exit status of the test processes.
        stderr_class: the limit that the test processes reached, else the class of the last recognised line of their
            output; None when no process ran.
        seconds: wall-clock time of the test processes; None when none ran.
        peak_memory_bytes: largest resident size of a test process.
        output: the last part of the test output, for people; untrusted text.
        suspicious: signs in the patch of an attempt to fool the grader: evidence for people, no ground for a verdict.
        controlled: each fail-to-pass test of a resolving patch also ran with a wrong expectation, and failed then.
            False: some test has no such control, so a forged pass is easier. None: there was nothing to control.
        behaviour: unusual actions of the code under test; None when no test process ran.
    """

    resolved: bool
    score: float = Field(ge=0, le=100)
    applied: bool | None = None
    compiled: bool | None = None
    tests_passed: int = Field(default=0, ge=0)
    tests_total: int = Field(ge=0)
    failure: FailureClass | None = None
    detail: str = Field(default="", max_length=4000, description="One line of evidence for the failure class.")
    tests: tuple[TestResult, ...] = ()
    lint: LintResult | None = None
    exit_code: int | None = None
    stderr_class: StderrClass | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None
    dropped: tuple[str, ...] = Field(default=(), description="Paths of the patch that were not applied.")
    output: str = ""
    suspicious: tuple[str, ...] = ()
    controlled: bool | None = None
    behaviour: Behaviour | None = None
