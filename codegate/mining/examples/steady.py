"""Run found examples again, to see that values are stable.

An example that is shown ran ten times before and after the fix, each time in its own process, and always gave the same
values.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from codegate.grading import TestReport
from codegate.languages.lines import Value, dialect_of
from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.examples.example import Example, FoundExample, ProbeRunner, probe_records
from codegate.mining.examples.search import fixed_source, values_by_probe
from codegate.mining.proving.validation import ValidatedChange
from codegate.suite import Changes, TreeFile

#: The names that an import statement takes from a module: after ``from x import``, or in braces.
_LISTED: Final = re.compile(r"^(from \S+) import .*|\{[^{}]*\}", re.DOTALL)
_TIMES: Final = 10


def steady_examples(cut: Cut, validated: ValidatedChange, found: Sequence[FoundExample]) -> list[FoundExample]:
    """Return examples that give the same values ten times."""
    groups: dict[object, list[FoundExample]] = {}
    for each in found:
        groups.setdefault((each.path, _surroundings(cut, each)), []).append(each)
    steady = [each for group in groups.values() for each in _steady(cut, validated, group)]
    return [each for each in found if each in steady]


def _surroundings(cut: Cut, found: FoundExample) -> tuple[str, ...]:
    """Return the definitions and modules that an example needs."""
    dialect = dialect_of(found.path)
    needed = dialect.surroundings(fixed_source(cut, found.path, dialect), found.line) if dialect is not None else None
    return tuple(_LISTED.sub(r"\1", part, count=1) for part in needed or ())


def _steady(cut: Cut, validated: ValidatedChange, found: Sequence[FoundExample]) -> list[FoundExample]:
    copies = [each for each in found for _ in range(_TIMES)]
    files = {path: decode(file.data) for path, file in files_with_examples(cut, copies, beside=False).items() if file}
    runs = ProbeRunner(cut, validated, files, tuple(dict.fromkeys(each.path for each in found)), alone=True)
    isolated = tuple(
        f"{each.path}::{dialect.probe_name(str(number), each.line)}"
        for number, each in enumerate(copies)
        if (dialect := dialect_of(each.path)) is not None
    )
    unsteady: set[int] = set()
    for state in ("before", "after"):
        seen = values_by_probe(runs.run(state, isolated, later=True))
        for number, each in enumerate(copies):
            values = each.before if state == "before" else each.values
            if _texts_of(seen.get(number, [])[: len(values)]) != values:
                unsteady.add(number // _TIMES)
    return [each for number, each in enumerate(found) if number not in unsteady]


def files_with_examples(cut: Cut, found: Sequence[FoundExample], *, beside: bool) -> Changes:
    """Return test files that run the examples as probes.

    The probes run alone, or ``beside`` the files' own tests.
    """
    files: dict[str, TreeFile] = {}
    for path in dict.fromkeys(each.path for each in found):
        file, dialect = cut.hidden[path], dialect_of(path)
        if file is None or dialect is None:
            continue
        lines = {str(number): each.line for number, each in enumerate(found) if each.path == path}
        source, base = fixed_source(cut, path, dialect), dialect.source(path, cut.base)
        own = (
            dialect.files(path, source, lines, beside=True)
            if beside
            else dialect.files_with_only(path, source, base, lines)
        )
        files |= {name: TreeFile(text.encode("utf-8", "replace")) for name, text in own.items()}
    return files


def changed_examples(found: Sequence[FoundExample], report: TestReport) -> frozenset[Example]:
    """Return examples that give other values than with the fix.

    ``report`` is of a run of the files of ``files_with_examples``.
    """
    seen = values_by_probe({test: probe_records(result.message) or [] for test, result in report.results.items()})
    return frozenset(
        each.example
        for number, each in enumerate(found)
        if _texts_of(seen.get(number, [])[: len(each.values)]) != each.values
    )


def _texts_of(seen: Iterable[tuple[int, Value]]) -> tuple[str, ...]:
    return tuple(text for _, (_, text) in seen)
