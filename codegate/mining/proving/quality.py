"""Measure how much of a fix its problem's tests check.

Each partial fix (see ``parts``) runs with the fail-to-pass tests and the examples. If no test notices the missing part,
wrong answers pass. If a test notices it but every example still gives the expected value, the test demands something
that the statement does not show.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from codegate.mining.cut import Cut
from codegate.mining.examples.example import (
    MAX_EXAMPLES,
    Example,
    FoundExample,
    add_other_rules,
    choose_examples,
    function_of,
)
from codegate.mining.examples.steady import changed_examples, files_with_examples
from codegate.mining.proving.outcomes import BROKEN, status_in
from codegate.mining.proving.parts import partial_fixes
from codegate.mining.proving.validation import ValidatedChange
from codegate.mining.statements.leak_rules import longest_words
from codegate.suite import Changes, Quality

MAX_UNSHOWN: Final = 3
"""Most partial fixes that run if there are no examples."""
MAX_CHANGES: Final = 8
"""Most partial fixes that run if there are examples. Tests of a large fix may demand more than examples show."""
MAX_STATEMENTS: Final = 4
"""If fewer partial fixes lack a whole change, further ones lack one statement each, up to this number in all."""
#: Exceptions for a name that is not defined.
_UNNAMED: Final = frozenset({"NameError", "UnboundLocalError", "ReferenceError"})


@dataclass(frozen=True)
class PartialRun:
    """The tests and examples that fail with one partial fix.

    Attributes:
        tests: fail-to-pass tests that fail.
        examples: examples that give another value than with the whole fix, or no value.
    """

    changes: Changes
    tests: frozenset[str]
    examples: frozenset[Example]


def run_partial_fixes(cut: Cut, validated: ValidatedChange, found: Sequence[FoundExample]) -> list[PartialRun]:
    """Return, per partial fix, the tests and examples that fail."""
    tests = validated.outcomes.fail_to_pass
    files = tuple(file for file in validated.selection.files if any(test.startswith(f"{file}::") for test in tests))
    tree = cut.base.overlay(cut.hidden).overlay(files_with_examples(cut, found, beside=True))
    most = (MAX_CHANGES, MAX_STATEMENTS) if found else (MAX_UNSHOWN, 0)
    runs: list[PartialRun] = []
    for changes in partial_fixes(cut.base, cut.fix, *most):
        report = validated.run(tree.overlay(changes), files or None)
        failed = frozenset(test for test in tests if status_in(report, test) not in {"passed", "unreached"})
        # No developer would leave an undefined name, or break a test that passes today.
        broken = any((report.results[test].exception or "") in _UNNAMED for test in failed if test in report.results)
        broken = broken or any(status_in(report, test) in BROKEN for test in validated.outcomes.pass_to_pass)
        missed = frozenset(each.example for each in found) if broken else changed_examples(found, report)
        runs.append(PartialRun(changes, failed, missed))
    return runs


def examples_to_show(
    found: Sequence[FoundExample],
    runs: Sequence[PartialRun],
    steady: Callable[[Sequence[FoundExample]], Sequence[FoundExample]],
) -> tuple[list[Example], list[PartialRun]]:
    """Return the examples to show, and unexplained partial runs.

    The examples of ``choose_examples`` come first. Then come examples that fail with a partial fix with which no
    earlier example fails, then examples with a new ``rule``. In an unexplained run a test fails, but no shown example
    does. ``steady`` gets examples and returns those that always give the same values.
    """
    while True:
        examples, left = _noticing(found, choose_examples(found), runs)
        examples = add_other_rules(found, examples)
        names = {replace(each, tests=()) for each in examples}
        shown = [each for each in found if each.example in names]
        kept = steady(shown)
        if len(kept) == len(shown):
            return examples, [run for run in left if not run.examples & names]
        found = [each for each in found if each in kept or each not in shown]


def _noticing(
    found: Sequence[FoundExample], examples: list[Example], runs: Sequence[PartialRun]
) -> tuple[list[Example], list[PartialRun]]:
    left = [run for run in runs if run.tests]
    while True:
        shown = {replace(each, tests=()) for each in examples}
        left = [run for run in left if not run.examples & shown]
        best = max(found, key=lambda each: sum(each.example in run.examples for run in left), default=None)
        if best is None or len(examples) >= MAX_EXAMPLES or not any(best.example in run.examples for run in left):
            return examples, left
        examples.append(replace(best.example, tests=(best.test,)))


def undisclosed_tests(
    cut: Cut, validated: ValidatedChange, left: Sequence[PartialRun], overturned: Collection[str]
) -> frozenset[str]:
    """Return tests that demand more than the statement shows.

    They fail in the runs ``left``, in which no shown example fails. A run does not count if a test of the base fails
    with the same partial fix, because a statement need not show what works already. Tests of the base that are in
    ``overturned`` are ignored.
    """
    found: frozenset[str] = frozenset()
    graded = (*validated.outcomes.fail_to_pass, *validated.outcomes.pass_to_pass)
    replaced = set(map(function_of, overturned))
    known = [test for test in graded if function_of(test) not in replaced]
    for run in left:
        own = {test.partition("::")[0] for test in run.tests}
        files = tuple(path for path in cut.test_files if path in cut.base and path in own)
        report = validated.run(cut.base.overlay(run.changes), files) if files else None
        if report is None or not any(status_in(report, test) in BROKEN for test in known):
            found |= run.tests
    return found


def required_texts(cut: Cut, validated: ValidatedChange, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the ``texts`` whose exact words the hidden tests require.

    A text is required if fail-to-pass tests fail with the fix once the text is altered in the hidden files. Texts that
    tests only pass to functions are not required. A text that cannot be tried counts as required: no hidden file has
    it, or ``MAX_CHANGES`` others were tried.
    """
    fixed, found = cut.base.overlay(cut.fix), list[str]()
    outcomes = validated.outcomes
    tests = outcomes.fail_to_pass
    known = {*tests, *outcomes.pass_to_pass, *outcomes.pass_to_fail, *(each.id for each in outcomes.quarantined)}
    for number, text in enumerate(texts):
        old = longest_words(text).strip().encode()
        changed = {
            path: replace(file, data=file.data.replace(old, old + b"x"))
            for path, file in cut.hidden.items()
            if file is not None and old in file.data
        }
        if not changed or number >= MAX_CHANGES:
            found.append(text)
            continue
        report = validated.run(fixed.overlay({**cut.hidden, **changed}))
        states = {status_in(report, test) for test in tests}
        # If a text is only the title of a test or row, the test passes under another id.
        renamed = {result.status for test, result in report.results.items() if test not in known}
        if states - {"passed", "missing"} or ("missing" in states and (not renamed or renamed & BROKEN)):
            found.append(text)
    return tuple(found)


def has_example_of(tests: Collection[str], examples: Collection[Example]) -> bool:
    """Return whether an example illustrates one of ``tests``."""
    shown = {function_of(test) for example in examples for test in example.tests}
    return any(function_of(test) in shown for test in tests)


def measure_quality(
    validated: ValidatedChange,
    runs: Sequence[PartialRun],
    exact_texts: int | None,
    statement_words: int | None,
) -> Quality:
    """Return the figures on a problem's quality.

    ``exact_texts`` is the number of texts that a right answer has to give word for word; None: unknown. Without
    ``runs``, the fix counts as one part that tests notice, because the fail-to-pass tests fail without it.
    """
    graded = frozenset(validated.outcomes.fail_to_pass)
    noticed = [bool(run.tests & graded) for run in runs] or [True]
    return Quality(
        hunk_coverage=round(sum(noticed) / len(noticed), 4),
        hunks=len(noticed),
        exact_texts=exact_texts,
        command_clean=validated.command_clean,
        statement_words=statement_words,
        validation_seconds=round(validated.seconds, 3),
    )
