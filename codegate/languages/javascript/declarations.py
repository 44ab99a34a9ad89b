"""Read the names in JavaScript and TypeScript.

The declarations are a module's exports, and all members. Members are ``bare``: their object's type is unknown.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from codegate.languages.declarations import Declaration, Kind, NameReader, header, modifiers
from codegate.languages.syntax import children_of, field, scoped, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class", "interface_declaration"})
_TYPES: Final = _CLASSES | {"enum_declaration", "type_alias_declaration"}
_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function_declaration", "function_signature",
     "generator_function_declaration", "method_definition", "method_signature", "abstract_method_signature"}
)  # fmt: skip
_LOCAL: Final = frozenset({"function_declaration", "generator_function_declaration", "variable_declarator"}) | _CLASSES
_MEMBERS: Final = {
    **dict.fromkeys(("method_definition", "method_signature", "abstract_method_signature"), "name"),
    **dict.fromkeys(("public_field_definition", "property_signature"), "name"),
    "field_definition": "property",
    "pair": "key",
}
_MENTIONS: Final = {"member_expression": "property", "pair_pattern": "key"}
_NAMES: Final = frozenset({"identifier", "type_identifier"})
_SHORT: Final = frozenset({"shorthand_property_identifier", "shorthand_property_identifier_pattern"})


_ENTRIES: Final = _SHORT | {"pair", "method_definition"}


class _Export(NamedTuple):
    name: str
    shown: str
    value: "Node | None"


def _declarations(root: "Node", _path: str, place: str) -> Iterator[Declaration]:
    local, exports, mentioned = dict[str, "Node"](), list[_Export](), set[str]()
    for node, scopes in scoped(root, _CLASSES):
        if node.type in _LOCAL:
            local.setdefault(text_of(field(node, "name")), node)
        elif node.type == "export_statement":
            exports += _exports(node)
        elif node.type == "assignment_expression":
            left, value = field(node, "left"), field(node, "right")
            name, of = text_of(field(left, "property")), _short(field(left, "object"))
            if _short(left) == "module.exports":
                exports += _whole(value)
            elif of in {"exports", "module.exports"}:
                exports.append(_Export(name, f"exports.{name}", value))
            elif name:
                of_type = text_of(field(left, "object", "property")) == "prototype"
                yield _member(name, value, "function" if of_type else "attribute")
        elif node.type in _MEMBERS:
            named = field(node, _MEMBERS[node.type])
            value = node if node.type in _FUNCTIONS else field(node, "value")
            kind: Kind = "attribute" if node.type == "pair" else "function" if value == node else "field"
            yield _member(text_of(named), value, kind, text_of(field(scopes[-1], "name")) if scopes else "")
        elif node.type in _SHORT or node.type in _MENTIONS:
            mentioned.add(text_of(field(node, _MENTIONS[node.type]) if node.type in _MENTIONS else node))
    for name in sorted(mentioned):
        yield Declaration(name, f"property {name}", "key", bare=True)
    for name, shown, value in exports:
        known = local.get(text_of(value)) if value is not None and value.type in {"identifier", *_SHORT} else value
        yield _exported(name, f"{place}{shown}", known)


def _short(node: "Node | None") -> str:
    return text_of(node) if node is not None and node.end_byte - node.start_byte <= len("module.exports") else ""


def _exports(statement: "Node") -> Iterator[_Export]:
    before, node = list[str](), statement
    while (inner := field(node, "declaration") or _ambient(node)) is not None:
        before.append(modifiers(node, inner))
        node = inner
    if node == statement:
        whole = field(statement, "value") or next(iter(statement.named_children), None)
        if whole is not None and whole.type == "identifier":
            yield _Export(text_of(whole), f"export default {text_of(whole)}", whole)
        for clause in statement.named_children:
            for each in clause.named_children if clause.type == "export_clause" else ():
                name = text_of(field(each, "alias") or field(each, "name"))
                yield _Export(name, f"export {name}", field(each, "name"))
        return
    listed = [each for each in node.named_children if each.type == "variable_declarator"] or [node]
    before.append(modifiers(node, field(node, "name") if listed[0] == node else listed[0]))
    for each in listed:
        at = field(each, "name")
        names = [at] if at is not None and at.type in _NAMES else walk(at)
        for name in [text_of(inner) for inner in names if inner.type in _NAMES | _SHORT]:
            yield _Export(name, " ".join([*before, name]), each)


def _ambient(node: "Node") -> "Node | None":
    return node.named_children[0] if node.type == "ambient_declaration" and node.named_children else None


def _whole(value: "Node | None") -> Iterator[_Export]:
    if value is None:
        return
    name = text_of(value if value.type == "identifier" else field(value, "name"))
    if name:
        yield _Export(name, f"module.exports = {name}", value)
    for each in value.named_children if value.type == "object" else ():
        name = text_of(field(each, "key") or field(each, "name") or each) if each.type in _ENTRIES else ""
        yield _Export(name, f"export {name}", field(each, "value") or each)


def _member(name: str, value: "Node | None", kind: Kind, owner: str = "") -> Declaration:
    if value is None or value.type not in _FUNCTIONS:
        return _declaration(name, f"property {name}", kind, owner, bare=True)
    before = f"{modifiers(value, field(value, 'name'))} " if value.type in _MEMBERS else ""
    return _declaration(name, f"{before.lstrip()}{name}{_shape(value)}", kind, owner, bare=True)


def _exported(name: str, shown: str, value: "Node | None") -> Declaration:
    value = field(value, "value") or value
    if value is not None and value.type in _FUNCTIONS:
        return _declaration(name, f"{shown}{_shape(value)}", "function", parameters=_parameters(value))
    inner = children_of(value, "body") if value is not None and value.type in _CLASSES else []
    start = next((each for each in inner if text_of(field(each, "name")) == "constructor"), None)
    if start is not None:
        shown += f": constructor{header(field(start, 'parameters'))}"
    kind: Kind = "type" if value is not None and value.type in _TYPES else "value"
    return _declaration(name, shown, kind, parameters=_parameters(start) if start is not None else ())


def _declaration(
    name: str, signature: str, kind: Kind, owner: str = "", *, parameters: tuple[str, ...] = (), bare: bool = False
) -> Declaration:
    return Declaration(name, signature, kind, owner, parameters, not name.startswith(("_", "#")), bare)


def _shape(function: "Node") -> str:
    single = field(function, "parameter")
    listed = f"({text_of(single)})" if single is not None else header(field(function, "parameters"))
    return f"{header(field(function, 'type_parameters'))}{listed}{header(field(function, 'return_type'))}"


def _parameters(function: "Node") -> tuple[str, ...]:
    return tuple(map(header, children_of(function, "parameters")))


JAVASCRIPT: Final = NameReader(
    grammars=dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    uses="""
        [(identifier) (property_identifier) (shorthand_property_identifier_pattern)] @words
        (member_expression property: (_) @members)
        (import_specifier name: (_) @members)
        (shorthand_property_identifier_pattern) @members
        (pair_pattern key: (property_identifier) @members)
        (pair key: (property_identifier) @keywords)
        (shorthand_property_identifier) @keywords
        (call_expression function: [(identifier) @called (member_expression property: (_) @called)])
        (new_expression constructor: [(identifier) @called (member_expression property: (_) @called)])
        (string_fragment) @texts
    """,
    declarations=_declarations,
)
TYPESCRIPT: Final = replace(
    JAVASCRIPT,
    grammars={**dict.fromkeys((".ts", ".mts", ".cts"), "typescript"), ".tsx": "tsx"},
    uses=f"{JAVASCRIPT.uses} (type_identifier) @words",
)
