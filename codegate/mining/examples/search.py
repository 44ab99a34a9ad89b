"""Search examples: failing tests' lines, run with other literals.

A *line* is the statements that one execution of a test runs, and a *probe* a line that can have other literals. The
search has four stages:

1. ``_files`` makes the probes of the failing tests.
2. They run before and after the fix. A ``ProbeDifference`` is an expression whose value the fix changes.
3. Each difference becomes some ``_PossibleExample``, with more or fewer statements, if it may be shown.
4. The code of each possible example runs alone, as a reader would run it. Each that gives the same values as its
   probe becomes a ``FoundExample``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Final

from codegate.languages.lines import Dialect, Line, Step, Value, dialect_of, literals_of
from codegate.languages.syntax import IDENTIFIER, added_lines, decode, text_of
from codegate.mining.cut import Cut
from codegate.mining.examples.example import (
    NO_ERROR,
    UNSTABLE,
    Example,
    FoundExample,
    ProbeRunner,
    spread_over_rows,
)
from codegate.mining.examples.hidden import ProbeDifference, TestFile, example_of
from codegate.mining.examples.literals import hidden_texts, literals_to_hide, words_and_numbers
from codegate.mining.examples.variants import known_words, probes_of, shape_of, slices, unneeded_steps, without_steps
from codegate.mining.proving.validation import ValidatedChange

_PROBE: Final = re.compile(r"codegate[ _]?probe[ _]?(\d+)", re.IGNORECASE)
_MAX_FILES: Final = 3
_MAX_OF_ONE: Final = 6
_MAX_COMPILED: Final = 4
_MAX_SHORTENED: Final = 4
_LAST: Final = (0, 1, 2, 4)
_APART: Final = 1000
"""Distance between the first probe numbers of two files; files of one package must not share numbers."""
_VALUES: Final = frozenset({"s", "v"})
_MOST: Final = 12
_LAST_RESORT: Final = 3
"""Added to the rank of a test's own call, so that it comes behind all other cases."""

Values = list[tuple[int, Value]]
"""Values that a probe recorded, each with the place of its expression."""
Seen = dict[int, Values]
"""The values that each probe recorded, by the probe's number."""


@dataclass(frozen=True)
class _PossibleExample:
    """A difference, and an example that may be shown.

    The example is shown only if it works without the rest of its file. ``rank`` is a sort key; the clearest example has
    the smallest.
    """

    difference: ProbeDifference
    example: Example
    rank: tuple[int, ...]


Run = Callable[[list[TestFile], bool], tuple[Seen, Seen]]
"""Function that runs the files' probes before and after the fix; if the flag is set, without the files' own tests."""


@dataclass(frozen=True)
class FoundExamples:
    """What the probes of failing tests showed.

    Attributes:
        examples: the clearest first.
        errors: by test, the name of the exception that it expects, if the code raises another before the fix.
    """

    examples: list[FoundExample]
    errors: Mapping[str, str]


def _examples(files: list[TestFile], run: Run, errors: dict[str, str]) -> Iterator[FoundExample]:
    """Run the probes of ``files``; yield examples of changed values.

    The code of each example gives the same values when it runs alone. Exceptions that tests expect are added to
    ``errors``.
    """
    before, after = run(files, False)
    tries: dict[str, list[_PossibleExample]] = {}
    for file in files:
        runs = {
            line.steps: (line, before.get(number, []), after.get(number, [])) for number, line in file.probes.items()
        }
        found = [
            difference
            for line, old, new in runs.values()
            if line.own in runs
            for difference in islice(_differences(line, old, new, *runs[line.own][1:]), _MAX_OF_ONE)
        ]
        tries[file.path] = _possible_examples(file, found)
        for difference in found:
            (before_kind, _), (after_kind, error) = difference.own
            if before_kind == after_kind == "x":
                errors[f"{file.path}::{difference.line.test}"] = error.partition(":")[0]
    tries = _confirmed(tries, files, run)
    for file in files:
        for each in tries[file.path]:
            example, difference = each.example, each.difference
            shape = shape_of(file.dialect, f"{example.code}\n{example.expression}")
            (_, old), (_, new), line = difference.before, difference.after, difference.line
            yield FoundExample(
                f"{file.path}::{line.test}", each.rank, shape, example, (new,), (old,), line, difference.own
            )


def _confirmed(
    tries: Mapping[str, list[_PossibleExample]], files: list[TestFile], run: Run
) -> dict[str, list[_PossibleExample]]:
    """Return, by path, examples that give equal values when alone.

    ``tries`` are the examples of each test file; they run without the rest of it. The ``raising`` of each is set to the
    statement that raised an error.
    """
    numbered, probing = dict[int, _PossibleExample](), list[TestFile]()
    for at, file in enumerate(files):
        own = dict(enumerate(tries[file.path], _APART * at))
        numbered |= own
        probing.append(replace(file, probes={number: each.difference.line for number, each in own.items()}))
    before, after = run(probing, True)
    same = {
        number: replace(each, example=replace(each.example, raising=_raising(each.difference.line, before[number])))
        for number, each in numbered.items()
        if _only_value(before.get(number)) == each.difference.before
        and _only_value(after.get(number)) == each.difference.after
    }  # fmt: skip
    return {file.path: [same[number] for number in file.probes if number in same] for file in probing}


def _raising(line: Line, kept: Values) -> str:
    """Return the statement that raised an error, or "".

    Return "" also if it is the last statement of ``line``. ``kept`` are the values that a probe of ``line`` recorded.
    """
    at = next((-1 - place for place, _ in kept if place < 0), len(line.steps))
    return line.steps[at].text if at < len(line.steps) - 1 else ""


def _run_probes(cut: Cut, validated: ValidatedChange, files: list[TestFile], alone: bool) -> tuple[Seen, Seen]:
    """Return what probes recorded before and after the fix.

    ``alone``: the probes run without the files' own tests. Probes that do not compile are dropped.
    """
    left = [file for file in files if file.probes]
    for _ in range(_MAX_COMPILED):
        if not left:
            break
        texts = [_texts(file, alone) for file in left]
        written = {path: text for each in texts for path, text in each.items()}
        runs = ProbeRunner(cut, validated, written, tuple(file.path for file in left), alone=alone)
        seen = values_by_probe(runs.run("before"))
        if seen:
            return seen, values_by_probe(runs.run("after"))
        broken = [file.dialect.rejected_probes(file.path, written[file.path], runs.errors) for file in left]
        if not any(broken):
            break
        left = [
            replace(file, probes={number: line for number, line in file.probes.items() if str(number) not in names})
            for file, names in zip(left, broken, strict=True)
        ]
        left = [file for file in left if file.probes]
    return {}, {}


def _texts(file: TestFile, alone: bool) -> dict[str, str]:
    probes = {str(number): line for number, line in file.probes.items()}
    if alone:
        return file.dialect.files_with_only(file.path, file.source, file.base, probes)
    return file.dialect.files(file.path, file.source, probes)


def find_examples(cut: Cut, validated: ValidatedChange, public: str, seed: str) -> FoundExamples:
    """Return examples of values that the fix changes.

    Only those that ``steady_examples`` returns may be shown. Examples may show literals of ``public``, the base's text.
    ``seed`` determines the literals that replace the tests' own.
    """
    run = partial(_run_probes, cut, validated)
    errors: dict[str, str] = {}
    found = sorted(_examples(_files(cut, validated, public, seed), run, errors), key=lambda each: each.rank)
    clearest: dict[tuple[object, ...], FoundExample] = {}
    for each in found:
        clearest.setdefault((each.test, each.shape, each.line.own, each.own), each)
    return FoundExamples(list(clearest.values())[:_MOST], errors)


def _files(cut: Cut, validated: ValidatedChange, public: str, seed: str) -> list[TestFile]:
    """Return the files of fail-to-pass tests, with their probes.

    A probe is a line of a test, with other literals.
    """
    tests: dict[str, list[str]] = {}
    for test in validated.outcomes.fail_to_pass:
        path, _, name = test.partition("::")
        if validated.outcomes.kinds.get(test) != "collection":
            tests.setdefault(path, []).append(name)
    new = [path.rpartition(".")[0] for path in cut.hidden if path not in cut.base and path not in tests]
    modules = tuple(name for path in new for name in {path, path.replace("/", ".")})
    added = "\n".join(
        line for path, file in cut.hidden.items() if file is not None
        for line in added_lines(file, cut.base.get(path)).values()
    )  # fmt: skip
    taken = words_and_numbers(added)
    files: list[TestFile] = []
    for path, names in tests.items():
        dialect, hidden = dialect_of(path), cut.hidden.get(path)
        if dialect is not None and hidden is not None and len(files) < _MAX_FILES:
            source, base = fixed_source(cut, path, dialect), dialect.source(path, cut.base)
            known = known_words(cut.base, cut.public_tests, dialect.suffixes)
            beside = dialect.visible_files(path, cut.base.overlay(cut.hidden))
            lines = list(dialect.lines(source, names, base, beside))
            found = probes_of(dialect, lines, known, taken, seed, base)
            probes = dict(enumerate(found, _APART * len(files)))
            own = hidden_texts(literals_of(dialect, source), public)
            texts = literals_to_hide(cut, own)
            words = known.union(IDENTIFIER.findall("\n".join(cut.base)))
            new_names = frozenset(_new_names(cut, dialect, path))
            file = TestFile(path, source, base, dialect, own, texts, modules, new_names, words, probes)
            files += [file] if probes else []
    return files


def _new_names(cut: Cut, dialect: Dialect, path: str) -> Iterator[str]:
    """Yield other hidden files' new names that ``path`` can use.

    Such a name needs no import. There are none in languages whose examples run apart.
    """
    for other, file in cut.hidden.items():
        if file is not None and not dialect.apart and other != path and dialect_of(other) == dialect:
            before = {text_of(node) for node in dialect.parse(dialect.source(other, cut.base)).named_children}
            nodes = dialect.parse(decode(file.data)).named_children
            yield from (name for node in nodes if text_of(node) not in before for name in dialect.names(node))


def fixed_source(cut: Cut, path: str, dialect: Dialect) -> str:
    """Return a hidden test file's text, with its imported helpers."""
    return dialect.source(path, cut.base.overlay(cut.hidden))


def values_by_probe(shown: Mapping[str, Iterable[tuple[int, str, str]]]) -> Seen:
    """Return the recorded values by the probe's number.

    ``shown`` has the records by test id.
    """
    found: Seen = {}
    for test, kept in shown.items():
        match = _PROBE.search(test)
        if match is not None:
            found.setdefault(int(match[1]), []).extend(
                (place, ("v", NO_ERROR) if kind in _VALUES and UNSTABLE.search(text) else (kind, text))
                for place, kind, text in kept
            )
    return found


def _differences(
    line: Line, before: Values, after: Values, own_before: Values, own_after: Values
) -> Iterator[ProbeDifference]:
    """Yield a probe's values that the fix changes.

    ``own_before`` and ``own_after`` are the values that the test's own literals give. An error before the fix counts as
    the value of all later expressions. After an error with the fix, nothing more is compared.
    """
    number = 0
    for at, step in enumerate(line.steps):
        for expression in step.checked:
            old, new, own_old, own_new = (_value(kept, number, at) for kept in (before, after, own_before, own_after))
            number += 1
            if old is None or new is None:
                continue
            thrown, returned = new[0] == "x", new[0] == "e" and old[0] != "e"
            # A test may compare the fixed value, so "no error" would say too little.
            vague = new == ("v", NO_ERROR) or (old == ("v", NO_ERROR) and new[0] != "x")
            # The test passes with the fix, so it expects or accepts the kind of value that its own literals give.
            own = own_new is not None and own_new[0] == new[0]
            unasked = not own and ((thrown and not step.panics) or (returned and not step.raises))
            if old != new and not unasked and not vague:
                yield ProbeDifference(line, at, expression, old, new, (own_old or ("", ""), own_new or ("", "")))
            if any(place < 0 and -1 - place <= at for place, _ in after):
                return


def _value(kept: Values, number: int, step: int) -> Value | None:
    """Return the value that a probe recorded for one expression.

    ``number`` is the index of the expression in its line, and ``step`` that of the step that checks it. If that step or
    an earlier one raised an error, the error is the value. None if no value, or different values, were recorded.
    """
    if len({value for place, value in kept if place == number}) > 1:
        return None  # values of a loop, but a reader sees one
    matching = (value for place, value in kept if place == number or (place < 0 and -1 - place <= step))
    return next(matching, None)


def _only_value(kept: Values | None) -> Value | None:
    """Return the value that a probe of one expression recorded."""
    return _value(kept, 0, 1 << 30) if kept else None


def _possible_examples(file: TestFile, differences: list[ProbeDifference]) -> list[_PossibleExample]:
    """Return possible examples of ``differences``, per test clearest first.

    Each test has at most ``_MAX_TRIED``, first the clearest of each table row. After the examples of all tests come
    copies with fewer statements, made of each test's first ``_MAX_SHORTENED``.
    """
    tries: list[_PossibleExample] = []
    for difference in differences:
        for long, line in enumerate(slices(file.dialect, difference.line, difference.step, difference.expression)):
            tries += filter(
                None, [_possible_example(file, replace(difference, line=line, step=len(line.steps) - 1), long)]
            )
    tests = dict.fromkeys(each.difference.line.test for each in tries)
    of_one = ([each for each in tries if each.difference.line.test == test] for test in tests)
    found = [spread_over_rows(some, lambda each: each.rank, _row) for some in of_one]
    shorter = (_without_some(file, each) for some in found for each in some[:_MAX_SHORTENED])
    return [*chain.from_iterable(found), *chain.from_iterable(shorter)]


def _possible_example(file: TestFile, difference: ProbeDifference, long: int) -> _PossibleExample | None:
    """Return a difference's possible example, None if not allowed.

    ``long`` is added to the rank: 0 for the shortest copy of the line, 1 for the next.
    """
    example, line = example_of(file, difference), difference.line
    if example is None or not example.may_be_shown(file.hidden):
        return None
    # The values as an example shows them: in quotes, or with the word that marks an error.
    own = file.dialect.render_example(file.path, "", (), difference.expression, *difference.own)
    last = 0 if line.replaced else _LAST_RESORT
    rank = (last + long, *example.rank(line.replaced, (own.observed, own.expected), line.renamed, line.renumbered))
    return _PossibleExample(difference, example, rank)


def _without_some(file: TestFile, tried: _PossibleExample) -> Iterator[_PossibleExample]:
    """Yield copies of a possible example with fewer statements.

    Some lack all unneeded statements, or all but the last one, two or four. The others lack one unneeded statement.
    """
    line = tried.difference.line
    single = unneeded_steps(file.dialect, line)
    several = [single[last:] for last in _LAST if len(single) - last > 1]
    for places in (*several, *([at] for at in single)):
        each = without_steps(file.dialect, line, places)
        shorter = replace(tried.difference, line=each, step=len(each.steps) - 1)
        yield from filter(None, [_possible_example(file, shorter, tried.rank[0])])


def _row(tried: _PossibleExample) -> tuple[tuple[Step, ...], tuple[Value, Value]]:
    """Return the original line and values, to identify table rows."""
    return tried.difference.line.own, tried.difference.own
