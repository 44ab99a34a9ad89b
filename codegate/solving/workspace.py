"""A tree in memory that a model reads and edits.

Only changes of its source files are graded. Nothing here touches the host's files: a model's path leads only into the
tree. Links are neither followed nor written. Sizes are limited.
"""

import io
import unicodedata
from typing import Final

from codegate.errors import CodegateError
from codegate.solving.answer import AnswerPatches, answer_patches, show_path, sort_paths
from codegate.solving.attempt import DroppedPath
from codegate.suite import Changes, Tree, TreeFile, is_plain_path, parent_folders

MAX_WRITE_BYTES: Final = 1 << 20
MAX_READ_BYTES: Final = 100 << 10
MAX_WRITTEN_BYTES: Final = 4 << 20
MAX_CHANGED_FILES: Final = 500
MAX_REFUSED: Final = 50
MAX_HITS: Final = 100
SHOWN_LINE: Final = 300


class WorkspaceError(CodegateError):
    """An edit or read is impossible; the text says why."""


class UnsafePathError(WorkspaceError):
    """A model's path leaves the tree or is blocked.

    A link, a file or a folder blocks it. The path is recorded as dropped.
    """


class Workspace:
    """A base tree with the model's changes; for one thread."""

    def __init__(self, base: Tree) -> None:
        self._base = base
        self._files: dict[str, TreeFile] = dict(base)
        self._touched: set[str] = set()
        self._refused: dict[str, DroppedPath] = {}

    def tree(self) -> Tree:
        """Return the tree with all changes so far."""
        return Tree(self._files)

    def list(self, prefix: str = "") -> tuple[str, ...]:
        """Return sorted paths below the folder ``prefix``; "" lists all."""
        folder = prefix.strip().removeprefix("./").strip("/")
        if folder in {"", "."}:
            return tuple(sorted(self._files))
        return tuple(sorted(path for path in self._files if path == folder or path.startswith(folder + "/")))

    def read(self, path: str) -> str:
        """Return a text file's content, at most 100 KiB.

        Raises WorkspaceError for a larger or binary file.
        """
        file = self._file(_normal(path))
        if len(file.data) > MAX_READ_BYTES:
            raise WorkspaceError(
                f"{show_path(path)} has {len(file.data)} bytes; at most {MAX_READ_BYTES} can be read at once.",
                "Read a range of lines, or search the file.",
            )
        return _text(path, file)[0]

    def read_lines(self, path: str, first: int, last: int) -> str:
        """Return a file's lines ``first`` to ``last``, counted from 1."""
        lines = [*io.StringIO(self.content(path), newline="\n")]
        chosen = "".join(lines[max(first, 1) - 1 : max(last, 0)])
        if not chosen:
            raise WorkspaceError(f"{show_path(path)} has {len(lines)} lines; the range {first}-{last} contains none.")
        if len(chosen.encode()) > MAX_READ_BYTES:
            raise WorkspaceError(f"these lines are over {MAX_READ_BYTES} bytes.", "Read a smaller range.")
        return chosen

    def content(self, path: str) -> str:
        """Return the text of a file, whatever its size."""
        return _text(path, self._file(_normal(path)))[0]

    def search(self, text: str, prefix: str = "") -> tuple[str, ...]:
        """Return the lines with ``text``, as ``path:line: content``.

        At most 100 lines of files below the folder ``prefix`` are returned. ``text`` is no pattern: a regular
        expression from a model could run forever.
        """
        if not text or "\n" in text:
            raise WorkspaceError("the text to search for must be one line and not empty.")
        hits: list[str] = []
        for path in self.list(prefix):
            decoded = decode_text(self._files[path])
            if decoded is None or text not in decoded[0]:
                continue
            for number, line in enumerate(decoded[0].split("\n"), start=1):
                if text in line:
                    hits.append(f"{path}:{number}: {line.rstrip()[:SHOWN_LINE]}")
                    if len(hits) == MAX_HITS:
                        return tuple(hits)
        return tuple(hits)

    def write(self, path: str, text: str, *, executable: bool | None = None) -> None:
        """Create or replace a file.

        An old file's encoding stays, and its executable bit if ``executable`` is None.

        Raises:
            WorkspaceError: the file is binary or too large, or its encoding lacks a character of the text.
            UnsafePathError: the path leaves the tree, or a link, a file or a folder is in its way.
        """
        name = self._writable(path)
        old = self._files.get(name)
        encoding = "utf-8" if old is None else _text(path, old)[1]
        try:
            data = text.encode(encoding, "replace" if encoding == "utf-8" else "strict")
        except UnicodeEncodeError as error:
            raise WorkspaceError(
                f"{show_path(path)} is not in UTF-8, and the text has {text[error.start : error.end][:1]!a}.",
                "Write it without that character.",
            ) from None
        if len(data) > MAX_WRITE_BYTES:
            self._refuse(name, "too_large")
            raise WorkspaceError(
                f"{show_path(path)}: {len(data)} bytes; at most {MAX_WRITE_BYTES} can be written to a file."
            )
        others = sum(len(self._files[p].data) for p in self._touched if p != name and p in self._files)
        if others + len(data) > MAX_WRITTEN_BYTES or len(self._touched | {name}) > MAX_CHANGED_FILES:
            self._refuse(name, "too_large")
            raise WorkspaceError(
                f"{show_path(path)}: all changes together are limited to {MAX_WRITTEN_BYTES} bytes "
                f"in {MAX_CHANGED_FILES} files."
            )
        mode = old.mode if old is not None else "100644"
        self._files[name] = TreeFile(data, mode if executable is None else "100755" if executable else "100644")
        self._touched.add(name)
        self._refused.pop(name, None)

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace ``old`` in a file by ``new``.

        Raises WorkspaceError unless ``old`` occurs exactly once.
        """
        content = self.content(path)
        if not old:
            raise WorkspaceError("the text to replace is empty.", "Use write_file to write a whole file.")
        if "\r\n" in content and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        start = content.find(old)
        if start < 0:
            raise WorkspaceError(f"{show_path(path)}: the text to replace does not occur.", "Read the file again.")
        if content.find(old, start + 1) >= 0:
            raise WorkspaceError(
                f"{show_path(path)}: the text to replace occurs more than once.", "Give more of the surrounding text."
            )
        self.write(path, content[:start] + new + content[start + len(old) :])

    def delete(self, path: str) -> None:
        """Delete a file, unless a link is in the way."""
        name = self._writable(path)
        self._file(name)
        del self._files[name]
        self._touched.add(name)

    def apply(self, changes: Changes) -> None:
        """Apply a patch's changes, byte for byte."""
        self._files = dict(Tree(self._files).overlay(changes))
        self._touched |= changes.keys()

    def patches(self) -> AnswerPatches:
        """Return the answer's patches and the paths left out."""
        touched = sorted(self._touched)
        changed = {path: self._files.get(path) for path in touched if self._files.get(path) != self._base.get(path)}
        sources, dropped = sort_paths(self._base, changed)
        tests = [drop.path for drop in dropped if drop.reason == "test" and drop.path in changed]
        dropped += [DroppedPath(path=path, reason="unchanged") for path in touched if path not in changed]
        dropped += [refused for path, refused in self._refused.items() if path not in changed]
        return answer_patches(self._base, {path: changed[path] for path in (*sources, *tests)}, dropped)

    def _file(self, name: str) -> TreeFile:
        file = self._files.get(name)
        if file is None:
            raise WorkspaceError(f"there is no file {show_path(name)}.", "Use list_files to see the files.")
        if file.is_link:
            raise WorkspaceError(f"{show_path(name)} is a symbolic link.", "Name the file that it points to.")
        return file

    def _writable(self, path: str) -> str:
        """Return the normalised path to write; refuse an unsafe path."""
        name = _normal(path)
        if not is_plain_path(name) or not name.isprintable() or unicodedata.normalize("NFC", name) != name:
            self._refuse(name, "unsafe")
            raise UnsafePathError(
                f"{show_path(path)} is not a plain relative path inside the repository.", "Nothing was written."
            )
        if any(folder in self._files for folder in parent_folders(name)) or (
            name in self._files and self._files[name].is_link
        ):
            self._refuse(name, "unsafe")
            raise UnsafePathError(f"{show_path(path)} is, or goes through, a file or a symbolic link.")
        if name not in self._files and any(other.startswith(name + "/") for other in self._files):
            self._refuse(name, "unsafe")
            raise UnsafePathError(f"{show_path(path)} is a folder.")
        return name

    def _refuse(self, path: str, reason: str) -> None:
        shown = show_path(path)
        if len(self._refused) < MAX_REFUSED:
            self._refused[shown] = DroppedPath.model_validate({"path": shown, "reason": reason})


def _normal(path: str) -> str:
    return path.strip().removeprefix("./")


def decode_text(file: TreeFile) -> tuple[str, str] | None:
    """Return a file's text and encoding, or None.

    None for a binary file or a link. Any encoding but UTF-8 is read as Latin-1, which decodes ASCII correctly and keeps
    all other bytes.
    """
    if file.is_link or b"\0" in file.data:
        return None
    try:
        return file.data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return file.data.decode("latin-1"), "latin-1"


def _text(path: str, file: TreeFile) -> tuple[str, str]:
    decoded = decode_text(file)
    if decoded is None:
        raise WorkspaceError(f"{show_path(path)} is a binary file.", "It cannot be read or edited as text.")
    return decoded
