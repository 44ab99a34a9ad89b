"""The report of a mining run, and its files."""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from codegate.candidates import Usage
from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.mining.profile import Profile
from codegate.mining.refresh import KeptSuite
from codegate.mining.sources.history import MergedChange
from codegate.mining.units import (
    BeforeCut,
    BeforeEnvironment,
    BeforeFailToPass,
    BugScore,
    Reason,
    Rejected,
)
from codegate.strict import parse_json, read_text
from codegate.suite import Problem, Suite
from codegate.wording import count_of

MINING_SCHEMA: Final = "codegate.mining/1"

_MAX_SUMMARY_BYTES: Final = 4 << 20

StageName = Literal["units", "source and tests", "environment", "fail-to-pass", "validated"]

FOUND_ENOUGH: Final = "enough problems were found"
"""Begins the detail of changes that were left out because there were enough problems."""
_BEFORE_CUT: Final = frozenset(get_args(BeforeCut))
_BEFORE_ENVIRONMENT: Final = _BEFORE_CUT.union(get_args(BeforeEnvironment))
_BEFORE_FAIL_TO_PASS: Final = _BEFORE_ENVIRONMENT.union(get_args(BeforeFailToPass))


@dataclass(frozen=True)
class ChangeResult:
    """A change's problem, or why it has none.

    ``remembered``: whether an earlier run found the result.
    """

    commit: str
    kind: str
    pull_request: int | None
    title: str
    date: str
    score: float
    evidence: tuple[str, ...]
    reason: Reason | None
    problem: str | None = None
    detail: str = ""
    seconds: float = 0.0
    remembered: bool = False

    def row(self) -> dict[str, Any]:
        """Return the change's line of ``funnel.jsonl``."""
        status = "accepted" if self.problem is not None else "rejected"
        return {**self.__dict__, "evidence": list(self.evidence), "status": status, "seconds": round(self.seconds, 3)}


def change_result(
    unit: MergedChange, bug: BugScore, end: Rejected | Problem, seconds: float = 0.0, *, remembered: bool = False
) -> ChangeResult:
    """Return the result of one change.

    ``end`` is its problem or the reason against it; ``seconds`` is how long that took.
    """
    rejected = end if isinstance(end, Rejected) else None
    return ChangeResult(
        commit=unit.commit,
        kind=unit.kind,
        pull_request=unit.pull_request,
        title=unit.title,
        date=unit.date.isoformat(),
        score=bug.score,
        evidence=bug.evidence,
        reason=rejected.reason if rejected else None,
        problem=end.id if isinstance(end, Problem) else None,
        detail=rejected.detail if rejected else "",
        seconds=seconds,
        remembered=remembered,
    )


@dataclass(frozen=True)
class MineEvent:
    """Progress of a mining run.

    ``done`` of ``total`` changes have a result, ``accepted`` of them a problem. A ``trying`` event comes once a second
    and names the changes in progress. ``executed`` is the number of problems with an executed example; None unless more
    of these are wanted.
    """

    kind: Literal["scanned", "kept", "tried", "unit", "problem", "trying"]
    message: str
    done: int
    total: int
    accepted: int
    executed: int | None = None

    @property
    def words(self) -> str:
        """Return the event's message and the number of problems."""
        more = "" if self.executed is None else f", {self.executed} with an executed example, more are wanted"
        return f"{count_of(self.accepted, 'problem')}{more}; {self.message}"

    @property
    def important(self) -> bool:
        """Return whether logs without details show the event, too."""
        return self.kind in {"scanned", "kept", "tried", "problem"}


@dataclass(frozen=True)
class MineReport:
    """The results of a mining run.

    Attributes:
        results: the result of every change, newest first.
        out: the suite's folder, which also gets the report's files.
        seconds: ``total`` and ``scan`` by the wall clock; the other steps summed over changes that ran side by side.
        kept: the earlier problems of a refreshed suite.
        rewrites: number of model calls that rewrote statements.
        profile: test runs and seconds of each step, for the changes that this run tried.
    """

    suite: Suite | None
    out: Path
    results: tuple[ChangeResult, ...]
    seconds: dict[str, float]
    kept: KeptSuite | None = None
    rewrites: int = 0
    usage: Usage | None = None
    profile: Profile = field(default_factory=Profile)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the ids of the problems, in suite order."""
        return tuple(problem.id for problem in self.suite.problems) if self.suite is not None else ()

    @property
    def reasons(self) -> dict[str, int]:
        """Return the number of left-out changes by reason, most first."""
        return dict(Counter(result.reason for result in self.results if result.reason is not None).most_common())

    @property
    def untried(self) -> str:
        """Return the number of untried changes and why, or ""."""
        left = [result for result in self.results if result.reason == "budget"]
        why = "the time was used up; the same command goes on with them"
        if cut_off := [result.seconds for result in left if result.seconds]:
            why += f". {len(cut_off)} cut off, the longest after {max(cut_off):.0f} s, will begin again: "
            why += "--budget-minutes must be longer than one takes"
        why = next((result.detail for result in left if result.detail.startswith(FOUND_ENOUGH)), why)
        return f"{count_of(len(left), 'change')}: {why}" if left else ""

    @property
    def funnel(self) -> dict[StageName, int]:
        """Return how many changes reached each stage.

        A change that was left out for lack of time has reached "source and tests".
        """
        stages: dict[StageName, Collection[str]] = {
            "units": (), "source and tests": _BEFORE_CUT, "environment": _BEFORE_ENVIRONMENT,
            "fail-to-pass": _BEFORE_FAIL_TO_PASS,
        }  # fmt: skip
        found = {name: sum(each.reason not in before for each in self.results) for name, before in stages.items()}
        return {**found, "validated": sum(each.problem is not None for each in self.results)}

    @property
    def seconds_per_problem(self) -> float | None:
        """Return wall-clock seconds per newly validated problem, or None."""
        new = sum(result.problem is not None and not result.remembered for result in self.results)
        return self.seconds["total"] / new if new else None

    def summary(self) -> dict[str, Any]:
        """Return the content of ``mining.json``."""
        per_problem = self.seconds_per_problem
        return {
            "schema": MINING_SCHEMA,
            "suite": self.suite.name if self.suite is not None else None,
            "suite_digest": self.suite.digest if self.suite is not None else None,
            "funnel": self.funnel,
            "reasons": self.reasons,
            "remembered": sum(result.remembered for result in self.results),
            "rewrites": self.rewrites,
            "tokens": self.usage.model_dump() if self.rewrites and self.usage else None,
            "retired": list(self.kept.retired) if self.kept else [],
            "faults": self.kept.faults if self.kept else {},
            "not_tried": self.reasons.get("budget", 0),
            "problems": list(self.problems),
            "environments": len(self.suite.manifest.environments) if self.suite is not None else 0,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "seconds_per_problem": round(per_problem, 3) if per_problem is not None else None,
        }


def funnel_text(funnel: Mapping[Any, object], untried: object) -> str:
    """Return the counts of mining's stages in one line.

    It looks like ``120 units → 9 validated``. ``funnel`` has by stage the number of changes that reached it.
    ``untried`` is how many changes with source and tests were not tried.
    """
    counts = {name: f"{count} {name}" for name, count in funnel.items()}
    ready = funnel.get("source and tests")
    if untried and isinstance(untried, int) and isinstance(ready, int):
        counts["source and tests"] += f" ({ready - untried} tried)"
    return " → ".join(counts.values())


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Return the content of a suite's ``mining.json``, or None."""
    place = folder / "mining.json"
    try:
        summary = parse_json(read_text(place, _MAX_SUMMARY_BYTES), str(place))
    except UsageError:
        return None
    return summary if isinstance(summary, dict) and summary.get("schema") == MINING_SCHEMA else None


def write_report(report: MineReport) -> None:
    """Write ``mining.json`` and ``funnel.jsonl`` into the suite's folder.

    The suite's digest does not cover them.

    Raises:
        InfrastructureError: the disk could not be written.
    """
    rows = [json.dumps(result.row(), ensure_ascii=True, sort_keys=True) for result in report.results]
    write_atomic(report.out / "funnel.jsonl", "".join(f"{row}\n" for row in rows).encode("ascii"))
    text = json.dumps(report.summary(), ensure_ascii=True, indent=2)
    write_atomic(report.out / "mining.json", f"{text}\n".encode("ascii"))
