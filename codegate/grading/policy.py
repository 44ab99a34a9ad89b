"""Which paths of a model's patch reach the grading sandbox.

Sources are applied, tests and configuration are dropped (honest models add tests), and what could only serve
to fool the grader is tampering.
"""

import re
import sys
from dataclasses import dataclass
from typing import Final

from codegate.suite import Changes, PathClassifier, Problem, Tree, TreeFile

_START_UP: Final = re.compile(r"(^|/)((site|user)customize(\.py$|/)|pyvenv\.cfg$)", re.IGNORECASE)
_BINARY: Final = re.compile(r"\.(so|syso|pyd|pyc|pyo|dll|dylib|egg|whl|pth|a|o)$|\.so\.\d", re.IGNORECASE)
_METADATA: Final = re.compile(r"(^|/)[^/]+\.(dist-info|egg-info|egg-link)(/|$)", re.IGNORECASE)
_RUNNER_MODULES: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"})


@dataclass(frozen=True)
class SortedPatch:
    """A patch, sorted.

    Attributes:
        applied: what is applied.
        dropped: paths of tests, configuration and the like, which are not.
        hostile: why it is tampering, a line for each such path.
        new_modules: top-level modules and packages at the import roots that only the patch has.
    """

    applied: dict[str, TreeFile | None]
    dropped: tuple[str, ...]
    hostile: tuple[str, ...]
    new_modules: frozenset[str]


def sort_patch(problem: Problem, base: Tree, changes: Changes) -> SortedPatch:
    """Sort the paths of a patch. What the reference fix itself touches is applied, settings as the fix has them."""
    classifier = PathClassifier.of(base)
    applied: dict[str, TreeFile | None] = {}
    dropped, hostile = [], []
    modules: set[str] = set()
    known = {module for path in base for module in _modules(problem, path)}
    for path, file in changes.items():
        if path in problem.fix:
            # Settings that the fix changes too are the fix's: tests run by them.
            own = classifier.classify(path) == "source"
            applied[path] = file if own else problem.fix[path]
            continue
        added = file is not None and path not in base
        reason = _hostile(path) if added else ""
        if not reason and (classifier.classify(path) != "source"):
            dropped.append(path)
            continue
        new = _modules(problem, path) - known if added else set()
        taken = sorted(name for name in new if name in sys.stdlib_module_names or name in _RUNNER_MODULES)
        if not reason and taken:
            reason = f"takes the place of the module {taken[0]}"
        if reason:
            hostile.append(f"{path}: {reason}")
        else:
            applied[path] = file
            modules |= {name for name in new if path.endswith((f"{name}.py", f"{name}/__init__.py"))}
    return SortedPatch(applied, tuple(dropped), tuple(hostile), frozenset(modules))


def _hostile(path: str) -> str:
    name = path.rpartition("/")[2]
    if path.startswith(".codegate"):
        return "is where the test driver keeps its own"
    if _START_UP.search(path):
        return "runs when the interpreter starts"
    if _BINARY.search(name):
        return "is compiled code or a path hook"
    if _METADATA.search(path):
        return "poses as an installed distribution"
    return ""


def _modules(problem: Problem, path: str) -> set[str]:
    """Return the top-level modules that the Python file ``path`` belongs to, from each import root it is below."""
    found = set()
    for root in problem.manifest.python_path:
        prefix = f"{root}/" if root else ""
        if path.startswith(prefix) and path.endswith(".py"):
            found.add(path[len(prefix) :].split("/", maxsplit=1)[0].removesuffix(".py"))
    return found
