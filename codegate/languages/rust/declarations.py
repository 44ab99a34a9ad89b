"""Read the names that Rust files declare and use."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codegate.languages.declarations import Declaration, NameReader, header
from codegate.languages.syntax import children_of, field, scoped, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES: Final = frozenset({"struct_item", "enum_item", "union_item", "trait_item", "type_item"})
_FUNCTIONS: Final = frozenset({"function_item", "function_signature_item"})
_VALUES: Final = {"const_item": "const", "static_item": "static", "enum_variant": "variant"}
_OWNERS: Final = frozenset({*_TYPES, "impl_item", "enum_variant"})
_BODY: Final = {"body": "", "value": ""}


def _declarations(root: "Node", _path: str, _place: str) -> Iterator[Declaration]:
    for node, outer in scoped(root, _OWNERS | _FUNCTIONS | {"mod_item"}):
        if any(each.type in _FUNCTIONS or is_for_tests(each) for each in outer) or is_for_tests(node):
            continue
        around = [each for each in outer if each.type in _OWNERS]
        owner = ".".join(map(_named, around))
        name = text_of(field(node, "name"))
        # Members of a trait, also where a type implements it, and variants of an enumeration are as public as their
        # owner.
        within = around[-1] if around else None
        open_by_owner = within is not None and (
            within.type in {"trait_item", "enum_item"}
            or (within.type == "impl_item" and field(within, "trait") is not None)
        )
        public = open_by_owner or any(each.type == "visibility_modifier" for each in node.children)
        if node.type in _TYPES:
            yield Declaration(name, header(node, _BODY).rstrip(" ;="), "type", owner, public=public)
        elif node.type in _FUNCTIONS:
            given = list(map(header, children_of(node, "parameters")))
            given.append(header(field(node, "return_type")))
            signature = header(node, _BODY).rstrip(" ;")
            yield Declaration(name, signature, "function", owner, tuple(given), public)
        elif node.type in _VALUES:
            yield Declaration(name, f"{_VALUES[node.type]} {name}", "value", owner, public=public)
        elif node.type == "field_declaration":
            yield Declaration(name, f"{name}: {header(field(node, 'type'))}", "field", owner, public=public)
        elif node.type == "macro_definition":
            yield Declaration(name, f"macro {name}!", "function", owner)


def _named(node: "Node") -> str:
    found = field(node, "name") or field(node, "type")
    return text_of(field(found, "type") or found)


def modules_of(body: "Node", outer: tuple[str, ...] = ()) -> "Iterator[tuple[Node, tuple[str, ...]]]":
    """Yield a file's root and modules' bodies, with module paths."""
    yield body, outer
    for node in body.named_children:
        inner = field(node, "body") if node.type == "mod_item" else None
        if inner is not None:
            yield from modules_of(inner, (*outer, text_of(field(node, "name"))))


def functions(root: "Node") -> "Iterator[tuple[Node, tuple[str, ...]]]":
    """Yield a file's functions, with the paths of their modules."""
    for body, modules in modules_of(root):
        yield from ((node, modules) for node in body.named_children if node.type == "function_item")


def attributes(node: "Node") -> "list[Node]":
    """Return the attributes that stand before an item."""
    found, before = [], node.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        found += [before] if before.type == "attribute_item" else []
        before = before.prev_named_sibling
    return found


def is_for_tests(node: "Node") -> bool:
    """Return whether an item is compiled only for tests."""
    return any("test" in text_of(each) for each in attributes(node))


RUST: Final = NameReader(
    grammars={".rs": "rust"},
    uses="""
        [(identifier) (field_identifier) (type_identifier) (shorthand_field_identifier)] @words
        (field_expression field: (_) @members)
        (scoped_identifier name: (_) @members)
        (scoped_type_identifier name: (_) @members)
        (use_list (identifier) @members)
        (token_tree ["." "::"] . (identifier) @members)
        (field_initializer field: (_) @keywords)
        (call_expression function: [
            (identifier) @called
            (field_expression field: (_) @called)
            (scoped_identifier name: (_) @called)
        ])
        (macro_invocation macro: (identifier) @called)
        (token_tree (identifier) @called . (token_tree))
        (string_content) @texts
    """,
    declarations=_declarations,
)
