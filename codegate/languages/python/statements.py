"""Read the statements of a Python test."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from codegate.languages.lines import Step
from codegate.languages.statements import Branch, StatementReader, call_in, new_rows, whole_call
from codegate.languages.syntax import arguments_of, children_of, edited, field, parse, parts_of, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

DEFINITIONS: Final = frozenset({"function_definition", "class_definition", "decorated_definition"})
_BLOCKS: Final = frozenset({"with_statement", "for_statement", "while_statement", "if_statement", "try_statement"})
_IDLE: Final = frozenset({"comment", "pass_statement", "return_statement", "continue_statement", "break_statement"})
_NAMES: Final = frozenset({"identifier", "attribute", "call"})
_SPLATS: Final = frozenset({"list_splat", "dictionary_splat", "list_splat_pattern", "dictionary_splat_pattern"})
_ASSERTS: Final = re.compile(r"(?:assert[A-Z_]\w*|fail(?:If|Unless)\w*)")
_RAISES: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesMessage"})
_WARNS: Final = frozenset({"warns", "assertWarns", "assertWarnsRegex", "assertWarnsMessage"})


@dataclass(frozen=True)
class PythonReader(StatementReader):
    """Reads the statements of one test; see ``StatementReader``.

    Attributes:
        module: syntax tree of the test file, in which names are looked up that no step assigns.
    """

    module: "Node"

    @override
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch | Step] | None":
        if statement.type in _IDLE or is_docstring(statement):
            return None
        if statement.type == "assert_statement":
            return Step(checked=tuple(_sides(statement.named_children[0])))
        call = whole_call(statement)
        if call is not None:
            helped = self._helped_call(call, before)
            if helped is not None:
                return [*helped, *filter(None, [_assertion(call)])]
            return _assertion(call) or Step(dedented(statement))
        value = field(_assignment(statement), "right")
        if value is not None and (call := call_in(value)) is not None:  # a helper may assert and return a value
            return [*(self._helped_call(call, before) or ()), Step(dedented(statement))]
        if statement.type in _BLOCKS and self._asserts(statement):
            return [*self._branches(statement, before), *self._assigning_block(statement)]
        return Step(dedented(statement))

    def _helped_call(self, call: "Node", before: tuple[Step, ...]) -> list[Branch] | None:
        """Return the body of the helper that ``call`` runs.

        Empty if the file had the same call before the fix. None if the call runs no helper, or a helper whose body
        cannot replace the call.
        """
        helper = self.helpers.get(text_of(field(call, "function")))
        branch = _helped(helper, call) if helper is not None else None
        if branch is None:
            return None
        names = (each for each in arguments_of(call) if each.type == "identifier")
        return [branch] if self.is_new_call(call, names, before) else []

    def _asserts(self, node: "Node") -> bool:
        return asserts(node) or any(
            text_of(field(inner, "function")) in self.helpers for inner in walk(node) if inner.type == "call"
        )

    def _branches(self, statement: "Node", before: tuple[Step, ...]) -> Iterator[Branch]:
        """Yield a compound statement's branches: table rows, or its block."""
        body = field(statement, "body") or field(statement, "consequence")
        if body is None:
            return
        header = text_of(statement).encode()[: body.start_byte - statement.start_byte].decode().rstrip()
        calls = [text_of(field(node, "function")).rpartition(".")[2] for node in _items(statement)]
        if statement.type == "with_statement" and not {*_RAISES, *_WARNS}.isdisjoint(calls):
            yield from _raising(body, panics=not _RAISES.isdisjoint(calls))
        elif statement.type == "try_statement" or "subTest" in calls:
            yield Branch((), dedented(body))
        elif statement.type == "for_statement" and (rows := list(self.rows(statement, before))):
            yield from (Branch(bound, dedented(body)) for bound in rows)
        else:
            yield Branch((Step(header),), dedented(body))

    def _assigning_block(self, statement: "Node") -> Iterator[Step]:
        """Yield a ``with`` block without assertions, if it assigns names."""
        if statement.type == "with_statement" and any(node.type == "assignment" for node in walk(statement)):
            gone = [node for node in walk(statement) if node.type == "assert_statement" or _is_assertion(node)]
            yield Step(dedented(parse(edited(statement, dict.fromkeys(gone, "pass")), "python")))

    def rows(self, loop: "Node", before: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
        """Yield each row of a loop's table, as assignments.

        ``before`` are the steps that lead to the loop.
        """
        target, table = field(loop, "left"), field(loop, "right")
        of_items = text_of(field(table, "function", "attribute")) == "items"
        table = self.value(field(table, "function", "object") if of_items else table, before)
        if target is None or table is None or of_items != (table.type == "dictionary"):
            return
        for row in new_rows(elements(table), self.base):
            if row.type == "pair":
                names = target.named_children
                parts = [field(row, "key"), field(row, "value")]
                pairs = zip(names, parts, strict=False) if len(names) == len(parts) else ()
                yield tuple(step for name, part in pairs if part is not None for step in bindings(name, part))
            else:
                yield tuple(bindings(target, row))

    @override
    def last_value(self, name: str, before: tuple[Step, ...]) -> "Node | None":
        return super().last_value(name, before) or self.assigned(self.module, name)

    @override
    def assigned(self, root: "Node", name: str) -> "Node | None":
        found = None
        for statement in root.named_children:
            node = _assignment(statement)
            if text_of(field(node, "left")) == name:
                found = field(node, "right")
        return found


def is_docstring(statement: "Node") -> bool:
    """Return whether a statement is only a string."""
    return statement.type == "expression_statement" and statement.named_children[0].type == "string"


def elements(table: "Node | None") -> "list[Node]":
    """Return the elements of a literal collection."""
    listed = table is not None and table.type in {"list", "tuple", "set", "dictionary"}
    found = parts_of(table) if listed else []
    return [] if any(node.type in _SPLATS for node in found) else found


def bindings(target: "Node", value: "Node") -> "Iterator[Step]":
    """Yield steps that assign ``value`` to the names in ``target``."""
    names, values = target.named_children, elements(value) if value.type != "dictionary" else []
    if target.type in {"pattern_list", "tuple_pattern", "list_pattern"} and len(names) == len(values):
        for name, part in zip(names, values, strict=True):
            yield from bindings(name, part)
    else:
        yield Step(f"{text_of(target)} = {as_value(value)}")


def asserts(node: "Node") -> bool:
    """Return whether code asserts something."""
    return any(inner.type == "assert_statement" or _is_assertion(inner) or _expects(inner) for inner in walk(node))


def dedented(node: "Node") -> str:
    """Return a node's source without its indentation."""
    first = node
    while first.parent is not None and first.parent.start_point.row == node.start_point.row:
        first = first.parent
    return shifted(text_of(node), -first.start_point.column)


def as_value(node: "Node") -> str:
    """Return an expression's source, for the right side of ``=``.

    It gets brackets if it does not parse without them.
    """
    text = dedented(node)
    whole = parse(f"_ = {text}", "python")
    return text if len(whole.named_children) == 1 and not whole.has_error else f"(\n    {shifted(text, 4)}\n)"


def shifted(text: str, by: int) -> str:
    """Indent all lines but the first by ``by`` blanks.

    A negative ``by`` removes blanks. Lines inside string literals stay.
    """
    within = {
        row for node in walk(parse(text, "python")) if node.type == "string"
        for row in range(node.start_point.row + 1, node.end_point.row + 1)
    } if '"""' in text or "'''" in text else frozenset[int]()  # fmt: skip
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if number and number not in within and line.strip():
            lines[number] = " " * by + line if by > 0 else line[min(-by, len(line) - len(line.lstrip())) :]
    return "\n".join(lines)


def parameters_of(function: "Node") -> "dict[str, Node | None] | None":
    """Return a function's parameters by name, with their defaults.

    ``**`` parameters are left out. None if the function has ``*`` parameters.
    """
    found: dict[str, Node | None] = {}
    for node in children_of(function, "parameters"):
        kinds = {inner.type for inner in walk(node)}
        if "dictionary_splat_pattern" in kinds:
            continue
        if kinds & _SPLATS:
            return None
        if node.type not in {"comment", "keyword_separator", "positional_separator"}:
            name = field(node, "name") or (node.named_children[0] if node.named_children else node)
            found[text_of(name)] = field(node, "value")
    return found


def _items(statement: "Node") -> "Iterator[Node]":
    clause = statement.named_children[0]
    for item in clause.named_children if clause.type == "with_clause" else ():
        value = field(item, "value")
        value = value.named_children[0] if value is not None and value.type == "as_pattern" else value
        if value is not None and value.type == "call":
            yield value


def _is_assertion(node: "Node") -> bool:
    alone = node.type == "call" and node.parent is not None and node.parent.type == "expression_statement"
    return alone and bool(_ASSERTS.fullmatch(text_of(field(node, "function")).rpartition(".")[2]))


def _expects(node: "Node") -> bool:
    calls = _items(node) if node.type == "with_statement" else iter(())
    return any(text_of(field(call, "function")).rpartition(".")[2] in _RAISES | _WARNS for call in calls)


def _assertion(call: "Node") -> Step | None:
    """Return the values that an assertion call checks, or None."""
    method, given = text_of(field(call, "function")).rpartition(".")[2], arguments_of(call)
    called = 2 if method.endswith(("Regex", "Message")) else 1
    if method in _RAISES | _WARNS and len(given) > called:
        function, others = given[called], ", ".join(map(text_of, given[called + 1 :]))
        inner = text_of(field(function, "body")) if function.type == "lambda" else f"{text_of(function)}({others})"
        return Step(checked=(inner,), raises=True, panics=method in _RAISES)
    if not _ASSERTS.fullmatch(method):
        return None
    sides = [node for node in given if node.type != "keyword_argument"][:2]
    return Step(checked=tuple(text for node in sides for text in _computed([node])))


def _raising(body: "Node", *, panics: bool) -> Iterator[Branch]:
    *before, last = parts_of(body)
    value = last.named_children[0] if last.type == "expression_statement" else None
    value = field(value, "right") if value is not None and value.type == "assignment" else value
    if value is not None:
        steps = tuple(Step(dedented(node)) for node in before)
        yield Branch((*steps, Step(checked=(dedented(value),), raises=True, panics=panics)), "")


def can_be_inlined(helper: "Node") -> bool:
    """Return whether a function's body can replace its calls."""
    body = field(helper, "body")
    last = parts_of(body)[-1:] if body is not None else []
    leaving = any(node.type in {"return_statement", "yield"} and node not in last for node in walk(helper))
    return helper.type == "function_definition" and not leaving and parameters_of(helper) is not None


def _assignment(statement: "Node") -> "Node | None":
    node = statement.named_children[0] if statement.type == "expression_statement" else statement
    return node if node.type == "assignment" else None


def _helped(helper: "Node", call: "Node") -> Branch | None:
    parameters, body, given = parameters_of(helper), field(helper, "body"), arguments_of(call)
    starred = any(node.type in _SPLATS for node in given)
    if parameters is None or body is None or starred or not can_be_inlined(helper):
        return None
    names = [name for name in parameters if name not in {"self", "cls"}]
    values = {name: as_value(default) for name, default in parameters.items() if default is not None}
    plain = [node for node in given if node.type != "keyword_argument"]
    values |= dict(zip(names, map(as_value, plain), strict=False))
    pairs = ((field(node, "name"), field(node, "value")) for node in given if node not in plain)
    named = {text_of(name): as_value(value) for name, value in pairs if value is not None}
    for rest in (node for node in walk(field(helper, "parameters")) if node.type == "dictionary_splat_pattern"):
        others = ", ".join(f"{name}={named.pop(name)}" for name in tuple(named) if name not in names)
        names.append(text_of(rest.named_children[0]))
        named[names[-1]] = f"dict({others})"
    values |= named
    found = {name: {text_of(node) for node in walk(parse(text, "python"))} for name, text in values.items()}
    if set(values) != set(names) or any(others & set(names) - {name} for name, others in found.items()):
        return None  # a value would use a parameter that is assigned before it
    bound = tuple(Step(f"{name} = {values[name]}") for name in names if values[name] != name)
    return Branch(bound, dedented(body))


def _sides(test: "Node") -> Iterator[str]:
    """Yield which expressions in an assert's condition a probe records."""
    inner = parts_of(test)
    operators = {node.type for node in test.children if not node.is_named}
    if test.type in {"parenthesized_expression", "not_operator", "boolean_operator"}:
        for side in inner:
            yield from _sides(side)
    elif test.type == "comparison_operator" and len(inner) == 2:
        made = [node for node in inner if not is_literal(node)]
        if operators & {"in", "not in"} and inner[1].type == "identifier":
            # The container's value may show no items.
            yield from (text_of(inner[1]), f"{text_of(inner[0])} in {text_of(inner[1])}")
            return
        yield from _computed(made)
        computed = any(node.type in {"call", "attribute"} for side in made for node in walk(side))
        if made and (operators & {"<", "<=", ">", ">="} or not computed):
            yield text_of(test)  # the comparison itself may be wrong
    elif test.type == "call" and text_of(field(test, "function")) == "isinstance" and arguments_of(test):
        yield text_of(arguments_of(test)[0])
    elif not is_literal(test):
        yield text_of(test)


def _computed(nodes: "Iterable[Node]") -> Iterator[str]:
    """Yield the source of nodes that are not literals.

    Before a call of ``len``, its argument is yielded.
    """
    for node in nodes:
        if node.type == "call" and text_of(field(node, "function")) == "len":
            yield from map(text_of, arguments_of(node)[:1])
        if not is_literal(node):
            yield dedented(node)


def is_literal(node: "Node") -> bool:
    """Return whether an expression has no name, attribute or call."""
    return not any(inner.type in _NAMES for inner in walk(node))
