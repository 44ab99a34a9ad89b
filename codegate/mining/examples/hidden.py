"""Make examples that repeat no hidden test and run alone.

A solution that is right for the example alone must not pass the hidden test. So an example does not show the test's
own call with the test's own data, nor literals that only the hidden test files have.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from codegate.languages.lines import MOCK, Dialect, Line, Step, Value, literals_of
from codegate.languages.statements import appears, without_comments
from codegate.languages.syntax import IDENTIFIER
from codegate.mining.examples.example import MAX_LINES, Example, changed_parts
from codegate.mining.examples.literals import is_secret

#: Calls that read a file, whose content readers do not see.
_READS: Final = re.compile(r"\.(?:ReadFile|readFile(?:Sync)?|Open|EmbeddedTests)\(")
#: Letters, and numbers other than 0 and 1.
_WORDS: Final = re.compile(r"[^\W\d_]|[2-9]|\d\d")
#: Data in a value: numbers other than 0 and 1, and words in quotes.
_DATA: Final = re.compile(r"[2-9]|\d\d|[\"'`][^\"'`]*[^\W_]")
_LOADS: Final = re.compile(r"^(?:import|from)\b|\brequire\(")


@dataclass(frozen=True)
class TestFile:
    """A test file, and its probes by number.

    Attributes:
        source: the file after the fix.
        base: the file before the fix; empty if there was none.
        literals: literals in the file that the base tree lacks.
        hidden: the ``literals`` that may not be shown.
        modules: new hidden modules, which a reader of the statement does not have.
        names: names that other hidden files add or redefine.
        known: words of the base's sources and of its paths.
    """

    path: str
    source: str
    base: str
    dialect: Dialect
    literals: frozenset[str]
    hidden: frozenset[str]
    modules: tuple[str, ...]
    names: frozenset[str]
    known: frozenset[str]
    probes: dict[int, Line]


@dataclass(frozen=True)
class ProbeDifference:
    """An expression's values before and after the fix."""

    line: Line
    step: int
    expression: str
    before: Value
    after: Value
    own: tuple[Value, Value]
    """The values before and after the fix, with the test's own literals."""

    @property
    def values(self) -> tuple[Value, Value]:
        """Return the values before and after the fix."""
        return self.before, self.after


def example_of(file: TestFile, difference: ProbeDifference) -> Example | None:
    """Return a difference as an example, None if not allowed.

    An example is not allowed, for instance, if it repeats a call of a hidden test or needs code that cannot be shown.
    """
    dialect, line, own = file.dialect, difference.line, _texts(difference.line.own)
    given, needed = dialect.describe_fixtures(file.source, line), dialect.surroundings(file.source, line)
    if given is None or needed is None or _repeats_hidden_call(file, difference, needed):
        return None
    secret = {each for each in own if any(_is_secret(file, line, one) for one in literals_of(dialect, each))}
    secret = {each for each in secret if not appears(each, file.base)}
    (_, own_before), (_, own_after) = difference.own
    if (own_after.lower(), difference.after[1].lower()) == ("true", "false"):
        return None  # the test's comparison holds, but not with the replaced literals
    if _is_another_error(difference):
        return None  # the replaced literals are wrong in another way
    if not _explained_by_lines(difference):
        return None  # no test shows that the fix is right about such a case
    same = changed_parts(own_before, own_after) == changed_parts(difference.before[1], difference.after[1])
    if same and secret & {difference.expression, *_texts(line.steps)}:
        return None  # the values differ because of the test's own literals, not the replaced ones
    if any(_is_value(dialect, part) for part in needed if not _is_of_base(dialect, file.base, part)):
        return None
    if _is_declared_twice(dialect, line):
        return None  # an example is shown without its blocks
    helpers = "\n".join(needed)  # helpers use names of the file, not of the steps
    if (dialect.used(helpers) | dialect.declared(helpers)) & dialect.bound(line.code):
        return None
    context = _shortened(file, needed)
    shown = dialect.render_example(
        file.path, context, line.steps, difference.expression, difference.before, difference.after
    )
    unseen = _READS.search(shown.code) or any(module in shown.code for module in file.modules)
    unseen = unseen or not file.names.isdisjoint(dialect.used(f"{helpers}\n{line.text}"))
    mocked = (what.removeprefix(MOCK) for what in given.values() if what.startswith(MOCK))  # must exist before the fix
    unseen = unseen or not all(file.known.issuperset(IDENTIFIER.findall(each)) for each in mocked)
    return None if unseen else Example(*shown, given=tuple(given.items()), fence=dialect.fence)


def _repeats_hidden_call(file: TestFile, difference: ProbeDifference, needed: list[str]) -> bool:
    """Return whether an example would repeat a hidden test's call.

    ``needed`` are the definitions that the call needs. A call without replaced literals is repeated, unless neither the
    call nor its value has data, such as ``f(None)``: there is no other case. A call with replaced literals is not
    repeated if its values differ from the test's by more than the replaced words. Otherwise it is repeated if it still
    has the test's statements, data or secret literals, with exceptions for those in the base.
    """
    dialect, line, own = file.dialect, difference.line, _texts(difference.line.own)
    literals, shown = (literals_of(dialect, text) for text in ("\n".join(own), line.text))
    beside = {
        text for part in needed if not _is_of_base(dialect, file.base, part) for text in literals_of(dialect, part)
    }
    if shown <= literals:
        return any(map(_WORDS.search, shown | beside)) or _DATA.search(difference.after[1]) is not None
    pairs = zip(difference.values, difference.own, strict=True)
    if any(_restored(value, line.renamed) != _restored(test, line.renamed) for (_, value), (_, test) in pairs):
        return False
    last = [step.text for step in line.steps if step.text][-1:]
    call = [*last, difference.expression]
    # If the fix raises an error, another value before the fix is enough: who knows the error passes no other test.
    changed = difference.after != difference.own[1] or (
        difference.after[0] == "x" and difference.before != difference.own[0]
    )
    valued = [text for text in call if literals_of(dialect, text)]
    data = _plain_assignments(dialect, line.steps)
    call += data
    if last and set(call) <= set(own) and not (changed and all(appears(text, file.base) for text in valued)):
        return True  # the test's own call, unless the base has it and its result differs
    kept_data = (text for text in data if text in own and len(literals_of(dialect, text)) > 1)
    values = (text.partition(" = ")[2].strip("() \n") for text in kept_data)
    if not all(appears(value, file.base) for value in values):
        return True  # the base may have each line of the text, but not the whole
    return any(_is_secret(file, line, one) for one in (literals & shown) | beside)


def _is_secret(file: TestFile, line: Line, literal: str) -> bool:
    """Return whether an example must not show a literal.

    It may show a literal of the test file before the fix, if a plain value in the line was replaced.
    """
    secret = is_secret(literal, file.literals)
    if secret and literal in literals_of(file.dialect, file.base):
        secret = set(_plain_assignments(file.dialect, line.steps)) <= set(_texts(line.own))
    return secret


def _plain_assignments(dialect: Dialect, steps: Iterable[Step]) -> list[str]:
    """Return the statements that assign plain values to names."""
    return [step.text for step in steps if dialect.bound(step.text) and not dialect.used(step.text)]


def _is_another_error(difference: ProbeDifference) -> bool:
    """Return whether replaced literals change the error before the fix."""
    (kind, error), (own_kind, own_error) = difference.before, difference.own[0]
    words, own_words = (_restored(text, difference.line.renamed).split()[:1] for text in (error, own_error))
    return kind == own_kind == "x" and words != own_words


def _explained_by_lines(difference: ProbeDifference) -> bool:
    """Return whether the replaced text lines explain the changed values.

    They do if replaced lines lose and gain each word that the values lose and gain, compared with the values that the
    test's own literals give. True if no line was replaced.
    """
    line = difference.line
    if not line.replaced_lines:
        return True
    lost, gained = _word_changes(
        "\n".join(line.replaced_lines).lower(), "\n".join(line.replaced_lines.values()).lower()
    )
    pairs = zip(difference.own, difference.values, strict=True)
    found = [_word_changes(*(_restored(text, line.renamed) for _, text in pair)) for pair in pairs]
    return all(before <= lost and after <= gained for before, after in found)


def _word_changes(before: str, after: str) -> tuple[set[str], set[str]]:
    """Return the words and signs lost and added since ``before``."""
    one, other = (Counter(re.findall(r"\w+|\W", text)) for text in (before, after))
    return set(one - other), set(other - one)


def _restored(value: str, renamed: Mapping[str, str]) -> str:
    """Return a value in lower case, with its replacements undone.

    ``renamed`` maps replacements to the test's own words and numbers. Commas in numbers are removed.
    """
    text = re.sub(r"(?<=\d),(?=\d)", "", value.lower())
    others = sorted(renamed, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\d){other}(?!\d)" if other.isdigit() else re.escape(other) for other in others)
    return re.sub(pattern, lambda found: renamed[found[0]], text) if pattern else text


def _is_declared_twice(dialect: Dialect, line: Line) -> bool:
    places = {(name, step.depth) for step in line.steps for name in dialect.declared(step.text)}
    return len({name for name, _ in places}) < len(places)


def _texts(steps: Iterable[Step]) -> list[str]:
    return [text for step in steps for text in (step.text, *step.checked) if text]


@lru_cache(maxsize=1024)
def _is_of_base(dialect: Dialect, base: str, part: str) -> bool:
    return part in (dialect.context(base, dialect.declared(part)) or ())


def _shortened(file: TestFile, parts: list[str]) -> str:
    """Return ``parts``, imports and definitions, as one text.

    If the text is long, a comment replaces the definitions that the base has, and names them.
    """
    dialect = file.dialect
    shown = {part: without_comments(part, dialect.parse) for part in parts}
    of_base = {part for part in parts if _is_of_base(dialect, file.base, part)}
    text = "\n".join(shown.values())
    if len(text.splitlines()) <= MAX_LINES // 4 or not of_base.issuperset(part for part in parts if "\n" in part):
        return text
    kept = [part for part in parts if part not in of_base or _LOADS.search(part)]
    names = sorted({name for part in parts if part not in kept for name in dialect.declared(part)})
    return "\n".join([*map(shown.__getitem__, kept), f"{dialect.remark} {', '.join(names)}: see {file.path}"])


def _is_value(dialect: Dialect, definition: str) -> bool:
    """Return whether a definition is data, such as a table."""
    nodes = dialect.parse(definition).named_children
    value = not any(re.search("import|function|class|decorated", node.type) for node in nodes)
    return value and bool(literals_of(dialect, definition))
