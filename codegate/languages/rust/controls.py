"""Find Rust's tests: functions with a test attribute."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.controls import TestNodes, TestSyntax, opposites
from codegate.languages.rust.declarations import attributes, functions
from codegate.languages.rust.files import TEST
from codegate.languages.syntax import ancestors, children_of, field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TOGGLES: Final = opposites(("assert_eq", "assert_ne"), ("is_some", "is_none"), ("is_ok", "is_err"))
_PARTIAL: Final = re.compile(r"(contains|starts_with|ends_with|find|match\w*|should_panic)$")
_PLACEHOLDER: Final = re.compile(r"\{\w*(:[^{}\"]*)?\}")
_SIGN: Final = re.compile(r"b?'[^A-Za-z0-9]*'")
_INCLUDES: Final = re.compile(r"(\w+::)*include(_\w+)?!")
_ASIDE: Final = frozenset({"attribute_item", "inner_attribute_item", "empty_statement"})
_MARK: Final = '$mark$!{"$token$"}'
# A variable with this run's name has the path of the driver's file. The attributes let flips compile that Rust would
# reject; the crate's own name is for crates without the standard library and for files that define macros of the same
# names. All is on one line, because panics show line numbers.
_MARKS: Final = (
    " #![allow(warnings, arithmetic_overflow, overflowing_literals, unconditional_panic)] extern crate std as $mark$;"
    " macro_rules! $mark$ { ($token:literal) => { "
    "if let $mark$::result::Result::Ok(mut file) = "
    '$mark$::fs::OpenOptions::new().append(true).open($mark$::env!("$mark$")) '
    '{ let _ = $mark$::io::Write::write_all(&mut file, $mark$::concat!($token, "\\n").as_bytes()); } } } ' + _MARK
)
_STATEMENTS: Final = ("_statement", "_declaration", "_item", "_definition")


class RustTestSyntax(TestSyntax):
    """Finds the test functions of a file and its modules.

    A test's attribute may hold a row of arguments.
    """

    literals: ClassVar = {
        "string_literal": "text", "raw_string_literal": "text", "char_literal": "text", "integer_literal": "number",
        "float_literal": "number", "boolean_literal": "truth",
    }  # fmt: skip
    leaving: ClassVar = "return_expression"
    functions: ClassVar = frozenset({"async_block", "closure_expression", "function_item"})

    @override
    def tests(self, root: "Node") -> Iterator[TestNodes]:
        for node, modules in sorted(functions(root), key=lambda one: one[0].start_byte):
            before, listed = attributes(node)[::-1], children_of(node, "body")
            statements = [one for one in listed if one.type not in _ASIDE and "comment" not in one.type]
            documented = any(text_of(one).startswith(("//!", "/*!")) for one in listed)
            is_const = any(one.type == "function_modifiers" and "const" in text_of(one) for one in node.children)
            name, is_test = field(node, "name"), any(TEST.match(text_of(one).encode()) for one in before)
            if name is not None and is_test and statements and not documented and not is_const:
                yield TestNodes("::".join((*modules, text_of(name))), node, name, statements, before=before)

    @override
    def marks(self, test: TestNodes, data: bytes) -> Iterator[tuple[int, str]]:
        # The first mark is before all statements; with ``should_panic`` it is the only one.
        body = field(test.node, "body")
        opening = [one for one in (body or test.node).children if one.type in {"{", "inner_attribute_item"}]
        yield opening[-1].end_byte, _MARKS
        if any("should_panic" in text_of(one) for one in test.before):
            return
        last = test.statements[-1].end_byte
        is_value = field(test.node, "return_type") is not None and data[last - 1 : last] != b";"
        yield from ((place, mark) for place, mark in super().marks(test, data) if not (is_value and place == last))

    @override
    def mark(self, statement: "Node", data: bytes) -> str:
        return f"{' ' if statement.type.endswith(_STATEMENTS) else '; '}{_MARK}"

    @override
    def toggled(self, node: "Node") -> Sequence[str]:
        # In a macro, ``<`` may open something other than a comparison.
        text, around = text_of(node), node.parent
        if around is None or text not in _TOGGLES:
            return []
        named = node.type in {"identifier", "field_identifier"}
        compared = around.type == "binary_expression" or (around.type == "token_tree" and text[-1] == "=")
        return [_TOGGLES[text]] if named or compared else []

    @override
    def is_fixed(self, node: "Node", test: TestNodes) -> bool:
        # Lengths of arrays, numbers of fields, patterns, and texts with placeholders stay unchanged.
        text, before = text_of(node), node.prev_sibling
        if before is not None and before.type in {";", "."} and node.type == "integer_literal":
            return True
        if ("string" in node.type and _PLACEHOLDER.search(text)) or _SIGN.fullmatch(text):
            return True
        return any(around.type == "match_pattern" or _INCLUDES.match(text_of(around)) for around in ancestors(node))

    @override
    def is_part(self, node: "Node") -> bool:
        # A byte string must be ASCII, but words of the file that would replace its own may not be.
        return text_of(node).startswith("b") or any(
            around.type in {"arguments", "token_tree"} and _PARTIAL.search(text_of(around.prev_sibling))
            for around in ancestors(node)
        )


TESTS: Final = RustTestSyntax()
