"""New names of a fix in Python, by syntax: what it defines that was not there, and which of that its tests use."""

import ast
import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from codegate.languages.syntax import IDENTIFIER, decode, parse_python
from codegate.mining.cut import Cut
from codegate.mining.environments.declarations import import_roots
from codegate.mining.statements.vocabulary import absent
from codegate.suite import TreeFile

_MAX_ANNOTATION: Final = 80
_OPTION: Final = re.compile(r"--[a-z0-9][\w-]{1,60}")
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,6}")
_DUNDER: Final = re.compile(r"__\w+__")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class NewName:
    """A name that a fix adds: the plain name, and one line that says how to use it."""

    name: str
    signature: str


@dataclass
class Uses:
    """What the added lines of hidden tests use, and what the tests define themselves."""

    names: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)

    @property
    def code(self) -> set[str]:
        """Return every name in code that is not the tests' own."""
        return (self.names | self.keywords) - self.own


@dataclass(frozen=True)
class _Definition:
    """Something that a module defines; ``by_name`` when it can be a keyword of a call too, as a field can."""

    name: str
    signature: str
    parameters: frozenset[str] | None = None
    by_name: bool = False


def python_names(cut: Cut) -> tuple[list[NewName], set[str]]:
    """Return the names that the fix adds in Python and the tests use, and those without a signature to give."""
    uses = _uses(cut)
    found: list[NewName] = []
    code, texts, unread, stored = set[str](), set[str](), set[str](), set[str]()
    for path, file in cut.fix.items():
        tree = parse_python(file.data) if file is not None and path.endswith(".py") else None
        if file is None:
            continue
        if tree is None:
            unread |= (
                set(IDENTIFIER.findall(decode(file.data))) if path.endswith((".py", ".pyx", ".pyi", ".c")) else set()
            )
            continue
        module, old = _module(path, cut), cut.base.get(path)
        before = parse_python(old.data) if old is not None else None
        found += _new_definitions(tree, before, module, path.endswith("__init__.py"), uses)
        found += _new_texts(tree, before, uses)
        for node in ast.walk(tree):
            code |= set(_named(node))
            texts |= {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()
            stored |= _stored(node)
    known = {name.name for name in found}
    short = (text for text in texts if len(text) <= _MAX_ANNOTATION)
    words = {word for text in short for word in re.split(r"[\s,]+", text) if IDENTIFIER.fullmatch(word)}
    open_names = absent((uses.code - known) & (words | unread | stored), cut.base)
    found += [NewName(name, f"attribute {name}") for name in sorted(open_names & stored)]
    keywords = (open_names & uses.keywords & texts) - stored
    found += [NewName(name, f"keyword argument {name}") for name in sorted(keywords)]
    return found, {name for name in open_names - stored - keywords if name not in code or name in unread}


def added_numbers(new: TreeFile, old: TreeFile | None) -> set[int]:
    """Return the numbers (from 1) of the lines of ``new`` that ``old`` does not have."""
    before = {line.strip() for line in decode(old.data).split("\n")} if old is not None else set()
    return {number for number, line in enumerate(decode(new.data).split("\n"), 1) if line.strip() not in before}


def _uses(cut: Cut) -> Uses:
    uses = Uses()
    for path, file in cut.hidden.items():
        tree = parse_python(file.data) if file is not None and path.endswith(".py") else None
        if file is None or tree is None:
            continue
        added = added_numbers(file, cut.base.get(path))
        for node in ast.walk(tree):
            uses.own |= _defined(node)
            if getattr(node, "lineno", 0) in added:
                _note(node, uses)
    return uses


def _note(node: ast.AST, uses: Uses) -> None:
    uses.names |= set(_named(node))
    if isinstance(node, ast.keyword) and node.arg:
        uses.keywords.add(node.arg)
    elif isinstance(node, ast.Call):
        uses.called |= set(_named(node.func))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        uses.texts.append(node.value[:1000])
        if _DOTTED.fullmatch(node.value):  # mock.patch("package.module.name")
            uses.names |= set(node.value.split("."))


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.ImportFrom | ast.Import):
        for alias in node.names:
            yield from alias.name.split(".")


def _defined(node: ast.AST) -> set[str]:
    if isinstance(node, _Function | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    return {node.asname} if isinstance(node, ast.alias) and node.asname else set()


def _stored(node: ast.AST) -> set[str]:
    """Return the attribute that ``node`` sets on some object."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return {node.attr}
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr" and len(node.args) > 1:
        name = node.args[1]
        return {name.value} if isinstance(name, ast.Constant) and isinstance(name.value, str) else set()
    return set()


def _new_definitions(
    tree: ast.Module, before: ast.Module | None, module: str, package: bool, uses: Uses
) -> Iterator[NewName]:
    old: dict[str, frozenset[str]] = {}
    for key, definition in _definitions(before.body, module, package) if before is not None else ():
        old[key] = old.get(key, frozenset()) | (definition.parameters or frozenset())  # of all overloads together
    for key, definition in _definitions(tree.body, module, package):
        if _DUNDER.fullmatch(definition.name):
            continue
        used = uses.names | uses.keywords if definition.by_name else uses.names
        if key not in old:
            if definition.name in used:
                yield NewName(definition.name, definition.signature)
        elif definition.parameters is not None:
            new = definition.parameters - old[key]
            if new and (new & uses.keywords or definition.name in uses.called):
                yield NewName(definition.name, definition.signature)
                yield from (NewName(name, definition.signature) for name in sorted(new & uses.keywords))


def _definitions(body: Iterable[ast.stmt], place: str, package: bool) -> Iterator[tuple[str, _Definition]]:
    """Yield what the statements of a module define, with a key that tells one definition from another."""
    for node in _flat(body):
        if isinstance(node, _Function):
            yield f"{place}.{node.name}", _function(node, place)
        elif isinstance(node, ast.ClassDef):
            yield from _class(node, f"{place}.{node.name}")
        elif isinstance(node, ast.ImportFrom) and package:
            for alias in node.names:
                name = alias.asname or alias.name
                yield f"{place}.{name}", _Definition(name, f"from {place} import {name}")
        else:
            yield from ((f"{place}.{name}", _Definition(name, text)) for name, text in _assigned(node, place))


def _class(node: ast.ClassDef, place: str) -> Iterator[tuple[str, _Definition]]:
    bases = ", ".join(ast.unparse(base)[:_MAX_ANNOTATION] for base in node.bases)
    start = next(
        (inner for inner in _flat(node.body) if isinstance(inner, _Function) and inner.name == "__init__"), None
    )
    shown = f"class {place}({bases})" if bases else f"class {place}"
    if start is not None:
        shown = f"{shown}: __init__{_arguments(start)}"
    elif any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        fields = [inner for inner in node.body if isinstance(inner, ast.AnnAssign)]
        shown = (
            f"{shown}: {', '.join(f'{ast.unparse(each.target)}: {_annotation(each.annotation)}' for each in fields)}"
        )
    parameters = _parameters(start) if start is not None else None
    yield place, _Definition(node.name, shown, parameters)
    for inner in _flat(node.body):
        if isinstance(inner, _Function):
            if not any(ast.unparse(mark).endswith((".setter", ".deleter")) for mark in inner.decorator_list):
                yield f"{place}.{inner.name}", _function(inner, place)
            for name in sorted(_attributes(inner)):
                yield f"{place}.{name}", _Definition(name, f"{place}.{name}")
        elif isinstance(inner, ast.ClassDef):
            yield from _class(inner, f"{place}.{inner.name}")
        else:
            for name, text in _assigned(inner, place):
                yield f"{place}.{name}", _Definition(name, text, by_name=True)


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body, those under ``if``, ``try`` and ``with`` included."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _flat(node.body)
            yield from _flat(getattr(node, "orelse", []))
            for handler in getattr(node, "handlers", []):
                yield from _flat(handler.body)
        else:
            yield node


def _function(node: _Function, place: str) -> _Definition:
    name = node.name
    marks = [ast.unparse(decorator) for decorator in node.decorator_list]
    returns = f" -> {_annotation(node.returns)}" if node.returns is not None else ""
    if any(mark == "property" or mark.endswith("cached_property") for mark in marks):
        return _Definition(name, f"property {place}.{name}{returns}")
    kind = next((f"{mark} " for mark in marks if mark in {"classmethod", "staticmethod"}), "")
    kind = f"async {kind}" if isinstance(node, ast.AsyncFunctionDef) else kind
    return _Definition(name, f"{kind}{place}.{name}{_arguments(node)}{returns}", _parameters(node))


def _parameters(node: _Function) -> frozenset[str]:
    arguments = node.args
    return frozenset(each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])


def _arguments(node: _Function) -> str:
    """Return the parameters as written, without the defaults that may give the fix away."""
    arguments = copy.deepcopy(node.args)
    arguments.defaults = [_default(default) for default in arguments.defaults]
    arguments.kw_defaults = [None if default is None else _default(default) for default in arguments.kw_defaults]
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg) and each.annotation and len(ast.unparse(each.annotation)) > _MAX_ANNOTATION:
            each.annotation = None
    return f"({ast.unparse(arguments)})"


def _default(node: ast.expr) -> ast.expr:
    plain = isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))
    return node if plain else ast.Constant(...)


def _annotation(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _MAX_ANNOTATION else "..."


def _assigned(node: ast.stmt, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, f"{place}.{node.target.id}: {_annotation(node.annotation)}"
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name):
                    yield each.id, f"{place}.{each.id}"


def _attributes(method: _Function) -> set[str]:
    first = next((each.arg for each in [*method.args.posonlyargs, *method.args.args]), None)
    return {
        node.attr
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == first
    }


def _new_texts(tree: ast.Module, before: ast.Module | None, uses: Uses) -> Iterator[NewName]:
    """Yield the command-line options and environment variables that are new."""
    new = _texts(tree) - (_texts(before) if before else set())
    said = {word for text in uses.texts for word in re.split(r"[\s=,'\"]+", text)}
    for text in sorted(new & said):
        if _OPTION.fullmatch(text):
            yield NewName(text, f"command-line option {text}")
        elif _VARIABLE.fullmatch(text):
            yield NewName(text, f"environment variable {text}")


def _texts(tree: ast.Module) -> set[str]:
    """Return the text arguments that may name an option or an environment variable."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found |= {
                each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
        elif isinstance(node, ast.Subscript | ast.Compare):
            inner = [node.slice] if isinstance(node, ast.Subscript) else [node.left]
            found |= {each.value for each in inner if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return found


def _module(path: str, cut: Cut) -> str:
    roots = sorted((root for root in import_roots(cut.fixed) if root), key=len, reverse=True)
    root = next((root for root in roots if path.startswith(f"{root}/")), "")
    place = path.removeprefix(f"{root}/").removesuffix(".py").removesuffix("/__init__")
    return place.removeprefix("src/").replace("/", ".")
