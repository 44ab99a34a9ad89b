"""Read Go's tests as lines (see ``lines``).

It can read table rows, subtests, and conditions that end in a failure.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.go.statements import GoReader, asserts, struct_types, variables
from codegate.languages.lines import MARK, Dialect, Line, RenderedExample, Step, Value, with_braces
from codegate.languages.statements import asserting_functions, lines_through
from codegate.languages.syntax import arguments_of, children_of, decode, edited, field, text_of, walk
from codegate.suite import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES: Final = frozenset({"identifier", "package_identifier", "type_identifier"})
_LITERALS: Final = frozenset(
    ("int_literal", "float_literal", "interpreted_string_literal_content", "raw_string_literal_content")
)
_FUNCTION: Final = frozenset({"function_declaration"})
_GIVING: Final = frozenset({"short_var_declaration", "assignment_statement"})
#: Calls whose texts are only names of tests and messages for people.
_SAYING: Final = re.compile(r"^tb?\.(?:Error|Fatal|Log|Skip|Run)\w*$")
_TEST: Final = re.compile(r"^func\s+((?:Test|Example|Fuzz)(?![a-z])\w*|init\b)", re.MULTILINE)
_PACKAGE: Final = re.compile(r"^package[ \t]+\w+", re.MULTILINE)
_GROUP: Final = re.compile(r"(\w+) (?::= &?|)sync\.WaitGroup\b")
_HELPERS: Final = """

import (
	"encoding/json"
	"fmt"
	"testing"
)

type codegateProbe struct {
	t    *testing.T
	step int
}

func (p *codegateProbe) say(number int, kind, text string) {
	if len(text) > 600 {
		text = text[:600]
	}
	record, _ := json.Marshal([]interface{}{number, kind, text})
	p.t.Run(fmt.Sprintf("record %d", number), func(t *testing.T) { t.Fatal("MARK[" + string(record) + "]") })
}

func (p *codegateProbe) record(number int, value func() interface{}) {
	kind, text := "x", ""
	func() {
		defer func() {
			if fault := recover(); fault != nil {
				text = fmt.Sprint(fault)
			}
		}()
		kind, text = p.shown(value())
	}()
	p.say(number, kind, text)
}

func (p *codegateProbe) shown(value interface{}) (string, string) {
	switch given := value.(type) {
	case error:
		return "e", given.Error()
	case string:
		return "s", given
	}
	return "v", fmt.Sprintf("%#v", value)
}

func (p *codegateProbe) end() {
	if fault := recover(); fault != nil {
		p.say(-1-p.step, "x", fmt.Sprint(fault))
	}
}
""".replace("MARK", MARK)


class GoDialect(Dialect):
    """Reads Go's tests and writes probes; see ``Dialect``."""

    raising: ClassVar = "panics:"
    probe: ClassVar = "TestCodegateProbe"
    place: ClassVar = r"{}:(\d+):\d+"
    assignments: ClassVar = frozenset({"assignment_statement"})

    @override
    def function(self, test: str) -> str:
        return test.partition("/")[0]

    @override
    def visible_files(self, path: str, tree: Tree) -> Iterator[str]:
        # Go tests can use all declarations of their package, which is one folder.
        folder, _, name = path.rpartition("/")
        for other, file in tree.items():
            at, _, own = other.rpartition("/")
            if at == folder and own.endswith("_test.go") and own != name:
                yield decode(file.data)

    @override
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        # Tests have names such as ``TestParse/subtest``.
        wanted = tuple(tests)
        names = set(map(self.function, wanted))
        root = self.parse(source)
        data = (node for node in root.named_children if node.type == "var_declaration")
        plain = (node for node in data if not any(inner.type == "func_literal" for inner in walk(node)))
        shared = tuple(Step(text_of(node)) for node in plain)
        functions = {text_of(field(node, "name")): node for node in root.named_children if node.type in _FUNCTION}
        files = [*map(self.parse, beside), root]
        types = {name: node for file in files for name, node in struct_types(file).items()}
        every = (node for file in files for node in file.named_children if node.type in _FUNCTION)
        named = {text_of(field(node, "name")): node for node in every}
        helpers = asserting_functions(
            named, asserts, lambda node: (text_of(field(inner, "function")) for inner in walk(node))
        )
        for name, node in functions.items():
            if name in names:
                subtests = tuple(test for test in wanted if test.startswith(f"{name}/"))
                reader = GoReader("go", base, helpers, frozenset(subtests), {**types, **struct_types(node)})
                for steps in lines_through(reader, _without_goroutines(field(node, "body"))[1:-1], shared):
                    yield Line(name, self._without_tables(steps))

    def _without_tables(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return the steps without variables that no later step reads.

        These variables are tables whose rows were copied into the steps. Variables with the value of a call stay.
        """
        kept: list[Step] = []
        used: set[str] = set()
        for step in reversed(steps):
            bound = self.bound(step.text)
            plain = not any(node.type == "call_expression" for node in walk(self.parse(step.text)))
            if not (step.text and bound and plain and not step.checked and not bound & used):
                used |= self.used("\n".join([step.text, *step.checked]))
                kept.insert(0, step)
        return tuple(kept)

    @override
    def literals(self, node: "Node") -> Iterator["Node"]:
        # Indexes, lengths, and texts that name or explain failures are left out.
        for inner in walk(node):
            outer = inner.parent
            if inner.type in _LITERALS and outer is not None:
                arguments = outer.parent if inner.type.endswith("content") else None
                called = text_of(field(arguments.parent, "function")) if arguments is not None else ""
                if outer.type not in {"array_type", "index_expression"} and not _SAYING.search(called):
                    yield inner

    @override
    def names(self, node: "Node") -> set[str]:
        # A method counts under the name of its type.
        if node.type == "function_declaration":
            return {text_of(field(node, "name"))}
        if node.type == "method_declaration":
            return {text_of(name) for name in walk(field(node, "receiver")) if name.type == "type_identifier"}
        specs = [spec for spec in walk(node) if spec.type in {"var_spec", "const_spec", "type_spec"}]
        return variables(node) | {text_of(name) for spec in specs for name in spec.children_by_field_name("name")}

    @override
    def bound(self, text: str) -> frozenset[str]:
        return super().bound(text) - {"_", ""}

    @override
    def used(self, text: str) -> frozenset[str]:
        # Fields and methods are left out.
        return frozenset(text_of(node) for node in walk(self.parse(text)) if node.type in _NAMES)

    @override
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        # The test file has its tests renamed and a function for each probe; another file has the helpers.
        package = _PACKAGE.search(source)
        folder = path.rpartition("/")[0]
        parts = [source if beside else _TEST.sub(r"func codegate\1", source)]
        for name, line in probes.items():
            parts.append(f"func {self.probe_name(name, line)}(t *testing.T) {{\n{self._probe(line)}\n}}\n")
        helpers = (package[0] if package is not None else "") + _HELPERS
        return {path: "\n".join(parts), f"{folder}/zz_codegate_probe_test.go".lstrip("/"): helpers}

    def _probe(self, line: Line) -> str:
        def write(at: int, step: Step, number: int) -> Iterator[str]:
            own = bool(step.text and step.checked)
            yield from (f"probe.step = {at}", *(["{"] if own else []), step.text)
            yield from (f"_ = {name}" for name in sorted(variables(self.parse(step.text))))
            for place, expression in enumerate(step.checked, number):
                yield f"probe.record({place}, func() interface{{}} {{ return {expression} }})"
            yield from ["}"] if own else []

        return "\n".join(["probe := &codegateProbe{t: t}", "defer probe.end()", with_braces(line, write)])

    @override
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        # Imports and other files of the package are left out.
        nodes = [node for node in self.parse(source).named_children if node.type != "import_declaration"]
        return self.definitions_of(nodes, names)

    @override
    def render_example(
        self, path: str, context: str, steps: Sequence[Step], expression: str, before: Value, after: Value
    ) -> RenderedExample:
        # The value is printed in its most readable form.
        kinds, texts = {before[0], after[0]}, (before[1], after[1])
        # A reader cannot see blanks at the end of a printed line, nor newlines at the end of a printed text.
        seen = all(line == line.rstrip() for text in texts for line in text.split("\n"))
        seen = seen and texts[0].rstrip("\n") != texts[1].rstrip("\n")
        printed = f'fmt.Printf("%#v\\n", {expression})'
        if "e" in kinds:
            printed = f"fmt.Println({expression})"
        elif "s" in kinds and "\n" in "".join(texts) and seen:
            printed = f"fmt.Print({expression})"
        elif "s" in kinds:
            printed = f'fmt.Printf("%q\\n", {expression})'
            before, after = (
                (kind, json.dumps(text, ensure_ascii=False) if kind == "s" else text) for kind, text in (before, after)
            )
        return super().render_example(path, context, steps, printed, before, after)

    @override
    def tidy(self, steps: tuple[Step, ...], expression: str) -> tuple[Step, ...]:
        # Unread variables and variables declared twice do not compile.
        kept: list[Step] = []
        used = self.used(expression)
        local = {"_", *(name for step in steps for name in self.declared(step.text))}
        for step in reversed(steps):
            root, edits, names = self.parse(step.text), dict["Node", str](), list["Node"]()
            for node in root.named_children:
                given = children_of(node, "left") if node.type in _GIVING else []
                if not given or not local.issuperset(text_of(name) for name in given):
                    continue
                unread = [name for name in given if text_of(name) not in used]
                edits |= dict.fromkeys(unread, "_")
                edits |= {child: "=" for child in node.children if child.type == ":=" and len(unread) == len(given)}
                names += given
            used |= self.used(edited(root, dict.fromkeys(names, "")))
            kept.insert(0, replace(step, text=edited(root, edits)))
        known: set[tuple[int, str]] = set()
        return tuple(replace(step, text=self._assigned(step, known)) for step in kept)

    def _assigned(self, step: Step, known: set[tuple[int, str]]) -> str:
        # ``known`` has depth and name of each variable so far; a statement that declares none but these gets ``=``.
        root, edits = self.parse(step.text), dict["Node", str]()
        for node in root.named_children:
            left = children_of(node, "left") if node.type == "short_var_declaration" else []
            names = {(step.depth, text_of(name)) for name in left}
            names.discard((step.depth, "_"))
            if names and names <= known:
                edits |= {child: "=" for child in node.children if child.type == ":="}
            known |= names
        return edited(root, edits) if edits else step.text


DIALECTS: Final[Mapping[str, Dialect]] = {".go": GoDialect("go", "go", (".go",))}
"""Dialects by the suffix of a test file."""


def _without_goroutines(body: "Node | None") -> str:
    """Return a function's body with plain calls instead of goroutines."""
    edits, groups = dict["Node", str](), _GROUP.findall(text_of(body))
    waits = re.compile(rf"(?:defer )?(?:{'|'.join(groups)})\.(?:Add\(.*\)|Done\(\)|Wait\(\))")
    for node in walk(body) if groups else ():
        call = node.named_children[0] if node.type == "go_statement" else None
        function = field(call, "function")
        if call is not None and function is not None and function.type == "func_literal":
            listed = children_of(function, "parameters")
            names = [text_of(name) for each in listed for name in each.children_by_field_name("name")]
            own = [text_of(each) for each in _statements(field(function, "body"))]
            if names == [text_of(each) for each in arguments_of(call)]:
                edits[node] = "\n".join(text for text in own if not waits.fullmatch(text))
        elif node.type == "expression_statement" and waits.fullmatch(text_of(node)):
            edits[node] = ""
    return edited(body, edits) if body is not None else ""


def _statements(block: "Node | None") -> "list[Node]":
    listed = children_of(block)
    return listed[0].named_children if len(listed) == 1 and listed[0].type == "statement_list" else listed
