"""Examples for statements: a probe's result before the fix and after it, both seen by execution.

The statement shows what a call gives today and what it should give. Neither is taken from the hidden tests: the call
has other values, and a solution that knows this one call only does not pass them.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from codegate.grading import TestReport, TestSelection, run_tests
from codegate.mining.cut import Cut
from codegate.mining.probes.fixtures import context_of, fixture_modules, made_by_fixtures
from codegate.mining.probes.literals import asserted_literals, hidden_literals, shows
from codegate.mining.probes.python_probe import PythonProbe, probe_module, records
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.mining.statements.vocabulary import added_lines
from codegate.mining.syntax import IDENTIFIER, decode, parse
from codegate.suite import Tree, TreeFile

_MAX_FUNCTIONS: Final = 5
_MAX_EXAMPLES: Final = 3
_MAX_CODE: Final = 1600
_MAX_LINES: Final = 40
_MAX_ALSO: Final = 100
_MAX_PUBLIC: Final = 16 << 20
#: Functions of test helpers that start others.
_STARTERS: Final = frozenset({"invoke", "run", "main", "call"})
#: What differs between two machines or two runs, and what shows no value.
_UNSTABLE: Final = re.compile(r"0x[0-9a-fA-F]{5,}|/tmp/|/workspace|codegate|pytest-of-")


@dataclass(frozen=True)
class Example:
    """One call, and its results.

    Attributes:
        code: imports and statements that lead to the value.
        expression: the value's expression; empty where ``code`` itself raises.
        observed: ``repr`` of the value before the fix, or ``raises Error: message``.
        expected: the same after it.
        fixtures: pytest fixtures that ``code`` uses, but those whose value it makes itself.
        called: name of the function whose result is shown; empty where none is called.
        also: further values after ``code``: their expression, what is observed and what is expected.
    """

    code: str
    expression: str
    observed: str
    expected: str
    fixtures: tuple[str, ...] = ()
    called: str = ""
    also: tuple[tuple[str, str, str], ...] = ()


def public_text(cut: Cut) -> str:
    """Return the text of the base's files, in which what a model may see stands."""
    texts, left = [], _MAX_PUBLIC
    for file in cut.base.values():
        if left > 0 and not file.is_link and b"\0" not in file.data[:1000]:
            texts.append(decode(file.data)[:left])
            left -= len(texts[-1])
    return "\n".join(texts)


def find_examples(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, public: str, seed: str) -> list[Example]:
    """Return examples of what the fix changes: the clearest of each of up to three failing test functions.

    The probes run on base and fix; those that differ run once more on both, and must give the same again.

    Args:
        cut: the problem's parts.
        validated: how its tests are run, and which of them the fix makes pass.
        open_sandbox: gives fresh sandboxes of its environment.
        public: the base's text: its literals are not hidden.
        seed: what the drawn literals follow from.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    by_file: dict[str, list[str]] = {}
    for test in validated.outcomes.fail_to_pass:
        path, _, name = test.partition("[")[0].partition("::")
        name = name.replace("::", ".")
        if path.endswith(".py") and name and name not in by_file.setdefault(path, []):
            by_file[path].append(name)
    known = frozenset(
        word for path in cut.base if path.endswith(".py") and path not in cut.public_tests
        for word in IDENTIFIER.findall(decode(cut.base[path].data))
    )  # fmt: skip
    added = "\n".join(line for lines in added_lines(cut).values() for line in lines)
    found: dict[str, tuple[tuple[int, ...], Example]] = {}
    for path, names in by_file.items():
        file = cut.hidden.get(path)
        source = parse(file.data) if file is not None else None
        if source is None:
            continue
        old = parse(cut.base[path].data) if path in cut.base else None
        text, probes = probe_module(source, names[:_MAX_FUNCTIONS], known, seed, old)
        if probes:
            runs = _Probing(cut, validated.selection, open_sandbox, validated, path, text)
            functions = _functions(source, names)
            # What the tests compare with and the fix itself says is told in any case, as a required form.
            told = {text for text in asserted_literals(functions) if text in added}
            literals = hidden_literals(functions, public)
            hidden = frozenset(text for text in literals if not any(text in one for one in told))
            modules = fixture_modules(cut.base, path, source)
            for function, rank, example in _examples(modules, probes, runs, hidden):
                key = f"{path}::{function}"
                if key not in found or rank < found[key][0]:
                    found[key] = (rank, example)
    shapes: dict[str, Example] = {}
    for _, example in sorted(found.values(), key=lambda each: each[0]):
        shapes.setdefault(_shape(example), example)
    return list(shapes.values())[:_MAX_EXAMPLES]


def _shape(example: Example) -> str:
    """Return the example's code without its values: of two that are alike, one is enough."""
    tree = ast.parse(f"{example.code}\n{example.expression}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
    return ast.dump(tree)


class _Probing:
    """Runs of one file of probes on both trees."""

    def __init__(
        self, cut: Cut, selection: TestSelection, opened: OpenSandbox, validated: Validated, path: str, text: str
    ) -> None:
        before = cut.base.overlay(cut.hidden).overlay({path: TreeFile(text.encode("utf-8", "replace"))})
        self._trees = {"before": before, "after": before.overlay(cut.fix)}
        self._selection = replace(selection, files=(path,))
        self._open = opened
        self._limits = validated.limits

    def run(self, state: str) -> dict[str, list[tuple[int, str, str]]]:
        """Return the records of each probe, by its name."""
        tree: Tree = self._trees[state]
        with self._open(self._limits) as sandbox:
            report: TestReport = run_tests(sandbox, tree, self._selection)
        found = {}
        for test, result in report.results.items():
            kept = records(result.message)
            if kept is not None:
                found[test.partition("[")[0].rpartition("::")[2].rpartition(".")[2]] = kept
        return found


def _examples(
    modules: Sequence[ast.Module], probes: Mapping[str, PythonProbe], runs: _Probing, hidden: frozenset[str]
) -> list[tuple[str, tuple[int, ...], Example]]:
    before = runs.run("before")
    after = runs.run("after") if before else {}
    differing = [name for name in probes if name in before and name in after and before[name] != after[name]]
    if not differing:
        return []
    again = runs.run("before"), runs.run("after")
    found = []
    for name in differing:
        if again[0].get(name) != before[name] or again[1].get(name) != after[name]:
            continue
        allowed = [
            example
            for example in _differences(modules, probes[name], before[name], after[name])
            if len(example.code) <= _MAX_CODE
            and not shows(f"{example.code}\n{example.expression}\n{example.observed}\n{example.expected}", hidden)
        ]
        if allowed:
            example = replace(allowed[0], also=_also(allowed))
            found.append((probes[name].function, _rank(example, probes[name]), example))
    return found


def _also(examples: Sequence[Example]) -> tuple[tuple[str, str, str], ...]:
    """Return what else differs after the code of the first example: expression, observed and expected, if short."""
    first, *others = examples
    known = {*first.code.splitlines(), first.expression}
    found = [
        (other.expression, other.observed, other.expected)
        for other in others
        if set(other.code.splitlines()) <= known and other.expression != first.expression
    ]
    short = [each for each in found if all(len(text) <= _MAX_ALSO and "`" not in text for text in each)]
    return tuple(each for each in short if not any(text.startswith("raises ") for text in each))[:2]


def _rank(example: Example, probe: PythonProbe) -> tuple[int, ...]:
    """Return what the clearest example has least of."""
    return (
        len(example.fixtures),
        len(example.code.splitlines()) // 6,
        -probe.replaced,
        len(example.code) + len(example.observed) + len(example.expected),
    )


def _differences(
    modules: Sequence[ast.Module],
    probe: PythonProbe,
    before: list[tuple[int, str, str]],
    after: list[tuple[int, str, str]],
) -> Iterator[Example]:
    """Yield what the records of a probe differ in, where that can be shown."""
    for (line, text, observed), (end, last, expected) in zip(before, after, strict=False):
        if (line, text, observed) == (end, last, expected):
            continue
        # Where one of the two raised earlier, the other one's record says what the value is of.
        place = (end, last) if end >= line else (line, text)
        example = _example(modules, probe, *place, observed, expected)
        if example is not None:
            yield example
        if line != end:
            return  # from here on the records are not of the same values


def _example(
    modules: Sequence[ast.Module], probe: PythonProbe, line: int, text: str, observed: str, expected: str
) -> Example | None:
    """Return one difference as an example; None where it cannot be shown."""
    if expected.startswith("raises ") and not probe.expects_error:
        return None  # the other literals are no valid input
    if observed == expected or _UNSTABLE.search(observed) or _UNSTABLE.search(expected):
        return None
    code = _needed(probe.code(line), text, _imported(modules[0]))
    if _data(f"{code}\n{text}") <= _data(probe.original):
        return None  # the test's own call
    names = {node.id for node in ast.walk(ast.parse(f"{code}\n{text}")) if isinstance(node, ast.Name)}
    if "self" in names or len(code.splitlines()) > _MAX_LINES:
        return None
    context = context_of(modules[0], names)
    if context is None:
        return None
    given, fixtures = made_by_fixtures([name for name in probe.arguments if name in names], modules)
    called = _called(f"{code}\n{text}")
    return Example("\n".join(filter(None, (context, *given, code))), text, observed, expected, fixtures, called)


def _called(code: str) -> str:
    """Return the name of the function whose result ``code`` ends with; of a local one, of what made it."""
    statements = ast.parse(code).body
    local = {name: getattr(node, "value", None) for node in statements for name in _bound(node)}
    for statement in reversed(statements):
        for call in [node for node in ast.walk(statement) if isinstance(node, ast.Call)]:
            function = call.func
            made = local.get(function.id) if isinstance(function, ast.Name) else None
            function = made.func if isinstance(made, ast.Call) else function
            name = ast.unparse(function).rpartition(".")[2]
            if name in _STARTERS:
                return ""
            if name.isidentifier() and not hasattr(builtins, name) and name not in local:
                return name
    return ""


def _data(code: str) -> set[str]:
    """Return the values that ``code`` writes out, without those that repeat one of its names, as options do."""
    tree = ast.parse(code)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    values = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {value for value in values if value.strip("-").replace("-", "_") not in names}


def _needed(code: str, text: str, imported: frozenset[str]) -> str:
    """Return the statements of ``code`` that the value of ``text`` can depend on.

    Left out are definitions that nothing uses, assignments to other names that call nothing but what is imported, and
    calls that ask it about plain values.
    """
    wanted = _loaded(ast.parse(text))
    kept: list[str] = []
    body = ast.parse(code).body
    plain_values = {
        name for node in body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for name in _bound(node)
    }  # fmt: skip
    for node in reversed(body):
        bound = _bound(node)
        own = _loaded(node) - imported
        asks = isinstance(node, ast.Expr) and bool(own) and own <= plain_values
        idle = isinstance(node, ast.If | ast.For) and all(isinstance(each, ast.Pass) for each in node.body)
        if asks or idle:
            continue
        plain = isinstance(node, ast.FunctionDef | ast.ClassDef)
        acts = any(_loaded(each) & (wanted - imported) for each in getattr(node, "decorator_list", [node]))
        if bound and not bound & wanted and not acts:
            continue
        kept.insert(0, ast.unparse(node))
        if bound and not plain:
            wanted = wanted - bound
        wanted |= _loaded(node)
    return "\n".join(kept)


def _loaded(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _imported(module: ast.Module) -> frozenset[str]:
    """Return the names that a module imports."""
    lines = [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
    return frozenset((name.asname or name.name.partition(".")[0]) for line in lines for name in line.names)


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {inner.id for target in node.targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
    return set()


def _functions(source: ast.Module, names: list[str]) -> list[ast.AST]:
    last = {name.rpartition(".")[2] for name in names}
    return [
        node for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in last
    ]  # fmt: skip
