"""Replace literals in tests' lines, and shorten the lines."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codegate.languages.lines import Dialect, Line, Step, literals_of
from codegate.languages.syntax import IDENTIFIER, edited, text_of, walk
from codegate.mining.examples.arguments import usual_arguments
from codegate.mining.examples.crossings import mixed_lines
from codegate.mining.examples.literals import Choose, LiteralReplacer, is_replaceable, word_by_word
from codegate.suite import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARES: Final = re.compile(r"(?:const|let|var)\s[^=;]*=|[\w, ]+:=")
_CHANGED: Final = re.compile(r"(?:^|&(?:mut )?)([A-Za-z_]\w*)")
_DIGITS: Final = re.compile(r"\d+")
_LITERAL: Final = "\0"
_CALLS: Final = ("call", "method_invocation")
_MAX_SINGLE: Final = 3
_SHORT: Final = 2
_FIRST_CROSSINGS: Final = 2
_MAX_LINES: Final = 24
_MAX_PROBES: Final = 80
_NUMBERS: Final = (
    "number",
    "int_literal",
    "float_literal",
    "integer",
    "float",
    "integer_literal",
    "floating_point_literal",
)


def shape_of(dialect: Dialect, text: str) -> str:
    """Return code without its literals, for comparing examples."""
    root = dialect.parse(text)
    shape = edited(root, dict.fromkeys(dialect.literals(root), _LITERAL))
    shape = re.sub(rf"(?:{_LITERAL}|\\.)+", _LITERAL, shape)
    return re.sub(rf"{_LITERAL}(?:[\"'`]?,\s*b?[\"'`]?{_LITERAL})+", _LITERAL, shape)  # several values count as one


def probes_of(
    dialect: Dialect,
    lines: Iterable[Line],
    known: frozenset[str],
    taken: frozenset[str],
    seed: str,
    public: str = "",
) -> list[Line]:
    """Return ``lines`` and copies of them with other literals.

    Every line gets its first copy before any gets its second, because it is not known which line shows a difference.
    The line itself comes before its first copy, for comparison. No replacement is in ``taken``. ``known`` words of the
    base's source are likely names and options, and are kept if possible. ``public`` is the test file before the fix.
    """
    given = [line for line, _ in zip(lines, range(_MAX_LINES), strict=False)]
    seen = {line.steps for line in given}
    found: list[Line] = []
    for number, ways in enumerate(
        zip_longest(*(_variants(dialect, line, known, taken, seed, public) for line in given))
    ):
        for line, own in zip(ways, given, strict=True):
            found += [replace(own, own=own.steps)] if number == 0 else []
            if line is not None and line.steps not in seen and len(found) < _MAX_PROBES:
                seen.add(line.steps)
                found.append(line)
    return found


def _variants(
    dialect: Dialect, line: Line, known: frozenset[str], taken: frozenset[str], seed: str, public: str
) -> Iterator[Line]:
    whole = "\n".join(text for step in line.steps for text in (step.text, *step.checked))
    written = [text_of(node) for node in dialect.literals(dialect.parse(whole))]
    avoid = taken | frozenset(written)
    parts = {part for name in dialect.used(whole) for part in (name, *name.split("_"))}

    def other(word: str) -> bool:
        return len(word) != _SHORT and word not in parts and word.lower() not in parts

    def unused(word: str) -> bool:
        return is_replaceable(word) and other(word)

    def free(word: str) -> bool:
        return len(word) > _SHORT and word not in known and unused(word)

    def none(_word: str) -> bool:
        return False

    def way(words: Choose, *, numbers: bool = True, **how: Any) -> Line:
        draws = Random(f"{seed}{line.test}")  # noqa: S311 (a choice to repeat, not a secret)
        replacer = LiteralReplacer(draws, words, numbers, avoid, **how)
        steps = tuple(
            replace(
                step,
                text=_replaced(dialect, step.text, replacer),
                checked=tuple(_replaced(dialect, text, replacer) for text in step.checked),
            )
            for step in line.steps
        )
        return replace(
            line,
            steps=steps,
            replaced=max(replacer.count, 1),
            renamed=replacer.renamed,
            replaced_lines=replacer.replaced_lines,
            renumbered=replacer.renumbered,
            own=line.steps,
        )

    between = list(mixed_lines(written, literals_of(dialect, public)))
    usual = list(usual_arguments(dialect, whole, public))
    yield way(free, digits=False)
    yield way(unused, digits=False)
    yield way(free)
    yield way(unused)
    yield way(unused, initial=True)
    for others in between[:_FIRST_CROSSINGS]:
        yield way(none, numbers=False, replaced_lines=others)
    for others in usual[:_FIRST_CROSSINGS]:
        yield way(none, numbers=False, replaced_texts=others)
    yield way(free, numbers=False)
    yield way(unused, numbers=False)
    yield way(none)
    yield way(free, least=1)
    yield way(free, phrases=True)
    yield way(free, far=True)
    for one in word_by_word(written, other):
        yield way(one, numbers=False)
    for only in range(_MAX_SINGLE):
        yield way(unused, only=only)
    for others in usual:
        yield way(none, numbers=False, replaced_texts=others)
    for others in between:
        yield way(none, numbers=False, replaced_lines=others)
        yield way(unused, replaced_lines=others)


def _replaced(dialect: Dialect, text: str, replacer: LiteralReplacer) -> str:
    if not text:
        return text
    root, edits = dialect.parse(text), dict["Node", str]()
    for node in dialect.literals(root):
        if replacer.due():
            old = text_of(node)
            number = node.type.endswith(_NUMBERS)
            new = replacer.number(old) if number else replacer.text(old)
            replacer.count += new != old
            renumbered = (new != old) if number else 2 * (_DIGITS.findall(new) != _DIGITS.findall(old))
            replacer.renumbered = max(replacer.renumbered, renumbered)
            edits[node] = new
    return edited(root, edits)


def slices(dialect: Dialect, line: Line, step: int, expression: str) -> list[Line]:
    """Return shortened copies of ``line`` that still compute ``expression``.

    There are at most three, the shortest first. The first has only statements that the expression's names need. The
    second adds statements that declare no name, and calls in earlier assertions that may change a local name. The third
    adds all fixtures, and statements that share local names with the needed ones. ``step`` is the index of the step
    that checks ``expression``. If ``expression`` is empty, the step itself raises.
    """
    last = replace(line.steps[step], checked=(expression,) if expression else ())
    local = frozenset(name for each in line.steps[: step + 1] for name in dialect.bound(each.text))
    given = frozenset(line.fixtures)
    local |= {*given, "self"}
    named = dialect.used("\n".join([last.text, expression])) & local
    connected = _connected(dialect, line.steps[:step], named, local)
    found: list[Line] = []
    for everything, needed, fixtures in ((False, named, False), (True, named, False), (True, connected, True)):
        kept = [last]
        for before in reversed(line.steps[:step]):
            text = before.text
            if everything and not text:
                acting = (checked for checked in before.checked if _may_change_variable(dialect, checked, local))
                text = "\n".join(f"{checked}{dialect.ending}" for checked in acting)
            bound, used = dialect.bound(text), dialect.used(text)
            # A step that changes an object of the framework, such as a mock, may affect all later steps.
            acts = everything and (not bound or bool(bound & given))
            if text and (acts or (bound or used) & needed):
                # A name that the step declares needs no earlier value.
                fresh = bound if _DECLARES.match(text) else bound - used
                anew = frozenset[str]() if everything else fresh
                needed = (needed - anew) | (used - anew) & local  # noqa: PLW2901 (grows on the way)
                kept.insert(0, replace(before, text=text, checked=()))
        steps = dialect.tidy(tuple(kept), expression)
        mentioned = dialect.used("\n".join(text for step in steps for text in (step.text, *step.checked)))
        kept_fixtures = tuple(name for name in line.fixtures if fixtures or name in mentioned)
        shorter = replace(line, steps=steps, fixtures=kept_fixtures)
        found += [shorter] if shorter not in found else []
    return found


def _connected(
    dialect: Dialect, steps: tuple[Step, ...], names: frozenset[str], local: frozenset[str]
) -> frozenset[str]:
    """Return ``names`` and all ``local`` names connected to them.

    Two names are connected if a step mentions both, or if other names connect them.
    """
    mentioned = [(dialect.bound(step.text) | dialect.used(step.text)) & local for step in steps]
    while found := frozenset().union(*(each for each in mentioned if each & names)) - names:
        names |= found
    return names


def _may_change_variable(dialect: Dialect, expression: str, local: frozenset[str]) -> bool:
    """Return whether a call in ``expression`` may change a variable.

    It may if its text starts with a name in ``local`` (``items.append(1)``) or takes a reference to one (``&items``).
    """
    calls = (text_of(node) for node in walk(dialect.parse(expression)) if node.type.startswith(_CALLS))
    return any(not local.isdisjoint(_CHANGED.findall(call)) for call in calls)


def known_words(base: Tree, public_tests: Iterable[str], suffixes: tuple[str, ...]) -> frozenset[str]:
    """Return the words in the base's sources, without public tests.

    Sources are the files whose names end with one of ``suffixes``.
    """
    tests = frozenset(public_tests)
    return frozenset(
        word for path, file in base.items() if path.endswith(suffixes) and path not in tests and not file.is_link
        for word in IDENTIFIER.findall(file.text)
    )  # fmt: skip


def unneeded_steps(dialect: Dialect, line: Line) -> list[int]:
    """Return the indexes of unneeded steps, the last first.

    No later step uses a name that they declare or assign.
    """
    later = dialect.used("\n".join(line.steps[-1].checked))
    found: list[int] = []
    for at in reversed(range(len(line.steps))):
        step = line.steps[at]
        if at < len(line.steps) - 1 and not dialect.bound(step.text) & later:
            found.append(at)
        later |= dialect.used(step.text)
    return found


def without_steps(dialect: Dialect, line: Line, places: Collection[int]) -> Line:
    """Return a line without the steps at ``places``.

    A step is left out, too, if only left-out steps use its names.
    """
    later = dialect.used("\n".join(line.steps[-1].checked))
    orphans = frozenset[str]()
    kept: list[Step] = []
    for at in reversed(range(len(line.steps))):
        step = line.steps[at]
        bound, used = dialect.bound(step.text), dialect.used(step.text)
        if at in places or (bound and bound <= orphans - later):
            orphans |= used
        else:
            kept.insert(0, step)
            later |= used
    return replace(line, steps=tuple(kept))
