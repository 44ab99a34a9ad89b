"""Classify the files of a Go repository.

The rules are those of Go's own tool.
"""

import re
from typing import Final

from typing_extensions import override

from codegate.languages.contract import FileRules, PathClass

_TEST: Final = re.compile(rb"^func\s+(?:Test|Example|Fuzz)(?![a-z])\w*\s*\(", re.MULTILINE)
_TEST_MAIN: Final = re.compile(rb"^func\s+TestMain\s*\(", re.MULTILINE)
_TEST_FOLDERS: Final = frozenset({"test", "tests", "e2e"})
_EXAMPLES: Final = frozenset({"examples", "_examples"})
_CONFIGURATION: Final = re.compile(r"\.(golangci|goreleaser|mockery|testcoverage)\.(ya?ml|toml|json)|go\.work(\.sum)?")


class GoFiles(FileRules):
    """Classifies Go files.

    A ``_test.go`` file is a test, or test support if it declares no test (``export_test.go``). ``testdata/`` is test
    support, and so are the folders ``test``, ``tests`` and ``e2e`` at the top. Helper packages elsewhere, such as
    ``internal/…test``, are source: other modules, or the product, may import them. Generated code is source, because
    nothing compiles without it; vendored code is not.
    """

    @override
    def classify(self, path: str) -> PathClass | None:
        *folders, name = path.split("/")
        if not folders and _CONFIGURATION.fullmatch(name):
            return "configuration"
        if path.startswith("vendor/") and "vendor/modules.txt" in self.tree:
            return "generated"
        if not name.endswith(".go"):
            return None
        if "vendor" in folders:
            return "generated"
        if "testdata" in folders:
            return "test_support"
        if name.endswith("_test.go"):
            return "test" if self.is_test(path) else "test_support"
        if folders and folders[0] in _TEST_FOLDERS:
            return "test_support"
        return "docs" if folders and folders[0] in _EXAMPLES else "source"

    @override
    def is_test(self, path: str) -> bool:
        # A test file has tests, examples or fuzz targets. If it is absent, its name decides.
        *folders, name = path.split("/")
        hidden = any(folder.startswith(("_", ".")) or folder in {"testdata", "vendor"} for folder in folders)
        if hidden or not name.endswith("_test.go") or name.startswith(("_", ".")):
            return False
        file = self.tree.get(path)
        if file is None:
            return name != "export_test.go"
        return not file.is_link and len(_TEST.findall(file.data)) > len(_TEST_MAIN.findall(file.data))
