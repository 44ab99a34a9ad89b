"""Read the statements of a JavaScript test."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from codegate.languages.controls import HOLE
from codegate.languages.javascript.controls import title_of
from codegate.languages.lines import Step
from codegate.languages.statements import Branch, StatementReader, call_in, is_new, new_rows, operand, whole_call
from codegate.languages.syntax import arguments_of, children_of, edited, field, statement_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node


_TESTS: Final = frozenset({"it", "test", "specify"})
_GROUPS: Final = frozenset({"describe", "suite", "context"})
_HOOKS: Final = frozenset({"before", "beforeEach", "beforeAll", "setup"})
_AFTER: Final = frozenset({"after", "afterEach", "afterAll", "teardown"})
_ASSERTS: Final = re.compile(
    r"(?:assert|chai\.assert|chai\.expect|t|tap|should)\.(?:\w+\.)?\w+|assert|ok|"
    r"(?:not)?[dD]eep(?:Strict)?Equals?|(?:not)?(?:[sS]trict)?[eE]quals?|(?:deepS|s)trictEqual|throws|"
    r"rejects|match|doesNotThrow|"
    r"(?:assert|check|expect|should|verify)[A-Z]\w*",
)
_RAISES: Final = re.compile(r"throw|reject", re.IGNORECASE)
NAMES: Final = frozenset({"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"})
FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "function"})
DECLARATIONS: Final = frozenset({"lexical_declaration", "variable_declaration"})


class JavaScriptReader(StatementReader):
    """Reads the statements of one test."""

    @override
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch] | None":
        if statement.type == "comment":
            return None
        call = whole_call(statement)
        helper = self.helpers.get(text_of(field(call, "function")))
        body = field(helper, "body")
        if call is not None and helper is not None and body is not None:
            bound = [
                step for pair in zip(parameters(helper), arguments_of(call), strict=False) for step in _bindings(*pair)
            ]
            return [_branch(bound, None, call, body)] if is_new(statement, self.base) else None
        found = _assertion(statement) or _request_step(statement, before)
        if found is not None:
            return found
        if statement.type == "try_statement" and field(statement, "handler") is None:
            return [Branch((), unwrapped(text_of(field(statement, "body"))))]
        inside = (inner for inner in walk(statement) if inner.type == "expression_statement")
        if not any(_assertion(inner) or _request_step(inner, before) for inner in inside):
            text = statement_text(statement)
            return Step(re.sub(r"^return\b\s*", "", text)) if text.strip("; ") else None
        return list(self.rows(statement, before)) or None

    def each(self, call: "Node", function: "Node") -> Iterator[Branch]:
        """Yield a branch for each row of ``it.each(table)``.

        ``call`` is the whole call, and ``function`` the test's function.
        """
        table = next(iter(children_of(call, "function", "arguments")), None)
        for row in new_rows(_elements(table), self.base):
            patterns = parameters(function)
            spread = row.type == "array"
            if spread:
                bound = [step for pair in zip(patterns, row.named_children, strict=False) for step in _bindings(*pair)]
            else:
                bound = _bindings(patterns[0], row) if patterns else []
            body = field(function, "body")
            if body is not None:
                yield _branch(bound, patterns[0] if patterns and not spread else None, row, body)

    def rows(self, statement: "Node", before: tuple[Step, ...]) -> Iterator[Branch]:
        """Yield a branch for each row of a loop's table.

        ``before`` are the steps that lead to the loop.
        """
        pattern, table, body = _loop(statement)
        if pattern is None or body is None:
            return
        for row in new_rows(self._table(table, before), self.base):
            yield _branch(_bindings(pattern, row), pattern, row, body)

    def _table(self, table: "Node | None", before: tuple[Step, ...]) -> Iterator["Node"]:
        # The table is an array, or an object's keys, values or entries.
        listed = re.fullmatch(r"Object\.(entries|keys|values)", text_of(field(table, "function")))
        if listed:
            table = next(iter(children_of(table, "arguments")), None)
        found = self.value(table, before)
        if found is None:
            return
        if listed and found.type == "object":
            for pair in found.named_children:
                if pair.type == "pair":
                    key, text = text_of(field(pair, "key")), text_of(field(pair, "value"))
                    key = key if key.startswith(("'", '"', "`")) else json.dumps(key.strip("[]"))
                    row = {"keys": f"({key})", "values": f"({text})", "entries": f"[{key}, {text}]"}[listed[1]]
                    yield _bare(self.parse(row).named_children[0].named_children[0])
        else:
            yield from _elements(found)

    @override
    def assigned(self, root: "Node", name: str) -> "Node | None":
        declarators = (node for node in walk(root) if node.type == "variable_declarator")
        value = field(next((each for each in declarators if text_of(field(each, "name")) == name), None), "value")
        return _bare(value) if value is not None else None


def asserting_functions(root: "Node") -> "dict[str, Node]":
    """Return a file's functions that assert something, by name."""
    functions = {node: node for node in root.named_children if node.type == "function_declaration"}
    for statement in root.named_children:
        if statement.type in DECLARATIONS:
            values = ((each, field(each, "value")) for each in statement.named_children)
            functions |= {each: value for each, value in values if value is not None and value.type in FUNCTIONS}
    return {
        text_of(field(each, "name")): function
        for each, function in functions.items()
        if any(_assertion(inner) for inner in walk(function))
    }


def role_of(call: "Node | None") -> str:
    """Return a call's role: ``test``, ``group``, ``hook`` or ``other``.

    ``other`` is a skipped test or group, or a hook that runs after tests. The result is "" if the call is none of
    these.
    """
    if call is None:
        return ""
    name, _, modifier = text_of(field(call, "function")).partition("(")[0].partition(".")
    if modifier.partition(".")[0] in {"skip", "todo", "fails", "skipIf", "runIf"}:
        return "other" if name in _TESTS | _GROUPS else ""
    for role, names in (("test", _TESTS), ("group", _GROUPS), ("hook", _HOOKS), ("other", _AFTER)):
        if name in names and (role != "group" or not modifier.startswith("each")):
            return role
    return ""


def declares_tests(statement: "Node") -> bool:
    """Return whether a statement declares a test, group or hook."""
    return any(role_of(whole_call(inner)) for inner in walk(statement) if inner.type == "expression_statement")


def function_in(call: "Node | None") -> "Node | None":
    """Return the last function among a call's arguments, or None."""
    return next((inner for inner in reversed(children_of(call, "arguments")) if inner.type in FUNCTIONS), None)


def parameters(function: "Node") -> list["Node"]:
    """Return the patterns of a function's parameters."""
    single = field(function, "parameter")
    listed = [single] if single is not None else children_of(function, "parameters")
    return [field(each, "pattern") or each for each in listed]


def title_pattern(call: "Node | None") -> str:
    """Return a regular expression for a test's possible titles."""
    first = next(iter(children_of(call, "arguments")), None)
    if first is None or first.type not in {"string", "template_string"}:
        return ".*"
    written = title_of(first, is_table=".each" in text_of(field(call, "function")))
    return ".*".join(map(re.escape, written.split(HOLE)))


def unwrapped(body: str) -> str:
    """Return a function body's statements, without the braces."""
    return body[1:-1] if body.startswith("{") else f"{body};"


def _assertion(statement: "Node") -> Step | None:
    """Return the values that an assertion checks as a step."""
    value = statement.named_children[0] if statement.named_children else None
    if value is None or statement.type not in {"expression_statement", "return_statement"}:
        return None
    while value.type == "await_expression":
        value = value.named_children[0]
    chain, links = value, list[str]()
    while chain.type in {"call_expression", "member_expression"}:
        inner = field(chain, "function") or field(chain, "object")
        if inner is None:
            return None
        if chain.type == "member_expression":
            links.append(text_of(field(chain, "property")))
            if links[-1] == "should":
                return _checks([inner], raises=any(map(_RAISES.search, links)))
        elif text_of(inner) in {"expect", "chai.expect", "expect.soft"}:
            return _checks(arguments_of(chain)[:1], raises=any(map(_RAISES.search, links)))
        chain = inner
    if value.type == "call_expression" and _ASSERTS.fullmatch(text_of(field(value, "function"))):
        raises = bool(_RAISES.search(text_of(field(value, "function"))))
        arguments = arguments_of(value)
        return _checks(arguments[:1] if raises else arguments[:2], raises=raises)
    return None


def _request_step(statement: "Node", before: tuple[Step, ...]) -> Step | None:
    """Return the step of a supertest request, or None.

    The step assigns the response to a variable; the request loses its ``expect`` calls. The step checks the parts of
    the response that these calls check. None if they check no part. ``before`` are the earlier steps; the number of
    requests in them becomes part of the variable's name.
    """
    declared = statement.named_children[0] if statement.type in DECLARATIONS else None
    value, checked = field(declared, "value"), list[str]()
    call = call_in(value) if value is not None else whole_call(statement)
    before_it = sum(step.text.startswith("const response") for step in before)
    name = text_of(field(declared, "name")) if declared is not None else f"response{before_it or ''}"
    code = _without_expectations(call, name, checked) if call is not None and name.isidentifier() else ""
    return Step(f"const {name} = await {code};", tuple(dict.fromkeys(checked))) if checked else None


def _without_expectations(node: "Node", response: str, checked: list[str]) -> str:
    """Return a call chain without its ``.expect(…)`` calls.

    The parts of the response that they check are added to ``checked``.
    """
    inner = field(node, "function") or field(node, "object")
    if node.type not in {"call_expression", "member_expression"} or inner is None:
        return text_of(node)
    method, owner = text_of(field(inner, "property")), field(inner, "object")
    if node.type == "call_expression" and method in {"expect", "end"} and owner is not None:
        code = _without_expectations(owner, response, checked)
        if method == "expect" and owner.type == "call_expression":
            checked += _expected_of(response, arguments_of(node))
        return code
    return _without_expectations(inner, response, checked) + text_of(node)[len(text_of(inner)) :]


def _expected_of(response: str, arguments: "list[Node]") -> Iterator[str]:
    given = [each for each in arguments if each.type not in FUNCTIONS]
    types = [each.type for each in given]
    if types[:1] == ["number"]:
        yield f"{response}.status"
        given = given[1:]
    elif types[:1] == ["string"] and types[1:2] not in ([], ["identifier"]):
        yield f"{response}.headers[{text_of(given[0]).lower()}]"
        return
    if given and not (len(given) == 1 and len(arguments) > 1 and given[0].type == "identifier"):
        yield f"{response}.text"


def _checks(values: "list[Node]", *, raises: bool) -> Step:
    found: list[str] = []
    for value in values:
        inner = operand(value)
        sides = [field(inner, "left"), field(inner, "right")] if inner.type == "binary_expression" else [inner]
        for side in sides:
            if side is None or not any(node.type in NAMES for node in walk(side)):
                continue
            text = text_of(side)
            called_with = side.type in FUNCTIONS or (raises and side.type == "identifier")
            found.append((_result(side) or f"({text})()") if called_with else text)
    return Step(checked=tuple(found), raises=raises, panics=raises)


def _result(function: "Node") -> str:
    """Return the only expression in a function's body, or ""."""
    body = field(function, "body")
    if body is None or body.type != "statement_block":
        return text_of(body)
    statements = body.named_children
    single = len(statements) == 1 and statements[0].type in {"expression_statement", "return_statement"}
    return text_of(statements[0].named_children[0]) if single and statements[0].named_children else ""


def _loop(statement: "Node") -> "tuple[Node | None, Node | None, Node | None]":
    """Return a loop's variables, table and body, or three Nones."""
    if statement.type == "for_in_statement":
        return field(statement, "left"), field(statement, "right"), field(statement, "body")
    call = whole_call(statement)
    function = function_in(call)
    if call is None or function is None or text_of(field(call, "function", "property")) != "forEach":
        return None, None, None
    patterns = parameters(function)
    return patterns[0] if patterns else None, field(call, "function", "object"), field(function, "body")


def _branch(bound: list[Step], pattern: "Node | None", row: "Node", body: "Node") -> Branch:
    """Return a loop's body with ``row`` in place of ``pattern``.

    ``bound`` are steps in front of the body that assign the row's values.
    """
    edits = {node: "return" for node in walk(body) if node.type == "continue_statement"}
    if pattern is not None and pattern.type == "identifier" and row.type == "object":
        values = {text_of(field(pair, "key")): text_of(field(pair, "value")) for pair in row.named_children}
        for node in walk(body):
            if node.type == "member_expression" and text_of(field(node, "object")) == text_of(pattern):
                value = values.get(text_of(field(node, "property")), "undefined")
                edits[node] = f"({value})" if "=>" in value or value[:1].isdigit() else value
    return Branch(tuple(bound), unwrapped(edited(body, edits)))


def _bindings(pattern: "Node", row: "Node") -> list[Step]:
    names = pattern.named_children
    if pattern.type == "array_pattern" and row.type == "array" and len(names) <= len(row.named_children):
        return [step for pair in zip(names, row.named_children, strict=False) for step in _bindings(*pair)]
    if pattern.type == "object_pattern" and row.type == "object":
        values = {text_of(field(pair, "key")): pair for pair in row.named_children}
        if all(name.type == "shorthand_property_identifier_pattern" for name in names):
            return [
                Step(f"const {text_of(name)} = {text_of(field(values.get(text_of(name)), 'value')) or 'undefined'};")
                for name in names
            ]
    return [Step(f"const {text_of(pattern)} = {text_of(row)};")]


def _bare(value: "Node") -> "Node":
    while value.type in {"parenthesized_expression", "as_expression", "satisfies_expression"} and value.named_children:
        value = value.named_children[0]
    return value


def _elements(table: "Node | None") -> Iterator["Node"]:
    if table is not None and _bare(table).type == "array":
        yield from (node for node in _bare(table).named_children if node.type not in {"comment", "spread_element"})
