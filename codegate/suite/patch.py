"""Make patches from changes of a tree, and apply patches strictly: no fuzz, no three-way merge.

Git does both, in the object store and index of a throw-away repository: no file of the tree is ever checked out, so
its names, links and attributes have nothing to act on.
"""

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, cast

from codegate.errors import CodegateError, InfrastructureError
from codegate.suite.git import GitError, git, object_id, read_blobs
from codegate.suite.tree import Changes, FileMode, Tree, TreeFile, is_plain_path

MAX_PATCH_BYTES: Final = 8 << 20
MAX_HEADER_BYTES: Final = 512 << 10
MAX_CHANGED_BYTES: Final = 64 << 20
_APPLY_SECONDS: Final = 60.0
_APPLY_MEMORY: Final = 1 << 30
_PREFIX: Final = "codegate-patch-"
_YOUNG_SECONDS: Final = 60.0  # a store that was made just now may not be held yet

_HEADERS: Final = re.compile(r"^(?:diff --git |--- |\+\+\+ |rename |copy )[^\n]*", re.MULTILINE)
_QUOTED_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class PatchError(CodegateError):
    """The patch does not apply to the base tree, or it changes what a patch may not change."""


def make_patch(base: Tree, changes: Changes) -> str:
    """Return the diff in git's format (binary hunks included) that makes ``changes`` to ``base``.

    Bytes that are not UTF-8 become surrogate escapes, which ``apply_patch`` turns back.
    """
    real = base.changes_to(base.overlay(changes))
    if not real:
        return ""
    before = Tree({path: base[path] for path in real if path in base})
    with _store() as store:
        _import(store, [before, before.overlay(real)])
        options = ("-p", "-r", "--binary", "--no-renames", "--full-index")
        patch = git(store, "diff-tree", *options, "tree-0", "tree-1")
    return patch.decode("utf-8", "surrogateescape")


def apply_patch(base: Tree, patch: str) -> dict[str, TreeFile | None]:
    """Return the changes that ``patch`` makes to ``base``.

    Raises:
        PatchError: it is malformed or too large, does not apply exactly, leaves the tree, or makes a link.
    """
    raw = patch.encode("utf-8", "surrogateescape" if _escapes_only(patch) else "replace")
    if len(raw) > MAX_PATCH_BYTES:
        raise PatchError(f"the patch has {len(raw)} bytes; {MAX_PATCH_BYTES} are allowed.")
    if not raw.strip():
        return {}
    lines = "\n".join(_HEADERS.findall(patch))
    headers = "\n".join([lines, *(_unquoted(match) for match in _QUOTED_NAME.findall(lines))])
    if len(headers) > MAX_HEADER_BYTES:
        raise PatchError("the patch names too many files.")
    entries = {path: (file.mode, object_id(file.data)) for path, file in base.items()}
    with _store() as store:
        # The index has every path of the base, so that a patch conflicts as in a checkout; only the bytes of files
        # that the patch can name are stored.
        _import(store, [Tree({path: file for path, file in base.items() if path in headers})])
        listing = "".join(f"{mode} {name}\t{path}\0" for path, (mode, name) in entries.items())
        git(store, "update-index", "-z", "--index-info", stdin=listing.encode("utf-8", "surrogateescape"))
        try:
            git(
                store, "apply", "--cached", "--whitespace=nowarn", "-",
                stdin=raw if raw.endswith(b"\n") else raw + b"\n", timeout=_APPLY_SECONDS, memory=_APPLY_MEMORY,
            )  # fmt: skip
        except GitError as error:
            raise PatchError(_reason(error)) from error
        return _changes(store, base, entries)


def _changes(store: Path, base: Tree, before: dict[str, tuple[FileMode, str]]) -> dict[str, TreeFile | None]:
    """Return what differs between the index of ``store`` and the entries ``before``."""
    after: dict[str, tuple[FileMode, str]] = {}
    for entry in git(store, "ls-files", "-s", "-z").split(b"\0")[:-1]:
        facts, _, raw_path = entry.partition(b"\t")
        mode, name, _stage = facts.decode("ascii").split(" ")
        after[raw_path.decode("utf-8", "surrogateescape")] = (cast("FileMode", mode), name)
    changed = {path: entry for path, entry in after.items() if before.get(path) != entry}
    for path, (mode, _) in changed.items():
        if mode not in {"100644", "100755"}:
            raise PatchError("the patch makes a symbolic link or a submodule.")
        if not is_plain_path(path):
            raise PatchError("the patch names a path that is not a plain relative path.")
    known = {name: base[path].data for path, (_, name) in before.items()}
    try:
        new = read_blobs(store, {name for _, name in changed.values() if name not in known}, MAX_CHANGED_BYTES)
    except GitError as error:
        raise PatchError(f"the patch makes more than {MAX_CHANGED_BYTES >> 20} MiB of changes.") from error
    blobs = {**known, **new}
    files = {path: TreeFile(blobs[name], mode) for path, (mode, name) in changed.items()}
    return dict(sorted({**{path: None for path in before if path not in after}, **files}.items()))


def _unquoted(name: str) -> str:
    """Return the path that git writes as ``"name"``."""

    def unescape(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code, 8) & 0xFF) if len(code) == 3 else _ESCAPED.get(code, code)

    # Escapes stand for bytes: those that are written as characters join them as their own bytes.
    octets = name.encode("utf-8", "surrogateescape").decode("latin-1")
    return _ESCAPE.sub(unescape, octets).encode("latin-1").decode("utf-8", "surrogateescape")


@contextmanager
def _store() -> Iterator[Path]:
    try:
        _sweep(Path(tempfile.gettempdir()))
        with (
            tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name,
            _held(Path(name)) as folder,
        ):
            git(folder, "init", "--quiet", "--bare", "--template=", "--object-format=sha1", ".")
            yield folder
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {tempfile.gettempdir()}: {error.strerror or error}.", "Free some space or set TMPDIR."
        ) from error


@contextmanager
def _held(folder: Path) -> Iterator[Path]:
    """Hold the folder's lock, which the kernel releases when this process ends, however it ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield folder
    finally:
        os.close(descriptor)


@cache
def _sweep(place: Path) -> None:
    """Remove, once, the stores of killed processes, whose locks are free."""
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _YOUNG_SECONDS:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _import(store: Path, trees: list[Tree]) -> None:
    """Store each tree as the branch ``tree-<index>``."""
    stream = bytearray()
    for index, tree in enumerate(trees):
        stream += b"commit refs/heads/tree-%d\n" % index
        stream += b"committer codegate <codegate> 0 +0000\ndata 0\n"
        for path, file in tree.items():
            stream += b"M %s inline %s\n" % (file.mode.encode("ascii"), _quoted(path))
            stream += b"data %d\n%s\n" % (len(file.data), file.data)
        stream += b"\n"
    try:
        git(store, "fast-import", "--quiet", stdin=bytes(stream))
    except GitError as error:
        # Its input is well-formed, so the disk has failed.
        raise InfrastructureError(error.cause, "Free some space or set TMPDIR.") from error


def _quoted(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    return b'"' + raw.replace(b'"', b'\\"') + b'"'


def _escapes_only(text: str) -> bool:
    """Whether every surrogate in ``text`` stands for an undecodable byte."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: GitError) -> str:
    faults = [fault.strip(" .") for fault in re.split("(?:error|fatal): ", error.cause)[1:]]
    words = "; ".join(fault for fault in faults if fault)[:500] or f"no result within {_APPLY_SECONDS:.0f} s"
    return f"the patch does not apply: {words}."
