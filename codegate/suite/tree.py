"""The files of a commit or folder, and their changes.

They are in memory, byte-exact. Names in a tree are never used on the host's file system, so a hostile path or link has
no effect there.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from codegate.durable import digest, sha256
from codegate.errors import UsageError

FileMode = Literal["100644", "100755", "120000"]

MAX_PATH_BYTES: Final = 4096
MAX_NAME_BYTES: Final = 255

_INHERITED: Final = (
    "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", ".nvmrc", ".node-version",
    "pnpm-lock.yaml", "package-lock.json", "yarn.lock", "bun.lock", "bun.lockb",
)  # fmt: skip
_CONTROL_OR_BACKSLASH: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file: its bytes (a link's target) and git's mode."""

    data: bytes
    mode: FileMode = "100644"

    @property
    def is_link(self) -> bool:
        """Return whether the file is a symbolic link."""
        return self.mode == "120000"

    @property
    def text(self) -> str:
        """Return the data as UTF-8, with U+FFFD for other bytes."""
        return self.data.decode("utf-8", "replace")


class Tree(Mapping[str, TreeFile]):
    """An immutable mapping of relative POSIX paths to files, sorted.

    Raises:
        UsageError: a path is not a plain relative path (see ``check_path``), or is a file and a folder at once.
    """

    def __init__(self, files: Mapping[str, TreeFile] | None = None) -> None:
        self._files = dict(sorted((files or {}).items()))
        for path in self._files:
            check_path(path)
            for folder in parent_folders(path):
                if folder in self._files:
                    raise UsageError(f"path {_shown(folder)} is a file and a folder at once.")

    def __getitem__(self, path: str) -> TreeFile:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"Tree({len(self._files)} files)"

    def overlay(self, changes: "Changes") -> "Tree":
        """Return this tree with ``changes``; None deletes a file.

        A new file replaces a folder of its name, and a new folder replaces a file. A deleted file may be absent.
        """
        files = {path: file for path, file in self._files.items() if path not in changes}
        new = {path: file for path, file in changes.items() if file is not None}
        for folder in {folder for path in new for folder in parent_folders(path)}:
            files.pop(folder, None)
        if new.keys() - self._files.keys():
            files = {p: file for p, file in files.items() if not any(f in new for f in parent_folders(p))}
        return Tree({**files, **new})

    def changes_to(self, other: "Tree") -> "dict[str, TreeFile | None]":
        """Return, by path, the changes from this tree to ``other``.

        None stands for a deleted file.
        """
        changed: dict[str, TreeFile | None] = {path: None for path in self if path not in other}
        changed.update({path: file for path, file in other.items() if self.get(path) != file})
        return dict(sorted(changed.items()))

    def digest(self) -> str:
        """Return a SHA-256 over every path, mode and byte."""
        return digest([[path, file.mode, sha256(file.data)] for path, file in self._files.items()])


class Subtree(Tree):
    """The files below a repository's folder, by relative paths.

    The folder may be one service of a monorepo. Lock and version files that it lacks are taken from the nearest folder
    above that has them, because a workspace has one for all its members.

    Attributes:
        whole: the repository's tree.
        folder: path in it, without slashes around.
    """

    def __init__(self, whole: Tree, folder: str) -> None:
        self.whole = whole
        self.folder = folder
        files = {path[len(folder) + 1 :]: file for path, file in whole.items() if path.startswith(f"{folder}/")}
        for above in self.above():
            for name in _INHERITED:
                if (place := f"{above}{name}") in whole:
                    files.setdefault(name, whole[place])
        super().__init__(files)

    def above(self) -> Iterator[str]:
        """Yield the parent folders of ``folder``, the nearest first.

        Each ends with a slash; the root is "".
        """
        yield from (f"{place}/" for place in reversed([*parent_folders(self.folder)]))
        yield ""

    @classmethod
    def of(cls, tree: Tree, folder: str) -> Tree:
        """Return the part below ``folder``; for "" the whole ``tree``."""
        return cls(tree, folder) if folder else tree


Changes = Mapping[str, TreeFile | None]
"""Changes of a tree: by path, the new file, or None if the file is deleted."""


def check_path(path: str) -> None:
    """Raise UsageError unless ``path`` is a plain relative path.

    A plain path is not empty, absolute or over-long. It has no ``.``, ``..`` or ``.git`` segments, control characters,
    backslashes, or surrogates other than undecodable bytes.
    """
    if not is_plain_path(path):
        raise UsageError(f"path {_shown(path)} is not a plain relative path inside the repository.")


def is_plain_path(path: str) -> bool:
    """Return whether ``check_path`` accepts ``path``."""
    if _CONTROL_OR_BACKSLASH.search(path):
        return False
    try:
        encoded = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    if len(encoded) > MAX_PATH_BYTES:
        return False
    return all(
        segment not in {b"", b".", b".."} and len(segment) <= MAX_NAME_BYTES and not _is_git_folder(segment)
        for segment in encoded.split(b"/")
    )


def _is_git_folder(segment: bytes) -> bool:
    """Return whether a file system may treat ``segment`` as ``.git``.

    The rules are git's protectHFS and protectNTFS.
    """
    if b"git" not in segment.lower() and segment.isascii():
        return False
    name = segment.decode("utf-8", "surrogateescape")
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return visible.split(":")[0].rstrip(". ").lower() in {".git", "git~1"}


def parent_folders(path: str) -> Iterator[str]:
    """Yield the folders that contain a path, the outermost first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def _shown(path: str) -> str:
    return repr(path[:120].encode("unicode_escape").decode("ascii"))
