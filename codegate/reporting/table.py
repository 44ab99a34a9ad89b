"""The measures as rows of text: one way to say them, for the terminal, Markdown and HTML.

Of these texts only names of candidates, tags and failure classes come from elsewhere; cells of measures are our own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from codegate.gating import Verdict
from codegate.reporting import figures
from codegate.reporting.correctness import Correctness
from codegate.reporting.estimates import Estimate
from codegate.reporting.measures import Measures
from codegate.reporting.view import BaselineView, CandidateView, ReportView


@dataclass(frozen=True)
class Row:
    """A measure with one text per column; ``name`` says what it is, ``group`` what it is about."""

    group: str
    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class FailureRow:
    """A failure class of a candidate."""

    candidate: str
    failure: str
    count: str
    share: str
    baseline: str
    difference: str
    p: str


@dataclass(frozen=True)
class TurnRow:
    """A turn of a candidate's tool loop."""

    candidate: str
    number: str
    reached: str
    solved: str
    rate: str
    by_then: str


@dataclass(frozen=True)
class CohortRow:
    """A cohort of a candidate."""

    candidate: str
    tag: str
    pass_rate: str
    score: str
    baseline: str
    difference: str
    p: str
    failure: str


Say = Callable[[Measures], str]


def columns(view: ReportView) -> tuple[str, ...]:
    """Return the titles of the columns of ``measure_rows``: the candidates, and the baseline where there is one."""
    titles = tuple(entry.label for entry in view.candidates)
    return (*titles, f"baseline: {view.baseline.label}") if view.baseline else titles


def measure_rows(view: ReportView) -> tuple[Row, ...]:
    """Return every measure that is known of some candidate; the unknown ones are named by ``unknown_measures``."""
    return tuple(row for row in _rows(view) if any(cell != figures.UNKNOWN for cell in row.cells))


def unknown_measures(view: ReportView) -> tuple[str, ...]:
    """Return the names of the measures that nothing is known of."""
    return tuple(row.name for row in _rows(view) if all(cell == figures.UNKNOWN for cell in row.cells))


def _rows(view: ReportView) -> list[Row]:
    if not view.candidates:
        return []
    k = view.candidates[0].measures.correctness.k
    draws: list[tuple[str, Callable[[CandidateView | BaselineView], str]]] = []
    if k > 1:
        draws = [
            (f"pass@{k}", lambda side: figures.share(_right(side).pass_at_k)),
            (f"pass^{k}", lambda side: figures.share(_right(side).pass_hat_k)),
        ]
    sides: list[CandidateView | BaselineView] = [*view.candidates, *([view.baseline] if view.baseline else [])]
    rows = [
        Row("Correctness", name, tuple(map(say, sides)))
        for name, say in (
            ("pass@1", lambda side: figures.share(_right(side).pass_at_1)),
            *draws,
            ("Score, 0-100", lambda side: figures.estimate(_right(side).score, figures.number)),
        )
    ]
    empty = (figures.UNKNOWN,) if view.baseline else ()  # a baseline keeps results, neither times nor tokens
    for group, name, say in _MEASURES:
        rows.append(Row(group, name, (*(say(entry.measures) for entry in view.candidates), *empty)))
    rows.append(Row("", "Without a grade", (*map(_ungraded, view.candidates), *empty)))
    return rows


def _right(side: CandidateView | BaselineView) -> Correctness:
    return side.measures.correctness if isinstance(side, CandidateView) else side.correctness


def _ungraded(entry: CandidateView) -> str:
    missing = entry.planned - entry.graded
    return f"{missing} of {entry.planned}" if missing > 0 else figures.UNKNOWN


def _both(first: Estimate, second: Estimate) -> str:
    if first.value is None:
        return figures.UNKNOWN
    return f"{figures.seconds(first.value)} / {figures.estimate(second, figures.seconds)}"


def _cost(measures: Measures) -> str:
    spent = measures.costs
    if spent.model_usd is None:
        return figures.UNKNOWN
    if spent.total_usd is None:
        return f"{figures.UNKNOWN} ({figures.dollars(spent.model_usd)} for {spent.priced} of {spent.attempts} attempts)"
    parts = [f"n={spent.attempts}"]
    if spent.sandbox_usd is not None:
        parts.append(f"sandboxes {figures.dollars(spent.sandbox_usd)}")
    if spent.lost_calls:
        parts.append(f"and {spent.lost_calls} calls of unknown cost")
    return f"{figures.dollars(spent.total_usd)} ({', '.join(parts)})"


def _tests(measures: Measures) -> str:
    if measures.tests.value is None:
        return figures.UNKNOWN
    return f"{figures.ratio(measures.tests_passed, measures.tests_total)} {figures.share(measures.tests)}"


def _weighted(measures: Measures) -> str:
    score = measures.weighted
    if score.points.value is None:
        return figures.UNKNOWN
    without = f", without {', '.join(score.left_out)}" if score.left_out else ""
    return f"{figures.estimate(score.points, figures.number)}{without}"


_MEASURES: tuple[tuple[str, str, Say], ...] = (
    ("Correctness", "Tests passed", _tests),
    ("Correctness", "Lint clean", lambda m: figures.share(m.lint_clean)),
    ("Time", "Model, median / P95", lambda m: _both(m.model_median, m.model_p95)),
    ("Time", "Sandboxes, median / P95", lambda m: _both(m.infrastructure_median, m.infrastructure_p95)),
    ("Time", "Answer with own tests, P95", lambda m: figures.estimate(m.answer_p95, figures.seconds)),
    ("Tokens", "Input per attempt", lambda m: figures.estimate(m.input_tokens, figures.rounded)),
    ("Tokens", "Output per attempt", lambda m: figures.estimate(m.output_tokens, figures.rounded)),
    ("Tokens", "Input from cache", lambda m: figures.share(m.cache_share)),
    ("Reliability", "Attempts answered", lambda m: figures.share(m.answered)),
    ("Reliability", "Calls answered", lambda m: figures.estimate(m.calls_answered, figures.percent)),
    ("Reliability", "Tool calls valid", lambda m: figures.share(m.tool_calls_valid)),
    ("Cost", "Run", _cost),
    ("Cost", "Per completed task", lambda m: figures.estimate(m.costs.per_completed, figures.dollars)),
    ("", "Weighted score", _weighted),
)


def failure_rows(view: ReportView) -> tuple[FailureRow, ...]:
    """Return the failure classes of every candidate with their shares, and how these moved against the baseline."""
    return tuple(
        FailureRow(
            entry.label,
            figures.words(item.name),
            str(item.count),
            figures.share(item.share),
            figures.percent(item.baseline.value),
            figures.difference(item.difference),
            figures.probability(item.p),
        )
        for entry in view.candidates
        for item in entry.measures.failures
    )


def turn_rows(view: ReportView) -> tuple[TurnRow, ...]:
    """Return the turns of every candidate that worked in a tool loop."""
    return tuple(
        TurnRow(
            entry.label,
            str(turn.number),
            str(turn.reached),
            str(turn.solved),
            figures.share(turn.rate),
            figures.share(turn.by_then),
        )
        for entry in view.candidates
        for turn in entry.measures.turns
    )


def cohort_rows(view: ReportView) -> tuple[CohortRow, ...]:
    """Return the cohorts of every candidate; p is the verdict's, of "no drop", adjusted for the number of cohorts."""
    judged = {(verdict.candidate, item.tag): item.p_holm for verdict in view.verdicts for item in verdict.cohorts}
    return tuple(
        CohortRow(
            entry.label,
            item.tag,
            figures.share(item.pass_rate),
            figures.number(item.score.value),
            figures.percent(item.baseline.value),
            figures.difference(item.difference),
            figures.probability(judged.get((entry.key, item.tag))),
            figures.words(item.failure) if item.failure else "none",
        )
        for entry in view.candidates
        for item in entry.measures.cohorts
    )


def floor_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """Return the cohorts that the policy asks something of: tag, problems, pass rate, what is asked."""
    return tuple(
        (item.tag, str(item.problems), figures.percent(item.candidate_rate), f"{item.floor:.0%}, {item.tier}")
        for item in verdict.cohorts
        if item.floor is not None
    )


def score_rows(view: ReportView) -> tuple[tuple[str, ...], ...]:
    """Return the parts of every candidate's weighted score: candidate, part, weight, points, how they come about."""
    return tuple(
        (
            entry.label,
            part.name,
            figures.percent(part.weight) if part.weight else "left out" if part.points.value is None else "0.0%",
            figures.estimate(part.points, figures.number),
            part.how,
        )
        for entry in view.candidates
        for part in entry.measures.weighted.parts
    )
