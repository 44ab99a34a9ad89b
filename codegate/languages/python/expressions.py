"""What the expressions in tests of Python are: literals, tables of rows, what names stand for, and tolerances."""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from codegate.languages.mutation import below
from codegate.languages.python.names import BUILTINS
from codegate.languages.python.operators import ABSOLUTE, MADE_OF_ALL, MAKING, RELATIVE, TOLERANT
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS: Final = frozenset({"string", "concatenated_string", "integer", "float", "true", "false", "none"})
_SPLATS: Final = frozenset({"list_splat", "dictionary_splat"})
SEQUENCES: Final = frozenset({"list", "tuple", "set"})
_ARGUMENTS: Final = frozenset({"keyword_argument", "dictionary_splat", "comment"})
#: Nodes with a name in them that stands for nothing yet, by the fields that hold no names either.
_NAMING: Final = {
    "attribute": "attribute",
    "keyword_argument": "name",
    "function_definition": "name",
    "class_definition": "name",
    "default_parameter": "name",
    "typed_default_parameter": "name",
}
_UNNAMED: Final = frozenset(
    {"import_statement", "import_from_statement", "global_statement", "nonlocal_statement", "comment"}
)
_PARAMETERS: Final = frozenset(
    {"parameters", "lambda_parameters", "typed_parameter", "list_splat_pattern", "dictionary_splat_pattern"}
)


def plain(node: "Node | None") -> "Node | None":
    """Return an expression without parentheses around it."""
    while node is not None and node.type == "parenthesized_expression":
        node = next(iter(parts(node)), None)
    return node


def parts(node: "Node | None") -> list["Node"]:
    """Return what is in a node, without comments and parentheses."""
    found = [plain(each) for each in node.named_children if each.type != "comment"] if node is not None else []
    return [each for each in found if each is not None]


def is_literal(node: "Node") -> bool:
    """Return whether a node is a literal of a number, a text, bytes, a truth value or None."""
    if node.type == "concatenated_string":
        return all(map(is_literal, parts(node)))
    if node.type == "string":
        return not set(text_of(node).partition("'")[0].partition('"')[0].lower()) & {"f", "t"}
    return node.type in _LITERALS and not (node.type != "none" and text_of(node)[-1:] in "jJ")


def value_of(node: "Node | None") -> Any:
    """Return the value of a literal; Ellipsis for all other nodes."""
    if node is None or not is_literal(node):
        return ...
    try:
        return ast.literal_eval(f"({text_of(node)})")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ...


def number_of(node: "Node | None") -> int | float | None:
    """Return the number that a literal is; None for everything else."""
    value = value_of(node)
    return value if type(value) in (int, float) else None


def name_of(node: "Node | None") -> str:
    """Return the last part of what is called."""
    node = plain(node)
    if node is not None and node.type == "attribute":
        return text_of(field(node, "attribute"))
    return text_of(node) if node is not None and node.type == "identifier" else ""


def called(node: "Node | None") -> str:
    """Return the last part of the name of what a call calls; empty for what is no call."""
    return name_of(field(node, "function")) if node is not None and node.type == "call" else ""


def arguments(call: "Node | None") -> list["Node"]:
    """Return the arguments of a call that have no names."""
    listed = field(call, "arguments")
    if listed is None or listed.type == "generator_expression":
        return [listed] if listed is not None else []
    return [each for each in parts(listed) if each.type not in _ARGUMENTS]


def keywords(call: "Node") -> dict[str, "Node"]:
    """Return the arguments of a call that have names."""
    listed = [each for each in parts(field(call, "arguments")) if each.type == "keyword_argument"]
    return {text_of(field(each, "name")): value for each in listed if (value := plain(field(each, "value")))}


def names(node: "Node") -> Iterator["Node"]:
    """Yield the names that stand for something in a node: none of members, arguments or parameters."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "identifier":
            yield current
            continue
        without = field(current, _NAMING[current.type]) if current.type in _NAMING else None
        inner = [each for each in current.named_children if each != without and each.type not in _UNNAMED]
        bare = current.type in _PARAMETERS
        stack += [each for each in inner if not (bare and each.type == "identifier")]


def names_in(node: "Node") -> set[str]:
    """Return the names that an expression is made of, but for the classes that it makes something of."""
    made = {field(each, "function") for each in below(node) if called(each)[:1].isupper()}
    return {text_of(each) for each in names(node) if each not in made}


def literals(node: "Node | None") -> list["Node"]:
    """Return the literals that decide what a node is, if it is written out: containers, and calls of one with it."""
    node = plain(node)
    if node is None:
        return []
    if is_literal(node):
        return [node]
    if node.type == "unary_operator":
        return literals(field(node, "argument"))
    if node.type in SEQUENCES:
        return [found for part in parts(node) for found in literals(part)]
    if node.type == "dictionary":
        pairs = [each for each in parts(node) if each.type == "pair"]
        return [found for name in ("key", "value") for pair in pairs for found in literals(field(pair, name))]
    args, name = arguments(node), called(node)
    if node.type != "call" or any(arg.type in _SPLATS for arg in args):
        return []
    if name[:1].isupper() or name in MADE_OF_ALL:
        return [found for part in (*args, *keywords(node).values()) for found in literals(part)]
    # What another function makes of it is not for the test to say.
    return literals(args[0]) if args and (name in MAKING or name in BUILTINS) else []


def constants(node: "Node") -> list["Node"]:
    """Return every literal below a node that can stand for another: no place in a sequence, no key."""
    found, stack = [], [node]
    while stack:
        each = stack.pop()
        if type(value_of(each)) in (int, float, str, bytes):
            found.append(each)
        elif each.type == "subscript":
            stack += [value] if (value := field(each, "value")) else []
        elif each.type not in {"string", "concatenated_string"}:
            stack += each.named_children
    return sorted(found, key=lambda literal: literal.start_byte)


def rows_of(function: "Node") -> tuple[list[str], list["Node"]]:
    """Return the argument names and the rows of a test that is parametrized once; ``function``: with decorators."""
    decorators = [each for each in parts(function) if each.type == "decorator"]
    calls = [call for each in decorators for call in parts(each) if called(call) == "parametrize"]
    found = [args for call in calls if len(args := arguments(call)) > 1]
    if len(found) != 1 or found[0][1].type not in {"list", "tuple"}:
        return [], []
    given = value_of(found[0][0])
    if isinstance(given, str):
        columns = [name.strip() for name in given.split(",") if name.strip()]
    else:
        columns = [str(value) for part in parts(found[0][0]) if (value := value_of(part)) is not ...]
    rows = parts(found[0][1])
    return (columns, rows) if columns and not any(row.type in _SPLATS for row in rows) else ([], [])


def cell(row: "Node", columns: Sequence[str], name: str) -> "Node | None":
    """Return what a row has for an argument."""
    if called(row) == "param":
        cells = arguments(row)
    elif len(columns) > 1:
        cells = parts(row) if row.type in SEQUENCES else []
    else:
        cells = [row]
    return cells[columns.index(name)] if len(cells) == len(columns) else None


def bound(name: str, bodies: Iterable["Node"], line: int) -> list["Node"]:
    """Return the expressions that ``name`` may have been bound to before ``line``, the nearest first."""
    found: list[tuple[int, Node]] = []
    bodies = list(bodies)
    for node in (part for body in bodies for part in below(body)):
        row = node.start_point.row
        if node.type == "assignment" and row < line:
            targets, value = assigned(node)
            found += [(row, value) for to in targets if to.type == "identifier" and text_of(to) == name and value]
        elif node.type == "for_statement" and row < line:
            target, rows = field(node, "left"), plain(field(node, "right"))
            found += [(row, value) for value in taken(name, target, rows, bodies, row)]
    return [value for _, value in sorted(found, key=lambda entry: -entry[0])]


def assigned(node: "Node") -> tuple[list["Node"], "Node | None"]:
    """Return the targets of an assignment without a type, and the value that it gives them."""
    targets: list[Node] = []
    inner: Node | None = node
    while inner is not None and inner.type == "assignment" and field(inner, "type") is None:
        targets += [target] if (target := field(inner, "left")) else []
        inner = plain(field(inner, "right"))
    return targets, inner


def taken(name: str, target: "Node | None", rows: "Node | None", bodies: Iterable["Node"], line: int) -> list["Node"]:
    """Return what ``name`` is in turn: a part of ``target``, of each of the ``rows`` that are written out."""
    if target is None or rows is None:
        return []
    targets = parts(target) if target.type in {"pattern_list", "tuple_pattern"} else [target]
    columns = [text_of(to) if to.type == "identifier" else "" for to in targets]
    if name not in columns:
        return []
    function = field(rows, "function")
    pairs = called(rows) == "items" and function is not None and function.type == "attribute"
    table = plain(field(function, "object")) if pairs else rows
    if table is not None and table.type == "identifier" and text_of(table) != name:
        table = next(iter(bound(text_of(table), bodies, line)), None)
    if pairs and table is not None and table.type == "dictionary":
        which = ("key", "value")[columns.index(name)] if len(columns) == 2 else ""
        return [value for pair in parts(table) if which and (value := plain(field(pair, which)))]
    if pairs or table is None or table.type not in SEQUENCES:
        return []
    return [value for row in parts(table) if (value := cell(row, columns, name)) is not None]


def tolerance_of(node: "Node") -> tuple[float, float] | None:
    """Return by how much what is compared may differ, absolutely and relatively; None where it may not.

    The former is infinite where the test does not write it out.
    """
    found = None
    for call in [part for part in below(node) if part.type == "call"]:
        given = {name: number_of(value) for name, value in keywords(call).items()}
        name = called(call)
        if not TOLERANT.search(name) and not any(key in given for key in (*ABSOLUTE, *RELATIVE)):
            continue
        known = [given[key] for key in (*ABSOLUTE, *RELATIVE, "places") if key in given]
        if None in known or len(arguments(call)) > (1 if name == "approx" else 2):
            return math.inf, 0.0
        before = found or (0.0, 0.0)
        places = 10.0 ** -(given["places"] or 0) if "places" in given else 0.0
        found = (_largest(given, ABSOLUTE, places, before[0]), _largest(given, RELATIVE, 1e-5, before[1]))
    return found


def _largest(given: Mapping[str, int | float | None], names: Iterable[str], *others: float) -> float:
    return max([*others, *(value for name in names if (value := given.get(name)) is not None)])
