"""The content of a report, the same for all formats.

It is computed once and cleaned. Rates are shares in 0..1, scores 0..100, times seconds, memory bytes. Unknown is None,
never 0.
"""

from dataclasses import dataclass
from typing import Literal

from codegate.gating import Verdict
from codegate.gating.estimates import Estimate
from codegate.reporting.correctness import Correctness
from codegate.reporting.measures import Measures
from codegate.reporting.sweep import Sweep
from codegate.wording import count_of

AttemptStatus = Literal["passed", "failed", "infrastructure"]
CellStatus = Literal["passed", "failed", "mixed", "infrastructure", "excluded", "missing"]


@dataclass(frozen=True)
class Count:
    """A name, and how often it occurred."""

    name: str
    count: int


@dataclass(frozen=True)
class FaultCount:
    """A kind of infrastructure fault: count and first message."""

    cause: str
    count: int
    message: str


@dataclass(frozen=True)
class FailingTest:
    """An expected test that did not pass, and why."""

    id: str
    status: str
    exception: str | None
    message: str


@dataclass(frozen=True)
class TranscriptMessage:
    """One message of the conversation with the model."""

    role: str
    text: str


@dataclass(frozen=True)
class BehaviourView:
    """What the tested code tried to do, such as connections.

    If ``watched`` is false, actions inside the process were not counted. Only actions that the sandbox saw are known.
    """

    watched: bool
    notable: bool
    summary: str
    counts: tuple[Count, ...]
    details: tuple[str, ...]
    limits: tuple[str, ...]


@dataclass(frozen=True)
class AttemptView:
    """One attempt, with its grade or its fault.

    ``controlled`` is false if a pass could not be cross-checked. ``suspicious`` has signs that the patch tries to fool
    the grader. ``unapplied`` is a diff of edits that could not be applied. ``stderr_class`` classifies the output of
    the test processes. ``span_id`` is the id of the attempt's OpenTelemetry span.
    """

    sample: int
    span_id: str
    status: AttemptStatus
    score: float | None
    tests_passed: int | None
    tests_total: int | None
    failure: str | None
    detail: str
    stderr_class: str | None
    seconds: float | None
    model_seconds: float | None
    peak_memory_bytes: int | None
    lint_findings: int | None
    input_tokens: int | None
    output_tokens: int | None
    stop: str | None
    patch: str
    patch_error: str | None
    unapplied: str
    dropped: tuple[str, ...]
    failing: tuple[FailingTest, ...]
    failing_left_out: int
    output: str
    fault: str | None
    fault_message: str | None
    fault_retries: int | None
    behaviour: BehaviourView | None
    controlled: bool | None
    suspicious: tuple[str, ...]
    transcript: tuple[TranscriptMessage, ...]


@dataclass(frozen=True)
class Cell:
    """One candidate's result on one problem, over its samples."""

    status: CellStatus
    passed: int
    graded: int
    score: float | None
    failure: str | None
    seconds: float | None
    attempts: tuple[AttemptView, ...]


@dataclass(frozen=True)
class ProblemView:
    """One problem, with a cell for each candidate in order.

    ``title`` is the title of the change that fixed the bug; it may reveal the fix. ``fix`` is the reference fix as a
    unified diff, ``date`` the author's date, ``project`` the repository's web page. Unknown texts are empty.
    """

    id: str
    title: str
    date: str | None
    commit: str | None
    pull_request: int | None
    issues: tuple[int, ...]
    project: str | None
    statement: str
    fix: str
    excluded: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class JudgeCounts:
    """How a judge's verdicts on a candidate agree with execution.

    Attributes:
        judge: the judge's label.
        unclear: attempts without a verdict of the judge; no other field counts them.
        agreement: attempts on which judge and execution agree.
        broken_passed_share: share of broken attempts that the judge passes.
        solved_passed_share: share of solved attempts that the judge passes.
    """

    judge: str
    solved_passed: int
    solved_failed: int
    broken_passed: int
    broken_failed: int
    unclear: int
    agreement: Estimate
    broken_passed_share: Estimate
    solved_passed_share: Estimate


@dataclass(frozen=True)
class CandidateView:
    """All figures of one candidate, over the suite.

    Attributes:
        pass_rate: pass@1, the mean over problems of the share of graded samples that passed. n counts the problems with
            a graded sample, so that repeated samples do not narrow the interval.
        planned: attempts that the run plans; ``graded`` of them have a grade.
        doubts: reasons to check some of its passes by hand, a sentence each.
        served: for a model name without a date, a sentence on the models that answered.
        contamination: signs that the model has read the answers before, a sentence each.
        judged: a judge's verdicts against execution; None without a judge.
        refused: parts of its agent's requests that the gateway did not pass on, with counts.
        harness: text with the number of used harness parts and the names of unused parts; empty without a harness.
        harness_changes: the difference from the baseline's harness, as lines of a unified diff.
    """

    key: str
    label: str
    model: str
    run: str
    pass_rate: Estimate
    planned: int
    graded: int
    measures: Measures
    faults: tuple[FaultCount, ...]
    contamination: tuple[str, ...]
    doubts: tuple[str, ...]
    served: tuple[str, ...]
    judged: JudgeCounts | None = None
    refused: tuple[tuple[str, int], ...] = ()
    harness: str = ""
    harness_changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BaselineView:
    """The pinned baseline's results, without times and tokens."""

    label: str
    model: str
    correctness: Correctness


@dataclass(frozen=True)
class RunView:
    """A run, and the verified isolation of its sandboxes.

    ``unfinished`` is a sentence about missing outcomes; None: none is missing.
    """

    id: str
    trace_id: str
    created: str
    codegate: str
    suite: str
    suite_digest: str
    sandbox: str
    assurance: str
    weaknesses: tuple[str, ...]
    samples: int
    confirmation: str | None
    unfinished: str | None


@dataclass(frozen=True)
class ReportView:
    """The whole content of a report.

    ``sweep`` is None unless some candidates differ in one setting only.
    """

    runs: tuple[RunView, ...]
    candidates: tuple[CandidateView, ...]
    problems: tuple[ProblemView, ...]
    verdicts: tuple[Verdict, ...]
    baseline: BaselineView | None = None
    sweep: Sweep | None = None

    def samples_of(self, run: RunView) -> str:
        """Return how many samples of each problem a run graded.

        A gate may have stopped before it made all of them.
        """
        columns = [number for number, entry in enumerate(self.candidates) if entry.run == run.id]
        cells = [row.cells[number] for row in self.problems if row.excluded is None for number in columns]
        made = [cell.graded for cell in cells if cell.status != "excluded"]  # of another run's problem
        least, most = min(made, default=0), max(made, default=0)
        text = f"{least} to {count_of(most, 'sample')}" if least < most else count_of(most, "sample")
        return f"{text} per problem" + (f" of at most {run.samples}" if most != run.samples else "")
