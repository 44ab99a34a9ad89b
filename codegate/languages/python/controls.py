"""Find Python's test functions and methods, with their decorators."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.controls import TestNodes, TestSyntax, opposites
from codegate.languages.python.around import functions
from codegate.languages.syntax import ancestors, field, parts_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPOUND: Final = re.compile(r"(if|for|while|with|try|match)_statement|.*_definition")
_TOGGLES: Final = opposites(
    ("assertTrue", "assertFalse"), ("assertIn", "assertNotIn"), ("assertEqual", "assertNotEqual"), ("in", "not in"),
    ("assertIs", "assertIsNot"), ("assertIsNone", "assertIsNotNone"), ("is", "is not"),
)  # fmt: skip
_RAISED: Final = re.compile(r"(\w+\.)*\w*(Error|Exception|Exit|Warning|Interrupt|Iteration)")
# An honest solution may raise a subclass of KeyError or ValueError, to stay compatible, but of none of these.
_OTHERS: Final = ("BufferError", "EOFError", "FloatingPointError", "ReferenceError", "ZeroDivisionError")
_PARTIAL: Final = re.compile(r"(?i)(in|regex|match|search|startswith|endswith|contains)$")


class PythonTestSyntax(TestSyntax):
    """Finds functions and methods that may be tests.

    The test runner decides which are.
    """

    literals: ClassVar = {"string": "text", "integer": "number", "float": "number", "true": "truth", "false": "truth"}
    functions: ClassVar = frozenset({"function_definition", "class_definition", "lambda"})

    @override
    def tests(self, root: "Node") -> Iterator[TestNodes]:
        for name, node in functions(root):
            outer, named, statements = node.parent, field(node, "name"), parts_of(field(node, "body"))
            whole = outer if outer is not None and outer.type == "decorated_definition" else node
            if named is not None and statements:
                yield TestNodes(name.replace(".", "::"), whole, named, statements)

    @override
    def mark(self, statement: "Node", data: bytes) -> str:
        gap = "; "
        if _COMPOUND.fullmatch(statement.type):
            line = data.rfind(b"\n", 0, statement.start_byte) + 1
            gap = "\n" + data[line : statement.start_byte].decode("utf-8", "replace")
        return f'{gap}$mark$("$token$")'

    @override
    def toggled(self, node: "Node") -> Sequence[str]:
        text = text_of(node)
        if node.type in {"identifier", "attribute"} and _RAISED.fullmatch(text):
            return [one for one in _OTHERS if one != text]
        if node.type == "assert_statement":
            test = node.named_children[0]
            rest = text.encode()[test.end_byte - node.start_byte :].decode()
            return [f"assert not ({text_of(test)}){rest}"]
        compared = node.parent is not None and node.parent.type == "comparison_operator" and not node.is_named
        return [_TOGGLES[text]] if (compared or node.type == "identifier") and text in _TOGGLES else []

    @override
    def is_fixed(self, node: "Node", test: TestNodes) -> bool:
        body = test.statements[0].start_byte
        if test.name_node.end_byte <= node.start_byte < body:
            return True  # parameters and annotations
        if node.type == "string":
            function = test.name_node.parent
            names = set(re.findall(r"\w+", text_of(field(function, "parameters"))))
            in_front = node.end_byte <= test.name_node.start_byte
            if in_front and names.intersection(re.findall(r"\w+", text_of(node))):
                return True  # names of parameters; without them pytest rejects the file
            if node.parent is not None and node.parent.type == "expression_statement":
                return True  # a docstring
        return any(
            around.type == "try_statement"
            or (around.type == "with_statement" and "suppress(" in text_of(around.named_children[0]))
            for around in ancestors(node, test.node)
        )

    @override
    def is_part(self, node: "Node") -> bool:
        for around in takewhile(lambda one: "statement" not in one.type, ancestors(node)):
            operators = {child.type for child in around.children}
            if around.type == "comparison_operator" and operators & {"in", "not in"}:
                return True
            if around.type == "keyword_argument" and text_of(around.children[0]) == "match":
                return True
            if around.type == "call" and _PARTIAL.search(text_of(field(around, "function"))):
                return True
        return False


TESTS: Final = PythonTestSyntax()
