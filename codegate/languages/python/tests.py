"""Read Python's tests as lines (see ``lines``).

A function's lines include its fixtures; a method's lines include the set-up of its class.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codegate.languages.lines import MARK, MOCK, Dialect, Line, RenderedExample, Step, Value, code_of, joined
from codegate.languages.python.around import (
    attributes_of,
    class_of,
    decorators_of,
    definitions,
    fixed_fixtures,
    functions,
    is_call_of,
    is_table,
    is_value,
    kept_decorators,
    methods_of,
    mock_target,
    mocks_of,
    statements_of,
)
from codegate.languages.python.imported import with_helpers
from codegate.languages.python.names import BINDING, definitions_for, free_names, is_fixture, names, undecorated
from codegate.languages.python.statements import (
    PythonReader,
    as_value,
    asserts,
    dedented,
    elements,
    is_docstring,
    parameters_of,
    shifted,
)
from codegate.languages.statements import lines_through, new_rows
from codegate.languages.syntax import (
    arguments_of,
    children_of,
    compiles,
    edited,
    field,
    parse,
    parse_python,
    text_of,
    walk,
)
from codegate.suite import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_SETUPS: Final = ("setUpClass", "setup_class", "setUpTestData", "setUp", "setup_method", "setup")
_INDENT: Final = 4
_DEFINES: Final = ("def ", "class ", "async ", "@")
_LOADS: Final = re.compile(r"(?:import|from)\b")
_ERRORS: Final = "(Exception, SystemExit)"
# ``__tracebackhide__`` saves time: pytest parses the whole file for each traceback that it shows.
_HELPERS: Final = """

__tracebackhide__ = True


class CodegateProbe:
    def __init__(self):
        self.records, self.step = [], 0

    def value(self, number, value):
        import pprint
        try:
            self.records.append([number, "v", pprint.saferepr(value)[:600]])
        except Exception as error:
            self.raised(number, error)

    def raised(self, number, error):
        try:
            message = str(error)[:300]
        except Exception as inner:
            message = "(without a message: its str() raises " + type(inner).__name__ + ")"
        self.records.append([number, "x", type(error).__name__ + (": " + message if message else "")])

    def end(self):
        import json
        while len(json.dumps(self.records)) > 3500:
            self.records.pop()
        raise AssertionError("MARK" + json.dumps(self.records))
""".replace("MARK", MARK)


class PythonDialect(Dialect):
    """Reads Python's tests and writes probes; see ``Dialect``.

    A line's ``frame`` is the dotted name of its test function.
    """

    remark: ClassVar = "#"
    idle: ClassVar = "pass"
    raising: ClassVar = "raises"
    probe: ClassVar = "test_codegate_probe_"
    place: ClassVar = r'File "[^"\n]*{}", line (\d+)\n'
    apart: ClassVar = True

    @override
    def parses(self, source: bytes) -> bool:
        return parse_python(source) is not None

    @override
    def source(self, path: str, tree: Tree) -> str:
        return with_helpers(path, tree) if path in tree else ""

    @override
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        # Tests have names such as ``Class::method[row]``.
        wanted = {test.partition("[")[0].replace("::", ".") for test in tests}
        root = self.parse(source)
        for name, test in dict(functions(root)).items():
            if name in wanted:
                yield from self._lines_of(name, test, root, base)

    def _lines_of(self, name: str, test: "Node", root: "Node", base: str) -> Iterator[Line]:
        around = class_of(test)
        if around is not None:
            module = self.parse(edited(root, _own_names(around)))  # tests keep their names and order
            test = dict(functions(module))[name]
            around = class_of(test)
        else:
            module = root
        methods = methods_of(around)
        helpers = {text_of(field(node, "name")): node for node in map(undecorated, module.named_children)} | {
            f"self.{own}": node for own, node in methods.items() if not own.startswith("test")
        }
        helpers = {own: node for own, node in helpers.items() if node.type == "function_definition" and asserts(node)}
        reader = PythonReader("python", base, helpers, module)
        prepared = [
            Step(dedented(node)) for own in _SETUPS if own in methods
            for node in statements_of(methods[own]) if "super()" not in text_of(node) and not is_docstring(node)
        ]  # fmt: skip
        attributes = [Step(dedented(node)) for node in attributes_of(around)] if around is not None else []
        rows = _rows(test, reader)
        parameters = [each for each in parameters_of(test) or () if each not in {"self", "cls"}]
        body = "\n".join(dedented(node) for node in statements_of(test))
        plain = tuple(fixed_fixtures(module, parameters))
        needing = code_of([*attributes, *prepared, *plain, *(step for row in rows for step in row), Step(body)])
        values = (*self._values(module, needing, frozenset(parameters)), *plain)
        for row in rows:
            given = self.bound(code_of([*row, *plain]))
            fixtures = tuple(each for each in parameters if each not in given)
            for steps in lines_through(reader, body, (*values, *attributes, *prepared, *row)):
                yield Line(name.rpartition(".")[2], steps, frame=name, fixtures=fixtures)

    def _values(self, module: "Node", text: str, own: frozenset[str]) -> tuple[Step, ...]:
        """Return the module's value assignments that ``text`` needs.

        ``own`` are the names that ``text`` defines itself. Values that helper functions read are left out.
        """
        helpers = (part for part in definitions_for(module, self.used(text) - own) or () if part.startswith(_DEFINES))
        read = frozenset[str]().union(*map(self.used, helpers))
        shared = [Step(text_of(node)) for node in module.named_children if is_value(node) and not names(node) & read]
        return self.steps_for(shared, text, own)

    @override
    def literals(self, node: "Node") -> Iterator["Node"]:
        # Docstrings and names of parameters are left out.
        for inner in walk(node):
            if inner.type in {"integer", "float"}:
                yield inner
            elif inner.type == "string_content" and inner.parent is not None:
                string = inner.parent
                outer = string.parent
                call = outer.parent if outer is not None else None
                heading = is_call_of("parametrize", call) and arguments_of(call)[:1] == [string]
                if not (heading or (outer is not None and is_docstring(outer))):
                    yield inner

    @override
    def names(self, node: "Node") -> set[str]:
        return names(node)

    @override
    def used(self, text: str) -> frozenset[str]:
        # Names that are only assigned to, and local names, are left out.
        return free_names(self.parse(text))

    @override
    def probe_name(self, probe: str, line: Line) -> str:
        around = line.frame.rpartition(".")[0].replace(".", "")
        return f"TestCodegate{around}::{self.probe}{probe}" if around else f"{self.probe}{probe}"

    @override
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        # Probes of methods stand in a copy of their class without set-up.
        tests = dict(functions(self.parse(source)))
        heads = {name: _class_head(line.frame, tests[line.frame], None) for name, line in probes.items()}
        return {path: _file(source if beside else _without_tests(source), heads, self._probes(source, probes))}

    @override
    def files_with_only(self, path: str, source: str, base: str, probes: Mapping[str, Line]) -> dict[str, str]:
        # Test classes are taken from ``base``.
        tests = dict(functions(self.parse(source)))
        head_of = cache(lambda frame: _class_head(frame, tests[frame], base))
        needed_by = cache(partial(self._head_definitions, source, base))
        heads, around = dict[str, str](), dict[str, list[str]]()
        for name, line in probes.items():
            marks, plain = (
                self._marks(tests[line.frame], line),
                f"\nclass {self.probe_name(name, line).partition('::')[0]}:",
            )
            # A reader does not have a new test class, but most calls do not need it.
            for head in (head_of(line.frame), *([] if "self" in self.used(line.text) else [plain])):
                needed = needed_by(head, *marks)
                if needed is not None:
                    heads[name], around[name] = head, needed
                    break
        left = {name: line for name, line in probes.items() if name in around}
        names = frozenset[str]().union(*(self.undefined_names(source, line) for line in left.values()))
        parts = [part for needed in around.values() for part in needed] + (self.context(source, names) or [])
        return {path: _file(_without_tests("\n".join(dict.fromkeys(parts))), heads, self._probes(source, left))}

    def _probes(self, source: str, probes: Mapping[str, Line]) -> dict[str, str]:
        tests = dict(functions(self.parse(source)))
        written = {name: self._probe(name, line, tests[line.frame]) for name, line in probes.items()}
        takes = compiles if compiles(source.encode("utf-8", "replace")) else lambda _text: True  # for a newer Python
        return {
            name: text for name, text in written.items()
            if not self.parse(text).has_error and takes(text.encode("utf-8", "replace"))
        }  # fmt: skip

    def _head_definitions(self, source: str, base: str, head: str, *marks: str) -> list[str] | None:
        """Return the definitions that a probe's class and decorators need.

        ``source`` and ``base`` are the test file with and without the fix. ``head`` is the class's source, and
        ``marks`` are the decorators. None if a reader of the example lacks one of the definitions.
        """
        needed = list[str]()
        for name in sorted(self.used(f"{head}\n    pass") if head else ()):
            found, new = (self.context(text, frozenset({name})) for text in (base, source))
            if found is None and all(_LOADS.match(part) for part in new or ("",)):
                found = new  # a new test class: the statement names it and its base classes
            if found is None:
                return None
            needed += found
        decorated = self.context(source, self.used("\n".join([*marks, "def probe(): pass"])))
        return [*needed, *decorated] if decorated is not None else None

    def _probe(self, name: str, line: Line, test: "Node") -> str:
        written, depth, number = list[str](), 2 * _INDENT, 0
        for at, step in enumerate(line.steps):
            opens = step.text.endswith(":")
            body = [] if opens else [f"_codegate.step = {at}"]
            body += [step.text] if step.text else []
            for expression in step.checked:
                body += [
                    "try:", f"    _codegate_value = ({expression})", f"except {_ERRORS} as _codegate_error:",
                    f"    _codegate.raised({number}, _codegate_error)", "else:",
                    f"    _codegate.value({number}, _codegate_value)",
                ]  # fmt: skip
                number += 1
            written += [shifted(f"\n{text}", depth).lstrip("\n") for text in body]
            depth += _INDENT if opens else 0
        if line.steps and line.steps[-1].text.endswith(":"):
            written.append(" " * depth + "pass")
        given = ["self"] if "." in line.frame else []
        unused = (mocks_of(test) or {}).keys() - self.used(line.text)  # the statement does not mention these mocks
        given += [each for each in parameters_of(test) or () if each in line.fixtures and each not in unused]
        asynchronous = "async " if test.children[0].type == "async" else ""
        return "\n".join([
            *self._marks(test, line), f"{asynchronous}def {self.probe}{name}({', '.join(given)}):",
            "    _codegate = CodegateProbe()", "    try:", *(written or ["        pass"]),
            f"    except {_ERRORS} as _codegate_error:",
            "        _codegate.raised(-1 - _codegate.step, _codegate_error)", "    _codegate.end()",
        ])  # fmt: skip

    def _marks(self, test: "Node", line: Line) -> list[str]:
        # A probe's decorators are pytest's marks, and the mocks that its line uses.
        used, mocks = self.used(line.text), mocks_of(test) or {}
        return kept_decorators(test, [mocks[name] for name in mocks if name in used])

    @override
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        return definitions_for(self.parse(source), names)

    @override
    def describe_fixtures(self, source: str, line: Line) -> dict[str, str] | None:
        # Fixtures of pytest, mocks, and the test case itself are named.
        test = dict(functions(self.parse(source)))[line.frame]
        used, mocks = self.used(line.text), mocks_of(test)
        fixtures = [name for name in line.fixtures if name in used]
        if fixtures and mocks is None:
            return None  # values of other decorators cannot be described
        around = class_of(test)
        found = dict.fromkeys(fixtures, "a pytest fixture")
        for name in found:
            if mocks and name in mocks:
                found[name] = f"{MOCK}`{mock_target(mocks[name])}`"
            elif around is not None and name in methods_of(around):  # other classes may have a fixture of this name
                found[name] += f" of `{text_of(field(around, 'name'))}`"
        bases = text_of(field(around, "superclasses")) if around is not None else ""
        made = self.context(source, self.used(bases)) or []
        prepared = not all(re.match(r"(?:import|from) unittest\b", part) for part in made)
        if around is not None and "self" in used:
            found["self"] = f"a test case of `{text_of(field(around, 'name'))}{bases}`"
        elif bases and prepared:  # the set-up of base classes may change results
            found[""] = f"a test case of `{bases.strip('()')}`"
        return found

    @override
    def render_example(
        self, path: str, context: str, steps: Sequence[Step], expression: str, before: Value, after: Value
    ) -> RenderedExample:
        # Relative imports become absolute.
        written, depth = list[str](), 0
        for text in [*(step.text for step in steps if step.text), *filter(None, [expression])]:
            written.append(shifted(f"\n{text}", depth).lstrip("\n"))
            depth += _INDENT if text.endswith(":") else 0
        shown = written.pop() if expression else ""
        old, new = (self.value(*each) for each in (before, after))
        return RenderedExample(_from_root(path, joined(context, "\n".join(written))), shown, old, new)


DIALECTS: Final[Mapping[str, Dialect]] = {".py": PythonDialect("python", "python", (".py",))}
"""Dialects by the suffix of a test file."""


def _from_root(path: str, code: str) -> str:
    root, folder, edits = parse(code, "python"), path.split("/")[:-1], dict["Node", str]()
    for node in walk(root):
        if node.type == "relative_import":
            module = text_of(node).lstrip(".")
            package = folder[: len(folder) + 1 - (len(text_of(node)) - len(module))]
            edits[node] = ".".join([*package, *filter(None, [module])]) or "."
    return edited(root, edits)


def _without_tests(source: str) -> str:
    # Fixtures with ``autouse`` are turned off, too.
    root = parse(source, "python")
    names = (field(node, "name") for _, node in functions(root) if not is_fixture(node.parent or node))
    edits = {name: f"codegate_{text_of(name)}" for name in names if re.match("test|runTest", text_of(name))}
    return edited(root, {name: text for name, text in edits.items() if name is not None}).replace("autouse=True", "")


def _file(begin: str, heads: Mapping[str, str], probes: Mapping[str, str]) -> str:
    parts, classes = [begin, _HELPERS], dict[str, list[str]]()
    for name, text in probes.items():
        if heads[name]:
            classes.setdefault(heads[name], []).append(shifted(f"\n{text}", _INDENT))
        else:
            parts.append(text)
    return "\n".join([*parts, *("\n".join([head, *own]) for head, own in classes.items()), ""])


def _own_names(around: "Node") -> "dict[Node, str]":
    """Return local names that replace attributes of ``self``.

    Keys are the nodes in the class ``around`` that use an attribute.
    """
    methods = methods_of(around)
    staying = {own for own, node in methods.items() if not (own in _SETUPS or own.startswith("test") or asserts(node))}
    made = {text_of(field(node.named_children[0], "left")) for node in attributes_of(around)}
    uses: dict[Node, tuple[str, str]] = {}
    for own, method in methods.items():
        for node in walk(method):
            if node.type == "attribute" and text_of(field(node, "object")) in {"self", "cls"}:
                name = text_of(field(node, "attribute"))
                uses[node] = own, name
                outer = node.parent
                if outer is not None and outer.type in BINDING and field(outer, "left") == node:
                    made.add(name)
    made -= {name for own, name in uses.values() if own in staying} | set(methods)
    return {node: name for node, (_, name) in uses.items() if name in made}


def _class_head(frame: str, test: "Node", base: str | None) -> str:
    """Return a test's class as source, without tests and set-up.

    ``frame`` is the test's dotted name. Return "" for a function. ``base`` is the test file's text before the fix; if
    given, the class is taken from it.
    """
    around, owner = class_of(test), frame.rpartition(".")[0]
    if around is None:
        return ""
    seen = around if base is None else dict(definitions(parse(base, "python"))).get(owner)
    own = [
        node for node in children_of(seen, "body")
        if undecorated(node).type in {"function_definition", "expression_statement"} and not is_docstring(node)
        and not (method := text_of(field(undecorated(node), "name"))).startswith("test") and method not in _SETUPS
    ]  # fmt: skip
    head = "\n".join([
        "", *kept_decorators(around),
        f"class TestCodegate{owner.replace('.', '')}{text_of(field(around, 'superclasses'))}:",
    ])  # fmt: skip
    return "\n".join([head, *(shifted(f"\n{dedented(node)}", _INDENT) for node in own)])


def _rows(test: "Node", reader: PythonReader) -> list[tuple[Step, ...]]:
    tables: list[list[tuple[Step, ...]]] = []
    for decorator in decorators_of(test):
        given = arguments_of(decorator.named_children[0]) if is_table(decorator) else []
        heading = " ".join(text_of(node) for node in walk(given[0]) if node.type == "string_content") if given else ""
        names = re.findall(r"\w+", heading)
        values = field(given[1], "value") or given[1] if len(given) > 1 else None
        rows = list[tuple[Step, ...]]()
        for row in new_rows(elements(reader.value(values, ())), reader.base):
            if is_call_of("param", row):
                parts = [node for node in arguments_of(row) if node.type != "keyword_argument"]
            else:
                parts = [row] if len(names) == 1 else elements(row)
            if len(parts) == len(names):
                rows.append(tuple(Step(f"{name} = {as_value(part)}") for name, part in zip(names, parts, strict=True)))
        tables += [rows] if rows else []
    count = max(map(len, tables), default=1)
    return [tuple(step for rows in tables for step in rows[number % len(rows)]) for number in range(count)]
