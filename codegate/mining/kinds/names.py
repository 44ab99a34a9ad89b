"""Names that a change declares for others to use, and which of them its tests use: what makes a test a feature's.

Python is read as a syntax tree; of every other language (and of Python that this interpreter cannot parse), the
declarations are found line by line.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from codegate.languages.syntax import IDENTIFIER, decode, parse_python
from codegate.mining.cut import Cut
from codegate.suite import TreeFile

Sort = Literal["definition", "parameter", "attribute", "operator"]

_MAX_BYTES: Final = 1 << 20
_OF: Final = "()."
_DECLARATION: Final = re.compile(
    r"^[ \t]*(?:(?:export|default|public|static|async|abstract|declare|pub)[ \t]+){0,5}"
    r"(?:(?:def|function\*?|class|interface|type|enum|struct|trait|fn|const|let|var)[ \t]+"
    r"|func[ \t]+(?:\([^()\n]{0,200}\)[ \t]*)?)(?P<declared>[A-Za-z_$][\w$]*)"
    r"|^[ \t]*(?:module\.)?exports\.(?P<exported>[A-Za-z_$][\w$]*)[ \t]*="
    r"|\.prototype\.(?P<hung>[A-Za-z_$][\w$]*)[ \t]*="
    r"|^[ \t]{1,8}(?:(?:async|static|get|set)[ \t]+){0,2}(?P<method>[A-Za-z_$][\w$]*)"
    r"[ \t]?\([^()\n]{0,200}\)[ \t]*\{[ \t]*$",
    re.MULTILINE,
)
_STATEMENTS: Final = frozenset({"if", "for", "while", "switch", "catch", "function", "return", "with", "constructor"})
#: Initialising, copying, pickling, comparing and hashing are mended more often than they are offered.
_MENDED_OPERATORS: Final = frozenset(
    {"__init__", "__new__", "__del__", "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__",
     "__setstate__", "__getnewargs__", "__eq__", "__ne__", "__hash__", "__slots__", "__all__", "__version__",
     "__module__", "__doc__", "__name__", "__qualname__", "__dict__", "__wrapped__"}
)  # fmt: skip


@dataclass(frozen=True)
class DeclaredNames:
    """Public names that a fix declares and its base does not.

    Attributes:
        used: those that the added lines of the tests have as a word, by what they are; every operator.
        unused: the other definitions.
    """

    used: Mapping[str, Sort]
    unused: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """Return the last part of each name."""
        return frozenset(_last(name) for name in chain(self.used, self.unused))


def declared_names(cut: Cut) -> DeclaredNames:
    """Return the public names that ``cut`` adds to its source. What moved within the change is not new."""
    before = dict(chain.from_iterable(_declared(path, cut.base.get(path)) for path in cut.fix))
    after = dict(chain.from_iterable(_declared(path, file) for path, file in cut.fix.items()))
    gone = {_last(name) for name in before.keys() - after.keys()}
    new = {
        name: after[name]
        for name in sorted(after.keys() - before.keys())
        # A parameter is new only of what was there to be called.
        if _last(name) not in gone and (_OF not in name or name.partition(_OF)[0] in before)
    }
    tested = set(chain.from_iterable(IDENTIFIER.findall(line) for line in added_test_lines(cut)))
    used = {name: sort for name, sort in new.items() if sort == "operator" or _last(name) in tested}
    return DeclaredNames(used, tuple(name for name, sort in new.items() if sort == "definition" and name not in used))


def added_test_lines(cut: Cut) -> list[str]:
    """Return the lines of the hidden test files that their base versions do not have."""
    return [line for path, file in cut.hidden.items() for line in _added(file, cut.base.get(path))]


def added_source_lines(cut: Cut) -> list[str]:
    """Return the lines of the fixed source files that their base versions do not have."""
    return [line for path, file in cut.fix.items() for line in _added(file, cut.base.get(path))]


def function_names(file: TreeFile | None) -> frozenset[str]:
    """Return the names of all functions in a Python file; empty where it cannot be read."""
    module = parse_python(file.data) if file is not None and _readable(file) else None
    if module is None:
        return frozenset()
    return frozenset(node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _added(file: TreeFile | None, old: TreeFile | None) -> list[str]:
    if file is None or not _readable(file):
        return []
    before = set(decode(old.data).splitlines()) if old is not None else set()
    return [line for line in decode(file.data).splitlines() if line not in before]


def _readable(file: TreeFile) -> bool:
    return not file.is_link and len(file.data) <= _MAX_BYTES and b"\0" not in file.data


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _declared(path: str, file: TreeFile | None) -> list[tuple[str, Sort]]:
    if file is None or not _readable(file):
        return []
    module = parse_python(file.data) if path.endswith((".py", ".pyi")) else None
    if module is not None:
        try:
            return list(_body(module.body, ""))
        except RecursionError:
            return []
    return [(name, "definition") for name in _listed(decode(file.data), go=path.endswith(".go"))]


def _listed(text: str, *, go: bool) -> Iterator[str]:
    for match in _DECLARATION.finditer(text):
        name = match[match.lastgroup or 0]
        private = not name[0].isupper() if go else name.startswith("_") or name in _STATEMENTS
        if not private:
            yield name


def _body(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Sort]]:
    """Yield what a module's or a class's body declares, and what its functions hang on objects."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _function(node, prefix)
        elif isinstance(node, ast.ClassDef):
            yield from _public(prefix + node.name, "definition")
            if not node.name.startswith("_"):
                yield from _body(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in chain.from_iterable(map(ast.walk, targets)):
                if isinstance(target, ast.Name):
                    yield from _public(prefix + target.id, "definition")
        elif isinstance(node, ast.If | ast.Try):
            handlers = [handler.body for handler in node.handlers] if isinstance(node, ast.Try) else []
            for block in (node.body, node.orelse, *handlers):
                yield from _body(block, prefix)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str) -> Iterator[tuple[str, Sort]]:
    yield from _public(prefix + node.name, "definition")
    if not node.name.startswith("_") or node.name in {"__init__", "__new__", "__call__"}:
        owner = prefix[:-1] if prefix and node.name in {"__init__", "__new__"} else prefix + node.name
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg not in {"self", "cls"}:
                yield from _public(f"{owner}{_OF}{argument.arg}", "parameter")
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            yield from _public(prefix + inner.attr, "attribute")
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner is not node:
            yield from _public(f"{prefix}{node.name}.{inner.name}", "attribute")


def _public(name: str, sort: Sort) -> Iterator[tuple[str, Sort]]:
    last = _last(name)
    if last.startswith("__") and last.endswith("__"):
        if sort == "definition" and last not in _MENDED_OPERATORS:
            yield name, "operator"
    elif not last.startswith("_"):
        yield name, sort
