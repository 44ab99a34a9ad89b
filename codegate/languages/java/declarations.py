"""Read the names that Java files declare and use."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codegate.languages.declarations import Declaration, NameReader, header
from codegate.languages.syntax import children_of, field, scoped, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

TYPES: Final = frozenset(
    {"class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
     "annotation_type_declaration"}
)  # fmt: skip
_FUNCTIONS: Final = frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"})
_FIELDS: Final = frozenset({"field_declaration", "constant_declaration"})


def _declarations(root: "Node", _path: str, _place: str) -> Iterator[Declaration]:
    for node, outer in scoped(root, TYPES | _FUNCTIONS):
        if any(each.type in _FUNCTIONS for each in outer):
            continue
        owner = ".".join(text_of(field(each, "name")) for each in outer)
        marks = (word.type for each in node.children if each.type == "modifiers" for word in each.children)
        public = "private" not in marks
        name = text_of(field(node, "name"))
        if node.type in TYPES:
            yield Declaration(name, header(node, {"body": ""}), "type", owner, public=public)
        elif node.type in _FUNCTIONS:
            given = tuple(map(header, children_of(node, "parameters")))
            yield Declaration(name, header(node, {"body": ""}), "function", owner, given, public)
        elif node.type in _FIELDS:
            for each in node.children_by_field_name("declarator"):
                name = text_of(field(each, "name"))
                yield Declaration(name, f"{header(field(node, 'type'))} {name}", "field", owner, public=public)
        elif node.type == "enum_constant":
            yield Declaration(name, name, "value", owner)


JAVA: Final = NameReader(
    grammars={".java": "java"},
    uses="""
        [(identifier) (type_identifier)] @words
        (method_invocation object: (_) name: (identifier) @members)
        (field_access field: (identifier) @members)
        (method_reference (identifier) @members .)
        (method_invocation name: (identifier) @called)
        (object_creation_expression type: (type_identifier) @called)
        (string_fragment) @texts
    """,
    declarations=_declarations,
)
