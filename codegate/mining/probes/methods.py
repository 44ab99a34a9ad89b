"""Test methods as plain functions: what their class gives them is written out in them."""

import ast
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from codegate.mining.probes.blocks import completed
from codegate.mining.probes.tables import Function, Writing, unrolled

_SETUPS: Final = ("setUp", "setup_method", "setUpClass", "setup_class")
_DEPTH: Final = 3


def standalone(function: Function, classes: Sequence[ast.ClassDef], settled: Collection[str] = ()) -> Function:
    """Return a test method without what it takes from its class, as far as that can be written out.

    Calls of the class's own helpers become the helpers' statements, ``setUp`` is done first, and attributes of the
    class are names. What is left of ``self`` is its assertions, and what cannot be written out.

    Args:
        function: the method; it is left as it is.
        classes: its class and those that it derives from, as far as the module has them.
        settled: ``calls_of`` the test before the change: they are left out where there are others.
    """
    plain = copy.deepcopy(function)
    if not classes:
        return plain
    methods = _helpers_of(classes)
    values = dict(_attributes(classes))
    if _calls_in(plain, methods) - set(settled):
        plain.body = [each for each in plain.body if ast.unparse(each) not in settled]
    body = _inlined(plain.body, methods, _DEPTH)
    given = [statement for name in _SETUPS if name in methods for statement in _statements(methods[name])]
    body = [*_inlined(given, methods, _DEPTH), *body]
    nodes = [node for statement in body for node in ast.walk(statement)]
    made = {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_own(node, ast.Store)}
    naming = _Naming((made | set(values)) - set(methods))
    body = [naming.visit(statement) for statement in body]
    used = {name for statement in body for name in _names(statement)}
    while more := {other for name in used & set(values) for other in _names(values[name])} - used:
        used |= more
    plain.body = [*(_assigned(name, value) for name, value in values.items() if name in used), *body]
    return ast.fix_missing_locations(plain)


def rows_of(module: ast.Module, wanted: set[str]) -> Iterator[Function]:
    """Yield the rows of the tests that are ``wanted``."""
    for node in module.body:
        if isinstance(node, Function) and node.name in wanted:
            yield from unrolled(node)
        elif isinstance(node, ast.ClassDef):
            classes = classes_of(module, node)
            for each in node.body:
                if isinstance(each, Function) and f"{node.name}.{each.name}" in wanted:
                    yield from unrolled(standalone(each, classes))


def calls_of(module: ast.Module, wanted: set[str]) -> Iterator[str]:
    """Yield the calls of their classes' helpers in the tests that are ``wanted``."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            tests = [each for each in node.body if isinstance(each, Function) and f"{node.name}.{each.name}" in wanted]
            for test in tests:
                yield from _calls_in(test, _helpers_of(classes_of(module, node)))


def _helpers_of(classes: Sequence[ast.ClassDef]) -> dict[str, ast.FunctionDef]:
    """Return the methods of a class and of those that it derives from, by name."""
    return {each.name: each for each in _members(classes) if isinstance(each, ast.FunctionDef)}


def _calls_in(function: Function, methods: Collection[str]) -> set[str]:
    """Return the statements of a test that call one of the ``methods`` of its class."""
    return {
        ast.unparse(each) for each in function.body
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and _is_own(each.value.func, ast.Load)
        and getattr(each.value.func, "attr", "") in methods
    }  # fmt: skip


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def classes_of(module: ast.Module, node: ast.ClassDef) -> list[ast.ClassDef]:
    """Return a class and those of the module that it derives from, the nearest first."""
    known = {each.name: each for each in module.body if isinstance(each, ast.ClassDef)}
    found = [node]
    for each in found:
        bases = [known[base.id] for base in each.bases if isinstance(base, ast.Name) and base.id in known]
        found += [base for base in bases if base not in found]
    return found


def _members(classes: Sequence[ast.ClassDef]) -> Iterator[ast.stmt]:
    """Yield what stands in the classes, the farthest first: what is nearer comes later and wins."""
    for each in reversed(classes):
        yield from each.body


def _attributes(classes: Sequence[ast.ClassDef]) -> Iterator[tuple[str, ast.expr]]:
    for node in _members(classes):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _statements(method: ast.FunctionDef) -> list[ast.stmt]:
    body = method.body[1:] if ast.get_docstring(method) is not None else method.body
    return [copy.deepcopy(statement) for statement in body if "super()" not in ast.unparse(statement)]


def _inlined(body: Sequence[ast.stmt], methods: Mapping[str, ast.FunctionDef], depth: int) -> list[ast.stmt]:
    """Return statements with the helpers' own in place of their calls."""
    found: list[ast.stmt] = []
    for statement in body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        helper = _helper(call, methods)
        bound = _bound(helper, call) if helper is not None and isinstance(call, ast.Call) else None
        if helper is not None and bound is not None and depth > 0 and not _returns(helper):
            own = _statements(helper)
            own = own[:-1] if isinstance(own[-1], ast.Return) else own
            own = _Folded(bound, own).body
            used = {name for each in own for name in _names(each)}
            found += [
                _assigned(name, value) for name, value in bound.items() if name in used and ast.unparse(value) != name
            ]
            found += _inlined(own, methods, depth - 1)
            continue
        for field in ("body", "orelse", "finalbody"):
            nested = getattr(statement, field, None)
            if isinstance(nested, list) and not isinstance(statement, Function | ast.ClassDef):
                setattr(statement, field, _inlined(nested, methods, depth))
        found.append(_Calling(methods).visit(statement))
    return found


def _helper(call: ast.expr | None, methods: Mapping[str, ast.FunctionDef]) -> ast.FunctionDef | None:
    if isinstance(call, ast.Call) and _is_own(call.func, ast.Load):
        assert isinstance(call.func, ast.Attribute)  # noqa: S101 (as asked)
        helper = methods.get(call.func.attr)
        if helper is not None and not helper.decorator_list and not helper.name.startswith("test"):
            return helper
    return None


def _bound(helper: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """Return what the call binds to the helper's parameters; None when it cannot be told."""
    taken = helper.args
    names = [argument.arg for argument in taken.args[1:]]
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    values = dict(zip(reversed(names), reversed(taken.defaults), strict=False))
    only = zip(taken.kwonlyargs, taken.kw_defaults, strict=True)
    values |= {argument.arg: default for argument, default in only if default is not None}
    values |= dict(zip(names, call.args, strict=False))
    names += [argument.arg for argument in taken.kwonlyargs]
    values |= {each.arg: each.value for each in call.keywords if each.arg in names}
    more, others = call.args[len(taken.args) - 1 :], [each for each in call.keywords if each.arg not in names]
    if (more and not taken.vararg) or (others and not taken.kwarg) or set(values) != set(names):
        return None
    if taken.vararg:
        values[taken.vararg.arg] = ast.Tuple(more, ast.Load())
    if taken.kwarg:
        values[taken.kwarg.arg] = ast.Dict([ast.Constant(each.arg) for each in others], [each.value for each in others])
    if any((_names(value) & set(values)) - {name} for name, value in values.items()):
        return None  # they are assigned one after the other
    return {name: copy.deepcopy(values[name]) for name in dict.fromkeys([*names, *values])}


def _returns(helper: ast.FunctionDef) -> bool:
    """Return whether a helper has a ``return`` before its last statement, or yields."""
    last = helper.body[-1]
    leaving = (node for node in ast.walk(helper) if node is not last)
    return any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await) for node in leaving)


class _Folded(ast.NodeTransformer):
    """The statements of a helper for one call: without what its options that are off would do.

    Args:
        bound: the values of its parameters.
        statements: its own; they are changed.
    """

    def __init__(self, bound: Mapping[str, ast.expr], statements: list[ast.stmt]) -> None:
        set_again = {
            node.id for each in statements for node in ast.walk(each)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }  # fmt: skip
        plain = ((name, _truth(value)) for name, value in bound.items() if name not in set_again)
        self._known = {name: truth for name, truth in plain if truth is not None}
        whole = self.visit(ast.Module(statements, []))
        self.body = completed(whole.body)

    def _of(self, test: ast.expr) -> bool | None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._of(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "get":
            return False if self._of(test.func.value) is False else None  # of no options
        return self._known.get(test.id) if isinstance(test, ast.Name) else _truth(test)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        """Return the branch that is taken, or the statement."""
        self.generic_visit(node)
        truth = self._of(node.test)
        return node if truth is None else node.body if truth else node.orelse

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        """Return the loop, or nothing where it runs over nothing."""
        self.generic_visit(node)
        over: ast.expr = node.iter
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and not over.args:
            over = over.func.value if over.func.attr in {"items", "keys", "values"} else over
        return node.orelse if self._of(over) is False else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Return the side of ``a or b`` that counts, or the expression."""
        self.generic_visit(node)
        first = self._of(node.values[0]) if isinstance(node.op, ast.Or) and len(node.values) == 2 else None
        return node if first is None else node.values[0 if first else 1]


def _truth(value: ast.expr) -> bool | None:
    """Return whether a value that is written out counts as true; None where that is not known."""
    if isinstance(value, ast.Constant):
        return bool(value.value)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return bool(value.elts)
    return bool(value.keys) if isinstance(value, ast.Dict) else None


def _is_own(node: ast.AST, context: type[ast.expr_context]) -> bool:
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
    return own and isinstance(getattr(node, "ctx", None), context)


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.fix_missing_locations(ast.Assign([ast.Name(name, ast.Store())], value, lineno=0))


class _Calling(ast.NodeTransformer):
    """Puts the value of a helper that only returns one in place of its calls."""

    def __init__(self, methods: Mapping[str, ast.FunctionDef]) -> None:
        self._methods = methods

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return the helper's value for this call, or the call."""
        self.generic_visit(node)
        helper = _helper(node, self._methods)
        bound = _bound(helper, node) if helper is not None else None
        body = _statements(helper) if helper is not None else []
        if bound is None or len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            return node
        value = Writing(bound).visit(body[0].value)
        assert isinstance(value, ast.expr)  # noqa: S101 (an expression's)
        return value


class _Naming(ast.NodeTransformer):
    """Makes attributes of ``self`` names of their own."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the name of the attribute, or the attribute."""
        self.generic_visit(node)
        if (_is_own(node, ast.Load) or _is_own(node, ast.Store)) and node.attr in self._names:
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node
