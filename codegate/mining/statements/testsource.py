"""Read single hidden tests, and count their exact wordings."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from codegate.languages.syntax import decode, parse_python
from codegate.mining.cut import Cut

_LONG: Final = 20
_SCRIPT: Final = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte)$")
_JS_TEST: Final = re.compile(r"""\b(?:it|test|specify)(?:\.\w{1,20}){0,3}\s{0,8}\(\s{0,80}(['"`])""")
_JS_EXACT: Final = re.compile(
    r"""\.to(?:Match\w{0,20}|Throw\w{0,20})Snapshot\(|\bt\.snapshot\(|\.to(?:Throw|ThrowError|throw)\(\s{0,80}['"`/]"""
    r"""|(?:[eE]qual|\.toBe|\.(?:is|be)|throws|rejects)\([^;\n]{0,300}?(?:"[^"\n]{20,}"|'[^'\n]{20,}'|`[^`]{20,}`)"""
)
_GO_EXACT: Final = re.compile(
    r"""[!=]=\s{0,8}(?:"(?:[^"\\\n]|\\.){20,}"|`[^`]{20,}`)|\bEqual\w{0,20}\([^\n]{0,300}?"[^"\n]{20,}\""""
)
_PATTERNS: Final = frozenset({"assertRaisesRegex", "assertWarnsRegex", "assertRegex", "assertRaisesMessage"})
_EQUALITIES: Final = frozenset({"assertEqual", "assertEquals", "assertMultiLineEqual", "assertNotEqual", "eq_"})
_SNAPSHOTS: Final = frozenset({"snapshot", "assert_match", "assert_match_snapshot", "assertMatchSnapshot", "check"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_tests(cut: Cut, tests: Iterable[str]) -> list[Function]:
    """Return the functions of those ``tests`` that are Python."""
    modules: dict[str, ast.Module | None] = {}
    found: dict[str, Function | None] = {}
    for test in tests:
        whole = test.partition("[")[0]
        path, _, name = whole.partition("::")
        if path not in modules:
            modules[path] = _read(cut, path)
        module = modules[path]
        if module is not None and whole not in found:
            found[whole] = _function(module.body, name.replace("::", ".").split("."))
    return [node for node in found.values() if node is not None]


def exact_texts(cut: Cut, tests: Iterable[str]) -> int | None:
    """Return how many assertions demand exact wording, or None.

    Counted are message patterns (``match=``, ``assertRaisesRegex``, ``toThrow("…")``), equality with text of at least
    20 characters, and snapshots: a right fix can miss each of them by a word. None: no test's source was found.

    Args:
        cut: the problem's parts.
        tests: ids, those that fail before the fix and pass after it.
    """
    tests = tuple(tests)
    found = [_count(node) for node in python_tests(cut, tests)]
    for region, pattern in _regions(cut, tests):
        found.append(len(pattern.findall(region)))
    return sum(found) if found else None


def _read(cut: Cut, path: str) -> ast.Module | None:
    file = cut.hidden.get(path) or cut.fixed.get(path)
    tree = parse_python(file.data) if file is not None and path.endswith(".py") else None
    return tree if tree is not None else None


def _function(body: list[ast.stmt], names: list[str]) -> Function | None:
    for node in reversed(body):  # the last definition of a name is the one that counts
        if isinstance(node, ast.ClassDef) and len(names) > 1 and node.name == names[0]:
            return _function(node.body, names[1:])
        if isinstance(node, Function) and names == [node.name]:
            return node
        if isinstance(node, ast.If | ast.With | ast.Try):
            inner = _function([*node.body, *getattr(node, "orelse", [])], names)
            if inner is not None:
                return inner
    return None


def _count(function: Function) -> int:
    count = 0
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            texts = any(_length(argument) >= _LONG for argument in node.args[:2])
            matched = any(keyword.arg == "match" for keyword in node.keywords) and name in {"raises", "warns"}
            snapshot = name in _SNAPSHOTS - {"check"} or (name == "check" and "snapshot" in ast.dump(node.func))
            count += matched or name in _PATTERNS or (name in _EQUALITIES and texts) or snapshot
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            equal = any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
            compared = any(getattr(side, "id", "") == "snapshot" for side in sides)
            count += equal and (compared or any(_length(side) >= _LONG for side in sides))
    return count


def _length(node: ast.expr) -> int:
    """Return the length of an expression's literal text, at least."""
    if isinstance(node, ast.Constant):
        return len(node.value) if isinstance(node.value, str | bytes) else 0
    if isinstance(node, ast.JoinedStr):
        return sum(map(_length, node.values))
    return _length(node.left) + _length(node.right) if isinstance(node, ast.BinOp) else 0


def _regions(cut: Cut, tests: tuple[str, ...]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield JavaScript and Go tests with the pattern to count."""
    done: set[tuple[str, int]] = set()
    for test in tests:
        path, _, name = test.partition("::")
        if _SCRIPT.search(path):
            places, pattern = _javascript(cut, path, name.rpartition(" > ")[2]), _JS_EXACT
        elif not path.endswith(".py"):
            places, pattern = _go(cut, path, name.partition("/")[0]), _GO_EXACT
        else:
            continue
        for file, start, region in places:
            if (file, start) not in done:
                done.add((file, start))
                yield region, pattern


def _javascript(cut: Cut, path: str, title: str) -> Iterator[tuple[str, int, str]]:
    file = cut.hidden.get(path)
    text = decode(file.data) if file is not None else ""
    starts = [match.end() for match in _JS_TEST.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        if title and text.startswith(title, start):
            yield path, start, text[start:end]


def _go(cut: Cut, package: str, name: str) -> Iterator[tuple[str, int, str]]:
    opening = re.compile(rf"^func {re.escape(name)}\(", re.MULTILINE)
    for path, file in cut.hidden.items():
        near = path == package or path.rpartition("/")[0].endswith(package.removeprefix("./")) or "/" not in path
        if file is None or not path.endswith(".go") or not (near or package.endswith(path.rpartition("/")[0])):
            continue
        text = decode(file.data)
        for match in opening.finditer(text):
            end = text.find("\nfunc ", match.end())
            yield path, match.start(), text[match.start() : end if end >= 0 else len(text)]
