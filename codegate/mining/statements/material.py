"""What a repository's own texts tell about a bug: changelogs, documentation, messages, docstrings, issues."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from codegate.languages.syntax import IDENTIFIER, decode, parse_python
from codegate.mining.cut import Cut
from codegate.mining.kinds.words import CHANGELOG
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.statements.scrub import scrub_text
from codegate.mining.statements.sentences import Sentence, sentences
from codegate.mining.statements.testsource import python_tests
from codegate.suite import Tree, TreeFile

TODAY: Final = "documentation of today"
DOCUMENTATION: Final = frozenset({"documentation", TODAY})
_DESCRIBING: Final = DOCUMENTATION | {"issue", "test"}
"""Sources of sentences about the program; those of others without a symptom or a demand are about the change."""
_MAX_BYTES: Final = 1 << 20
_MAX_ENTRIES: Final = 12
_BULLET: Final = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}\.)\s+(.*)")
_DOCUMENT: Final = re.compile(r"\.(?:rst|md|txt|adoc)$", re.IGNORECASE)
_FENCE: Final = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)\s*$", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^\s*(?::\w+[^:\n]{0,80}:|\.\. \w+::[^\n]*|[>$] |>>> |\.\.\. )", re.MULTILINE)
_CODE_LIKE: Final = re.compile(r"[^_]_[^_]|[a-z][A-Z]")
_HEADING: Final = re.compile(r"^\s*(?:#{1,6} .*|[=~^\"'-]{3,}\s*)$", re.MULTILINE)


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
            found += (each for each in sentences(paragraph, source) if each.slot != "context" or source in _DESCRIBING)
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
            yield _FENCE.sub("", issue.body), "issue"
    yield from ((entry, "changelog") for entry in _added_entries(unit, cut))
    yield from ((entry, "later changelog") for entry in later)
    if enrichment is not None and enrichment.body.strip():
        yield _FENCE.sub("", enrichment.body), "pull request"
    yield enrichment.title if enrichment is not None and enrichment.title.strip() else unit.title, "title"
    body = unit.message.partition("\n")[2]
    yield (
        "\n\n".join(line.removeprefix("* ") if line.startswith("* ") else line for line in body.split("\n\n")),
        "commit",
    )
    yield from ((text, "documentation") for text in _documentation(unit, cut))
    for source in python_tests(cut, outcomes.fail_to_pass):
        docstring = ast.get_docstring(source.node)
        if docstring:
            yield docstring, "test"
    yield from ((text, TODAY) for text in _promises(cut))


def _added_entries(unit: Unit, cut: Cut) -> list[str]:
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


def _documentation(unit: Unit, cut: Cut) -> Iterator[str]:
    """Yield the paragraphs that the change adds to documentation and docstrings."""
    for change in unit.changes:
        file, old = cut.fixed.get(change.path), cut.base.get(change.path)
        if file is None or len(file.data) > _MAX_BYTES or CHANGELOG.search(change.path):
            continue
        if _DOCUMENT.search(change.path):
            yield from _new_paragraphs(decode(file.data), decode(old.data) if old is not None else "")
    for path, file in cut.fix.items():
        if file is not None and path.endswith(".py"):
            before = "\n\n".join(_docstrings(cut.base.get(path)).values())
            for text in _docstrings(file).values():
                yield from _new_paragraphs(text, before)


def _promises(cut: Cut) -> Iterator[str]:
    """Yield the first paragraphs of the docstrings, before the fix, of the functions that it changes."""
    for path, file in cut.fix.items():
        if file is None or not path.endswith(".py"):
            continue
        old, new = _functions(cut.base.get(path)), _functions(file)
        texts = _docstrings(cut.base.get(path))
        changed = [name for name, code in old.items() if new.get(name, code) != code and name in texts]
        for name in islice(changed, 2):
            yield _FIELD.split(texts[name])[0]


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


def _new_paragraphs(text: str, before: str) -> Iterator[str]:
    known = {_key(part) for part in re.split(r"\n\s*\n", before)}
    old = _key(before)
    for part in re.split(r"\n\s*\n", _FENCE.sub("", text)):
        lines = "\n".join(_HEADING.sub("", part).splitlines()[:20])
        if part.strip() and _key(part) not in known and not lines.startswith(("    ", "\t", ">>>", ".. ")):
            prose = _FIELD.sub("", lines)
            if _key(prose) and _key(prose) not in old:
                yield prose


def _docstrings(file: TreeFile | None) -> Mapping[str, str]:
    return {name: text for name, node in _nodes(file) if (text := ast.get_docstring(node))}


def _functions(file: TreeFile | None) -> Mapping[str, str]:
    return {name: ast.dump(node) for name, node in _nodes(file) if not isinstance(node, ast.ClassDef)}


def _nodes(file: TreeFile | None) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    tree = parse_python(file.data) if file is not None else None
    stack: list[tuple[str, ast.AST]] = [("", tree)] if tree is not None else []
    while stack:
        prefix, parent = stack.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield f"{prefix}{node.name}", node
                stack.append((f"{prefix}{node.name}.", node))
