"""Examples of JavaScript, TypeScript and Go, by two passes of probes over both trees.

The first pass runs whole tests with other literals, and finds what the fix changes. The second runs the code that a
reader would be shown, and nothing else of the test: what is shown is what was executed, and gave the same twice.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.probes.example import MAX_LINES, Example, Found, Probing, changes, of_all_rows
from codegate.mining.probes.go_tests import GoTests
from codegate.mining.probes.javascript_tests import dialect_of
from codegate.mining.probes.lines import (
    Dialect,
    Line,
    Step,
    Value,
    appears,
    known_words,
    literals_of,
    probes_of,
    shape_of,
    slices,
)
from codegate.mining.probes.literals import hidden_texts, is_secret
from codegate.mining.probes.records import Record
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.mining.statements.vocabulary import added_text, written_out

#: Values that come from a file tell a reader nothing.
_READS: Final = re.compile(r"\.(?:ReadFile|readFile(?:Sync)?|Open|EmbeddedTests)\(")
_LOADS: Final = re.compile(r"^import\b|\brequire\(")
_SCRIPT: Final = re.compile(r"\.[cm]?[jt]sx?$")
_PROBE: Final = re.compile(r"[Cc]odegate ?[Pp]robe ?(\d+)")
_MAX_FILES: Final = 3
_MAX_OF_ONE: Final = 6
_MAX_COMPILED: Final = 3
_APART: Final = 1000
"""How far the numbers of the probes of two files are apart: they may be of one package."""

Shown = dict[tuple[str, str], list[Record]]
"""The records of each probe, by its file and its name."""


@dataclass(frozen=True)
class _File:
    """A test file, and its probes by their names.

    Attributes:
        path: where it is.
        source: as it is after the fix.
        dialect: its language.
        base: the file before the fix; empty where there is none.
        literals: those that only it has.
        hidden: those of them that may not be shown.
        unseen: modules that no reader has.
    """

    path: str
    source: str
    base: str
    dialect: Dialect
    literals: frozenset[str]
    hidden: frozenset[str]
    unseen: tuple[str, ...]
    probes: dict[str, Line]


@dataclass(frozen=True)
class _Difference:
    """What an expression of a line gives before the fix and after it."""

    line: Line
    step: int
    expression: str
    before: Value
    after: Value
    own: tuple[Value, Value]
    """What the test's own literals give."""


@dataclass(frozen=True)
class _Try:
    """A difference as it would be shown."""

    difference: _Difference
    example: Example
    rank: tuple[int, ...]


def test_dialect(path: str) -> Dialect | None:
    """Return the language of a test file, where it is one of those that are written out as lines."""
    if path.endswith(".go"):
        return GoTests()
    return dialect_of(path) if _SCRIPT.search(path) else None


def line_examples(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, public: str, seed: str) -> Iterator[Found]:
    """Yield examples of the failing tests; see ``find_examples``."""
    files = _first_pass(cut, validated, public, seed)
    before, after = _both(cut, validated, open_sandbox, files)
    tries: list[dict[str, _Try]] = []
    for number, file in enumerate(files):
        runs = {
            line.steps: (line, before.get((file.path, name), []), after.get((file.path, name), []))
            for name, line in file.probes.items()
        }
        found = [
            difference
            for line, old, new in runs.values()
            if line.own in runs
            for difference in islice(_differences(line, old, new, *runs[line.own][1:]), _MAX_OF_ONE)
        ]
        tries.append(_second_pass(file, found, _APART * number))
    files = [
        replace(file, probes={name: each.difference.line for name, each in tried.items()})
        for file, tried in zip(files, tries, strict=True)
    ]
    before, after = _both(cut, validated, open_sandbox, [file for file in files if file.probes])
    for file, tried in zip(files, tries, strict=True):
        for name, each in tried.items():
            found_again = _last(before.get((file.path, name))), _last(after.get((file.path, name)))
            if found_again == (each.difference.before, each.difference.after):
                shape = shape_of(file.dialect, f"{each.example.code}\n{each.example.expression}")
                line, (_, old), (_, new) = each.difference.line, each.difference.before, each.difference.after
                yield Found(f"{file.path}::{line.test}", each.rank, shape, each.example, (new,), (old,), line)


def _first_pass(cut: Cut, validated: Validated, public: str, seed: str) -> list[_File]:
    tests: dict[str, list[str]] = {}
    for test in validated.outcomes.fail_to_pass:
        path, _, name = test.partition("::")
        if validated.outcomes.kinds.get(test) != "collection":
            tests.setdefault(path, []).append(name)
    unseen = tuple(path.rpartition(".")[0] for path in cut.hidden if path not in cut.base and path not in tests)
    files: list[_File] = []
    for path, names in tests.items():
        dialect, hidden = test_dialect(path), cut.hidden.get(path)
        if dialect is not None and hidden is not None and len(files) < _MAX_FILES:
            source = decode(hidden.data)
            known = known_words(cut.base, cut.public_tests, dialect.suffixes)
            base = decode(cut.base[path].data) if path in cut.base else ""
            lines = dialect.lines(source, names, base, _beside(cut, path))
            found = probes_of(dialect, lines, known, seed)
            probes = {str(_APART * len(files) + number): line for number, line in enumerate(found)}
            own = hidden_texts(literals_of(dialect, source), public)
            texts = literals_to_hide(cut, dialect, source, public)
            files += [_File(path, source, base, dialect, own, texts, unseen, probes)] if probes else []
    return files


def _beside(cut: Cut, path: str) -> Iterator[str]:
    """Yield the texts of the other test files of a Go package."""
    folder, _, name = path.rpartition("/")
    for other, file in cut.base.overlay(cut.hidden).items():
        at, _, own = other.rpartition("/")
        if at == folder and own.endswith("_test.go") and own != name and name.endswith(".go"):
            yield decode(file.data)


def literals_to_hide(cut: Cut, dialect: Dialect, source: str, public: str) -> frozenset[str]:
    """Return the literals of a test file that an example may not show.

    Literals that the fix has too are left out: nobody can guess them, so they may be shown.
    """
    texts, added = hidden_texts(literals_of(dialect, source), public), added_text(cut)
    told = {text for text in texts if " " in text.strip() and text in added} | written_out(texts, added)
    return frozenset(text for text in texts if not any(text in one for one in told))


def _both(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, files: list[_File]) -> tuple[Shown, Shown]:
    """Return what the files' probes show before the fix and after it; those that do not compile are left out."""
    left = files
    for _ in range(_MAX_COMPILED):
        if not left:
            break
        texts = [file.dialect.files(file.path, file.source, file.probes) for file in left]
        written = {path: text for each in texts for path, text in each.items()}
        runs = Probing(cut, validated, open_sandbox, written, tuple(file.path for file in left))
        shown = _run(runs, "before")
        if shown:
            return shown, _run(runs, "after")
        broken = [file.dialect.failed(file.path, written[file.path], runs.errors) for file in left]
        if not any(broken):
            break
        kept = [
            replace(file, probes={name: line for name, line in file.probes.items() if name not in names})
            for file, names in zip(left, broken, strict=True)
        ]
        left = [file for file in kept if file.probes]
    return {}, {}


def _run(runs: Probing, state: str) -> Shown:
    found: Shown = {}
    for test, kept in runs.run(state).items():
        path, _, name = test.partition("::")
        match = _PROBE.search(name)
        if match is not None:
            found.setdefault((path, match[1]), []).extend(kept)
    return found


def _differences(
    line: Line, before: list[Record], after: list[Record], own_before: list[Record], own_after: list[Record]
) -> Iterator[_Difference]:
    """Yield what a probe's records differ in, up to the first error, beside those of the test's own literals."""
    number = 0
    for at, step in enumerate(line.steps):
        for expression in step.checked:
            old, new, own_old, own_new = (_value(kept, number, at) for kept in (before, after, own_before, own_after))
            number += 1
            if old is None or new is None:
                continue
            thrown, returned = new[0] == "x", new[0] == "e" and old[0] != "e"
            unasked = (thrown and not step.panics) or (returned and not step.raises)
            if old != new and not unasked:
                yield _Difference(line, at, expression, old, new, (own_old or ("", ""), own_new or ("", "")))
            if any(place < 0 and -1 - place <= at for place, _, _ in (*before, *after)):
                return


def _value(kept: list[Record], number: int, step: int) -> Value | None:
    """Return what an expression gave, or the error that ended the probe before it."""
    for place, kind, text in kept:
        if place == number or (place < 0 and -1 - place <= step):
            return kind, text
    return None


def _last(kept: list[Record] | None) -> Value | None:
    """Return what a probe of one expression gave."""
    return _value(kept, 0, 1 << 30) if kept else None


def _second_pass(file: _File, found: list[_Difference], first: int) -> dict[str, _Try]:
    """Return what a reader could be shown of the clearest differences, by the names of their probes."""
    tries: list[_Try] = []
    for difference in found:
        for long, line in enumerate(slices(file.dialect, difference.line, difference.step, difference.expression)):
            example = _example(file, line, difference)
            if example is not None and example.may_be_shown(file.hidden):
                # As the example shows them: in quotes, or with what marks an error.
                own = file.dialect.example(file.path, "", difference.expression, *difference.own)
                rank = (long, *example.rank(line.replaced, (own.observed, own.expected), line.renamed))
                tries.append(_Try(replace(difference, line=line, step=len(line.steps) - 1), example, rank))
    tests = dict.fromkeys(each.difference.line.test for each in tries)
    of_one = ([each for each in tries if each.difference.line.test == test] for test in tests)
    chosen = [each for some in of_one for each in of_all_rows(some, lambda each: each.rank, _row)]
    return {str(number): each for number, each in enumerate(chosen, first)}


def _row(tried: _Try) -> tuple[tuple[Step, ...], tuple[Value, Value]]:
    """Return which line of its test a difference is of, and what it gives with the test's own literals."""
    return tried.difference.line.own, tried.difference.own


def _example(file: _File, line: Line, difference: _Difference) -> Example | None:
    """Return a difference as an example; None where it is the test's own call, or needs what cannot be shown."""
    dialect = file.dialect
    text = f"{line.code}\n{difference.expression}"
    if literals_of(dialect, text) <= literals_of(dialect, "\n".join(_texts(line.own))):
        return None
    asked = {
        own for own in _texts(line.own) if any(is_secret(text, file.literals) for text in literals_of(dialect, own))
    }  # fmt: skip
    asked = {own for own in asked if not appears(own, file.base)}
    (_, own_before), (_, own_after) = difference.own
    if own_after == "true" and difference.after[1] == "false":
        return None  # the test's own comparison holds, that of the other literals does not
    same = changes(own_before, own_after) == changes(difference.before[1], difference.after[1])
    if same and asked & {difference.expression, *_texts(line.steps)}:
        return None  # what was replaced has no effect, and what has one is the test's own
    bound = frozenset(name for step in line.steps for name in dialect.bound(step.text))
    parts = dialect.context(file.source, dialect.used(text) - bound)
    if parts is None:
        return None
    context = _shortened(file, parts)
    apart = "\n\n" if context.endswith("}") else "\n"
    code = apart.join(part for part in (context, line.code) if part)
    example = dialect.example(file.path, code, difference.expression, difference.before, difference.after)
    unseen = _READS.search(code) or any(module in example.code for module in file.unseen)
    return None if unseen else example


def _texts(steps: Iterable[Step]) -> list[str]:
    return [text for step in steps for text in (step.text, *step.checked) if text]


def _shortened(file: _File, parts: list[str]) -> str:
    """Return imports and definitions; where they are long, the base's own are named and not repeated."""
    text = "\n".join(parts)
    if len(text.splitlines()) <= MAX_LINES // 4 or not all(part in file.base for part in parts if "\n" in part):
        return text
    kept = [part for part in parts if part not in file.base or _LOADS.search(part)]
    names = sorted({name for part in parts if part not in kept for name in file.dialect.declared(part)})
    return "\n".join([*kept, f"// {', '.join(names)}: see {file.path}"])


def failing_literals(cut: Cut, tests: Iterable[str], public: str) -> frozenset[str]:
    """Return the literals that only the files of failing ``tests`` have, of languages that are written out as lines."""
    found: frozenset[str] = frozenset()
    for path in dict.fromkeys(test.partition("::")[0] for test in tests):
        dialect, file = test_dialect(path), cut.hidden.get(path)
        if dialect is not None and file is not None:
            found |= hidden_texts(literals_of(dialect, decode(file.data)), public)
    return found


def source_literals(cut: Cut) -> frozenset[str]:
    """Return the literals of the source files after the fix, of languages that are written out as lines."""
    files = ((test_dialect(path), file) for path, file in cut.fix.items() if file is not None)
    return frozenset(
        text for dialect, file in files if dialect is not None for text in literals_of(dialect, decode(file.data))
    )
