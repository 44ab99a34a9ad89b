"""Where tests of Java can be changed: the literals that assertions expect, and assertions with an opposite.

Nothing is instrumented: there are mutants, and no receipts.
"""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

from codegate.languages.java.declarations import TYPES
from codegate.languages.java.operators import FLUENT, JUNIT, MAKING, MATCHERS, NOTHING, OLD, TESTS
from codegate.languages.mutation import MAX_SITES, Finder, Operator, Place, Value, arguments, below
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPE: Final = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_MEANINGS: Final = {"n": "\n", "t": "\t", "b": "\b", "f": "\f", "r": "\r", "s": " "}
_INTEGERS: Final = re.compile(r"(?:decimal|hex|octal|binary)_integer_literal")
_INT: Final = 1 << 31
_OLD: Final = "org.junit.Assert."
_NEW: Final = "org.junit.jupiter.api.Assertions."


class JavaFinder(Finder):
    """Finds the mutants of one file."""

    strings: ClassVar = frozenset({"string_fragment"})
    written: ClassVar = {"array_initializer": "", "array_creation_expression": "value", "cast_expression": "value"}

    def search(self) -> list[dict[str, Any]]:
        """See ``Finder.search``."""
        imports = [text_of(node) for node in self.root.named_children if node.type == "import_declaration"]
        self.old = any(name in line for line in imports for name in OLD)
        for name, method in _tests(self.root, ()):
            self.test = name
            if not method.has_error:
                for node in below(method, TYPES):
                    if node.type == "method_invocation":
                        self._invocation(node)
        return self.found[:MAX_SITES]

    def _invocation(self, node: "Node") -> None:
        at, args, called = Place(node.end_byte), arguments(node), field(node, "name")
        name, on = text_of(called), field(node, "object")
        if name in JUNIT:
            # Of JUnit 3 and 4, a message comes first.
            if self.old and len(args) > _least(name) and args[0].type in {"string_literal", "binary_expression"}:
                args = args[1:]
            operator = JUNIT[name]
            if not self.apply(at, Operator(operator.expected), args, None) and operator.opposite:
                prefix = "" if on is not None else _OLD if self.old else _NEW
                if called is not None:
                    self.replace(at, called, [f"{prefix}{one}" for one in operator.opposite], weak=True)
        elif name == "assertThrows" and args and node.parent is not None and node.parent.type == "expression_statement":
            first = args[1] if self.old and len(args) > 2 and args[0].type == "string_literal" else args[0]
            self.replace(at, first, [NOTHING], weak=True)
        elif name == "assertThat" and len(args) > 1:
            for inner in below(args[-1]):
                matcher = MATCHERS.get(text_of(field(inner, "name"))) if inner.type == "method_invocation" else None
                if matcher is not None:
                    self.apply(at, matcher, arguments(inner), None)
        elif on is not None and name in FLUENT and _root(on) == "assertThat":
            self.apply(at, FLUENT[name], args, called)

    # Literals

    def literals(self, node: "Node | None") -> list["Node"]:
        """See ``Finder.literals``: also of what values are made of."""
        made = node is not None and (
            node.type == "object_creation_expression"
            or (node.type == "method_invocation" and text_of(field(node, "name")) in MAKING)
        )
        return [one for arg in arguments(node) for one in self.literals(arg)] if made else super().literals(node)

    def value_of(self, node: "Node") -> Value | None:
        """See ``Finder.value_of``; of a character, its number."""
        text = text_of(node)
        if node.type in {"true", "false"}:
            return node.type == "true"
        if node.type == "unary_expression" and text_of(field(node, "operator")) == "-":
            operand = field(node, "operand")
            number = self.value_of(operand) if operand is not None and operand.type != "character_literal" else None
            return -number if isinstance(number, int | float) and not isinstance(number, bool) else None
        if node.type == "string_literal" and not text.startswith('"""'):
            return _ESCAPE.sub(_meaning, text[1:-1])
        if node.type == "character_literal":
            letter = _ESCAPE.sub(_meaning, text[1:-1])
            return ord(letter) if len(letter) == 1 else None
        plain = text.replace("_", "")
        try:
            if _INTEGERS.fullmatch(node.type):
                digits = plain.rstrip("lL")
                return int(digits, 8) if re.match(r"0\d", digits) else int(digits, 0)
            return float(plain.rstrip("fFdD")) if node.type == "decimal_floating_point_literal" else None
        except ValueError:
            return None

    def write(self, value: Value, like: "Node") -> str | None:
        """See ``Finder.write``: a number has the type that the literal has."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return json.dumps(value)
        while like.type == "unary_expression" and (operand := field(like, "operand")) is not None:
            like = operand
        if like.type == "character_literal":
            letter = chr(int(value)) if 0 < value < 128 else ""
            return f"'{letter}'" if letter.isalnum() else None
        suffix = text_of(like)[-1:] if text_of(like)[-1:] in "lLfFdD" and not text_of(like).startswith("0x") else ""
        if isinstance(value, int):
            return f"{value}{suffix}" if abs(value) < _INT or suffix in {"l", "L"} else None
        return f"{value!r}{suffix}"


def _tests(node: "Node", names: tuple[str, ...]) -> Iterator[tuple[str, "Node"]]:
    """Yield the test methods below a node, by their names in the outermost class of the file."""
    for each in node.named_children:
        if each.type == "class_declaration":
            yield from _tests(each, (*names, text_of(field(each, "name"))))
        elif each.type == "class_body":
            yield from _tests(each, names)
        elif each.type == "method_declaration":
            name = text_of(field(each, "name"))
            case = node.parent is not None and text_of(field(node.parent, "superclass")).endswith("TestCase")
            if _annotations(each) & TESTS or (case and name.startswith("test")):
                yield ".".join((*names[1:], name)), each


def _annotations(method: "Node") -> set[str]:
    found = [one for each in method.named_children if each.type == "modifiers" for one in each.named_children]
    return {text_of(field(one, "name")).rpartition(".")[2] for one in found if one.type.endswith("annotation")}


def _root(node: "Node | None") -> str:
    """Return the name of the method at the beginning of a chain of calls."""
    name = ""
    while node is not None and node.type == "method_invocation":
        name, node = text_of(field(node, "name")), field(node, "object")
    return name


def _least(name: str) -> int:
    """Return how many arguments an assertion has without a message."""
    return 1 if name in {"assertTrue", "assertFalse", "assertNull", "assertNotNull"} else 2


def _meaning(found: re.Match[str]) -> str:
    if found[1] or found[2]:
        return chr(int(found[1], 16) if found[1] else int(found[2], 8))
    return _MEANINGS.get(found[3], found[3])
