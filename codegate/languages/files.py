"""Classify a repository's files (source, test, docs, …).

Mining, solving and grading share these rules. Whole path segments, imports and the test runner's configuration decide:
``src/_pytest/`` and ``django/test/`` are source, though their paths contain ``test``.
"""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from codegate.languages.contract import TEST_FOLDERS, FileRules, PathClass
from codegate.languages.registry import languages
from codegate.suite import Tree, parent_folders

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
_DOC_NAME: Final = re.compile(
    r"(README|CHANGE(S|LOG)|NEWS|HISTORY|AUTHORS|CONTRIBUTORS|LICEN[CS]E|COPYING|NOTICE|RELEASE[-_]NOTES|TO[D]O)"
    r"([-_.][\w.-]*)?(\.txt)?",
    re.IGNORECASE,
)
_GENERATED: Final = re.compile(
    r"^vendor/|(^|/)(_vendor|vendored|third_party|node_modules|__pycache__)/|_pb2(_grpc)?\.pyi?$"
)


@dataclass(frozen=True)
class PathClassifier:
    """Classifies a tree's paths: source, test, docs and so on."""

    tree: Tree = field(repr=False)
    rules: tuple[FileRules, ...] = field(repr=False)

    @classmethod
    def of(cls, tree: Tree) -> "PathClassifier":
        """Return a classifier for the paths of ``tree``."""
        return cls(tree, tuple(language.files(tree) for language in languages()))

    def classify(self, path: str) -> PathClass:
        """Return the class of ``path``; the tree may lack it."""
        folder, _, name = path.rpartition("/")
        top = path.partition("/")[0] if folder else ""
        ours = () if top in _CI_FOLDERS else self.rules
        found = next((found for rules in ours if (found := rules.classify(path)) is not None), None)
        if found is not None:
            return found
        if self._is_test_area(path):
            return "test" if self.is_test_module(path) else "test_support"
        if top in _CI_FOLDERS or (not folder and name in _CI_FILES):
            return "ci"
        if name in _DEPENDENCY_FILES or _REQUIREMENTS.search(path):
            return "dependencies"
        if name in _CONFIGURATION_FILES and not any(rules.is_module(path) for rules in self.rules):
            return "configuration"
        if self._is_documentation(top, name):
            return "docs"
        return "generated" if _GENERATED.search(path) or self._is_third_party(path) else "source"

    def is_test_module(self, path: str) -> bool:
        """Return whether the language's test runner would collect ``path``."""
        return any(rules.is_test(path) for rules in self.rules)

    def _is_test_area(self, path: str) -> bool:
        for folder in parent_folders(path):
            named = folder.rpartition("/")[2].lower() in TEST_FOLDERS
            if named and not any(rules.is_product(folder) for rules in self.rules):
                return True
        return any(rules.is_test_area(path) for rules in self.rules)

    def _is_third_party(self, path: str) -> bool:
        # A folder ``vendor`` in a package of the project may hold the project's own code about sellers.
        places = (
            (folder, folder.removesuffix("/vendor")) for folder in parent_folders(path) if folder.endswith("/vendor")
        )
        return any(not any(rules.is_package(each) for rules in self.rules for each in place) for place in places)

    def _is_documentation(self, top: str, name: str) -> bool:
        if top.lower() in _DOC_FOLDERS:
            return True
        if top.lower() in _DOC_FOLDERS_UNLESS_PACKAGES and not any(rules.is_package(top) for rules in self.rules):
            return True
        suffix = PurePosixPath(name).suffix
        if suffix in _DOC_SUFFIXES:
            return True
        is_code = any(suffix in language.suffixes for language in languages())
        # A template ``todo.html`` or data ``history.json`` is part of the product, despite its name.
        told = not top or suffix in {"", ".txt"}
        return told and not is_code and _DOC_NAME.fullmatch(name) is not None
