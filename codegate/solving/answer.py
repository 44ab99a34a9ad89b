"""Turn a model's changes into the patch that is graded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from codegate.languages import PathClassifier
from codegate.sandbox import SandboxFile
from codegate.solving.attempt import DroppedPath
from codegate.suite import MAX_PATCH_BYTES, Changes, Tree, TreeFile, make_patch

MAX_DROPPED: Final = 1000
MAX_FILES: Final = 10_000
"""Most changed files of an answer. For many more in one folder, git takes minutes."""


@dataclass(frozen=True)
class AnswerPatches:
    """The patches that are made of an answer's changes.

    Attributes:
        patch: changes of source files, for grading.
        dropped: every changed path that is not graded, with the reason.
        tests: changes of test files.
    """

    patch: str
    dropped: tuple[DroppedPath, ...]
    tests: str


def sort_paths(base: Tree, paths: Iterable[str]) -> tuple[list[str], list[DroppedPath]]:
    """Split paths into source files and others, with reasons.

    Only source files go to grading: hidden tests replace the answer's tests, and configuration could alter the test
    run.
    """
    classifier = PathClassifier.of(base)
    sources, others = [], []
    for path in paths:
        kind = classifier.classify(path)
        if kind == "source":
            sources.append(path)
        else:
            reason: Literal["test", "configuration"] = "test" if kind in {"test", "test_support"} else "configuration"
            others.append(DroppedPath(path=show_path(path), reason=reason))
    return sources, others


def answer_patches(base: Tree, changes: Changes, dropped: Iterable[DroppedPath]) -> AnswerPatches:
    """Return the patches of an answer's ``changes``.

    ``dropped`` are the paths that are not graded; paths with the reason ``test`` become the test patch. Links that lead
    out of the tree are in no patch. If the patch is over its limit, its largest files are dropped. A test patch over
    the limit is dropped whole.
    """
    kept: dict[str, TreeFile | None] = {}
    others = list(dropped)
    own = {drop.path for drop in others if drop.reason == "test"}
    tests: dict[str, TreeFile | None] = {}
    for path, file in changes.items():
        unsafe = file is not None and SandboxFile(path, file.data, file.mode).leads_out
        if unsafe and path not in own:
            others.append(DroppedPath(path=show_path(path), reason="unsafe"))
        elif not unsafe:
            (tests if path in own else kept)[path] = file
    while _bytes(patch := make_patch(base, kept)) > MAX_PATCH_BYTES:
        sizes = {path: _size(base.get(path)) + _size(file) for path, file in kept.items()}
        weights = {path: len(path) + size for path, size in sizes.items()}  # a patch names even empty files
        for path in paths_to_drop(weights, sum(weights.values()) // 2):
            others.append(too_large(path, sizes[path], f"a patch may have {MAX_PATCH_BYTES} bytes"))
            del kept[path]
    test_patch = make_patch(base, tests)
    reported = tuple(sorted(others, key=lambda drop: drop.path))[:MAX_DROPPED]
    return AnswerPatches(patch, reported, test_patch if _bytes(test_patch) <= MAX_PATCH_BYTES else "")


def paths_to_drop(sizes: Mapping[str, int], most: int) -> list[str]:
    """Return the largest files to drop, until the rest fits.

    ``sizes`` has the bytes of all files by path. Without the returned files, they have at most ``most`` bytes.
    """
    left, dropped = sum(sizes.values()), []
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        if left <= most:
            break
        left -= sizes[path]
        dropped.append(path)
    return dropped


def too_large(path: str, size: int, limit: str) -> DroppedPath:
    """Return the entry of a file dropped for its size.

    ``size`` is in bytes; ``limit`` describes the limit in words.
    """
    return DroppedPath(path=show_path(path), reason="too_large", detail=f"{size} bytes; {limit}")


def show_path(path: str) -> str:
    """Return a path from a model as short printable text."""
    if len(path) <= 200 and path.isprintable():
        return path
    return path[:200].encode("unicode_escape").decode("ascii")[:200]


def _bytes(patch: str) -> int:
    return len(patch.encode("utf-8", "surrogateescape"))


def _size(file: TreeFile | None) -> int:
    return 0 if file is None else len(file.data)
