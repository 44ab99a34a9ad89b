"""Read the statements of a Rust test."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.lines import Step
from codegate.languages.statements import Branch, TypedReader, new_rows, operand
from codegate.languages.syntax import children_of, edited, field, statement_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTS: Final = re.compile(r"(?:\w+::)*(?:debug_)?assert\w*")
_TALKS: Final = frozenset({"println", "eprintln", "print", "eprint", "dbg"})
_COMPARES: Final = re.compile(r"(?:\w+::)*(?:debug_)?assert_(?:eq|ne)\w*")
#: Methods that answer yes or no about a value; an example shows the value instead.
_ASKS: Final = frozenset({"contains", "starts_with", "ends_with", "is_ok", "is_err", "is_some", "is_none", "is_empty"})
#: Functions and macros of the standard library that only turn literals into values.
_MAKES: Final = frozenset({"vec", "to_string", "to_owned", "to_vec", "into", "from", "new", "format", "str"})


class RustReader(TypedReader):
    """Reads the statements of one test function."""

    results: ClassVar = frozenset({"call_expression", "macro_invocation"})
    error_wanted: ClassVar = re.compile(r"\b(?:is_err|unwrap_err|expect_err|Err|err)\b|Error")

    @override
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch] | None":
        # An error that would be returned becomes a panic.
        inner = statement.named_children[0] if statement.type == "expression_statement" else statement
        if re.search(r"comment|attribute", inner.type) or text_of(inner).startswith("Ok("):
            return None
        if inner.type == "block" and self._asserts(inner):
            return [Branch((), text_of(inner)[1:-1])]
        if inner.type == "for_expression" and self._asserts(inner):
            return list(self._rows(inner, before))
        if inner.type == "match_expression" and self._asserts(inner):
            value = field(inner, "value")
            return Step(checked=(unfailing(value),)) if value is not None and self.is_computed(value) else None
        if inner.type == "macro_invocation":
            name = text_of(field(inner, "macro"))
            if _ASSERTS.fullmatch(name):
                return self._asserted(inner, name)
            if name in _TALKS:
                return None
        if inner.type == "call_expression" and (helper := self.helpers.get(call_name(inner))) is not None:
            return self.read_helper_call(helper, inner, before)
        if self._asserts(inner):
            return None
        if (made := _method_assertion(inner)) is not None:
            return made
        text = unfailing(statement)
        return Step(text if text.endswith((";", "}")) else f"{text};")

    def _asserts(self, node: "Node") -> bool:
        return asserts(node) or any(call_name(inner) in self.helpers for inner in walk(node))

    def _asserted(self, macro: "Node", name: str) -> Step:
        given = macro_arguments(macro)
        if name.endswith("assert"):
            texts = _recorded_parts(self._expression(given[0])) if given else []
        else:
            texts = given[:2] if _COMPARES.fullmatch(name) else given[:1]
        return self.check(macro, map(unfailing, filter(self.is_computed, map(self._expression, texts))))

    def _expression(self, text: str) -> "Node":
        node = self.parse(f"{text};").named_children
        return node[0].named_children[0] if node and node[0].named_children else self.parse(text)

    @override
    def parameters(self, function: "Node") -> list[tuple[str, str]]:
        given = [each for each in children_of(function, "parameters") if each.type != "attribute_item"]
        return [(text_of(field(each, "pattern") or each), text_of(field(each, "type"))) for each in given]

    @override
    def declare(self, name: str, kind: str, value: str) -> str:
        # A type with lifetimes or type parameters is left out.
        typed = kind and not re.search(r"'|\bimpl\b|\b[A-Z]\b", kind)
        return f"let {name}: {kind} = {value};" if typed else f"let {name} = {value};"

    @override
    def text(self, node: "Node") -> str:
        return unfailing(node)

    @override
    def is_computed(self, node: "Node") -> bool:
        names = (text_of(inner) for inner in walk(node) if inner.type in {"identifier", "field_identifier"})
        return any(name[:1].islower() and name not in _MAKES for name in names)

    def _rows(self, loop: "Node", before: tuple[Step, ...]) -> Iterator[Branch]:
        table, pattern = field(loop, "value"), text_of(field(loop, "pattern"))
        lent = False
        while table is not None and table.type in {"reference_expression", "call_expression"}:
            lent = lent or table.type == "reference_expression" or call_name(table) in {"iter", "iter_mut"}
            table = field(table, "value") or field(table, "function", "value")
        table = self.value(table, before)
        while table is not None and table.type == "reference_expression":
            table = field(table, "value")
        if table is None or table.type not in {"array_expression", "macro_invocation"}:
            return
        texts = macro_arguments(table) if table.type == "macro_invocation" else map(text_of, table.named_children)
        rows = [self._expression(text) for text in texts if text and not text.startswith("//")]
        borrow = "&" if lent and not pattern.startswith("&") else ""
        for row in new_rows(rows, self.base):
            bound = Step(f"let {pattern.removeprefix('&')} = {borrow}{text_of(row)};")
            yield Branch((bound,), text_of(field(loop, "body"))[1:-1])

    @override
    def assigned(self, root: "Node", name: str) -> "Node | None":
        lets = (node for node in root.named_children if node.type == "let_declaration")
        return field(next((node for node in lets if text_of(field(node, "pattern")) == name), None), "value")


def _method_assertion(call: "Node") -> Step | None:
    """Return a step for ``x.assert…()``; None for other calls."""
    # ``.assert()`` is a method of a command; probes record the command's output instead.
    if call_name(call).startswith("assert"):
        checked = unfailing(call)
        if call_name(call) == "assert":
            checked = f"{unfailing(field(call, 'function', 'value') or call)}.output().unwrap()"
        return Step(checked=(checked,))
    owner = field(call, "function", "value") if call.type == "call_expression" else None
    return _method_assertion(owner) if owner is not None else None


def call_name(node: "Node") -> str:
    """Return the called function's or method's name, or "".

    Of a path, only the last name is returned.
    """
    function = field(node, "function") if node.type == "call_expression" else None
    return text_of(field(function, "field") or field(function, "name") or function)


def macro_arguments(macro: "Node") -> list[str]:
    """Return a macro's arguments: its tokens, split at commas."""
    tree = next((node for node in macro.named_children if node.type == "token_tree"), None)
    tokens = tree.children[1:-1] if tree is not None else []
    cuts = [at for at, token in enumerate(tokens) if token.type == ","]
    found = []
    for begin, end in zip([0, *(at + 1 for at in cuts)], [*cuts, len(tokens)], strict=True):
        if tree is not None and tree.text is not None and begin < end:
            start = tree.start_byte
            found.append(tree.text[tokens[begin].start_byte - start : tokens[end - 1].end_byte - start].decode())
    return found


def asserts(node: "Node") -> bool:
    """Return whether code asserts something."""
    macros = (text_of(field(inner, "macro")) for inner in walk(node) if inner.type == "macro_invocation")
    return any(_ASSERTS.fullmatch(name) or name == "panic" for name in macros)


def unfailing(node: "Node") -> str:
    """Return code with ``.unwrap()``, which panics, in place of ``?``."""
    marks = [child for inner in walk(node) if inner.type == "try_expression" for child in inner.children[-1:]]
    return edited(node, dict.fromkeys(marks, ".unwrap()")) if marks else statement_text(node)


def _recorded_parts(node: "Node") -> list[str]:
    """Return which parts of a condition a probe records."""
    node = operand(node)
    if node.type == "binary_expression":
        return [text for side in ("left", "right") if (part := field(node, side)) for text in _recorded_parts(part)]
    if node.type == "macro_invocation" and text_of(field(node, "macro")) == "matches":
        return macro_arguments(node)[:1]
    if node.type == "call_expression" and call_name(node) in _ASKS:
        return [text_of(field(node, "function", "value")), text_of(node)]
    return [text_of(node)]
