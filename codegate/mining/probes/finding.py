"""Finds the examples of a problem, in whatever language it is, and runs them beside its tests."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from codegate.grading import TestReport
from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.probes.example import Found, Probing
from codegate.mining.probes.line_example import line_examples, test_dialect
from codegate.mining.probes.python_example import python_examples
from codegate.mining.probes.python_shown import shown_module
from codegate.mining.probes.records import Record, records
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.suite import Changes, TreeFile

_MOST: Final = 20
_TIMES: Final = 10
_SEED: Final = 7
_NUMBER: Final = re.compile(r"codegate[ _]?(?:shown_|probe ?)(\d+)", re.IGNORECASE)


def find_examples(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, public: str, seed: str) -> list[Found]:
    """Return examples of what the fix changes, the clearest first.

    The probes run on base and fix; those that differ run again on both, ten times, and must always give the same.

    Args:
        cut: the problem's parts.
        validated: how its tests are run, and which of them the fix makes pass.
        open_sandbox: gives empty sandboxes of its environment.
        public: the base's text: its literals are not hidden.
        seed: what the drawn literals follow from.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    languages = (python_examples, line_examples)
    found = chain.from_iterable(language(cut, validated, open_sandbox, public, seed) for language in languages)
    return _steady(cut, validated, open_sandbox, sorted(found, key=lambda each: each.rank)[:_MOST])


def _steady(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, found: Sequence[Found]) -> list[Found]:
    """Return the examples that give the same ten times in both states; the order of a map in Go is one of few."""
    copies = [each for each in found for _ in range(_TIMES)]
    files = {path: decode(file.data) for path, file in with_examples(cut, copies, beside=False).items() if file}
    runs = Probing(cut, validated, open_sandbox, files, tuple(dict.fromkeys(each.path for each in found)))
    alone = tuple(
        f"{each.path}::{dialect.named(str(number))}"
        for number, each in enumerate(copies)
        if (dialect := test_dialect(each.path)) is not None
    )
    unsteady: set[int] = set()
    for state in ("before", "after") if found else ():
        seen = _values(runs.run(state, alone, hash_seed=_SEED))
        for number, each in enumerate(copies):
            values = each.before if state == "before" else each.values
            if seen.get(number, ())[: len(values)] != values:
                unsteady.add(number // _TIMES)
    return [each for number, each in enumerate(found) if number not in unsteady]


def with_examples(cut: Cut, found: Sequence[Found], *, beside: bool) -> Changes:
    """Return the test files of examples, with these as tests that record their values; ``beside`` the file's own."""
    files: dict[str, TreeFile] = {}
    for path in dict.fromkeys(each.path for each in found):
        file, own = cut.hidden[path], {number: each for number, each in enumerate(found) if each.path == path}
        source, dialect = decode(file.data) if file is not None else "", test_dialect(path)
        if dialect is None:
            shown = shown_module({number: each.example for number, each in own.items()})
            texts = {path: f"{source}\n{shown}" if beside else shown}
        else:
            lines = {str(number): each.line for number, each in own.items() if each.line is not None}
            texts = dialect.files(path, source, lines, beside=beside)
        files |= {name: TreeFile(text.encode("utf-8", "replace")) for name, text in texts.items()}
    return files


def differing(found: Sequence[Found], report: TestReport) -> frozenset[int]:
    """Return the numbers of the examples that gave other values in a run than after the fix, or none."""
    seen = _values({test: records(result.message) or [] for test, result in report.results.items()})
    return frozenset(
        number for number, each in enumerate(found) if seen.get(number, ())[: len(each.values)] != each.values
    )


def _values(shown: Mapping[str, Iterable[Record]]) -> dict[int, tuple[str, ...]]:
    """Return what each example gave, by its number."""
    found: dict[int, tuple[str, ...]] = {}
    for test, kept in shown.items():
        match = _NUMBER.search(test)
        if match is not None:
            found[int(match[1])] = found.get(int(match[1]), ()) + tuple(value for _, _, value in kept)
    return found
