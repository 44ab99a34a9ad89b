"""What the statements of a Rust test are to a probe: macros that assert, values of loops, functions that assert."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from codegate.languages.lines import Branch, Step, fresh, is_fresh, written_out
from codegate.languages.syntax import edited, field, parse, parts_of, statement_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTS: Final = re.compile(r"(?:\w+::)*(?:debug_)?assert\w*")
_TALKS: Final = frozenset({"println", "eprintln", "print", "eprint", "dbg"})
_COMPARES: Final = re.compile(r"(?:\w+::)*(?:debug_)?assert_(?:eq|ne)\w*")
_ERROR_WANTED: Final = re.compile(r"\b(?:is_err|unwrap_err|expect_err|Err|err)\b|Error")
#: What is asked of a value; the value itself tells more than the answer.
_ASKS: Final = frozenset({"contains", "starts_with", "ends_with", "is_ok", "is_err", "is_some", "is_none", "is_empty"})
#: Names of the language's own that make values of what is written out.
_MAKES: Final = frozenset({"vec", "to_string", "to_owned", "to_vec", "into", "from", "new", "format", "str"})
_MAX_ROWS: Final = 60


@dataclass(frozen=True)
class RustReader:
    """Reads the statements of one test function; see ``Reader``.

    Attributes:
        base: the file before the fix.
        helpers: functions of the file that assert something, by name.
    """

    base: str
    helpers: "Mapping[str, Node]"

    def parse(self, text: str) -> "Node":
        """See ``Reader.parse``."""
        return parse(text, "rust")

    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch | Step] | None":
        """See ``Reader.read``; what a function would return for an error is a panic."""
        inner = statement.named_children[0] if statement.type == "expression_statement" else statement
        if re.search(r"comment|attribute", inner.type) or text_of(inner).startswith("Ok("):
            return None
        if inner.type == "block" and self._fails(inner):
            return [Branch((), text_of(inner)[1:-1])]
        if inner.type == "for_expression" and self._fails(inner):
            return list(self._rows(inner, before))
        if inner.type == "match_expression" and self._fails(inner):
            value = field(inner, "value")
            return Step(checked=(unfailing(value),)) if value is not None and _is_made(value) else None
        if inner.type == "macro_invocation":
            name = text_of(field(inner, "macro"))
            if _ASSERTS.fullmatch(name):
                return self._asserted(inner, name)
            if name in _TALKS:
                return None
        if inner.type == "call_expression" and (helper := self.helpers.get(called(inner))) is not None:
            return self._helped(helper, inner, before)
        if self._fails(inner):
            return None
        if (made := _commanded(inner)) is not None:
            return made
        text = unfailing(statement)
        return Step(text if text.endswith((";", "}")) else f"{text};")

    def _fails(self, node: "Node") -> bool:
        return fails(node) or any(called(inner) in self.helpers for inner in walk(node))

    def _asserted(self, macro: "Node", name: str) -> Step:
        given = macro_arguments(macro)
        if name.endswith("assert"):
            texts = _sides(self._expression(given[0])) if given else []
        else:
            texts = given[:2] if _COMPARES.fullmatch(name) else given[:1]
        checked = [node for node in map(self._expression, texts) if _is_made(node)]
        raises = bool(_ERROR_WANTED.search(text_of(macro)))
        return Step(checked=tuple(dict.fromkeys(map(unfailing, checked))), raises=raises)

    def _expression(self, text: str) -> "Node":
        node = self.parse(f"{text};").named_children
        return node[0].named_children[0] if node and node[0].named_children else self.parse(text)

    def _helped(self, helper: "Node", call: "Node", before: tuple[Step, ...]) -> "Step | list[Branch | Step]":
        """Return what a function that asserts something is given to check, or what it runs."""
        arguments = arguments_of(call)
        results = tuple(unfailing(each) for each in arguments if _is_made(each) and _is_result(each))
        if results:
            return Step(checked=results, raises=bool(_ERROR_WANTED.search(text_of(call))))
        local = "\n".join(step.text for step in before)
        given = any(re.search(rf"\b{re.escape(text_of(each))}\b", local) for each in arguments)
        listed = field(helper, "parameters")
        named = [
            (text_of(field(each, "pattern") or each), text_of(field(each, "type")))
            for each in (listed.named_children if listed is not None else [])
            if each.type != "attribute_item"
        ]
        steps = written_out(named, list(map(unfailing, arguments)), _declared)
        if steps is None or not (given or is_fresh(call, self.base)):
            return []
        return [Branch(steps, text_of(field(helper, "body"))[1:-1])]

    def _rows(self, loop: "Node", before: tuple[Step, ...]) -> Iterator[Branch | Step]:
        """Yield what a loop over values that are written out runs for each of them."""
        table, pattern = field(loop, "value"), text_of(field(loop, "pattern"))
        lent = False
        while table is not None and table.type in {"reference_expression", "call_expression"}:
            lent = lent or table.type == "reference_expression" or called(table) in {"iter", "iter_mut"}
            table = field(table, "value") or field(table, "function", "value")
        if table is not None and table.type == "identifier":
            table = self._value(text_of(table), before)
        while table is not None and table.type == "reference_expression":
            table = field(table, "value")
        if table is None or table.type not in {"array_expression", "macro_invocation"}:
            return
        texts = macro_arguments(table) if table.type == "macro_invocation" else map(text_of, table.named_children)
        rows = [self._expression(text) for text in texts if text and not text.startswith("//")]
        borrow = "&" if lent and not pattern.startswith("&") else ""
        for row in fresh(rows, self.base)[:_MAX_ROWS]:
            bound = Step(f"let {pattern.removeprefix('&')} = {borrow}{text_of(row)};")
            yield Branch((bound,), text_of(field(loop, "body"))[1:-1])

    def _value(self, name: str, before: tuple[Step, ...]) -> "Node | None":
        roots = (self.parse(step.text) for step in reversed(before))
        lets = (node for root in roots for node in root.named_children if node.type == "let_declaration")
        return field(next((node for node in lets if text_of(field(node, "pattern")) == name), None), "value")


def _commanded(call: "Node") -> Step | None:
    """Return what a method that asserts something is asked of: a command's output, else whether it panics."""
    if called(call).startswith("assert"):
        checked = unfailing(call)
        if called(call) == "assert":
            checked = f"{unfailing(field(call, 'function', 'value') or call)}.output().unwrap()"
        return Step(checked=(checked,))
    owner = field(call, "function", "value") if call.type == "call_expression" else None
    return _commanded(owner) if owner is not None else None


def called(node: "Node") -> str:
    """Return the last name of the function or method that is called; empty where none is."""
    function = field(node, "function") if node.type == "call_expression" else None
    return text_of(field(function, "field") or field(function, "name") or function)


def arguments_of(call: "Node") -> "list[Node]":
    """Return what a call is given."""
    return parts_of(field(call, "arguments"))


def macro_arguments(macro: "Node") -> list[str]:
    """Return what a macro is given, at each comma."""
    tree = next((node for node in macro.named_children if node.type == "token_tree"), None)
    tokens = tree.children[1:-1] if tree is not None else []
    cuts = [at for at, token in enumerate(tokens) if token.type == ","]
    found = []
    for begin, end in zip([0, *(at + 1 for at in cuts)], [*cuts, len(tokens)], strict=True):
        if tree is not None and tree.text is not None and begin < end:
            start = tree.start_byte
            found.append(tree.text[tokens[begin].start_byte - start : tokens[end - 1].end_byte - start].decode())
    return found


def fails(node: "Node") -> bool:
    """Return whether there is an assertion in a statement or a function."""
    macros = (text_of(field(inner, "macro")) for inner in walk(node) if inner.type == "macro_invocation")
    return any(_ASSERTS.fullmatch(name) or name == "panic" for name in macros)


def unfailing(node: "Node") -> str:
    """Return code that panics where it would return an error from the function that it is in."""
    marks = [child for inner in walk(node) if inner.type == "try_expression" for child in inner.children[-1:]]
    return edited(node, dict.fromkeys(marks, ".unwrap()")) if marks else statement_text(node)


def _declared(name: str, kind: str, text: str) -> str:
    typed = kind and not re.search(r"'|\bimpl\b|\b[A-Z]\b", kind)
    return f"let {name}: {kind} = {text};" if typed else f"let {name} = {text};"


def _sides(node: "Node") -> list[str]:
    """Return what of a condition is checked: sides of comparisons, and what methods are asked of."""
    if node.type in {"parenthesized_expression", "unary_expression"} and node.named_children:
        return _sides(node.named_children[-1])
    if node.type == "binary_expression":
        return [text for side in ("left", "right") if (part := field(node, side)) for text in _sides(part)]
    if node.type == "macro_invocation" and text_of(field(node, "macro")) == "matches":
        return macro_arguments(node)[:1]
    if node.type == "call_expression" and called(node) in _ASKS:
        return [text_of(field(node, "function", "value")), text_of(node)]
    return [text_of(node)]


def _is_made(node: "Node") -> bool:
    """Return whether an expression's value comes from the code under test, for all that is seen."""
    names = (text_of(inner) for inner in walk(node) if inner.type in {"identifier", "field_identifier"})
    return any(name[:1].islower() and name not in _MAKES for name in names)


def _is_result(node: "Node") -> bool:
    return any(inner.type in {"call_expression", "macro_invocation"} for inner in walk(node))
