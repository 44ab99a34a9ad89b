"""Whether an example is a call of a hidden test, or needs what only hidden files have."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from codegate.languages.lines import Dialect, Step, literals_of
from codegate.languages.statements import appears, without_blanks
from codegate.mining.examples.example import POOR
from codegate.mining.examples.literals import shows

#: A name that is given a number or a text.
_GIVEN: Final = re.compile(r"(?:[A-Za-z]\w* )?([A-Za-z_]\w*) ?:?= ?([-\d.]+|\"[^\"\n]*\"|'[^'\n]*');?")


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


def is_new(name: str, source: str, base: str, added: str) -> bool:
    """Return whether only hidden files define a function or method, or a test's ``source`` once more than its base."""
    definition = f"def {name}("
    return source.count(definition) > base.count(definition) or (definition in added and definition not in base)


def is_asserted(added: str, literals: Iterable[str], expected: str) -> bool:
    """Return whether an added line has a literal of a call beside what it gives: another row or test.

    Where that is a single character, or one of a few words, the line has to have all literals.
    """
    value, texts = expected.strip("\"'`") or expected, [text for text in literals if text]
    enough = all if len(value) < 2 or POOR.fullmatch(value) else any
    lines = (line for line in added.splitlines() if shows(line, {value}))
    return bool(texts) and any(enough(bool(shows(line, {each})) for each in texts) for line in lines)
