"""Find a file's tests and replacements for their literals.

A *flip* replaces one literal, name or operator in a test. Whether the test depends on it is not analysed: the grader
runs the flipped test on the reference fix, and keeps the flip if the test fails. A literal belongs to a *class*, a
fixed set of similar literals; the other members are its replacements. So a patch cannot tell from a value whether it is
the original. A flip is *weak* if a patch can tell: it changes an operator (``==`` to ``!=``), or an older version of
the test reveals the original literal.
"""

import re
import string
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import TYPE_CHECKING, ClassVar, Final

from codegate.durable import digest
from codegate.languages.syntax import text_of, walk
from codegate.strict import Strict, fits_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE: Final = "\0"
"""Placeholder in a test's name for a part that is known only at run time."""
BLOCK: Final = 16
"""Most members of a class of literals: the original and its replacements."""
_COMPARISONS: Final = (("==", "!="), ("<", ">="), (">", "<="))
_MOST_SITES: Final = 400
_DEEPEST: Final = 100
_WEAK_SITES: Final = 6
_CONTENT: Final = frozenset(
    {"string_content", "string_fragment", "interpreted_string_literal_content", "raw_string_literal_content"}
)
_TEMPLATES: Final = frozenset({"template_string"})  # literals may stand in the expressions inside
_NUMBER: Final = re.compile(r"(\d+)(?:\.(\d)(\d*))?([lLfFdD]?|_?[iuf](?:8|16|32|64|128|size))")
_TOKEN: Final = re.compile(rb"\w+(?:\.\d\w*)?|[^\w\s]")
_WORD: Final = re.compile(r"(?<!\\)(?<![^\W_])[^\W\d_]{2,12}(?![^\W_])")
_LETTERS: Final = string.ascii_lowercase[:13], string.ascii_lowercase[13:]
_SIGNS: Final = (string.digits, *_LETTERS, *map(str.upper, _LETTERS))


class Site(Strict):
    """A replaceable literal, name or operator in a test.

    Its start and end are in bytes of the file.

    Attributes:
        row: replacing it may affect only one row of a table.
        value: it is a literal or a name, not an operator; its ``texts`` are then the other members of its class.
        name: an id of the site, the same whenever the same file is read.
        texts: the replacements, in an order that does not reveal the original.
        known: an older version of the test reveals which text is the original.
    """

    start: int
    end: int
    row: bool
    value: bool
    name: str
    texts: tuple[str, ...]
    known: bool = False

    @property
    def strong(self) -> bool:
        """Return whether a patch cannot guess the site's original text."""
        return self.value and not self.known


class EditableTest(Strict):
    """A test in a file's text, with places to edit.

    Attributes:
        name: the test's name in the runner's ids, without file and parameters; ``HOLE`` stands for parts known only at
            run time.
        span: start and end in bytes, decorators and annotations included.
        word: a byte position in the test's name, and the text to insert there, in which ``$word$`` stands for a random
            word.
        marks: the byte position and the text of each mark to insert (see ``TestSyntax``), in which ``$mark$`` and
            ``$token$`` are placeholders.
        sites: places that have replacements.
        alone: the file cannot hold copies of the test.
    """

    file: str
    name: str
    span: tuple[int, int]
    word: tuple[int, str]
    marks: tuple[tuple[int, str], ...]
    sites: tuple[Site, ...]
    alone: bool = False

    @property
    def own_name(self) -> str:
        """Return the test's own name, without classes or groups."""
        return self.name.rpartition("::")[2]

    def may_be(self, name: str) -> bool:
        """Return whether a run may report this test as ``name``."""
        return any(fits_pattern(name, one.split(HOLE)) for one in (self.name, f"{self.name} > {HOLE}"))


@dataclass(frozen=True)
class TestNodes:
    """The syntax nodes of one test.

    Attributes:
        node: the whole test, without ``before``.
        name_node: the test's name.
        alone: the file cannot hold copies of the test.
        before: nodes in front of ``node`` that belong to the test, such as attributes.
    """

    name: str
    node: "Node"
    name_node: "Node"
    statements: "Sequence[Node]"
    alone: bool = False
    before: "Sequence[Node]" = ()


class TestSyntax(ABC):
    """Finds a language's tests in syntax trees, and edits them.

    A *mark* is a call that is inserted after a statement and records that the statement ran.
    """

    __test__ = False

    literals: ClassVar[Mapping[str, str]] = {}
    """By type of literal node, its kind: ``text``, ``number`` or ``truth``."""
    leaving: ClassVar[str] = "return_statement"
    """Type of the node that ends a test early."""
    functions: ClassVar[frozenset[str]] = frozenset()
    """Node types of nested functions; a ``leaving`` node inside ends only the function."""

    @abstractmethod
    def tests(self, root: "Node") -> Iterator[TestNodes]:
        """Yield nodes that may be tests, in file order."""

    def mark(self, statement: "Node", data: bytes) -> str:  # noqa: ARG002
        """Return the mark to insert after ``statement``, or "".

        ``data`` is the content of the file.
        """
        return ""

    def marks(self, test: TestNodes, data: bytes) -> Iterator[tuple[int, str]]:
        """Yield the byte position and text of each mark.

        ``data`` is the content of the file. The last mark is before the first statement that may end the test.
        """
        marked = takewhile(lambda node: not self.leaves(node), test.statements)
        yield from ((node.end_byte, mark) for node in marked if (mark := self.mark(node, data)))

    def word(self, named: "Node") -> tuple[int, str]:
        """Return the byte position and text that rename a test.

        ``named`` is the node of the test's name; ``$word$`` in the text stands for a random word.
        """
        at = text_of(named).encode().rfind(b"_")
        return (named.start_byte + at if at > 0 else named.end_byte), "_$word$"

    def names(self, node: "Node") -> Sequence[str]:  # noqa: ARG002
        """Return names that may replace ``node`` in a table.

        They are the other names in its column. Empty if ``node`` is no name in a test's table.
        """
        return ()

    @abstractmethod
    def toggled(self, node: "Node") -> Sequence[str]:
        """Return opposites of an operator, such as ``!=`` for ``==``."""

    @abstractmethod
    def is_fixed(self, node: "Node", test: TestNodes) -> bool:
        """Return whether no control may replace ``node``."""

    def leaves(self, statement: "Node") -> bool:
        """Return whether a statement may end the test early."""
        return any(one.type == self.leaving for one in _inside(statement, self.functions))

    def is_row(self, node: "Node", test: TestNodes) -> bool:
        """Return whether replacing ``node`` may affect one table row only."""
        return node.start_byte < test.statements[0].start_byte

    @abstractmethod
    def is_part(self, node: "Node") -> bool:
        """Return whether the test looks for ``node`` within other texts."""


def opposites(*pairs: tuple[str, str]) -> dict[str, str]:
    """Return each operator's opposite, such as ``!=`` for ``==``.

    The result has all comparison operators, and the further ``pairs``, in both directions.
    """
    return {one: other for pair in (*_COMPARISONS, *pairs) for one, other in (pair, pair[::-1])}


def editable_tests(file: str, data: bytes, root: "Node", syntax: TestSyntax) -> list[EditableTest]:
    """Return a file's tests that parse and have unique names."""
    found: dict[str, list[TestNodes]] = {}
    for test in syntax.tests(root):
        found.setdefault(test.name, []).append(test)
    texts = (text_of(node) for node in walk(root) if node.type in _CONTENT)
    words = sorted({word.lower() for text in texts for word in _WORD.findall(text)}, key=lambda one: (len(one), one))
    return [
        _unit(file, data, tests[0], syntax, words)
        for tests in found.values()
        if len(tests) == 1 and not tests[0].node.has_error
    ]


def _unit(file: str, data: bytes, test: TestNodes, syntax: TestSyntax, words: Sequence[str]) -> EditableTest:
    strong: list[Site] = []
    weak: list[Site] = []
    start = (*test.before, test.node)[0].start_byte
    for node in chain.from_iterable(map(_inside, (*test.before, test.node))):
        if test.name_node.start_byte <= node.start_byte < test.name_node.end_byte or syntax.is_fixed(node, test):
            continue
        kind = syntax.literals.get(node.type)
        named = [] if kind else syntax.names(node)
        texts = _members(node, kind, [] if syntax.is_part(node) else words) if kind else named or syntax.toggled(node)
        found = strong if kind or named else weak
        if not texts or len(found) >= _MOST_SITES:
            continue
        place = digest([file, test.name, node.start_byte - start, text_of(node), *texts])[:10]
        site = Site(start=node.start_byte, end=node.end_byte, row=syntax.is_row(node, test),
                    value=found is strong, name=place, texts=tuple(texts))  # fmt: skip
        found.append(site)
    return EditableTest(
        file=file,
        name=test.name,
        span=(start, test.node.end_byte),
        word=syntax.word(test.name_node),
        marks=tuple(syntax.marks(test, data)),
        sites=(*strong, *spread(weak, _WEAK_SITES)),
        alone=test.alone,
    )


def with_known_sites(
    units: Sequence[EditableTest], data: bytes, older: Sequence[EditableTest], older_data: bytes
) -> list[EditableTest]:
    """Return the tests ``units`` with each site's ``known`` set.

    A site is known if an older version of its test reveals the original text. The older version is the test of the same
    name, or else the removed test with the most tokens in common. ``older`` are the tests of the older file; ``data``
    and ``older_data`` are the contents of the two files.
    """
    texts = {unit.name: frozenset(_TOKEN.findall(older_data, *unit.span)) for unit in older}
    names = {unit.name for unit in units}
    gone = [text for name, text in texts.items() if name not in names]
    marked = []
    for unit in units:
        own = frozenset(_TOKEN.findall(data, *unit.span))
        alike = texts.get(unit.name) or max(gone, key=lambda one: len(own & one), default=frozenset())
        sites = tuple(
            site.model_copy(update={"known": site.value and _is_known(data[site.start : site.end], site.texts, alike)})
            for site in unit.sites
        )
        marked.append(unit.model_copy(update={"sites": sites}))
    return marked


def _is_known(own: bytes, texts: Sequence[str], older: Collection[bytes]) -> bool:
    others = [_TOKEN.findall(text.encode()) for text in texts]
    for number, token in enumerate(_TOKEN.findall(own)):
        changed = {one[number] for one in others if number < len(one)} - {token}
        if changed and (token in older or changed.issubset(older)):
            return True
    return False


def spread(sites: Sequence[Site], most: int) -> list[Site]:
    """Return at most ``most`` sites, evenly spread, in reverse order."""
    if len(sites) <= most or most < 2:
        return list(reversed(sites))[:most]
    return [sites[round(number * (len(sites) - 1) / (most - 1))] for number in reversed(range(most))]


def _inside(node: "Node", closed: Collection[str] = ()) -> "Iterator[Node]":
    # Nodes within texts and within nodes of the types ``closed`` are left out.
    stack = [(node, 0)]
    while stack:
        current, depth = stack.pop()
        yield current
        is_text = any(child.type in _CONTENT for child in current.children) and current.type not in _TEMPLATES
        if depth < _DEEPEST and current.type not in closed and not is_text:
            stack.extend((child, depth + 1) for child in reversed(current.children))


def _members(node: "Node", kind: str, words: Sequence[str]) -> list[str]:
    text = text_of(node)
    if kind == "truth":
        other = {"true": "false", "false": "true"}[text.lower()]
        return [other.capitalize() if text[0].isupper() else other]
    if kind == "number":
        return _numbers(text)
    contents = [child for child in node.children if child.type in _CONTENT] if node.children else [node]
    if not contents or any("interpolation" in child.type or "substitution" in child.type for child in node.children):
        return []
    raw, start = text.encode(), contents[0].start_byte - node.start_byte
    end = contents[-1].end_byte - node.start_byte
    body = raw[start:end].decode("utf-8", "replace")
    return [(raw[:start] + one.encode() + raw[end:]).decode() for one in _words(body, words) or _letters(body)]


def _numbers(text: str) -> list[str]:
    """Return replacements of a number, with equally many trailing zeros."""
    found = _NUMBER.fullmatch(text)
    if not found or (len(found[1]) > 1 and found[1][0] == "0"):
        return []
    number = int(found[1] + (found[2] or ""))
    zeros = len(str(number)) - len(str(number).rstrip("0")) if number else 0
    first = int(not zeros)  # zero is the first number without trailing zeros
    core = number // 10**zeros
    place = core - core // 10 - 1 + first if core else 0
    block = range(place - place % BLOCK, place - place % BLOCK + BLOCK)
    others = [_core(one - first) * 10**zeros for one in block if one != place]
    if found[2] is None:
        return [f"{one}{found[4]}" for one in others]
    digits = [str(one).zfill(2) for one in others]
    return [f"{one[:-1]}.{one[-1]}{found[3]}{found[4]}" for one in digits]


def _core(place: int) -> int:
    return place + place // 9 + 1 if place >= 0 else 0


def _words(body: str, words: Sequence[str]) -> list[str]:
    """Return copies of ``body`` with other last words.

    The words come from ``words``. Empty if ``words`` lacks the last word of ``body``.
    """
    own = list(_WORD.finditer(body))
    if not own or (last := own[-1])[0].lower() not in words:
        return []
    style = str.upper if last[0].isupper() else str.capitalize if last[0][0].isupper() else str.lower
    if style(last[0]) != last[0]:
        return []
    at = words.index(last[0].lower())
    block = words[at - at % BLOCK : at - at % BLOCK + BLOCK]
    found = [body[: last.start()] + style(one) + body[last.end() :] for one in block if one != last[0].lower()]
    return found if len(found) > 1 else []


def _letters(body: str) -> list[str]:
    own = list(re.finditer(r"(?<!\\)[A-Za-z0-9]", body))
    if not own:
        return []
    at, sign = own[-1].start(), own[-1][0]
    kind = next(kind for kind in _SIGNS if sign in kind)
    return [body[:at] + one + body[at + 1 :] for one in kind if one != sign]
