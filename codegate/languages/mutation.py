"""Find where test files can be instrumented, and what their assertions could expect instead. Nothing is executed.

The engine is the same for every language; a language's folder brings a ``Finder`` with a table of operators. What is
found are records in JSON, of which ``grading/controls/sites.py`` says what they mean.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from codegate.languages.syntax import field, text_of
from codegate.languages.values import near, strange

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SITES: Final = 20_000
_MAX_LITERALS: Final = 16
_MAX_TEXT: Final = 1000
_WORD: Final = re.compile(r"[^\W\d_]{2,12}")

Edit = tuple[int, int, str]
Value = bool | int | float | str


@dataclass(frozen=True)
class Operator:
    """How an assertion is made to expect something else.

    Attributes:
        expected: numbers of the arguments that may say what is expected, the likeliest first.
        part: what is found may have more in it than is expected.
        opposite: the names of assertions that fail where this one holds.
        changed: number of the argument that a call changes, where nothing of it is written out.
        weak: as of ``sites.Mutant``.
    """

    expected: tuple[int, ...] = ()
    part: bool = False
    opposite: tuple[str, ...] = ()
    changed: int | None = None
    weak: bool = False


class Place(NamedTuple):
    """An assertion: where a change of it takes effect, where it ends, where its receipt can tell, and its row."""

    order: int
    assertion: int | None = None
    row: int | None = None


class Finder:
    """Finds the receipts, values and mutants of one test file.

    Attributes:
        written: types of nodes that write a value out, each with the field that its parts are in; empty: all of them.
        found: the records.
        test: the test that is being searched.
        hidden: the numbers of the values that are read from a table, by where their literals start.
    """

    written: ClassVar[Mapping[str, str]]
    strings: ClassVar[frozenset[str]]

    def __init__(self, path: str, data: bytes, root: "Node", runner: str) -> None:
        self.path, self.data, self.root, self.runner = path, data, root, runner
        self.found: list[dict[str, Any]] = []
        self.test = ""
        self.hidden: dict[int, int] = {}
        self._values = 0
        self.words = sorted({word for text in self.texts() if len(text) < _MAX_TEXT for word in _WORD.findall(text)})

    def texts(self) -> Iterable[str]:
        """Yield the texts that the file has written out."""
        return (text_of(node) for node in below(self.root) if node.type in self.strings)

    def search(self) -> list[dict[str, Any]]:
        """Return all records of the file."""
        raise NotImplementedError

    def value_of(self, node: "Node") -> Value | None:
        """Return the value of a literal; None for all other nodes."""
        raise NotImplementedError

    def write(self, value: Value, like: "Node") -> str | None:
        """Return a value as the language writes it in the place of a literal; None where it may not stand there."""
        raise NotImplementedError

    # What is recorded

    def add(self, kind: str, edits: Iterable[Edit], **record: Any) -> None:
        """Add a record."""
        self.found.append({"kind": kind, "file": self.path, "edits": list(edits), **record})

    def receipt(self, order: int, edits: Iterable[Edit], *, required: bool = True) -> None:
        """Add the receipt of an assertion that ends at ``order``."""
        self.add("receipt", edits, test=self.test, order=order, required=required)

    def value(self, text: str, *edits: Edit) -> int:
        """Add a value that is read from the table; return its number."""
        self.add("value", edits, text=text)
        self._values += 1
        return self._values - 1

    def mutant(
        self, at: Place, choices: Sequence[str], *edits: Edit, value: int | None = None, weak: bool = False
    ) -> None:
        """Add a mutant; it has one of the ``choices`` in the ``edits``, or as the ``value`` of that number."""
        if choices:
            self.add("mutant", edits, test=self.test, **at._asdict(), choices=list(choices), value=value, weak=weak)

    def replace(self, at: Place, node: "Node", choices: Sequence[str], *, weak: bool = False) -> None:
        """Add a mutant with one of the ``choices`` in the place of a node."""
        self.mutant(at, choices, (node.start_byte, node.end_byte, "$choice$"), weak=weak)

    # What is expected

    def literals(self, node: "Node | None") -> list["Node"]:
        """Return the literals that decide what a node is, if it is written out."""
        if node is None:
            return []
        if self.value_of(node) is not None:
            return [node]
        if node.type not in self.written:
            return []
        name = self.written[node.type]
        parts = [field(node, name)] if name else node.named_children
        return [literal for part in parts for literal in self.literals(part)]

    def expect(self, at: Place, node: "Node", *, part: bool = False, weak: bool = False) -> bool:
        """Add mutants of what a test expects, where it is written out; return whether there are some."""
        before = len(self.found)
        for literal in some(self.literals(node)):
            value = self.value_of(literal)
            if isinstance(value, bool):
                others: list[Any] = [not value]
            else:
                others = strange(value) if part else near(value, self.words)
            texts = [text for one in others if (text := self.write(one, literal)) is not None]
            number = self.hidden.get(literal.start_byte)
            if number is None:
                self.replace(at, literal, texts, weak=weak)
            else:
                self.mutant(at, texts, value=number)
        return len(self.found) > before

    def apply(self, at: Place, operator: Operator, args: Sequence["Node"], name: "Node | None") -> bool:
        """Add the mutants of an assertion with that operator; return whether there are some."""
        given = [args[number] for number in operator.expected if number < len(args)]
        if any(self.expect(at, arg, part=operator.part, weak=operator.weak) for arg in given):
            return True
        if operator.opposite and name is not None:
            self.replace(at, name, operator.opposite, weak=operator.weak)
            return True
        if operator.changed is None or operator.changed >= len(args):
            return False
        self.change(at, args[operator.changed])
        return True

    def change(self, at: Place, node: "Node") -> None:
        """Add a mutant for which a call gives another value than that of an expression."""
        raise NotImplementedError


def below(node: "Node", closed: Collection[str] = ()) -> Iterable["Node"]:
    """Yield a node and all that is named in it, but for what is in nodes of the types ``closed``."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if current.type not in closed or current == node:
            stack.extend(reversed(current.named_children))


def some(found: Sequence["Node"], most: int = _MAX_LITERALS) -> list["Node"]:
    """Return not too many of what was found, from its beginning to its end."""
    step = max((len(found) - 1) / (most - 1), 1.0)
    return [found[round(number * step)] for number in range(min(len(found), most))]


def next_letter(letter: str) -> str:
    """Return another letter or digit of the same kind."""
    return {"9": "0", "z": "a", "Z": "A"}.get(letter) or chr(ord(letter) + 1)


def arguments(call: "Node | None") -> list["Node"]:
    """Return the arguments of a call."""
    listed = field(call, "arguments")
    return [each for each in listed.named_children if each.type != "comment"] if listed is not None else []
