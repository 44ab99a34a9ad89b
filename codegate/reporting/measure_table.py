"""Tables of the candidates' measures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from codegate.gating.estimates import Estimate
from codegate.reporting import figures
from codegate.reporting.cells import Name, Table
from codegate.reporting.figures import Figure
from codegate.reporting.measures import MEASURES, Measure, Measures
from codegate.reporting.view import BaselineView, CandidateView, ReportView
from codegate.wording import count_of

Say = Callable[[Measures], str]


def measures(view: ReportView) -> Table:
    """Return known measures by candidate; a note names unknown measures."""
    labels = [Name(entry.label) for entry in view.candidates]
    labels += [Name(f"baseline: {view.baseline.label}")] if view.baseline else []
    rows = list(_measures(view))
    known = tuple(row for row in rows if any(cell != figures.UNKNOWN for cell in row[1:]))
    unknown = [row[0] for row in rows if row not in known and row[0] not in _OPTIONAL]
    note = f"Unknown: {', '.join(unknown)}." if unknown else ""
    return Table("measures", "Measures", ("Measure [95% interval over problems]", *labels), known, note)


def ranking(view: ReportView) -> Table:
    """Return candidates from best to worst, with their main figures."""
    entries = [entry for entry in view.candidates if entry.pass_rate.value is not None]
    order = sorted(entries, key=lambda entry: _place(entry, entries))
    rows = []
    for entry in order if len(order) > 1 else []:
        place = 1 + sum(_place(other, entries) < _place(entry, entries) for other in order)
        found = entry.measures
        tests, time = _tests(found), _both(found.model_median, found.model_p95)
        per_task = figures.estimate(found.costs.per_completed, figures.dollars)
        cost = figures.UNKNOWN if per_task == figures.UNKNOWN else Figure(f"{figures_of_cost(found)}; {per_task}")
        shares = figures.share(entry.pass_rate), tests, figures.share(found.lint_clean)
        rows.append((Figure(place), Name(entry.label), *shares, time, cost, _weighted(found)))
    header = ("Rank", "Candidate", "pass@1", "Tests passed", "Lint clean", "Model time, median / P95",
              "Cost: run; completed task", "Weighted score")  # fmt: skip
    note = (
        "By pass@1. Ties are broken by lint clean, then by the share of solved attempts that a judge passes, where "
        "these are known of all that tie. Where intervals overlap, the order may be chance."
    )
    return Table("ranking", "Ranking", header, tuple(rows), note)


_OPTIONAL: Final = frozenset(measure.row for measure in MEASURES if measure.optional)
_TIES: Final[tuple[Callable[[CandidateView], Estimate], ...]] = (
    lambda entry: entry.measures.lint_clean,
    lambda entry: entry.judged.solved_passed_share if entry.judged else Estimate(),
)
"""Estimates that break ties, in order. Each is used only if all tied candidates have it."""


def _place(entry: CandidateView, entries: Sequence[CandidateView]) -> tuple[float, ...]:
    # The pass rate, then the tie-breakers that are known for all candidates with that rate.
    tied = [one for one in entries if _points(one.pass_rate) == _points(entry.pass_rate)]
    ties = (of for of in _TIES if all(of(one).value is not None for one in tied))
    return (_points(entry.pass_rate), *(_points(of(entry)) for of in ties))


def _points(share: Estimate) -> float:
    return -round(share.value or 0.0, 9)


def judge_table(entries: Iterable[CandidateView]) -> Table:
    """Return, by candidate, how the judge's verdicts agree with execution."""
    return Table(
        "judge",
        "Judge against execution",
        ("Candidate", "Judge", "Solved: judge passes / fails", "Broken: judge passes / fails", "No verdict",
         "Agreement", "Broken that it passes", "Solved that it passes"),
        tuple(
            (
                Name(entry.label),
                Name(found.judge),
                Figure(f"{found.solved_passed} / {found.solved_failed}"),
                Figure(f"{found.broken_passed} / {found.broken_failed}"),
                Figure(found.unclear),
                figures.share(found.agreement),
                figures.share(found.broken_passed_share),
                figures.share(found.solved_passed_share),
            )
            for entry in entries
            if (found := entry.judged) is not None
        ),
        "Solved and broken are what the hidden tests showed. The judge saw statement and patch, no test. It gates "
        "nothing.",
    )  # fmt: skip


def optional_measures(view: ReportView) -> Table:
    """Return the measures that exist only with optional settings."""
    return _some(view, "full-test-suite", "Full test suite", lambda row: row in _OPTIONAL)


def cost_and_time(view: ReportView) -> Table:
    """Return the measures of cost and time."""
    return _some(view, "cost-and-time", "Cost and time", lambda row: row.startswith(("Cost", "Time")))


def _some(view: ReportView, name: str, title: str, kept: Callable[[str], bool]) -> Table:
    whole = measures(view)
    return replace(whole, id=name, title=title, rows=tuple(row for row in whole.rows if kept(row[0])), note="")


def _measures(view: ReportView) -> Iterator[tuple[str, ...]]:
    if not view.candidates:
        return
    k = view.candidates[0].measures.correctness.k
    sides: list[CandidateView | BaselineView] = [*view.candidates, *([view.baseline] if view.baseline else [])]
    right = [side.measures.correctness if isinstance(side, CandidateView) else side.correctness for side in sides]
    yield Figure("Correctness: pass@1"), *(figures.share(found.pass_at_1) for found in right)
    if k > 1:
        yield Figure(f"Correctness: pass@{k}"), *(figures.share(found.pass_at_k) for found in right)
        yield Figure(f"Correctness: pass^{k}"), *(figures.share(found.pass_hat_k) for found in right)
    yield Figure("Correctness: Score, 0-100"), *(figures.estimate(found.score, figures.number) for found in right)
    empty = (figures.UNKNOWN,) if view.baseline else ()  # a baseline has results, but neither times nor tokens
    for name, tell in _MEASURES:
        yield Figure(name), *(tell(entry.measures) for entry in view.candidates), *empty
    if any(entry.graded < entry.planned for entry in view.candidates):
        yield Figure("Without a grade"), *map(_ungraded, view.candidates), *empty


def _ungraded(entry: CandidateView) -> Figure:
    missing = entry.planned - entry.graded
    return Figure(f"{missing} of {entry.planned}" if missing > 0 else figures.UNKNOWN)


def _both(first: Estimate, second: Estimate) -> str:
    if first.value is None:
        return figures.UNKNOWN
    return Figure(f"{figures.seconds(first.value)} / {figures.estimate(second, figures.seconds)}", second)


def figures_of_cost(measures: Measures) -> Figure:
    """Format the cost and number of a candidate's attempts."""
    spent = measures.costs
    if spent.model_usd is None:
        return figures.UNKNOWN
    if spent.total_usd is None:
        some = f"{figures.dollars(spent.model_usd)} for {spent.priced} of {spent.attempts} attempts"
        return Figure(f"{figures.UNKNOWN} ({some})")
    parts = [count_of(spent.attempts, "attempt")]
    if spent.sandbox_usd is not None:
        parts.append(f"sandboxes {figures.dollars(spent.sandbox_usd)}")
    if spent.lost_calls:
        parts.append(f"without {count_of(spent.lost_calls, 'failed call')}")
    return Figure(f"{figures.dollars(spent.total_usd)} ({', '.join(parts)})")


def _tests(measures: Measures) -> str:
    if measures.tests.value is None:
        return figures.UNKNOWN
    # Named explicitly, because n counts problems but stands beside numbers of tests.
    rate = replace(measures.tests, n=measures.correctness.pass_at_1.n, of="problems")
    return Figure(f"{figures.fraction(measures.tests_passed, measures.tests_total)} {figures.share(rate)}")


def _weighted(measures: Measures) -> str:
    score = measures.weighted
    if score.points.value is None:
        return figures.UNKNOWN
    if measures.correctness.pass_at_1.value == 0:  # other parts of the score would reward quick failures
        return Figure(f"{figures.UNKNOWN} (nothing solved)")
    without = f", without {', '.join(score.left_out)}" if score.left_out else ""
    return f"{figures.estimate(score.points, figures.number)}{without}"


def _own(measure: Measure, measures: Measures) -> str:
    value: Estimate = getattr(measures, measure.name)
    if measure.unit == "share":
        return figures.share(value)
    return figures.estimate(value, _UNITS[measure.unit])


_UNITS: Final[Mapping[str, Callable[[float | None], str]]] = {
    "seconds": figures.seconds,
    "count": figures.count,
    "number": partial(figures.number, digits=2),
}
_KINDS: Final = (
    "Correctness", "Patch", "Own tests", "Cost", "Time", "Calls per attempt", "Tokens", "Reliability", "Weighted score",
)  # fmt: skip
_MEASURES: Final[Sequence[tuple[str, Say]]] = sorted(
    (
        ("Correctness: tests passed", _tests),
        ("Cost: run", figures_of_cost),
        ("Cost: per completed task", lambda m: figures.estimate(m.costs.per_completed, figures.dollars)),
        ("Cost: prices", lambda m: Name(m.costs.prices_from) if m.costs.prices_from else figures.UNKNOWN),
        ("Time: model, median / P95", lambda m: _both(m.model_median, m.model_p95)),
        ("Time: sandboxes, median / P95", lambda m: _both(m.infrastructure_median, m.infrastructure_p95)),
        *((measure.row, partial(_own, measure)) for measure in MEASURES if measure.row),
        ("Reliability: calls answered", lambda m: figures.estimate(m.calls_answered, figures.percent)),
        ("Reliability: tool calls valid", lambda m: figures.share(m.tool_calls_valid)),
        ("Weighted score", _weighted),
    ),
    key=lambda row: _KINDS.index(row[0].partition(":")[0]),
)
