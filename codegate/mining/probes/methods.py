"""Test methods as plain functions: what their class gives them is written out in them."""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from codegate.mining.probes.tables import Function, Writing

_SETUPS: Final = ("setUp", "setup_method", "setUpClass", "setup_class")
_DEPTH: Final = 3


def standalone(function: Function, classes: Sequence[ast.ClassDef]) -> Function:
    """Return a test method without what it takes from its class, as far as that can be written out.

    Calls of the class's own helpers become the helpers' statements, ``setUp`` is done first, and attributes of the
    class are names. What is left of ``self`` is its assertions, and what cannot be written out.

    Args:
        function: the method; it is left as it is.
        classes: its class and those that it derives from, as far as the module has them.
    """
    plain = copy.deepcopy(function)
    if not classes:
        return plain
    methods = {each.name: each for each in _members(classes) if isinstance(each, ast.FunctionDef)}
    values = dict(_attributes(classes))
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
            found += [_assigned(name, value) for name, value in bound.items() if ast.unparse(value) != name]
            found += _inlined(_statements(helper), methods, depth - 1)
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
    if taken.vararg or taken.kwarg or taken.kwonlyargs or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    values = dict(zip(reversed(names), reversed(taken.defaults), strict=False))
    values |= dict(zip(names, call.args, strict=False))
    values |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in names}
    complete = len(call.args) <= len(names) and set(values) == set(names)
    return {name: copy.deepcopy(values[name]) for name in names} if complete else None


def _returns(helper: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(helper))


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
