"""Find where Python code declares, assigns and reads names."""

import builtins
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codegate.languages.python.statements import DEFINITIONS, is_docstring, parameters_of
from codegate.languages.syntax import children_of, edited, field, parse, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

BINDING: Final = frozenset({"assignment", "augmented_assignment", "named_expression", "for_statement"})
_SCOPES: Final = frozenset({"function_definition", "class_definition", "lambda"})
_COMPREHENSIONS: Final = frozenset(
    {"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"}
)
_TARGETS: Final = frozenset({"identifier", "pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"})
_IMPORTS: Final = frozenset({"import_statement", "import_from_statement"})
_BUILTINS: Final = frozenset(dir(builtins))


def names(statement: "Node") -> set[str]:
    """Return the names that a statement declares or assigns."""
    if statement.type in _IMPORTS:
        return _imported(statement)
    found = {text_of(field(undecorated(statement), "name"))} if statement.type in DEFINITIONS else set[str]()
    for node in _outer(statement):
        target = field(node, "left") or field(node, "name") if node.type in BINDING else None
        if node.type == "as_pattern_target":
            target = node
        while target is not None and target.type in {"attribute", "subscript"}:
            target = field(target, "object") or field(target, "value")
        found |= {text_of(each) for each in walk(target) if each.type == "identifier"}
    return found


def free_names(root: "Node") -> frozenset[str]:
    """Return the names that code reads but does not define."""
    found, own, elsewhere = set[str](), set[str](), set[str]()
    for node in _within(root):
        outer = node.parent
        if node != root and _is_scope(node):
            found |= free_names(node)
        elif node.type in {"global_statement", "nonlocal_statement"}:
            elsewhere |= {text_of(name) for name in node.named_children}
        elif node.type == "identifier" and outer is not None and not _is_not_read(node, outer):
            found.add(text_of(node))
        # Methods do not see the names that their class assigns.
        own |= _own_names(node, root) if _is_scope(root) and root.type != "class_definition" else set()
    for parameter in children_of(root, "parameters"):
        # Default values and annotations are read in the scope around the function.
        name, *outside = [each for each in walk(parameter) if each.type == "identifier"] or [parameter]
        own.add(text_of(name))
        elsewhere |= {text_of(each) for each in outside if each.parent and not _is_not_read(each, each.parent)}
    return frozenset(found - own | elsewhere)


def definitions_for(module: "Node", needed: frozenset[str]) -> list[str] | None:
    """Return the imports and definitions that define ``needed``.

    Definitions that they use are included. None if the module does not define a name; ``import *`` counts as defining
    any name.
    """
    definitions: list[str] = []
    made = {
        text_of(field(undecorated(node), "name")): undecorated(node)
        for node in module.named_children
        if is_fixture(node)
    }
    wanted, before = set(needed) - _BUILTINS, -1
    while len(wanted) != before:  # fixtures may need fixtures that are defined below them
        before = len(wanted)
        wanted |= {each for name in wanted & set(made) for each in parameters_of(made[name]) or () if each in made}
    for node in reversed(module.named_children):
        if node.type in _IMPORTS:
            own = _imported(node) & wanted
            definitions[:0] = [_narrowed(node, own)] if own else []
            wanted -= own
        else:
            own = names(node) & wanted
            if own and node.type in DEFINITIONS | {"expression_statement"}:
                text = _without_docstring(node)
                definitions.insert(0, text)
                wanted -= own
                wanted |= free_names(parse(text, "python")) - _BUILTINS  # "f.limit = 3" needs f, too
    if not wanted:
        return definitions
    imports = [node for node in module.named_children if any(one.type == "wildcard_import" for one in node.children)]
    stars = [text_of(node) for node in imports]
    return [*stars, *definitions] if stars else None


def imported(module: "Node") -> set[str]:
    """Return the names that a module imports."""
    return {name for node in module.named_children if node.type in _IMPORTS for name in _imported(node)}


def import_origins(module: "Node") -> dict[str, str]:
    """Return the dotted origin of each imported name."""
    found = dict[str, str]()
    for statement in module.named_children:
        for each in statement.children_by_field_name("name") if statement.type in _IMPORTS else ():
            name, own = _bound_by(statement, each), text_of(field(each, "name"))
            package = text_of(field(statement, "module_name"))
            dot = "" if package.endswith(".") or not package else "."
            found.setdefault(name, f"{package}{dot}{own or name}")
    return found


def undecorated(node: "Node") -> "Node":
    """Return a definition without its decorators."""
    return field(node, "definition") or node


def is_fixture(node: "Node") -> bool:
    """Return whether a module's definition is a pytest fixture."""
    return any("fixture" in text_of(each) for each in node.named_children if each.type == "decorator")


def _outer(root: "Node") -> Iterator["Node"]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if node.type not in _SCOPES:
            stack.extend(reversed(node.named_children))


def _is_scope(node: "Node") -> bool:
    return node.type in _SCOPES | _COMPREHENSIONS


def _within(scope: "Node") -> Iterator["Node"]:
    # Of each inner scope, only the topmost node is yielded.
    stack = [scope]
    while stack:
        node = stack.pop()
        yield node
        if node == scope or not _is_scope(node):
            stack.extend(reversed(node.named_children))


def _own_names(node: "Node", scope: "Node") -> set[str]:
    if node.type in _IMPORTS:
        return _imported(node)
    if node.type in {"function_definition", "class_definition"}:
        return {text_of(field(node, "name"))} if node != scope else set()
    target = node if node.type == "as_pattern_target" else None
    if node.type in BINDING | {"for_in_clause"}:
        target = field(node, "left") or field(node, "name")
    parts = [target] if target is not None else []
    for part in parts:
        parts += part.named_children if part.type in _TARGETS | {"as_pattern_target"} else []
    return {text_of(part) for part in parts if part.type == "identifier"}


def _is_not_read(node: "Node", outer: "Node") -> bool:
    """Return whether an identifier reads no variable.

    It may name an attribute, a keyword argument or a definition, or be assigned to. ``outer`` is its parent.
    """
    if outer.type == "attribute":
        return field(outer, "attribute") == node
    if outer.type in {"keyword_argument", "function_definition", "class_definition", "named_expression"}:
        return field(outer, "name") == node
    if outer.type in {"dotted_name", "aliased_import", "as_pattern_target"}:
        return True
    target = node
    while outer.parent is not None and outer.type in _TARGETS:
        target, outer = outer, outer.parent
    return outer.type in {"assignment", "for_statement"} and field(outer, "left") == target


def _imported(statement: "Node") -> set[str]:
    return {_bound_by(statement, name) for name in statement.children_by_field_name("name")}


def _narrowed(statement: "Node", wanted: set[str]) -> str:
    module = field(statement, "module_name")
    kept = [text_of(name) for name in statement.children_by_field_name("name") if _bound_by(statement, name) in wanted]
    head = f"from {text_of(module)} import" if module is not None else "import"
    return f"{head} {', '.join(kept)}"


def _bound_by(statement: "Node", name: "Node") -> str:
    if name.type == "aliased_import":
        return text_of(field(name, "alias"))
    return text_of(name) if statement.type == "import_from_statement" else text_of(name).partition(".")[0]


def _without_docstring(statement: "Node") -> str:
    body = children_of(undecorated(statement), "body")
    if len(body) < 2 or not is_docstring(body[0]):
        return text_of(statement)
    text = edited(statement, {body[0]: ""})
    return re.sub(r"\n[ \t]*\n", "\n", text, count=1)
