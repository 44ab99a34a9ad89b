"""Examples: a call's results before the fix and after.

Both results come from execution. The call is not a hidden test's own: it has other values, so that a solution that
knows only this one call does not pass the tests.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, TypeVar

from codegate.languages.lines import MARK, Line, Value, dialect_of
from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.examples.literals import hidden_literal_in
from codegate.mining.proving.validation import ValidatedChange
from codegate.suite import Tree, TreeFile

Item = TypeVar("Item")
Record = tuple[int, str, str]
"""What a probe recorded: the place of an expression in its line, the kind of value, and its text."""

MAX_LINES: Final = 40
"""Most lines of an example's code; the definitions that it needs may add half as many."""

MAX_SHOWN: Final = 300
"""Most characters of a value that a reader sees."""

MAX_EXAMPLES: Final = 4
"""Most examples in one statement: one of each of three tests, and a second one of any of them."""

_LONGER: Final = 3
_MAX_FIRST: Final = 3
_MAX_TRIED: Final = 12
_MAX_CODE: Final = 1600
_MAX_PUBLIC: Final = 16 << 20
#: Parts of a value that differ between machines or runs, such as addresses and temporary paths.
UNSTABLE: Final = re.compile(r"0x[0-9a-fA-F]{5,}|/tmp/|/workspace|codegate|pytest-of-")
NO_ERROR: Final = "no error"
"""Stands for a value before the fix that differs between runs, if the fix raises an error."""
#: Parts that are removed from values: colours of a terminal, addresses, and names of probes' functions.
_OWN: Final = re.compile(r"\x1b\[[\d;]*m| at 0x[0-9a-fA-F]{4,}|\b(?:TestCodegate\w*\.)?test_codegate_\w+\.<locals>\.")
#: Calls whose value depends on time or chance.
_CLOCK: Final = re.compile(r"\b(?:now|today|utcnow|time\.time|monotonic|perf_counter|urandom|uuid\d|random\.\w+)\(")
#: Go's access to a private field, whose value is no public behaviour.
_INSIDE: Final = re.compile(r'FieldByName\("[a-z_]')
#: Separators between the names in a test's id.
_TITLES: Final = re.compile(r"::| > ")
POOR: Final = re.compile(r"True|False|None|true|false|null|undefined|no panic|no error|<nil>|<class .*>|type\(.*\)")
#: Expressions that count values, and so do not show them.
_COUNTS: Final = re.compile(r"len\(.*\)|.*\.(?:count\(.*\)|length|(?:size|length|len)\(\))")
_ERROR: Final = re.compile("raises |throws |panics:")
_DIGITS: Final = re.compile(r"\d+")
#: A number, or a text in quotes.
_QUOTED: Final = re.compile(r"\d+|([\"'`])(?:\\.|(?!\1).)*\1")


@dataclass(frozen=True)
class Example:
    """One call and its results before and after the fix.

    Attributes:
        code: imports and statements before the call.
        expression: the expression whose value is shown; empty if ``code`` itself raises.
        observed: the value before the fix as its language writes it, or ``raises Error: message``.
        expected: the value after the fix, likewise.
        raising: the statement that raises before the fix, if it is not the last one.
        given: names that the test framework provides, each with a description; a test case class that the code does not
            mention has the name "".
        fence: language of its Markdown code block.
        tests: failing tests that it illustrates, as ``function_of`` names them: the one it was made of, and others
            whose examples have the same shape.
    """

    code: str
    expression: str
    observed: str
    expected: str
    raising: str = ""
    given: tuple[tuple[str, str], ...] = ()
    fence: str = "python"
    tests: tuple[str, ...] = ()

    def may_be_shown(self, hidden: Collection[str]) -> bool:
        """Return whether a statement may show the example.

        It must be short, deterministic and without ``hidden`` literals. Only ``observed`` may have some, because anyone
        who runs the base sees it.
        """
        texts = (self.observed, self.expected)
        stable = self.observed[:MAX_SHOWN] != self.expected[:MAX_SHOWN] and not any(map(UNSTABLE.search, texts))
        stable = stable and not any(each.search(f"{self.code}\n{self.expression}") for each in (_CLOCK, _INSIDE))
        short = len(self.code) <= _MAX_CODE and len(self.code.splitlines()) <= MAX_LINES + MAX_LINES // 2
        written = re.sub(r"\\(.)", r"\1", self.expected)  # a hidden literal may have the text without escapes
        return (
            stable
            and short
            and not hidden_literal_in("\n".join((self.code, self.expression, self.expected, written)), hidden)
        )

    @property
    def poor(self) -> bool:
        """Return whether the result says little, such as a count."""
        counted = _COUNTS.fullmatch(self.expression) and not self.crashes
        return bool(counted) or any(POOR.fullmatch(text) for text in (self.expected, self.expression))

    @property
    def crashes(self) -> bool:
        """Return whether the code raises an error before the fix."""
        return _ERROR.match(self.observed) is not None

    @property
    def raises(self) -> bool:
        """Return whether the code raises an error after the fix."""
        return _ERROR.match(self.expected) is not None

    def echoes(self, names: Iterable[str]) -> bool:
        """Return whether the example only shows a new name.

        If so, ``observed`` mentions one of ``names`` as unknown, and ``expected`` is a word that ``code`` contains.
        """
        missed = any(f"'{name}'" in self.observed for name in names)
        return missed and self.expected in re.findall(r"[^\s()\[\]{},=]+", self.code)

    def rank(
        self, replaced: int, own: tuple[str, str], renamed: Mapping[str, str], renumbered: int = 0
    ) -> tuple[int, ...]:
        """Return a sort key; the clearest example has the smallest.

        ``replaced`` is the number of replaced literals. ``own`` are the values with the test's own literals, before and
        after the fix. ``renamed`` has the test's word or number by its replacement. ``renumbered`` is 2 if numbers
        inside of texts were replaced (they may belong to a version or a pattern), 1 if only other numbers were, else 0.
        """
        values = zip(own, (self.observed, self.expected), strict=True)
        other = not all(
            undo_replacements(value, renamed) == undo_replacements(shown, renamed) for value, shown in values
        )
        length = len(self.code) + len(self.observed) + len(self.expected)
        near = any(text.isalpha() and text[1:] == word[1:] for text, word in renamed.items())
        lost = max(0, len(changed_parts(*own)) - len(changed_parts(self.observed, self.expected)))
        return (
            len(self.given), int(self.poor), int(other), lost, int(near), len(self.code.splitlines()) // 6, renumbered,
            -replaced, length,
        )  # fmt: skip


def undo_replacements(value: str, renamed: Mapping[str, str]) -> str:
    """Return a value in lower case, with replaced words restored.

    ``renamed`` maps replacements to the test's own words. If any number was replaced, all numbers become 0.
    """
    text = value.lower()
    for other in sorted(renamed, key=len, reverse=True):
        text = text.replace(other, renamed[other]) if other.isalpha() else text
    return re.sub(r"\d+", "0", text) if any(other.isdigit() for other in renamed) else text


def changed_parts(observed: str, expected: str) -> list[tuple[str, str]]:
    """Return the differing parts of two values, before and after."""
    before, after = (re.findall(r"\w+|\W", text) for text in (observed, expected))
    found = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [("".join(before[a:b]), "".join(after[c:d])) for tag, a, b, c, d in found if tag != "equal"]


@dataclass(frozen=True)
class FoundExample:
    """An example found in one test, with facts for ranking.

    Attributes:
        test: the test function, as ``function_of`` names it.
        rank: sort key; the clearest example has the smallest.
        shape: the example's code without its literals.
        values: the values that its code records after the fix.
        before: the values that its code records before the fix.
        own: the values that the test's own literals give, before and after the fix.
    """

    test: str
    rank: tuple[int, ...]
    shape: str
    example: Example
    values: tuple[str, ...]
    before: tuple[str, ...]
    line: Line
    own: tuple[Value, Value]

    @property
    def path(self) -> str:
        """Return the path of the example's test file."""
        return self.test.partition("::")[0]

    @property
    def minimal(self) -> bool:
        """Return whether all code of the example is needed."""
        return not self.rank[0]

    @property
    def rule(self) -> tuple[str, frozenset[tuple[str, str]]]:
        """Return the expression and the values' differences, without literals.

        Examples with equal rules illustrate the same behaviour.
        """
        observed, expected = (_DIGITS.sub("0", text) for text in (self.example.observed, self.example.expected))
        parts = SequenceMatcher(None, observed, expected, autojunk=False).get_opcodes()
        differing = frozenset((observed[a:b], expected[c:d]) for tag, a, b, c, d in parts if tag != "equal")
        # Expressions that differ only in the number of their values are equal.
        return re.sub(r"(?:,\s*)+", ",", _QUOTED.sub("", self.example.expression)), differing


def spread_over_rows(
    found: Iterable[Item], rank: Callable[[Item], tuple[int, ...]], row: Callable[[Item], object]
) -> list[Item]:
    """Return the clearest examples of as many rows as possible.

    The clearest example of each row comes first, then the second clearest of each, at most ``_MAX_TRIED`` in all.
    ``rank`` returns a sort key, and ``row`` the row of test data that an example comes from.
    """
    turns: Counter[object] = Counter()
    ordered = []
    for each in sorted(found, key=rank):
        turns[row(each)] += 1
        ordered.append((turns[row(each)], each))
    return [each for _, each in sorted(ordered, key=lambda turn: (turn[0], rank(turn[1])))][:_MAX_TRIED]


def choose_examples(found: Iterable[FoundExample]) -> list[Example]:
    """Return the clearest examples of up to three tests.

    Tests whose examples have the same code, apart from literals, count as one. A test gets a second example if its
    first is ``poor`` and the second is not, or if only one of the two raises an error.
    """
    ordered = sorted(found, key=lambda each: each.rank)
    tests: dict[str, FoundExample] = {}
    for each in ordered:
        tests.setdefault(each.test, each)
    # With other data, a call may give a poor result; it is shown only if no example is better.
    telling = [each for each in tests.values() if not each.example.poor] or list(tests.values())
    shapes: dict[str, Example] = {}
    for each in sorted(telling, key=lambda each: each.rank):
        first = shapes.get(each.shape, each.example)
        shapes[each.shape] = replace(first, tests=(*first.tests, each.test))
    examples = list(shapes.values())[:_MAX_FIRST]
    for shown in tuple(examples):
        same = [each for each in ordered if each.test in shown.tests]
        values = [each for each in same if shown.poor and not each.example.poor]
        others = [each for each in same if each.example.raises != shown.raises]
        if (values or others) and len(examples) < MAX_EXAMPLES:
            other = (values or others)[0]
            examples.append(replace(other.example, tests=(other.test,)))
    return examples


def add_other_rules(found: Iterable[FoundExample], examples: list[Example]) -> list[Example]:
    """Return ``examples`` and further examples of the same tests.

    Examples are added until there are three. Each added example has a ``rule`` that no other has.
    """
    added = list(examples)
    by_example = {each.example: each for each in found}
    shown = [by_example[replace(each, tests=())] for each in examples]
    tests = {test for each in examples for test in each.tests}
    for each in sorted(by_example.values(), key=lambda each: each.rank):
        if each.example.crashes and not each.minimal:
            continue  # after an error, every value differs
        new = all(each.rule != other.rule and each.own != other.own for other in shown)
        if new and len(added) < _MAX_FIRST and each.test in tests and not each.example.poor:
            shown.append(each)
            added.append(replace(each.example, tests=(each.test,)))
    return added


def function_of(test: str) -> str:
    """Return a test id without class, row and subtest: ``file::function``."""
    path, _, name = test.partition("[")[0].partition("::")
    dialect = dialect_of(path)
    return f"{path}::{dialect.function(name) if dialect is not None else name.rpartition('::')[2]}"


@dataclass(frozen=True)
class BaseTests:
    """Tests of the base tree whose results the fix changes.

    Attributes:
        overturned: tests that pass before the fix and fail with it. The hidden tests replace their functions, so they
            say nothing about behaviour that has to stay.
        failing: fail-to-pass tests whose version in the base fails before the fix too, and passes with it.
    """

    overturned: frozenset[str]
    failing: frozenset[str]


def base_tests(cut: Cut, validated: ValidatedChange) -> BaseTests:
    """Return the base's own tests whose results the fix changes.

    Test files to which the change only adds tests are not run.
    """
    changed = tuple(path for path in cut.test_files if path in cut.base and _changes_tests(cut, path, validated))
    hidden = frozenset(validated.outcomes.fail_to_pass)

    def results(tree: Tree) -> tuple[frozenset[str], frozenset[str]]:
        found = validated.run(tree, changed).results if changed else {}
        passed = frozenset(test for test, result in found.items() if result.status == "passed")
        return passed, frozenset(test for test, result in found.items() if result.failed)

    passing_after, failing_after = results(cut.base.overlay(cut.fix))
    if not failing_after and hidden.isdisjoint(passing_after):
        return BaseTests(frozenset(), frozenset())
    passing, failing = results(cut.base)
    return BaseTests(failing_after & passing, hidden & failing & passing_after)


def _changes_tests(cut: Cut, path: str, validated: ValidatedChange) -> bool:
    """Return whether a hidden test file changes the base's tests."""
    file = cut.hidden[path]
    old, new = decode(cut.base[path].data), decode(file.data) if file is not None else ""
    lines = iter(new.splitlines())
    if not all(line in lines for line in old.splitlines()):
        return True
    own = (test for test in validated.outcomes.fail_to_pass if test.startswith(f"{path}::"))
    return any(_TITLES.split(function_of(test))[-1] in old for test in own)


def public_text(cut: Cut) -> str:
    """Return the base files as one text, cut at ``_MAX_PUBLIC``."""
    texts, left = [], _MAX_PUBLIC
    for file in cut.base.values():
        if left > 0 and not file.is_link and b"\0" not in file.data[:1000]:
            texts.append(decode(file.data)[:left])
            left -= len(texts[-1])
    return "\n".join(texts)


class ProbeRunner:
    """Runs probes before and after the fix.

    A probe is a generated test that records values.

    Args:
        files: texts of the files with probes, by path; they replace test files.
        tests: paths of ``files`` that the test runner gets.
        alone: leave out the other hidden files, if the language allows it.
    """

    def __init__(
        self, cut: Cut, validated: ValidatedChange, files: Mapping[str, str], tests: tuple[str, ...], *, alone: bool
    ) -> None:
        written = {path: TreeFile(text.encode("utf-8", "replace")) for path, text in files.items()}
        apart = alone and all(dialect is not None and dialect.apart for dialect in map(dialect_of, tests))
        before = (cut.base if apart else cut.base.overlay(cut.hidden)).overlay(written)
        self._trees = {"before": before, "after": before.overlay(cut.fix)}
        # Many probes take longer than the tests.
        limits = validated.limits.model_copy(update={"seconds": _LONGER * validated.limits.seconds})
        selection = replace(validated.selection, timeout_seconds=limits.seconds)
        self._validated, self._tests = replace(validated, limits=limits, selection=selection), tests
        self.errors = ""

    def run(self, state: str, isolated: tuple[str, ...] = (), *, later: bool = False) -> dict[str, list[Record]]:
        """Run the probes; return their records by test id.

        Sets ``errors`` to messages on files that did not compile or load. Tests without records are left out.

        Args:
            state: ``before`` or ``after`` the fix.
            isolated: ids of tests that each run in a process of their own.
            later: run on another day, with another hash seed.
        """
        report = self._validated.run(self._trees[state], self._tests, isolated, later=later)
        self.errors = "\n".join(error.text for error in report.collection_errors)
        read = ((test, probe_records(result.message)) for test, result in report.results.items())
        return {test: kept for test, kept in read if kept is not None}


def probe_records(message: str) -> list[Record] | None:
    """Return the records in a probe's failure message, or None."""
    _, mark, rest = message.partition(MARK)
    if not mark:
        return None
    try:
        found = json.loads(rest.partition("\n")[0])
        return [(int(place), str(kind), _OWN.sub("", str(value))) for place, kind, value in found]
    except (ValueError, TypeError):
        return None
