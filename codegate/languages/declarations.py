"""Read the names that a file declares and uses."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from codegate.languages.syntax import Grammar, edited, text_of
from codegate.languages.syntax import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

Kind = Literal["function", "type", "value", "field", "attribute", "import", "key"]

_MAX_HEADER: Final = 2000
_MAX_ANNOTATION: Final = 80
_MAX_TEXT: Final = 1000
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_DEFAULTS: Final = {
    **dict.fromkeys(("default_parameter", "typed_default_parameter"), "value"),
    **dict.fromkeys(("required_parameter", "optional_parameter"), "value"),
    **dict.fromkeys(("assignment_pattern", "object_assignment_pattern"), "right"),
}
_PLAIN: Final = frozenset({"None", "True", "False", "null", "undefined", "true", "false"})


@dataclass(frozen=True)
class Declaration:
    """A name that a file declares.

    Attributes:
        signature: one line that shows how to use it, without a body and with plain defaults only.
        kind: ``field``: a type's declaration lists it; ``attribute``: code sets it on an object; ``import``: the file
            re-exports it; ``key``: code only reads it, such as an option in JavaScript.
        owner: the types around it, dotted; empty at the top of the file.
        parameters: names of its parameters; in Go, their types.
        public: other files may use it, according to the language's keywords or naming conventions.
        bare: its type is unknown, as in ``x.name = 1``.
    """

    name: str
    signature: str
    kind: Kind
    owner: str = ""
    parameters: tuple[str, ...] = ()
    public: bool = True
    bare: bool = False

    @property
    def qualified(self) -> str:
        """Return ``owner.name``, or ``name`` without an owner."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass
class Uses:
    """Names that code uses; comments do not count.

    Attributes:
        words: all names except keyword arguments' names.
        members: names after a dot, or imported from a module: ``x.name``, ``import {name}``.
        keywords: names of keyword arguments, and of keys in objects and structs.
        called: names of functions and methods that are called.
        texts: the beginnings of string literals.
        arguments: in Python, texts that are an argument, a subscript or the left side of a comparison.
    """

    words: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)

    def update(self, other: "Uses") -> None:
        """Add the names of ``other``."""
        for name, found in vars(other).items():
            getattr(self, name).update(found)


@dataclass(frozen=True)
class NameReader:
    """Finds the names that one language's files declare and use.

    Attributes:
        grammars: the grammar of a file, by the suffix of its name.
        uses: a tree-sitter query, whose captures have the names of ``Uses``' fields. A further capture, ``modules``,
            has names that do not count as ``words``.
        declarations: function that returns a tree's declarations; it gets the root, the file's path, and a prefix for
            names in signatures.
        module: function from a file's path to the path by which other files import it; None: not by path.
    """

    grammars: Mapping[str, Grammar]
    uses: str
    declarations: "Callable[[Node, str, str], Iterator[Declaration]]"
    module: Callable[[str], str] | None = None


def names_used(found: "Mapping[str, list[Node]]", lines: Collection[int] | None) -> Uses:
    """Return the captured names as ``Uses``.

    ``found`` has the nodes that ``NameReader.uses`` captured. Nodes outside of ``lines`` (numbers from 1; None: all) do
    not count.
    """
    uses, no_words = Uses(), {node.id for role in ("keywords", "modules") for node in found.get(role, ())}
    for role, names in vars(uses).items():
        given = [node for node in found.get(role, ()) if role != "words" or node.id not in no_words]
        names.update(_start(node) for node in given if lines is None or node.start_point.row + 1 in lines)
    dotted = {name for text in uses.texts if _DOTTED.fullmatch(text) for name in text.split(".")}
    uses.words |= dotted  # mock.patch("package.module.name")
    uses.members |= dotted
    return uses


def _start(node: "Node") -> str:
    return (node.text or b"")[:_MAX_TEXT].decode("utf-8", "replace")


def header(node: "Node | None", fields: Mapping[str, str] | None = None) -> str:
    """Return a declaration's source on one line.

    Long parts become ``...``. ``fields`` has replacements for child fields, by field name.
    """
    edits = {at: text for name, text in (fields or {}).items() if (at := child(node, name)) is not None}
    if node is None or node.end_byte - node.start_byte - sum(at.end_byte - at.start_byte for at in edits) > _MAX_HEADER:
        return "" if node is None else "(...)"
    stack = [node]
    while stack:
        inner = stack.pop()
        default = child(inner, _DEFAULTS[inner.type]) if inner.type in _DEFAULTS else None
        if default is not None and text_of(default) not in _PLAIN:
            edits[default] = "..."
        elif inner.type.endswith("comment"):
            edits[inner] = ""
        elif inner.type == "type" and inner.end_byte - inner.start_byte > _MAX_ANNOTATION:
            edits[inner] = "..."
            continue
        stack.extend(each for each in inner.named_children if each not in edits)
    line = " ".join(edited(node, edits).split())
    return re.sub(r",? (?=[)\]])", "", re.sub(r"(?<=[(\[]) ", "", line))


def modifiers(node: "Node", end: "Node | None") -> str:
    """Return a declaration's modifiers, such as ``public static``.

    They are the children of ``node`` before ``end``, except comments, decorators and long ones.
    """
    found: list[str] = []
    for each in node.children:
        if each == end:
            break
        if each.end_byte - each.start_byte <= len("protected") and each.type not in {"comment", "decorator"}:
            found.append(text_of(each))
    return " ".join(found)
