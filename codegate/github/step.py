"""The input and the result of the action's step."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from codegate.candidates import redactor_for
from codegate.errors import CodegateError, ExitCode
from codegate.forge import GitHub
from codegate.gating import Verdict, worst_first
from codegate.github.event import Event
from codegate.github.inputs import Inputs, OnInconclusive
from codegate.github.workflow import Level, StepLog, fault_summary, write_outputs, write_summary
from codegate.operations.pinned import NoBaseline
from codegate.operations.rules import Skipped
from codegate.reporting import NO_BASELINE, ReportView

OUTPUTS: Final = (
    "pass-rate",
    "baseline-pass-rate",
    "difference",
    "problems",
    "cost-usd",
    "report-path",
    "run-path",
    "resumable",
    "suite-path",
    "matrix",
    "run-id",
    "exit-code",
    "verdict",
)
"""Every output of the action, in the order they are written, the verdict last."""

COMMENT_URL: Final = "comment-url"
"""The only output that is written after the verdict, because GitHub can take long to answer."""

_MOST_ANNOTATIONS: Final = 9  # most annotations of a level; GitHub shows ten for each step
_LEVELS: Final[dict[OnInconclusive, Level]] = {"neutral": "warning", "pass": "notice", "fail": "error"}

Annotation = tuple[Level, str, str]
"""An annotation's level, title and message."""


class NotGated(Skipped):
    """A change needs the gate, which cannot run here."""


NOT_GATED: Final = "not-gated.txt"
"""File among the reports of a fork's pull request that was not gated. Mode ``report`` then comments so."""
NO_SECRETS: Final = (
    "pull requests from forks and of Dependabot get no secrets, so no model was called. A maintainer can run the gate "
    "on a branch of this repository."
)


@dataclass(frozen=True)
class Job:
    """What the action's step works with: inputs, event, GitHub, log.

    ``github`` is None without a token or an event.
    """

    inputs: Inputs
    event: Event | None
    github: GitHub | None
    environment: Mapping[str, str]
    log: StepLog

    @property
    def folder(self) -> Path:
        """Return the folder of the step's run."""
        return self.inputs.reports / "run"

    @property
    def base(self) -> str | None:
        """Return the base commit, whose rules apply; None without one."""
        return self.event.base_sha if self.event is not None else None


@dataclass(frozen=True)
class Result:
    """A step's result: outputs, summary, annotations and exit code.

    ``code`` is the exit code before ``on_inconclusive`` is applied.
    """

    code: ExitCode
    outputs: dict[str, str]
    summary: str
    annotations: tuple[Annotation, ...] = field(default=())
    on_inconclusive: OnInconclusive = "fail"
    view: ReportView | None = None
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Return the value of the output ``verdict``."""
        return self.outputs.get("verdict", "error")

    @property
    def step_code(self) -> ExitCode:
        """Return the step's exit code, with ``on_inconclusive`` applied."""
        return ExitCode.PASS if self.code == ExitCode.INCONCLUSIVE and self.on_inconclusive != "fail" else self.code


def step_outputs(view: ReportView, code: ExitCode) -> dict[str, str]:
    """Return the step's outputs: the worst candidate's rates and verdict.

    Without a verdict, the output ``verdict`` is ``ungated`` if ``code`` is 0, else ``infrastructure``.
    """

    def rate(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    verdict = next(iter(worst_first(view.verdicts)), None)
    paid = {"cost-usd": _dollars(view)}
    if verdict is None:
        share = view.candidates[0].pass_rate
        kind = "ungated" if code == ExitCode.PASS else "infrastructure"
        return {"pass-rate": rate(share.value), "problems": str(share.n), "verdict": kind, **paid}
    return {
        **paid,
        "pass-rate": rate(verdict.candidate_rate),
        "baseline-pass-rate": rate(verdict.baseline_rate),
        "difference": rate(verdict.difference),
        "problems": str(verdict.problems),
        "verdict": verdict.kind,
    }


def _dollars(view: ReportView) -> str:
    spent = [entry.measures.costs for entry in view.candidates]
    known = [one.total_usd for one in spent if one.total_usd is not None]
    return f"{sum(known):.4f}" if len(known) == len(spent) else ""


def verdict_annotations(
    verdicts: Sequence[Verdict], code: ExitCode, on_inconclusive: OnInconclusive
) -> tuple[Annotation, ...]:
    """Return annotations for verdicts other than pass, errors first.

    Without verdicts there is one: an error if ``code`` is not 0, else a notice that nothing was gated.
    """
    if not verdicts:
        if code != ExitCode.PASS:
            return (("error", "codegate: infrastructure", "Some attempts have no grade; the summary says why."),)
        return (("notice", "codegate: ungated", NO_BASELINE),)
    found: list[Annotation] = []
    for verdict in verdicts:
        if verdict.kind != "pass":
            level = _LEVELS[on_inconclusive] if verdict.exit_code == ExitCode.INCONCLUSIVE else "error"
            found.append((level, f"codegate: {verdict.kind}", f"{verdict.label}: {verdict.reason}"))
    return tuple(sorted(found, key=lambda entry: entry[0] != "error"))


def fault_result(error: CodegateError) -> Result:
    """Return the result of a step that ended with ``error``."""
    kinds = {ExitCode.INFRASTRUCTURE: "infrastructure", ExitCode.INTERRUPTED: "interrupted"}
    kind = kinds.get(error.exit_code, "error")
    if isinstance(error, Skipped):
        kind = "skipped"
    elif isinstance(error, NoBaseline):
        kind = "no baseline"
    text = str(error)
    level: Level = "warning" if isinstance(error, NotGated) else "notice" if kind == "skipped" else "error"
    return _failed(error.exit_code, kind, text, level)


def bug_result(step: StepLog, trace: str) -> Result:
    """Log an unexpected error's traceback; return the step's result."""
    step.log(trace)
    last = trace.strip().rpartition("\n")[2][:500]
    text = f"this is a bug in codegate; please report it with the traceback in the log. {last}"
    return _failed(ExitCode.INFRASTRUCTURE, "error", text, "error")


def _failed(code: ExitCode, kind: str, text: str, level: Level) -> Result:
    text = redactor_for().redact_whole(text)  # GitHub hides secrets only in the log, not in comments
    return Result(code, {"verdict": kind}, fault_summary(kind, text), ((level, f"codegate: {kind}", text),))


def conclude(step: StepLog, environment: Mapping[str, str], result: Result) -> ExitCode:
    """Write outputs, summary and annotations; return the exit code."""
    try:
        write_summary(environment, result.summary)
        _write_outputs(environment, result)
    except CodegateError as error:
        result = replace(fault_result(error), outputs=result.outputs | {"verdict": "infrastructure"})
        with contextlib.suppress(CodegateError):
            _write_outputs(environment, result)
    for level, title, message in result.annotations[:_MOST_ANNOTATIONS]:
        step.annotate(level, title, message)
    if more := result.annotations[_MOST_ANNOTATIONS:]:
        step.annotate(more[0][0], "codegate", f"{len(more)} more; see the summary.")
    return result.step_code


def _write_outputs(environment: Mapping[str, str], result: Result) -> None:
    outputs = result.outputs | {"exit-code": str(int(result.code))}
    write_outputs(environment, {name: outputs.get(name, "") for name in OUTPUTS})
