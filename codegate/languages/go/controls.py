"""Find Go's tests: functions, and methods of testify's suites."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.controls import TestNodes, TestSyntax, opposites
from codegate.languages.syntax import ancestors, field, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST: Final = re.compile(r"(?!TestMain$)(Test|Fuzz|Example)([^a-z]|$)")
_TOGGLES: Final = opposites(
    ("Equal", "NotEqual"), ("True", "False"), ("Nil", "NotNil"), ("Error", "NoError"), ("ErrorIs", "NotErrorIs"),
    ("Empty", "NotEmpty"), ("Contains", "NotContains"),
)  # fmt: skip
_ASSERTING: Final = re.compile(r"(?i)(.+\.)?(assert|require)(\(\))?")
_PARTIAL: Final = re.compile(r"(?i)(contains|hasprefix|hassuffix|match|matchstring|regexp)f?(?=$|\()")
_NAMES: Final = frozenset({"identifier", "nil", "selector_expression"})
_KEYED: Final = frozenset({"array_type", "expression_case", "keyed_element"})


class GoTestSyntax(TestSyntax):
    """Finds Go's test functions and methods, and examples with output."""

    literals: ClassVar = {
        "interpreted_string_literal": "text", "raw_string_literal": "text", "rune_literal": "text", "comment": "text",
        "int_literal": "number", "float_literal": "number", "true": "truth", "false": "truth",
    }  # fmt: skip
    functions: ClassVar = frozenset({"func_literal"})

    @override
    def tests(self, root: "Node") -> Iterator[TestNodes]:
        suites = _suites(root)
        for node in root.named_children:
            name, body, receiver = field(node, "name"), field(node, "body"), field(node, "receiver")
            if name is None or body is None or not _TEST.match(text_of(name)):
                continue
            owner = suites.get(text_of(receiver).strip("()").rpartition(" ")[2].lstrip("*"), "") if receiver else ""
            statements = [one for each in body.named_children if each.type == "statement_list"
                          for one in each.named_children if one.type != "comment"]  # fmt: skip
            if statements and bool(owner) is (receiver is not None):
                yield TestNodes("/".join(filter(None, (owner, text_of(name)))), node, name, statements)

    @override
    def mark(self, statement: "Node", data: bytes) -> str:
        return '; $mark$("$token$")'

    @override
    def leaves(self, statement: "Node") -> bool:
        # A deferred ``recover`` may expect a panic.
        return super().leaves(statement) or "recover()" in text_of(statement)

    @override
    def names(self, node: "Node") -> Sequence[str]:
        # Go names constants and errors, so columns of a table may hold names.
        row = next((one for one in ancestors(node) if one.type not in {"literal_element", "keyed_element"}), None)
        table = row.parent.parent if row is not None and row.type == "literal_value" and row.parent else None
        if node.type not in _NAMES or row is None or table is None or table.type != "literal_value":
            return ()
        column = next((name for name, cell in _cells(row) if cell == node), None)
        rows = [one for each in table.named_children for one in each.named_children if one.type == "literal_value"]
        cells = [cell for one in rows for name, cell in _cells(one) if name == column and cell.type in _NAMES]
        return sorted({text_of(cell) for cell in cells} - {text_of(node)}) if column is not None else ()

    @override
    def toggled(self, node: "Node") -> Sequence[str]:
        text, around = text_of(node), node.parent
        if node.type == "unary_expression" and text.startswith("!"):
            return [text[1:]]
        if around is None or text not in _TOGGLES:
            return []
        called = around.type == "selector_expression" and _ASSERTING.fullmatch(text_of(field(around, "operand")))
        return [_TOGGLES[text]] if called or around.type == "binary_expression" else []

    @override
    def is_fixed(self, node: "Node", test: TestNodes) -> bool:
        # A package with two equal keys does not compile.
        if node.type == "comment":
            return not text_of(test.name_node).startswith("Example")
        inner = node
        for around in ancestors(node):
            if around.type not in {"literal_element", "expression_list"}:
                return around.type in _KEYED and inner != around.named_children[-1]
            inner = around
        return False

    @override
    def is_row(self, node: "Node", test: TestNodes) -> bool:
        # The body of a loop runs for every row.
        return not any(
            around.parent is not None and around.parent.type == "for_statement" and around.type == "block"
            for around in ancestors(node, test.node)
        )

    @override
    def is_part(self, node: "Node") -> bool:
        # A text in a table counts if any call in the test searches within texts.
        around = list(ancestors(node))
        calls = [text_of(field(one, "function")) for one in around if one.type == "call_expression"]
        if any(one.type == "literal_value" for one in around):
            calls.append(text_of(around[-2]))  # the whole test
        return any(map(_PARTIAL.search, calls))


def _suites(root: "Node") -> dict[str, str]:
    found = {}
    for function in root.named_children:
        name = text_of(field(function, "name"))
        for call in walk(function) if function.type == "function_declaration" and _TEST.match(name) else ():
            if call.type == "call_expression" and text_of(field(call, "function")) == "suite.Run":
                found.update({text_of(one): name for one in walk(call) if "identifier" in one.type})
    return found


def _cells(row: "Node") -> Iterator[tuple[str | int, "Node"]]:
    for number, one in enumerate(each for each in row.named_children if each.type != "comment"):
        name = text_of(one.named_children[0]) if one.type == "keyed_element" else number
        value = one.named_children[-1] if one.type == "keyed_element" else one
        yield name, value.named_children[0]


TESTS: Final = GoTestSyntax()
