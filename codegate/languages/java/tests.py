"""Read JUnit's tests as lines (see ``lines``).

It knows the assertions of JUnit, AssertJ, Hamcrest and Truth.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.java.declarations import TYPES
from codegate.languages.java.statements import JavaReader, annotation_names, annotations, asserts, call_name
from codegate.languages.lines import MARK, Dialect, Line, Step, with_braces
from codegate.languages.statements import asserting_functions, lines_through
from codegate.languages.syntax import ancestors, children_of, edited, field, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS: Final = frozenset({"Test", "ParameterizedTest", "RepeatedTest", "TestTemplate", "TestFactory"})
_BEFORE: Final = frozenset({"Before", "BeforeEach"})
_LITERALS: Final = frozenset(
    ("string_fragment", "multiline_string_fragment", "decimal_integer_literal", "decimal_floating_point_literal")
)
_DECLARATIONS: Final = frozenset({"variable_declarator", "formal_parameter", "resource"})
_OLD: Final = re.compile(r"^import (?:static )?org\.junit\.(?!jupiter)", re.MULTILINE)
_HELPERS: Final = """
  private static final class CodegateProbe {
    interface Value { Object get() throws Throwable; }
    interface Action { void run() throws Throwable; }
    static final class Said extends Error {
      Said(String text) { super(text); }
    }
    private final StringBuilder records = new StringBuilder();
    int at;

    void record(int number, Object value) {
      if (value instanceof Throwable) say(number, "e", named((Throwable) value));
      else if (value instanceof CharSequence) say(number, "s", value.toString());
      else if (value instanceof Character) say(number, "v", "'" + value + "'");
      else {
        String text = java.util.Arrays.deepToString(new Object[] {value});
        say(number, "v", text.substring(1, text.length() - 1).replaceAll("@[0-9a-f]{5,8}(?![\\\\w.])", ""));
      }
    }

    void run(int number, Value value) {
      try { record(number, value.get()); } catch (Throwable fault) { fault(number, fault); }
    }

    void run(int number, Action action) {
      try { action.run(); say(number, "v", "no exception"); } catch (Throwable fault) { fault(number, fault); }
    }

    void fault(int number, Throwable fault) { say(number, "x", named(fault)); }

    private static String named(Throwable fault) {
      return fault.getClass().getSimpleName() + (fault.getMessage() == null ? "" : ": " + fault.getMessage());
    }

    private void say(int number, String kind, String text) {
      StringBuilder record = new StringBuilder("[" + number + ",\\"" + kind + "\\",\\"");
      for (char each : text.substring(0, Math.min(600, text.length())).toCharArray()) {
        boolean plain = each >= ' ' && each < 127 && each != '"' && each != '\\\\';
        record.append(plain ? String.valueOf(each) : String.format("\\\\u%04x", (int) each));
      }
      if (records.length() + record.length() > 3300) return;
      records.append(records.length() > 0 ? "," : "").append(record + "\\"]");
    }

    void end() { throw new Said("MARK[" + records + "]"); }
  }
""".replace("MARK", MARK)


class JavaDialect(Dialect):
    """Reads JUnit's tests and writes probes; see ``Dialect``."""

    ending: ClassVar = ";"
    probe: ClassVar = "testCodegateProbe"
    place: ClassVar = r"{}:\[?(\d+)"
    assignments: ClassVar = frozenset({"assignment_expression"})

    @override
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        # A test's id is its method's name, after the names of nested classes.
        names = {re.split(r"[(\[{]", test)[0]: test.partition("[")[0] for test in tests}
        root = self.parse(source)
        methods = {text_of(field(node, "name")): node for node in walk(root) if node.type == "method_declaration"}
        reader = JavaReader(
            "java", base, asserting_functions(methods, asserts, lambda node: map(call_name, walk(node)))
        )
        if "Parameterized.class" not in source:  # JUnit makes an object of such a class for each row
            yield from self._walk(reader, root, (), (), names, methods)

    def _walk(
        self,
        reader: JavaReader,
        body: "Node",
        outer: tuple[str, ...],
        before: tuple[Step, ...],
        names: Mapping[str, str],
        methods: "Mapping[str, Node]",
    ) -> Iterator[Line]:
        # Each line begins with the class's fields and set-up.
        shared = (*before, *self._prepared(body))
        for node in body.named_children:
            inner, name = field(node, "body"), text_of(field(node, "name"))
            if node.type == "class_declaration" and inner is not None:
                below = (*outer, name) if body.type != "program" else ()
                yield from self._walk(reader, inner, below, shared, names, methods)
            elif (
                node.type == "method_declaration" and inner is not None and (test := ".".join((*outer, name))) in names
            ):
                text = text_of(inner)[1:-1]
                if any("expected" in text_of(each) for each in annotations(node)):
                    text = f"try {{ {text} fail(); }} catch (Throwable expected) {{ }}"
                text = re.sub(r"\bthis\.(?=[a-z])", "", text)
                own = frozenset(text_of(field(each, "name")) for each in walk(node) if each.type in _DECLARATIONS)
                used = self.steps_for(shared, text, own)
                for row in reader.table(node, methods) if children_of(node, "parameters") else ((),):
                    for steps in lines_through(reader, text, (*used, *row)):
                        yield Line(names[test], steps)

    def _prepared(self, body: "Node") -> Iterator[Step]:
        open_fields: dict[str, str] = {}
        for node in body.named_children:
            kind = text_of(field(node, "type"))
            for each in node.children_by_field_name("declarator") if not annotations(node) else ():
                if field(each, "value") is not None:
                    yield Step(f"{kind} {text_of(each)};")
                else:
                    open_fields[text_of(field(each, "name"))] = kind
        for node in body.named_children:
            named = annotation_names(node)
            old = text_of(field(node, "name")) == "setUp" and "Override" in named | {"Override"}
            prepares = node.type == "method_declaration" and (named & _BEFORE or old)
            for statement in children_of(node, "body") if prepares else ():
                text = re.sub(r"\bthis\.(?=[a-z])", "", text_of(statement))
                name = re.match(r"(\w+)\s*=", text)
                declared = f"{open_fields.pop(name[1])} " if name is not None and name[1] in open_fields else ""
                if "comment" not in statement.type and not text.startswith("super."):
                    yield Step(declared + text)

    @override
    def literals(self, node: "Node") -> Iterator["Node"]:
        # Names of tests and explanations of failures are left out.
        for inner in walk(node):
            if inner.type in _LITERALS and not any(map(_is_description, ancestors(inner))):
                yield inner

    @override
    def names(self, node: "Node") -> set[str]:
        if node.type in TYPES | {"method_declaration"}:
            return {text_of(field(node, "name"))}
        return {text_of(field(each, "name")) for each in node.children_by_field_name("declarator")}

    @override
    def used(self, text: str) -> frozenset[str]:
        # Only ``x`` counts of ``x.name``.
        root = self.parse(text)
        members = {field(node, "name") for node in walk(root) if field(node, "object") is not None}
        members |= {field(node, "field") for node in walk(root) if node.type == "field_access"}
        names = (node for node in walk(root) if node.type in {"identifier", "type_identifier"})
        return frozenset(text_of(node) for node in names if node not in members)

    @override
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        # The probes become methods of the test class, in place of its tests.
        root = self.parse(source)
        classes = [node for node in root.named_children if node.type == "class_declaration"]
        stem = path.rpartition("/")[2].removesuffix(".java")
        own = next((node for node in classes if text_of(field(node, "name")) == stem), classes[0] if classes else None)
        body = field(own, "body")
        if body is None:
            return {path: source}
        annotation = "@org.junit.jupiter.api.Test" if "org.junit.jupiter" in source else ""
        annotation = "@org.junit.Test" if not annotation and _OLD.search(source) else annotation
        edits = {} if beside else dict(_edits_without_tests(root))
        parts = [self._probe(f"{annotation} public void {self.probe}{name}()", line) for name, line in probes.items()]
        edits[body.children[-1]] = "\n".join(["", *parts, _HELPERS, "}"])
        return {path: edited(root, edits)}

    def _probe(self, head: str, line: Line) -> str:
        def write(at: int, step: Step, number: int) -> Iterator[str]:
            yield from (f"codegateProbe.at = {at};", step.text)
            for place, expression in enumerate(step.checked, number):
                recorded = f"try {{ codegateProbe.record({place}, (Object) ({expression})); }}"
                recorded += f" catch (Throwable codegateFault) {{ codegateProbe.fault({place}, codegateFault); }}"
                yield f"codegateProbe.run({place}, () -> {expression});" if step.panics else recorded

        begin = f"{head} throws Throwable {{\nCodegateProbe codegateProbe = new CodegateProbe();\ntry {{"
        ending = "codegateProbe.fault(-1 - codegateProbe.at, codegateFault);"
        end = f"}} catch (Throwable codegateFault) {{ {ending} }}\ncodegateProbe.end();\n}}"
        return "\n".join([begin, with_braces(line, write), end])

    @override
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        # Imports of the JDK and other files of the package are left out.
        root = self.parse(source)
        imports = [node for node in root.named_children if node.type == "import_declaration"]
        members = [member for node in root.named_children for member in children_of(node, "body")]
        shown = self.definitions_of(members, names)
        wanted = names.union(*(self.used(text) for text in shown))
        return [*(text for each in imports if _imported_class(text := text_of(each)) in wanted), *shown]

    @override
    def value(self, kind: str, text: str) -> str:
        return json.dumps(text, ensure_ascii=False) if kind == "s" else super().value(kind, text)


DIALECTS: Final[Mapping[str, Dialect]] = {".java": JavaDialect("java", "java", (".java",))}
"""Dialects by the suffix of a test file."""


def _imported_class(text: str) -> str:
    """Return an import's class name; "" for the JDK's classes."""
    return "" if re.match(r"import java\.", text) else text.rstrip(" ;").rpartition(".")[2]


def _is_description(node: "Node") -> bool:
    """Return whether a node's texts only describe tests or failures."""
    if node.type == "annotation":
        return not text_of(field(node, "name")).endswith(("ValueSource", "CsvSource"))
    return call_name(node) == "fail"


def _edits_without_tests(root: "Node") -> "Iterator[tuple[Node, str]]":
    """Yield edits that turn a file's tests into ordinary methods."""
    old = "TestCase" in text_of(root)
    for node in walk(root):
        name = field(node, "name")
        if node.type != "method_declaration" or name is None:
            continue
        marks = [each for each in annotations(node) if text_of(field(each, "name")).rpartition(".")[2] in _TESTS]
        yield from ((each, "") for each in marks)
        if old and text_of(name).startswith("test"):
            yield name, f"codegate{text_of(name)}"
