"""Collect issues, changelogs and messages about a change."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import MergedChange
from codegate.mining.statements.prose import without_references
from codegate.suite import Tree
from codegate.suite.declared import nested_strings, read_plain_yaml

_CHANGELOG: Final = re.compile(
    r"(?:^|/)(?:changelog|changes|change_log|news|history|releases?|release[-_]?notes|whatsnew|newsfragments)"
    r"(?:\.\w{1,4})?(?:/.*)?$|(?:^|/)(?:changelog\.d|\.changeset|\.changes)/",
    re.IGNORECASE,
)
_MAX_BYTES: Final = 1 << 20
_MAX_ENTRIES: Final = 12
_YAML: Final = (".yaml", ".yml")
_BULLET: Final = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}\.)\s+(.*)")


def entries_naming(tip: Tree, numbers: Iterable[int]) -> list[str]:
    """Return changelog entries of ``tip`` that name one of ``numbers``."""
    wanted = [str(number) for number in numbers]
    if not wanted:
        return []
    pattern = re.compile(rf"(?:#|issues?[:/ ]+`?|pr:`|pull/)(?:{'|'.join(wanted)})\b", re.IGNORECASE)
    found = []
    for path, file in tip.items():
        if _CHANGELOG.search(path) and not file.is_link and len(file.data) <= _MAX_BYTES:
            found += [entry for entry in _entries(decode(file.data)) if pattern.search(entry)]
    return found[:_MAX_ENTRIES]


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", without_references(text).lower()))


def titles_of(unit: MergedChange, enrichment: Enrichment | None) -> Iterator[tuple[str, str]]:
    """Yield a change's titles, best first, with their sources.

    A source is ``issue``, ``pull request`` or ``commit``.
    """
    if enrichment is not None:
        yield from ((issue.title, "issue") for issue in enrichment.issues if issue.created <= unit.date)
        yield enrichment.title, "pull request"
    yield unit.title, "commit"


def texts_about(
    unit: MergedChange, cut: Cut, enrichment: Enrichment | None, later: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield texts about a change, best first, with their sources.

    ``later`` are entries of later changelogs.
    """
    if enrichment is not None:
        yield from ((issue.body, "issue") for issue in enrichment.issues if issue.created <= unit.date)
    yield from ((entry, "changelog") for entry in (*_added_entries(unit, cut), *later))
    if enrichment is not None:
        yield enrichment.body, "pull request"
    yield unit.message.partition("\n")[2], "commit"


def _added_entries(unit: MergedChange, cut: Cut) -> list[str]:
    """Return the changelog entries that the change adds.

    If some entries name the change's pull request or issues, only these are returned.
    """
    found: list[str] = []
    for change in unit.changes:
        file, old = cut.fixed.get(change.path), cut.base.get(change.path)
        if file is None or change.path in cut.fix or not _CHANGELOG.search(change.path) or len(file.data) > _MAX_BYTES:
            continue
        before = _changelog_entries(cut.base, change.path) if old is not None else []
        new = _changelog_entries(cut.fixed, change.path)
        if old is None and not change.path.endswith(_YAML) and not _BULLET.search(text := decode(file.data)):
            new = [text]
        found += _others(new, before)
    numbers = {str(number) for number in (unit.pull_request, *unit.closes) if number}
    own = [entry for entry in found if numbers & set(re.findall(r"\d+", entry))]
    return (own or found if len(own or found) <= _MAX_ENTRIES else [])[:_MAX_ENTRIES]


def _others(entries: Iterable[str], known: Iterable[str]) -> list[str]:
    keys = set(map(_key, known))
    return [entry for entry in entries if _key(entry) not in keys]


def _changelog_entries(tree: Tree, path: str) -> list[str]:
    return (
        list(nested_strings(read_plain_yaml(tree, path))) if path.endswith(_YAML) else _entries(decode(tree[path].data))
    )


def _entries(text: str) -> list[str]:
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
