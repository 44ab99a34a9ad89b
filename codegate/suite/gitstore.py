"""Temporary git repositories without checked-out files.

Git sees only objects and an index, so names, links and attributes of a tree have no effect.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from codegate.errors import InfrastructureError
from codegate.suite.git import GitError, git, object_id
from codegate.suite.tree import FileMode, Tree

_IGNORE_SECONDS: Final = 30  # of processor time: rules can be written so that each name takes git for ever
_PREFIX: Final = "codegate-patch-"
_YOUNG_SECONDS: Final = 60.0  # a younger store may not be locked yet


@contextmanager
def open_store(*, bare: bool = True) -> Iterator[Path]:
    """Yield a new, empty git repository; remove it afterwards.

    Raises:
        InfrastructureError: the disk is full.
    """
    try:
        _sweep(Path(tempfile.gettempdir()))
        with (
            tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name,
            _held(Path(name)) as folder,
        ):
            # These files are what `git init` makes, without the time of a process.
            for part in ("objects", "refs"):
                (folder / ("" if bare else ".git") / part).mkdir(parents=True)
            (folder / ("" if bare else ".git") / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
            yield folder
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {tempfile.gettempdir()}: {error.strerror or error}.", "Free some space or set TMPDIR."
        ) from error


@contextmanager
def _held(folder: Path) -> Iterator[Path]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield folder
    finally:
        os.close(descriptor)


@cache
def _sweep(place: Path) -> None:
    """Remove repositories that killed processes left in ``place``."""
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


def store_trees(store: Path, trees: Sequence[Tree]) -> None:
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
        # The input is well-formed, so the disk has failed.
        raise InfrastructureError(error.cause, "Free some space or set TMPDIR.") from error


def set_index(store: Path, entries: Mapping[str, tuple[FileMode, str]]) -> None:
    """Add paths to the index, with their modes and blobs."""
    listing = "".join(f"{mode} {name}\t{path}\0" for path, (mode, name) in entries.items())
    git(store, "update-index", "-z", "--index-info", stdin=_bytes(listing))


def find_ignored(rules: Tree, paths: Sequence[str], defaults: str) -> frozenset[str]:
    """Return the ``paths`` that git ignores.

    Git reads the ``.gitignore`` files in ``rules``, which may overrule the patterns ``defaults`` (one on each line).
    Files in ``rules`` are never ignored.

    Raises:
        GitError: the rules take too long.
        InfrastructureError: the disk is full.
    """
    asked = "".join(f"./{path}\0" for path in paths)  # with a folder ahead, no name is a pattern of git's own
    with open_store(bare=False) as store:
        store_trees(store, [rules])
        set_index(store, {path: (file.mode, object_id(file.data)) for path, file in rules.items()})
        # Git reads the rules in the index where a file is marked as left out of the work tree.
        names = "".join(f"{path}\0" for path in rules)
        git(store, "update-index", "--skip-worktree", "-z", "--stdin", stdin=_bytes(names))
        (store / ".git/info").mkdir(exist_ok=True)
        (store / ".git/info/exclude").write_text(defaults, encoding="utf-8")
        options = ("-z", "--stdin")
        found = git(
            store, "check-ignore", *options, stdin=_bytes(asked), processor_seconds=_IGNORE_SECONDS, codes=(0, 1)
        )
    return frozenset(path.decode("utf-8", "surrogateescape")[2:] for path in found.split(b"\0")[:-1])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _quoted(path: str) -> bytes:
    return b'"' + _bytes(path).replace(b'"', b'\\"') + b'"'
