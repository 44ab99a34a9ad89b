"""Tables of a report, except the table of measures."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from codegate.gating import Flip, Verdict
from codegate.reporting import figures
from codegate.reporting.cells import Name, ProblemName, Table, bug
from codegate.reporting.figures import Figure
from codegate.reporting.measure_table import judge_table, measures, ranking
from codegate.reporting.plain import one_line
from codegate.reporting.sweep_table import sweep_tables
from codegate.reporting.view import AttemptView, CandidateView, ReportView

_EXCERPT: Final = 160  # characters of a failing test's message
_ENOUGH_SAMPLES: Final = 5  # for one problem to change beyond chance
_LEAST_PROBLEMS: Final = 5  # of a cohort that is shown


def attempt_anchor(problem: int, candidate: int, sample: int) -> str:
    """Return an attempt's HTML id, made from its positions."""
    return f"p{problem}c{candidate}s{sample}"


def newly_failing(view: ReportView, verdict: Verdict) -> Table:
    """Return problems solved less often than by the pinned baseline."""
    flips = sorted(verdict.regressions, key=lambda flip: not flip.beyond_chance)
    places = {row.id: number for number, row in enumerate(view.problems)}
    return Table(
        "newly-failing",
        "Newly failing problems",
        ("Problem", "Bug", "Baseline → candidate", "First failure"),
        tuple(_first_failure(places, view, verdict, flip) for flip in flips),
    )


def newly_passing(view: ReportView, verdict: Verdict) -> Table:
    """Return problems solved more often than by the pinned baseline."""
    flips = sorted(verdict.improvements, key=lambda flip: not flip.beyond_chance)
    rows = {row.id: row for row in view.problems}
    return Table(
        "newly-passing",
        "Newly passing problems",
        ("Problem", "Bug", "Baseline → candidate"),
        tuple(
            (Name(flip.problem), bug(rows[flip.problem]) if flip.problem in rows else "", _change(flip))
            for flip in flips
        ),
    )


def _change(flip: Flip) -> Figure:
    if flip.baseline_n == flip.candidate_n == 1:
        return Figure(f"{_passed(flip.baseline_rate)} → {_passed(flip.candidate_rate)}")
    beyond = flip.beyond_chance and min(flip.baseline_n, flip.candidate_n) >= _ENOUGH_SAMPLES
    return Figure(
        f"{flip.baseline_rate:.0%} (n={flip.baseline_n}) → {flip.candidate_rate:.0%} (n={flip.candidate_n})"
        f"{', beyond chance' if beyond else ''}"
    )


def _passed(rate: float) -> str:
    return "passed" if rate else "failed"


def _first_failure(
    places: Mapping[str, int], view: ReportView, verdict: Verdict, flip: Flip
) -> tuple[str, str, str, str]:
    """Return a flip's cells: name, title, change and message.

    The name links to the problem's first failed attempt. ``places`` has each problem's index in ``view.problems``.
    """
    name, title, message = Name(flip.problem), "", figures.spaced(flip.candidate_failure or "")
    row = places.get(flip.problem)
    if row is not None:
        problem = view.problems[row]
        title = bug(problem)
        columns = [number for number, entry in enumerate(view.candidates) if entry.key == verdict.candidate]
        attempts = [(c, sample, made) for c in columns for sample, made in enumerate(problem.cells[c].attempts)]
        for column, sample, attempt in [each for each in attempts if each[2].status == "failed"][:1]:
            name = ProblemName(flip.problem, attempt_anchor(row, column, sample))
            message = ": ".join(filter(None, (figures.spaced(attempt.failure or ""), _excerpt(attempt))))
    return name, title, _change(flip), Name(message)


def _excerpt(attempt: AttemptView) -> str:
    for test in attempt.failing:
        said = test.message.strip().partition("\n")[0]
        if test.exception and not said.startswith(test.exception):
            said = f"{test.exception}: {said}" if said else test.exception
        if said:
            return one_line(said, _EXCERPT)
    return one_line(attempt.detail, _EXCERPT)


def mismatches(verdict: Verdict) -> Table:
    """Return the differences that forbid a comparison."""
    return Table(
        "conditions",
        "Conditions that differ",
        ("Condition", "Baseline", "Candidate"),
        tuple((Name(item.field), Name(item.baseline), Name(item.candidate)) for item in verdict.mismatches),
    )


def statistics(verdict: Verdict) -> Table:
    """Return the numbers behind a verdict.

    The table is empty if nothing was compared.
    """
    rows = [
        ("Candidate", figures.percent(verdict.candidate_rate)),
        ("Baseline", figures.percent(verdict.baseline_rate)),
        ("Difference", figures.points(verdict.difference)),
        (f"{figures.confidence(verdict)} interval", figures.interval(verdict)),
        ("p (regression)", figures.p_value(verdict.p_regression)),
        ("p (non-inferiority)", figures.p_value(verdict.p_noninferior)),
        ("Problems", Figure(f"{verdict.problems:,}")),
        ("Samples of the baseline", figures.baseline_samples(verdict)),
        ("Look", Figure(figures.looks(verdict))),
        ("Minimum detectable drop", figures.detectable(verdict)),
    ]
    found = rows if verdict.difference is not None else []
    return Table(
        "statistics", "Statistics", ("Statistic", "Value"), tuple((Figure(name), text) for name, text in found)
    )


def floors(verdict: Verdict) -> Table:
    """Return tags with a required pass rate, and their rates."""
    return Table(
        "floors",
        "Floors",
        ("Tag", "Problems", "pass@1", "Required"),
        tuple(
            (
                Name(item.tag),
                Figure(item.problems),
                figures.percent(item.candidate_rate),
                Figure(f"{item.floor:.0%}, {item.tier}"),
            )
            for item in verdict.cohorts
            if item.floor is not None
        ),
    )


def matrix(view: ReportView) -> Table:
    """Return every candidate's result on every problem."""
    return Table(
        "problems",
        "Problems",
        ("Problem", "Bug", *(Name(entry.label) for entry in view.candidates)),
        tuple(
            (
                Name(row.id),
                bug(row),
                *(f"{figures.CELL_GLYPHS[cell.status]} {figures.cell(cell)}" for cell in row.cells),
            )
            for row in view.problems
        ),
    )


def warnings(view: ReportView) -> tuple[Table, ...]:
    """Return tables of limits, faults, doubtful passes, exclusions and more."""
    several = len(view.candidates) > 1
    return (
        _texts(view, "limits", "Limits exceeded", "Limit", lambda entry: entry.measures.warnings),
        _by_candidate(
            view,
            "faults",
            "Infrastructure faults",
            ("Cause", "n", "Message"),
            lambda entry: ((Name(item.cause), Figure(item.count), Name(item.message)) for item in entry.faults),
        ),
        _by_candidate(
            view,
            "refused",
            "What the agent did without",
            ("What", "n"),
            lambda entry: ((Name(what), Figure(count)) for what, count in entry.refused),
        ),
        _texts(view, "harness", "Parts of the harness", "Use", lambda entry: filter(None, (entry.harness,))),
        Table(
            "harness-changes",
            "Harness against the baseline's",
            ("Change",),
            tuple((Name(line),) for entry in view.candidates for line in _labelled_changes(entry, several)),
        ),
        _texts(view, "served", "Models without a date", "What answered", lambda entry: entry.served),
        _texts(view, "doubts", "Passes to check", "Why", lambda entry: entry.doubts),
        _texts(view, "contamination", "Signs of contamination", "Sign", lambda entry: entry.contamination),
        _by_candidate(
            view,
            "attempted",
            "What code under test attempted",
            ("Problem", "Attempted"),
            lambda entry: ((Name(problem), summary) for problem, summary in figures.notable(view, entry)),
        ),
        Table(
            "left-out",
            "Problems left out",
            ("Problem", "Side", "Reason"),
            tuple(dict.fromkeys(_left_out(view))),
        ),
    )


def _labelled_changes(entry: CandidateView, several: bool) -> tuple[str, ...]:
    return (entry.label, *entry.harness_changes) if several and entry.harness_changes else entry.harness_changes


def _left_out(view: ReportView) -> Iterator[tuple[str, ...]]:
    yield from ((Name(row.id), Figure("not run"), Name(row.excluded)) for row in view.problems if row.excluded)
    for verdict in view.verdicts:
        yield from ((Name(item.problem), Figure(item.side), Name(item.reason)) for item in verdict.excluded)


def details(view: ReportView) -> tuple[Table, ...]:
    """Return all tables except the verdict's, most useful first."""
    judged = {(verdict.candidate, item.tag): item.p_holm for verdict in view.verdicts for item in verdict.cohorts}
    return (
        *sweep_tables(view.sweep),
        ranking(view),
        judge_table(view.candidates),
        measures(view),
        failures(view),
        _by_candidate(
            view,
            "cohorts",
            "Cohorts",
            ("Tag", "pass@1", "Score", "Baseline", "Change", "p (regression, Holm)", "Most failures"),
            lambda entry: (
                (
                    Name(item.tag),
                    figures.share(item.pass_rate),
                    figures.number(item.score.value),
                    figures.percent(item.baseline.value),
                    figures.difference(item.difference),
                    figures.p_value(judged.get((entry.key, item.tag))),
                    Name(figures.spaced(item.failure or "none")),
                )
                for item in entry.measures.cohorts
                if item.pass_rate.n >= _LEAST_PROBLEMS
            ),
            f"Cohorts of at least {_LEAST_PROBLEMS} problems. Among many small groups one is always down.",
        ),
        _by_candidate(
            view,
            "turns",
            "Turns of the tool loop",
            ("Turn", "Attempts that reached it", "Solved at it", "Share of those", "Solved by then"),
            lambda entry: (
                (
                    Figure(turn.number),
                    Figure(turn.reached),
                    Figure(turn.solved),
                    figures.share(turn.rate),
                    figures.share(turn.by_then),
                )
                for turn in entry.measures.turns
            ),
            "How much of what is unsolved the next turn solves: debugging decay.",
        ),
        _by_candidate(
            view,
            "weighted",
            "Weighted score",
            ("Part", "Weight", "Points", "How"),
            lambda entry: (
                (
                    part.name,
                    figures.percent(part.weight)
                    if part.weight
                    else Figure("left out" if part.points.value is None else "0.0%"),
                    figures.estimate(part.points, figures.number),
                    part.how,
                )
                for part in entry.measures.weighted.parts
            ),
            "A part that is unknown is left out and the other weights fill its place. The gate does not look at this "
            "score.",
        ),
    )


def failures(view: ReportView) -> Table:
    """Return each candidate's failure classes, beside the baseline's."""
    return _by_candidate(
        view,
        "failures",
        "Failure classes",
        ("Failure", "n", "Share of samples", "Baseline", "Change", "p (Holm)"),
        lambda entry: (
            (
                Name(figures.spaced(item.name)),
                Figure(item.count),
                figures.share(item.share),
                figures.percent(item.baseline.value),
                figures.difference(item.difference),
                figures.p_value(item.p),
            )
            for item in entry.measures.failures
        ),
        "Baseline, change and p are of the problems that both have; p is an exact sign test, adjusted for the "
        "number of classes.",
    )


def _by_candidate(
    view: ReportView,
    name: str,
    title: str,
    header: tuple[str, ...],
    rows: Callable[[CandidateView], Iterable[tuple[str, ...]]],
    note: str = "",
) -> Table:
    found = tuple((Name(entry.label), *row) for entry in view.candidates for row in rows(entry))
    return Table(name, title, ("Candidate", *header), found, note)


def _texts(
    view: ReportView, name: str, title: str, column: str, texts: Callable[[CandidateView], Iterable[str]]
) -> Table:
    return _by_candidate(view, name, title, (column,), lambda entry: ((text,) for text in texts(entry)))
