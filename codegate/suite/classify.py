"""Which files of a repository are source, and which are not: one rule for mining, solving and grading.

Decided by path segments, by the test runner's own configuration and by who imports what; never by substring
(``src/_pytest/`` and ``django/test/`` are source).
"""

import configparser
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from codegate.suite.tree import Tree

PathClass = Literal["source", "test", "test_support", "configuration", "dependencies", "docs", "ci", "generated"]

_TEST_FOLDERS: Final = frozenset({"test", "tests"})
_CI_FOLDERS: Final = frozenset({".github", ".gitlab", ".circleci", ".buildkite", ".azure-pipelines", ".woodpecker"})
_CI_FILES: Final = frozenset(
    {".gitlab-ci.yml", ".travis.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml", "Jenkinsfile"}
    | {".pre-commit-config.yaml", "codecov.yml", ".codecov.yml", ".readthedocs.yml", ".readthedocs.yaml"}
)
_CONFIGURATION_FILES: Final = frozenset(
    {
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "tox.ini",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        "noxfile.py",
    }
    | {
        "Makefile",
        "makefile",
        "GNUmakefile",
        "Justfile",
        "justfile",
        "tasks.py",
        "MANIFEST.in",
        ".coveragerc",
    }
    | {
        "mypy.ini",
        ".mypy.ini",
        "ruff.toml",
        ".ruff.toml",
        ".flake8",
        ".pylintrc",
        ".isort.cfg",
        ".editorconfig",
    }
    | {
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".mailmap",
        "Dockerfile",
        "docker-compose.yml",
        ".bumpversion.cfg",
    }
)
_DEPENDENCY_FILES: Final = frozenset(
    {"Pipfile", "Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "pixi.lock", "environment.yml"}
    | {"package.json", "package-lock.json", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock"}
)
_DOC_FOLDERS: Final = frozenset(
    {
        "doc",
        "docs",
        "changelog",
        "changelog.d",
        "changes",
        "news",
        "newsfragments",
        "examples",
        "bench",
        "benchmarks",
    }
)
_DOC_SUFFIXES: Final = frozenset({".md", ".rst", ".adoc", ".markdown"})
_DOC_NAMES: Final = re.compile(
    r"(README|CHANGE(S|LOG)|NEWS|HISTORY|AUTHORS|CONTRIBUTORS|LICEN[CS]E|COPYING|NOTICE|RELEASE[-_]NOTES|TODO)\b",
    re.I,
)
_GENERATED: Final = re.compile(
    r"(^|/)(_vendor|vendor|vendored|third_party|node_modules|__pycache__)/|_pb2(_grpc)?\.pyi?$"
)
_REQUIREMENTS: Final = re.compile(r"(^|[-_/])(requirements|constraints)([-_.][\w.-]+)?(/[\w.-]+)?\.(txt|in)$")
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\(?[\w \t,*]+)|import[ \t]+([\w. \t,]+))", re.M
)

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
        settings = _pytest_settings(tree)
        return cls(
            tree,
            tuple(_words(settings.get("python_files"))) or DEFAULT_PYTHON_FILES,
            tuple(path.strip("/").removeprefix("./") for path in _words(settings.get("testpaths"))),
        )

    def classify(self, path: str) -> PathClass:
        """Return the class of ``path``, which need not exist in the tree."""
        *folders, name = path.split("/")
        if self._is_test_area(path, folders, name):
            return "test" if self.is_test_module(path) else "test_support"
        if name == "conftest.py":
            return "test_support"
        top = folders[0] if folders else ""
        if top in _CI_FOLDERS or (not folders and name in _CI_FILES):
            return "ci"
        if name in _DEPENDENCY_FILES or _REQUIREMENTS.search(path):
            return "dependencies"
        if name in _CONFIGURATION_FILES and not (folders and name in {"tasks.py"}):
            return "configuration"
        if top.lower() in _DOC_FOLDERS or PurePosixPath(name).suffix in _DOC_SUFFIXES or _DOC_NAMES.match(name):
            return "docs"
        if _GENERATED.search(path):
            return "generated"
        return "source"

    def is_test_module(self, path: str) -> bool:
        """Return whether pytest would collect ``path`` by its name."""
        name = path.rpartition("/")[2]
        return name.endswith(".py") and any(fnmatchcase(name, pattern) for pattern in self._file_patterns)

    @cached_property
    def _file_patterns(self) -> tuple[str, ...]:
        # A pattern that takes every module ("*.py") says nothing about which files are tests.
        return tuple(pattern for pattern in self.python_files if pattern.strip("*.") != "py") or DEFAULT_PYTHON_FILES

    def _is_test_area(self, path: str, folders: list[str], name: str) -> bool:
        for depth, folder in enumerate(folders):
            if folder in _TEST_FOLDERS and not self._is_imported_package("/".join(folders[: depth + 1])):
                return True
        for configured in self.test_paths:
            if configured and configured != "." and (path + "/").startswith(configured + "/"):
                if self.is_test_module(path):
                    return not self._is_imported_module(path)
                if configured.rpartition("/")[2] in {*_TEST_FOLDERS, "testing"}:
                    return True
        return name.endswith(".py") and self.is_test_module(path) and not self._is_imported_module(path)

    def _is_imported_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self.tree and bool(_module_names(folder) & self._imported)

    def _is_imported_module(self, path: str) -> bool:
        return bool(_module_names(path.removesuffix(".py")) & self._imported)

    @cached_property
    def _imported(self) -> frozenset[str]:
        """Dotted names that modules outside of any test folder import, relative imports resolved by folder."""
        names: set[str] = set()
        for path, file in self.tree.items():
            *folders, name = path.split("/")
            if not name.endswith(".py") or _TEST_FOLDERS & set(folders) or fnmatchcase(name, "test_*.py"):
                continue
            if not folders or name == "conftest.py" or name.endswith("_test.py"):
                continue
            for source, members, modules in _IMPORT.findall(file.data.decode("utf-8", "replace")):
                names.update(_imported_names(folders, source, members, modules))
        return frozenset(names)


def _imported_names(folders: list[str], source: str, members: str, modules: str) -> Iterable[str]:
    for module in modules.split(","):
        if module.strip():
            yield module.split()[0]
    if source:
        stripped = source.lstrip(".")
        level = len(source) - len(stripped)
        prefix = folders[: len(folders) - level + 1] if level else []
        parts = [*[p for p in prefix if p != "src"], *([stripped] if stripped else [])]
        base = ".".join(parts)
        yield base
        for member in members.strip("( \t").split(","):
            if member.strip():
                yield f"{base}.{member.split()[0]}"


def _module_names(path: str) -> set[str]:
    """Dotted names that the module or package at ``path`` may be imported by (at least two segments each)."""
    parts = path.split("/")
    return {".".join(parts[start:]) for start in range(len(parts) - 1)}


def _pytest_settings(tree: Tree) -> dict[str, Any]:
    """Return pytest's ini options, from the first file that has them in pytest's own order of precedence."""
    for name, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest")):
        if name in tree:
            return _ini_section(tree[name].data, section)
    if "pyproject.toml" in tree:
        try:
            tool = tomllib.loads(tree["pyproject.toml"].data.decode("utf-8", "replace")).get("tool", {})
            settings = tool.get("pytest", {}).get("ini_options")
        except (tomllib.TOMLDecodeError, AttributeError, RecursionError):
            settings = None
        if isinstance(settings, dict):
            return settings
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if name in tree:
            settings = _ini_section(tree[name].data, section)
            if settings:
                return settings
    return {}


def _ini_section(data: bytes, section: str) -> dict[str, Any]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(data.decode("utf-8", "replace"))
        return dict(parser.items(section))
    except configparser.Error:
        return {}


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [word for word in value if isinstance(word, str)]
    return []
