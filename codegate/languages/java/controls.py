"""Find Java's tests: methods of JUnit 3 to 5."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.controls import TestNodes, TestSyntax, opposites
from codegate.languages.java.statements import annotation_names
from codegate.languages.syntax import ancestors, field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS: Final = frozenset({"Test", "ParameterizedTest", "RepeatedTest", "TestTemplate"})
_ROWS: Final = frozenset({"CsvSource", "ValueSource"})
_OLD: Final = re.compile(r"import (static )?(org\.junit\.Assert|junit\.framework)\b")
_TOGGLES: Final = opposites(
    ("assertTrue", "assertFalse"), ("assertNull", "assertNotNull"),
    ("assertEquals", "assertNotEquals"), ("assertSame", "assertNotSame"), ("isTrue", "isFalse"),
    ("isNull", "isNotNull"), ("isEmpty", "isNotEmpty"), ("isEqualTo", "isNotEqualTo"), ("isSameAs", "isNotSameAs"),
    ("contains", "doesNotContain"), ("isPresent", "isNotPresent"),
)  # fmt: skip
_NOTHING: Final = "java.util.zip.DataFormatException.class"  # an exception that few programs throw
_PARTIAL: Final = re.compile(r"(?i)contain|startsWith|endsWith|match|hasItem|hasMessage|indexOf|split")


class JavaTestSyntax(TestSyntax):
    """Finds JUnit's test methods. No marks are inserted into them."""

    literals: ClassVar = {
        "string_literal": "text", "character_literal": "text", "decimal_integer_literal": "number",
        "decimal_floating_point_literal": "number", "true": "truth", "false": "truth",
    }  # fmt: skip

    @override
    def tests(self, root: "Node") -> Iterator[TestNodes]:
        yield from _methods(root, ())

    @override
    def toggled(self, node: "Node") -> Sequence[str]:
        text, around = text_of(node), node.parent
        if around is None:
            return []
        if around.type == "binary_expression" and not node.is_named and text in _TOGGLES:
            return [_TOGGLES[text]]
        if node.type == "class_literal" and around.parent is not None:
            called = text_of(field(around.parent, "name"))
            alone = around.parent.parent is not None and around.parent.parent.type == "expression_statement"
            return [_NOTHING] if called == "assertThrows" and alone and text != _NOTHING else []
        if around.type != "method_invocation" or node != field(around, "name") or text not in _TOGGLES:
            return []
        if field(around, "object") is not None:
            return [_TOGGLES[text]]
        is_old = _OLD.search(text_of(list(ancestors(node))[-1]))
        # The file may not import the opposite, so its full name is used.
        return [f"org.junit.{'Assert' if is_old else 'jupiter.api.Assertions'}.{_TOGGLES[text]}"]

    @override
    def is_fixed(self, node: "Node", test: TestNodes) -> bool:
        # Modifiers (except rows of tables), labels, and code in a ``try`` with a ``catch`` stay unchanged.
        for around in ancestors(node, test.node):
            if around.type == "annotation" and text_of(field(around, "name")).rpartition(".")[2] in _ROWS:
                return False
            if around.type in {"modifiers", "switch_label"}:
                return True
            if around.type.startswith("try_") and any(each.type == "catch_clause" for each in around.named_children):
                return True
        return False

    @override
    def is_part(self, node: "Node") -> bool:
        calls = (around for around in ancestors(node) if around.type == "method_invocation")
        return any(_PARTIAL.search(text_of(field(call, "name"))) for call in calls)


def _methods(node: "Node", outer: tuple[str, ...]) -> Iterator[TestNodes]:
    for each in node.named_children:
        name, body = field(each, "name"), field(each, "body")
        if each.type == "class_declaration":
            yield from _methods(each, (*outer, text_of(name)))
        elif each.type == "class_body":
            yield from _methods(each, outer)
        elif each.type == "method_declaration" and name is not None and body is not None and _is_test(each):
            statements = [one for one in body.named_children if "comment" not in one.type]
            if statements:
                yield TestNodes(".".join((*outer[1:], text_of(name))), each, name, statements)


def _is_test(method: "Node") -> bool:
    owner = method.parent.parent if method.parent is not None else None
    is_case = text_of(field(owner, "superclass")).endswith("TestCase")
    named = is_case and text_of(field(method, "name")).startswith("test")
    return named or not annotation_names(method).isdisjoint(_TESTS)


TESTS: Final = JavaTestSyntax()
