"""Recognise a problem's fix and hidden tests in a file.

``leak_driver.py`` finds the files and passes their content. The fix may be in a file as source, as a patch, in an
archive, compiled, or through the names of its tests. Nothing is executed: byte code is searched for names, archives are
read within bounds.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from typing import Any, Iterator

#: Archives that are opened in system folders too; elsewhere the first bytes decide what is an archive.
ARCHIVES = (
    ".whl", ".zip", ".egg", ".jar", ".pyz", ".nupkg", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz",
    ".crate", ".gem",
)  # fmt: skip
LARGEST_ARCHIVE = 128 << 20
LARGEST_TEXT = 4 << 20
LARGEST_COMPILED = 64 << 20
DEEPEST = 3
MOST_MEMBERS = 20_000
MOST_UNPACKED = 512 << 20
DEFINED = rb"\b(?:def|func)\s+(?:\([^)]*\)\s*)?%b\b"
BROKEN = (
    OSError, EOFError, ValueError, LookupError, RuntimeError, NotImplementedError, zipfile.BadZipFile,
    lzma.LZMAError, zlib.error, MemoryError,
)  # fmt: skip


def lines_of(data: bytes) -> set[bytes]:
    """Return the lines of a text, stripped."""
    return {line.strip() for line in data.split(b"\n")}


def encoded_lines(lines: list[str]) -> set[bytes]:
    """Return ``lines`` as stripped UTF-8 bytes."""
    return {line.encode("utf-8", "replace") for line in lines}


def squeezed(data: bytes) -> bytes:
    """Return a text without whitespace, quotes and backslashes."""
    # So it is the same however it is wrapped or embedded.
    if b"\\n" in data:
        data = data.replace(b"\\r", b"").replace(b"\\n", b"").replace(b"\\t", b"")
    return data.translate(None, b" \t\r\n\f\v'\"`\\")


def after_patch(data: bytes) -> bytes:
    """Return a patch's new text; other data stay unchanged."""
    if b"@@ -" not in data:
        return data
    kept = [line[1:] if line[:1] in (b"+", b" ") else b"" if line[:1] == b"-" else line for line in data.split(b"\n")]
    return b"\n".join(kept)


def looks_fixed(lines: set[bytes], added: set[bytes], removed: set[bytes]) -> bool:
    """Return whether a file's lines look like the fixed version.

    They do if they have at least half of the lines that the fix ``added``. If it added none, they may have at most half
    of the lines that it ``removed``.
    """
    return 2 * len(lines & added) >= len(added) if added else 2 * len(lines & removed) <= len(removed)


class Unpacker:
    """Reads nested archives, within bounds.

    Broken archives and archives beyond the bounds are left out.

    Attributes:
        left: bytes that may still be unpacked.
        unread: archives that were too large to unpack.
    """

    def __init__(self, suffixes: tuple[str, ...], stems: set[str]) -> None:
        self.left, self.stems = MOST_UNPACKED, stems
        self.suffixes = (*suffixes, *ARCHIVES, ".pyc", ".patch", ".diff")
        self.unread: list[str] = []

    def texts(self, name: str, data: bytes, every: bool, depth: int = 0) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each file in an archive.

        ``data`` that is no archive is yielded itself. ``every``: all members; else only members named like files of the
        fix or hidden tests. ``depth`` is the number of archives around ``data``.
        """
        packed = depth < DEEPEST and is_packed(data)
        if not packed:
            yield name, data[:LARGEST_TEXT]
            return
        members = self.members(data, every)
        while True:
            try:
                inner, content = next(members)
            except StopIteration:
                return
            except BROKEN:
                yield name, data[:LARGEST_TEXT]  # no archive after all, or a damaged one
                return
            yield from self.texts("%s!%s" % (name, inner) if inner else name, content, every, depth + 1)

    def members(self, data: bytes, every: bool) -> Iterator[tuple[str, bytes]]:
        if data[:4] == b"PK\3\4":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for entry in archive.infolist()[:MOST_MEMBERS]:
                    if self.wants(entry.filename, entry.file_size, every):
                        with archive.open(entry) as member:
                            yield entry.filename, self.read_member(member, entry.filename)
        elif is_tar(data):
            for name, start, size in tar_members(data):
                if self.wants(name, size, every):
                    yield name, self.read_member(io.BytesIO(data[start : start + size]), name)
        elif data[:1] == b"x":
            yield "", zlib.decompressobj().decompress(data, LARGEST_TEXT)
        else:
            opened: Any = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}[data[:2]]
            with opened(io.BytesIO(data)) as stream:
                yield "", self.read_member(stream, ARCHIVES[-1])

    def wants(self, name: str, size: int, every: bool) -> bool:
        stem = name.rpartition("/")[2].partition(".")[0]
        known = name.endswith(ARCHIVES) or (stem in self.stems and name.endswith(self.suffixes))
        if name.endswith("/") or not size or not (every or known):
            return False
        return size <= (LARGEST_ARCHIVE if name.endswith(ARCHIVES) else LARGEST_TEXT)

    def read_member(self, stream: Any, name: str) -> bytes:
        """Return an archive member, at most ``self.left`` bytes of it.

        They are subtracted from ``left``. When it reaches 0, ``name`` is added to ``unread``.
        """
        found: bytes = stream.read(min(LARGEST_ARCHIVE if name.endswith(ARCHIVES) else LARGEST_TEXT, self.left))
        self.left -= len(found)
        if not self.left:
            self.unread.append(name)
        return found


def tar_members(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and size of a tar's regular files."""
    # Formats: POSIX ustar, GNU and pax long names. The standard library's reader takes quadratic time for some sparse
    # files, which need not be read here.
    position, count, long_name = 0, 0, ""
    while data[position + 257 : position + 262] == b"ustar" and count < MOST_MEMBERS:
        header, count = data[position : position + 512], count + 1
        size = int(header[124:136].strip(b" \0") or b"0", 8)
        start, kind = position + 512, header[156:157]
        content = data[start : start + min(size, 1 << 16)] if kind in b"Lx" else b""
        if kind == b"L":
            long_name = content.rstrip(b"\0").decode("utf-8", "replace")
        elif kind == b"x":
            found = re.search(rb"\d+ path=([^\n]*)\n", content)
            long_name = found.group(1).decode("utf-8", "replace") if found else ""
        else:
            if kind in b"0\0":
                parts = [part.split(b"\0")[0].decode("utf-8", "replace") for part in (header[345:500], header[:100])]
                yield long_name or "/".join(filter(None, parts)), start, size
            long_name = ""
        position = start + (size + 511) // 512 * 512


def is_tar(data: bytes) -> bool:
    return data[257:262] == b"ustar"


def is_packed(data: bytes) -> bool:
    """Return whether content is archived, compressed or a git object."""
    deflated = data[:1] == b"x" and len(data) > 2 and not (data[0] * 256 + data[1]) % 31
    return deflated or is_tar(data) or data.startswith((b"PK\3\4", b"\x1f\x8b", b"BZh", b"\xfd7zXZ"))


class KnownAnswer:
    """Recognises the fix and hidden tests in a file's content.

    Their lines and names come from the search request of ``codegate.mining.proving.leak``.
    """

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.fix = encoded_lines(wanted["fix_lines"])
        self.tests = encoded_lines(wanted["test_lines"])
        self.runs = [squeezed("".join(run).encode("utf-8", "replace")) for run in wanted["runs"]]
        self.changed = [
            (path, encoded_lines(added), encoded_lines(removed)) for path, added, removed in wanted["changed"]
        ]
        self.stems = {os.path.basename(path).partition(".")[0] for path, _, _ in self.changed}
        self.words = {path: encoded_lines(words) for path, words in wanted["words"]}
        self.unheard = {path: encoded_lines(words) for path, words in wanted["unheard"]}
        self.test_names = encoded_lines(wanted["test_names"])
        self.test_titles = encoded_lines(wanted["test_titles"])
        self.test_files = encoded_lines(wanted["hidden_names"])
        self.test_stems = {os.path.basename(name).partition(".")[0] for name in wanted["hidden_names"]}
        names = b"|".join(re.escape(name) for name in sorted(self.test_names))
        self.mention = re.compile(rb"(?<![\w])(?:" + names + rb")(?!\w|\.py\b)") if names else None  # no file's name

    def find_fix(self, path: str, data: bytes) -> tuple[int, str]:
        """Return how much of the fix a file has.

        The number counts the fix's lines or changed places that are in the file; 0: the file lacks the fix. The text
        describes the finding.
        """
        lines = lines_of(after_patch(data))
        shared = len(lines & self.fix)
        if shared >= max(2, (len(self.fix) + 1) // 2):
            return shared, "has %d of the %d distinctive lines of the fix" % (shared, len(self.fix))
        plus = lines_of(b"\n".join(re.findall(rb"(?m)^\+(.*)$", data))) if b"@@ -" in data else set()
        for changed, added, removed in self.changed:
            if plus and added and os.path.basename(changed).encode() in data and 2 * len(plus & added) >= len(added):
                return len(plus & added), "is a patch with %d of the %d lines of the fix" % (
                    len(plus & added),
                    len(added),
                )
            if "/" not in changed or not ("/" + path.replace("!", "/")).endswith("/" + changed):
                continue
            found = len(lines & added)
            if not looks_fixed(lines, added, removed):
                continue
            if added:
                return found, "is %s with %d of the %d lines of the fix" % (changed, found, len(added))
            if not self.runs:
                return 1, "is %s, and may be as the fix leaves it" % changed
        return self.count_fixed_places(data)

    def count_fixed_places(self, data: bytes) -> tuple[int, str]:
        """Count the changed places whose fixed text a file has.

        Fewer than half count as 0. The text describes the finding.
        """
        missed, most = 0, len(self.runs) // 2
        text = squeezed(data) if self.runs else b""
        after = squeezed(after_patch(data)) if self.runs and b"@@ -" in data else b""
        for run in self.runs:
            missed += run not in text and run not in after
            if missed > most:
                break
        found = len(self.runs) - missed
        if not self.runs or missed > most:
            return 0, ""
        return found, "has %d of the %d changed places as the fix leaves them" % (found, len(self.runs))

    def find_fix_in_byte_code(self, path: str, data: bytes, source: bool) -> str:
        """Return how byte code may reveal the fix, or "".

        ``source``: the source file is there too.
        """
        folder, name = os.path.split(path.replace("!", "/").replace("/__pycache__/", "/"))
        for changed, _, _ in self.changed:
            parent, own = os.path.split(changed)
            near = os.path.basename(parent) in ("", os.path.basename(folder))
            if not near or own.partition(".")[0] != name.partition(".")[0]:
                continue
            words = self.words.get(changed, set())
            if not parent and (len(words) < 2 or os.path.exists(os.path.join(folder, "__init__.py"))):
                continue  # a top-level module of that name is common, and one of a package is another module
            if words and 2 * sum(word in data for word in words) > len(words):
                return "is byte code of %s with names that the fix adds" % changed
            if not words and not source:
                return "is byte code of %s, and nobody can tell whether with the fix" % changed
        return ""

    def find_fix_in_binary(self, path: str, data: bytes) -> str:
        """Return how a compiled file reveals the fix, or ""."""
        # It names a changed file, and most names that the fix adds.
        stem = os.path.basename(path).partition(".")[0]
        for changed, words in self.unheard.items():
            own = os.path.basename(changed)
            if len(words) < 2 or not (changed.encode() in data or (stem == own.partition(".")[0] and stem)):
                continue
            if 2 * sum(word in data for word in words) > len(words):
                return "is compiled from %s with names that the fix adds" % changed
        return ""

    def find_tests_in_binary(self, data: bytes) -> str:
        """Return how a compiled file reveals hidden tests, or ""."""
        # It names a hidden test's file, and a test that is new in it.
        if self.test_names and any(name in data for name in self.test_files):
            for name in self.test_names:
                if name in data:
                    return "is compiled from the hidden test %s" % name.decode("utf-8", "replace")
        return ""

    def find_test_name(self, path: str, data: bytes) -> str:
        """Return how a file names a hidden test, or ""."""
        # The test is new in the hidden files. A file that defines a test of that name does not count.
        compiled = path.endswith(".pyc")
        if compiled and os.path.basename(path).partition(".")[0] not in self.test_stems:
            return ""
        named = [name for name in self.test_names if name in data]
        if named and compiled:
            return "is byte code of the hidden test %s" % named[0].decode("utf-8", "replace")
        if named and self.mention is not None:
            for found in self.mention.finditer(data):
                if not re.search(DEFINED % re.escape(found.group()), data):
                    return "names the hidden test %s" % found.group().decode("utf-8", "replace")
        if self.test_titles and any(name in data for name in self.test_files):
            for title in self.test_titles:
                if title in data:
                    return "names the hidden test %s" % title.decode("utf-8", "replace")
        return ""
