"""A tree: the files of one commit or folder, in memory, byte-exact.

Everything that crosses between rooms is a tree or a change to one. A tree never touches the host's file
system by the names inside it, so a hostile path or link in it has nothing to reach.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from codegate.durable import digest, sha256
from codegate.errors import UsageError

FileMode = Literal["100644", "100755", "120000"]

MAX_PATH_BYTES: Final = 4096
MAX_NAME_BYTES: Final = 255


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file: its bytes and git's mode (regular, executable, or symbolic link with the target as bytes)."""

    data: bytes
    mode: FileMode = "100644"

    @property
    def is_link(self) -> bool:
        """Whether the file is a symbolic link."""
        return self.mode == "120000"


class Tree(Mapping[str, TreeFile]):
    """An immutable mapping from relative POSIX path to file.

    Raises:
        UsageError: a path is not a plain relative path (see ``check_path``).
    """

    def __init__(self, files: Mapping[str, TreeFile] | None = None) -> None:
        self._files = dict(sorted((files or {}).items()))
        for path in self._files:
            check_path(path)

    def __getitem__(self, path: str) -> TreeFile:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"Tree({len(self._files)} files)"

    def overlay(self, changes: "Changes") -> "Tree":
        """Return this tree with ``changes`` applied: new bytes replace, None deletes (absent is fine)."""
        files = dict(self._files)
        for path, file in changes.items():
            if file is None:
                files.pop(path, None)
            else:
                files[path] = file
        return Tree(files)

    def changes_to(self, other: "Tree") -> "dict[str, TreeFile | None]":
        """Return the changes that turn this tree into ``other``."""
        changed: dict[str, TreeFile | None] = {path: None for path in self if path not in other}
        changed.update({path: file for path, file in other.items() if self.get(path) != file})
        return dict(sorted(changed.items()))

    def digest(self) -> str:
        """Return a SHA-256 over every path, mode and byte."""
        return digest([[path, file.mode, sha256(file.data)] for path, file in self._files.items()])


Changes = Mapping[str, TreeFile | None]
"""A change of a tree: path to its new file, or to None where the file is deleted."""


def check_path(path: str) -> None:
    """Accept only a plain relative POSIX path that names something inside the tree.

    Raises:
        UsageError: absolute, empty, ``.``/``..``/``.git`` segments, control characters, a lone surrogate that
            is not an undecodable byte, or over-long.
    """
    if not is_plain_path(path):
        shown = path[:120].encode("unicode_escape").decode("ascii")
        raise UsageError(f"path {shown!r} is not a plain relative path inside the repository.")


def is_plain_path(path: str) -> bool:
    """Return whether ``check_path`` accepts ``path``."""
    if not path or any(ord(character) < 32 or ord(character) == 127 for character in path) or "\\" in path:
        return False
    try:
        encoded = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    segments = path.split("/")
    if len(encoded) > MAX_PATH_BYTES or any(
        len(s.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES for s in segments
    ):
        return False
    return all(segment not in {"", ".", ".."} and segment.lower() != ".git" for segment in segments)
