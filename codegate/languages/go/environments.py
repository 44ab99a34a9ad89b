"""Leave out Go test code that does not compile."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from codegate.languages.syntax import decode, edited, parse, walk
from codegate.mining.languages import LanguageSupport
from codegate.suite import TreeFile

if TYPE_CHECKING:
    from tree_sitter import Node

_PLACE: Final = re.compile(r"^(?:\./)?([^\s:]+_test\.go):(\d+)", re.MULTILINE)


class GoSupport(LanguageSupport):
    """Mining's support for Go."""

    @override
    def narrowed(self, tests: Mapping[str, TreeFile | None], message: str) -> Mapping[str, TreeFile]:
        # One unknown name stops all tests of a package, so the declarations and imports that the compiler names are
        # left out. The compiler's paths are relative to the module.
        found: dict[str, set[int]] = {}
        for name, line in _PLACE.findall(message):
            # The path may fit files in several folders; the outermost one is in the module's own folder.
            path = min((path for path in tests if f"/{path}".endswith(f"/{name}")), key=len, default="")
            if path:
                found.setdefault(path, set()).add(int(line) - 1)
        changed: dict[str, TreeFile] = {}
        for path, lines in found.items():
            file = tests[path]
            if file is not None:
                root = parse(decode(file.data), "go")
                edits = {
                    node: ""
                    for node in _parts(root)
                    if any(node.start_point.row <= line <= node.end_point.row for line in lines)
                }
                changed[path] = TreeFile(edited(root, edits).encode("utf-8"), file.mode)
        return {path: file for path, file in changed.items() if file != tests[path]}


def _parts(root: "Node") -> "list[Node]":
    imports = [node for node in root.named_children if node.type == "import_declaration"]
    others = [node for node in root.named_children if node.type.endswith("_declaration") and node not in imports]
    return others + [each for node in imports for each in walk(node) if each.type == "import_spec"]
