"""What the model is told: the issue's words, the change's own, what the failing tests showed, or some of the tests.

Four modes, tried in the order that is asked for. ``issue`` is the linked issue as it was before the fix, ``change``
the pull request's or commit's text; both are scrubbed, and what gives the fix away is masked. ``failure`` is made from
the failing tests' titles and errors: no test source and no path of the fix; it is what every problem can have.
``scaffold`` adds the source of about half of the failing tests.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from codegate.durable import sha256
from codegate.mining.cut import Cut
from codegate.mining.proving.validation import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment, LinkedIssue
from codegate.mining.sources.history import Unit
from codegate.mining.statements.failures import describe_failures, title_of
from codegate.mining.statements.interface import NO_INTERFACE, Interface
from codegate.mining.statements.scrub import MAX_CHARACTERS, blocks, scrub_text
from codegate.mining.statements.testsource import TestSource, python_tests
from codegate.mining.statements.vocabulary import MASK, FixVocabulary, added_lines, masked, quotes, vocabulary

StatementMode = Literal["issue", "change", "failure", "scaffold"]

MIN_WORDS: Final = 8
_MAX_ISSUES: Final = 3
_MAX_SHOWN: Final = 8000
_WORD: Final = re.compile(r"[^\W\d_]{2,}")

__all__ = [
    "MASK",
    "MIN_WORDS",
    "StatementMode",
    "StatementText",
    "added_lines",
    "checked",
    "count_words",
    "scrub_change",
    "with_interface",
    "write_statement",
]


@dataclass(frozen=True)
class StatementText:
    """A statement and how it was made.

    Attributes:
        mode: where its words are from.
        text: Markdown, with the block of the interface.
        words: of ``text``, without masks and signatures.
        flags: what is worth knowing of it: ``masked`` (names or quotations of the fix are covered up),
            ``fence_dropped`` (a code block quoted the fix), ``several_issues``, ``repro`` (it has a code block),
            ``traceback``, ``interface``; and of a rewritten one the digest of what the model was told.
        model: the snapshot that rewrote it.
    """

    mode: Literal["issue", "change", "failure", "scaffold", "rewrite"]
    text: str
    words: int = 0
    flags: tuple[str, ...] = ()
    model: str | None = None


def write_statement(
    name: str,
    unit: Unit,
    cut: Cut,
    outcomes: TestOutcomes,
    *,
    enrichment: Enrichment | None = None,
    modes: Sequence[StatementMode] = ("issue", "change", "failure"),
    interface: Interface = NO_INTERFACE,
    problem: str = "",
    repository: str = "",
) -> StatementText | None:
    """Return the first of ``modes`` that can be had, else ``failure``; None when even that quotes the fix.

    Args:
        name: the suite's name, as the name of the project.
        unit: the change.
        cut: its parts.
        outcomes: what its tests showed.
        enrichment: what the forge knows of the change, as it was before the fix.
        modes: in the order of preference.
        interface: names that the statement gives away on purpose, because hidden tests use them.
        problem: the problem's id: which tests ``scaffold`` shows follows from it.
        repository: ``owner/name`` on its forge; links there are removed.
    """
    known = vocabulary(cut).without({*interface.names, *interface.unresolvable})
    failures = describe_failures(name, outcomes, known, tuple(cut.fix))
    for mode in (*modes, "failure"):
        found: StatementText | None
        if mode == "issue":
            found = _from_issues(_usable(enrichment, unit), known, repository)
        elif mode == "change":
            found = checked("change", scrub_change(unit, enrichment, repository), known)
        elif quotes(failures, known):
            found = None
        elif mode == "scaffold":
            found = _scaffold(failures, cut, outcomes, known, problem or unit.commit)
        else:
            found = _finished("failure", failures.rstrip("\n"))
        if found is not None:
            return with_interface(found, interface)
    return None


def scrub_change(unit: Unit, enrichment: Enrichment | None = None, repository: str = "") -> str:
    """Return the pull request's title and body, or the commit's where there is none, scrubbed."""
    if enrichment is not None and enrichment.body.strip():
        return scrub_text(enrichment.title or unit.title, enrichment.body, repository)
    body = unit.message.partition("\n")[2].split("\n")
    if unit.kind == "merge" and any(line.strip() and not line.startswith("* ") for line in body):
        # The merge has a text of its own; subjects of the merged commits tell how, not what.
        body = [line for line in body if not line.startswith("* ")]
    title = enrichment.title if enrichment is not None and enrichment.title.strip() else unit.title
    return scrub_text(title, "\n".join(body), repository)


def checked(
    mode: Literal["issue", "change", "rewrite"], text: str, known: FixVocabulary, flags: tuple[str, ...] = ()
) -> StatementText | None:
    """Return a statement of scrubbed ``text`` with what gives the fix away covered up; None when too little is left."""
    parts = []
    for block in blocks(text):
        part = "\n".join(block.lines)
        if block.is_fence and quotes(part, known):
            flags = (*flags, "fence_dropped")
        else:
            parts.append(part)
    left = masked("\n".join(parts), known)
    if left is None or count_words(left) < MIN_WORDS:
        return None
    flags = (*flags, "masked") if left.count(MASK) > text.count(MASK) else flags
    return _finished(mode, re.sub(r"\n{3,}", "\n\n", left).strip(), flags)


def count_words(text: str) -> int:
    """Return how many words ``text`` has, masks not counted."""
    return len(_WORD.findall(text.replace(MASK, "")))


def with_interface(statement: StatementText, interface: Interface) -> StatementText:
    """Return ``statement`` followed by the block of ``interface``."""
    block = interface.block()
    if not block:
        return statement
    return replace(statement, text=f"{statement.text}\n{block}", flags=(*statement.flags, "interface"))


def _finished(
    mode: Literal["issue", "change", "failure", "scaffold", "rewrite"], text: str, flags: tuple[str, ...] = ()
) -> StatementText:
    seen = {
        "repro": mode != "scaffold" and any(block.is_fence for block in blocks(text)),
        "traceback": "Traceback (most recent call last)" in text,
    }
    flags = (*dict.fromkeys(flags), *(flag for flag, found in seen.items() if found))
    return StatementText(mode, f"{text}\n", count_words(text), flags)


def _usable(enrichment: Enrichment | None, unit: Unit) -> list[LinkedIssue]:
    """Return the linked issues that say what was known before the fix, oldest first."""
    issues = enrichment.issues if enrichment is not None else ()
    before = [issue for issue in issues if _known_by(unit.date, issue)]
    # Without one of them the others may not tell the whole problem.
    return sorted(before, key=lambda issue: (issue.created, issue.number)) if len(before) == len(issues) else []


def _known_by(day: datetime, issue: LinkedIssue) -> bool:
    # A body from after the fix is never handed on; an empty one that was edited afterwards is one that got lost.
    return issue.created <= day and (issue.edited is None or issue.edited <= day or bool(issue.body.strip()))


def _from_issues(issues: list[LinkedIssue], known: FixVocabulary, repository: str) -> StatementText | None:
    texts = [scrub_text(issue.title, issue.body, repository) for issue in issues[:_MAX_ISSUES]]
    texts = [text for text in texts if text]
    if not texts or len(texts) != len(issues):
        return None
    if len(texts) == 1:
        return checked("issue", texts[0], known)
    text = "\n\n".join(f"# {text}" for text in texts)
    return checked("issue", text, known, ("several_issues",)) if len(text) <= MAX_CHARACTERS else None


def _scaffold(
    failures: str, cut: Cut, outcomes: TestOutcomes, known: FixVocabulary, problem: str
) -> StatementText | None:
    """Return the failures with the source of about half of the failing tests' functions."""
    tests = list(python_tests(cut, outcomes.fail_to_pass).items())
    random.Random(sha256(problem.encode("utf-8"))).shuffle(tests)  # noqa: S311 (a choice to repeat, not a secret)
    shown: list[tuple[TestSource, tuple[str, ...]]] = []
    left = _MAX_SHOWN
    for source, ids in tests:
        if len(shown) < len(tests) // 2 and len(source.text) <= left and not quotes(source.text, known):
            shown.append((source, ids))
            left -= len(source.text)
    if not shown:
        return None
    shown.sort(key=lambda entry: (entry[0].path, entry[0].node.lineno))
    count = sum(len(ids) for _, ids in shown)
    lines = [
        failures.rstrip("\n"),
        "",
        f"{count} of the {len(outcomes.fail_to_pass)} tests that fail are shown here; the others stay hidden:",
    ]
    for source, ids in shown:
        fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", source.text)), default=0))
        named = ", ".join(title_of(test) for test in ids[:5]) + (", …" if len(ids) > 5 else "")
        lines += ["", f"`{source.name}` in `{source.path}` ({named}):", "", f"{fence}python", source.text, fence]
    text = "\n".join(lines)
    return None if quotes(text, known) else _finished("scaffold", text)
