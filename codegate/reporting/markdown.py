"""The report as GitHub-flavoured Markdown, for a job summary or a comment.

All text from elsewhere is written as HTML character references, which CommonMark never reads as markup
(section 2.5 of its specification), inside ``<code>``; ``@`` and ``#`` also get a zero-width space after them, so
that they mention and close nothing. Tables are cut between rows when the size limit is near.
"""

import re
from collections.abc import Iterable, Sequence

from codegate.reporting import figures
from codegate.reporting.plain import one_line
from codegate.reporting.view import ReportView

SUMMARY_LIMIT = 1024 * 1024
"""Bytes that GitHub takes as a job summary; a larger one is dropped altogether."""

_TAIL = 400  # bytes kept free for the notes about what was cut


def escape(text: str) -> str:
    """Return ``text`` on one line with every character that Markdown or HTML could read as its own encoded."""
    encoded = re.sub(r"[^\w\s,-]", lambda match: f"&#{ord(match[0])};", one_line(text, 2000), flags=re.ASCII)
    return re.sub("&#(35|64);", r"&#\1;&#8203;", encoded).replace("_", "&#95;")


def code(text: str) -> str:
    """Return ``text`` as inert inline code."""
    return f"<code>{escape(text)}</code>"


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
        head = f"| {' | '.join(header)} |"
        rule = f"|{' --- |' * len(header)}"
        reserve = 40  # for the line that counts what was cut
        if not found:
            return
        self._left -= reserve
        fitting = 0
        if self.add(title, "", head, rule):
            while fitting < len(found) and self.add(f"| {' | '.join(found[fitting])} |"):
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
        )
    return page.text()


def _verdicts(page: _Page, view: ReportView) -> None:
    if not view.verdicts:
        page.add("## codegate", "")
    for verdict in view.verdicts:
        advisory = ", advisory" if verdict.advisory else ""
        page.add(
            f"## {figures.VERDICT_GLYPHS[verdict.kind]} codegate: {verdict.kind}{advisory}",
            "",
            f"{code(verdict.label)} against {code(verdict.baseline_label)}: {escape(verdict.reason)}",
            "",
        )
        page.table(
            "**Conditions that differ**",
            ("Field", "Baseline", "Candidate"),
            ((code(item.field), code(item.baseline), code(item.candidate)) for item in verdict.mismatches),
        )


def _candidates(page: _Page, view: ReportView) -> None:
    page.table(
        "### Candidates",
        (
            "Candidate",
            "pass@1 (95% interval)",
            "Score",
            "Tests",
            "Lint clean",
            "Median / P95",
            "Tokens in / out",
            "Cost",
            "Failures",
        ),
        (
            (
                code(entry.label),
                figures.share(entry.pass_rate),
                figures.number(entry.score),
                figures.ratio(entry.tests_passed, entry.tests_total),
                figures.share(entry.lint_clean),
                f"{figures.seconds(entry.latency_median)} / {figures.seconds(entry.latency_p95)}",
                f"{figures.count(entry.input_tokens)} / {figures.count(entry.output_tokens)}",
                figures.dollars(entry.cost_usd),
                ", ".join(f"{figures.words(item.name)} {item.count}" for item in entry.failures)
                or ("none" if entry.graded else figures.UNKNOWN),
            )
            for entry in view.candidates
        ),
    )


def _flips(page: _Page, view: ReportView) -> None:
    for verdict in view.verdicts:
        for title, flips in (("Lost", verdict.regressions), ("Gained", verdict.improvements)):
            page.table(
                f"### {title} by {code(verdict.label)}",
                ("Problem", "Baseline", "Candidate", "Failure"),
                (
                    (
                        code(flip.problem),
                        f"{flip.baseline_rate:.0%} (n={flip.baseline_n})",
                        f"{flip.candidate_rate:.0%} (n={flip.candidate_n})",
                        code(flip.candidate_failure) if flip.candidate_failure else figures.UNKNOWN,
                    )
                    for flip in flips
                ),
            )
