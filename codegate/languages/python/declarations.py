"""Read the names that Python files declare and use."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codegate.languages.declarations import Declaration, Kind, NameReader, header
from codegate.languages.syntax import children_of, field, scoped, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPES: Final = frozenset({"class_definition", "function_definition", "decorated_definition"})
_ASSIGNMENTS: Final = frozenset({"assignment", "augmented_assignment"})
_PATTERNS: Final = frozenset({"pattern_list", "tuple_pattern", "list_pattern"})
_PROPERTIES: Final = ("property", "cached_property")


def _declarations(root: "Node", path: str, place: str) -> Iterator[Declaration]:
    place = f"{place}." if place else ""
    for node, scopes in scoped(root, _SCOPES):
        if node.type in _ASSIGNMENTS:
            yield from _assigned(node, scopes, place)
        elif node.type == "call" and text_of(field(node, "function")) == "setattr":
            given = children_of(node, "arguments")[1:2]
            if given and given[0].type == "string":
                yield _bare(text_of(given[0]).strip("\"'"))
        elif any(scope.type == "function_definition" for scope in scopes):
            continue
        elif node.type == "function_definition":
            yield from _function(node, scopes, place)
        elif node.type == "class_definition":
            yield _class(node, scopes, place)
        elif node.type == "import_from_statement" and path.endswith("__init__.py"):
            package = text_of(field(node, "module_name")).partition(".")[0]
            if package and package != place.partition(".")[0]:
                continue  # names of other packages are not this package's interface
            for each in node.children_by_field_name("name"):
                name = text_of(field(each, "alias") or each)
                yield _declaration(name, f"from {place[:-1]} import {name}", "import")


def _declaration(
    name: str, signature: str, kind: Kind, owner: str = "", parameters: tuple[str, ...] = ()
) -> Declaration:
    public = not any(part.startswith("_") and not part.endswith("__") for part in (name, *owner.split(".")))
    return Declaration(name, signature, kind, owner, parameters, public)


def _bare(name: str) -> Declaration:
    return Declaration(name, f"attribute {name}", "attribute", public=not name.startswith("_"), bare=True)


def _owner(scopes: "tuple[Node, ...]") -> str:
    return ".".join(text_of(field(scope, "name")) for scope in scopes if scope.type == "class_definition")


def _function(node: "Node", scopes: "tuple[Node, ...]", place: str) -> Iterator[Declaration]:
    name, owner, decorators = text_of(field(node, "name")), _owner(scopes), _decorators(scopes)
    if any(mark.endswith((".setter", ".deleter")) for mark in decorators):
        return
    qualified = f"{place}{owner}.{name}" if owner else f"{place}{name}"
    is_property = any(mark.rpartition(".")[2] in _PROPERTIES for mark in decorators)
    marks = [mark for mark in decorators if mark in {"classmethod", "staticmethod"}]
    before = "".join(f"{mark} " for mark in (["property"] if is_property else marks))
    edits = {"name": f"{before}{qualified}", "body": "", **({"parameters": ""} if is_property else {})}
    signature = header(node, edits).removesuffix(":").replace("def ", "", 1)
    yield _declaration(name, signature, "function", owner, () if is_property else _parameters(node))


def _class(node: "Node", scopes: "tuple[Node, ...]", place: str) -> Declaration:
    name, owner = text_of(field(node, "name")), _owner(scopes)
    qualified = f"{place}{owner}.{name}" if owner else f"{place}{name}"
    shown = header(node, {"name": qualified, "body": ""}).removesuffix(":")
    inner = [field(each, "definition") or each for each in children_of(node, "body")]
    start = next((each for each in inner if text_of(field(each, "name")) == "__init__"), None)
    if start is not None:
        shown += f": __init__{header(field(start, 'parameters'))}"
    elif any("dataclass" in mark for mark in _decorators(scopes)):
        values = [each.named_children[0] for each in inner if each.type == "expression_statement"]
        fields = [(field(each, "left"), field(each, "type")) for each in values if each.type == "assignment"]
        shown += ": " + ", ".join(f"{text_of(at)}: {header(kind)}" for at, kind in fields if kind is not None)
    return _declaration(name, shown, "type", owner, _parameters(start) if start is not None else ())


def _decorators(scopes: "tuple[Node, ...]") -> list[str]:
    around = scopes[-1] if scopes and scopes[-1].type == "decorated_definition" else None
    return [text_of(each)[1:].strip() for each in children_of(around) if each.type == "decorator"]


def _parameters(function: "Node") -> tuple[str, ...]:
    given = [each for each in children_of(function, "parameters") if "splat" not in each.type]
    names = [text_of(field(each, "name") or (each.named_children or [each])[0]) for each in given]
    return tuple(name for name in names if name.isidentifier() and name not in {"self", "cls"})


def _assigned(node: "Node", scopes: "tuple[Node, ...]", place: str) -> Iterator[Declaration]:
    left, kind = field(node, "left"), field(node, "type")
    owner, functions = _owner(scopes), [scope for scope in scopes if scope.type == "function_definition"]
    targets = [left] if left is not None else []
    while targets:
        target = targets.pop()
        qualified = f"{place}{owner}." if owner else place
        if target.type in _PATTERNS:
            targets += reversed(target.named_children)
        elif target.type == "attribute":
            name = text_of(field(target, "attribute"))
            listed = children_of(functions[0], "parameters") if functions and owner else []
            this = text_of(listed[0]) if listed else ""
            of_self = this and text_of(field(target, "object")) == this
            yield _declaration(name, f"{qualified}{name}", "attribute", owner) if of_self else _bare(name)
        elif target.type == "identifier" and not functions:
            name = text_of(target)
            shown = f"{qualified}{name}: {header(kind)}" if kind is not None else f"{qualified}{name}"
            yield _declaration(name, shown, "field" if owner else "value", owner)


PYTHON: Final = NameReader(
    grammars={".py": "python", ".pyi": "python"},
    uses="""
        (identifier) @words
        (attribute attribute: (_) @members)
        (keyword_argument name: (_) @keywords)
        (call function: [(identifier) @called (attribute attribute: (_) @called)])
        (import_from_statement module_name: (dotted_name (_) @modules))
        (import_from_statement name: (dotted_name (_) @members))
        (aliased_import name: (dotted_name (_) @members))
        (string_content) @texts
        (argument_list (string (string_content) @arguments))
        (subscript subscript: (string (string_content) @arguments))
        (comparison_operator . (string (string_content) @arguments))
    """,
    declarations=_declarations,
    module=lambda path: path.rpartition(".")[0].removesuffix("/__init__"),
)
