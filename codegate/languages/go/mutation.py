"""Where Go tests can be instrumented: ``if`` statements that report a failure, assertions, and tables of cases.

Literals stay in the text: to read one is to pass its mutant too. ``$guard$(token, x)`` is ``x``, inverted if the table
says ``true``; ``$change$(token, x)`` is ``x``, or another value if it does.
"""

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from codegate.languages.go.operators import (
    ASSERTIONS,
    CHECKERS,
    COMPARING,
    CONVERSIONS,
    HELPERS,
    LOOKING,
    OUTPUT,
    TESTS,
    WANTED,
)
from codegate.languages.go.statements import (
    NESTED,
    Scope,
    assigned,
    fails,
    fields_of,
    has_tester,
    is_condition,
    is_needed,
    leaves,
    name_of,
    recovers,
    root_of,
    scope_within,
    statements_of,
)
from codegate.languages.mutation import MAX_SITES, Edit, Finder, Operator, Place, Value, arguments, below, next_letter
from codegate.languages.syntax import field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS: Final = frozenset({"function_declaration", "method_declaration"})
_TURNED: Final = "true"  # the choice of a mutant that turns something round
_ENOUGH_LITERALS: Final = 2
_MAX_WANTED: Final = 12
_BITS: Final = 7  # of the smallest type of numbers that have a sign
_UNIVERSAL: Final = re.compile(r"\\(?:[0-7]{3}|x[89a-fA-F][0-9a-fA-F]|U)")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_MEANINGS: Final = {"n": "\n", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "r": "\r", "a": "\a"}


class _Wanted(NamedTuple):
    """An element of a composite literal that a test expects: where the literal is, and the name of the field."""

    table: int
    name: str
    node: "Node"


class GoFinder(Finder):
    """Finds the sites of one file."""

    strings: ClassVar = frozenset({"interpreted_string_literal_content", "raw_string_literal_content"})
    written: ClassVar = {
        "composite_literal": "body", "literal_value": "", "literal_element": "", "keyed_element": "value",
        "type_conversion_expression": "operand",
    }  # fmt: skip

    def __init__(self, path: str, data: bytes, root: "Node", runner: str) -> None:
        super().__init__(path, data, root, runner)
        nodes = list(below(root))
        specs = [node for node in nodes if node.type == "type_spec"]
        self.types = {text_of(field(spec, "name")): field(spec, "type") for spec in specs}
        imports = [text_of(field(node, "path")) for node in nodes if node.type == "import_spec"]
        self.checks = any(CHECKERS.fullmatch(text) for text in imports)
        self.wanted: list[_Wanted] = []
        self.known: set[str] = set()  # names of what the test expects that have mutants

    def search(self) -> list[dict[str, Any]]:
        """See ``Finder.search``."""
        owners = self._suites()
        for node in self.root.named_children:
            block = field(node, "body")
            is_test = node.type in _FUNCTIONS and TESTS.match(text_of(field(node, "name")))
            if is_test and block is not None and not node.has_error:
                self._function(node, block, owners)
        return self.found[:MAX_SITES]

    def _suites(self) -> dict[str, str]:
        """Return the types whose methods are tests of a function that runs them as a suite."""
        found = {}
        for function in self.root.named_children:
            if function.type == "function_declaration" and TESTS.match(name := text_of(field(function, "name"))):
                for call in below(function):
                    called, args = field(call, "function"), arguments(call)
                    if len(args) == 2 and name_of(called) == "Run" and root_of(called) == "suite":
                        names = [text_of(each) for each in below(args[1]) if "identifier" in each.type]
                        found.update(dict.fromkeys((one for one in names if one != "new"), name))
        return found

    def _function(self, node: "Node", block: "Node", owners: dict[str, str]) -> None:
        role = "asserter" if self.checks else ""
        parameters, receiver = field(node, "parameters"), field(node, "receiver")
        names, tested = scope_within({"assert": role, "require": role}, parameters)
        self.test = text_of(field(node, "name"))
        if receiver is not None:
            own = next(iter(receiver.named_children), None)
            self.test = owners.get(text_of(field(own, "type")).lstrip("*"), "")
            if not self.test or field(own, "name") is None:
                return
            names[text_of(field(own, "name"))] = "asserter"
        elif not tested and parameters is not None and parameters.named_children:
            return  # TestMain
        first = len(self.found)
        self.wanted, self.known = [], set()
        self._tables(block)
        for want in self.wanted[:: 1 + len(self.wanted) // _MAX_WANTED]:
            if text_of(want.node) not in {'""', "0"}:  # what a case has that is expected to fail
                # An error's text may say more.
                self._expect(Place(want.table), want.node, want.name, part="err" in want.name.lower())
        self._body(block, names, certain=receiver is None and not recovers(block))
        if self.test.startswith("Example"):
            self._example(block)
        self._prefer_literals(first)

    def _prefer_literals(self, first: int) -> None:
        """Remove what is turned round from the mutants since ``first``, if there are others.

        What a test expects instead looks like any other test; a condition that is turned round is no natural one.
        """
        mutants = [record for record in self.found[first:] if record["kind"] == "mutant"]
        turned = [record for record in mutants if record["choices"] == [_TURNED] and record["value"] is not None]
        if len(mutants) - len(turned) >= _ENOUGH_LITERALS:
            self.found[first:] = [record for record in self.found[first:] if record not in turned]

    # Literals

    def value_of(self, node: "Node") -> Value | None:
        """See ``Finder.value_of``; of a character, its number."""
        text = text_of(node)
        if node.type in {"true", "false"}:
            return node.type == "true"
        if node.type == "unary_expression" and text_of(field(node, "operator")) == "-":
            operand = field(node, "operand")
            number = self.value_of(operand) if operand is not None and operand.type != "rune_literal" else None
            return -number if isinstance(number, int | float) and not isinstance(number, bool) else None
        if node.type == "raw_string_literal":
            return text[1:-1].replace("\r", "")
        if node.type == "interpreted_string_literal":
            return None if _UNIVERSAL.search(text.replace("\\\\", "")) else _ESCAPE.sub(_meaning, text[1:-1])
        if node.type == "rune_literal":
            return ord(text[1]) if len(text) == len("'a'") else None
        try:
            if node.type == "int_literal":
                return int(text, 8) if re.match(r"0\d", text) else int(text, 0)
            return float(text) if node.type == "float_literal" else None
        except ValueError:
            return None

    def write(self, value: Value, like: "Node") -> str | None:
        """See ``Finder.write``: a number has the type that the literal has."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False).replace("\ufeff", r"\ufeff")
        old = self.value_of(like)
        if like.type == "rune_literal":
            letter = chr(int(value)) if 0 < value < 128 else ""
            return f"'{letter}'" if letter.isalnum() else None
        signed = isinstance(old, int | float) and old < 0
        if isinstance(value, float):
            return repr(value) if value >= 0 or signed else None
        fits = isinstance(old, int) and _width(value) <= max(_width(old), _BITS)
        return str(value) if fits and (value >= 0 or signed) else None

    def literals(self, node: "Node | None") -> list["Node"]:
        """See ``Finder.literals``: also what is converted, and what a pointer is to."""
        args = arguments(node)
        if len(args) == 1 and CONVERSIONS.fullmatch(name_of(field(node, "function"))):
            return self.literals(args[0])
        if node is not None and node.type == "unary_expression" and text_of(field(node, "operator")) == "&":
            return self.literals(field(node, "operand"))
        return super().literals(node)

    def _expect(self, at: Place, node: "Node", name: str, *, part: bool = False) -> None:
        """Add mutants of what a test expects, and take note of its name."""
        if self.expect(at, node, part=part):
            self.known.add(name)

    def _tables(self, node: "Node") -> None:
        """Take note of what a test expects in the composite literals below a node."""
        for each in below(node, {"composite_literal"}):
            if each.type == "composite_literal":
                self._composite(each, None, each.start_byte)

    def _composite(self, node: "Node", kind: "Node | None", table: int) -> None:
        """Take note of what is expected in one literal; ``kind`` is its type where it names none itself."""
        kind = field(node, "type") or kind
        if kind is not None and kind.type == "pointer_type":
            kind = next(iter(kind.named_children), None)
        if kind is not None and kind.type == "type_identifier":
            kind = self.types.get(text_of(kind))
        inner = field(kind, "element") or field(kind, "value")
        names = fields_of(kind)
        body = field(node, "body") or node
        parts = [each for each in body.named_children if each.type in {"literal_element", "keyed_element"}]
        for at, part in enumerate(parts):
            value = field(part, "value") or part
            value = value.named_children[0] if value.type == "literal_element" else value
            key = field(part, "key")
            name = name_of(key.named_children[0]) if key is not None else names[at] if at < len(names) else ""
            if value.type in {"literal_value", "composite_literal"}:
                self._composite(value, inner, table)
            else:
                self._tables(value)
            if inner is None and WANTED.search(name):
                self.wanted.append(_Wanted(table, name, value))

    # Statements

    def _receipt_at(self, at: int, *, certain: bool) -> None:
        self.receipt(at, [(at, at, '; $receipt$("$token$")')], required=certain)

    def _body(self, block: "Node", names: Scope, *, certain: bool) -> None:
        """Find everything in a function's body; ``certain``: a test that passes has run it."""
        self._receipt_at(block.end_byte - 1, certain=self._statements(block, names, certain=certain))

    def _statements(self, block: "Node", names: Scope, *, certain: bool) -> bool:
        for statement in statements_of(block):
            self._statement(statement, names, certain=certain)
            certain = certain and not leaves(statement)
        return certain

    def _statement(self, node: "Node", names: Scope, *, certain: bool) -> None:
        if node.type == "expression_statement":
            call = node.named_children[0]
            if call.type == "call_expression":
                self._call(call, names, certain=certain)
        elif node.type == "defer_statement":
            block = field(node.named_children[0], "function", "body")
            if block is not None:
                self._statements(block, names, certain=False)
        elif node.type in {"short_var_declaration", "var_declaration", "const_declaration"}:
            for name, value in assigned(node):
                if name_of(field(value, "function")) == "New" and has_tester(arguments(value), names):
                    names[name] = "asserter"
                elif WANTED.search(name):
                    self._expect(Place(value.start_byte), value, name)
        elif node.type == "if_statement":
            if self._check(node, names):
                self._receipt_at(node.end_byte, certain=certain)
            self._branches(node, names)
        elif node.type == "block":
            self._statements(node, names, certain=certain)
        elif node.type == "labeled_statement":
            self._statement(node.named_children[-1], names, certain=certain)
        elif node.type in NESTED:
            self._statements(field(node, "body") or node, names, certain=False)

    def _branches(self, node: "Node", names: Scope) -> None:
        """Find everything inside of an if statement; how a failure is reported is no assertion."""
        for branch in (field(node, "consequence"), field(node, "alternative")):
            if branch is not None and branch.type == "if_statement":
                self._branches(branch, names)
            elif branch is not None and not fails(branch, names):
                self._statements(branch, names, certain=False)

    # Conditions

    def _check(self, node: "Node", names: Scope) -> bool:
        """Find the mutants of an if statement that reports a failure; return whether it is one."""
        at, found = Place(node.end_byte), False
        branch: Node | None = node
        while branch is not None and branch.type == "if_statement":
            condition, other = field(branch, "condition"), field(branch, "alternative")
            bad = fails(field(branch, "consequence"), names)
            block = field(branch, "consequence") if bad else other
            if condition is not None and block is not None and (bad or fails(other, names)):
                found = True
                if not self._asks(at, condition, bad=bad) and not is_needed(condition, block):
                    self._turn(at, condition, "$guard$")
            branch = other
        return found

    def _asks(self, at: Place, node: "Node", *, bad: bool) -> bool:
        """Find the literals that something has to equal for the test to pass; ``bad``: the condition is a failure's.

        A literal is the better mutant: a condition that is turned round is no natural one.
        """
        left, right, operator = field(node, "left"), field(node, "right"), text_of(field(node, "operator"))
        if node.type == "parenthesized_expression":
            return self._asks(at, node.named_children[0], bad=bad)
        if node.type == "unary_expression" and operator == "!" and (operand := field(node, "operand")) is not None:
            return self._asks(at, operand, bad=not bad)
        if node.type == "binary_expression" and left is not None and right is not None:
            if operator == ("||" if bad else "&&"):
                both = self._asks(at, left, bad=bad), self._asks(at, right, bad=bad)
                return any(both)
            return operator == ("!=" if bad else "==") and self._equals(at, right, left)
        name, args = name_of(field(node, "function")), arguments(node)
        if bad or len(args) < 2 or not COMPARING.search(name):
            return False
        return self._equals(at, args[1], args[0], part=LOOKING.search(name) is not None)

    def _equals(self, at: Place, *sides: "Node", part: bool = False) -> bool:
        return any(self.expect(at, side, part=part) for side in sides) or any(
            name_of(side) in self.known for side in sides
        )

    def _turn(self, at: Place, node: "Node", role: str) -> None:
        """Put an expression into a call that can give another value.

        The edit takes the byte before the expression along, to be outside of every other edit.
        """
        start, end = node.start_byte, node.end_byte
        opening: Edit = (start - 1, start, f'{chr(self.data[start - 1])}{role}("$token$", ')
        self.mutant(at, [_TURNED], value=self.value("false", opening, (end, end, ")")))

    def change(self, at: Place, node: "Node") -> None:
        """See ``Finder.change``."""
        self._turn(at, node, "$change$")

    # Calls

    def _call(self, call: "Node", names: Scope, *, certain: bool) -> None:
        """Find everything in a statement that is a call: subtests, and assertions with their receipts."""
        called, args = field(call, "function"), arguments(call)
        name, role = name_of(called), names.get(root_of(called), "")
        if (role == "tester" and name not in {"Run", "Fuzz"}) or (not role and not has_tester(args, names)):
            return
        for arg in args:
            block = field(arg, "body")
            inner, tested = scope_within(names, field(arg, "parameters"))
            if arg.type == "func_literal" and tested and block is not None:
                self._body(block, inner, certain=False)
        self._receipt_at(call.end_byte, certain=certain)
        if role != "tester":
            self._assertion(call, name, args[1:] if has_tester(args[:1], names) else args)

    def _assertion(self, call: "Node", name: str, args: list["Node"]) -> None:
        """Find the mutants of a call that asserts something."""
        at, called = Place(call.end_byte), field(call, "function", "field")
        operator = ASSERTIONS.get(name, Operator()) if self.checks and called is not None else Operator()
        if self.apply(at, operator, args, called):
            return
        if called is not None and len(args) > 1 and root_of(args[1]) == "qt":  # c.Assert(got, qt.Equals, want)
            if "Not" not in text_of(args[1]) and (len(args) == 2 or not self.expect(at, args[2])):
                self._turn(at, args[0], "$change$")
        elif HELPERS.search(name) and "Not" not in name:
            for number, arg in enumerate(args):
                text = self.value_of(arg)
                if number > 1 and isinstance(text, str) and re.search("[ %]", text):
                    return  # a message
                if not is_condition(arg):
                    self.expect(at, arg)
                elif not self._asks(at, arg, bad=False):
                    self._turn(at, arg, "$guard$")

    def _example(self, block: "Node") -> None:
        """Find the mutants of what an example prints: the last line of its comment."""
        comments = [node for node in below(block) if node.type == "comment"]
        group = comments[-1:]
        for comment in reversed(comments[:-1]):
            if comment.end_point.row + 1 == group[0].start_point.row:
                group.insert(0, comment)
        if not group or not (output := OUTPUT.match(text_of(group[0]))):
            return
        line = group[-1]
        start = line.start_byte + (len("//") if len(group) > 1 else output.end())
        expected = self.data[start : line.end_byte].decode("utf-8", "replace")
        if expected.strip():
            self.mutant(Place(block.start_byte), [_other(expected)], (start, line.end_byte, "$choice$"))


def _width(number: int) -> int:
    """Return how many bits a number takes, without its sign."""
    return (number if number >= 0 else ~number).bit_length()


def _meaning(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _MEANINGS.get(found[3], found[3])


def _other(text: str) -> str:
    """Return a text that differs in its first letter or digit, or ends in one more letter."""
    place = re.search("[0-9a-zA-Z]", text)
    if place is None:
        return f"{text}x"
    return text[: place.start()] + next_letter(place[0]) + text[place.end() :]
