"""Examples of Python: its probes run on both trees, and the code that leads to a value that differs."""

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Final

from codegate.languages.syntax import IDENTIFIER, decode, parse_python
from codegate.mining.cut import Cut
from codegate.mining.probes.blocks import loaded
from codegate.mining.probes.example import MAX_LINES, Example, Found, Probing, changes, of_all_rows
from codegate.mining.probes.fixtures import context_of, fixture_modules, functions_in, made_by_fixtures, with_bases
from codegate.mining.probes.literals import asserted_literals, hidden_literals, is_secret
from codegate.mining.probes.python_probe import PythonProbe, probe_module
from codegate.mining.probes.python_shown import confirmed, shown_module
from codegate.mining.probes.records import Record
from codegate.mining.probes.reduction import Rerun, shortest
from codegate.mining.probes.tables import with_constants
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.mining.statements.vocabulary import added_text, written_out

_MAX_FUNCTIONS: Final = 5
_LAST_LINE: Final = 1 << 30
_MAX_SHORTENED: Final = 4  # examples of each test: not each of them gives the same again
_MAX_ALSO: Final = 100
_BUILTINS: Final = frozenset(dir(builtins))
_QUERIES: Final = frozenset({"bool", "dict", "len", "list", "repr", "set", "sorted", "str", "tuple"})


@dataclass(frozen=True)
class _Modules:
    """The test module.

    Attributes:
        all: it and those with its fixtures, the nearest first.
        imported: names that it imports.
        old: the statements of its version before the fix.
        literals: those that only the tests have.
        hidden: those of them that may not be shown.
        unseen: fixtures that only the hidden tests have.
    """

    all: Sequence[ast.Module]
    imported: frozenset[str]
    old: frozenset[str]
    literals: frozenset[str]
    hidden: frozenset[str]
    unseen: frozenset[str]


@dataclass(frozen=True)
class _Tried:
    """An example of the test ``function``; ``original`` is the test's source, and what it was written out as."""

    function: str
    rank: tuple[int, ...]
    example: Example
    original: str


@dataclass(frozen=True)
class _Difference:
    """A value before the fix and after it; ``own_text`` and ``own`` are those of the test's own literals."""

    line: int
    text: str
    observed: str
    expected: str
    own_text: str
    own: tuple[str, str]


def python_examples(
    cut: Cut, validated: Validated, open_sandbox: OpenSandbox, public: str, seed: str
) -> Iterator[Found]:
    """Yield examples of the failing test functions; see ``find_examples``."""
    by_file: dict[str, dict[str, list[str]]] = {}
    for test in validated.outcomes.fail_to_pass:
        whole, _, row = test.partition("[")
        path, _, name = whole.partition("::")
        if path.endswith(".py") and name:
            by_file.setdefault(path, {}).setdefault(name.replace("::", "."), []).append(row.removesuffix("]"))
    known = frozenset(
        word for path in cut.base if path.endswith(".py") and path not in cut.public_tests
        for word in IDENTIFIER.findall(decode(cut.base[path].data))
    )  # fmt: skip
    added, with_tests = added_text(cut), cut.base.overlay(cut.hidden)
    for path, names in by_file.items():
        file = cut.hidden.get(path)
        parsed = parse_python(file.data) if file is not None else None
        if parsed is None:
            continue
        source = with_constants(with_bases(parsed, path, with_tests))
        old = parse_python(cut.base[path].data) if path in cut.base else None
        old = with_constants(with_bases(old, path, cut.base)) if old is not None else None
        text, probes = probe_module(source, dict(islice(names.items(), _MAX_FUNCTIONS)), known, seed, old)
        if probes:
            runs = Probing(cut, validated, open_sandbox, {path: text}, (path,))
            functions = _functions(source, names)
            # Texts of the fix cannot be guessed; the statement shows those that tests compare with in any case.
            literals = hidden_literals(functions, public)
            told = {text for text in asserted_literals(functions) if text in added} | written_out(literals, added)
            hidden = frozenset(text for text in literals if not any(text in one for one in told))
            fixtures = fixture_modules(cut.base, path, source)
            before = fixture_modules(cut.base, path, old or ast.Module([], []))
            unseen = functions_in(fixture_modules(cut.hidden, path, source)) - functions_in(before)
            modules = _Modules(fixtures, _imported(source), _statements(old, literals), literals, hidden, unseen)

            def again(examples: Sequence[Example], path: str = path) -> dict[int, Example]:
                module = shown_module(dict(enumerate(examples)))
                shown = Probing(cut, validated, open_sandbox, {path: module}, (path,))
                before = _run(shown, "before") if examples else {}
                after = _run(shown, "after") if before else {}
                found = ((number, confirmed(number, each, before, after)) for number, each in enumerate(examples))
                return {number: example for number, example in found if example is not None}

            for each in _confirmed(_examples(modules, probes, runs), hidden, again):
                example = each.example
                last = (example.expected, *(expected for *_, expected in example.also))
                first = (example.observed, *(observed for _, observed, _ in example.also))
                yield Found(f"{path}::{each.function}", each.rank, _shape(example), example, last, first)


def _shape(example: Example) -> str:
    """Return the example's code without its values and their number."""
    return ast.dump(_Shape().visit(ast.parse(f"{example.code}\n{example.expression}")))


class _Shape(ast.NodeTransformer):
    """Puts the name of its type in place of a value that is written out."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Return the node, or a constant in its place."""
        super().generic_visit(node)
        if isinstance(node, ast.Constant):
            return ast.Constant(type(node.value).__name__)
        parts = [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr_context)]
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict) and all(
            isinstance(each, ast.Constant) for each in parts
        ):
            return ast.Constant(type(node).__name__)
        return node


def _run(runs: Probing, state: str) -> dict[str, list[Record]]:
    """Return the records of each probe, by its name."""
    found = runs.run(state)
    return {test.partition("[")[0].rpartition("::")[2].rpartition(".")[2]: kept for test, kept in found.items()}


def _examples(modules: _Modules, probes: Mapping[str, PythonProbe], runs: Probing) -> list[_Tried]:
    """Return what the probes' records differ in, the clearest of each function first."""
    before = _run(runs, "before")
    after = _run(runs, "after") if before else {}
    found: list[tuple[_Tried, str]] = []
    for name, probe in probes.items():
        runs_of = [state.get(each, []) for each in (name, probe.own) for state in (before, after)]
        for every_call in (False, True):  # the short code first: it is run by itself, and may give the same
            allowed = [
                (example, difference.own)
                for difference in _differences(*runs_of)
                if (example := _example(modules, probe, probes[probe.own], difference, every_call=every_call))
                and example.may_be_shown(modules.hidden)
                and "import *" not in example.code
            ]
            if allowed:
                allowed.sort(key=lambda each: each[0].poor)
                example = replace(allowed[0][0], also=_also([each for each, _ in allowed]))
                if example not in [each.example for each, _ in found[-1:]]:
                    rank = example.rank(probe.replaced, allowed[0][1], probe.renamed)
                    original = f"{probe.original}\n{probes[probe.own].code(_LAST_LINE)}"
                    found.append((_Tried(probe.function, rank, example, original), probe.own))
    tests = dict.fromkeys(each.function for each, _ in found)
    of_one = ([each for each in found if each[0].function == test] for test in tests)
    return [tried for some in of_one for tried, _ in of_all_rows(some, lambda each: each[0].rank, itemgetter(1))]


def _confirmed(tried: Sequence[_Tried], hidden: frozenset[str], again: Rerun) -> Iterator[_Tried]:
    """Yield those whose own code gives the same again, the clearest ones as short as can be."""

    def is_own(number: int, example: Example) -> bool:
        own = not _data(f"{example.code}\n{example.expression}") <= _data(tried[number].original)
        return own and example.may_be_shown(hidden)

    places: dict[str, list[int]] = {}
    for place, each in enumerate(tried):
        places.setdefault(each.function, []).append(place)
    clearest = [place for own in places.values() for place in own[:_MAX_SHORTENED]]
    for number, example in shortest([each.example for each in tried], clearest, is_own, again).items():
        yield replace(tried[number], example=example)


def _also(examples: Sequence[Example]) -> tuple[tuple[str, str, str], ...]:
    """Return what else differs after the code of the first example: expression, observed and expected, if short."""
    first, *others = examples
    known = {*first.code.splitlines(), first.expression}
    found = [
        (other.expression, other.observed, other.expected)
        for other in others
        if set(other.code.splitlines()) <= known and not other.expression.startswith(first.expression)
    ]
    short = [each for each in found if all(len(text) <= _MAX_ALSO and "`" not in text for text in each)]
    return tuple(each for each in short if not any(text.startswith("raises ") for text in each))[:2]


def _differences(
    before: list[Record], after: list[Record], own_before: list[Record], own_after: list[Record]
) -> Iterator[_Difference]:
    """Yield what the records of a probe differ in, beside those of the test's own literals."""
    own = [(new[1], (old[2], new[2])) for old, new in zip(own_before, own_after, strict=False)]
    for number, ((line, text, observed), (end, last, expected)) in enumerate(zip(before, after, strict=False)):
        if (line, text, observed) == (end, last, expected):
            continue
        # Where one of the two raised earlier, the other one's record says what the value is of.
        place = (end, last) if end >= line else (line, text)
        yield _Difference(*place, observed, expected, *(own[number] if number < len(own) else ("", ("", ""))))
        if line != end:
            return  # from here on the records are not of the same values


def _example(
    modules: _Modules, probe: PythonProbe, own: PythonProbe, difference: _Difference, *, every_call: bool
) -> Example | None:
    """Return one difference as an example, with ``every_call`` before it or without; None: it cannot be shown."""
    line, text = difference.line, difference.text
    observed, expected = difference.observed, difference.expected
    if probe is own or (expected.startswith("raises ") and not probe.expects_error):
        return None  # the other literals are no valid input
    if observed == expected or _same_in_another_order(observed, expected):
        return None
    if difference.own[1] == "True" and expected == "False":
        return None  # the test's own comparison holds, that of the other literals does not
    code, short = (_needed(probe.code(line), text, modules.imported, every_call=each) for each in (every_call, False))
    if _data(f"{code}\n{text}") <= _data(probe.original):
        return None  # the test's own call
    if changes(*difference.own) == changes(observed, expected):
        asked = _statements(ast.parse(f"{own.code(line)}\n{difference.own_text}"), modules.literals) - modules.old
        kept = asked & _statements(ast.parse(f"{code}\n{text}"), modules.literals)
        if kept or _data(f"{short}\n{text}") <= _data(probe.original):
            return None  # what was replaced has no effect, and what has one is the test's own
    names = {node.id for node in ast.walk(ast.parse(f"{code}\n{text}")) if isinstance(node, ast.Name)}
    if "self" in names or len(code.splitlines()) > MAX_LINES:
        return None
    context = context_of(modules.all[0], names)
    if context is None:
        return None
    given, fixtures = made_by_fixtures([name for name in probe.arguments if name in names], modules.all)
    if modules.unseen.intersection(fixtures):
        return None
    shown = "\n".join(filter(None, (context, *given, code)))
    return Example(shown, text, observed, expected, fixtures)


def _statements(tree: ast.Module | None, literals: frozenset[str]) -> frozenset[str]:
    """Return the statements of a module that hold data of its tests, and no other statement."""
    nodes = ast.walk(tree) if tree is not None else ()
    simple = (node for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    return frozenset(
        ast.unparse(node) for node in simple
        if any(
            isinstance(each, ast.Constant) and not isinstance(each.value, bool) and each.value is not None
            and is_secret(str(each.value), literals)
            for each in ast.walk(node)
        )
    )  # fmt: skip


def _same_in_another_order(observed: str, expected: str) -> bool:
    """Return whether two values differ in the order of a dictionary or a set alone."""
    if sorted(observed) != sorted(expected):
        return False
    try:
        return bool(ast.literal_eval(observed) == ast.literal_eval(expected))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False


def _data(code: str) -> set[str]:
    """Return the values that ``code`` writes out, without those that repeat one of its names, as options do."""
    tree = ast.parse(code)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    values = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {value for value in values if value.strip("-").replace("-", "_") not in names}


def _needed(code: str, text: str, imported: frozenset[str], *, every_call: bool) -> str:
    """Return the statements of ``code`` that the value of ``text`` can depend on.

    Left out are definitions that nothing uses, assignments to other names that call nothing but what is imported, and
    calls that ask it about plain values; without ``every_call`` also calls whose result nobody keeps.
    """
    wanted = loaded(ast.parse(text))
    kept: list[str] = []
    body = ast.parse(code).body
    plain_values = {
        name for node in body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for name in _bound(node)
    }  # fmt: skip
    aliases = {
        name for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and loaded(node.value) <= imported
        for name in _bound(node)
    }  # fmt: skip
    for node in reversed(body):
        if isinstance(node, ast.With):
            node.body = [each for each in node.body if not _is_idle(each)] or node.body
        bound = _bound(node)
        own = loaded(node) - imported - aliases - _BUILTINS
        known = own <= plain_values and (bool(own) or not every_call)
        asks = isinstance(node, ast.Expr) and (known or not every_call or _is_query(node.value))
        if asks or _is_idle(node) or (isinstance(node, ast.Try) and not every_call):
            continue
        plain = isinstance(node, ast.FunctionDef | ast.ClassDef)
        acts = any(loaded(each) & (wanted - imported) for each in getattr(node, "decorator_list", [node]))
        if bound and not bound & wanted and not acts:
            continue
        kept.insert(0, ast.unparse(node))
        if bound and not plain:
            wanted = wanted - bound
        wanted |= loaded(node)
    return "\n".join(kept)


def _is_idle(node: ast.stmt) -> bool:
    """Return whether a statement has nothing left to do."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.If | ast.For) and all(map(_is_idle, node.body)))


def _is_query(node: ast.expr) -> bool:
    """Return whether an expression only asks for the items or the text of something."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _QUERIES


def _imported(module: ast.Module) -> frozenset[str]:
    """Return the names that a module imports."""
    lines = (node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom))
    return frozenset(name for line in lines for name in _bound(line))


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {name.asname or name.name.partition(".")[0] for name in node.names}
    if isinstance(node, ast.Assign):
        return {inner.id for target in node.targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
    return set()


def _functions(source: ast.Module, names: Iterable[str]) -> list[ast.AST]:
    last = {name.rpartition(".")[2] for name in names}
    return [
        node for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in last
    ]  # fmt: skip
