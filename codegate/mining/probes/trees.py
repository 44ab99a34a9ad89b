"""Syntax trees of JavaScript, TypeScript and Go, and edits of the text that they are of.

The parsers are loaded when the first text is parsed: most commands need none.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Language, Node

Grammar = Literal["javascript", "typescript", "tsx", "go"]


def parse(text: str, grammar: Grammar) -> "Node":
    """Return the root of the syntax tree of ``text``; what is no such language has nodes of type ``ERROR``."""
    from tree_sitter import Parser  # noqa: PLC0415

    # Several threads mine at once, and a parser is for one of them.
    return Parser(_language(grammar)).parse(text.encode("utf-8", "replace")).root_node


@cache
def _language(grammar: Grammar) -> "Language":
    from tree_sitter import Language  # noqa: PLC0415

    if grammar == "javascript":
        import tree_sitter_javascript  # noqa: PLC0415

        return Language(tree_sitter_javascript.language())
    if grammar == "go":
        import tree_sitter_go  # noqa: PLC0415

        return Language(tree_sitter_go.language())
    import tree_sitter_typescript as typescript  # noqa: PLC0415

    return Language(typescript.language_tsx() if grammar == "tsx" else typescript.language_typescript())


def text_of(node: "Node | None") -> str:
    """Return the source of a node."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def statement_text(node: "Node") -> str:
    """Return the source of a statement, its later lines indented as if the first were not."""
    text, indent = text_of(node), node.start_point.column
    return text if "`" in text else re.sub(rf"\n[ \t]{{1,{max(indent, 1)}}}", "\n", text) if indent else text


def field(node: "Node | None", *names: str) -> "Node | None":
    """Return the child that a path of field names leads to."""
    for name in names:
        node = node.child_by_field_name(name) if node is not None else None
    return node


def walk(node: "Node") -> Iterator["Node"]:
    """Yield a node and all that is in it, in the order of the text."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def edited(node: "Node", edits: "Mapping[Node, str]") -> str:
    """Return the source of a node with other text in place of some nodes in it, none of which is in another."""
    data, start, parts = node.text or b"", node.start_byte, []
    at = 0
    for inner, text in sorted(edits.items(), key=lambda each: each[0].start_byte):
        parts += [data[at : inner.start_byte - start], text.encode("utf-8", "replace")]
        at = inner.end_byte - start
    return b"".join([*parts, data[at:]]).decode("utf-8", "replace")
