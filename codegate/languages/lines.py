"""Read tests as lines of statements.

A line has the statements that one execution of a test function runs, in order. A function has a line for each row of
its tables (each set of arguments) and for each subtest. A step of a line is a statement, or the expressions that an
assertion checks. A probe is a generated test that runs a line and records the values of these expressions.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, cast

from codegate.languages.registry import path_language
from codegate.languages.syntax import Grammar, decode, field, parse, text_of, walk
from codegate.plugins import load_part
from codegate.suite import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

MARK: Final = "codegate-probe:"
"""Precedes the records in a probe's failure message."""

MOCK: Final = "a mock for "
"""Begins a mock's description in ``Dialect.describe_fixtures``, before the name of the replaced object."""

Value = tuple[str, str]
"""A recorded value or error: its kind and its text.

Kinds are ``e``: an error as a value; ``s``: a text; ``x``: an error that was raised; ``v``: anything else.
"""


@dataclass(frozen=True)
class Step:
    """One statement, or one assertion without its expectation.

    Attributes:
        text: the statement; empty if there is only an assertion.
        checked: expressions whose values an assertion compares, after ``text``.
        raises: the assertion expects an error, as a value or thrown.
        panics: the assertion expects a thrown error or a panic.
        depth: number of blocks around the step. A name can have another value in an inner block.
    """

    text: str = ""
    checked: tuple[str, ...] = ()
    raises: bool = False
    panics: bool = False
    depth: int = 0


@dataclass(frozen=True)
class Line:
    """What one execution of a test runs, statement by statement.

    A probe (a generated test) may run a copy of a line, with other literals.

    Attributes:
        test: name or titles of the test function.
        replaced: in a copy, the number of literals that differ from the test's.
        renamed: maps words and numbers of the copy to those of the test.
        replaced_lines: maps lines of the test's texts to the lines that replace them in the copy.
        renumbered: 1 if numbers differ in the copy, 2 if numbers in texts do.
        own: in a copy, the steps of the original line.
        frame: the class, module or function around the steps, as the dialect names it.
        fixtures: names that the test framework provides.
    """

    test: str
    steps: tuple[Step, ...]
    replaced: int = 0
    renamed: Mapping[str, str] = attribute(default_factory=dict)
    replaced_lines: Mapping[str, str] = attribute(default_factory=dict)
    renumbered: int = 0
    own: tuple[Step, ...] = ()
    frame: str = ""
    fixtures: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """Return the steps' statements as source code."""
        return code_of(self.steps)

    @property
    def text(self) -> str:
        """Return statements and checked expressions as one text."""
        return "\n".join(text for step in self.steps for text in (step.text, *step.checked) if text)


def code_of(steps: Iterable[Step]) -> str:
    """Return the statements of ``steps`` as source code."""
    return "\n".join(step.text for step in steps if step.text)


def joined(context: str, code: str) -> str:
    """Return ``context`` (imports and definitions) followed by ``code``."""
    return ("\n\n" if context.endswith("}") else "\n").join(filter(None, (context, code)))


class RenderedExample(NamedTuple):
    """An example as readers of a statement see it.

    ``observed`` and ``expected`` are what ``expression``, after ``code``, gives without and with the fix.
    ``expression`` is empty if ``code`` itself raises.
    """

    code: str
    expression: str
    observed: str
    expected: str


@dataclass(frozen=True)
class Dialect(ABC):
    """Reads one language's tests; writes generated tests (probes). Stateless.

    Attributes:
        fence: language of a Markdown code block.
        suffixes: suffixes of the language's source files.
        remark: text that begins a comment.
        idle: a statement that does nothing, where a block must have one.
        ending: text that ends a statement; empty if the end of its line does.
        raising: word that precedes a raised error in an example.
        probe: beginning of the name of a probe's test.
        place: regular expression for an error's place in a compiler's message, where ``{}`` stands for the file and
            the group is the line number. Empty if probes that do not compile are left out before anything runs.
        assignments: types of nodes that change the value of their left side.
        apart: examples can run without the rest of their test file and without other hidden files.
    """

    grammar: Grammar
    fence: str
    suffixes: tuple[str, ...]
    remark: ClassVar[str] = "//"
    idle: ClassVar[str] = ""
    ending: ClassVar[str] = ""
    raising: ClassVar[str] = "throws"
    probe: ClassVar[str]
    place: ClassVar[str] = ""
    assignments: ClassVar[frozenset[str]] = frozenset()
    apart: ClassVar[bool] = False

    def parse(self, text: str) -> "Node":
        """Return the syntax tree of a file, or of statements."""
        return parse(text, self.grammar)

    def parses(self, source: bytes) -> bool:
        """Return whether a file has no syntax errors."""
        return not self.parse(decode(source)).has_error

    def function(self, test: str) -> str:
        """Return the function's name in ``test``, an id without file."""
        return test.rpartition("::")[2]

    def source(self, path: str, tree: Tree) -> str:
        """Return the text of a test file; "" if absent.

        A dialect may add the asserting functions that the file imports.
        """
        return decode(tree[path].data) if path in tree else ""

    def visible_files(self, path: str, tree: Tree) -> Iterator[str]:  # noqa: ARG002
        """Yield texts of test files whose declarations ``path`` can use."""
        yield from ()

    @abstractmethod
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        """Yield a ``Line`` for each execution of a test.

        ``source`` is the text of the test file, and ``tests`` are ids without files. ``base`` is the file's text before
        the fix. If a table has new rows, only these are read. ``beside`` are the texts of other test files, whose
        asserting functions are read too.
        """

    @abstractmethod
    def literals(self, node: "Node") -> Iterator["Node"]:
        """Yield the nodes of number literals and of strings' contents."""

    @abstractmethod
    def names(self, node: "Node") -> set[str]:
        """Return the names that a statement or definition declares."""

    def declared(self, text: str) -> frozenset[str]:
        """Return the names that a file's definitions declare."""
        return frozenset(name for node in self.parse(text).named_children for name in self.names(node))

    def bound(self, text: str) -> frozenset[str]:
        """Return the names that statements declare or assign."""
        changed = (each for each in walk(self.parse(text)) if each.type in self.assignments)
        names = (next((one for one in walk(field(each, "left")) if one.type == "identifier"), None) for each in changed)
        return self.declared(text) | {text_of(name) for name in names if name is not None}

    def steps_for(self, shared: Sequence[Step], text: str, own: frozenset[str]) -> tuple[Step, ...]:
        """Return the ``shared`` steps that the code ``text`` needs.

        ``shared`` are steps before all tests; ``own`` are names that the code defines itself.
        """
        kept: list[Step] = []
        wanted = self.used(text) - own
        for step in reversed(shared):
            bound, used = self.bound(step.text), self.used(step.text)
            if wanted & bound or (not bound and wanted & used):
                kept.insert(0, step)
                wanted |= used - own
        return tuple(kept)

    def definitions_of(self, nodes: "Sequence[Node]", names: Iterable[str]) -> list[str]:
        """Return the source of the ``nodes`` that define ``names``.

        Nodes that define what these definitions use are included.
        """
        chosen: list[Node] = []
        wanted, before = set(names), -1
        while len(chosen) != before:
            before = len(chosen)
            for node in nodes:
                if node not in chosen and self.names(node) & wanted:
                    chosen.append(node)
                    wanted |= self.used(text_of(node))
        return [text_of(node) for node in nodes if node in chosen]

    @abstractmethod
    def used(self, text: str) -> frozenset[str]:
        """Return the names that statements or expressions mention."""

    def probe_name(self, probe: str, line: Line) -> str:  # noqa: ARG002
        """Return the name of a probe's test, without its file."""
        return f"{self.probe}{probe}"

    @abstractmethod
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        """Return, by path, texts of test files that run ``probes``.

        ``source`` is the text of the test file at ``path``. The probes replace its tests; if ``beside``, the tests
        stay. ``probes`` has lines by name; a name becomes part of the generated test's name.
        """

    def files_with_only(self, path: str, source: str, base: str, probes: Mapping[str, Line]) -> dict[str, str]:  # noqa: ARG002
        """Return, by path, test files with nothing but ``probes``.

        They have only imports and definitions that a reader of the example sees. ``base`` is the text of the file
        before the fix. Dialects with ``apart`` override this.
        """
        return self.files(path, source, probes)

    @abstractmethod
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        """Return the imports and definitions of ``source`` that ``names`` need.

        None if a name is unknown.
        """

    def undefined_names(self, source: str, line: Line) -> frozenset[str]:
        """Return names that a line uses but does not define.

        Fixtures that the test file ``source`` defines are among them.
        """
        own = frozenset(name for step in line.steps for name in self.bound(step.text)) | {*line.fixtures, "self"}
        defined = {name for name in line.fixtures if self.context(source, frozenset({name})) is not None}
        return self.used(line.text) - (own - defined)

    def surroundings(self, source: str, line: Line) -> list[str] | None:
        """Return the imports and definitions that a line needs.

        None if it uses an unknown name.
        """
        return self.context(source, self.undefined_names(source, line))

    def describe_fixtures(self, source: str, line: Line) -> dict[str, str] | None:  # noqa: ARG002
        """Return descriptions of a line's fixtures, by name.

        The name "" is for a test case class that the line does not mention. None if a fixture cannot be described.
        """
        return {}

    def render_example(
        self,
        path: str,  # noqa: ARG002
        context: str,
        steps: Sequence[Step],
        expression: str,
        before: Value,
        after: Value,
    ) -> "RenderedExample":
        """Return an example as readers of a statement see it.

        The code is ``context`` (imports and definitions) followed by ``steps``. ``before`` and ``after`` are the values
        of ``expression`` without and with the fix.
        """
        old, new = (self.value(*each) for each in (before, after))
        return RenderedExample(joined(context, code_of(steps)), expression, old, new)

    def value(self, kind: str, text: str) -> str:
        """Return a recorded value as readers see it.

        ``kind`` is ``x`` for a raised error, which gets the word ``raising`` in front.
        """
        return f"{self.raising} {text}" if kind == "x" else text

    def tidy(self, steps: tuple[Step, ...], expression: str) -> tuple[Step, ...]:  # noqa: ARG002
        """Return ``steps`` without code that ``expression`` does not need."""
        return steps

    def rejected_probes(self, path: str, source: str, message: str) -> frozenset[str]:
        """Return the names of probes that a compiler rejects.

        ``message`` is the compiler's, and ``source`` is the text of the probes' test file ``path``.
        """
        place = re.compile(self.place.format(re.escape(path.rpartition("/")[2])), re.MULTILINE | re.DOTALL)
        head, lines, found = re.compile(rf".*\b{self.probe}(\w+)\("), source.splitlines(), set[str]()
        for number in set(map(int, place.findall(message) if self.place else ())):
            heads = (match[1] for line in reversed(lines[:number]) if (match := head.match(line)) is not None)
            found.update(islice(heads, 1))
        return frozenset(found)


def dialect_of(path: str) -> Dialect | None:
    """Return the ``Dialect`` that reads a test file, or None.

    None if codegate cannot read the statements of tests with this suffix. The file itself is not read.
    """
    language = path_language(path)
    if language is None or not language.lines:
        return None
    return cast("Mapping[str, Dialect]", load_part(language.lines)).get(PurePosixPath(path).suffix)


def with_braces(line: Line, write: Callable[[int, Step, int], Iterable[str]]) -> str:
    """Return a line's steps as code, with braces around blocks.

    ``write`` returns the code of one step. Its arguments are the step's index, the step, and the number of checked
    expressions in all earlier steps.
    """
    parts, depth, number = list[str](), 0, 0
    for at, step in enumerate(line.steps):
        parts += [*"{" * (step.depth - depth), *write(at, step, number)]
        depth, number = step.depth, number + len(step.checked)
    return "\n".join([*parts, *"}" * depth])


@lru_cache(maxsize=1024)
def literals_of(dialect: Dialect, text: str) -> frozenset[str]:
    """Return all text and number literals in ``text``."""
    return frozenset(text_of(node) for node in dialect.literals(dialect.parse(text)))
