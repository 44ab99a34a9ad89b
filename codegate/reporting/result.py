"""Reads ``report.json`` back: the one file by which a run that is not trusted may say what it found.

Nothing in it is believed because it is there. Every key and type is what ``render_json`` writes, every number is one
that a report can have, and what can be counted again is: a file that contradicts itself is refused. A run that invents
attempts can still say what it likes, so what comes from it is shown and decides nothing.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from codegate.errors import UsageError
from codegate.gating import Flip, Verdict
from codegate.reporting.json_report import REPORT_SCHEMA
from codegate.reporting.view import CandidateView, Cell, ReportView
from codegate.strict import parse_json

MAX_RESULT_BYTES: Final = 64 << 20

_LARGEST: Final = 1e15  # of any number: bytes of memory, tokens
_NEAR: Final = 1e-9
_PLACE: Final = "the result"


def read_result(data: bytes) -> ReportView:
    """Return the view that ``render_json`` wrote as ``data``.

    Raises:
        UsageError: it is too large, not exactly such a document, or does not agree with itself.
    """
    if len(data) > MAX_RESULT_BYTES:
        raise UsageError(f"{_PLACE} is larger than {MAX_RESULT_BYTES} bytes.")
    try:
        document = parse_json(data.decode("utf-8"), _PLACE)
    except UnicodeDecodeError as error:
        raise UsageError(f"{_PLACE} is not UTF-8 text.") from error
    if not isinstance(document, dict) or document.get("schema") != REPORT_SCHEMA:
        raise UsageError(f"{_PLACE} is no {REPORT_SCHEMA}.", "Write it with the version of codegate that reads it.")
    del document["schema"]
    if any(abs(number) > _LARGEST for number in _numbers(document)):
        raise UsageError(f"{_PLACE} has a number that no report has.")
    try:
        view = TypeAdapter(ReportView).validate_python(document)
    except ValidationError as error:
        raise UsageError(f"{_PLACE} has not the form of a {REPORT_SCHEMA}.") from error
    # Whatever validation let through (a text for a number, a key too many, one too few) is not what is written.
    if not _same(document, view):
        raise UsageError(f"{_PLACE} has not the form of a {REPORT_SCHEMA}.")
    _check(view)
    return view


def _numbers(document: Any) -> Iterator[float]:
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, (int, float)):
            yield value


def _same(said: Any, value: Any) -> bool:
    """Tell whether ``render_json`` writes ``value`` as ``said``; 1 and 1.0 are one number."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return (
            isinstance(said, dict)
            and said.keys() == set(names)
            and all(_same(said[name], getattr(value, name)) for name in names)
        )
    if isinstance(value, Verdict):
        return _alike(said, value.model_dump(mode="json"))
    if isinstance(value, tuple):
        return isinstance(said, list) and len(said) == len(value) and all(map(_same, said, value))
    return _alike(said, value)


def _alike(said: Any, value: Any) -> bool:
    if isinstance(said, dict) and isinstance(value, dict):
        return said.keys() == value.keys() and all(_alike(said[name], value[name]) for name in said)
    if isinstance(said, list) and isinstance(value, list):
        return len(said) == len(value) and all(map(_alike, said, value))
    return bool(said == value) and isinstance(said, bool) == isinstance(value, bool)


def _check(view: ReportView) -> None:
    for row in view.problems:
        _agree(len(row.cells) == len(view.candidates), f"the problem {row.id[:80]!r} has not one cell a candidate")
        for cell in row.cells:
            _agree(_counted(cell), f"the attempts at {row.id[:80]!r} are not those that it counts")
    for column, entry in enumerate(view.candidates):
        _check_candidate(entry, [row.cells[column] for row in view.problems])
    for verdict in view.verdicts:
        _check_verdict(verdict, len(view.problems))


def _counted(cell: Cell) -> bool:
    passed = sum(attempt.status == "passed" for attempt in cell.attempts)
    failed = sum(attempt.status == "failed" for attempt in cell.attempts)
    if (cell.passed, cell.graded) != (passed, passed + failed):
        return False
    if not cell.attempts:
        return cell.status in {"excluded", "missing"}
    if not cell.graded:
        return cell.status == "infrastructure"
    return cell.status == ("passed" if not failed else "mixed" if passed else "failed")


def _check_candidate(entry: CandidateView, cells: list[Cell]) -> None:
    what = f"the figures of {entry.label[:80]!r}"
    rates = [cell.passed / cell.graded for cell in cells if cell.graded]
    told, right = entry.pass_rate, entry.measures.correctness
    _agree(entry.graded == sum(cell.graded for cell in cells) <= entry.planned, what)
    _agree(told.n == len(rates) and told == right.pass_at_1, what)
    _agree((told.value is None) == (not rates), what)
    if told.value is not None:
        _agree(math.isclose(told.value, math.fsum(rates) / len(rates), abs_tol=_NEAR), what)
        _agree(_shares(told.low, told.value, told.high), what)
    for item in entry.measures.failures:
        _agree(0 <= item.count <= entry.graded and _shares(item.share.value, item.baseline.value), what)
        _agree(_probabilities(item.p), what)
    score = right.score.value
    _agree(score is None or 0 <= score <= 100 + _NEAR, what)
    for estimate in dataclasses.astuple(entry.measures.costs):
        _agree(not isinstance(estimate, (int, float)) or estimate >= 0, what)


def _check_verdict(verdict: Verdict, problems: int) -> None:
    what = f"the verdict about {verdict.label[:80]!r}"
    rates = (verdict.baseline_rate, verdict.candidate_rate)
    _agree(_shares(*rates) and verdict.problems <= problems, what)
    if verdict.difference is not None:
        _agree(None not in rates, what)
        _agree(math.isclose(verdict.difference, (rates[1] or 0) - (rates[0] or 0), abs_tol=_NEAR), what)
    _agree(verdict.interval is None or -2 <= verdict.interval[0] <= verdict.interval[1] <= 2, what)
    _agree(_probabilities(verdict.p_regression, verdict.p_noninferior), what)
    _agree(all(0 <= level <= 0.5 for level in (verdict.alpha, verdict.level, verdict.level_regressed)), what)
    if verdict.kind == "pass":
        shown = verdict.p_noninferior is not None and verdict.p_noninferior < verdict.level <= verdict.alpha + _NEAR
        _agree(shown and not verdict.must_pass_failed, what)
    for flips, worse in ((verdict.regressions, True), (verdict.improvements, False)):
        _agree(all(_changed(flip, worse) for flip in flips), what)


def _changed(flip: Flip, worse: bool) -> bool:
    there, here = flip.baseline_rate, flip.candidate_rate
    return (
        _shares(there, here)
        and min(flip.baseline_n, flip.candidate_n) > 0
        and (here < there if worse else here > there)
    )


def _shares(*values: float | None) -> bool:
    return all(value is None or -_NEAR <= value <= 1 + _NEAR for value in values)


_probabilities = _shares


def _agree(holds: bool, what: str) -> None:
    if not holds:
        raise UsageError(f"{_PLACE} does not agree with itself: {what}.")
