"""What the expressions in tests of JavaScript are: literals, titles, declarations of tests, and assertions."""

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from codegate.languages.javascript.operators import GROUPS, MODIFIERS, PLACEHOLDER, TESTS
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE: Final = "\0"
"""Stands for what only a run can tell of a title; ``grading/controls/sites.py`` knows it too."""

FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
#: What may be run in another order than the text has, or never; and what a ``return`` in it does not end.
UNKNOWN: Final = frozenset({"function_declaration", "generator_function_declaration", "class_body"})
BODIES: Final = FUNCTIONS | {"method_definition"}
_CLOSED: Final = BODIES | UNKNOWN
#: What stands around an expression without being another value.
_AROUND: Final = frozenset({"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"})
#: Types, which no run has.
_TYPES: Final = frozenset(
    {"type_annotation", "type_arguments", "type_parameters", "type_alias_declaration", "interface_declaration",
     "enum_declaration", "type_predicate_annotation", "asserts_annotation", "implements_clause", "comment"}
)  # fmt: skip
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[^ux]))", re.DOTALL)
_ODD: Final = re.compile(r"\\(?:[1-9]|0\d|u(?!\{[0-9a-fA-F]{1,6}\}|[0-9a-fA-F]{4})|x(?![0-9a-fA-F]{2}))")
_MEANINGS: Final = {"n": "\n", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "r": "\r", "0": "\0"}
_BREAKS: Final = frozenset({"\r\n", "\n", "\r", "\u2028", "\u2029"})
_PROMISED: Final = frozenset({"then", "catch", "finally"})


def plain(node: "Node | None") -> "Node | None":
    """Return an expression without parentheses and types around it."""
    while node is not None and node.type in _AROUND:
        node = next((each for each in node.named_children if each.type != "comment"), None)
    return node


def children(node: "Node") -> Iterator["Node"]:
    """Yield the parts of a node that a run has."""
    for each in node.named_children:
        if each.type not in _TYPES and (inner := plain(each)) is not None:
            yield inner


def string_of(node: "Node | None") -> str | None:
    """Return the value of a string, or of a template that nothing is put into; None for all else."""
    if node is None or node.type not in {"string", "template_string"} or substitutions(node):
        return None
    text = text_of(node)[1:-1]
    if node.type == "template_string":
        text = text.replace("\r\n", "\n")
    return cooked(text)


def cooked(text: str) -> str | None:
    """Return what a text with escapes means; None for octal ones, which few texts have, and for what is none."""
    if _ODD.search(text.replace("\\\\", "")):
        return None
    meant = _ESCAPE.sub(_meaning, text)
    return meant.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # pairs become one character


def _meaning(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return "" if found[4] in _BREAKS else _MEANINGS.get(found[4], found[4])


def substitutions(node: "Node") -> list["Node"]:
    """Return what is put into a template."""
    return [each for each in node.named_children if each.type == "template_substitution"]


def title_of(node: "Node | None", *, table: bool = False) -> str:
    """Return the title that a declaration's first argument is, with ``HOLE`` for what only a run can tell."""
    node = plain(node)
    if node is None:
        return HOLE
    if node.type == "binary_expression" and text_of(field(node, "operator")) == "+":
        return title_of(field(node, "left"), table=table) + title_of(field(node, "right"), table=table)
    if node.type not in {"string", "template_string"}:
        return HOLE
    data, start, parts, at = node.text or b"", node.start_byte, list[bytes](), 1
    for each in substitutions(node):
        parts.append(data[at : each.start_byte - start])
        at = each.end_byte - start
    texts = [cooked(part.decode("utf-8", "replace")) for part in (*parts, data[at:-1])]
    known = [text if text is not None else HOLE for text in texts]
    return HOLE.join(PLACEHOLDER.sub(HOLE, text) if table else text for text in known)


def name_of(node: "Node | None") -> str:
    """Return an identifier, or the name of a member."""
    node = plain(node)
    if node is None or node.type not in {"identifier", "member_expression"}:
        return ""
    named = node if node.type == "identifier" else field(node, "property")
    return text_of(named) if named is not None and named.type != "private_property_identifier" else ""


def owner_of(node: "Node | None") -> "Node | None":
    """Return what a member is of."""
    return plain(field(node, "object"))


def parameters(function: "Node") -> list["Node"]:
    """Return the parameters of a function."""
    single, listed = field(function, "parameter"), field(function, "parameters")
    if single is not None:
        return [single]
    return [each for each in listed.named_children if each.type != "comment"] if listed is not None else []


def returns(node: "Node") -> bool:
    """Return whether a function may end within a statement of it."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "return_statement":
            return True
        stack.extend(each for each in current.named_children if each.type not in _CLOSED)
    return False


class _Chain(NamedTuple):
    """The calls and members that an expression consists of, from the outside in, and what they begin with."""

    links: list["Node"]
    root: "Node"


def _chain(node: "Node") -> _Chain:
    links: list[Node] = []
    while node.type in {"call_expression", "member_expression", "subscript_expression"}:
        links.append(node)
        inner = plain(field(node, "function") or field(node, "object"))
        if inner is None:
            break
        node = inner
    return _Chain(links, node)


class Declared(NamedTuple):
    """What a call declares: of the kind ``unknown`` is what is not understood; ``table``: of each row of a table."""

    kind: Literal["test", "group", "unknown"]
    table: bool


def declared(call: "Node", handles: Collection[str]) -> Declared | None:
    """Return what a call declares, if it does; ``handles`` are names of what declares subtests."""
    links, root = _chain(call)
    listed = field(call, "arguments")
    name = name_of(root) if root.type == "identifier" else ""
    if call.type != "call_expression" or listed is None or listed.type == "template_string":
        return None
    names = [name_of(link) for link in reversed(links) if link.type != "call_expression"]
    if name in handles and names and names[0] in TESTS | GROUPS:
        name, *names = names
    if name not in TESTS and name not in GROUPS:
        return None
    calls = sum(link.type == "call_expression" for link in links) - 1
    table = calls > 0 and bool(names) and names[-1] in {"each", "for"}
    known = all(one in MODIFIERS for one in (names[:-1] if table else names))
    if not known or calls != sum(one.endswith("If") or one in {"each", "for"} for one in names):
        return Declared("unknown", table) if name in TESTS or name == "describe" else None
    return Declared("test" if name in TESTS else "group", table)


class Assertion(NamedTuple):
    """An expression that asserts something.

    Attributes:
        kind: ``chain`` of matchers, a call of a function (``assert``), or a test client's expectation (``reply``).
        node: the call or the member.
        call: the same, if it is a call.
        member: what is called, or the member itself.
        inverted: the ``.not`` in it.
        name: of the matcher or the function.
    """

    kind: Literal["chain", "assert", "reply"]
    node: "Node"
    call: "Node | None"
    member: "Node | None"
    inverted: "Node | None"
    name: str


def assertion_of(node: "Node | None", imported: Collection[str]) -> Assertion | None:
    """Return the assertion that an expression is; ``imported`` are functions of a module of assertions."""
    node = plain(node)
    if node is not None and node.type == "await_expression":
        return assertion_of(next(children(node), None), imported)
    if node is None or node.type not in {"call_expression", "member_expression", "subscript_expression"}:
        return None
    links, root = _chain(node)
    call = node if node.type == "call_expression" else None
    member = plain(field(node, "function")) if call is not None else node
    if member is None:
        return None
    name, is_member = name_of(member), member.type == "member_expression"
    if call is not None and is_member and name in _PROMISED:
        return assertion_of(owner_of(member), imported)
    at = next((number for number, link in enumerate(links) if _is_subject(link, root)), -1)
    if at < 0:
        at = next(
            (
                number
                for number, link in enumerate(links)
                if link.type == "member_expression" and name_of(link) == "should"
            ),
            -1,
        )
    if at > 0 and is_member:
        inverted = next((link for link in links[:at] if name_of(link) == "not"), None)
        return Assertion("chain", node, call, member, inverted, name)
    if call is None:
        return None
    if member.type == "identifier":
        asserts = name.startswith("assert") or name in imported
        return Assertion("assert", node, call, None, None, name) if asserts else None
    if not is_member:
        return None
    owner = owner_of(member)
    if name == "expect" and owner is not None and owner.type != "identifier":
        return Assertion("reply", node, call, member, None, name)
    of = name_of(owner).lower()
    asserts = "assert" in of or (of == "strict" and "assert" in name_of(root).lower())
    return Assertion("assert", node, call, member, None, name) if asserts else None


def _is_subject(link: "Node", root: "Node") -> bool:
    """Return whether a call says what is asserted about: ``expect(x)``, ``t.expect(x)``, ``expect.soft(x)``."""
    called = plain(field(link, "function"))
    if link.type != "call_expression" or called is None:
        return False
    owner = owner_of(called)
    if name_of(called) == "expect":
        return called.type == "identifier" or (owner is not None and owner.type == "identifier")
    return name_of(root) == "expect" and name_of(called) in {"soft", "poll"}
