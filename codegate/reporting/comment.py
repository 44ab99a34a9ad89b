"""Render the report as a comment on GitHub.

The comment has what a reviewer needs, and links to the rest. Rows are left out until the comment fits.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from codegate.gating import Verdict, worst_first
from codegate.reporting import figures
from codegate.reporting.cells import Name, Table
from codegate.reporting.figures import Figure
from codegate.reporting.markdown import SHORT, escape, markdown_template, render_to_limit
from codegate.reporting.measure_table import figures_of_cost
from codegate.reporting.plain import one_line
from codegate.reporting.table import newly_failing
from codegate.reporting.view import CandidateView, ReportView
from codegate.wording import count_of

COMMENT_LIMIT: Final = 65_000
"""Most bytes of a comment. GitHub takes 65,536 characters, so there is room for a marker."""

_ALERTS: Final[Mapping[str, str]] = {
    "pass": "TIP",
    "regressed": "CAUTION",
    "inconclusive": "WARNING",
    "incomparable": "WARNING",
    "infrastructure": "IMPORTANT",
}
_NEXT: Final[Mapping[str, str]] = {
    "pass": "merge. Later changes are compared with the pinned model until its baseline is replaced: to pin this one, "
    "run codegate-baseline and commit its lock.",
    "regressed": "look at the newly failing problems below. Change model, prompt, harness or settings and push again, "
    "or keep what is pinned; to accept the drop, pin a new baseline in a change of its own.",
    "inconclusive": "codegate plan shows which number of problems and samples would settle it.",
    "infrastructure": "re-run the failed job. With `resume: auto` it goes on where it stopped.",
    "ungated": "pin a baseline, or nothing is gated: run codegate-baseline and commit its lock.",
}
"""Next step by verdict. The reason of an incomparable verdict has its own."""
_NEXT_ON_FLOORS: Final[Mapping[str, str]] = {
    "pass": "merge. To compare later changes with this model, run codegate-baseline and commit its lock.",
    "regressed": "change model, prompt or settings and push again, or merge lower floors first.",
}
"""Next step by verdict if floors alone decide, because no model is pinned."""
NO_BASELINE: Final = "There is no baseline, so nothing was compared."
_ROWS: Final = 25
_LEAST: Final = 24_000
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~/%#?=&-]*)?")


def render_comment(
    view: ReportView,
    *,
    run_url: str | None = None,
    commit: str = "",
    claimed: bool = False,
    notes: Sequence[str] = (),
    limit: int = COMMENT_LIMIT,
) -> str:
    """Render the report as Markdown of at most ``limit`` bytes.

    The comment names ``commit``, links to ``run_url`` and shows ``notes``, a sentence each. With ``claimed`` it warns
    that a stranger's commit controlled the run and its figures.
    """
    view = replace(view, verdicts=worst_first(view.verdicts))
    if claimed:  # a stranger's result must not choose where links lead
        view = replace(view, problems=tuple(replace(row, project=None) for row in view.problems))
    verdict = view.verdicts[0] if view.verdicts else None
    missing = sum(max(entry.planned - entry.graded, 0) for entry in view.candidates)
    kind = verdict.kind if verdict is not None else "infrastructure" if missing else "ungated"
    left_out = {row.id for row in view.problems if row.excluded is not None}
    left_out |= {item.problem for each in view.verdicts for item in each.excluded}
    advice = {**_NEXT, **_NEXT_ON_FLOORS} if verdict is not None and view.baseline is None else _NEXT
    context = {
        "view": view,
        "verdict": verdict,
        "others": view.verdicts[1:],
        "kind": kind,
        "alert": _ALERTS.get(kind, "NOTE"),
        "glyph": figures.VERDICT_GLYPHS.get(kind, "·"),
        "ungated": _ungated(view, missing),
        "claimed": claimed,
        "next": "" if claimed or (verdict is None and view.baseline is not None) else advice.get(kind, ""),
        "remarks": notes,
        "samples": view.samples_of,
        "costs": [(Name(entry.label), figures_of_cost(entry.measures)) for entry in view.candidates],
        "left_out": len(left_out),
        "scores": _scores(view),
        "commit": _short(commit),
        "links": _link(run_url),
        "first_failures": lambda verdict: _failure_second(newly_failing(view, verdict)),
    }
    template = markdown_template("comment.md.j2")
    return render_to_limit(lambda most: template.render(context, most=most), max(limit, _LEAST), _ROWS)


def _failure_second(found: Table) -> Table:
    rows = tuple((row[0], row[-1], *row[1:-1]) for row in (found.header, *found.rows))
    return replace(found, header=rows[0], rows=rows[1:])


def _ungated(view: ReportView, missing: int) -> str:
    if missing:
        return f"{count_of(missing, 'attempt')} without a grade."
    return NO_BASELINE if view.baseline is None else "Compared with the nights before; the summary has the trend."


def render_notice(kind: str, text: str, *, run_url: str | None = None, commit: str = "", fault: bool = True) -> str:
    """Render a comment that explains why there is no report.

    ``kind`` says what happened in a word or two, ``text`` gives the reason. The comment names ``commit`` and links to
    ``run_url``. With ``fault`` it is a warning, else a note.
    """
    at = f" at `{_short(commit)}`" if _short(commit) else ""
    head = [f"> [!{'CAUTION' if fault else 'NOTE'}]", f"> **codegate: {escape(one_line(kind, 60))}{at}**", ">"]
    lines = [f"> {escape(one_line(line, SHORT))}" for line in text.splitlines()[:20] if line.strip()]
    link = _link(run_url)
    return "\n".join([*head, *lines, *(["", link] if link else [])]) + "\n"


def _scores(view: ReportView) -> Table:
    entries = {entry.key: entry for entry in view.candidates}
    if not view.verdicts:
        bare = tuple((Name(e.label), figures.share(e.pass_rate), _mean_score(e)) for e in view.candidates)
        return Table("scores", "Scores", ("Candidate", "pass@1", "Mean score, 0-100"), bare)
    header = ("Candidate", "Verdict", "Baseline", "Candidate", "Difference", "Mean score, 0-100", "Problems",
              "Minimum detectable drop")  # fmt: skip
    note = "A true drop of the size in the last column is found in four of five runs; a smaller one may stay unseen."
    known = any(verdict.detectable_drop is not None for verdict in view.verdicts)
    rows = tuple(_score(verdict, entries.get(verdict.candidate), view) for verdict in view.verdicts)
    return Table("scores", "Scores", header, rows, note if known else "")


def _score(verdict: Verdict, entry: CandidateView | None, view: ReportView) -> tuple[str, ...]:
    difference = str(figures.points(verdict.difference))
    if verdict.interval is not None:
        difference += f" ({figures.confidence(verdict)}: {figures.interval(verdict)})"
    score = _mean_score(entry) if entry is not None else figures.UNKNOWN
    stored = view.baseline.correctness if view.baseline is not None else None
    # The verdict can be on fewer problems or on more samples than what is pinned.
    if stored is not None and math.isclose(stored.pass_at_1.value or 0.0, verdict.baseline_rate or -1.0):
        score = Figure(f"{figures.number(stored.score.value)} → {score}")
    return (
        Name(verdict.label),
        Figure(f"{figures.VERDICT_GLYPHS[verdict.kind]} {verdict.kind}"),
        figures.percent(verdict.baseline_rate),
        figures.percent(verdict.candidate_rate),
        Figure(difference),
        score,
        Figure(f"{verdict.problems:,}, look {figures.looks(verdict)}"),
        figures.detectable(verdict),
    )


def _mean_score(entry: CandidateView) -> Figure:
    score = entry.measures.correctness.score
    return figures.UNKNOWN if score.value is None else Figure(f"{figures.number(score.value)} (n={score.n})")


def _short(commit: str) -> str:
    return commit[:12] if re.fullmatch(r"[0-9a-f]{40,64}", commit) else ""


def _link(run_url: str | None) -> str:
    return f"[Workflow run]({run_url})" if run_url and _ADDRESS.fullmatch(run_url) else ""
