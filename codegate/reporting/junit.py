"""Render the report as JUnit XML, one suite per candidate."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from codegate.gating import Verdict
from codegate.reporting import figures
from codegate.reporting.cells import bug
from codegate.reporting.view import AttemptView, CandidateView, Cell, ProblemView, ReportView

if TYPE_CHECKING:
    from junit_xml import TestCase

_EXCERPT = 4000  # characters of test output in one element


def render_junit(view: ReportView) -> str:
    """Render the report as JUnit XML: problems and verdicts.

    A problem's case fails, with its failure class as type, unless every graded sample passed. It is an error if no
    sample has a grade, and is skipped if the problem was not run. A verdict's case fails if it is ``regressed``, is
    skipped if it is ``inconclusive``, and is an error if there was no comparison.
    """
    from junit_xml import TestSuite, to_xml_report_string  # noqa: PLC0415 - only this format needs it

    sandboxes = {run.id: "; ".join([run.assurance, *run.weaknesses]) for run in view.runs}
    suites = [
        TestSuite(
            entry.label,
            [
                *(_verdict_case(verdict) for verdict in view.verdicts if verdict.candidate == entry.key),
                *(_case(entry, row, row.cells[column]) for row in view.problems),
            ],
            id=str(column),
            properties={
                "model": entry.model,
                "run": entry.run,
                "sandbox": sandboxes.get(entry.run, ""),
                "doubts": "; ".join(entry.doubts),
            },
        )
        for column, entry in enumerate(view.candidates)
    ]
    body = str(to_xml_report_string(suites, prettyprint=False, encoding="utf-8"))
    start = "<?xml version='1.0' encoding='utf-8'?>\n"
    return start + body.removeprefix(start) + "\n"


def _verdict_case(verdict: Verdict) -> "TestCase":
    from junit_xml import TestCase  # noqa: PLC0415

    case = TestCase("verdict", classname=verdict.label)
    if verdict.kind == "regressed":
        case.add_failure_info(message=verdict.reason, failure_type=verdict.kind)
    elif verdict.kind == "inconclusive":
        case.add_skipped_info(message=f"inconclusive: {verdict.reason}")
    elif verdict.kind != "pass":
        case.add_error_info(message=verdict.reason, error_type=verdict.kind)
    return case


def _case(entry: CandidateView, row: ProblemView, cell: Cell) -> "TestCase":
    from junit_xml import TestCase  # noqa: PLC0415

    elapsed = sum(value for attempt in cell.attempts for value in (attempt.seconds, attempt.model_seconds) if value)
    title = bug(row)
    name = f"{row.id}: {title}" if title else row.id
    case = TestCase(name, classname=entry.label, elapsed_sec=elapsed or None, url=title.address or None)
    if cell.status in {"failed", "mixed"}:
        failed = [attempt for attempt in cell.attempts if attempt.status == "failed"]
        first = [f"{figures.spaced(one.failure or 'failed')}: {one.detail or 'no detail'}" for one in failed[:1]]
        case.add_failure_info(
            message=f"{cell.passed} of {cell.graded} attempts passed; {(first or ['no detail'])[0]}",
            output=_evidence(failed),
            failure_type=cell.failure or "failed",
        )
    elif cell.status == "infrastructure":
        faults = [attempt for attempt in cell.attempts if attempt.fault]
        case.add_error_info(
            message="; ".join(f"{item.fault}: {item.fault_message}" for item in faults) or "no grade",
            error_type=faults[0].fault if faults else "infrastructure",
        )
    elif cell.status == "missing":
        case.add_error_info(message="planned, but the run holds no outcome of it", error_type="missing")
    elif cell.status == "excluded":
        case.add_skipped_info(message=row.excluded or "not part of this run")
    return case


def _evidence(failed: Iterable[AttemptView]) -> str:
    parts: list[str] = []
    for attempt in failed:
        parts.append(
            f"sample {attempt.sample}: {figures.spaced(attempt.failure or 'failed')}, "
            f"{figures.fraction(attempt.tests_passed, attempt.tests_total)} tests"
        )
        parts += [f"{test.status} {test.id} {test.exception or ''}".rstrip() for test in attempt.failing]
        if attempt.output:
            parts.append(attempt.output[-_EXCERPT:])
    return "\n".join(parts)
