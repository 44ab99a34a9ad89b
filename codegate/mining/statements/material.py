"""What a repository's own texts tell about a bug: changelogs, messages, issues, docstrings of tests."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from codegate.languages.syntax import IDENTIFIER, decode
from codegate.mining.cut import Cut
from codegate.mining.kinds.words import CHANGELOG
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.statements.scrub import scrub_text
from codegate.mining.statements.sentences import Sentence, sentences
from codegate.mining.statements.testsource import python_tests
from codegate.suite import Tree

_MAX_BYTES: Final = 1 << 20
_MAX_ENTRIES: Final = 12
_BULLET: Final = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}\.)\s+(.*)")
_DOCUMENT: Final = re.compile(r"\.(?:rst|md|txt|adoc)$", re.IGNORECASE)
_CODE_LIKE: Final = re.compile(r"[^_]_[^_]|[a-z][A-Z]")


def collect(
    unit: Unit, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None, later: Iterable[str]
) -> list[Sentence]:
    """Return the sentences of all sources that describe a state of the program, the best source first.

    Args:
        unit: the change.
        cut: its parts.
        outcomes: what its tests showed.
        enrichment: what the forge knows of the change.
        later: entries of later changelogs that name the change or its issue.
    """
    found: list[Sentence] = []
    for text, source in _texts(unit, cut, outcomes, enrichment, later):
        for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*+•] )", scrub_text("", text)):
            # What tells neither a symptom nor a demand is about the change in all texts but an issue's.
            found += (each for each in sentences(paragraph, source) if each.slot != "context" or source == "issue")
    return list({_key(each.text): each for each in reversed(found)}.values())[::-1]


def entries_of(tip: Tree, numbers: Iterable[int]) -> list[str]:
    """Return the entries of changelogs in ``tip`` that name one of the pull requests or issues ``numbers``."""
    wanted = [str(number) for number in numbers]
    if not wanted:
        return []
    pattern = re.compile(rf"(?:#|issues?[:/ ]+`?|pr:`|pull/)(?:{'|'.join(wanted)})\b", re.IGNORECASE)
    found = []
    for path, file in tip.items():
        if CHANGELOG.search(path) and not file.is_link and len(file.data) <= _MAX_BYTES:
            found += [entry for entry in _entries(decode(file.data)) if pattern.search(entry)]
    return found[:_MAX_ENTRIES]


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _texts(
    unit: Unit, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None, later: Iterable[str]
) -> Iterator[tuple[str, str]]:
    for issue in enrichment.issues if enrichment is not None else ():
        if issue.created <= unit.date:
            yield issue.body, "issue"
    yield from ((entry, "changelog") for entry in added_entries(unit, cut))
    yield from ((entry, "later changelog") for entry in later)
    if enrichment is not None and enrichment.body.strip():
        yield enrichment.body, "pull request"
    yield enrichment.title if enrichment is not None and enrichment.title.strip() else unit.title, "title"
    yield unit.message.partition("\n")[2], "commit"
    for node in python_tests(cut, outcomes.fail_to_pass):
        docstring = ast.get_docstring(node)
        if docstring:
            yield docstring, "test"


def added_entries(unit: Unit, cut: Cut) -> list[str]:
    """Return the changelog entries that the change adds: those that name it, or all."""
    found: list[str] = []
    for change in unit.changes:
        file, old = cut.fixed.get(change.path), cut.base.get(change.path)
        if file is None or change.path in cut.fix or not CHANGELOG.search(change.path) or len(file.data) > _MAX_BYTES:
            continue
        before = {_key(entry) for entry in _entries(decode(old.data))} if old is not None else set()
        text = decode(file.data)
        new = _entries(text) if old is not None or _BULLET.search(text) else [text]
        found += [entry for entry in new if _key(entry) not in before]
    numbers = {str(number) for number in (unit.pull_request, *unit.closes) if number}
    own = [entry for entry in found if numbers & set(re.findall(r"\d+", entry))]
    return (own or found if len(own or found) <= _MAX_ENTRIES else [])[:_MAX_ENTRIES]


def _entries(text: str) -> list[str]:
    """Return the list items of a changelog, each with the lines that continue it."""
    found: list[list[str]] = []
    indent = -1
    for line in text.splitlines():
        match = _BULLET.match(line)
        if match is not None:
            indent = len(match[1])
            found.append([match[2]])
        elif found and line.strip() and len(line) - len(line.lstrip()) > indent >= 0:
            found[-1].append(line.strip())
        elif line.strip():
            indent = -1
    return [" ".join(lines) for lines in found]


def internal_names(cut: Cut) -> frozenset[str]:
    """Return names of code in the lines that the fix changes and that no hidden test and no documentation mentions."""
    changed: set[str] = set()
    for path, file in cut.fix.items():
        new = decode(file.data).splitlines() if file is not None else []
        old = decode(cut.base[path].data).splitlines() if path in cut.base else []
        for line in set(new) ^ set(old):
            changed.update(name for name in IDENTIFIER.findall(line) if _CODE_LIKE.search(name))
    public = [file for file in cut.hidden.values() if file is not None]
    public += [file for path, file in cut.base.items() if _DOCUMENT.search(path) and len(file.data) <= _MAX_BYTES]
    for file in public:
        changed -= set(IDENTIFIER.findall(decode(file.data)))
    return frozenset(changed)
