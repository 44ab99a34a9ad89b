"""Parse source text, walk its syntax tree and edit it.

No code is executed. Deeply nested and broken texts are parsed too. The grammars are loaded when the first text is
parsed: most commands need none.
"""

import ast
import io
import re
import threading
import tokenize
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING, Final, TypeVar

from codegate.suite import TreeFile

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

Grammar = str
"""Name of a grammar: ``NAME`` of a package ``tree_sitter_NAME``, or ``typescript`` or ``tsx``."""

IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
_MAX_NESTING: Final = 20
_MAX_SECONDS: Final = 1.0
_CHUNK: Final = 4096

_Read = TypeVar("_Read")
_lock = threading.Lock()  # warnings.catch_warnings changes the whole process


def parse(text: str, grammar: Grammar, seconds: float = _MAX_SECONDS) -> "Node":
    """Return the root of a text's syntax tree.

    Syntax errors become ``ERROR`` nodes. A text that takes more than ``seconds`` of CPU time counts as empty, because
    error recovery is quadratic for some texts. A megabyte usually takes a tenth of a second. The parser's last step,
    at the end of the text, is not interrupted.
    """
    from tree_sitter import Parser  # noqa: PLC0415

    data, end = text.encode("utf-8", "replace"), thread_time() + seconds
    parser = Parser(_language(grammar))  # several threads mine at once, and threads cannot share a parser
    try:
        tree = parser.parse(
            lambda at, _point: data[at : at + _CHUNK], progress_callback=lambda _at, _error: thread_time() > end
        )
    except ValueError:
        parser.reset()
        tree = parser.parse(b"")
    return tree.root_node


@cache
def _language(grammar: Grammar) -> "Language":
    from tree_sitter import Language  # noqa: PLC0415

    typed = grammar in {"typescript", "tsx"}
    module = import_module("tree_sitter_typescript" if typed else f"tree_sitter_{grammar}")
    return Language(getattr(module, f"language_{grammar}" if typed else "language")())


@cache
def _query(grammar: Grammar, query: str) -> "Query":
    from tree_sitter import Query  # noqa: PLC0415

    return Query(_language(grammar), query)


def captures(root: "Node", grammar: Grammar, query: str) -> "dict[str, list[Node]]":
    """Return the nodes that match a tree-sitter query, by capture."""
    from tree_sitter import QueryCursor  # noqa: PLC0415

    return QueryCursor(_query(grammar, query)).captures(root)


def text_of(node: "Node | None") -> str:
    """Return a node's source text; empty without a node."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def statement_text(node: "Node") -> str:
    """Return a statement's source without its indentation."""
    text, indent = text_of(node), node.start_point.column
    return text if "`" in text else re.sub(rf"\n[ \t]{{1,{max(indent, 1)}}}", "\n", text) if indent else text


def field(node: "Node | None", *names: str) -> "Node | None":
    """Return the descendant at the field path ``names``, or None."""
    for name in names:
        node = node.child_by_field_name(name) if node is not None else None
    return node


def children_of(node: "Node | None", *names: str) -> "list[Node]":
    """Return the named children of the node at a path.

    ``names`` are the path's field names, from ``node``.
    """
    inner = field(node, *names)
    return inner.named_children if inner is not None else []


def parts_of(node: "Node | None") -> "list[Node]":
    """Return a node's named children, without comments."""
    return [part for part in children_of(node) if not part.type.endswith("comment")]


def arguments_of(call: "Node | None") -> "list[Node]":
    """Return the arguments of a call."""
    return parts_of(field(call, "arguments"))


def walk(node: "Node | None") -> Iterator["Node"]:
    """Yield a node and its descendants in the text's order."""
    stack = [node] if node is not None else []
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def ancestors(node: "Node", end: "Node | None" = None) -> Iterator["Node"]:
    """Yield a node's ancestors up to ``end``, exclusive; nearest first."""
    around = node.parent
    while around is not None and around != end:
        yield around
        around = around.parent


def scoped(root: "Node", opening: Collection[str]) -> Iterator[tuple["Node", tuple["Node", ...]]]:
    """Yield each named node with its ancestors of some types.

    ``opening`` are these types; the outermost ancestor comes first. Nodes within more than twenty such ancestors are
    left out.
    """
    stack: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while stack:
        node, outer = stack.pop()
        yield node, outer
        inner = (*outer, node) if node.type in opening else outer
        if len(inner) <= _MAX_NESTING:
            stack.extend((child, inner) for child in reversed(node.named_children))


def edited(node: "Node", edits: "Mapping[Node, str]") -> str:
    """Return a node's source with some nodes replaced.

    ``edits`` has the new text by node.
    """
    data, start = node.text or b"", node.start_byte
    places = ((inner.start_byte - start, inner.end_byte - start, text) for inner, text in edits.items())
    written = ((begin, end, text.encode("utf-8", "replace")) for begin, end, text in places)
    return spliced(data, written, (0, len(data))).decode("utf-8", "replace")


def spliced(data: bytes, edits: Iterable[tuple[int, int, bytes]], span: tuple[int, int]) -> bytes:
    """Return a ``span`` of ``data`` with ``edits`` made.

    The span is start and end; an edit is start, end and new bytes. All positions are in ``data``. Edits must not
    overlap.
    """
    parts, at = [], span[0]
    for start, end, text in sorted(edits, key=lambda one: one[:2]):
        parts += [data[at:start], text]
        at = max(at, end)
    return b"".join([*parts, data[at : span[1]]])


def compiles(source: bytes) -> bool:
    """Return whether this version of Python can compile ``source``.

    This finds more errors than parsing.
    """
    return _read_quietly(lambda: compile(source, "source", "exec", dont_inherit=True)) is not None


def parse_python(source: bytes) -> ast.Module | None:
    """Return Python's own syntax tree; None on a syntax error."""
    return _read_quietly(lambda: ast.parse(source))


def same_syntax(old: bytes, new: bytes) -> bool:
    """Return whether two Python sources have equal syntax trees.

    They then differ in layout and comments only.
    """
    before = _read_quietly(lambda: ast.dump(ast.parse(old)))
    return before is not None and before == _read_quietly(lambda: ast.dump(ast.parse(new)))


def _read_quietly(read: "Callable[[], _Read]") -> "_Read | None":
    try:
        with _lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def decode(source: bytes) -> str:
    """Return ``source`` as text in its declared encoding."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding, "replace")
    except (SyntaxError, LookupError, ValueError):  # an encoding that is unknown, not of text, or strict
        return source.decode("utf-8", "replace")


def new_lines(new: TreeFile | None, old: TreeFile | None) -> list[str]:
    """Return the stripped lines of ``new`` that ``old`` lacks."""
    before = {line.strip() for line in decode(old.data).splitlines()} if old is not None else set()
    lines = [line.strip() for line in decode(new.data).splitlines()] if new is not None else []
    return [line for line in lines if line and line not in before]


def added_lines(new: TreeFile, old: TreeFile | None) -> dict[int, str]:
    """Return the lines of ``new`` that ``old`` lacks, by number."""
    before = {line.strip() for line in decode(old.data).split("\n")} if old is not None else set()
    lines = enumerate(decode(new.data).split("\n"), 1)
    return {number: line for number, line in lines if line.strip() not in before}
