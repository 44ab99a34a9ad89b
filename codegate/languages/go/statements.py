"""What the syntax of Go's tests means: names, scopes, and statements that report failures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from codegate.languages.go.operators import FAILURES, TESTERS
from codegate.languages.mutation import below
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Scope = dict[str, str]
"""Names of what reports failures, a ``*testing.T`` (``tester``), and of what has assertions (``asserter``)."""
_ASSIGNMENTS: Final = frozenset({"short_var_declaration", "var_spec", "const_spec"})
NESTED: Final = frozenset(
    {"for_statement", "expression_switch_statement", "type_switch_statement", "select_statement", "expression_case",
     "default_case", "type_case", "communication_case"}
)  # fmt: skip


def name_of(node: "Node | None") -> str:
    """Return the last name of what is called, or a key."""
    if node is None:
        return ""
    if node.type in {"index_expression", "type_instantiation_expression"}:
        return name_of(field(node, "operand") or field(node, "type"))
    if node.type == "selector_expression":
        return text_of(field(node, "field"))
    return text_of(node) if node.type in {"identifier", "type_identifier", "field_identifier", "nil"} else ""


def root_of(node: "Node | None") -> str:
    """Return the first name of a chain of selectors and calls."""
    while node is not None and node.type in {"selector_expression", "call_expression"}:
        node = field(node, "operand") or field(node, "function")
    return name_of(node)


def scope_within(names: Scope, parameters: "Node | None") -> tuple[Scope, bool]:
    """Return the scope of a function inside, and whether one of its parameters is a tester."""
    inner, found = dict(names), False
    for each in parameters.named_children if parameters is not None else ():
        tester = TESTERS.fullmatch(text_of(field(each, "type"))) is not None
        for name in map(text_of, each.children_by_field_name("name")):
            inner[name] = "tester" if tester else ""
            found = found or tester
    return inner, found


def has_tester(args: list["Node"], names: Scope) -> bool:
    """Return whether what reports failures is among the arguments of a call."""
    return any(arg.type == "identifier" and names.get(text_of(arg)) == "tester" for arg in args)


def statements_of(block: "Node") -> Iterator["Node"]:
    """Yield the statements of a block or a case; of a switch, its cases."""
    for each in block.named_children:
        if each.type == "statement_list":
            yield from (node for node in each.named_children if node.type != "comment")
        elif each.type in NESTED:
            yield each


def leaves(node: "Node") -> bool:
    """Return whether a statement may end the function that it is in."""
    return any(each.type in {"return_statement", "goto_statement"} for each in below(node, {"func_literal"}))


def recovers(block: "Node") -> bool:
    """Return whether a panic may be what a function waits for: the rest of it is not run then."""
    return any(name_of(field(node, "function")) == "recover" for node in below(block) if node.type == "call_expression")


def fails(block: "Node | None", names: Scope) -> bool:
    """Return whether a block reports a failure, whichever way it is left."""
    for node in statements_of(block) if block is not None and block.type == "block" else ():
        if node.type == "expression_statement":
            called = field(node.named_children[0], "function")
            if names.get(root_of(called)) and name_of(called) in FAILURES:
                return True
        elif node.type == "if_statement":
            branches = field(node, "consequence"), field(node, "alternative")
            if all(fails(branch, names) for branch in branches):
                return True
    return False


def is_needed(condition: "Node", block: "Node") -> bool:
    """Return whether a block uses what its condition says is not nil: ``err.Error()`` of none ends the process."""
    left, right = field(condition, "left"), field(condition, "right")
    unequal = condition.type == "binary_expression" and text_of(field(condition, "operator")) == "!="
    return unequal and text_of(right) == "nil" and f"{text_of(left)}." in text_of(block)


def is_condition(node: "Node") -> bool:
    """Return whether an expression is a bool by its form."""
    operator = text_of(field(node, "operator"))
    if node.type == "parenthesized_expression":
        return is_condition(node.named_children[0])
    if node.type == "unary_expression":
        return operator == "!"
    return node.type == "binary_expression" and operator in {"||", "&&", "==", "!=", "<", "<=", ">", ">="}


def assigned(node: "Node") -> Iterator[tuple[str, "Node"]]:
    """Yield the names that a declaration gives one value each, with the value."""
    for each in below(node, {"func_literal", "composite_literal"}):
        names = each.children_by_field_name("name") or getattr(field(each, "left"), "named_children", [])
        values = field(each, "value") or field(each, "right")
        given = values.named_children if values is not None and each.type in _ASSIGNMENTS else []
        if len(names) == len(given) == 1:
            yield text_of(names[0]), given[0]


def fields_of(kind: "Node | None") -> list[str]:
    """Return the names of a struct's fields, in their order."""
    if kind is None or kind.type != "struct_type":
        return []
    listed = [each for part in kind.named_children for each in part.named_children]
    return [text_of(name) for each in listed for name in each.children_by_field_name("name")]
