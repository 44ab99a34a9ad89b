"""Split a change into hidden tests and its fix."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from codegate.languages import PathClass, PathClassifier, Uses, added_lines, read
from codegate.mining.languages import NameOf, language_name, language_of, same_code
from codegate.mining.sources.changes import LINK_MODE, SUBMODULE_MODE, PathChange, is_lfs_pointer, patch_ids
from codegate.mining.sources.history import MergedChange
from codegate.mining.units import Reason
from codegate.suite import Tree, TreeFile, is_plain_path
from codegate.wording import encodable

MAX_SOURCE_FILES: Final = 20
MAX_SOURCE_LINES: Final = 1000
MAX_CHANGED_BYTES: Final = 8 << 20
MAX_PUBLIC_TESTS: Final = 100

_TEST_WORDS: Final = frozenset({"test", "tests", "testing", "spec", "specs", "e2e"})
_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Cut:
    """A change, split into hidden tests and fix.

    Attributes:
        base: the first parent's tree, before the change.
        hidden: test and test-support files as they are after the fix (None: deleted).
        fix: source files as they are after the fix.
        fixed: the whole tree after the fix, for reading declarations from.
        test_files: changed test modules that exist after the fix; only these are run.
        public_tests: test modules of the base tree.
        source_lines: number of changed source lines; a file counts its added or its removed lines, whichever are more.
        folder: the part of the repository that is mined; empty: all of it.
    """

    base: Tree
    hidden: Mapping[str, TreeFile | None]
    fix: Mapping[str, TreeFile | None]
    fixed: Tree
    test_files: tuple[str, ...]
    public_tests: tuple[str, ...]
    source_lines: int
    folder: str = ""


def reject_by_paths(
    unit: MergedChange, head: PathClassifier, name: NameOf = language_name, folder: str = ""
) -> Reason | None:
    """Return why a change's paths rule it out, or None.

    No tree is read; ``head`` classifies paths by the newest tree. ``name`` returns a file's language. Tests outside of
    ``folder`` do not count, because they are not run.
    """
    inside = f"{folder}/" if folder else ""
    if folder and not any(change.path.startswith(inside) for change in unit.changes):
        return "outside_path"
    if any(SUBMODULE_MODE in (change.old_mode, change.new_mode) for change in unit.changes):
        return "submodule"
    paths = [change.path for change in unit.changes]
    if not any(map(name, paths)):
        reason = _without_source({path: head.classify(path) for path in paths})
        return "unsupported_language" if reason is None else reason
    changed = [change for change in unit.changes if change.status != "D" and change.path.startswith(inside)]
    if not any(name(change.path) and _may_be_test(change.path, head) for change in changed):
        return "no_test"
    return None


def duplicates(units: list[MergedChange], head: PathClassifier, repository: Path | None = None) -> set[str]:
    """Return the commits that repeat another commit's change.

    Two changes are the same if they have the same pull request or the same source blobs. If ``repository`` is given,
    changes with the same `git patch-id` are the same too, such as a fix and its backport. Of equal changes, the one
    with the most changed lines of source and tests is not returned; if several have the most, the oldest is not.

    Raises:
        GitError: git failed.
    """
    patches = _source_patches(units, head, repository) if repository is not None else {}
    taken: set[object] = set()
    again: set[str] = set()

    def most_code_first(unit: MergedChange) -> tuple[int, datetime, str]:
        code = (change for change in unit.changes if head.classify(change.path) in {"source", "test", "test_support"})
        return -sum(map(_lines, code)), unit.date, unit.commit

    for unit in sorted(units, key=most_code_first):
        content = frozenset((change.path, change.old_blob, change.new_blob) for change in source_changes(unit, head))
        keys: list[object] = [content] if content else []
        keys += [unit.pull_request] if unit.pull_request is not None else []
        keys += [patches[unit.commit]] if unit.commit in patches else []
        if any(key in taken for key in keys):
            again.add(unit.commit)
        else:
            taken.update(keys)
    return again


def source_changes(unit: MergedChange, head: PathClassifier) -> list[PathChange]:
    """Return the changed paths that ``head`` classifies as source."""
    return [change for change in unit.changes if head.classify(change.path) == "source"]


def _source_patches(units: list[MergedChange], head: PathClassifier, repository: Path) -> dict[str, str]:
    # Only units that change the same files by the same numbers of lines can have the same patch id.
    alike: dict[frozenset[tuple[str, int | None, int | None]], list[MergedChange]] = defaultdict(list)
    for unit in units:
        shape = frozenset((change.path, change.added, change.removed) for change in source_changes(unit, head))
        if shape:
            alike[shape].append(unit)
    patches: dict[str, str] = {}
    for shape, group in alike.items():
        if len(group) > 1:
            patches |= patch_ids(repository, [(unit.commit, unit.base) for unit in group], [path for path, *_ in shape])
    return patches


def cut(unit: MergedChange, base: Tree, fixed: Tree, name: NameOf = language_name, folder: str = "") -> Cut | Reason:
    """Split a change into tests and fix, or reject it.

    ``base`` and ``fixed`` are the trees before and after the change, and ``name`` returns a file's language. Tests
    outside of ``folder`` are hidden too, but not run.
    """
    inside = f"{folder}/" if folder else ""
    after, before = PathClassifier.of(fixed), PathClassifier.of(base)
    changes = {change.path: change for change in unit.changes if is_plain_path(change.path)}
    classes = {path: (after if path in fixed else before).classify(path) for path in changes}
    sources = {path: change for path, change in changes.items() if classes[path] == "source"}
    tests = [path for path, kind in classes.items() if kind in {"test", "test_support"}]
    reason = _without_source(classes) or _reject_sources(sources, base, fixed, name)
    if reason is not None:
        return reason
    modules = [path for path in sorted(tests) if path in fixed and classes[path] == "test"]
    modules = [path for path in modules if after.is_test_module(path) and path.startswith(inside)]
    language = language_of(sources, modules, name)
    runnable = tuple(path for path in modules if name(path) == language)
    if not runnable:
        return "no_test"
    if not all(_is_text(path) for path in (*sources, *tests)):
        return "unreadable"
    files = [tree[path] for path in (*sources, *tests) for tree in (base, fixed) if path in tree]
    if any(file.mode == LINK_MODE for file in files):
        return "symlink"
    if any(is_lfs_pointer(file.data) for file in files):
        return "lfs_pointer"
    hidden = {path: fixed.get(path) for path in sorted(tests)}
    fix = {path: fixed.get(path) for path in sorted(sources)}
    lines = sum(_lines(change) for change in sources.values())
    size = sum(len(file.data) for file in (*hidden.values(), *fix.values()) if file is not None)
    if len(fix) > MAX_SOURCE_FILES or lines > MAX_SOURCE_LINES or size > MAX_CHANGED_BYTES:
        return "too_large"
    public = tuple(path for path in public_tests(base, before, runnable, name) if path.startswith(inside))
    return Cut(base, hidden, fix, fixed, runnable, public, lines, folder)


def _without_source(classes: Mapping[str, PathClass]) -> Reason | None:
    kinds = set(classes.values())
    if "source" in kinds:
        return None
    if kinds & {"test", "test_support"}:
        return "tests_only"
    if kinds == {"docs"}:
        return "docs_only"
    if kinds == {"ci"}:
        return "ci_only"
    if kinds and kinds <= {"dependencies", "configuration"}:
        return "deps_only"
    return "no_src"


def _reject_sources(sources: Mapping[str, PathChange], base: Tree, fixed: Tree, name: NameOf) -> Reason | None:
    if not any(map(name, sources)):
        return "unsupported_language"
    if _is_rename_only(sources):
        return "rename_only"
    for path, change in sources.items():
        binary = change.added is None and change.old_blob != change.new_blob
        if binary or any(b"\0" in tree[path].data for tree in (base, fixed) if path in tree):
            return "binary_src"
    if all(path in base and path in fixed and same_code(path, base[path].data, fixed[path].data) for path in sources):
        return "format_only"
    return None


def _is_rename_only(sources: Mapping[str, PathChange]) -> bool:
    if any(change.status == "M" and change.old_blob != change.new_blob for change in sources.values()):
        return False
    gone = sorted(change.old_blob for change in sources.values() if change.status == "D")
    come = sorted(change.new_blob for change in sources.values() if change.status == "A")
    return gone == come


def _may_be_test(path: str, head: PathClassifier) -> bool:
    named = not _TEST_WORDS.isdisjoint(_WORD.findall(path.lower()))
    return named or head.classify(path) in {"test", "test_support"}


def _lines(change: PathChange) -> int:
    return max(change.added or 0, change.removed or 0)


def _is_text(path: str) -> bool:
    # In paths, bytes that are not UTF-8 are lone surrogates.
    return encodable(path) == path


def uses_of_tests(cut: Cut) -> Uses:
    """Return the names that the change's new test lines use."""
    uses = Uses()
    for path, file in cut.hidden.items():
        source = read(path, file)
        if source is not None and file is not None:
            uses.update(source.uses(added_lines(file, cut.base.get(path))))
    return uses


def public_tests(
    base: Tree, before: PathClassifier, runnable: tuple[str, ...], name: NameOf = language_name
) -> tuple[str, ...]:
    """Return the base's test modules that a model should see.

    At most ``MAX_PUBLIC_TESTS`` are chosen. Files in ``runnable`` (the hidden test files) come first, then other files
    in their folders, then others in their languages. ``before`` classifies the base's paths; ``name`` returns a file's
    language.
    """
    languages = set(map(name, runnable))
    modules = [path for path in base if name(path) in languages and before.classify(path) == "test"]
    folders = {path.rpartition("/")[0] for path in runnable}
    nearest = sorted(
        filter(_is_text, modules), key=lambda path: (path not in runnable, path.rpartition("/")[0] not in folders, path)
    )
    return tuple(sorted(nearest[:MAX_PUBLIC_TESTS]))
