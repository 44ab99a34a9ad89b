"""Classify the files of a JavaScript or TypeScript project."""

import re
from pathlib import PurePosixPath
from typing import Final

from typing_extensions import override

from codegate.languages.contract import FileRules, PathClass
from codegate.suite import parent_folders

SUFFIXES: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte")

_TEST_FOLDERS: Final = frozenset(
    {"test", "tests", "__tests__", "__mocks__", "__fixtures__", "spec", "specs", "e2e", "cypress", "test-d"}
    | {"type-tests", "runtime-tests", "integration-tests", "unit-tests", "test-utils", "test-helpers"}
)
_SUPPORT_FOLDERS: Final = frozenset(
    {"fixtures", "__fixtures__", "fixture", "support", "helpers", "__mocks__", "mocks", "stubs", "test-d", "type-tests"}
    | {"test-utils", "test-helpers", "util", "utils", "data", "types", "setup"}
)
_TEST_NAME: Final = re.compile(r"((.+[._-])?(tests?|spec)|test[_-].+)\.[cm]?[jt]sx?", re.IGNORECASE)
_TYPE_TEST: Final = re.compile(r".+[._-](test-d|tst|typetest)\.[cm]?tsx?")
_TEST_CALL: Final = re.compile(rb"(?m)^[ \t]*(?:await[ \t]+)?(?:describe|it|test|suite|specify)(?:\.\w+)*[ \t]*[(`]")

#: Names of tools' configuration files. Below ``src``, such a file is the product's own unless a manifest is beside it
#: or names it.
_CONFIG: Final = re.compile(r"[\w.-]+\.config\.[cm]?[jt]s|[\w.-]+\.conf\.[cm]?js", re.IGNORECASE)
_CONFIGURATION: Final = re.compile(
    r"\.[a-z-]+rc(\.[a-z]+)?|\.[a-z]+ignore|[jt]sconfig[\w.-]*\.json"
    r"|([\w-]+\.)*(jest|vitest|vite|babel|karma|playwright|cypress)([._-][\w.-]+)?\.(config|conf)\.[cm]?[jt]s"
    r"|(gulpfile|gruntfile|webpack\.[\w.]+)\.[cm]?[jt]s|(jest|vitest)[._-](setup|workspace|global)[\w.-]*\.[cm]?[jt]s"
    r"|(babel\.config|jest\.config|biome|nx|turbo|lerna|deno|jsr|vercel|api-extractor|typedoc|knip|renovate)\.jsonc?"
    r"|bunfig\.toml|\.(nvmrc|node-version|tool-versions|swcrc)",
    re.IGNORECASE,
)
_DEPENDENCIES: Final = frozenset(
    {"yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", "bun.lock", "bun.lockb", "npm-shrinkwrap.json", "deno.lock"}
)
_GENERATED: Final = re.compile(r"(^|/)(node_modules|\.next|\.nuxt)/|\.min\.[cm]?js$|\.bundle\.js$")
_OUTPUT_FOLDERS: Final = frozenset({"dist", "coverage"})
_MANIFEST: Final = "package.json"
_MEASUREMENT: Final = re.compile(r".+[._-](bench|benchmark|stories)\.[cm]?[jt]sx?")


class JavaScriptFiles(FileRules):
    """Classifies JavaScript and TypeScript files."""

    @override
    def classify(self, path: str) -> PathClass | None:
        *folders, name = path.split("/")
        if name in _DEPENDENCIES:
            return "dependencies"
        if PurePosixPath(name).suffix not in SUFFIXES:
            return "configuration" if _CONFIGURATION.fullmatch(name) and not _in_test_folder(folders) else None
        if _GENERATED.search(path) or self._is_output(folders):
            return "generated"
        if self.is_test(path):
            return "test"
        if _in_test_folder(folders) or _TYPE_TEST.fullmatch(name) or _TEST_NAME.fullmatch(name):
            return "test_support"
        if _CONFIGURATION.fullmatch(name) or (_CONFIG.fullmatch(name) and self._is_for_a_tool(path)):
            return "configuration"
        return "docs" if _MEASUREMENT.fullmatch(name) else None

    def _is_output(self, folders: list[str]) -> bool:
        above = ("/".join(folders[:at]) for at, folder in enumerate(folders) if folder in _OUTPUT_FOLDERS)
        return any(f"{each}/{_MANIFEST}" in self.tree or not self.is_package(each) for each in above)

    def _is_for_a_tool(self, path: str) -> bool:
        """Return whether a file is configuration of a tool.

        Such a file is outside of a package's code, has a ``package.json`` in its folder, or is named by a
        ``package.json`` in a folder above.
        """
        folder, _, name = path.rpartition("/")
        beside = f"{folder}/{_MANIFEST}" in self.tree
        return beside or not self.is_package(folder) or any(name.encode() in data for data in self._manifests(path))

    @override
    def is_package(self, folder: str) -> bool:
        # Files below ``src`` are written by hand.
        above, src, _ = f"/{folder}/".partition("/src/")
        return bool(src and self._manifests(f"{above}/src"[1:]))

    def _manifests(self, path: str) -> list[bytes]:
        """Return the ``package.json`` files in the folders above a path."""
        names = [_MANIFEST, *(f"{folder}/{_MANIFEST}" for folder in parent_folders(path))]
        return [self.tree[name].data for name in names if name in self.tree]

    @override
    def is_test(self, path: str) -> bool:
        # A test file has the name or folder of one, and calls that declare tests.
        *folders, name = path.split("/")
        if PurePosixPath(name).suffix not in SUFFIXES or name.endswith((".d.ts", ".d.mts", ".d.cts")):
            return False
        if _TYPE_TEST.fullmatch(name):
            return False
        named = _TEST_NAME.fullmatch(name) is not None
        if not named and (not _in_test_folder(folders) or not _SUPPORT_FOLDERS.isdisjoint(map(str.lower, folders))):
            return False
        return self.has(path, _TEST_CALL, absent=named)


def _in_test_folder(folders: list[str]) -> bool:
    return not _TEST_FOLDERS.isdisjoint(folder.lower() for folder in folders)
