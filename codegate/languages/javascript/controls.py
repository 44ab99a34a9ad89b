"""Find the tests of JavaScript and TypeScript.

They are calls of ``it`` or ``test`` with a title, within groups.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.controls import HOLE, TestNodes, TestSyntax, opposites
from codegate.languages.syntax import ancestors, arguments_of, field, parts_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS: Final = frozenset({"it", "test", "specify", "fit"})
_GROUPS: Final = frozenset({"describe", "suite", "context", "fdescribe"})
_TABLES: Final = frozenset({"each", "for"})
# A test with another modifier, such as ``fails``, may pass although its function throws.
_MODIFIERS: Final = frozenset(
    {"only", "concurrent", "sequential", "serial", "parallel", "shuffle", "skip", "skipIf", "runIf", *_TABLES}
)
_INVERTING: Final = re.compile(r"\b(fails|failing|expectFailure|todo)\b")
_PLACEHOLDER: Final = re.compile(r"%(?:\.\d+)?[a-zA-Z#$%]|\$[\w.#]+|\$\{[^}]*\}")
_STORED: Final = re.compile(r"(?<!Inline)[sS]napshot\(")  # kept in a file under the test's title
_TEXTS: Final = frozenset({"string", "template_string"})
_VALUES: Final = frozenset({"identifier", "member_expression", "call_expression", "subscript_expression"})
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression"})
_BODIES: Final = frozenset(
    {"function_declaration", "generator_function_declaration", "generator_function", "method_definition", "class_body"}
)
_LOOPS: Final = frozenset({"for_statement", "for_in_statement"})
_TOGGLES: Final = opposites(
    ("===", "!=="), ("equal", "notEqual"), ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"), ("deepStrictEqual", "notDeepStrictEqual"), ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
)  # fmt: skip
_MARK: Final = '$mark$("$token$");'
_OTHERS: Final = ("EvalError", "URIError")  # no honest solution raises a subclass of these
_TRUE: Final = re.compile(r"(\w+\.)*(assert|ok)")
_PARTIAL: Final = re.compile(r"(?i)(includes?|contains?|match|startsWith|endsWith|has|test|throws?(Error)?|rejects)$")


class JavaScriptTestSyntax(TestSyntax):
    """Finds calls such as ``it("…", …)`` outside of other tests."""

    literals: ClassVar = dict.fromkeys(_TEXTS, "text") | {"number": "number", "true": "truth", "false": "truth"}
    functions: ClassVar = _FUNCTIONS | _BODIES

    @override
    def tests(self, root: "Node") -> Iterator[TestNodes]:
        stack = [(root, "")]
        while stack:
            node, led = stack.pop()
            names = _names(node)
            if not names:
                stack += [(one, HOLE if _may_be_shared(one) else led) for one in reversed(node.named_children)]
                continue
            given = arguments_of(node)
            functions = [one for one in given if one.type in _FUNCTIONS]
            if not functions or not _is_title(given[0]):
                continue
            title = led + title_of(given[0], is_table=not _TABLES.isdisjoint(names))
            body = field(functions[-1], "body")
            statements = [body] if body is not None and body.type != "statement_block" else parts_of(body)
            inverted = any(one.type == "object" and _INVERTING.search(text_of(one)) for one in given)
            if names[0] in _GROUPS:
                stack.append((functions[-1], f"{title} > "))
            elif statements and (statement := _statement(node)) and not inverted:
                yield TestNodes(title, statement, given[0], statements, bool(_STORED.search(text_of(body))))

    @override
    def word(self, named: "Node") -> tuple[int, str]:
        # The word is put first, because a title may end with a placeholder.
        return (named.start_byte + 1, "_$word$") if named.type in _TEXTS else (named.start_byte, '"_$word$" + ')

    @override
    def marks(self, test: TestNodes, data: bytes) -> Iterator[tuple[int, str]]:
        # The first mark is at the beginning of the test. A returned value may be a promise; its mark runs when the
        # promise is resolved.
        around = test.statements[0].parent
        is_block = around is not None and around.type == "statement_block"
        function = around.parent if around is not None and is_block else around
        waits = "async " if function is not None and function.children[0].type == "async" else ""
        if around is not None and is_block:
            yield around.start_byte + 1, f" {_MARK}"
        for node in test.statements:
            given = next(iter(parts_of(node)), None) if node.type == "return_statement" else None if is_block else node
            if given is not None:
                yield given.start_byte, f'$mark$("$token$", {waits}() => ('
                yield _end(given), '))("$token$")'
            if given is not None or self.leaves(node):
                break
            yield _end(node), f"; {_MARK}"

    @override
    def toggled(self, node: "Node") -> Sequence[str]:
        text, parent = text_of(node), node.parent
        if parent is None:
            return []
        first = parent.type == "arguments" and parent.named_children[:1] == [node]
        if first and _TRUE.fullmatch(text_of(field(parent.parent, "function"))):
            return [f"!({text})"]
        if parent.type == "arguments" and node.type == "identifier" and text.endswith("Error"):
            return [one for one in _OTHERS if one != text]
        if parent.type == "binary_expression" and not node.is_named:
            return [_TOGGLES[text]] if text in _TOGGLES else []
        if node.type == "member_expression" and text.endswith(".not") and _is_expectation(node):
            return [text_of(field(node, "object"))]
        if node.type == "property_identifier" and parent.parent is not None and parent.parent.type == "call_expression":
            owner = text_of(field(parent, "object"))
            if text in _TOGGLES and re.search(r"(?i)(assert|strict)$", owner):
                return [_TOGGLES[text]]
            if ".not" not in owner and field(parent.parent, "function") == parent and _is_expectation(parent):
                return [f"not.{text}"]
        return []

    @override
    def is_fixed(self, node: "Node", test: TestNodes) -> bool:
        # Directives, types, and code in a ``try`` with a ``catch`` stay unchanged.
        around = list(ancestors(node, test.node))
        directive = node.type == "string" and around and around[0].type == "expression_statement"
        caught = (one for one in around if one.type == "try_statement" and field(one, "handler") is not None)
        return bool(directive) or any(caught) or any(one.type == "literal_type" for one in around)

    @override
    def is_part(self, node: "Node") -> bool:
        around = takewhile(lambda one: one.type not in self.functions and "statement" not in one.type, ancestors(node))
        calls = (text_of(field(one, "function")) for one in around if one.type == "call_expression")
        return any(map(_PARTIAL.search, calls))


def _end(node: "Node") -> int:
    """Return the byte after a statement and before trailing comments."""
    return max((one.end_byte for one in node.children if one.type != "comment"), default=node.end_byte)


def _is_title(node: "Node") -> bool:
    added = node.type == "binary_expression" and text_of(field(node, "operator")) == "+"
    return added or node.type in _TEXTS | _VALUES


def _is_expectation(node: "Node") -> bool:
    """Return whether ``.member`` belongs to a chain after ``expect(...)``."""
    called = False
    inner: Node | None = field(node, "object")
    while inner is not None and inner.type in {"call_expression", "member_expression"}:
        called = inner.type == "call_expression"
        inner = field(inner, "function") or field(inner, "object")
    return called and text_of(inner) == "expect"


def _names(node: "Node") -> list[str]:
    """Return a call's names: ``it`` and ``each`` for ``it.each(…)``.

    Empty if the call declares neither a test nor a group.
    """
    listed = field(node, "arguments")
    if node.type != "call_expression" or listed is None or listed.type != "arguments":
        return []
    names: list[str] = []
    called: Node | None = node
    while called is not None and called.type in {"call_expression", "member_expression"}:
        names += [text_of(field(called, "property"))] if called.type == "member_expression" else []
        called = field(called, "function") or field(called, "object")
    names = [text_of(called), *reversed(names)]
    return names if names[0] in _TESTS | _GROUPS and _MODIFIERS.issuperset(names[1:]) else []


def _may_be_shared(node: "Node") -> bool:
    """Return whether a function may have several callers.

    If it may, the groups in which its tests run are unknown.
    """
    called = node.parent is not None and node.parent.type == "arguments"
    return node.type in _BODIES or (node.type in _FUNCTIONS and not called)


def title_of(node: "Node", *, is_table: bool) -> str:
    """Return a test's title, with ``HOLE`` for each unknown part.

    A part is unknown if only a run computes it. If ``is_table``, placeholders such as ``%s`` become ``HOLE`` too.
    """
    parts, stack = [], [node]
    while stack:
        one = stack.pop()
        if one.type in _TEXTS or one.type == "binary_expression":
            stack += reversed(one.named_children)
        elif one.type == "template_substitution" and [each.type for each in one.named_children] == ["string"]:
            stack += one.named_children  # a literal text inside of ``${}``
        else:
            parts.append(text_of(one) if one.type == "string_fragment" else HOLE)
    return _PLACEHOLDER.sub(HOLE, "".join(parts)) if is_table else "".join(parts)


def _statement(call: "Node") -> "Node | None":
    node = call
    while node.parent is not None and node.parent.type in {"await_expression", "member_expression", "call_expression"}:
        node = node.parent
    node = node.parent if node.parent is not None and node.parent.type == "expression_statement" else node
    while node.parent is not None and node.parent.type in _LOOPS:
        node = node.parent
    is_listed = node.parent is not None and node.parent.type in {"program", "statement_block"}
    return node if is_listed and node.type in {"expression_statement", *_LOOPS} else None


TESTS: Final = JavaScriptTestSyntax()
