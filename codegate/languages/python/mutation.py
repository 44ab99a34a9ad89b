"""Where tests in Python can be instrumented: ``assert`` and methods that assert, contexts that wait, and literals."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from codegate.languages.mutation import MAX_SITES, below
from codegate.languages.python.assertions import Assertions
from codegate.languages.python.expressions import called, is_literal, parts, plain, value_of
from codegate.languages.python.names import BUILTINS, STANDARD_LIBRARY
from codegate.languages.python.operators import EXPECTING, OPEN
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPES: Final = frozenset({"function_definition", "class_definition", "lambda"})
_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_LEAVING: Final = frozenset({"return_statement", "yield"})
#: What no run reads from a table: types, patterns, and texts that interpreters put together.
_CLOSED: Final = frozenset({"type", "type_parameter", "type_alias_statement", "interpolation"})
_HANDLERS: Final = frozenset({"except_clause", "except_group_clause"})
_ENDING: Final = frozenset({"expression_statement", "delete_statement"})


class PythonFinder(Assertions):
    """Finds the sites of one file."""

    def search(self) -> list[dict[str, Any]]:
        """See ``Finder.search``."""
        tests = {name: node for name, node in _functions(self.root) if not node.has_error}
        for node in tests.values():
            # Equal literals of one function are one object, which a value that is read from a table is not.
            if not any(called(part) == "id" for part in below(node)):
                self._hide(node)
        self.known_names = _known_names(self.root)
        for name, node in tests.items():
            function = field(node, "definition") or node
            body = field(function, "body")
            if body is None:
                continue
            self.test, self.ends = name, set()
            certain = not _returns(function)
            self.begin(node, body)
            self._statements(body, certain=certain)
            self._last_statement(body, certain=certain)
            self.finish()
        for name, written in _inherited(self.root, tests):
            self.found.append({"kind": "alias", "file": self.path, "test": name, "of": written})
        return self.found[:MAX_SITES]

    def _hide(self, node: "Node") -> None:
        """Find the literals of a test that can be read from a table."""
        stack = [node]
        while stack:
            each = stack.pop()
            if each.type in {"string", "concatenated_string", "integer", "float"} or each.start_byte in self.hidden:
                self._hide_literal(each)
            elif each.type == "case_clause":
                stack += each.children_by_field_name("consequence")
            elif not _is_text(each) and each.type not in _CLOSED:
                stack += reversed(each.named_children)

    def _hide_literal(self, node: "Node") -> None:
        value, start, end = value_of(node), node.start_byte, node.end_byte
        if value is ... or start in self.hidden or value == float("inf"):
            return
        breaks = "\n" * len(_BREAK.findall(self.data[start:end]))
        self.hidden[start] = self.value(repr(value), (start, end, f'($value$({breaks}"$token$"))'))

    # Statements

    def _receipt_behind(self, node: "Node", *, certain: bool) -> None:
        at = node.end_byte
        self.ends.add(at)
        self.receipt(at, [(at, at, '; $receipt$("$token$")')], required=certain)

    def _last_statement(self, body: "Node", *, certain: bool) -> None:
        """Find the receipt of a test's end, where its last statement has none of its own."""
        last = parts(body)[-1]
        inner = next(iter(parts(last)), last)
        typed = inner.type == "assignment" and field(inner, "type") is not None
        if last.type in _ENDING and not typed and last.end_byte not in self.ends:
            self._receipt_behind(last, certain=certain)

    def _statements(self, body: "Node | None", *, certain: bool) -> None:
        """Find receipts and mutants in a block; ``certain``: a test that passes has run all of it."""
        for node in parts(body):
            if node.type == "assert_statement":
                self._receipt_behind(node, certain=certain)
                if not self.swallowed:
                    self.condition(node.end_byte, parts(node)[0])
            elif node.type == "expression_statement":
                call = parts(node)[0]
                call = parts(call)[0] if call.type == "await" else call
                if called(call).startswith(("assert", "raises", "warns", "fail")):
                    self._receipt_behind(node, certain=certain)
                    if not self.swallowed:
                        self.call(node.end_byte, call)
            elif node.type == "with_statement":
                self._with(node, certain=certain)
            elif node.type in {"if_statement", "for_statement", "while_statement"}:
                outer, self.looped = self.looped, self.looped or node.type != "if_statement"
                self._statements(field(node, "consequence") or field(node, "body"), certain=False)
                self.looped = outer
                for other in node.children_by_field_name("alternative"):
                    self._statements(field(other, "consequence") or field(other, "body"), certain=False)
            elif node.type == "try_statement":
                self._try(node, certain=certain)

    def _with(self, node: "Node", *, certain: bool) -> None:
        items = [field(item, "value") for clause in parts(node)[:1] for item in parts(clause)]
        contexts = [plain(parts(item)[0] if item.type == "as_pattern" else item) for item in items if item is not None]
        through = all(OPEN.fullmatch(called(context)) for context in contexts)
        expected = [context for context in contexts if context is not None and EXPECTING.fullmatch(called(context))]
        outer, body = self.swallowed, field(node, "body")
        for call in expected:
            if node.children[0].type != "async":
                start, end = call.start_byte, call.end_byte
                self.ends.add(end)
                self.receipt(
                    end, [(start, start, '$guard$("$token$", '), (end, end, ")")], required=certain
                )  # it wraps the context, since nothing can follow a block on its line
            if not self.swallowed:
                self.expectation(call, block=True)
        # Behind what raises nothing is run; what fails before it may be what is waited for.
        waits = any("warns" not in called(call).lower() for call in expected)
        self.swallowed = outer or waits or not (through or expected)
        self._statements(body, certain=certain and through)
        self.swallowed = outer

    def _try(self, node: "Node", *, certain: bool) -> None:
        handlers = [each for each in parts(node) if each.type in _HANDLERS]
        outer, self.swallowed = self.swallowed, self.swallowed or bool(handlers)
        self._statements(field(node, "body"), certain=False)
        for handler in handlers:
            self._statements(parts(handler)[-1], certain=False)
        self.swallowed = outer
        for other in parts(node):
            if other.type == "else_clause":
                self._statements(field(other, "body"), certain=False)
            elif other.type == "finally_clause":
                self._statements(parts(other)[-1], certain=certain)


def _is_text(node: "Node") -> bool:
    """Return whether a statement is a docstring, or a literal that stands for a comment."""
    inner = parts(node) if node.type == "expression_statement" else []
    return len(inner) == 1 and (is_literal(inner[0]) or inner[0].type == "ellipsis")


def _functions(body: "Node", prefix: str = "") -> Iterator[tuple[str, "Node"]]:
    """Yield the functions that could be tests, by their names within the file as pytest writes them."""
    for node in parts(body):
        inner = field(node, "definition") or node
        name = f"{prefix}{text_of(field(inner, 'name'))}"
        block = field(inner, "body") or field(inner, "consequence")
        if inner.type == "function_definition":
            yield name, node
        elif inner.type == "class_definition" and block is not None:
            yield from _functions(block, f"{name}::")
        elif inner.type in {"if_statement", "try_statement"} and block is not None:
            yield from _functions(block, prefix)


def _inherited(root: "Node", tests: dict[str, "Node"]) -> Iterator[tuple[str, str]]:
    """Yield tests that a class of the file has from another class of it, with where they are written."""
    classes = [field(node, "definition") or node for node in parts(root)]
    bases = {
        text_of(field(node, "name")): [text_of(base) for base in parts(field(node, "superclasses"))]
        for node in classes
        if node.type == "class_definition"
    }
    for name, direct in bases.items():
        line, known = list(direct), {name}
        while line:
            base = line.pop(0)
            if base in known or base not in bases:
                continue
            known.add(base)
            line = bases[base] + line
            for test in [test for test in tests if test.startswith(f"{base}::")]:
                own = f"{name}::{test.partition('::')[2]}"
                if own not in tests:
                    yield own, test


def _returns(function: "Node") -> bool:
    """Return whether a function may end before its last statement."""
    return any(node.type in _LEAVING for node in below(function, _SCOPES))


def _known_names(root: "Node") -> set[str]:
    """Return the names of a module that are not of the code under test: built-in ones, of the standard library."""
    known = set(BUILTINS)
    for node in parts(root):
        module = text_of(field(node, "module_name"))
        if node.type not in {"import_statement", "import_from_statement"} or module.startswith("."):
            continue
        for entry in node.children_by_field_name("name"):
            name, alias = text_of(field(entry, "name") or entry), text_of(field(entry, "alias"))
            if (module or name).partition(".")[0] in STANDARD_LIBRARY:
                known.add((alias or name).partition(".")[0])
    return known
