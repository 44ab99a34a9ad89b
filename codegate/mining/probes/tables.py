"""Tests that run over a table, written out: one function for each row, whose values are assigned in its body."""

import ast
import copy
from collections.abc import Collection, Iterator, Mapping
from typing import Final

_MAX_ROWS: Final = 200
_MAX_TABLE: Final = 20_000

Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_constants(module: ast.Module) -> ast.Module:
    """Return a copy of a test module in whose tests the data of its constants is written out."""
    values = {
        node.targets[0].id: node.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_table(node.value)
    }
    copied = copy.deepcopy(module)
    for node in ast.walk(copied) if values else ():
        if isinstance(node, Function) and node.name.startswith("test"):
            own = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            own |= {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
            Writing({name: value for name, value in values.items() if name not in own}).visit(node)
    return copied


def _is_table(value: ast.expr) -> bool:
    """Return whether a constant of a module lists what is written out, and not too much of it."""
    plain = not any(isinstance(node, ast.comprehension | ast.Starred | ast.Lambda) for node in ast.walk(value))
    return isinstance(value, ast.List | ast.Tuple | ast.Dict) and plain and len(ast.unparse(value)) <= _MAX_TABLE


class Writing(ast.NodeTransformer):
    """Puts values in place of the names of constants."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value of the name, or the name."""
        return copy.deepcopy(self._values.get(node.id, node))


def unrolled(node: Function) -> Iterator[Function]:
    """Yield the function without its docstring, once for each row of its tables.

    A table is what ``parametrize`` lists, or what the function's first loop runs over, where it is written out. Its
    names become assignments at the begin of the body.
    """
    plain = copy.deepcopy(node)
    if ast.get_docstring(plain) is not None and len(plain.body) > 1:
        plain.body = plain.body[1:]
    tables = [table for decorator in plain.decorator_list if (table := _table(decorator)) is not None]
    plain.decorator_list = [decorator for decorator in plain.decorator_list if _table(decorator) is None]
    for number in range(min(_MAX_ROWS, max((len(rows) for _, rows in tables), default=1))):
        function = copy.deepcopy(plain)
        given: list[ast.stmt] = []
        for names, rows in tables:
            row = zip(names, rows[number % len(rows)], strict=False)
            given += [_assigned(ast.Name(name, ast.Store()), value) for name, value in row]
            function.args.args = [argument for argument in function.args.args if argument.arg not in names]
        function.body = [*given, *_without_subtests(function.body)]
        yield from map(ast.fix_missing_locations, _loops_unrolled(function))


def failing_rows(node: Function, ids: Collection[str]) -> frozenset[int]:
    """Return which rows of the function's one ``parametrize`` the ids in brackets name, as pytest writes them."""
    tables = [table for decorator in node.decorator_list if (table := _table(decorator)) is not None]
    if len(tables) != 1:
        return frozenset()
    [(names, rows)] = tables
    cells = [[_id(name, value, at) for name, value in zip(names, row, strict=False)] for at, row in enumerate(rows)]
    return frozenset(at for at, texts in enumerate(cells) if "-".join(texts) in ids)


def _id(name: str, value: ast.expr, at: int) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str | int | float | None):
        return str(value.value)
    return f"{name}{at}"


def _without_subtests(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements with those inside ``self.subTest`` in its place."""
    kept: list[ast.stmt] = []
    for statement in body:
        nested = getattr(statement, "body", None)
        if isinstance(statement, ast.For | ast.With) and isinstance(nested, list):
            statement.body = _without_subtests(nested)
        subtest = isinstance(statement, ast.With) and "subTest(" in ast.unparse(statement.items[0])
        kept += statement.body if isinstance(statement, ast.With) and subtest else [statement]
    return kept


def _loops_unrolled(function: Function) -> Iterator[Function]:
    """Yield the function with its first loop over a written-out table as one pass, for each row."""
    tables = {
        target.id: statement.value
        for statement in function.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for at, loop in enumerate(function.body):
        rows = _rows(loop.iter, tables) if isinstance(loop, ast.For) else []
        for row in rows[:_MAX_ROWS]:
            once = copy.deepcopy(function)
            taken = once.body[at]
            assert isinstance(taken, ast.For)  # noqa: S101 (a copy of the loop)
            once.body[at : at + 1] = [*_bindings(taken.target, row), *taken.body]
            yield once
        if rows:
            return
    yield function


def _rows(iterated: ast.expr, tables: Mapping[str, ast.expr]) -> list[ast.expr]:
    """Return the rows of a table that a loop runs over: a list, a tuple, or the items of a dictionary."""
    method = iterated.func if isinstance(iterated, ast.Call) and not iterated.args else None
    items = isinstance(method, ast.Attribute) and method.attr == "items"
    table = method.value if isinstance(method, ast.Attribute) and items else iterated
    table = tables.get(table.id, table) if isinstance(table, ast.Name) else table
    if items and isinstance(table, ast.Dict) and None not in table.keys:
        return [ast.Tuple([key, value], ast.Load()) for key, value in zip(table.keys, table.values, strict=True) if key]
    return table.elts if isinstance(table, ast.List | ast.Tuple) and not items else []


def _bindings(target: ast.expr, row: ast.expr) -> list[ast.stmt]:
    """Return assignments of a row to the names of a loop, one by one where both are written out."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(row, ast.Tuple | ast.List):
        return [_assigned(target, row)]
    if len(target.elts) == len(row.elts):
        return [_assigned(name, value) for name, value in zip(target.elts, row.elts, strict=True)]
    return [_assigned(target, row)]


def _assigned(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([copy.deepcopy(target)], copy.deepcopy(value), lineno=0)


def _table(decorator: ast.expr) -> tuple[list[str], list[list[ast.expr]]] | None:
    """Return names and rows of a ``pytest.mark.parametrize`` with a table that is written out."""
    if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith("parametrize"):
        return None
    values = [*decorator.args, *(keyword.value for keyword in decorator.keywords if keyword.arg == "argvalues")]
    if len(values) < 2 or not isinstance(values[1], ast.List | ast.Tuple) or not values[1].elts:
        return None
    heading = values[0]
    if isinstance(heading, ast.Constant) and isinstance(heading.value, str):
        names = [name.strip() for name in heading.value.split(",") if name.strip()]
    elif isinstance(heading, ast.List | ast.Tuple):
        names = [str(name.value) for name in heading.elts if isinstance(name, ast.Constant)]
    else:
        return None
    rows = []
    for row in values[1].elts:
        if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
            rows.append(list(row.args))
        elif len(names) == 1:
            rows.append([row])
        elif isinstance(row, ast.List | ast.Tuple):
            rows.append(list(row.elts))
    return (names, rows) if rows and all(len(row) >= len(names) for row in rows) else None
