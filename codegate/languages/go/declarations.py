"""Read the names that Go files declare and use."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codegate.languages.declarations import Declaration, Kind, NameReader, header
from codegate.languages.syntax import children_of, field, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS: Final = {"type_declaration": "type", "var_declaration": "var", "const_declaration": "const"}
_SHOWN: Final = {"struct_type": "struct", "interface_type": "interface"}


def _declarations(root: "Node", _path: str, _place: str) -> Iterator[Declaration]:
    for node in root.named_children:
        if node.type in {"function_declaration", "method_declaration"}:
            kinds = (text_of(each) for each in walk(field(node, "receiver")) if each.type == "type_identifier")
            yield _function(node, "", next(kinds, ""))
        elif node.type in _WORDS:
            specs = [each for spec in node.named_children for each in (spec, *spec.named_children)]
            for spec in specs:
                if spec.type in {"type_spec", "type_alias"}:
                    yield from _type(spec)
                elif spec.type in {"var_spec", "const_spec"}:
                    names = map(text_of, spec.children_by_field_name("name"))
                    yield from (_declaration(name, f"{_WORDS[node.type]} {name}", "value") for name in names)


def _declaration(
    name: str, signature: str, kind: Kind, owner: str = "", parameters: tuple[str, ...] = (), *, bare: bool = False
) -> Declaration:
    public = name[:1].isupper() and not owner[:1].islower()
    return Declaration(name, signature, kind, owner, parameters, public, bare)


def _function(node: "Node", shown: str, owner: str, *, bare: bool = False) -> Declaration:
    name = text_of(field(node, "name"))
    given = [
        f"{each.type} {header(field(each, 'type'))} {number}"
        for each in children_of(node, "parameters")
        for number in range(max(1, len(each.children_by_field_name("name"))))
    ]
    given.append(header(field(node, "result")))
    signature = shown + header(node, {"body": ""})
    return _declaration(name, signature, "function", owner, tuple(given), bare=bare)


def _type(spec: "Node") -> Iterator[Declaration]:
    name, kind = text_of(field(spec, "name")), field(spec, "type")
    shown = _SHOWN.get(kind.type) or header(kind) if kind is not None else ""
    equals = "= " if spec.type == "type_alias" else ""
    yield _declaration(name, f"type {name}{header(field(spec, 'type_parameters'))} {equals}{shown}", "type")
    for each in walk(kind):
        if each.type == "field_declaration":
            for at in map(text_of, each.children_by_field_name("name")):
                yield _declaration(at, f"field {at} {header(field(each, 'type'))}", "field", name, bare=True)
        elif each.type == "method_elem":
            yield _function(each, "method ", name, bare=True)


GO: Final = NameReader(
    grammars={".go": "go"},
    uses="""
        [(identifier) (field_identifier) (type_identifier)] @words
        (selector_expression field: (_) @members)
        (qualified_type name: (_) @members)
        (keyed_element key: (literal_element (identifier) @keywords))
        (call_expression function: [(identifier) @called (selector_expression field: (_) @called)])
        [(interpreted_string_literal_content) (raw_string_literal_content)] @texts
    """,
    declarations=_declarations,
)
