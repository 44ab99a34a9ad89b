"""Which paths of a model's patch reach the grading sandbox.

Sources are applied. Tests and configuration (honest models add tests), compiled code (honest agents build) and links
out of the tree are dropped. What could only serve to fool the grader is tampering. A file with a name that an
interpreter acts upon is hostile where one would find it: in an import root, or where packages are installed. Elsewhere
it is a file like any other.
"""

import re
import sys
from dataclasses import dataclass
from typing import Final

from codegate.languages import PathClassifier
from codegate.sandbox import SandboxFile
from codegate.suite import Changes, Problem, Tree, TreeFile

_START_UP: Final = re.compile(r"(site|user)customize(\.py|/__init__\.py)$|pyvenv\.cfg$|[^/]+\.pth$", re.IGNORECASE)
_BINARY: Final = re.compile(r"\.(so|syso|pyd|pyc|pyo|dll|dylib|egg|whl|a|o)$|\.so\.\d", re.IGNORECASE)
_METADATA: Final = re.compile(r"[^/]+\.(dist-info|egg-info|egg-link)(/|$)", re.IGNORECASE)
_INSTALLED: Final = re.compile(r".*(^|/)(site|dist)-packages/", re.IGNORECASE)
_MODULE: Final = re.compile(r"([^/.]+)(?:/__init__)?\.py")
_SCRATCH: Final = ".codegate-go"  # of the test driver for Go
_RUNNER_MODULES: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"})


@dataclass(frozen=True)
class SortedPatch:
    """A patch, sorted.

    Attributes:
        applied: what is applied.
        dropped: paths of tests, configuration and the like, which are not applied.
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
    roots, beside = frozenset(problem.manifest.python_path), _test_roots(problem, base)
    known = {module for path in base for module in _modules(path, roots | beside)}
    for path, file in changes.items():
        if file is not None and SandboxFile(path, file.data, file.mode).leads_out:
            dropped.append(path)
            continue
        linked = file is not None and file.is_link
        if path in problem.fix:
            # Settings that the fix changes too are the fix's: tests run by them.
            own = classifier.classify(path) == "source"
            applied[path] = file if own else problem.fix[path]
            continue
        added = file is not None and (path not in base or (linked and not base[path].is_link))
        # A link may stand for a folder, below which an interpreter finds what the link leads to.
        places = [path, f"{path}/__init__.py"] if linked else [path]
        reasons = [_hostile(place, roots | {""}) for place in places] if added else []
        if linked and any(_is_above(path, root) for root in roots | beside):
            reasons.append("takes the place of a folder that modules are imported from")
        reason = next(filter(None, reasons), "")
        compiled = added and _BINARY.search(path.rpartition("/")[2])
        if compiled or (not reason and any(classifier.classify(place) != "source" for place in places)):
            dropped.append(path)
            continue
        new = {module for place in places for module in _modules(place, roots | beside)} - known if added else set()
        # The standard library comes first on the path of tests; what they start has the import roots before it.
        first = new & sys.stdlib_module_names & {module for place in places for module in _modules(place, roots)}
        taken = sorted(first | new & _RUNNER_MODULES)
        if not reason and taken:
            reason = f"takes the place of the module {taken[0]}"
        if reason:
            hostile.append(f"{path}: {reason}")
        else:
            applied[path] = file
            modules |= new
    return SortedPatch(applied, tuple(dropped), tuple(hostile), frozenset(modules))


def _hostile(path: str, roots: frozenset[str]) -> str:
    if path.split("/", maxsplit=1)[0] == _SCRATCH:
        return "is where the test driver keeps its own"
    installed = _INSTALLED.match(path)
    for found in (*_found(path, roots), *([path[installed.end() :]] if installed else ())):
        if _START_UP.match(found):
            return "runs when an interpreter starts"
        if _METADATA.match(found):
            return "poses as an installed distribution"
    return ""


def _is_above(link: str, root: str) -> bool:
    """Return whether ``link`` takes the place of the import root ``root``, or of installed packages."""
    return f"{root}/".startswith(f"{link}/") or _INSTALLED.fullmatch(f"{link}/") is not None


def _test_roots(problem: Problem, base: Tree) -> frozenset[str]:
    """Return the folders that pytest puts on the path: of each test file, the first one above that is no package."""
    found = set()
    for file in problem.manifest.test_files:
        folder = file.rpartition("/")[0]
        while folder and (f"{folder}/__init__.py" in base or f"{folder}/__init__.py" in problem.fix):
            folder = folder.rpartition("/")[0]
        found.add(folder)
    return frozenset(found)


def _found(path: str, roots: frozenset[str]) -> list[str]:
    """Return how an interpreter finds ``path`` from each of the ``roots`` that it is below."""
    prefixes = (f"{root}/" if root else "" for root in roots)
    return [path[len(prefix) :] for prefix in prefixes if path.startswith(prefix)]


def _modules(path: str, roots: frozenset[str]) -> set[str]:
    """Return the top-level modules that the file ``path`` makes: ``NAME.py`` or ``NAME/__init__.py`` in a root.

    A folder without ``__init__.py`` takes no place: a module of that name comes before it, wherever on the path it is.
    """
    found = (_MODULE.fullmatch(place) for place in _found(path, roots))
    return {match[1] for match in found if match is not None}
