"""Read patches that models wrote, and repair them for git.

Wrong line numbers and counts are no error: a hunk's lines are counted, and searched for in the file. Where that is
ambiguous, the whole patch is refused with the number of the line.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from codegate.errors import CodegateError
from codegate.suite.tree import Tree, TreeFile

_NUMBERED: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_QUOTED_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PREFIX: Final = re.compile(r"[abciow12]/")
_NO_END: Final = b"\\ No newline at end of file"
_VERSION: Final = re.compile(r"\d+\.|$")
_MAX_HUNKS: Final = 2000


class PatchError(CodegateError):
    """The patch does not apply, or makes a forbidden change."""


@dataclass
class Hunk:
    """Consecutive lines of a patch.

    Attributes:
        line: number of the hunk's header in the patch, from 1.
        lines: the hunk's lines with their ``+``, ``-`` or blank.
        start: the header's line number in the old file; None for a header without numbers.
        counted: whether the header's line counts are right.
        end: position in the patch of the first line after the hunk.
    """

    line: int
    lines: list[str]
    start: int | None
    counted: bool
    end: int

    @property
    def old(self) -> list[str]:
        """Return the lines that the hunk expects in the file."""
        return [line[1:] for line in self.lines if line[0] in " -"]


@dataclass
class Section:
    """One file's part of a patch.

    ``before`` and ``after`` are the file's names. ``before`` is None for a new file, ``after`` for a deleted one.
    """

    before: str | None
    after: str | None
    hunks: list[Hunk] = field(default_factory=list)

    def file(self, base: Tree, depth: int) -> tuple[str | None, TreeFile | None]:
        """Return the file's old path, and the file in ``base``.

        ``depth`` is git's ``-p``. Both are None if the patch creates the file.
        """
        name = _stripped(self.before) if self.before and depth else self.before
        return name, base.get(name) if name is not None else None


def without_carriage_returns(patch: str) -> str:
    """Return the patch with LF if every line has CRLF."""
    lines = patch.rstrip("\n").split("\n")
    return patch.replace("\r\n", "\n") if all(line.endswith("\r") or not line for line in lines) else patch


def read_sections(patch: str) -> list[Section]:
    """Return the parts of ``patch``, file by file.

    Raises:
        PatchError: a hunk has no file, or lines that look like a hunk's are outside of all hunks.
    """
    lines = patch.split("\n")
    sections: list[Section] = []
    position = 0
    while position < len(lines):
        line = lines[position].removesuffix("\r")
        if line.startswith("diff --git "):
            middle = len(line[11:]) // 2
            names = line[11 : 11 + middle], line[12 + middle :]
            one, other = (next(unquoted_names(name), name) for name in names)
            same = _PREFIX.sub("", one, count=1) == _PREFIX.sub("", other, count=1)
            sections.append(Section(one if same else None, other if same else None))
        elif _is_pair(lines, position):
            if not sections or sections[-1].hunks or not _is_in_git_header(lines, position):
                sections.append(Section(None, None))
            sections[-1].before, sections[-1].after = _name(line), _name(lines[position + 1])
            position += 1
        elif line.startswith("@@"):
            if not sections:
                raise PatchError(f"the patch does not apply: its hunk at line {position + 1} has no file above it.")
            hunk = _hunk(lines, position, new=sections[-1].before is None, gone=sections[-1].after is None)
            sections[-1].hunks.append(hunk)
            position = hunk.end
            continue
        elif line.startswith("new file mode ") and sections:
            sections[-1].before = None
        elif line.startswith("deleted file mode ") and sections:
            sections[-1].after = None
        position += 1
    return sections


def prefix_depth(sections: list[Section], base: Tree) -> int:
    """Return the patch's ``-p`` for git.

    It is 1 for names like ``a/file``, else 0.
    """
    old = [section.before for section in sections if section.before is not None]
    whole, stripped = (all(name in base for name in names) for names in (old, [_stripped(name) for name in old]))
    if whole != stripped:
        return 0 if whole else 1
    if old and whole:  # a prefix differs before and after
        return 1 if all(section.before != section.after for section in sections) else 0
    names = old or [section.after for section in sections if section.after is not None]
    return 1 if all(_PREFIX.match(name) for name in names) else 0


def is_exact(sections: list[Section], base: Tree, depth: int) -> bool:
    """Return whether git itself applies every hunk at its place.

    False if a header's line counts are wrong. False also for a hunk without context lines, unless it is the whole file:
    git would put it at the file's end. ``depth`` is git's ``-p``.
    """
    for section in sections:
        _, file = section.file(base, depth)
        for hunk in section.hunks:
            whole = file is None or section.after is None or len(hunk.old) == _line_count(file.data)
            if not hunk.counted or not (whole or any(line[0] == " " for line in hunk.lines)):
                return False
    return True


def repair_patch(patch: str, sections: list[Section], base: Tree, depth: int) -> bytes:
    """Return the patch with correct headers, line ends and encoding.

    Line counts and numbers are computed from the hunks' lines. Line ends and encoding are taken from the patched files.
    ``depth`` is git's ``-p``.

    Raises:
        PatchError: a hunk's lines are not in its file, or are in several places and its header names none of them.
    """
    if sum(len(section.hunks) for section in sections) > _MAX_HUNKS:
        raise PatchError(f"the patch does not apply as it is, and has over {_MAX_HUNKS} hunks: too many to repair.")
    lines = patch.split("\n")
    out: list[bytes] = []
    done = 0
    split: dict[str, list[bytes]] = {}
    grown: defaultdict[str | None, list[tuple[int, int]]] = defaultdict(list)  # by file: line, and lines added there
    for section in sections:
        name, file = section.file(base, depth)
        for hunk in section.hunks:
            out += [_encoded(line) for line in lines[done : hunk.line - 1]]
            done = hunk.end
            start, body = 0, [_encoded(line) for line in hunk.lines]
            if name is not None and file is not None:
                if name not in split:
                    split[name] = file.data.split(b"\n")
                start, body = _place_hunk(hunk, file.data, split[name], name)
            old, new = len(hunk.old), sum(line[:1] in {" ", "+"} for line in hunk.lines)
            place, above = start + (0 if old else 1), grown[name or section.after]
            first = place + sum(more for other, more in above if other <= place) - (0 if new else 1)
            out += [b"@@ -%d,%d +%d,%d @@" % (start, old, max(0, first), new), *body]
            above.append((place, new - old))
    return b"\n".join([*out, *(_encoded(line) for line in lines[done:])])


def _stripped(name: str) -> str:
    return name.partition("/")[2]


def _hunk(lines: list[str], position: int, *, new: bool, gone: bool) -> Hunk:
    header = _NUMBERED.match(lines[position])
    start = int(header[1]) if header else None
    if header:
        end = _counted_end(lines, position + 1, int(header[2] or 1), int(header[3] or 1))
        if end is not None and _is_over(lines, end):
            return Hunk(position + 1, [_marked(line, " ") for line in lines[position + 1 : end]], start, True, end)
    end = position + 1
    while end < len(lines) and (not lines[end] or lines[end][0] in " +-\\") and not _is_start(lines, end):
        end += 1
    while end > position + 1 and not lines[end - 1].strip("\r"):
        end -= 1
    _check_rest(lines, end)
    blank = "+" if new else "-" if gone else " "  # in a new or removed file, an unmarked line has no other meaning
    body = [_marked(line, blank) for line in lines[position + 1 : end]]
    if not body:
        raise PatchError(f"the patch does not apply: its hunk at line {position + 1} has no lines.")
    return Hunk(position + 1, body, start, False, end)


def _marked(line: str, blank: str) -> str:
    return line if line.strip("\r") else blank + line


def _counted_end(lines: list[str], position: int, old: int, new: int) -> int | None:
    while old > 0 or new > 0:
        mark = lines[position][:1] if position < len(lines) else "?"
        if mark not in {" ", "-", "+", "\\", "", "\r"} or (position == len(lines) - 1 and not mark):
            return None
        old -= mark in {" ", "-", "", "\r"}
        new -= mark in {" ", "+", "", "\r"}
        position += 1
    if old < 0 or new < 0:
        return None
    while position < len(lines) and lines[position].startswith("\\"):
        position += 1
    return position


def _is_over(lines: list[str], position: int) -> bool:
    while position < len(lines) and not lines[position].strip("\r"):
        position += 1
    return position == len(lines) or lines[position][0] not in " +-\\" or _is_start(lines, position)


def _check_rest(lines: list[str], position: int) -> None:
    for number in range(position, len(lines)):
        if _is_start(lines, number):
            return
        if lines[number][:1] in {"+", "-", " "}:
            raise PatchError(
                f"the patch does not apply: its line {position + 1}, in a hunk, begins with no blank, + or -."
            )


def _is_start(lines: list[str], position: int) -> bool:
    line = lines[position]
    signature = line.rstrip() == "--" and _VERSION.match("".join(lines[position + 1 : position + 2])) is not None
    return signature or line.startswith(("diff --git ", "@@")) or _is_pair(lines, position)


def _is_pair(lines: list[str], position: int) -> bool:
    following = lines[position + 1 : position + 3]
    return (
        lines[position].startswith("--- ")
        and len(following) > 0
        and following[0].startswith("+++ ")
        and (len(following) < 2 or following[1].startswith(("@@", "diff ", "GIT ")))
    )


def _is_in_git_header(lines: list[str], position: int) -> bool:
    """Return whether ``position`` is in a header after ``diff --git``."""
    for number in range(position - 1, -1, -1):
        line = lines[number]
        if line.startswith("diff --git "):
            return True
        if line.startswith(("@@", "+", "-", " ")) or not line:
            return False
    return False


def _place_hunk(hunk: Hunk, data: bytes, lines: list[bytes], name: str) -> tuple[int, list[bytes]]:
    """Return the line where the hunk applies, and its lines.

    ``data`` and ``lines`` are the content of the file ``name``. Lines count from 1. The returned lines have the file's
    encoding and line ends.
    """
    if not hunk.old:
        if hunk.start is None or not hunk.counted:
            raise PatchError(f"the patch does not apply: its hunk at line {hunk.line} has no old line to be found by.")
        return hunk.start, [_encoded(line) for line in hunk.lines]
    text = b"\n" + data.removesuffix(b"\n") + b"\n"
    for body in _variants(hunk.lines):
        old = b"\n".join(line[1:] for line in body if line[:1] in {b" ", b"-"})
        wanted = b"\n" + old + b"\n"
        first = text.find(wanted)
        if first < 0:
            continue
        if text.find(wanted, first + 1) < 0:
            place = text.count(b"\n", 0, first) + 1
            return place, _mark_missing_newline(body, data, place + len(hunk.old))
        if hunk.start and b"\n".join(lines[hunk.start - 1 : hunk.start - 1 + len(hunk.old)]) == old:
            return hunk.start, _mark_missing_newline(body, data, hunk.start + len(hunk.old))
        raise PatchError(
            f"the patch does not apply: the lines of its hunk at line {hunk.line} stand in several places in {name}."
        )
    raise PatchError(f"the patch does not apply: the lines of its hunk at line {hunk.line} are not in {name}.")


def _variants(lines: list[str]) -> Iterator[list[bytes]]:
    for encoding in ("utf-8", "latin-1"):
        try:
            body = [line.encode(encoding, "surrogateescape") for line in lines]
        except UnicodeEncodeError:
            continue
        yield body
        plain = [line.removesuffix(b"\r") for line in body]
        yield plain
        yield [line if line.startswith(b"\\") else line + b"\r" for line in plain]


def _mark_missing_newline(body: list[bytes], data: bytes, end: int) -> list[bytes]:
    """Return a hunk's lines, with git's missing newline mark.

    The mark is added if the hunk reaches the end of a file whose content, ``data``, has no final newline. ``end`` is
    the number of the line after the hunk.
    """
    reaches = end > _line_count(data)
    if data.endswith(b"\n") or not reaches or any(line.startswith(b"\\") for line in body):
        return body
    old, new = (
        max((n for n, line in enumerate(body) if line[:1] in {b" ", mark}), default=-1) for mark in (b"-", b"+")
    )
    if old < new and body[old][:1] == b" ":  # lines are added after it, so it gets a newline
        body = [*body[:old], b"-" + body[old][1:], b"+" + body[old][1:], *body[old + 1 :]]
        new += 1
    return [part for n, line in enumerate(body) for part in ((line, _NO_END) if n in {old, new} else (line,))]


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def _name(line: str) -> str | None:
    """Return a ``---`` or ``+++`` line's name; None for ``/dev/null``."""
    name = next(unquoted_names(line[4:]), line[4:].partition("\t")[0].rstrip("\r"))
    return None if name == "/dev/null" else name


def unquoted_names(line: str) -> Iterator[str]:
    """Decode the file names that git has quoted in ``line``."""

    def unescape(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code, 8) & 0xFF) if len(code) == 3 else _ESCAPED.get(code, code)

    for name in _QUOTED_NAME.findall(line):
        # Escapes stand for bytes, so other characters are turned into their bytes, too.
        octets = name.encode("utf-8", "surrogateescape").decode("latin-1")
        yield _ESCAPE.sub(unescape, octets).encode("latin-1").decode("utf-8", "surrogateescape")


def _encoded(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape")
