"""Finds the examples of a problem, in whatever language it is, and runs them beside its tests."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Final

from codegate.grading import TestReport
from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.probes.example import Found
from codegate.mining.probes.line_example import line_examples, test_dialect
from codegate.mining.probes.python_example import python_examples
from codegate.mining.probes.python_shown import shown_module
from codegate.mining.probes.records import records
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.suite import Changes, TreeFile

_NUMBER: Final = re.compile(r"codegate[ _]?(?:shown_|probe ?)(\d+)", re.IGNORECASE)


def find_examples(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, public: str, seed: str) -> list[Found]:
    """Return examples of what the fix changes, the clearest first.

    The probes run on base and fix; those that differ run once more on both, and must give the same again.

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
    return sorted(found, key=lambda each: each.rank)


def beside_tests(cut: Cut, found: Sequence[Found]) -> Changes:
    """Return the test files of examples, with these as further tests that record their values."""
    files: dict[str, TreeFile] = {}
    for path in dict.fromkeys(each.path for each in found):
        file, own = cut.hidden[path], {number: each for number, each in enumerate(found) if each.path == path}
        source, dialect = decode(file.data) if file is not None else "", test_dialect(path)
        if dialect is None:
            texts = {path: f"{source}\n{shown_module({number: each.example for number, each in own.items()})}"}
        else:
            lines = {str(number): each.line for number, each in own.items() if each.line is not None}
            texts = dialect.files(path, source, lines, beside=True)
        files |= {name: TreeFile(text.encode("utf-8", "replace")) for name, text in texts.items()}
    return files


def differing(found: Sequence[Found], report: TestReport) -> frozenset[int]:
    """Return the numbers of the examples that gave other values in a run than after the fix, or none."""
    seen: dict[int, list[str]] = {}
    for test, result in report.results.items():
        match = _NUMBER.search(test)
        if match is not None:
            seen.setdefault(int(match[1]), []).extend(value for _, _, value in records(result.message) or ())
    return frozenset(
        number for number, each in enumerate(found) if tuple(seen.get(number, ()))[: len(each.values)] != each.values
    )
