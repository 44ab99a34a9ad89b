"""Tables of a report, except the table of measures."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from codegate.gating import ChangedProblem, Verdict
from codegate.reporting import figures
from codegate.reporting.cells import Name, Table, bug
from codegate.reporting.figures import Figure
from codegate.reporting.measure_table import judge_table, measures, ranking
from codegate.reporting.plain import one_line
from codegate.reporting.sweep import BEYOND_CHANCE, FEWEST, Effect, SettingScore, Sweep
from codegate.reporting.view import AttemptView, CandidateView, Cell, ReportView
from codegate.wording import join_first

_EXCERPT: Final = 160  # most characters of a failing test's message
_ENOUGH_SAMPLES: Final = 5  # fewest samples with which a problem can change beyond chance
_LEAST_PROBLEMS: Final = 5  # fewest problems of a cohort that is shown
_SENSITIVE: Final = 10  # most sensitive problems that are shown


def attempt_anchor(problem: int, candidate: int, sample: int) -> str:
    """Return an attempt's HTML id, made from its indexes."""
    return f"p{problem}c{candidate}s{sample}"


def newly_failing(view: ReportView, verdict: Verdict) -> Table:
    """Return problems solved less often than by the pinned baseline."""
    changes = sorted(verdict.regressions, key=lambda change: not change.beyond_chance)
    places = {row.id: number for number, row in enumerate(view.problems)}
    header = ("Problem", "Bug", "Baseline → candidate", "First failure")
    rows = tuple(_first_failure(places, view, verdict, change) for change in changes)
    return Table("newly-failing", "Newly failing problems", header, rows)


def newly_passing(view: ReportView, verdict: Verdict) -> Table:
    """Return problems solved more often than by the pinned baseline."""
    changes = sorted(verdict.improvements, key=lambda change: not change.beyond_chance)
    rows = {row.id: row for row in view.problems}
    found = tuple(
        (Name(change.problem), bug(rows[change.problem]) if change.problem in rows else "", _change(change))
        for change in changes
    )
    return Table("newly-passing", "Newly passing problems", ("Problem", "Bug", "Baseline → candidate"), found)


def _change(change: ChangedProblem) -> Figure:
    if change.baseline_n == change.candidate_n == 1:
        return Figure(f"{_passed(change.baseline_rate)} → {_passed(change.candidate_rate)}")
    beyond = change.beyond_chance and min(change.baseline_n, change.candidate_n) >= _ENOUGH_SAMPLES
    return Figure(
        f"{change.baseline_rate:.0%} (n={change.baseline_n}) → {change.candidate_rate:.0%} (n={change.candidate_n})"
        f"{', beyond chance' if beyond else ''}"
    )


def _passed(rate: float) -> str:
    return "passed" if rate else "failed"


def _first_failure(
    places: Mapping[str, int], view: ReportView, verdict: Verdict, change: ChangedProblem
) -> tuple[str, str, str, str]:
    name, title, message = Name(change.problem), "", figures.spaced(change.candidate_failure or "")
    row = places.get(change.problem)
    if row is not None:
        problem = view.problems[row]
        title = bug(problem)
        columns = [number for number, entry in enumerate(view.candidates) if entry.key == verdict.candidate]
        attempts = [(c, sample, made) for c in columns for sample, made in enumerate(problem.cells[c].attempts)]
        for column, sample, attempt in [each for each in attempts if each[2].status == "failed"][:1]:
            name = Name(change.problem, attempt_anchor(row, column, sample))
            message = ": ".join(filter(None, (figures.spaced(attempt.failure or ""), _excerpt(attempt))))
    return name, title, _change(change), Name(message)


def _excerpt(attempt: AttemptView, limit: int = _EXCERPT) -> str:
    for test in attempt.failing:
        said = test.message.strip().partition("\n")[0]
        if test.exception and not said.startswith(test.exception):
            said = f"{test.exception}: {said}" if said else test.exception
        if said:
            return one_line(said, limit)
    return one_line(attempt.detail, limit)


def mismatches(verdict: Verdict) -> Table:
    """Return the differences that forbid a comparison."""
    rows = tuple((Name(item.field), Name(item.baseline), Name(item.candidate)) for item in verdict.mismatches)
    return Table("conditions", "Conditions that differ", ("Condition", "Baseline", "Candidate"), rows)


def statistics(verdict: Verdict) -> Table:
    """Return the numbers behind a verdict; empty without a comparison."""
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
    found = tuple((Figure(name), text) for name, text in rows) if verdict.difference is not None else ()
    return Table("statistics", "Statistics", ("Statistic", "Value"), found)


def floors(verdict: Verdict) -> Table:
    """Return tags with a required pass rate, and their rates."""
    rows = tuple(
        (
            Name(one.tag),
            Figure(one.problems),
            figures.percent(one.candidate_rate),
            Figure(f"{one.floor:.0%}, {one.tier}"),
        )
        for one in verdict.cohorts
        if one.floor is not None
    )
    return Table("floors", "Floors", ("Tag", "Problems", "pass@1", "Required"), rows)


def matrix(view: ReportView) -> Table:
    """Return every candidate's result on every problem.

    In a report without a baseline, a result includes its first failure; with one, a table of its own has them.
    """
    rows = tuple((Name(row.id), bug(row), *(_result(view, cell) for cell in row.cells)) for row in view.problems)
    return Table("problems", "Problems", ("Problem", "Bug", *(Name(entry.label) for entry in view.candidates)), rows)


def _result(view: ReportView, cell: Cell) -> str:
    result = f"{figures.CELL_GLYPHS[cell.status]} {figures.cell(cell)}"
    failed = (made for made in cell.attempts if made.status == "failed" and made.failure == cell.failure)
    first = None if view.baseline else next(failed, None)
    cause = _excerpt(first, _EXCERPT // min(len(view.candidates), 4)) if first is not None else ""
    return f"{result}: {cause}" if cause else result


def warnings(view: ReportView) -> tuple[Table, ...]:
    """Return tables of limits, faults, doubtful passes, exclusions and more."""
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
        Table("harness-changes", "Harness against the baseline's", ("Change",), tuple(_harness_changes(view))),
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
        Table("left-out", "Problems left out", ("Problem", "Side", "Reason"), tuple(dict.fromkeys(_left_out(view)))),
    )


def _harness_changes(view: ReportView) -> Iterator[tuple[str, ...]]:
    for entry in view.candidates:
        label = [entry.label] if len(view.candidates) > 1 and entry.harness_changes else []
        yield from ((Name(line),) for line in (*label, *entry.harness_changes))


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
                (*map(Figure, (turn.number, turn.reached, turn.solved)), *map(figures.share, (turn.rate, turn.by_then)))
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
    """Return each candidate's failure classes, and the baseline's."""
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
        "Baseline, change and p are of the problems that both have; p is an exact stratified test, adjusted for "
        "the number of classes.",
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


def sweep_tables(sweep: Sweep | None) -> tuple[Table, ...]:
    """Return the tables of settings' effects; () without a sweep."""
    if sweep is None:
        return ()
    exact = f"Exact test, adjusted by Holm for problems and changes; below {BEYOND_CHANCE} is beyond chance."
    return (
        Table(
            "settings",
            "Score by setting",
            ("Setting", "Value", "pass@1", "Score", "Samples"),
            tuple(map(_setting_score, sweep.scores)),
            "The mean over all combinations with the value; 95% intervals count problems.",
        ),
        Table(
            "effects",
            "Effect of each setting",
            ("Setting", "Change", "Effect on pass@1", "p (Holm)", "Problems better", "Worse"),
            tuple(_effect(sweep, one) for one in sweep.effects),
            "Each value against the first, paired by problem and by all other settings. t test over problems, adjusted "
            f"by Holm for {len(sweep.effects)} comparisons. Nothing is gated on it.",
        ),
        Table(
            "sensitive",
            "Most sensitive problems",
            ("Problem", "Setting", "Change", "pass@1", "p (Holm)"),
            tuple((Name(one.where or ""), *_rates(one)) for one in sweep.problems[:_SENSITIVE]),
            sweep.limits or exact,
        ),
        Table(
            "interference",
            "Better here, worse there",
            ("Setting", "Change", "By", "Better", "Worse"),
            tuple(_interference(sweep)),
            f"Changes that help some and harm others: problems, and tags of at least {FEWEST} problems. An asterisk is "
            "beyond chance (Holm), the others may be chance.",
        ),
    )


def _setting_score(one: SettingScore) -> tuple[str, ...]:
    setting = Name(one.setting) if one.setting else Figure("combination")
    score = figures.estimate(one.score, figures.number)
    return setting, Name(one.value), figures.share(one.pass_rate), score, figures.count(one.samples)


def _setting(one: Effect) -> tuple[str, ...]:
    return Name(one.setting), Name(f"{one.before} → {one.after}")


def _effect(sweep: Sweep, one: Effect) -> tuple[str, ...]:
    sides = (Figure(len(side)) for side in _better_and_worse(sweep.problems, one))
    return *_setting(one), figures.difference(one.difference), figures.p_value(one.p), *sides


def _rates(one: Effect) -> tuple[str, ...]:
    rates = Figure(f"{one.before_rate:.0%} → {one.after_rate:.0%} n={one.difference.n} each")
    return *_setting(one), rates, figures.p_value(one.p)


def _better_and_worse(found: Iterable[Effect], effect: Effect) -> tuple[list[Effect], list[Effect]]:
    mine = [(one.difference.value or 0, one) for one in found if one.change == effect.change]
    return [one for value, one in mine if value > 0], [one for value, one in mine if value < 0]


def _interference(sweep: Sweep) -> Iterator[tuple[str, ...]]:
    for effect in sweep.effects:
        for kind, found in (("problem", sweep.problems), ("tag", sweep.cohorts)):
            better, worse = _better_and_worse(found, effect)
            if better and worse:
                yield *_setting(effect), Figure(kind), _listed(better), _listed(worse)


def _listed(found: Iterable[Effect]) -> str:
    parts = [
        f"{one.where} {figures.points(one.difference.value)} n={one.difference.n}"
        f"{'*' if one.p is not None and one.p < BEYOND_CHANCE else ''}"
        for one in found
    ]
    return join_first(parts)
