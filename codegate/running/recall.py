"""Measure how much of the reference fix a patch repeats verbatim: a sign of memorisation.

Short fixes are often identical by chance, so only fixes with several distinctive lines count. The share is compared
between problems from before and after a training cut-off, and is no proof by itself.
"""

from typing import Final

from codegate.suite import Changes, PatchError, Tree, apply_patch

MIN_LINES: Final = 5
_MIN_CHARACTERS: Final = 12


def verbatim_recall(base: Tree, fix: Changes, patch: str) -> float | None:
    """Return which share (0-1) of the fix's distinctive added lines ``patch`` adds too, blanks aside.

    A line is distinctive when it has at least 12 characters other than blanks and its file does not have it in
    ``base``. None where the fix has fewer than five of those, or the patch does not apply.
    """
    wanted = _added(base, fix)
    if len(wanted) < MIN_LINES:
        return None
    try:
        written = _added(base, apply_patch(base, patch)) if patch.strip() else frozenset()
    except PatchError:
        return None
    return len(wanted & written) / len(wanted)


def _added(base: Tree, changes: Changes) -> frozenset[bytes]:
    found: set[bytes] = set()
    for path, file in changes.items():
        if file is None or file.is_link:
            continue
        old = base.get(path)
        found |= _lines(file.data) - (_lines(old.data) if old is not None else set())
    return frozenset(found)


def _lines(data: bytes) -> set[bytes]:
    plain = (b"".join(line.split()) for line in data.splitlines())
    return {line for line in plain if len(line) >= _MIN_CHARACTERS}
