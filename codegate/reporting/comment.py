"""The report as one comment of a pull request or an issue: what a reviewer needs, and where the rest is.

All text from elsewhere goes through the escape of ``reporting.markdown``, so that it is no markup, mentions nobody,
closes no issue and is no HTML comment. Tables are cut between rows, the least telling sections first.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from codegate.gating import Flip, Verdict, worst
from codegate.reporting import figures
from codegate.reporting.estimates import Estimate
from codegate.reporting.markdown import code, escape, table_row
from codegate.reporting.plain import one_line
from codegate.reporting.table import columns, failure_rows, measure_rows
from codegate.reporting.view import CandidateView, ReportView

Item = TypeVar("Item")

COMMENT_LIMIT: Final = 65_000
"""GitHub takes 65,536 characters; counting bytes of UTF-8 stays below that, and leaves room for a marker."""

_ALERTS: Final[Mapping[str, str]] = {
    "pass": "TIP",
    "regressed": "CAUTION",
    "inconclusive": "WARNING",
    "incomparable": "WARNING",
    "infrastructure": "IMPORTANT",
}
_SHORT: Final = 120  # characters of a name
_LONG: Final = 700  # of a sentence
_CANDIDATES: Final = 20
_FLIPS: Final = 25
_FAILURES: Final = 15
_NOTES: Final = 8
_LEAST: Final = 24_000
_COUNT_BYTES: Final = 24  # of the line that counts what was cut
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~/%#?=&-]*)?")


class _Body:
    """Lines of the comment, never more bytes than there is room for."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.lines: list[str] = []

    def add(self, *lines: str) -> bool:
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        if size > self._room:
            return False
        self._room -= size
        self.lines += lines
        return True

    def table(
        self,
        title: str,
        header: Sequence[str],
        items: Sequence[Item],
        row: Callable[[Item], Sequence[str]],
        most: int,
    ) -> None:
        """Add the first rows of a table, and how many there are more; nothing where there are none."""
        if not items:
            return
        self._room -= _COUNT_BYTES
        fitting = 0
        if self.add(f"**{title}**", "", table_row(header), f"|{' --- |' * len(header)}"):
            while fitting < min(len(items), most) and self.add(table_row(row(items[fitting]))):
                fitting += 1
            self._room += _COUNT_BYTES
            self.add("", *([f"+{len(items) - fitting} more", ""] if fitting < len(items) else []))
        else:
            self._room += _COUNT_BYTES
            self.add(f"{title}: +{len(items)}, see the report", "")


def render_comment(
    view: ReportView,
    *,
    run_url: str | None = None,
    report_url: str | None = None,
    commit: str = "",
    claimed: bool = False,
    limit: int = COMMENT_LIMIT,
) -> str:
    """Return the report as Markdown of at most ``limit`` bytes of UTF-8.

    Args:
        view: what to say; its verdicts say whether the candidates passed.
        run_url: of the workflow run.
        report_url: of the artifact with all of the reports.
        commit: hash of the commit that was looked at.
        claimed: the figures come from a run that a stranger's commit controlled; the comment says so.
        limit: bytes; never below what the verdict and the links can take.
    """
    foot = _foot(view, run_url, report_url, commit)
    body = _Body(max(limit, _LEAST) - len("\n".join(foot).encode()) - 2)
    _headline(body, view, claimed)
    _scores(body, view)
    notes = [(verdict, note) for verdict in view.verdicts[:_CANDIDATES] for note in figures.notes(verdict)[:_NOTES]]
    for verdict, note in notes:
        body.add(f"- {_name(verdict.label)}: {_sentence(note)}")
    body.add(*([""] if notes else []))
    _flips(body, view)
    _conditions(body, view)
    body.table(
        "Failure classes",
        ("Candidate", "Failure", "n", "Share of samples", "Baseline", "Change", "p (Holm)"),
        failure_rows(view),
        lambda row: (
            _name(row.candidate),
            _sentence(row.failure),
            row.count,
            row.share,
            row.baseline,
            row.difference,
            row.p,
        ),
        _FAILURES,
    )
    body.table(
        "Cost and time",
        ("Measure", *(_name(title) for title in columns(view)[:_CANDIDATES])),
        [row for row in measure_rows(view) if row.group in {"Cost", "Time"}],
        lambda row: (f"{row.group}: {row.name}", *row.cells[:_CANDIDATES]),
        _FAILURES,
    )
    _left_out(body, view)
    return "\n".join([*body.lines, *foot]).rstrip() + "\n"


def render_notice(kind: str, text: str, *, run_url: str | None = None, fault: bool = True) -> str:
    """Return a comment that says why there is no report, in place of one that would be out of date.

    Args:
        kind: what happened in a word or two, such as ``no baseline``.
        text: the reason; nothing in it is acted on.
        run_url: of the workflow run.
        fault: something is wrong; else it is as it should be.
    """
    head = [f"> [!{'CAUTION' if fault else 'NOTE'}]", f"> **codegate: {_sentence(one_line(kind, 60))}**", ">"]
    lines = [f"> {_sentence(line)}" for line in text.splitlines()[:20] if line.strip()]
    return "\n".join([*head, *lines, "", *_links(run_url, None)]).rstrip() + "\n"


def _name(text: str) -> str:
    return code(one_line(text, _SHORT))


def _sentence(text: str) -> str:
    return escape(one_line(text, _LONG))


def _headline(body: _Body, view: ReportView, claimed: bool) -> None:
    verdict = worst(view.verdicts)
    if verdict is None:
        missing = sum(max(entry.planned - entry.graded, 0) for entry in view.candidates)
        kind, alert = ("infrastructure", "IMPORTANT") if missing else ("ungated", "NOTE")
        said = f"{missing} attempts have no grade." if missing else "There is no baseline, so nothing was compared."
    else:
        kind, alert = verdict.kind, _ALERTS[verdict.kind]
        said = f"{_name(verdict.label)} against {_name(verdict.baseline_label)}: {_sentence(verdict.reason)}"
        if verdict.population is not None:
            said += f" {_sentence(verdict.population.sentence)}"
    glyph = figures.VERDICT_GLYPHS.get(kind, "·")
    advisory = ", few problems" if verdict is not None and verdict.advisory else ""
    body.add(f"> [!{alert}]", f"> **{glyph} codegate: {kind}{advisory}**", ">", f"> {said}")
    if claimed:
        body.add(
            ">",
            "> These figures come from a run that the proposed commit itself controlled. They are shown as it reported "
            "them and decide nothing.",
        )
    body.add("")


def _scores(body: _Body, view: ReportView) -> None:
    entries = {entry.key: entry for entry in view.candidates}
    body.table(
        "Scores",
        ("Candidate", "Verdict", "Baseline", "Candidate", "Difference", "Mean score, 0-100", "Problems",
         "Finds a drop of"),
        view.verdicts,
        lambda verdict: _score(verdict, entries.get(verdict.candidate), view),
        _CANDIDATES,
    )  # fmt: skip
    if any(verdict.detectable_drop is not None for verdict in view.verdicts):
        body.add(
            "The last column is the power of the comparison: a true drop of that size is found in four of five cases, "
            "and a smaller one may stay unseen.",
            "",
        )
    if not view.verdicts:
        body.table(
            "Scores",
            ("Candidate", "pass@1", "Mean score, 0-100"),
            view.candidates,
            lambda entry: (_name(entry.label), figures.share(entry.pass_rate), _mean_score(entry)),
            _CANDIDATES,
        )  # fmt: skip


def _score(verdict: Verdict, entry: CandidateView | None, view: ReportView) -> tuple[str, ...]:
    difference = figures.points(verdict.difference)
    if verdict.interval is not None:
        difference += f" ({figures.level(verdict)}: {figures.interval(verdict)})"
    score = _mean_score(entry) if entry is not None else figures.UNKNOWN
    if view.baseline is not None and verdict.difference is not None:
        score = f"{_with_n(view.baseline.correctness.score)} → {score}"
    return (
        _name(verdict.label),
        f"{figures.VERDICT_GLYPHS[verdict.kind]} {verdict.kind}",
        figures.percent(verdict.baseline_rate),
        figures.percent(verdict.candidate_rate),
        difference,
        score,
        f"{verdict.problems:,}, look {figures.looks(verdict)}",
        figures.detectable(verdict),
    )


def _mean_score(entry: CandidateView) -> str:
    return _with_n(entry.measures.correctness.score)


def _with_n(score: Estimate) -> str:
    return figures.UNKNOWN if score.value is None else f"{figures.number(score.value)} (n={score.n})"


def _flips(body: _Body, view: ReportView) -> None:
    lost = [(verdict.label, flip) for verdict in view.verdicts for flip in verdict.regressions]
    won = [(verdict.label, flip) for verdict in view.verdicts for flip in verdict.improvements]
    for title, found in (("Lost problems", lost), ("Won problems", won)):
        body.table(
            title,
            ("Candidate", "Problem", "Baseline", "Candidate", "Beyond chance", "Failure"),
            sorted(found, key=lambda pair: not pair[1].beyond_chance),
            lambda pair: _flip(*pair),
            _FLIPS,
        )


def _flip(label: str, flip: Flip) -> tuple[str, ...]:
    return (
        _name(label),
        _name(flip.problem),
        f"{flip.baseline_rate:.0%} (n={flip.baseline_n})",
        f"{flip.candidate_rate:.0%} (n={flip.candidate_n})",
        "yes" if flip.beyond_chance else "no",
        _name(flip.candidate_failure) if flip.candidate_failure else figures.UNKNOWN,
    )


def _conditions(body: _Body, view: ReportView) -> None:
    body.table(
        "Conditions that differ",
        ("Candidate", "Field", "Baseline", "Here"),
        [(verdict.label, item) for verdict in view.verdicts for item in verdict.mismatches],
        lambda pair: (_name(pair[0]), _name(pair[1].field), _name(pair[1].baseline), _name(pair[1].candidate)),
        _FAILURES,
    )
    body.table(
        "Infrastructure faults",
        ("Candidate", "Cause", "n", "Message"),
        [(entry.label, fault) for entry in view.candidates for fault in entry.faults],
        lambda pair: (_name(pair[0]), _name(pair[1].cause), str(pair[1].count), _name(pair[1].message)),
        _FAILURES,
    )
    body.table(
        "Passes to look at",
        ("Candidate", "Why"),
        [(entry.label, why) for entry in view.candidates for why in entry.doubts],
        lambda pair: (_name(pair[0]), _sentence(pair[1])),
        _FAILURES,
    )


def _left_out(body: _Body, view: ReportView) -> None:
    excluded = {row.id for row in view.problems if row.excluded is not None}
    unpaired = {item.problem for verdict in view.verdicts for item in verdict.excluded}
    if left_out := len(excluded | unpaired):
        body.add(f"{left_out} problem{'' if left_out == 1 else 's'} left out; the report says why.", "")


def _foot(view: ReportView, run_url: str | None, report_url: str | None, commit: str) -> list[str]:
    seen = f" at `{commit[:12]}`" if re.fullmatch(r"[0-9a-f]{40,64}", commit) else ""
    runs = [
        f"Run {_name(run.id)} of suite {_name(run.suite)}{seen}: {run.samples} "
        f"sample{'' if run.samples == 1 else 's'} per problem, codegate {_name(run.codegate)}."
        for run in view.runs[:3]
    ]
    return [*runs, *_links(run_url, report_url)]


def _links(run_url: str | None, report_url: str | None) -> list[str]:
    named = (("All of the report", report_url), ("Workflow run", run_url))
    links = [f"[{name}]({url})" for name, url in named if url and _ADDRESS.fullmatch(url)]
    return ["", " · ".join(links)] if links else []
