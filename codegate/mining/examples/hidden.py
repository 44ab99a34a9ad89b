"""Which differences may be shown: none that is a hidden test's call, or needs what only hidden files have."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from codegate.languages.lines import MOCK, Dialect, Line, Step, Value, literals_of
from codegate.languages.statements import appears, without_blanks
from codegate.languages.syntax import IDENTIFIER
from codegate.mining.examples.example import MAX_LINES, POOR, Example, changes
from codegate.mining.examples.literals import is_secret, shows

#: Values that come from a file tell a reader nothing.
_READS: Final = re.compile(r"\.(?:ReadFile|readFile(?:Sync)?|Open|EmbeddedTests)\(")
_LOADS: Final = re.compile(r"^(?:import|from)\b|\brequire\(")
#: A name that is given a number or a text.
_GIVEN: Final = re.compile(r"(?:[A-Za-z]\w* )?([A-Za-z_]\w*) ?:?= ?([-\d.]+|\"[^\"\n]*\"|'[^'\n]*');?")


@dataclass(frozen=True)
class TestFile:
    """A test file, and its probes by their numbers.

    Attributes:
        source: as it is after the fix.
        base: the file before the fix; empty where there is none.
        rows: what each line of the hidden tests consists of, without blanks; those that the base has are left out.
        literals: those that only it has.
        hidden: those of them that may not be shown.
        unseen: modules that no reader has.
        added: what only hidden files have, this one and others, which no reader has either.
        known: words of the base's sources and of its paths.
    """

    path: str
    source: str
    base: str
    rows: tuple[frozenset[str], ...]
    dialect: Dialect
    literals: frozenset[str]
    hidden: frozenset[str]
    unseen: tuple[str, ...]
    added: str
    known: frozenset[str]
    probes: dict[int, Line]


@dataclass(frozen=True)
class Difference:
    """What an expression of a line gives before the fix and after it."""

    line: Line
    step: int
    expression: str
    before: Value
    after: Value
    own: tuple[Value, Value]
    """What the test's own literals give."""


def example_of(file: TestFile, difference: Difference) -> Example | None:
    """Return a difference as an example; None where it is a hidden test's call, or needs what cannot be shown."""
    dialect, line = file.dialect, difference.line
    own = _texts(line.own)
    if is_row(file.rows, inlined([*line.steps, Step(difference.expression)])):
        return None
    if literals_of(dialect, line.text) <= literals_of(dialect, "\n".join(own)) and is_row(file.rows, line.own):
        return None
    asked = {each for each in own if any(is_secret(one, file.literals) for one in literals_of(dialect, each))}
    asked = {each for each in asked if not appears(each, file.base)}
    (_, own_before), (_, own_after) = difference.own
    last = [step for step in line.steps if step.text][-1:]
    same_values = (own_before, own_after) == (difference.before[1], difference.after[1])
    if same_values and last and is_row(file.rows, inlined([*last, Step(difference.expression)])):
        return None  # other literals before change nothing
    if (own_after.lower(), difference.after[1].lower()) == ("true", "false"):
        return None  # the test's own comparison holds, that of the other literals does not
    same = changes(own_before, own_after) == changes(difference.before[1], difference.after[1])
    if same and asked & {difference.expression, *_texts(line.steps)}:
        return None  # what was replaced has no effect, and what has one is the test's own
    given, needed = dialect.given(file.source, line), dialect.context(file.source, dialect.outside(file.source, line))
    if needed is None or given is None or any(is_hidden_value(dialect, part, file.base) for part in needed):
        return None
    helpers = "\n".join(needed)  # which have their names from the file, and not from the steps
    if (dialect.used(helpers) | dialect.declared(helpers)) & dialect.bound(line.code):
        return None
    context = _shortened(file, needed)
    shown = dialect.shown(file.path, context, line.steps, difference.expression, difference.before, difference.after)
    unseen = _READS.search(shown.code) or any(module in shown.code for module in file.unseen)
    unseen = unseen or is_asserted(file.added, literals_of(dialect, line.text), shown.expected)
    mocked = (what.removeprefix(MOCK) for what in given.values() if what.startswith(MOCK))  # is there before the fix
    unseen = unseen or not all(file.known.issuperset(IDENTIFIER.findall(each)) for each in mocked)
    return None if unseen else Example(*shown, given=tuple(given.items()), fence=dialect.fence)


def _texts(steps: Iterable[Step]) -> list[str]:
    return [text for step in steps for text in (step.text, *step.checked) if text]


def _shortened(file: TestFile, parts: list[str]) -> str:
    """Return imports and definitions; where they are long, the base's own are named and not repeated."""
    text = "\n".join(parts)
    if len(text.splitlines()) <= MAX_LINES // 4:
        return text
    declared = {part: file.dialect.declared(part) for part in parts}
    base = file.dialect.context(file.base, frozenset().union(*declared.values())) or []
    of_base = {part for part in parts if part in file.base or part in base}
    if not all(part in of_base for part in parts if "\n" in part):
        return text
    kept = [part for part in parts if part not in of_base or _LOADS.search(part)]
    names = sorted({name for part in parts if part not in kept for name in declared[part]})
    return "\n".join([*kept, f"{file.dialect.remark} {', '.join(names)}: see {file.path}"])


def parts_of(steps: Iterable[Step]) -> frozenset[str]:
    """Return the statements and expressions of steps, without blanks."""
    texts = (text for step in steps for text in (step.text, *step.checked))
    return frozenset(without_blanks(text) for text in texts if text)


def is_row(rows: Iterable[frozenset[str]], steps: Iterable[Step]) -> bool:
    """Return whether a line of the hidden tests has all parts of some steps."""
    parts = parts_of(steps)
    return any(parts <= row for row in rows)


def inlined(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps with numbers and texts in place of the names that they are given."""
    values: dict[str, str] = {}
    rest: list[Step] = []
    for step in steps:
        match = _GIVEN.fullmatch(step.text)
        if match is not None:
            values[match[1]] = match[2]
        if match is None or step.checked:
            rest.append(replace(step, text="") if match is not None else step)
    if not values:
        return tuple(rest)
    named = re.compile(rf"(?<![\w.])(?:{'|'.join(values)})(?!\w)")
    texts = [[named.sub(lambda each: values[each[0]], text) for text in (step.text, *step.checked)] for step in rest]
    return tuple(replace(step, text=text[0], checked=tuple(text[1:])) for step, text in zip(rest, texts, strict=True))


def is_hidden_value(dialect: Dialect, definition: str, base: str) -> bool:
    """Return whether a definition is a value that the base's file lacks, such as a table of what tests expect."""
    nodes = dialect.parse(definition).named_children
    value = not any(re.search("import|function|class|decorated", node.type) for node in nodes)
    return value and bool(literals_of(dialect, definition)) and not appears(definition, base)


def is_asserted(added: str, literals: Iterable[str], expected: str) -> bool:
    """Return whether an added line has a literal of a call beside what it gives: another row or test.

    Where that is a single character, or one of a few words, the line has to have all literals.
    """
    value, texts = expected.strip("\"'`") or expected, [text for text in literals if text]
    enough = all if len(value) < 2 or POOR.fullmatch(value) else any
    lines = (line for line in added.splitlines() if shows(line, {value}))
    return bool(texts) and any(enough(bool(shows(line, {each})) for each in texts) for line in lines)
