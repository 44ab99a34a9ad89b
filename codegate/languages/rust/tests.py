"""Read Rust's tests as lines (see ``lines``).

Tests are functions with ``#[test]``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.lines import MARK, Dialect, Line, Step, with_braces
from codegate.languages.rust.declarations import attributes, functions, is_for_tests, modules_of
from codegate.languages.rust.statements import RustReader, asserts, call_name
from codegate.languages.statements import asserting_functions, lines_through
from codegate.languages.syntax import edited, field, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS: Final = frozenset({"string_content", "integer_literal", "float_literal"})
_TEST: Final = re.compile(r"#\[\s*(?:\w+::)*test\s*\]")
_ITEMS: Final = frozenset(
    ("function_item", "const_item", "static_item", "struct_item", "enum_item", "type_item", "macro_definition")
)
_DATA: Final = frozenset({"const_item", "static_item"})
_HELPERS: Final = """
#[allow(warnings)]
mod codegate_probe {
    use std::any::Any;
    use std::cell::{Cell, RefCell};
    use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};

    pub struct Probe {
        pub at: Cell<i64>,
        records: RefCell<String>,
    }

    impl Probe {
        pub fn record<F: FnOnce() -> String>(&self, number: i64, value: F) {
            match catch_unwind(AssertUnwindSafe(value)) {
                Ok(text) => self.say(number, if text.starts_with("Err(") { "e" } else { "v" }, &text),
                Err(fault) => self.fault(number, &*fault),
            }
        }

        fn fault(&self, number: i64, fault: &dyn Any) {
            let text = fault.downcast_ref::<String>().map(String::as_str);
            self.say(number, "x", text.or(fault.downcast_ref::<&str>().copied()).unwrap_or("?"));
        }

        fn say(&self, number: i64, kind: &str, text: &str) {
            let mut record = format!("[{},\\"{}\\",\\"", number, kind);
            for unit in text.encode_utf16().take(600) {
                match unit {
                    34 | 92 | 0..=31 | 127..=65535 => record.push_str(&format!("\\\\u{:04x}", unit)),
                    _ => record.push(unit as u8 as char),
                }
            }
            let mut records = self.records.borrow_mut();
            if records.len() + record.len() < 3300 {
                if !records.is_empty() {
                    records.push(',');
                }
                records.push_str(&record);
                records.push_str("\\"]");
            }
        }
    }

    pub fn run<F: FnOnce(&Probe)>(steps: F) {
        let probe = Probe { at: Cell::new(0), records: RefCell::new(String::new()) };
        set_hook(Box::new(|_| {}));
        if let Err(fault) = catch_unwind(AssertUnwindSafe(|| steps(&probe))) {
            probe.fault(-1 - probe.at.get(), &*fault);
        }
        let _ = take_hook();
        panic!("MARK[{}]", probe.records.borrow());
    }
}
""".replace("MARK", MARK)


class RustDialect(Dialect):
    """Reads Rust's tests and writes probes; see ``Dialect``."""

    ending: ClassVar = ";"
    raising: ClassVar = "panics:"
    probe: ClassVar = "codegate_probe_"
    place: ClassVar = r"^error(?:(?!^error|^warning).)*?--> \S*?{}:(\d+):"  # later places explain the error
    assignments: ClassVar = frozenset({"assignment_expression", "compound_assignment_expr"})

    @override
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        # A test's id is its path in the file.
        wanted, root = frozenset(tests), self.parse(source)
        named = {text_of(field(node, "name")): node for node in walk(root) if node.type == "function_item"}
        helpers = asserting_functions(named, asserts, lambda node: map(call_name, walk(node)))
        shared = [Step(text_of(node)) for node in root.named_children if node.type in _DATA]
        for node, modules in functions(root):
            name = text_of(field(node, "name"))
            panics = any("should_panic" in text_of(each) for each in attributes(node))
            head = text_of(node).partition("{")[0]
            if "::".join((*modules, name)) in wanted and not panics and "async" not in head:
                reader = RustReader("rust", base, {each: helper for each, helper in helpers.items() if each != name})
                text = text_of(field(node, "body"))[1:-1]
                for steps in lines_through(reader, text, self.steps_for(shared, text, frozenset())):
                    yield Line(name, steps, frame="::".join(modules))

    @override
    def literals(self, node: "Node") -> Iterator["Node"]:
        # Texts and numbers in attributes are left out.
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner.type in _LITERALS:
                yield inner
            stack.extend(child for child in reversed(inner.children) if not inner.type.startswith("attribute"))

    @override
    def names(self, node: "Node") -> set[str]:
        # An ``impl`` counts under the name of its type.
        if node.type in _ITEMS or (node.type == "mod_item" and field(node, "body") is None):
            return {text_of(field(node, "name"))}
        parts = {"let_declaration": "pattern", "impl_item": "type", "use_declaration": "argument"}
        part = field(node, parts[node.type]) if node.type in parts else None
        return {text_of(each) for each in walk(part) if each.type in {"identifier", "type_identifier"}}

    @override
    def used(self, text: str) -> frozenset[str]:
        # Fields are left out.
        names = (node for node in walk(self.parse(text)) if node.type in {"identifier", "type_identifier"})
        return frozenset(map(text_of, names))

    @override
    def probe_name(self, probe: str, line: Line) -> str:
        # A probe is in the module of its test.
        return "::".join(filter(None, (line.frame, super().probe_name(probe, line))))

    @override
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        # Probes and their helpers stand at the end of their tests' modules.
        root = self.parse(source)
        edits = {} if beside else {node: "" for node in walk(root) if _TEST.fullmatch(text_of(node))}
        bodies = {"::".join(modules): body for body, modules in modules_of(root)}
        end = ""
        for frame in dict.fromkeys(line.frame for line in probes.values()):
            own = (self._probe(name, line) for name, line in probes.items() if line.frame == frame)
            text = "\n".join(["", *own, _HELPERS])
            if frame:
                edits[bodies[frame].children[-1]] = f"{text}}}"
            else:
                end = text
        return {path: edited(root, edits) + end}

    def _probe(self, name: str, line: Line) -> str:
        def write(at: int, step: Step, number: int) -> Iterator[str]:
            yield from (f"codegate_run.at.set({at});", step.text)
            for place, expression in enumerate(step.checked, number):
                yield f'codegate_run.record({place}, || format!("{{:?}}", {expression}));'

        head = f"#[test]\n#[allow(warnings)]\nfn {self.probe}{name}() {{\ncodegate_probe::run(|codegate_run| {{"
        return "\n".join([head, with_braces(line, write), "});", "}"])

    @override
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        # Imports of the standard library are left out.
        root = self.parse(source)
        nodes = [
            node for body, _ in modules_of(root) for node in body.named_children
            if not (text_of(node).startswith("use std::") or is_for_tests(node))
        ]  # fmt: skip
        return self.definitions_of(nodes, names)

    @override
    def value(self, kind: str, text: str) -> str:
        return "no panic" if text == "()" and kind != "x" else super().value(kind, text)


DIALECTS: Final[Mapping[str, Dialect]] = {".rs": RustDialect("rust", "rust", (".rs",))}
"""Dialects by the suffix of a test file."""
