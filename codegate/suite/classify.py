"""Classify a repository's files (source, test, docs, …): one rule for mining, solving and grading.

It goes by path segments, the test runner's own configuration and imports; never by substring (``src/_pytest/`` and
``django/test/`` are source).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, Literal

from codegate.suite.go_settings import classify_go, is_go_test
from codegate.suite.javascript_settings import JAVASCRIPT_SUFFIXES, classify_javascript, is_javascript_test
from codegate.suite.pytest_settings import read_settings, words
from codegate.suite.tree import Tree

PathClass = Literal["source", "test", "test_support", "configuration", "dependencies", "docs", "ci", "generated"]

_TEST_FOLDERS: Final = frozenset(
    {"test", "tests", "testdata", "test_data", "__snapshots__", "__tests__", "__mocks__", "__fixtures__"}
)
_TEST_MODULES: Final = frozenset({"test.py", "tests.py"})
_TEST_WORDS: Final = frozenset({"test", "tests", "testing"})
_CI_FOLDERS: Final = frozenset({".github", ".gitlab", ".circleci", ".buildkite", ".azure-pipelines", ".woodpecker"})
_CI_FILES: Final = frozenset(
    {".gitlab-ci.yml", ".travis.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml", "Jenkinsfile"}
    | {".pre-commit-config.yaml", "codecov.yml", ".codecov.yml", ".readthedocs.yml", ".readthedocs.yaml"}
)
_CONFIGURATION_FILES: Final = frozenset(
    {"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"}
    | {"noxfile.py", "tasks.py", "Makefile", "makefile", "GNUmakefile", "Justfile", "justfile", "MANIFEST.in"}
    | {"mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".flake8", ".pylintrc", ".isort.cfg", ".editorconfig"}
    | {".gitignore", ".gitattributes", ".gitmodules", ".mailmap", ".coveragerc", ".bumpversion.cfg"}
    | {"Dockerfile", "docker-compose.yml"}
)
_DEPENDENCY_FILES: Final = frozenset(
    {"Pipfile", "Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "pixi.lock", "environment.yml"}
    | {"package.json", "package-lock.json", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock"}
)
_REQUIREMENTS: Final = re.compile(r"(^|[-_/])(requirements|constraints)([-_.][\w.-]+)?(/[\w.-]+)?\.(txt|in)$")
_DOC_FOLDERS: Final = frozenset(
    {"doc", "docs", "examples", "bench", "benchmarks", "changelog.d", "newsfragments", "releasenotes"}
)
_DOC_FOLDERS_UNLESS_PACKAGES: Final = frozenset({"changelog", "changes", "news"})
_DOC_SUFFIXES: Final = frozenset({".md", ".rst", ".adoc", ".markdown"})
_CODE_SUFFIXES: Final = frozenset({".py", ".go", *JAVASCRIPT_SUFFIXES})
_DOC_NAME: Final = re.compile(
    r"(README|CHANGE(S|LOG)|NEWS|HISTORY|AUTHORS|CONTRIBUTORS|LICEN[CS]E|COPYING|NOTICE|RELEASE[-_]NOTES|TO[D]O)"
    r"([-_.][\w.-]*)?(\.txt)?",
    re.IGNORECASE,
)
_GENERATED: Final = re.compile(
    r"(^|/)(_vendor|vendor|vendored|third_party|node_modules|__pycache__)/|_pb2(_grpc)?\.pyi?$"
)
_IMPORT: Final = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]{0,4000})\)|([^\n(]+))|import[ \t]+([^\n]+))",
    re.MULTILINE,
)
_NOT_NAMES: Final = re.compile(r"[#;][^\n]*|\\")

DEFAULT_PYTHON_FILES: Final = ("test_*.py", "*_test.py")


@dataclass(frozen=True)
class PathClassifier:
    """Classifies the paths of one tree.

    Attributes:
        python_files: pytest's patterns for test modules.
        test_paths: pytest's ``testpaths``, when the repository sets them.
    """

    tree: Tree = field(repr=False)
    python_files: tuple[str, ...] = DEFAULT_PYTHON_FILES
    test_paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, tree: Tree) -> "PathClassifier":
        """Return the classifier for ``tree``, with the test runner's configuration found in it."""
        settings = read_settings(tree)
        paths = (path.removeprefix("./").strip("/") for path in words(settings.get("testpaths")))
        return cls(
            tree,
            tuple(words(settings.get("python_files"))) or DEFAULT_PYTHON_FILES,
            tuple(path for path in paths if path not in {"", "."}),
        )

    def classify(self, path: str) -> PathClass:
        """Return the class of ``path``, which need not exist in the tree."""
        folder, _, name = path.rpartition("/")
        top = path.partition("/")[0] if folder else ""
        if name == "conftest.py":
            return "test_support"
        found = None if top in _CI_FOLDERS else classify_go(self.tree, path) or classify_javascript(self.tree, path)
        if found is not None:
            return found
        if self._is_test_area(path):
            return "test" if self.is_test_module(path) else "test_support"
        if top in _CI_FOLDERS or (not folder and name in _CI_FILES):
            return "ci"
        if name in _DEPENDENCY_FILES or _REQUIREMENTS.search(path):
            return "dependencies"
        in_package = name.endswith(".py") and folder and (name == "tasks.py" or f"{folder}/__init__.py" in self.tree)
        if name in _CONFIGURATION_FILES and not in_package:
            return "configuration"
        if self._is_documentation(top, name):
            return "docs"
        return "generated" if _GENERATED.search(path) else "source"

    def is_test_module(self, path: str) -> bool:
        """Return whether its language's test runner would collect ``path``."""
        if path.endswith(".go"):
            return is_go_test(self.tree, path)
        if PurePosixPath(path).suffix in JAVASCRIPT_SUFFIXES:
            return is_javascript_test(self.tree, path)
        name = path.rpartition("/")[2]
        return name not in {"conftest.py", "__init__.py"} and _matches(path, self.python_files)

    @cached_property
    def _telling_patterns(self) -> tuple[str, ...]:
        # A pattern that takes every module ("*.py") does not tell which files are tests.
        return tuple(pattern for pattern in self.python_files if pattern.strip("*.") != "py") or DEFAULT_PYTHON_FILES

    def _is_test_area(self, path: str) -> bool:
        *folders, name = path.split("/")
        for depth, folder in enumerate(folders, start=1):
            if folder.lower() in _TEST_FOLDERS and not self._is_imported_package("/".join(folders[:depth])):
                return True
        if folders and folders[0] == "testing" and "testing/__init__.py" not in self.tree:
            return True
        if name in _TEST_MODULES or _matches(path, self._telling_patterns):
            return not self._is_imported(path.removesuffix(".py"))
        return any(self._is_for_tests(folder) and path.startswith(f"{folder}/") for folder in self.test_paths)

    def _is_for_tests(self, folder: str) -> bool:
        """Return whether the configured ``folder`` holds only tests: many repositories configure the package itself."""
        named = _TEST_WORDS & set(re.split("[-_.]", folder.rpartition("/")[2].lower()))
        return bool(named) and not self._is_imported_package(folder)

    def _is_documentation(self, top: str, name: str) -> bool:
        if top.lower() in _DOC_FOLDERS:
            return True
        if top.lower() in _DOC_FOLDERS_UNLESS_PACKAGES and f"{top}/__init__.py" not in self.tree:
            return True
        path = PurePosixPath(name)
        if path.suffix in _DOC_SUFFIXES:
            return True
        return path.suffix not in _CODE_SUFFIXES and _DOC_NAME.fullmatch(name) is not None

    def _is_imported_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self.tree and self._is_imported(folder)

    def _is_imported(self, path: str) -> bool:
        """Return whether source below the same top folder imports the module or package ``path`` (without suffix)."""
        top, *_ = parts = path.split("/")
        names = {".".join(parts[start:]) for start in range(len(parts) - 1)}
        return not names.isdisjoint(self._imports.get(top, frozenset()))

    @cached_property
    def _imports(self) -> dict[str, frozenset[str]]:
        """Return, by top folder, the dotted names that its modules import, except modules that look like tests."""
        imports: dict[str, set[str]] = {}
        for path, file in self.tree.items():
            *folders, name = path.split("/")
            if not folders or not name.endswith(".py") or name == "conftest.py" or file.is_link:
                continue
            if _TEST_FOLDERS.isdisjoint(map(str.lower, folders)) and not _matches(path, self._telling_patterns):
                imports.setdefault(folders[0], set()).update(_imported_names(folders, file.data))
        return {top: frozenset(names) for top, names in imports.items()}


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Match as pytest does: a pattern with a slash against the end of the path, any other against the name."""
    if not path.endswith(".py"):
        return False
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(name, pattern)
        for pattern in patterns
    )


def _imported_names(folders: list[str], source: bytes) -> Iterator[str]:
    """Yield the dotted names that a module in ``folders`` imports, and all names above them."""
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
    """Yield the names of ``a as b, c`` without what they are renamed to."""
    for part in _NOT_NAMES.sub("", names.decode("utf-8", "replace")).split(","):
        if part.strip():
            yield part.split()[0]


def _with_parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]
