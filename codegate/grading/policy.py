"""Which paths of a model's patch reach the grading sandbox.

Sources are applied, tests and configuration are dropped (honest models add tests), and what could only serve
to fool the grader is tampering.
"""

import re
import sys
from dataclasses import dataclass
from typing import Final

from codegate.suite import Changes, PathClassifier, Problem, Tree, TreeFile

_START_UP: Final = frozenset({"sitecustomize.py", "usercustomize.py", "pyvenv.cfg"})
_BINARY: Final = re.compile(r"\.(so|pyd|pyc|pyo|dll|dylib|egg|whl|pth|a|o)$|\.so\.\d", re.IGNORECASE)
_METADATA: Final = re.compile(r"(^|/)[^/]+\.(dist-info|egg-info|egg-link)(/|$)", re.IGNORECASE)
_RUNNER_MODULES: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"})


@dataclass(frozen=True)
class SortedPatch:
    """A patch, sorted: what is applied, what was dropped, and why it is hostile (empty: it is not)."""

    applied: dict[str, TreeFile | None]
    dropped: tuple[str, ...]
    hostile: tuple[str, ...]


def sort_patch(problem: Problem, base: Tree, changes: Changes) -> SortedPatch:
    """Sort the paths of a patch. What the reference fix itself touches is always source."""
    classifier = PathClassifier.of(base)
    applied: dict[str, TreeFile | None] = {}
    dropped, hostile = [], []
    for path, file in changes.items():
        if path in problem.fix:
            applied[path] = file
            continue
        reason = _hostile(problem, base, path, file)
        if reason:
            hostile.append(f"{path}: {reason}")
        elif classifier.classify(path) == "source":
            applied[path] = file
        else:
            dropped.append(path)
    return SortedPatch(applied, tuple(dropped), tuple(hostile))


def _hostile(problem: Problem, base: Tree, path: str, file: TreeFile | None) -> str:
    if file is None or path in base:
        return ""
    name = path.rpartition("/")[2]
    if name.lower() in _START_UP:
        return "runs when the interpreter starts"
    if _BINARY.search(name):
        return "is compiled code or a path hook"
    if _METADATA.search(path):
        return "poses as an installed distribution"
    for root in problem.manifest.python_path:
        prefix = f"{root}/" if root else ""
        if path.startswith(prefix):
            module = path[len(prefix) :].split("/", maxsplit=1)[0].removesuffix(".py")
            if module in sys.stdlib_module_names or module in _RUNNER_MODULES:
                return f"takes the place of the module {module}"
    return ""
