"""Patches that a JSON string can hold: what is not UTF-8 goes into git's binary hunks.

``make_patch`` writes a file in an old encoding as text, with its bytes as lone surrogates, which other programs
than ours cannot read from JSON. Such files are written the way git writes binary files
(git's ``diff.c``, ``emit_binary_diff_body``): deflated, in lines of base 85, forward and backward.
"""

import base64
import zlib
from typing import Final

from codegate.suite.git import object_id
from codegate.suite.patch import MAX_PATCH_BYTES, PatchError, apply_patch, make_patch
from codegate.suite.tree import Changes, Tree, TreeFile

_LINE: Final = 52
_NOTHING: Final = "0" * 40


def portable_patch(base: Tree, changes: Changes) -> str:
    """Return the patch that makes ``changes`` to ``base``, in valid Unicode wherever the paths are.

    ``apply_patch`` turns it back, and so does ``git apply``.
    """
    real = base.changes_to(base.overlay(changes))
    odd = {path for path, file in real.items() if _needs_binary(base.get(path), file)}
    # A text file may lie where an odd one was, as a file or as a folder: without these, neither is deleted twice.
    rest = Tree({path: file for path, file in base.items() if path not in odd})
    text = make_patch(rest, {path: file for path, file in real.items() if path not in odd}) if odd != set(real) else ""
    gone = "".join(_binary(path, base.get(path), None) for path in sorted(odd) if real[path] is None)
    return gone + text + "".join(_binary(path, base.get(path), real[path]) for path in sorted(odd) if real[path])


def patched(base: Tree, patch: str) -> dict[str, TreeFile | None] | None:
    """Return the changes that ``patch`` makes to ``base``, or None when it does not apply."""
    if len(patch) > MAX_PATCH_BYTES:
        return None
    try:
        return apply_patch(base, patch)
    except PatchError:
        return None


def _needs_binary(old: TreeFile | None, new: TreeFile | None) -> bool:
    if old is not None and new is not None and old.data == new.data:
        return False
    return not all(_is_text(file.data) for file in (old, new) if file is not None)


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _binary(path: str, old: TreeFile | None, new: TreeFile | None) -> str:
    before, after = (_NOTHING if file is None else object_id(file.data) for file in (old, new))
    lines = [f"diff --git {_quoted('a/' + path)} {_quoted('b/' + path)}"]
    mode = ""
    if old is None and new is not None:
        lines.append(f"new file mode {new.mode}")
    elif new is None and old is not None:
        lines.append(f"deleted file mode {old.mode}")
    elif old is not None and new is not None and old.mode != new.mode:
        lines += [f"old mode {old.mode}", f"new mode {new.mode}"]
    elif old is not None:
        mode = f" {old.mode}"
    lines += [f"index {before}..{after}{mode}", "GIT binary patch"]
    lines += _literal(b"" if new is None else new.data) + _literal(b"" if old is None else old.data)
    return "\n".join(lines) + "\n"


def _literal(data: bytes) -> list[str]:
    packed = zlib.compress(data)
    lines = [f"literal {len(data)}"]
    for start in range(0, len(packed), _LINE):
        part = packed[start : start + _LINE]
        length = chr(ord("A") + len(part) - 1) if len(part) <= 26 else chr(ord("a") + len(part) - 27)
        lines.append(length + base64.b85encode(part, pad=True).decode("ascii"))
    return [*lines, ""]


def _quoted(name: str) -> str:
    """Return ``name`` as git writes it (``core.quotePath=false``): paths hold no control character or backslash."""
    return '"' + name.replace('"', '\\"') + '"' if '"' in name else name
