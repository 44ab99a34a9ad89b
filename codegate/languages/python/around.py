"""Read the surroundings of a Python test.

These are its class, decorators, mocks, marks and fixtures.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from codegate.languages.lines import Step
from codegate.languages.python.names import is_fixture, undecorated
from codegate.languages.python.statements import DEFINITIONS, is_docstring, parameters_of
from codegate.languages.syntax import arguments_of, children_of, field, parts_of, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node


def functions(module: "Node") -> Iterator[tuple[str, "Node"]]:
    """Yield a module's functions and methods, by dotted names."""
    yield from ((name, node) for name, node in definitions(module) if node.type == "function_definition")


def definitions(node: "Node", names: tuple[str, ...] = ()) -> Iterator[tuple[str, "Node"]]:
    """Yield classes, methods and functions, by dotted names.

    ``names`` are the names of the classes around ``node``. Functions inside functions are left out.
    """
    for each in node.named_children:
        inner = undecorated(each)
        own = (*names, text_of(field(inner, "name")))
        if inner.type in DEFINITIONS:
            yield ".".join(own), inner
        if inner.type == "class_definition" and (body := field(inner, "body")) is not None:
            yield from definitions(body, own)
        elif inner.type in {"if_statement", "try_statement", "with_statement", "else_clause", "block"}:
            yield from definitions(inner, names)


def methods_of(around: "Node | None") -> "dict[str, Node]":
    """Return the methods of a class, by name."""
    found = map(undecorated, children_of(around, "body"))
    return {text_of(field(node, "name")): node for node in found if node.type == "function_definition"}


def attributes_of(around: "Node") -> Iterator["Node"]:
    """Yield the assignments in a class body."""
    for node in children_of(around, "body"):
        if node.type == "expression_statement" and node.named_children[0].type == "assignment":
            yield node


def decorators_of(definition: "Node") -> "list[Node]":
    """Return the decorators of a function or class."""
    outer = definition.parent
    if outer is None or outer.type != "decorated_definition":
        return []
    return [node for node in outer.named_children if node.type == "decorator"]


def kept_decorators(definition: "Node", mocks: "Sequence[Node]" = ()) -> list[str]:
    """Return a definition's plain pytest marks, then ``mocks``, as source.

    Other decorators, and marks with arguments, are left out: they can change the result, but examples do not show them.
    """
    own = (node for node in decorators_of(definition) if not is_table(node))
    marks = (node for node in own if node in mocks or (_is_mark(node) and not arguments_of(node.named_children[0])))
    return [text_of(node) for node in marks]


def mocks_of(test: "Node") -> "dict[str, Node] | None":
    """Return, by parameter, the ``patch`` decorator that sets it.

    None if other decorators may set parameters too.
    """
    around = class_of(test)
    above = _giving(around) if around is not None else []
    own = _giving(test)[::-1]
    if above or not all(map(mock_target, own)):
        return None
    parameters = [name for name in parameters_of(test) or () if name not in {"self", "cls"}]
    return dict(zip(parameters, own, strict=False))


def _giving(definition: "Node") -> "list[Node]":
    return [node for node in decorators_of(definition) if not _is_mark(node) and not is_table(node)]


def _is_mark(decorator: "Node") -> bool:
    return text_of(decorator).startswith("@pytest.mark.")


def mock_target(decorator: "Node") -> str:
    """Return the name that ``patch`` or ``patch.object`` replaces, or ""."""
    call = decorator.named_children[0]
    arguments, function = arguments_of(call), text_of(field(call, "function")).split(".")
    kinds = [node.type for node in arguments]
    target = ".".join(text_of(node).strip("\"'") for node in arguments)
    plain = function[-1:] == ["patch"] and kinds == ["string"]
    plain = plain or (
        function[-2:] == ["patch", "object"] and kinds in (["identifier", "string"], ["attribute", "string"])
    )
    return target if plain and re.fullmatch(r"[\w.]+", target) else ""


def class_of(test: "Node") -> "Node | None":
    """Return the class around a method, or None."""
    around = test.parent
    while around is not None and around.type in {"decorated_definition", "block"}:
        around = around.parent
    return around if around is not None and around.type == "class_definition" else None


def fixed_fixtures(module: "Node", parameters: Iterable[str]) -> Iterator[Step]:
    """Yield assignments of fixtures that only return a plain value."""
    for node in filter(is_fixture, module.named_children):
        inner = undecorated(node)
        body = [each for each in statements_of(inner) if not is_docstring(each)]
        name, returned = text_of(field(inner, "name")), body[0].named_children if len(body) == 1 else []
        if name in parameters and not parameters_of(inner) and returned and body[0].type == "return_statement":
            yield from [Step(f"{name} = {text_of(returned[0])}")] if _is_plain(returned[0]) else []


def is_value(statement: "Node") -> bool:
    """Return whether a statement assigns a plain value."""
    named = statement.type == "expression_statement" and field(statement.named_children[0], "left") is not None
    return named and _is_plain(statement)


def _is_plain(node: "Node") -> bool:
    kinds = {inner.type for inner in walk(node)}
    return kinds.isdisjoint(("call", "lambda", "attribute", "subscript", "for_in_clause", "augmented_assignment"))


def statements_of(function: "Node") -> "list[Node]":
    """Return the statements of a function's body."""
    return parts_of(field(function, "body"))


def is_table(decorator: "Node") -> bool:
    """Return whether a decorator is pytest's ``parametrize``."""
    return is_call_of("parametrize", decorator.named_children[0])


def is_call_of(name: str, node: "Node | None") -> bool:
    """Return whether a node calls a function called ``name``."""
    return text_of(field(node, "function")).endswith(name)
