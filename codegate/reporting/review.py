"""Render the page on which maintainers keep or drop problems."""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from codegate.durable import digest
from codegate.reporting.page import page_template
from codegate.reporting.plain import one_line, plain
from codegate.suite import Changes, Problem, ProblemManifest, Suite, Tree, make_patch
from codegate.wording import count_of

if TYPE_CHECKING:
    from jinja2 import Template

ReviewDecision = Literal["keep", "drop", "none"]
"""A problem's present state in the suite: kept, dropped, or ``none`` if mining retired it."""

MAX_LINES: Final = 1500
MAX_CHARACTERS: Final = 200_000
_BINARY: Final = re.compile(r"^GIT binary patch\n.*?(?=^diff --git |\Z)", re.MULTILINE | re.DOTALL)
_INDEX: Final = re.compile(r"^index [^\n]*\n", re.MULTILINE)


@dataclass(frozen=True)
class ReviewText:
    """A plain text, and the number of omitted lines."""

    text: str
    omitted: int


@dataclass(frozen=True)
class ReviewedProblem:
    """One problem on the review page, with unescaped texts.

    ``facts`` describe it, by label. ``fail_to_pass`` has the tests that fail without the fix; the flag says that the
    test does not even exist without the fix.
    """

    id: str
    title: str
    decision: ReviewDecision
    aside: str
    facts: Mapping[str, tuple[str, ...]]
    evidence: tuple[str, ...]
    statement: ReviewText
    fail_to_pass: tuple[tuple[str, bool], ...]
    pass_to_pass: int
    fix: ReviewText
    hidden: ReviewText


@dataclass(frozen=True)
class ReviewView:
    """The content of a suite's review page.

    Decisions are appended to ``command``, the words of a shell command. A browser stores the decisions under the name
    ``key``.
    """

    suite: str
    command: str
    key: str
    problems: tuple[ReviewedProblem, ...]


def reviewed_problem(problem: Problem, base: Tree) -> ReviewedProblem:
    """Return the review page's content about ``problem``.

    Its fix and hidden tests are shown as diffs against ``base``.
    """
    manifest, tests, dropped = problem.manifest, problem.tests, problem.dropped
    return ReviewedProblem(
        id=problem.id,
        title=one_line(manifest.provenance.title) or problem.id,
        decision="drop" if dropped else "none" if manifest.status == "retired" else "keep",
        aside=_aside(manifest, dropped=dropped),
        facts={name: values for name, values in _facts(problem) if values},
        evidence=_lines(*manifest.kind_evidence, *manifest.provenance.evidence),
        statement=_passage(problem.statement),
        fail_to_pass=tuple((one_line(name), name in tests.NONE_TO_PASS) for name in tests.FAIL_TO_PASS),
        pass_to_pass=len(tests.PASS_TO_PASS),
        fix=_diff(base, problem.fix),
        hidden=_diff(base, problem.hidden),
    )


def review_view(suite: Suite, command: str, problems: tuple[ReviewedProblem, ...]) -> ReviewView:
    """Return the content of a suite's review page.

    Decisions are appended to ``command``, the words of a shell command.
    """
    state = [suite.name, suite.digest, {problem.id: problem.decision for problem in problems}]
    return ReviewView(plain(suite.name), command, digest(state)[:16], problems)


def render_review(view: ReviewView) -> str:
    """Render the review page; equal views give equal bytes."""
    return _template().render(view=view)


def _aside(manifest: ProblemManifest, *, dropped: bool) -> str:
    aside = manifest.quarantine
    if aside is None:
        return ""
    return one_line(aside.evidence if dropped else f"{manifest.status}: {aside.reason}: {aside.evidence}", 400)


def _facts(problem: Problem) -> Iterator[tuple[str, tuple[str, ...]]]:
    manifest = problem.manifest
    origin, statement, quality, audit = manifest.provenance, manifest.statement, manifest.quality, manifest.leak_audit
    pull = f", #{origin.pull_request}" if origin.pull_request is not None else ""
    yield "Commit", _lines(f"{origin.commit[:12]} ({origin.kind}{pull})" if origin.commit else origin.kind)
    yield "Date", _lines(origin.date.date().isoformat() if origin.date else "")
    yield "Issues", _lines(", ".join(f"#{number}" for number in origin.issues))
    yield "Kind", _lines(manifest.kind or "unknown")
    yield "Example", _lines("none executed: the statement has words alone" if problem.quoted else "")
    yield "Statement", _lines(statement.mode + (f", rewritten by {statement.model}" if statement.model else ""))
    yield "Statement from", _lines(", ".join(statement.sources))
    yield "Left out of it", _lines(*statement.dropped)
    if quality is not None:
        exact = quality.exact_texts
        yield "Exact wording", _lines(f"{count_of(exact, 'text')} must be given word for word" if exact else "")
        share, hunks = quality.hunk_coverage, quality.hunks
        yield "Tested parts of the fix", _lines(f"{share:.0%} of {hunks}" if share is not None and hunks else "")
    if audit is not None and not audit.clean:
        yield "Leak audit", _lines(*(audit.findings or ("not clean",)))
    yield "Tests not graded", _lines(*(f"{one.id}: {one.quarantine.evidence}" for one in problem.tests.QUARANTINED))


def _lines(*values: str) -> tuple[str, ...]:
    return tuple(one_line(value, 300) for value in values if value)


def _diff(base: Tree, changes: Changes) -> ReviewText:
    return _passage(_BINARY.sub("binary file\n", _INDEX.sub("", make_patch(base, changes))))


def _passage(text: str) -> ReviewText:
    lines = plain(text).rstrip("\n").split("\n")
    shown = "\n".join(lines[:MAX_LINES])[:MAX_CHARACTERS]
    return ReviewText(shown, len(lines) - len(shown.split("\n")))


@functools.cache
def _template() -> "Template":
    return page_template("review.html.j2", ["report.css", "review.css"], "review.js")
