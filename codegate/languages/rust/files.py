"""Classify the files of a Rust repository.

The layout is Cargo's.
"""

import re
from typing import Final

from typing_extensions import override

from codegate.languages.contract import FileRules, PathClass

_MODULE: Final = re.compile(r"(?:.+_)?tests?\.rs")
TEST: Final = re.compile(rb"#\[\s*(?:\w+\s*::\s*)*(?!cfg)\w*test\w*")
_CONFIGURATION: Final = re.compile(
    r"(?:.+/)?(?:\.cargo/.+|\.?(?:rustfmt|clippy)\.toml|rust-toolchain(?:\.toml)?|deny\.toml|Cross\.toml)"
)
_BUILT: Final = re.compile(r"(?:.+/)?target/(?:[^/]+/)?(?:debug|release)/.+")
_ASIDE: Final = frozenset({"examples", "benches"})


class RustFiles(FileRules):
    """Classifies Rust files.

    Tests are the files below ``tests/``, and modules of tests that are files of their own: ``tests.rs``,
    ``parser_test.rs``, ``parser_tests.rs``. A source file with a ``#[cfg(test)]`` module is source: its tests are part
    of the change that a model has to make, and are not hidden.
    """

    @override
    def classify(self, path: str) -> PathClass | None:
        if _CONFIGURATION.fullmatch(path):
            return "configuration"
        if _BUILT.fullmatch(path):
            return "generated"
        folders = path.split("/")[:-1]
        aside = path.endswith(".rs") and "src" not in folders and not _ASIDE.isdisjoint(folders)
        return "docs" if aside else None

    @override
    def is_test(self, path: str) -> bool:
        # A test file has tests. If it is absent, its name decides.
        *folders, name = path.split("/")
        named = name != "test.rs" and _MODULE.fullmatch(name) is not None
        if not name.endswith(".rs") or not ("tests" in folders or named):
            return False
        return self.has(path, TEST, absent=name not in {"mod.rs", "main.rs"})

    @override
    def is_package(self, folder: str) -> bool:
        return f"{folder}/mod.rs" in self.tree or f"{folder}.rs" in self.tree

    @override
    def is_test_area(self, path: str) -> bool:
        # A file ``tests.rs`` may have nothing but modules.
        return path.rpartition("/")[2] == "tests.rs" or self.is_test(path)
