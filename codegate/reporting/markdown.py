"""The report as GitHub-flavoured Markdown, for a job summary or a comment.

Names and messages from elsewhere are code spans, in which nothing is markup, a link or a mention; sentences that may
hold such text are escaped where Markdown, HTML or GitHub would read them as more than text. So the page can be read
without being rendered. Tables are cut between rows when the size limit is near.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from codegate.gating import Verdict
from codegate.reporting import figures
from codegate.reporting.plain import one_line
from codegate.reporting.table import (
    cohort_rows,
    columns,
    failure_rows,
    floor_rows,
    measure_rows,
    score_rows,
    turn_rows,
    unknown_measures,
)
from codegate.reporting.view import ReportView

SUMMARY_LIMIT: Final = 1024 * 1024
"""Bytes that GitHub takes as a job summary; a larger one is dropped altogether."""

_TAIL: Final = 400  # bytes kept free for the notes about what was cut


_ESCAPED: Final = re.compile(
    r"[\\`*\[~|]"
    r"|<(?=[A-Za-z/!?])"  # a tag
    r"|&(?=[#A-Za-z])"  # a character reference
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis; not within a word
    r"|^[#>]|^[-+=](?=[\s=-]|$)"  # a block: heading, quotation, list, rule
)
_BROKEN_UP: Final = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?=\w)|(?i:(?<=\bgh-))(?=\d)"  # mentions, issues
    r"|(?<=[A-Za-z])(?=:/)|(?i:(?<=\bwww))(?=\.)"  # links
)
_ZERO_WIDTH: Final = "\u200b"


def escape(text: str) -> str:
    """Return ``text`` on one line as a sentence that is nothing but text to Markdown, HTML and GitHub.

    What Markdown knows an escape for gets a backslash, and only where it would be markup. Mentions, references to
    issues and bare links have none: a zero-width space breaks them up. A dollar sign that could end a formula becomes
    a character reference.
    """
    line = _BROKEN_UP.sub(_ZERO_WIDTH, one_line(text, 2000))
    line = re.sub(r"^(\d+)(?=[.)](\s|$))", r"\1\\", _ESCAPED.sub(r"\\\g<0>", line))
    return re.sub(r"\$(?!\d)", "&#36;", line)


def code(text: str) -> str:
    """Return ``text`` on one line as a code span, nothing for no text."""
    line = one_line(text, 2000)
    if not line:
        return ""
    # In a table a backslash before a vertical bar would be read as its escape.
    line = line.replace("\\|", f"\\{_ZERO_WIDTH}|")
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table; a vertical bar in a cell, of a code span for example, ends no cell."""
    return "|" + "|".join(" " + re.sub(r"(?<!\\)\|", r"\\|", cell) + " " for cell in cells) + "|"


class _Page:
    """Lines of the page, never more bytes than the limit."""

    def __init__(self, limit: int) -> None:
        self._left = limit - _TAIL
        self._lines: list[str] = []
        self._cut = False

    def add(self, *lines: str) -> bool:
        """Add the lines if all of them fit; return whether they did."""
        size = sum(len(line.encode()) + 1 for line in lines)
        if size > self._left:
            self._cut = True
            return False
        self._left -= size
        self._lines += lines
        return True

    def table(self, title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table, cut at a row boundary; nothing when it has no rows."""
        found = list(rows)
        head = table_row(header)
        rule = f"|{' --- |' * len(header)}"
        reserve = 40  # for the line that counts what was cut
        if not found:
            return
        self._left -= reserve
        fitting = 0
        if self.add(title, "", head, rule):
            while fitting < len(found) and self.add(table_row(found[fitting])):
                fitting += 1
        self._left += reserve
        if fitting < len(found):
            self.add("", f"+{len(found) - fitting} more")
        self.add("")

    def text(self) -> str:
        """Return the page."""
        note = ["", "*Cut to the size limit; the HTML and JSON reports hold everything.*"] if self._cut else []
        return "\n".join([*self._lines, *note]).rstrip() + "\n"


def render_markdown(view: ReportView, *, limit: int = SUMMARY_LIMIT) -> str:
    """Return the report as Markdown of at most ``limit`` bytes of UTF-8.

    Args:
        view: what to say.
        limit: bytes, at least 1000; tables lose their last rows when it does not suffice.
    """
    page = _Page(max(limit, 1000))
    _verdicts(page, view)
    _candidates(page, view)
    _flips(page, view)
    page.table(
        "### Infrastructure faults",
        ("Candidate", "Cause", "n", "Message"),
        (
            (code(entry.label), code(fault.cause), str(fault.count), code(fault.message))
            for entry in view.candidates
            for fault in entry.faults
        ),
    )
    page.table(
        "### Passes to look at",
        ("Candidate", "Why"),
        ((code(entry.label), code(doubt)) for entry in view.candidates for doubt in entry.doubts),
    )
    page.table(
        "### Signs of contamination",
        ("Candidate", "What was seen"),
        ((code(entry.label), code(sign)) for entry in view.candidates for sign in entry.contamination),
    )
    page.table(
        "### What code under test attempted",
        ("Candidate", "Problem", "Attempted"),
        (
            (code(entry.label), code(problem), escape(summary))
            for entry in view.candidates
            for problem, summary in figures.notable(view, entry)
        ),
    )
    page.table(
        "### Problems left out",
        ("Problem", "Side", "Reason"),
        [
            *((code(row.id), "not run", code(row.excluded)) for row in view.problems if row.excluded is not None),
            *(
                (code(item.problem), item.side, code(item.reason))
                for verdict in view.verdicts
                for item in verdict.excluded
            ),
        ],
    )
    page.table(
        "### Problems",
        ("Problem", *(code(entry.label) for entry in view.candidates)),
        (
            (code(row.id), *(f"{figures.CELL_GLYPHS[cell.status]} {figures.cell(cell)}" for cell in row.cells))
            for row in view.problems
        ),
    )
    for run in view.runs:
        page.add(
            f"Run {code(run.id)} of suite {code(run.suite)}, {run.samples} sample(s) per problem, codegate "
            f"{code(run.codegate)}, sandbox: {code(run.assurance)}.",
            "",
            *(part for clause in run.weaknesses for part in (f"Sandbox of {code(run.id)}: {code(clause)}.", "")),
            *(() if run.confirmation is None else (f"{escape(run.confirmation)}.", "")),
        )
    return page.text()


def _verdicts(page: _Page, view: ReportView) -> None:
    if not view.verdicts:
        page.add("## codegate", "")
    for verdict in view.verdicts:
        advisory = ", few problems" if verdict.advisory else ""
        page.add(
            f"## {figures.VERDICT_GLYPHS[verdict.kind]} codegate: {verdict.kind}{advisory}",
            "",
            f"{code(verdict.label)} against {code(verdict.baseline_label)}: {escape(verdict.reason)}",
            "",
        )
        for note in figures.notes(verdict):
            page.add(f"- {escape(note)}")
        page.add("")
        page.table(
            "**Conditions that differ**",
            ("Field", "Baseline", "Candidate"),
            ((code(item.field), code(item.baseline), code(item.candidate)) for item in verdict.mismatches),
        )
        _evidence(page, verdict)


def _evidence(page: _Page, verdict: Verdict) -> None:
    if verdict.difference is not None:
        header = ("Baseline", "Candidate", "Difference", f"{figures.level(verdict)} interval", "p (regression)",
                  "p (non-inferiority)", "Look", "Detectable drop", "Problems")  # fmt: skip
        page.table(
            "**Evidence**",
            header,
            [
                (
                    figures.percent(verdict.baseline_rate),
                    figures.percent(verdict.candidate_rate),
                    figures.points(verdict.difference),
                    figures.interval(verdict),
                    figures.probability(verdict.p_regression),
                    figures.probability(verdict.p_noninferior),
                    figures.looks(verdict),
                    figures.detectable(verdict),
                    str(verdict.problems),
                )
            ],
        )
    page.table(
        "**Floors**",
        ("Tag", "Problems", "pass@1", "Asked"),
        ((code(tag), n, rate, asked) for tag, n, rate, asked in floor_rows(verdict)),
    )


def _candidates(page: _Page, view: ReportView) -> None:
    page.table(
        "### Measures",
        ("Measure (95% interval)", *(code(title) for title in columns(view))),
        ((f"{row.group}: {row.name}" if row.group else row.name, *row.cells) for row in measure_rows(view)),
    )
    if unknown := unknown_measures(view):
        page.add(f"Unknown: {', '.join(unknown)}.", "")
    page.table(
        "### Limits exceeded",
        ("Candidate", "Limit"),
        ((code(entry.label), escape(text)) for entry in view.candidates for text in entry.measures.warnings),
    )
    page.table(
        "### Failure classes",
        ("Candidate", "Failure", "n", "Share of samples", "Baseline", "Change", "p (Holm)"),
        (
            (code(row.candidate), escape(row.failure), row.count, row.share, row.baseline, row.difference, row.p)
            for row in failure_rows(view)
        ),
    )
    page.table(
        "### Turns of the tool loop",
        ("Candidate", "Turn", "Attempts that reached it", "Solved at it", "Share of those", "Solved by then"),
        ((code(row.candidate), row.number, row.reached, row.solved, row.rate, row.by_then) for row in turn_rows(view)),
    )
    page.table(
        "### Cohorts",
        ("Candidate", "Tag", "pass@1", "Score", "Baseline", "Change", "p of no drop (Holm)", "Most failures"),
        (
            (
                code(row.candidate),
                code(row.tag),
                row.pass_rate,
                row.score,
                row.baseline,
                row.difference,
                row.p,
                escape(row.failure),
            )
            for row in cohort_rows(view)
        ),
    )
    page.table(
        "### Parts of the weighted score",
        ("Candidate", "Part", "Weight", "Points", "How"),
        ((code(label), part, weight, points, escape(how)) for label, part, weight, points, how in score_rows(view)),
    )


def _flips(page: _Page, view: ReportView) -> None:
    for verdict in view.verdicts:
        for title, flips in (("Lost", verdict.regressions), ("Gained", verdict.improvements)):
            page.table(
                f"### {title} by {code(verdict.label)}",
                ("Problem", "Baseline", "Candidate", "Beyond chance", "Failure"),
                (
                    (
                        code(flip.problem),
                        f"{flip.baseline_rate:.0%} (n={flip.baseline_n})",
                        f"{flip.candidate_rate:.0%} (n={flip.candidate_n})",
                        "yes" if flip.beyond_chance else "no",
                        code(flip.candidate_failure) if flip.candidate_failure else figures.UNKNOWN,
                    )
                    for flip in flips
                ),
            )
