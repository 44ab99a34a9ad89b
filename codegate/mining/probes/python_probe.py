"""Probes of Python: failing test functions with other literals, that record values where the tests assert.

A probe is a copy of a test function. Its literals are others of the same kind, its assertions are gone, and in their
place it records what the code under test gave. It ends by raising an ``AssertionError`` whose message holds the
records, so that any runner brings them back.
"""

import ast
import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest
from textwrap import indent
from typing import Final

from codegate.mining.probes.methods import calls_of, classes_of, rows_of, standalone
from codegate.mining.probes.records import MARK
from codegate.mining.probes.tables import Function, failing_rows, unrolled
from codegate.mining.probes.variants import own_names, variants

_NAME: Final = "test_codegate_probe_"
_MAX_PROBES: Final = 80
_MAX_ROWS: Final = 12
_MAX_STATEMENTS: Final = 150  # what longer tests are about is not to be seen, and writing their probes takes a minute
_RAISING: Final = "raising"
_ASSERT_METHOD: Final = re.compile(r"assert[A-Z]\w*|fail(?:If|Unless)\w*")
_RAISES: Final = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "warns", "assertWarns"}
)
HELPERS: Final = f'''
def _codegate_record(records, line, text, value):
    """Keep what an expression gave, or what it raised."""
    try:
        shown = repr(value())
    except Exception as error:
        shown = _codegate_error(error)
    records.append([line, text, shown[:600]])


def _codegate_error(error):
    try:
        message = str(error)[:300]
    except Exception as inner:
        message = "(without a message: its str() raises " + type(inner).__name__ + ")"
    return "raises " + type(error).__name__ + (": " + message if message else "")


def _codegate_end(records):
    import json
    while len(json.dumps(records)) > 3500:
        records.pop()
    raise AssertionError("{MARK}" + json.dumps(records))
'''


@dataclass(frozen=True)
class PythonProbe:
    """One probe, and what a reader is shown of it.

    Attributes:
        name: of its function.
        function: of the test that it was made from.
        body: its statements without assertions, as they run.
        own: name of the probe with the test's own literals; its own name where it is that one.
        replaced: how many literals are others than the test's.
        renamed: the test's own words and numbers, by those in their place.
        arguments: fixtures that it uses.
        expects_error: the test asks for an exception.
        original: source of the test function.
    """

    name: str
    function: str
    body: tuple[ast.stmt, ...]
    own: str
    replaced: int
    renamed: Mapping[str, str]
    arguments: tuple[str, ...]
    expects_error: bool
    original: str

    def code(self, line: int) -> str:
        """Return its source before the record of ``line``; an exception there is recorded by the line itself."""
        shown: list[str] = []
        for statement in self.body:
            if statement.lineno > line:
                break
            if statement.lineno == line and not _is_statement(statement, line):
                break
            text = _plain(statement, line)
            if text:
                shown.append(text)
        return "\n".join(shown)


def _is_statement(statement: ast.stmt, line: int) -> bool:
    return not (_is_record(statement) and statement.lineno == line)


def probe_module(
    source: ast.Module,
    functions: Mapping[str, Collection[str]],
    known: frozenset[str],
    seed: str,
    old: ast.Module | None = None,
) -> tuple[str, dict[str, PythonProbe]]:
    """Return a test module that has probes in place of its tests, and the probes by function name.

    Args:
        source: the hidden test module.
        functions: its failing functions, dotted with their class, and the ids in brackets of each.
        known: words that the base's source uses; they are names and options, and stay as they are if they can.
        seed: what the drawn literals follow from.
        old: the test module of the base; of a table, rows that fail come first, then those that it lacks.
    """
    wanted = set(functions)
    module = copy.deepcopy(source)
    probes: dict[str, PythonProbe] = {}
    old_rows = list(rows_of(old, wanted)) if old is not None else []
    called = frozenset(calls_of(old, wanted)) if old is not None else frozenset[str]()
    passed = frozenset(map(ast.unparse, old_rows))
    settled = frozenset(ast.unparse(node) for row in old_rows for node in row.body if _is_assertion(node))

    def probes_of(name: str, node: Function, classes: list[ast.ClassDef]) -> Iterator[Function]:
        failing = failing_rows(node, functions[name])
        ranked = [
            (at not in failing, ast.unparse(row) in passed, at, row)
            for at, row in enumerate(unrolled(standalone(node, classes, called)))
        ]
        rows = [_without(settled, row) for *_, row in sorted(ranked, key=lambda each: each[:3])]
        rows = [row for row in rows if len(row.body) <= _MAX_STATEMENTS]
        return _probes_of(node, rows[:_MAX_ROWS], known, seed, probes)

    module.body = _replaced(module, module.body, "", wanted, probes_of, [])
    at = _after_future(module.body)
    module.body[at:at] = ast.parse(HELPERS).body
    ast.fix_missing_locations(module)
    return ast.unparse(module), probes


def _is_assertion(statement: ast.stmt) -> bool:
    method = getattr(getattr(getattr(statement, "value", None), "func", None), "attr", "")
    return isinstance(statement, ast.Assert) or bool(_ASSERT_METHOD.fullmatch(method))


def _without(settled: frozenset[str], row: Function) -> Function:
    """Return a test without the assertions that the base has too, unless it has no others; their calls stay."""
    if all(ast.unparse(node) in settled for node in row.body if _is_assertion(node)):
        return row
    body: list[ast.stmt] = []
    for node in row.body:
        if _is_assertion(node) and ast.unparse(node) in settled:
            actual = _actual(node.test) if isinstance(node, ast.Assert) else node.value.args  # type: ignore[attr-defined]
            body += [ast.Expr(each) for each in actual if any(isinstance(inner, ast.Call) for inner in ast.walk(each))]
        else:
            body.append(node)
    shorter = copy.copy(row)
    shorter.body = body
    return ast.fix_missing_locations(shorter)


def _after_future(body: list[ast.stmt]) -> int:
    at = 0
    for number, node in enumerate(body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            at = number + 1
    return at


def _replaced(
    module: ast.Module,
    body: list[ast.stmt],
    prefix: str,
    wanted: set[str],
    probes_of: Callable[[str, Function, list[ast.ClassDef]], Iterator[Function]],
    classes: list[ast.ClassDef],
) -> list[ast.stmt]:
    """Return a body of a module or class in which probes stand in place of tests."""
    kept: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.ClassDef) and any(name.startswith(f"{prefix}{node.name}.") for name in wanted):
            own = classes_of(module, node)
            node.body = _replaced(module, node.body, f"{prefix}{node.name}.", wanted, probes_of, own) or [ast.Pass()]
        if isinstance(node, Function) and prefix + node.name in wanted:
            kept += islice(probes_of(prefix + node.name, node, classes), _MAX_PROBES // len(wanted) + 1)
        elif not (isinstance(node, Function) and node.name.startswith("test")):
            kept.append(node)
    return kept


def _probes_of(
    node: Function, rows: list[Function], known: frozenset[str], seed: str, probes: dict[str, PythonProbe]
) -> Iterator[Function]:
    if any(isinstance(inner, ast.Await | ast.Yield | ast.YieldFrom) for inner in ast.walk(node)):
        return
    local = own_names(node)
    expects = any(word in ast.unparse(node) for word in _RAISES)
    original = list(dict.fromkeys(ast.unparse(row) for row in rows))
    names: dict[str, str] = {}

    def probe(text: str, row: str, replaced: int, renamed: Mapping[str, str]) -> Iterator[Function]:
        # The numbers of lines are those of the probe's own source: records are told apart by them.
        [numbered] = ast.parse(text).body
        assert isinstance(numbered, Function)  # noqa: S101 (it is a function that was unparsed)
        body = [statement for statement in map(_recording, numbered.body) if statement is not None]
        if text not in names and any(_records_in(statement) for statement in body):
            names[text] = name = f"{_NAME}{len(probes)}"
            arguments = tuple(argument.arg for argument in numbered.args.args if argument.arg not in {"self", "cls"})
            probes[name] = PythonProbe(
                name, node.name, tuple(body), names[row], replaced, renamed, arguments, expects, ast.unparse(node)
            )
            yield _wrapped(numbered, name, body)

    ways = [variants(row, known, local, f"{seed}{node.name}") for row in rows]
    # One way of every row before the next way of any: which row shows the difference is not known.
    for turn in zip_longest(*ways):
        for way, row in zip(turn, rows, strict=True):
            own = ast.unparse(row)
            yield from probe(own, own, 0, {})
            text = ast.unparse(way[0].visit(way[1])) if way is not None else ""
            if way is not None and own in names and text not in original:
                yield from probe(text, own, max(way[0].count, 1), way[0].renamed)


def _wrapped(function: Function, name: str, body: list[ast.stmt]) -> Function:
    """Return the function with ``body``, ending with its records whatever happens."""
    outer = copy.deepcopy(function)
    outer.name = name
    outer.body = ast.parse(
        "_codegate_records = []\n"
        "try:\n    pass\n"
        "except Exception as _codegate_caught:\n"
        "    _codegate_at = _codegate_caught.__traceback__\n"
        "    _codegate_records.append([-1, '', _codegate_error(_codegate_caught)])\n"
        "_codegate_end(_codegate_records)"
    ).body
    guarded = outer.body[1]
    assert isinstance(guarded, ast.Try)  # noqa: S101 (as written above)
    steps: list[ast.stmt] = []
    for statement in body:
        if not _records_in(statement):
            steps += ast.parse(f"_codegate_line = {statement.lineno}").body
        steps.append(copy.deepcopy(statement))
    guarded.body = [*ast.parse("_codegate_line = 0").body, *steps]
    guarded.handlers[0].body = ast.parse(
        "_codegate_records.append([_codegate_line, '', _codegate_error(_codegate_caught)])"
    ).body
    return outer


def _recording(statement: ast.stmt) -> ast.stmt | None:
    """Return a statement with records in place of its assertions; None when nothing of it is left."""
    if isinstance(statement, ast.Assert):
        return _many(statement, _actual(statement.test))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method in _RAISES and len(call.args) > 1:
            given = call.args[1]
            inner = given.body if isinstance(given, ast.Lambda) and len(call.args) == 2 else None
            return _many(statement, [inner or ast.Call(given, call.args[2:], call.keywords)])
        if _ASSERT_METHOD.fullmatch(method) and call.args:
            sides = [argument for argument in call.args[:2] if not _is_literal(argument)]
            return _many(statement, _counted(sides))
    if isinstance(statement, ast.With) and _expects_error(statement):
        last = statement.body[-1]
        if isinstance(last, ast.Expr):
            before = [inner for inner in map(_recording, statement.body[:-1]) if inner is not None]
            return _block(statement, [*before, _record(last, last.value)], _RAISING)
        return _block(statement, [inner for inner in map(_recording, statement.body) if inner is not None], _RAISING)
    for field in ("body", "orelse", "finalbody"):
        nested = getattr(statement, field, None)
        if isinstance(nested, list) and not isinstance(statement, Function | ast.ClassDef):
            new = [found for found in map(_recording, nested) if found is not None]
            setattr(statement, field, new or ([ast.Pass()] if field == "body" else []))
    return statement


def _block(place: ast.stmt, body: list[ast.stmt], kind: str = "all") -> ast.stmt | None:
    """Return statements as one, in place of a statement; ``kind`` says which: all are run in any case."""
    if not body:
        return None
    node = ast.If(ast.Constant(kind), body, [])
    return ast.fix_missing_locations(ast.copy_location(node, place))


def _many(place: ast.stmt, expressions: list[ast.expr]) -> ast.stmt | None:
    found = [_record(place, expression) for expression in expressions]
    return found[0] if len(found) == 1 else _block(place, list(found))


def _record(place: ast.stmt, expression: ast.expr) -> ast.stmt:
    text = ast.unparse(expression)
    [call] = ast.parse(f"_codegate_record(_codegate_records, {place.lineno}, {text!r}, lambda: {text})").body
    for node in ast.walk(call):
        ast.copy_location(node, place)
    return call


def _actual(test: ast.expr) -> list[ast.expr]:
    """Return the sides of an assertion that the code under test makes; what is counted or searched comes first."""
    if isinstance(test, ast.BoolOp):
        return [side for value in test.values for side in _actual(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _actual(test.operand)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [test.left, test.comparators[0]]
        made = [side for side in sides if not _is_literal(side)]
        if isinstance(test.ops[0], ast.In | ast.NotIn) and isinstance(test.comparators[0], ast.Name):
            # The container itself may show nothing.
            return [test.comparators[0], ast.Compare(test.left, [ast.In()], test.comparators)]
        called = [side for side in made if any(isinstance(node, ast.Call | ast.Attribute) for node in ast.walk(side))]
        # Where the comparison itself may be what is wrong, its result is recorded too.
        ordered = isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        return [*_counted(made), *([test] if made and (ordered or not called) else [])]
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance" and test.args:
        return test.args[:1]
    return [] if _is_literal(test) else [test]


def _counted(made: list[ast.expr]) -> list[ast.expr]:
    """Return expressions, before each ``len(x)`` what is counted."""
    inner = [
        argument for call in made if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "len"
        for argument in call.args[:1]
    ]  # fmt: skip
    return [*inner, *made]


def _is_literal(node: ast.expr) -> bool:
    return not any(isinstance(inner, ast.Name | ast.Attribute | ast.Call) for inner in ast.walk(node))


def _expects_error(statement: ast.With) -> bool:
    calls = (item.context_expr for item in statement.items)
    return any(
        isinstance(call, ast.Call)
        and (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in _RAISES
        for call in calls
    )


def _is_record(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and getattr(statement.value.func, "id", "") == "_codegate_record"
    )


def _recorded(statement: ast.stmt) -> ast.expr:
    """Return the expression that a record keeps the value of."""
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)  # noqa: S101, PT018 (a record)
    kept = statement.value.args[3]
    assert isinstance(kept, ast.Lambda)  # noqa: S101 (as ``_record`` writes it)
    return kept.body


def _records_in(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "_codegate_record" for node in ast.walk(statement))


def _plain(statement: ast.stmt, line: int) -> str:
    """Return a statement as a reader is shown it: without records."""
    if _is_record(statement):
        value = _recorded(statement)
        acts = statement.lineno < line and any(isinstance(node, ast.Call) for node in ast.walk(value))
        return ast.unparse(value) if acts else ""
    if isinstance(statement, ast.If) and isinstance(statement.test, ast.Constant):
        inner = "\n".join(text for each in statement.body if each.lineno <= line and (text := _plain(each, line)))
        calls = any(isinstance(node, ast.Call) for each in statement.body for node in ast.walk(each))
        over = calls and statement.test.value == _RAISING and all(each.lineno < line for each in statement.body)
        return f"try:\n{indent(inner, '    ')}\nexcept Exception:\n    pass" if inner and over else inner
    if not _records_in(statement):
        return ast.unparse(statement)
    whole = copy.deepcopy(statement)
    for node in ast.walk(whole):
        for field in ("body", "orelse", "finalbody"):
            nested = getattr(node, field, None)
            if isinstance(nested, list):
                kept = [each for each in nested if not _is_record(each) and each.lineno <= line]
                setattr(node, field, kept or ([ast.Pass()] if field == "body" else []))
    return ast.unparse(ast.fix_missing_locations(whole))
