"""What a test module defines outside of its tests: imports, short helpers, and fixtures that only make a value."""

import ast
import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, takewhile
from pathlib import PurePosixPath
from typing import Final

from codegate.languages.syntax import parse_python
from codegate.suite import TreeFile

_MAX_LINES: Final = 20


def fixture_modules(tree: Mapping[str, TreeFile | None], path: str, source: ast.Module) -> list[ast.Module]:
    """Return the modules in which the fixtures of a test module stand, the nearest first.

    Their relative imports are absolute: a reader is shown them outside of the module.
    """
    modules = [(PurePosixPath(path).parent, source)]
    for folder in PurePosixPath(path).parents:
        conftest = tree.get((folder / "conftest.py").as_posix())
        module = parse_python(conftest.data) if conftest is not None else None
        modules += [] if module is None else [(folder, module)]
    return [_absolute(module, _package(tree, folder)) for folder, module in modules]


def _package(tree: Collection[str], folder: PurePosixPath) -> list[str]:
    """Return the names of the packages that the modules of a folder are in, the outermost first."""
    packages = takewhile(lambda each: (each / "__init__.py").as_posix() in tree, [folder, *folder.parents])
    return [each.name for each in packages if each.name][::-1]


def _absolute(module: ast.Module, package: list[str]) -> ast.Module:
    body = list(module.body)
    for number, node in enumerate(body):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(package):
            names = [*package[: len(package) - node.level + 1], *filter(None, [node.module])]
            body[number] = ast.ImportFrom(".".join(names), node.names, 0)
    return ast.Module(body, module.type_ignores)


def with_bases(module: ast.Module, path: str, tree: Mapping[str, TreeFile | None]) -> ast.Module:
    """Return a test module with the classes that its own derive from, in place of their imports from other tests.

    Args:
        module: the test module; it is left as it is.
        path: its file.
        tree: the files in which the others are looked for, from the root and beside the module.
    """
    folder = PurePosixPath(path).parent
    whole = _absolute(module, _package(tree, folder))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    bases = {base.id for node in classes for base in node.bases if isinstance(base, ast.Name)}
    body: list[ast.stmt] = []
    for node in whole.body:
        if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
            body.append(node)
            continue
        wanted = [each.name for each in node.names if each.name in bases and each.asname is None]
        found = {name: own for name in wanted if (own := _class_of(node.module, name, folder, tree))}
        names = [each for each in node.names if each.name not in found]
        body += [ast.ImportFrom(node.module, names, 0)] if names else []
        body += chain.from_iterable(found.values())
    return ast.Module(body, module.type_ignores)


def _class_of(module: str, name: str, folder: PurePosixPath, tree: Mapping[str, TreeFile | None]) -> list[ast.stmt]:
    """Return a class of another module, after what that gives it; an empty list where it is long, or not there."""
    for place in (PurePosixPath(), folder):
        path = place / f"{module.replace('.', '/')}.py"
        file = tree.get(path.as_posix())
        parsed = parse_python(file.data) if file is not None else None
        body = parsed.body if parsed is not None else []
        node = next((each for each in body if isinstance(each, ast.ClassDef) and each.name == name), None)
        if parsed is not None and node is not None:
            names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} - {name}
            context = context_of(_absolute(parsed, _package(tree, path.parent)), names)
            return [] if context is None else [*ast.parse(context).body, node]
    return []


def functions_in(modules: Iterable[ast.Module]) -> frozenset[str]:
    """Return the names of the functions of modules, fixtures among them."""
    return frozenset(node.name for module in modules for node in module.body if isinstance(node, ast.FunctionDef))


def made_by_fixtures(names: Iterable[str], modules: Sequence[ast.Module]) -> tuple[list[str], tuple[str, ...]]:
    """Return the code that makes the values of the fixtures ``names``, and the names for which there is none.

    A fixture that does more than return one value is no code to show.
    """
    code: list[str] = []
    others: list[str] = []
    for name in names:
        made = next((text for module in modules if (text := _made(name, module))), "")
        if made:
            code.append(made)
        else:
            others.append(name)
    return code, tuple(others)


def _made(name: str, module: ast.Module) -> str:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return | ast.Expr) else None
            value = value.value if isinstance(value, ast.Yield) else value
            if value is None or not any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list):
                return ""
            used = {inner.id for inner in ast.walk(value) if isinstance(inner, ast.Name)}
            if used & {argument.arg for argument in node.args.args}:
                return ""
            context = context_of(module, used)
            made = f"{name} = {ast.unparse(value)}"
            return "" if context is None else f"{context}\n{made}".lstrip("\n")
    return ""


def context_of(module: ast.Module, names: set[str]) -> str | None:
    """Return the imports and short definitions of a module that ``names`` need; None when they are long."""
    imports: list[str] = []
    definitions: list[str] = []
    wanted = set(names)
    for node in reversed(module.body):  # what is defined later may use what is defined before
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = [name for name in node.names if (name.asname or name.name.partition(".")[0]) in wanted]
            if bound:
                kept = (
                    ast.Import(bound)
                    if isinstance(node, ast.Import)
                    else ast.ImportFrom(node.module, bound, node.level)
                )
                imports.insert(0, ast.unparse(kept))
        elif (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in wanted) or (
            isinstance(node, ast.Assign) and any(getattr(target, "id", "") in wanted for target in node.targets)
        ):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) and len(node.body) > 1:
                node = copy.copy(node)  # noqa: PLW2901 (what it says of itself shows no bug)
                node.body = node.body[1:]
            definitions.insert(0, ast.unparse(node))
        else:
            continue
        if definitions and not isinstance(node, ast.Import | ast.ImportFrom):
            wanted |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    text = "\n".join([*imports, *definitions])
    return text if len(text.splitlines()) <= _MAX_LINES else None
