"""Where tests in JavaScript and TypeScript can be instrumented."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from codegate.languages.javascript.expressions import (
    BODIES,
    FUNCTIONS,
    HOLE,
    UNKNOWN,
    Assertion,
    Declared,
    assertion_of,
    children,
    declared,
    name_of,
    owner_of,
    parameters,
    plain,
    returns,
    string_of,
    substitutions,
    title_of,
)
from codegate.languages.javascript.operators import (
    ASKING,
    ASSERTIONS,
    CALLED_BACK,
    ERRORS,
    INVERTING,
    LOOKING,
    MATCHERS,
    MODULES,
    WAITING,
)
from codegate.languages.mutation import MAX_SITES, Edit, Finder, Operator, Place, Value, arguments, next_letter
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Titles = tuple[str, ...] | None
"""The titles of groups and tests, the outermost first; None where they are not known."""

_IMPORTED: Final = re.compile(r"\{([^{}]*)\}\s*(?:from|=\s*require\()\s*['\"](?:node:)?(?:assert|chai)\b")
_BREAK: Final = re.compile(r"\r\n|[\r\n\u2028\u2029]")
_MOCKING: Final = frozenset({"jest", "vi", "require", "mock"})
_KEYED: Final = frozenset({"pair", "pair_pattern", "method_definition", "field_definition", "public_field_definition"})
_MAX_CHOICES: Final = 8
_MAX_TITLE: Final = 2000
_MAX_SAFE: Final = 1 << 53
_PLAIN: Final = frozenset({"call_expression", "member_expression", "subscript_expression", "identifier"})


class JavaScriptFinder(Finder):
    """Finds the sites of one file, for the framework ``runner``."""

    strings: ClassVar = frozenset({"string", "template_string"})
    written: ClassVar = {
        "array": "", "object": "", "pair": "value", "new_expression": "arguments", "arguments": "",
        "unary_expression": "argument", "parenthesized_expression": "", "as_expression": "", "satisfies_expression": "",
    }  # fmt: skip

    def __init__(self, path: str, data: bytes, root: "Node", runner: str) -> None:
        super().__init__(path, data, root, runner)
        self.receipted: dict[int, int] = {}  # by expression: where its receipt is
        self.composite: set[str] = set()  # tests that others are part of
        self.straight: set[str] = set()  # tests with a mutant that is run, in the order of the text
        self.declared: Counter[str] = Counter()
        self.until: float = math.inf  # where what a passing test has run ends
        lists = _IMPORTED.findall(data.decode("utf-8"))
        self.imported = {re.split(r":|\sas\s", one)[-1].strip() for listed in lists for one in listed.split(",")}

    def search(self) -> list[dict[str, Any]]:
        """Return the records of the tests that their titles identify."""
        self._tests(self.root, (), frozenset())
        kept = [record for record in self.found if self._is_kept(record)]
        first = next((record for record in kept if record["kind"] != "mutant"), None)
        # What is called has no type; compilers that check types before they run a test would not run it.
        typed = self.path.endswith(("ts", "tsx")) and self.runner in {"jest", "mocha"}
        if first is not None and typed and not self.data.startswith(b"#!"):
            at = 3 if self.data.startswith(b"\xef\xbb\xbf") else 0
            first["edits"].append((at, at, "// @ts-nocheck\n"))
        return kept[:MAX_SITES]

    def _is_kept(self, record: dict[str, Any]) -> bool:
        if record["kind"] == "value":
            return True
        test = record["test"]
        alone = self.declared[test] == 1  # of functions with equal titles, some may not be run
        if record["kind"] == "receipt":
            return alone
        part = any(test == whole or test.startswith(f"{whole} > ") for whole in self.composite)
        shared = HOLE in test and not alone  # it is not known which id is of which
        return not part and not shared and (record["order"] > 0 or test not in self.straight)

    # Literals

    def value_of(self, node: "Node") -> Value | None:
        """See ``Finder.value_of``."""
        if node.type in {"true", "false"}:
            return node.type == "true"
        if node.type != "number":
            return string_of(node)
        text = text_of(node).replace("_", "")
        try:
            if re.match(r"0[xob]", text, re.IGNORECASE) or text.endswith("n"):
                return int(text.removesuffix("n"), 0)
            value = float(text)
        except ValueError:
            return None
        if re.match(r"0\d", text) or not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < _MAX_SAFE else value

    def write(self, value: Value, like: "Node") -> str:
        """See ``Finder.write``."""
        return f"{value}n" if text_of(like).endswith("n") and like.type == "number" else json.dumps(value)

    def literals(self, node: "Node | None") -> list["Node"]:
        """See ``Finder.literals``: also of ``expect.any(...)`` and ``Buffer.from(...)``, the first argument."""
        node = plain(node)
        if node is not None and node.type == "call_expression":
            called = plain(field(node, "function"))
            made = name_of(called) == "from" or name_of(owner_of(called)) == "expect"
            return self.literals(next(iter(arguments(node)), None)) if made else []
        if node is not None and node.type == "unary_expression" and text_of(field(node, "operator")) not in {"-", "+"}:
            return []
        return super().literals(node)

    def _hide(self, node: "Node", handles: Collection[str], *, top: bool = False) -> None:
        """Find the literals of a test that can be read from a table."""
        if node.type in {"string", "number"} or (node.type == "template_string" and not substitutions(node)):
            self._hide_literal(node)
            return
        if node.type == "expression_statement" and [each.type for each in node.named_children] == ["string"]:
            return  # a directive
        parts = list(children(node))
        if node.type == "jsx_attribute":
            parts = [part for part in parts if part.type != "string"]  # no call may stand there without braces
        elif node.type in _KEYED and parts and parts[0].type != "computed_property_name":
            parts.pop(0)
        elif node.type in {"call_expression", "new_expression"}:
            called, listed = plain(field(node, "function") or field(node, "constructor")), field(node, "arguments")
            if called is None or called.type == "import" or (not top and declared(node, handles)):
                return
            if _names_modules(called, arguments(node)):
                parts = [called]
            elif listed is not None and listed.type == "template_string":
                parts = list(children(listed))
        for part in parts:
            self._hide(part, handles)

    def _hide_literal(self, node: "Node") -> None:
        value = self.value_of(node)
        if value is None or node.start_byte in self.hidden or (node.type == "number" and text_of(node).endswith("n")):
            return
        breaks = "\n" * len(_BREAK.findall(text_of(node)))
        before = self.data[max(node.start_byte - 1, 0) : node.start_byte]
        space = " " if re.match(rb"[\w$]", before) else ""
        text = f'{space}$value$({breaks}"$token$")'
        self.hidden[node.start_byte] = self.value(json.dumps(value), (node.start_byte, node.end_byte, text))

    # Tests and their statements

    def _tests(self, node: "Node", titles: Titles, handles: frozenset[str]) -> None:
        """Look for tests; ``titles`` lead here, None where they are not known."""
        if node.type == "call_expression" and (kind := declared(node, handles)) is not None:
            return self._declaration(node, kind, titles, handles)
        for child in children(node):
            named = child.type in BODIES and node.type not in {"arguments", "expression_statement"}
            self._tests(child, None if named or node.type in UNKNOWN else titles, handles)
        return None

    def _declaration(self, call: "Node", kind: Declared, titles: Titles, handles: frozenset[str]) -> None:
        args = [inner for each in arguments(call) if (inner := plain(each)) is not None]
        functions = [arg for arg in args if arg.type in FUNCTIONS]
        body = next(reversed(functions or [arg for arg in args[1:] if arg.type == "call_expression"]), None)
        if body is None:
            return
        led = self._led_to(args, kind, titles)
        if kind.kind == "group":
            self._tests(body, led, handles)
            return
        if body.has_error:
            return  # the framework will say what is wrong with it, or its syntax is newer than the grammar
        nested = handles | {text_of(field(each, "pattern") or each) for each in parameters(body)}
        self._hide(body, nested, top=True)
        outer, self.test = self.test, " > ".join(led or ())
        if led:
            self._test(body, nested, table=kind.table)
        before = len(self.declared)
        self._tests(field(body, "body") or body, led, nested)
        if led and len(self.declared) > before:
            self.composite.add(self.test)
        self.test = outer

    def _led_to(self, args: list["Node"], kind: Declared, titles: Titles) -> Titles:
        """Return the titles that lead into what is declared."""
        title = title_of(args[0], table=kind.table)
        options = [each for arg in args if arg.type == "object" for each in arg.named_children]
        odd = any(
            each.type == "spread_element" or text_of(field(each, "key") or field(each, "name")) in INVERTING
            for each in options
        )
        if titles is None or not title or kind.kind == "unknown" or odd or not _is_plain(title):
            return None
        told = kind.kind == "group" or any(one != HOLE for one in (*titles, title))
        return (*titles, title) if told else None

    def _test(self, body: "Node", handles: Collection[str], *, table: bool) -> None:
        self.declared[self.test] += 1
        self.until = math.inf
        called = math.inf if table else CALLED_BACK.get(self.runner, math.inf)
        inner = field(body, "body") or body
        if body.type in {"arrow_function", "function_expression"} and len(parameters(body)) < called:
            if inner.type != "statement_block":
                self._guard(inner)
            elif self._flow(inner):
                self._receipt_at(inner.end_byte - 1)
        self._assertions(inner, handles, straight=True, parent=None)

    def _flow(self, block: "Node") -> bool:
        """Find the receipts of statements that a passing test has run; return whether it comes to their end."""
        for node in block.named_children:
            if node.type == "return_statement":
                value = next((each for each in node.named_children if each.type != "comment"), None)
                if value is not None:
                    self._guard(value)
                return False
            if node.type == "throw_statement" or returns(node):
                self.until = node.end_byte
                return False
            if node.type == "statement_block" and not self._flow(node):
                return False
            inner = next(children(node), None) if node.type == "expression_statement" else None
            if inner is not None and assertion_of(inner, self.imported):
                # Without a semicolon, a statement has the comment behind it.
                end = max(each.end_byte for each in node.children if each.type != "comment" and each.text)
                self._receipt_at(end)
                self.receipted[inner.id] = end
        return True

    def _receipt_at(self, at: int) -> None:
        self.receipt(at, [(at, at, ';$receipt$("$token$");')])

    def _guard(self, node: "Node") -> None:
        start, end = node.start_byte, node.end_byte
        self.receipt(end, [(start, start, '$guard$("$token$", ('), (end, end, "))")])
        inner = plain(node)
        self.receipted[inner.id if inner is not None else node.id] = end

    # Mutants

    def _assertions(self, node: "Node", handles: Collection[str], *, straight: bool, parent: "Node | None") -> None:
        """Find the mutants below a node; ``straight``: it is run in the order of the text."""
        within = parent is not None and node in (plain(field(parent, "function")), owner_of(parent))
        named = name_of(field(node, "function")) if node.type == "call_expression" else name_of(node)
        found = None
        if node.type != "await_expression" and (not within or named == "expect"):
            found = assertion_of(node, self.imported)
        if found is not None and (not within or found.kind == "reply"):
            waits = WAITING.search(self.data, found.node.start_byte, found.node.end_byte)
            shown = (
                parent if parent is not None and parent.type == "await_expression" else None if waits else found.node
            )
            assertion = self.receipted.get(shown.id) if shown is not None else None
            place = Place(found.node.end_byte if straight else 0, assertion)
            before = len(self.found)
            self._mutate(place, found)
            if straight and any(record["kind"] == "mutant" for record in self.found[before:]):
                self.straight.add(self.test)
        for child in children(node):
            if not (child.type == "call_expression" and declared(child, handles)):
                inner = straight and child.type not in BODIES and child.start_byte < self.until
                self._assertions(child, handles, straight=inner, parent=node)

    def _mutate(self, at: Place, found: Assertion) -> None:
        args = arguments(found.call)
        if any(arg.type == "spread_element" for arg in args):
            args = []
        if found.kind == "chain":
            self._chain(at, found, args)
        elif found.kind == "reply":
            said = [arg for arg in args if arg.type not in FUNCTIONS and arg.type != "identifier"]
            status = said[:1] if len(said) == 2 and said[0].type == "number" else []
            for arg in dict.fromkeys((*status, *said[-1:])):
                self.expect(at, arg)
        else:
            self._assertion(at, found, args)

    def _chain(self, at: Place, found: Assertion, args: Sequence["Node"]) -> None:
        """Find the mutants of ``expect(...).name(...)``."""
        operator, member = MATCHERS.get(found.name, Operator()), found.member
        owner, called = field(member, "object"), field(member, "property")
        if found.name == "toBeCloseTo" and found.inverted is None and len(args) > 1:
            digits = self.value_of(args[1])  # values near the expected one are near enough where few digits count
            if not isinstance(digits, int | float) or digits < 1:
                return
        if found.inverted is not None and (of := field(found.inverted, "object")) is not None:
            self.mutant(at, [""], (of.end_byte, found.inverted.end_byte, "$choice$"))
        elif operator.weak and args and self._throwing(at, args[0]):
            return
        elif "Inline" in found.name:
            texts = [arg for arg in args if arg.type in self.strings]
            self._snapshot(at, texts[-1:])
        elif "Snapshot" in found.name or found.name == "should" or owner is None:
            return
        elif not self.apply(at, operator, args, called) and member is not None:
            # Few say what is not so.
            self.mutant(at, [".not"], (owner.end_byte, owner.end_byte, "$choice$"), weak=True)

    def _assertion(self, at: Place, found: Assertion, args: Sequence["Node"]) -> None:
        """Find the mutants of ``assert.name(...)``."""
        called = field(found.member, "property")
        thrown = args[1] if found.name in {"throws", "rejects"} and len(args) > 1 else None
        if thrown is not None and thrown.type == "object" and self.expect(at, thrown):
            return
        if thrown is not None and self._throwing(at, thrown):
            return
        if found.name in {"ok", "assert"} and args:
            self._condition(at, args[0])
        elif found.name in {"match", "doesNotMatch", "notMatch"} and called is not None:
            other = "notMatch" if re.search(rb"['\"]chai['\"]", self.data) else "doesNotMatch"
            if found.name == "match" and len(args) > 1 and args[1].type == "regex":
                self._pattern(at, args[1])
            self.replace(at, called, [other if found.name == "match" else "match"], weak=True)
        else:
            self.apply(at, ASSERTIONS.get(found.name, Operator()), args, called)

    def _condition(self, at: Place, node: "Node") -> None:
        """Find the mutants of something that has to be true."""
        called = name_of(field(node, "function"))
        for arg in arguments(node) if called in ASKING else ():
            self.expect(at, arg, part=called in LOOKING)
        operand = field(node, "argument")
        if node.type == "unary_expression" and text_of(field(node, "operator")) == "!" and operand is not None:
            self.mutant(at, [""], (node.start_byte, operand.start_byte, "$choice$"))
        elif node.type in _PLAIN:
            self.mutant(at, ["!"], (node.start_byte, node.start_byte, "$choice$"), weak=called in ASKING)
        else:
            around = (node.start_byte, node.start_byte, "$choice$("), (node.end_byte, node.end_byte, ")")
            self.mutant(at, ["!"], *around, weak=True)

    def _throwing(self, at: Place, node: "Node") -> bool:
        """Expect an error of another class; return whether one is named."""
        named = node.type == "identifier"
        if named:
            self.replace(at, node, [one for one in ERRORS if one != text_of(node)], weak=True)
        return named

    def _pattern(self, at: Place, node: "Node") -> None:
        """Ask for other words: that something matches is what a test usually says, and "not" would tell."""
        raw = text_of(node)
        words = re.finditer(r"(?<![\\\w])[a-zA-Z]{3,}", raw)
        self.replace(at, node, [raw[: word.start()] + word[0] + raw[word.start() :] for word in words][:_MAX_CHOICES])

    def _snapshot(self, at: Place, texts: Iterable["Node"]) -> None:
        for node in texts:
            raw = text_of(node)
            places = [found.start() for found in re.finditer(r"(?<![\\\w])[a-zA-Z0-9]", raw)][-_MAX_CHOICES:]
            if not substitutions(node):
                self.replace(at, node, [raw[:place] + next_letter(raw[place]) + raw[place + 1 :] for place in places])

    def change(self, at: Place, node: "Node") -> None:
        """See ``Finder.change``."""
        opening: Edit = (node.start_byte, node.start_byte, '$change$("$token$", (')
        number = self.value("0", opening, (node.end_byte, node.end_byte, "))"))
        self.mutant(at, ["1"], value=number, weak=True)  # who reads the text can try the call


def _names_modules(called: "Node", args: Iterable["Node"]) -> bool:
    """Return whether a call's arguments are names of modules, or texts that the framework writes itself."""
    name, owner = name_of(called), owner_of(called)
    placed = any((of := owner_of(one)) is not None and of.type == "meta_property" for one in args)
    mocking = owner is None or owner.type == "meta_property" or name_of(owner) in _MOCKING
    return placed or "Snapshot" in name or (mocking and MODULES.fullmatch(name) is not None)


def _is_plain(title: str) -> bool:
    return len(title) <= _MAX_TITLE and "\x1b" not in title and not any("\ud800" <= one <= "\udfff" for one in title)
