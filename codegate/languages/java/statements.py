"""Read the statements of a Java test."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.lines import Step
from codegate.languages.statements import Branch, TypedReader, new_rows, operand
from codegate.languages.syntax import arguments_of, children_of, field, parts_of, statement_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTS: Final = re.compile(r"assert\w*")
_THROWS: Final = re.compile(r"assert(?:Throws\w*|ThatThrownBy|ThatException\w*)|isThrownBy|catchThrowable\w*")
#: Methods that answer yes or no about a value; an example shows the value instead.
_ASKS: Final = frozenset({"equals", "contains", "startsWith", "endsWith", "matches", "isEmpty"})
_LISTS: Final = frozenset({"asList", "of"})


class JavaReader(TypedReader):
    """Reads the statements of one test method."""

    results: ClassVar = frozenset({"method_invocation", "object_creation_expression"})
    error_wanted: ClassVar = re.compile(r"Exception|Throwable|Error\b|getMessage|getCause")

    @override
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch | Step] | None":
        # A variable that holds an expected exception becomes null.
        if statement.type == "block" and self._asserts(statement):
            return [Branch((), text_of(statement)[1:-1])]
        if statement.type.startswith("try_") and self._asserts(statement):
            return _try_body(statement)
        if statement.type == "enhanced_for_statement" and self._asserts(statement):
            return list(self._rows(statement, before))
        if statement.type == "local_variable_declaration":
            declarator = field(statement, "declarator")
            thrown = _thrown(field(declarator, "value"))
            kind = text_of(field(statement, "type")).replace("var", "Throwable")
            if thrown:
                return [*thrown, Step(f"{kind} {text_of(field(declarator, 'name'))} = null;")]
        call = statement.named_children[0] if statement.type == "expression_statement" else None
        if call is not None and call.type == "method_invocation":
            if call_name(call) == "fail":
                return None
            if thrown := _thrown(call):
                return list(thrown)
            if call_name(call) == "assertAll":
                return [Branch((), f"{text_of(field(each, 'body'))};") for each in arguments_of(call)]
            found = self._asserted(call, before)
            if found is not None:
                return found
        skipped = "comment" in statement.type or statement.type in {"return_statement", "assert_statement"}
        return None if skipped or self._asserts(statement) else Step(statement_text(statement))

    def _asserts(self, statement: "Node") -> bool:
        return asserts(statement) or any(call_name(node) in self.helpers for node in walk(statement))

    def _asserted(self, call: "Node", before: tuple[Step, ...]) -> "Step | list[Branch | Step] | None":
        helper = self.helpers.get(call_name(call))
        if helper is not None and field(call, "object") is None:
            helped = self.read_helper_call(helper, call, before)
            return [] if helped is None else helped if isinstance(helped, Step) else [*helped]
        chain: Node | None = call
        while chain is not None and chain.type == "method_invocation":
            listed = arguments_of(chain)
            if call_name(chain).startswith("assertThat") and listed:
                inner = _thrown(listed[0])
                checked = [text_of(each) for each in (listed[:-1] or listed) if self.is_computed(each)]
                return list(inner) if inner else self.check(call, checked)
            chain = field(chain, "object")
        if _ASSERTS.fullmatch(call_name(call)):
            return self.check(call, (text for each in arguments_of(call) for text in self._recorded_parts(each)))
        return None

    @override
    def parameters(self, function: "Node") -> list[tuple[str, str]]:
        listed = children_of(function, "parameters")
        return [(text_of(field(each, "name")), text_of(field(each, "type"))) for each in listed]

    @override
    def declare(self, name: str, kind: str, value: str) -> str:
        return f"{kind} {name} = {value};"

    def _rows(self, loop: "Node", before: tuple[Step, ...]) -> "Iterator[Branch | Step]":
        table = self.value(field(loop, "value"), before)
        if table is None:
            return
        listed = next((node for node in walk(table) if node.type == "array_initializer"), None)
        entries = arguments_of(table) if call_name(table) in _LISTS else parts_of(listed)
        declared = f"{text_of(field(loop, 'type'))} {text_of(field(loop, 'name'))}"
        body = text_of(field(loop, "body"))
        for entry in new_rows(entries, self.base):
            yield Branch((Step(f"{declared} = {text_of(entry)};"),), body[1:-1] if body.startswith("{") else body)

    @override
    def assigned(self, root: "Node", name: str) -> "Node | None":
        declarators = (node for node in walk(root) if node.type == "variable_declarator")
        return field(next((node for node in declarators if text_of(field(node, "name")) == name), None), "value")

    def table(self, method: "Node", sources: "Mapping[str, Node]") -> Iterator[tuple[Step, ...]]:
        """Yield each row of a parameterized test, as assignments.

        If some rows are new since the fix, only these are yielded. ``sources`` has the methods that ``@MethodSource``
        may name.
        """
        named = self.parameters(method)
        for annotation in annotations(method):
            rows: list[Node] = []
            kind = text_of(field(annotation, "name")).rpartition(".")[2]
            values = [node for node in walk(annotation) if "_literal" in node.type or node.type in {"true", "false"}]
            if kind == "MethodSource":
                wanted = text_of(values[0])[1:-1] if values else text_of(field(method, "name"))
                rows = [node for node in walk(sources.get(wanted)) if _is_row(node)]
            for row in new_rows(values if kind.endswith(("ValueSource", "CsvSource")) else rows, self.base):
                given = [text_of(row)] if kind == "ValueSource" else [text_of(each) for each in arguments_of(row)]
                if kind == "CsvSource":
                    cells = [cell.strip().strip("'") for cell in text_of(row).strip('"').split(",")]
                    given = [
                        json.dumps(cell) if "String" in kind else cell
                        for cell, (_, kind) in zip(cells, named, strict=False)
                    ]
                if len(given) == len(named):
                    yield tuple(Step(self.declare(*each, text)) for each, text in zip(named, given, strict=True))

    @override
    def is_computed(self, node: "Node") -> bool:
        if node.type in {"lambda_expression", "class_literal", "method_reference"}:
            return False
        return any(inner.type == "identifier" for inner in walk(node))

    def _recorded_parts(self, node: "Node") -> list[str]:
        """Return which parts of an assertion's argument a probe records."""
        inner = operand(node)
        if inner.type == "binary_expression":
            return [
                text
                for side in ("left", "right")
                if (part := field(inner, side))
                for text in self._recorded_parts(part)
            ]
        if inner.type == "instanceof_expression":
            return [text_of(field(inner, "left"))]
        asked = [field(inner, "object"), *arguments_of(inner)] if call_name(inner) in _ASKS else []
        return [text_of(each) for each in (*asked, inner) if each is not None and self.is_computed(each)]


def call_name(node: "Node") -> str:
    """Return the name of the called method, or ""."""
    return text_of(field(node, "name")) if node.type == "method_invocation" else ""


def annotations(node: "Node") -> "list[Node]":
    """Return the annotations of a declaration."""
    listed = [each for each in node.named_children if each.type == "modifiers"]
    return [one for each in listed for one in each.named_children if one.type.endswith("annotation")]


def annotation_names(node: "Node") -> set[str]:
    """Return the names of a declaration's annotations, without packages."""
    return {text_of(field(each, "name")).rpartition(".")[2] for each in annotations(node)}


def asserts(node: "Node") -> bool:
    """Return whether code asserts something."""
    return any(_ASSERTS.fullmatch(name) or name == "fail" for name in map(call_name, walk(node)))


def _thrown(call: "Node | None") -> tuple[Step, ...]:
    if call is None or not _THROWS.fullmatch(call_name(call)):
        return ()
    for each in arguments_of(call):
        if each.type == "method_reference":
            owner, name = each.named_children[0], each.named_children[-1]
            return (Step(checked=(f"{text_of(owner)}.{text_of(name)}()",), raises=True, panics=True),)
        if each.type == "lambda_expression" and (body := field(each, "body")) is not None:
            return _raising(body.named_children) if body.type == "block" else _raising([body])
    return ()


def _raising(statements: "list[Node]") -> tuple[Step, ...]:
    """Return statements as steps; the last should raise an error."""
    listed = [node for node in statements if "comment" not in node.type]
    if not listed:
        return ()
    last = listed[-1]
    before = tuple(Step(statement_text(each)) for each in listed[:-1])
    if last.type == "try_with_resources_statement":
        return (*before, *_resources(last), *_raising(children_of(last, "body")))
    if last.type == "local_variable_declaration":
        value = field(last, "declarator", "value")
    else:
        value = last.named_children[0] if last.type == "expression_statement" else last
    return (*before, Step(checked=(text_of(value),), raises=True, panics=True))


def _try_body(statement: "Node") -> "list[Branch | Step] | None":
    """Return the body of a ``try`` as one branch.

    A body that calls ``fail`` ends before that call, and its last statement should raise.
    """
    body = field(statement, "body")
    if body is None:
        return None
    listed = parts_of(body)
    at = next((at for at, node in enumerate(listed) if text_of(node).startswith(("fail(", "Assert.fail("))), None)
    resources = _resources(statement)
    if at is not None:
        return [Branch((*resources, *_raising(listed[:at])), "")]
    return [Branch(resources, text_of(body)[1:-1])]


def _resources(statement: "Node") -> tuple[Step, ...]:
    listed = children_of(statement, "resources")
    return tuple(Step(f"{text_of(each)};") for each in listed if field(each, "name"))


def _is_row(node: "Node") -> bool:
    # A row is ``Arguments.of(…)`` or ``arguments(…)``.
    owner, name = text_of(field(node, "object")), call_name(node)
    return name == "arguments" or (owner.endswith("Arguments") and name in {"of", "arguments"})
