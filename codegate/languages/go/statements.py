"""Read the statements of a Go test."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.lines import Step
from codegate.languages.statements import Branch, TypedReader, new_rows
from codegate.languages.syntax import arguments_of, children_of, edited, field, parts_of, statement_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node


_FAILING: Final = re.compile(r"\.(?:Error|Fatal|Fail)\w*$")
_IDLE: Final = re.compile(r"\.(?:Parallel|Helper|Log|Logf|Skip|Skipf|SkipNow|Cleanup)$")
_ASSERTING: Final = re.compile(r"(?:assert|require|is|qt|c)\.\w+")
#: Assertions as methods of an object that ``require.New(t)`` returned, whatever its name.
_METHOD: Final = re.compile(
    r"\w+\.(?:(?:No|Equal)?Error\w*|(?:Not)?(?:Equal\w*|Contains|Nil|Empty|Zero|Panics\w*)|ElementsMatch|Len|True|False)"
)
_TYPE: Final = re.compile(r"u?int\d*|float\d+|string|byte|rune|bool")
_UNTYPED: Final = frozenset({"string", "int", "bool", "any", "error", "float64", ""})
_SCALARS: Final = re.compile(r"(?:int|float|rune|(?:interpreted|raw)_string)_literal|true|false|unary_expression")
_POINTER: Final = re.compile(r"\(?(?:(?:interface ?\{\}|any)\()?&")
_ZERO: Final = {"string": '""', "bool": "false", "error": "nil", "any": "nil"}


@dataclass(frozen=True)
class GoReader(TypedReader):
    """Reads the statements of one Go test; see ``StatementReader``.

    Attributes:
        subtests: names of failing subtests; empty: read all of them.
        types: structs that the test's file or function declares, by name.
    """

    results: ClassVar = frozenset({"call_expression", "selector_expression"})
    error_wanted: ClassVar = re.compile(
        r"\berr\w* == nil|!= true|== false|\berr\w*\.Error\(\)|errors\.(?:As|Is)\(|"
        r"(?<!t)\.(?:Error(?:f|Is|As|Contains\w*)?|EqualError\w*|Panics\w*)\((?!\))"
    )
    subtests: frozenset[str]
    types: "Mapping[str, Node]"

    @override
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch] | None":
        call = statement.named_children[0] if statement.type == "expression_statement" else None
        function = text_of(field(call, "function"))
        if statement.type in {"comment", "return_statement"} or _IDLE.search(function):
            return None
        if call is not None and function.endswith(".Run"):
            return self._subtest(call)
        if statement.type == "for_statement" and self._asserts(statement):
            return list(self._rows(statement, before)) or None
        if statement.type == "if_statement" and self._asserts(statement):
            return self._condition(statement)
        if call is not None and call.type == "call_expression":
            arguments = arguments_of(call)
            if guarded := _recovering_code(function, arguments):
                return Step(guarded)
            if (helper := self.helpers.get(function)) is not None:
                return self.read_helper_call(helper, call, before)
            if _FAILING.search(function) and function.count(".") == 1 and function.startswith("t"):
                return None
            if _asserts(call) or any(text_of(each) in {"t", "tb"} for each in arguments):
                checked = [text_of(each) for each in arguments if self.is_computed(each)]
                if checked:
                    return self.check(call, checked)
        if statement.type == "block":
            return [Branch((), text_of(statement)[1:-1])]
        own = re.fullmatch(r"(\w+) := \1", text_of(statement))
        declares = statement.type in {"short_var_declaration", "var_declaration", "assignment_statement"}
        return None if own or (self._asserts(statement) and not declares) else Step(statement_text(statement))

    def _asserts(self, node: "Node") -> bool:
        return asserts(node) or any(text_of(field(inner, "function")) in self.helpers for inner in walk(node))

    @override
    def parameters(self, function: "Node") -> list[tuple[str, str]]:
        generic = field(function, "type_parameters") is not None
        return [
            (text_of(name), text_of(field(parameter, "type")))
            for parameter in (() if generic else children_of(function, "parameters"))
            for name in parameter.children_by_field_name("name")
        ]

    @override
    def declare(self, name: str, kind: str, value: str) -> str:
        return f"{name} := {value}" if kind in _UNTYPED - {"any", "error"} else f"var {name} {kind} = {value}"

    @override
    def is_computed(self, node: "Node") -> bool:
        if node.type in {"func_literal", "nil", "true", "false"} or text_of(node) in {"t", "tb"}:
            return False
        return any(inner.type == "identifier" and not _TYPE.fullmatch(text_of(inner)) for inner in walk(node))

    def _condition(self, statement: "Node") -> Step:
        """Return a step that checks an ``if`` condition's values."""
        condition = field(statement, "condition")
        calls = [node for node in walk(statement) if node.type == "call_expression"]
        inside = {name for node in walk(statement) for name in variables(node) if node.parent is not statement}
        failing = (call for call in calls if _FAILING.search(text_of(field(call, "function"))))
        values = [each for call in failing for each in arguments_of(call) if self.is_computed(each)]
        outer = [one for one in values if inside.isdisjoint(text_of(n) for n in walk(one) if n.type == "identifier")]
        step = self.check(statement, [*(self._operands(condition) if condition else ()), *map(text_of, outer)])
        # A call such as errors.As assigns to its argument, so the step makes the call.
        filling = (
            text
            for call in calls
            if condition
            and condition.start_byte <= call.start_byte < condition.end_byte
            and "&" in (text := text_of(call))
        )
        return replace(step, text=text_of(field(statement, "initializer")) or next(filling, ""))

    def _operands(self, condition: "Node") -> list[str]:
        if condition.type == "parenthesized_expression":
            return self._operands(condition.named_children[0])
        if condition.type == "unary_expression" and text_of(condition).startswith("!"):
            return self._operands(condition.named_children[0])
        if condition.type == "binary_expression":
            return [
                text for side in ("left", "right") if (node := field(condition, side)) for text in self._operands(node)
            ]
        if condition.type == "call_expression" and re.fullmatch(
            r"(?:reflect|cmp|errors|strings|bytes|slices|maps)\.\w+", text_of(field(condition, "function"))
        ):
            return [text_of(each) for each in arguments_of(condition) if self.is_computed(each)]
        return [text_of(condition)] if self.is_computed(condition) else []

    def _subtest(self, call: "Node") -> list[Branch]:
        arguments = arguments_of(call)
        if len(arguments) != 2 or arguments[1].type != "func_literal":
            return []
        title = "".join(text_of(node) for node in arguments[0].named_children)
        named = arguments[0].type == "interpreted_string_literal" and title and "\\" not in title
        ending = "/" + re.sub(r"\s", "_", title)
        failing = any(test.endswith(ending) for test in self.subtests)
        if named and self.subtests and not failing:
            return []
        return [Branch((), text_of(field(arguments[1], "body"))[1:-1])]

    def _rows(self, loop: "Node", before: tuple[Step, ...]) -> Iterator[Branch]:
        clause = next((node for node in loop.named_children if node.type == "range_clause"), None)
        left, table, body = field(clause, "left"), self.value(field(clause, "right"), before), field(loop, "body")
        if left is None or body is None or table is None or table.type != "composite_literal":
            return
        names = [text_of(node) for node in left.named_children]
        kind = field(table, "type")
        element = field(kind, "element") or field(kind, "value")
        for number, entry in enumerate(new_rows(parts_of(field(table, "body")), self.base)):
            keyed = entry.type == "keyed_element"
            key = text_of(field(entry, "key")) if keyed else str(number)
            row = _inner(field(entry, "value") if keyed else entry)
            if row is not None:
                yield from self._row(names, key, row, element, body)

    @override
    def assigned(self, root: "Node", name: str) -> "Node | None":
        for node in walk(root):
            if node.type in {"short_var_declaration", "var_spec", "assignment_statement"}:
                left = field(node, "left") or field(node, "name")
                right = field(node, "right") or field(node, "value")
                if text_of(left) == name and right is not None and right.named_children:
                    return right.named_children[0]
        return None

    def _row(self, names: list[str], key: str, row: "Node", element: "Node | None", body: "Node") -> Iterator[Branch]:
        steps = [Step(f"{names[0]} := {key}")] if names[0] != "_" else []
        name = names[1] if len(names) > 1 else ""
        edits = {node: "return" for node in walk(body) if node.type == "continue_statement"}
        text = edited(body, edits)
        literal = row if row.type == "literal_value" else field(row, "body")
        struct = self._struct(element)
        if name and literal is not None and struct is not None:
            values = _fields(literal, struct)
            for member, written in tuple(values.items()):
                shared = text.count(f"{name}.{member}") > 1 and _POINTER.match(written)
                if shared and not re.search(rf"(?<!\.)\b{member}\b", text):
                    steps.append(Step(f"{member} := {written}"))  # all uses share one pointer
                    values[member] = member
            for node in walk(body):
                assigns = node.type.endswith(("assignment_statement", "_declaration"))
                left = text_of(field(node, "left")) if assigns else ""
                if left == name or left.startswith(f"{name}."):
                    edits[node] = ""  # a copy of the row, or a converted expectation
                    continue
                if any(inner.start_byte <= node.start_byte < inner.end_byte for inner in edits):
                    continue
                if node.type == "selector_expression" and text_of(field(node, "operand")) == name:
                    value = values.get(text_of(field(node, "field")))
                    if value is None:
                        return  # a method, or a field whose zero value is unknown
                    edits[node] = value
            text = edited(body, edits)
            if any(node.type == "identifier" and text_of(node) == name for node in walk(self.parse(text))):
                return
        elif name and name != "_":
            typed = f"{text_of(element)}{text_of(row)}" if row.type == "literal_value" else text_of(row)
            steps.append(Step(f"{name} := {typed}"))
        yield Branch(tuple(steps), text[1:-1])

    def _struct(self, kind: "Node | None") -> "Node | None":
        if kind is not None and kind.type == "pointer_type":
            kind = kind.named_children[0]
        return kind if kind is None or kind.type == "struct_type" else self.types.get(text_of(kind))


def _fields(literal: "Node", struct: "Node") -> dict[str, str]:
    kinds: dict[str, str] = {}
    for declaration in struct.named_children[0].named_children:
        for name in declaration.children_by_field_name("name"):
            kinds[text_of(name)] = text_of(field(declaration, "type"))
    values = {name: zero for name, kind in kinds.items() if (zero := _zero(kind))}
    entries = parts_of(literal)
    for place, entry in zip(kinds, entries, strict=False):
        keyed = entry.type == "keyed_element"
        key = text_of(field(entry, "key")) if keyed else place
        value = _inner(field(entry, "value") if keyed else entry)
        text, kind = text_of(value), kinds.get(key, "")
        if value is None:
            continue
        if _SCALARS.fullmatch(value.type) and kind not in _UNTYPED:
            text = f"({kind})({text})" if kind.startswith(("*", "[", "func")) else f"{kind}({text})"
        elif text == "nil" and kind not in {"error", "any"}:
            text = f"({kind})(nil)"
        values[key] = f"({text})" if value.type in {"func_literal", "binary_expression"} else text
    return values


def _zero(kind: str) -> str:
    if kind.startswith(("[]", "*", "map[", "func(")):
        return f"({kind})(nil)"
    number = re.fullmatch(r"u?int\d*|float\d+|byte|rune|uintptr", kind)
    return _ZERO.get(kind) or ("0" if kind == "int" else f"{kind}(0)" if number else "")


def _asserts(call: "Node") -> bool:
    name = text_of(field(call, "function"))
    alone = call.parent is not None and call.parent.type == "expression_statement"
    return bool(_ASSERTING.fullmatch(name) or (alone and _METHOD.fullmatch(name)))


def _recovering_code(function: str, arguments: list["Node"]) -> str:
    """Return code that runs a function literal and recovers panics.

    The literal is among the ``arguments`` of ``function``, an assertion such as ``assert.Panics``. Return "" for other
    functions.
    """
    plain = [node for node in arguments if node.type == "func_literal" and text_of(node).startswith("func() {")]
    if len(plain) != 1 or not re.search(r"[Pp]anics", function):
        return ""
    return f"func() {{\n\tdefer func() {{ _ = recover() }}()\n\t{text_of(field(plain[0], 'body'))[1:-1].strip()}\n}}()"


def asserts(node: "Node") -> bool:
    """Return whether code asserts something."""
    return any(
        inner.type == "call_expression"
        and (_FAILING.search(name := text_of(field(inner, "function"))) or _asserts(inner))
        and not name.startswith(("fmt", "errors"))
        for inner in walk(node)
    )


def _inner(node: "Node | None") -> "Node | None":
    return node.named_children[0] if node is not None and node.type == "literal_element" else node


def struct_types(node: "Node") -> "dict[str, Node]":
    """Return the structs that code declares, by name."""
    found = {}
    for inner in walk(node):
        kind = field(inner, "type")
        if inner.type == "type_spec" and kind is not None and kind.type == "struct_type":
            found[text_of(field(inner, "name"))] = kind
    return found


def variables(root: "Node") -> set[str]:
    """Return the variables that a statement declares."""
    found: set[str] = set()
    for node in [root, *root.named_children]:
        if node.type == "short_var_declaration":
            found |= set(map(text_of, children_of(node, "left")))
        elif node.type == "var_declaration":
            specs = [spec for spec in walk(node) if spec.type == "var_spec"]
            found |= {text_of(name) for spec in specs for name in spec.children_by_field_name("name")}
    return found - {"_"}
