"""Copy a test's imported asserting helpers into its file.

Helpers are functions that the file imports, and methods of base classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from os.path import commonpath
from typing import TYPE_CHECKING, Final

from codegate.languages.python.around import definitions, methods_of
from codegate.languages.python.names import definitions_for, free_names, import_origins, imported, undecorated
from codegate.languages.python.statements import asserts, can_be_inlined, dedented, shifted
from codegate.languages.syntax import children_of, decode, field, parse, spliced, text_of
from codegate.suite import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_STEPS: Final = 4
"""Most imports, and most base classes, between a test and its helper."""
_FIRST: Final = frozenset({"comment", "expression_statement"})
"""Types of statements that may stand before or between a file's first imports, such as its docstring."""
_MAX_LOOKUPS: Final = 10_000
"""Most names to look up for one test file, because base classes of base classes multiply."""


@dataclass(frozen=True)
class _File:
    """A file's content, parsed at most once."""

    data: bytes

    @cached_property
    def root(self) -> "Node":
        return parse(decode(self.data), "python")

    @cached_property
    def definitions(self) -> "dict[str, Node]":
        return dict(definitions(self.root))

    @cached_property
    def origins(self) -> dict[str, str]:
        return import_origins(self.root)


@dataclass
class _Sources:
    """A tree's files, and the number of lookups left."""

    files: dict[str, _File]
    lookups: int = _MAX_LOOKUPS


@dataclass(frozen=True)
class _Module:
    """A Python file, and the module name that tests import."""

    sources: _Sources
    path: str
    name: str = ""

    @property
    def file(self) -> _File:
        return self.sources.files[self.path]

    @property
    def root(self) -> "Node":
        return self.file.root

    def find(self, name: str, steps: int = _MAX_STEPS) -> "tuple[_Module, Node] | None":
        """Return a class or function with its module, or None.

        ``steps`` limits how many imports are followed.
        """
        self.sources.lookups -= 1
        if self.sources.lookups < 0:
            return None
        own = self.file.definitions.get(name)
        if own is not None:
            return self, own
        head, dot, rest = name.partition(".")
        module, _, last = (self.file.origins.get(head, "") + dot + rest).rpartition(".")
        stem = f"/{module.lstrip('.').replace('.', '/')}"
        paths = [path for path in self.sources.files if f"/{path}".endswith((f"{stem}.py", f"{stem}/__init__.py"))]
        if not (paths and steps) or (self.name and module.startswith(".")):
            return None  # relative imports of other files are not followed
        nearest = max(paths, key=lambda path: len(commonpath([path, self.path])))
        return _Module(self.sources, nearest, module).find(last, steps - 1)

    def methods(
        self, around: "Node", seen: "dict[Node, int]", steps: int = _MAX_STEPS
    ) -> "Iterator[tuple[_Module, Node]]":
        """Yield a class's methods, then its base classes' methods.

        ``steps`` limits the levels of base classes. ``seen`` maps each visited class to the ``steps`` that were left at
        its visit.
        """
        if seen.get(around, -1) >= steps:
            return
        if around not in seen:
            yield from ((self, method) for method in methods_of(around).values())
        seen[around] = steps
        for base in children_of(around, "superclasses") if steps else ():
            found = self.find(text_of(base))
            yield from found[0].methods(found[1], seen, steps - 1) if found is not None else ()

    def helpers(self) -> "Iterator[tuple[Node, _Module, Node]]":
        """Yield each helper as target, module and helper.

        The target is the node that gets a copy of the helper: a class body or the whole file. The module declares the
        helper.
        """
        for around in map(undecorated, self.root.named_children):
            body = field(around, "body") if around.type == "class_definition" else None
            yield from ((body, *found) for found in self.methods(around, {})) if body is not None else ()
        found = map(self.find, sorted(imported(self.root)))
        yield from ((self.root, *each) for each in found if each is not None and each[1].type == "function_definition")

    def imports(self, helper: "Node") -> Iterator[tuple[str, str]]:
        """Yield names that a helper uses, with their import statements.

        A test file that gets a copy of ``helper`` needs these statements. Nothing is yielded if this module is the test
        file itself.
        """
        for name in sorted(free_names(parse(dedented(helper), "python"))) if self.name else ():
            text, *others = definitions_for(self.root, frozenset({name})) or [""]
            plain = text.startswith(("import ", "from ")) and not (text.startswith("from .") or others)
            yield name, text if plain else f"from {self.name} import {name}"


def with_helpers(path: str, tree: Tree) -> str:
    """Return a test file that contains its imported asserting helpers."""
    test, imports, edits = (
        _Module(_Sources({each: _File(file.data) for each, file in tree.items()}), path),
        dict[str, str](),
        list[tuple[int, int, bytes]](),
    )
    seen: set[tuple[Node, str]] = set()
    for place, module, helper in test.helpers():
        name, around = text_of(field(helper, "name")), helper.parent
        new = (place, name) not in seen and around not in (None, place) and f"{name}(" in text_of(place)
        seen.add((place, name))  # it hides base classes' helpers of this name
        plain = can_be_inlined(helper) and not text_of(around).startswith("@") and "super()" not in text_of(helper)
        if new and plain and asserts(helper):
            here = (each for each in module.imports(helper) if definitions_for(test.root, frozenset({each[0]})) is None)
            imports = {**dict(here), **imports}
            text = shifted(f"\n{dedented(helper)}", place.start_point.column)
            edits.append((place.end_byte, place.end_byte, f"\n{text}".encode()))
    data = decode(tree[path].data).encode("utf-8", "replace")
    if imports:  # before the helpers, because annotations are evaluated where they stand
        at = _end_of_imports(test.root)
        edits.append((at, at, "\n".join(["", *imports.values(), ""]).encode()))
    return spliced(data, edits, (0, len(data))).decode("utf-8", "replace")


def _end_of_imports(module: "Node") -> int:
    """Return where a file's leading imports end."""
    first = takewhile(lambda node: node.type in _FIRST or "import" in node.type, module.named_children)
    return max((node.end_byte for node in first if "import" in node.type), default=module.end_byte)
