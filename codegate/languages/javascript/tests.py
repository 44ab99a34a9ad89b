"""Read the tests of JavaScript and TypeScript as lines.

It knows Mocha, Jest, Vitest and node:test, with assert, expect and should. See ``lines``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from posixpath import normpath
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.javascript.statements import (
    DECLARATIONS,
    FUNCTIONS,
    NAMES,
    JavaScriptReader,
    asserting_functions,
    declares_tests,
    function_in,
    parameters,
    role_of,
    title_pattern,
    unwrapped,
)
from codegate.languages.lines import MARK, Dialect, Line, RenderedExample, Step, Value, with_braces
from codegate.languages.statements import Branch, lines_through, whole_call
from codegate.languages.syntax import children_of, edited, field, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LOADING: Final = re.compile(r"\b(?:require|import)\s*\(|\bimport\.meta\b|__dirname|__filename")
_GLOBALS: Final = frozenset(
    "undefined NaN Infinity globalThis console JSON Math Object Array String Number Boolean Symbol BigInt"  # noqa: SIM905
    " Date RegExp Map Set WeakMap WeakSet Promise Error TypeError RangeError SyntaxError Proxy Reflect Intl"
    " URL URLSearchParams Buffer process parseInt parseFloat isNaN encodeURIComponent decodeURIComponent"
    " encodeURI decodeURI Uint8Array ArrayBuffer TextEncoder TextDecoder AbortController Headers Request"
    " Response structuredClone queueMicrotask require module exports Function escape unescape arguments"
    " setTimeout setImmediate Iterator FormData Blob File".split()
)
_HELPERS: Final = """
const __codegate = () => {
  const records = [];
  const util = process.getBuiltinModule ? process.getBuiltinModule('node:util') : require('util');
  const cut = (text) => String(text).slice(0, 600);
  const fault = (error) => (error?.message === undefined ? util.inspect(error) : `${error.name}: ${error.message}`);
  const shown = (value) => {
    if (value instanceof Error) return ['e', cut(fault(value))];
    return ['v', cut(util.inspect(value, { depth: 6, breakLength: 100, sorted: true, compact: 3 }))];
  };
  return {
    async record(number, value) {
      try {
        records.push([number, ...shown(await value())]);
      } catch (error) {
        records.push([number, 'x', cut(fault(error))]);
      }
    },
    raised(step, error) {
      records.push([-1 - step, 'x', cut(fault(error))]);
    },
    end() {
      const kept = [];
      for (let left = 3300; records.length && left > 0; ) {
        kept.push(records.shift());
        left -= JSON.stringify(kept[kept.length - 1]).length + 1;
        if (left < 0) kept.pop();
      }
      throw new Error('MARK' + JSON.stringify(kept));
    },
  };
};
""".replace("MARK", MARK)


class JavaScriptDialect(Dialect):
    """Reads JavaScript or TypeScript tests; see ``Dialect``."""

    probe: ClassVar = "codegate probe "
    apart: ClassVar = True

    @override
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        # A test's id is its titles, joined by `` > ``.
        wanted = tuple(tests)
        if ".mock(" not in source:
            shared = tuple(Step(text) for text in _data(self.parse(source)))
            reader = JavaScriptReader(self.grammar, base, asserting_functions(self.parse(source)))
            yield from self._walk(reader, source, (), shared, wanted)

    def _walk(
        self,
        reader: JavaScriptReader,
        body: str,
        titles: tuple[str, ...],
        before: tuple[Step, ...],
        wanted: tuple[str, ...],
    ) -> Iterator[Line]:
        steps = before
        for statement in self.parse(body).named_children:
            call = whole_call(statement)
            role = role_of(call)
            function = function_in(call)
            inside = text_of(field(function, "body"))
            if role == "group" and inside:
                yield from self._walk(reader, unwrapped(inside), (*titles, title_pattern(call)), steps, wanted)
            elif role == "test" and inside and function is not None and call is not None:
                if (name := _named(call, titles, wanted)) is not None:
                    yield from self._test(reader, call, function, Line(name, steps))
            elif role == "hook":
                steps += tuple(Step(text_of(inner)) for inner in self.parse(unwrapped(inside)).named_children)
            elif role or declares_tests(statement):
                for branch in reader.rows(statement, steps):
                    yield from self._walk(reader, branch.body, titles, (*steps, *branch.bound), wanted)
            elif titles and statement.type not in {"comment", "import_statement"}:
                steps += (Step(text_of(statement)),)

    def _test(self, reader: JavaScriptReader, call: "Node", function: "Node", begin: Line) -> Iterator[Line]:
        each = text_of(field(call, "function", "function")).endswith(".each")
        body = unwrapped(text_of(function.child_by_field_name("body")))
        callbacks = set() if each else {text_of(parameter) for parameter in parameters(function)}
        for branch in list(reader.each(call, function)) if each else [Branch((), body)]:
            for steps in lines_through(reader, branch.body, (*begin.steps, *branch.bound)):
                texts = (text for step in steps for text in (step.text, *step.checked))
                if not any(callbacks & self.used(text) for text in texts if callbacks):
                    yield replace(begin, steps=steps)

    @override
    def literals(self, node: "Node") -> Iterator["Node"]:
        # Names of modules and tests, and regular expressions are left out.
        for inner in walk(node):
            named = inner.type == "string_fragment" and (_names_module(inner) or _names_test(inner))
            if inner.type in {"number", "string_fragment"} and not named:
                yield inner

    @override
    def names(self, node: "Node") -> set[str]:
        named = node.named_children if node.type in DECLARATIONS else [node]
        return {text_of(inner) for each in named for inner in walk(field(each, "name")) if inner.type in NAMES}

    @override
    def bound(self, text: str) -> frozenset[str]:
        found = set(self.declared(text))
        for node in walk(self.parse(text)):
            left = field(node, "left") if node.type.endswith("assignment_expression") else None
            while left is not None and left.type in {"member_expression", "subscript_expression"}:
                left = field(left, "object")
            found |= {text_of(inner) for inner in walk(left) if inner.type in NAMES}
        return frozenset(found)

    @override
    def used(self, text: str) -> frozenset[str]:
        # Names local to inner functions are left out.
        root = self.parse(f"({text})" if text.startswith("{") else text)
        names = {text_of(node) for node in walk(root) if node.type in NAMES or node.type == "type_identifier"}
        return frozenset(names - _inner_names(root))

    @override
    def probe_name(self, probe: str, line: Line) -> str:
        return f"{super().probe_name(probe, line)};"  # so that no name is the beginning of another

    @override
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        # The file keeps its code outside of tests, and gets a test for each probe.
        root = self.parse(source)
        kept = [
            text_of(node) for node in root.named_children if not role_of(whole_call(node)) and not declares_tests(node)
        ]
        return {path: self._file(source if beside else "\n".join(kept), _declaring(root), probes)}

    @override
    def files_with_only(self, path: str, source: str, base: str, probes: Mapping[str, Line]) -> dict[str, str]:
        # Comments at the top stay: they may name the environment, such as "@jest-environment jsdom".
        root = self.parse(source)
        declare, top = _declaring(root), takewhile(lambda node: node.type == "comment", root.named_children)
        names = frozenset().union(*(self.undefined_names(source, line) for line in probes.values()))
        names |= {declare} if self.context(source, frozenset({declare})) is not None else set()
        kept = [*map(text_of, top), *(self.context(source, names) or [])]
        return {path: self._file("\n".join(kept), declare, probes)}

    def _file(self, begin: str, declare: str, probes: Mapping[str, Line]) -> str:
        parts = [begin, _HELPERS]
        for name, line in probes.items():
            test = f"{declare}('{self.probe_name(name, line)}', async () => {{\n{self._probe(line)}\n}});"
            parts += [] if self.parse(test).has_error else [test]  # a syntax error would cost all other probes
        return "\n".join(parts) + "\n"

    def _probe(self, line: Line) -> str:
        def write(at: int, step: Step, number: int) -> Iterator[str]:
            yield from (f"__at = {at};", f"{step.text.rstrip().rstrip(';')};" if step.text else "")
            for place, expression in enumerate(step.checked, number):
                yield f"await __probe.record({place}, async () => ({expression}));"

        end = "} catch (error) { __probe.raised(__at, error); } finally { __probe.end(); }"
        return "\n".join(["const __probe = __codegate();", "let __at = 0;", "try {", with_braces(line, write), end])

    @override
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        shown: list[str] = []
        statements = self.parse(source).named_children
        imports = (inner for node in statements if node.type == "import_statement" for inner in walk(node))
        declared = self.declared(source) | {text_of(inner) for inner in imports if inner.type == "identifier"}
        wanted = set(names) - _GLOBALS
        for node in reversed(statements):
            statement = node.child_by_field_name("declaration") or node
            if statement.type == "import_statement":
                own = frozenset(text_of(inner) for inner in walk(statement) if inner.type == "identifier")
                if own & wanted:
                    shown.insert(0, _narrowed(statement, wanted))
                    wanted -= own
            elif (own := self._bound_for_all(statement, declared)) & wanted:
                shown.insert(0, _narrowed(statement, wanted))
                wanted |= self.used(text_of(statement)) - _GLOBALS
                wanted -= own
            elif _owner_in(whole_call(statement)) in wanted:  # "library.use(plugin)"
                shown.insert(0, text_of(statement))
                wanted |= self.used(text_of(statement)) - _GLOBALS
        return shown if not wanted else None

    def _bound_for_all(self, statement: "Node", declared: frozenset[str]) -> frozenset[str]:
        """Return the names that a top-level statement declares or sets.

        Empty if it declares tests. An assigned name counts only if it is not in ``declared``, the names that the file
        declares.
        """
        if role_of(whole_call(statement)) or declares_tests(statement):
            return frozenset()
        own = self.bound(text_of(statement))
        return own if statement.type in DECLARATIONS or statement.type.endswith("_declaration") else own - declared

    @override
    def render_example(
        self, path: str, context: str, steps: Sequence[Step], expression: str, before: Value, after: Value
    ) -> RenderedExample:
        # Paths of modules start at the repository's root.
        found = super().render_example(path, context, steps, expression, before, after)
        code, expression = (self._from_root(text, path.rpartition("/")[0]) for text in found[:2])
        return found._replace(code=code, expression=expression)

    def _from_root(self, code: str, folder: str) -> str:
        root, edits = self.parse(code), dict["Node", str]()
        for node in walk(root):
            if node.type == "string_fragment" and _names_module(node) and text_of(node).startswith("."):
                found = normpath(f"{folder or '.'}/{text_of(node)}")
                edits[node] = found if found.startswith(".") else f"./{found}"
        return edited(root, edits)


_PLAIN: Final = (".js", ".mjs", ".cjs", ".jsx")
_TYPED: Final = (".ts", ".mts", ".cts")
_EVERY: Final = (*_PLAIN, *_TYPED, ".tsx")
DIALECTS: Final[Mapping[str, Dialect]] = {
    **dict.fromkeys(_PLAIN, JavaScriptDialect("javascript", "js", _EVERY)),
    **dict.fromkeys(_TYPED, JavaScriptDialect("typescript", "ts", _EVERY)),
    ".tsx": JavaScriptDialect("tsx", "tsx", _EVERY),
}
"""Dialects by the suffix of a test file. Components have none, because they mix scripts and other text."""


def _declaring(root: "Node") -> str:
    calls = filter(role_of, map(whole_call, walk(root)))
    roots = {text_of(field(call, "function")).partition(".")[0] for call in calls}
    return next((name for name in ("it", "test", "specify") if name in roots), "it")


def _named(call: "Node", titles: tuple[str, ...], wanted: tuple[str, ...]) -> str | None:
    pattern = re.compile(" > ".join([*titles, title_pattern(call)]), re.DOTALL)
    return next((test for test in wanted if pattern.fullmatch(test)), None)


def _data(root: "Node") -> Iterator[str]:
    for statement in root.named_children:
        text = text_of(statement)
        functions = any(node.type in FUNCTIONS for node in walk(statement))
        if statement.type in DECLARATIONS and not _LOADING.search(text) and not functions:
            yield text


def _owner_in(call: "Node | None") -> str:
    owner = field(field(call, "function"), "object") if call is not None and not role_of(call) else None
    return text_of(owner) if owner is not None and owner.type in NAMES else ""


def _narrowed(statement: "Node", wanted: set[str]) -> str:
    named = next((node for node in walk(statement) if node.type in {"named_imports", "object_pattern"}), None)
    parts = children_of(named)
    names = [text_of(field(node, "alias") or field(node, "name") or field(node, "value") or node) for node in parts]
    kept = [text_of(node) for node, name in zip(parts, names, strict=True) if name in wanted]
    return edited(statement, {named: f"{{ {', '.join(kept)} }}"}) if named is not None and kept else text_of(statement)


def _inner_names(statement: "Node") -> set[str]:
    found: set[str] = set()
    for node in walk(statement):
        if node.type in {"formal_parameters", "variable_declarator", "catch_clause"}:
            part = field(node, "name") or field(node, "parameter") or node
            found |= {text_of(inner) for inner in walk(part) if inner.type in NAMES}
        elif node.type == "arrow_function" and (single := field(node, "parameter")) is not None:
            found.add(text_of(single))
    return found


def _names_test(fragment: "Node") -> bool:
    """Return whether a text is a test's or group's title."""
    string = fragment.parent
    arguments = string.parent if string is not None else None
    first = arguments is not None and arguments.type == "arguments" and arguments.named_children[:1] == [string]
    return first and bool(role_of(arguments.parent if arguments is not None else None))


def _names_module(fragment: "Node") -> bool:
    string = fragment.parent
    outer = string.parent if string is not None else None
    call = outer.parent if outer is not None and outer.type == "arguments" else outer
    return call is not None and (
        call.type == "import_statement" or text_of(field(call, "function")) in {"require", "import", "require.resolve"}
    )
