"""Classify a Python project's files by pytest's rules.

Pytest's configuration, file names and imports decide.
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final

from typing_extensions import override

from codegate.languages.contract import TEST_FOLDERS, FileRules, PathClass
from codegate.suite import Tree
from codegate.suite.declared import mapping, read_ini, read_toml, value_at

_TEST_MODULES: Final = frozenset({"test.py", "tests.py"})
_TEST_WORDS: Final = frozenset({"test", "tests", "testing"})
_IMPORT: Final = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]{0,4000})\)|([^\n(]+))|import[ \t]+([^\n]+))",
    re.MULTILINE,
)
_NOT_NAMES: Final = re.compile(r"[#;][^\n]*|\\")


#: Pytest's own patterns, and a usual one of ``unittest discover``.
_DEFAULT_PATTERNS: Final = ("test_*.py", "*_test.py", "*_tests.py")


class PythonFiles(FileRules):
    """Classifies Python files.

    Attributes:
        patterns: pytest's patterns for test modules.
        test_paths: pytest's ``testpaths``, if the repository sets them.
    """

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        settings = _settings(tree)
        paths = (path.removeprefix("./").strip("/") for path in _words(settings.get("testpaths")))
        self.patterns = tuple(_words(settings.get("python_files"))) or _DEFAULT_PATTERNS
        self.test_paths = tuple(path for path in paths if path not in {"", "."})

    @override
    def classify(self, path: str) -> PathClass | None:
        return "test_support" if path.rpartition("/")[2] == "conftest.py" else None

    @override
    def is_test(self, path: str) -> bool:
        # A file is a test if pytest or unittest would collect it.
        name = path.rpartition("/")[2]
        return name in _TEST_MODULES or (name not in {"conftest.py", "__init__.py"} and _matches(path, self.patterns))

    @override
    def is_test_area(self, path: str) -> bool:
        *folders, name = path.split("/")
        if folders and folders[0] == "testing" and not self.is_package("testing"):
            return True
        if name in _TEST_MODULES or _matches(path, self._telling_patterns):
            return not self._is_imported(path.removesuffix(".py"))
        return any(self._is_for_tests(folder) and path.startswith(f"{folder}/") for folder in self.test_paths)

    @override
    def is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self.tree

    @override
    def is_product(self, folder: str) -> bool:
        return self.is_package(folder) and self._is_imported(folder)

    @override
    def is_module(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name.endswith(".py") and bool(folder) and (name == "tasks.py" or self.is_package(folder))

    @cached_property
    def _telling_patterns(self) -> tuple[str, ...]:
        # A pattern that takes every module ("*.py") does not tell which files are tests.
        return tuple(pattern for pattern in self.patterns if pattern.strip("*.") != "py") or _DEFAULT_PATTERNS

    def _is_for_tests(self, folder: str) -> bool:
        # A folder of ``testpaths`` may also hold the package itself.
        named = _TEST_WORDS & set(re.split("[-_.]", folder.rpartition("/")[2].lower()))
        return bool(named) and not self.is_product(folder)

    def _is_imported(self, path: str) -> bool:
        # Only imports by source files of the same top folder count.
        top, *_ = parts = path.split("/")
        names = {".".join(parts[start:]) for start in range(len(parts) - 1)}
        return not names.isdisjoint(self._imports.get(top, frozenset()))

    @cached_property
    def _imports(self) -> dict[str, frozenset[str]]:
        """Return, by top folder, the names that source files import."""
        imports: dict[str, set[str]] = {}
        for path, file in self.tree.items():
            *folders, name = path.split("/")
            if not folders or not name.endswith(".py") or name == "conftest.py" or file.is_link:
                continue
            if TEST_FOLDERS.isdisjoint(map(str.lower, folders)) and not _matches(path, self._telling_patterns):
                imports.setdefault(folders[0], set()).update(_imported_names(folders, file.data))
        return {top: frozenset(names) for top, names in imports.items()}


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    if not path.endswith(".py"):
        return False
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(name, pattern)
        for pattern in patterns
    )


def _imported_names(folders: list[str], source: bytes) -> Iterator[str]:
    """Yield the dotted names that a module imports, with packages.

    ``folders`` are the parts of the module's path, for relative imports.
    """
    for origin, bracketed, members, modules in _IMPORT.findall(source):
        if modules:
            for module in _listed(modules):
                yield from _with_parents(module)
            continue
        package = origin.decode("ascii", "replace").lstrip(".")
        level = len(origin) - len(package.encode("ascii", "replace"))
        prefix = folders[: max(len(folders) - level + 1, 0)] if level else []
        base = ".".join([*prefix, *([package] if package else [])])
        yield from _with_parents(base)
        for member in _listed(bracketed or members):
            yield f"{base}.{member}"


def _listed(names: bytes) -> Iterator[str]:
    for part in _NOT_NAMES.sub("", names.decode("utf-8", "replace")).split(","):
        if part.strip():
            yield part.split()[0]


def _with_parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def _settings(tree: Tree) -> Mapping[str, Any]:
    """Return pytest's options from the first file that has them."""
    for name in ("pytest.toml", ".pytest.toml"):
        if name in tree:
            return mapping(read_toml(tree, name).get("pytest"))
    for name in ("pytest.ini", ".pytest.ini"):
        if name in tree:
            return read_ini(tree, name).get("pytest", {})
    tables = mapping(value_at(read_toml(tree, "pyproject.toml"), "tool", "pytest"))
    found = (
        mapping(tables.get("ini_options")) or tables,
        read_ini(tree, "tox.ini").get("pytest", {}),
        read_ini(tree, "setup.cfg").get("tool:pytest", {}),
    )
    return next((settings for settings in found if settings), {})


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
