"""Parse a model's answer into edits.

Edits are SEARCH/REPLACE blocks and unified diffs. A block is::

    path/to/file.py
    <<<<<<< SEARCH
    the lines as they are
    =======
    the lines as they should be
    >>>>>>> REPLACE

with or without a code fence around it. An empty SEARCH part creates the file or replaces it whole.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from codegate.solving.workspace import UnsafePathError, Workspace, WorkspaceError
from codegate.suite import PatchError, apply_patch

MAX_EDITS: Final = 200

_SEARCH: Final = re.compile(r"<{7} ?SEARCH[ \t]*")
_DIVIDER: Final = re.compile(r"={7}[ \t]*")
_REPLACE: Final = re.compile(r">{7} ?REPLACE[ \t]*")
_FENCE: Final = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([\w+.#/-]*)[ \t]*.*")
_PLAIN_TEXT: Final = frozenset({"text", "txt", "plain", "plaintext", "markdown", "md"})
_PATH_DECORATION: Final = "`*_#\"' \t:"
_CODE_LINE: Final = re.compile(
    r"[ \t]*(?:def \w+\(|async def |class \w+[(:]|from [\w.]+ import |import \w|return\b|@\w|[\w.\[\]]+ [-+*/|&]?= \S)"
)


@dataclass(frozen=True)
class BlockEdit:
    """One SEARCH/REPLACE block; its lines are without line breaks."""

    path: str
    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True)
class DiffEdit:
    """One unified diff in a model's answer."""

    diff: str


@dataclass(frozen=True)
class ParsedEdits:
    """An answer's edits, and the errors in malformed edits."""

    edits: tuple[BlockEdit | DiffEdit, ...]
    problems: tuple[str, ...]


def parse_edits(text: str, known: Container[str] = ()) -> ParsedEdits:
    """Parse the edits in an answer; never raises.

    A line with blanks is a path only if it is in ``known``, the paths of the tree.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    edits: list[BlockEdit | DiffEdit] = []
    problems: list[str] = []
    path = ""
    diff: _OpenDiff | None = None
    position = 0
    while position < len(lines) and max(len(edits), len(problems)) <= MAX_EDITS:
        line = lines[position]
        if _SEARCH.fullmatch(line.strip()):
            diff = None  # a SEARCH block within a fenced diff takes precedence
            own = _path_above(lines, position, known)
            path = own or path
            end, block = _block(lines, position)
            if block is None:
                problems.append(f"the SEARCH block at line {position + 1} of the answer has no end")
            elif not path or not (own or any(line.strip() for line in block[0])):  # it would replace another file
                problems.append(f"the SEARCH block at line {position + 1} of the answer has no path above it")
            else:
                edits.append(BlockEdit(path, *block))
            position = end
            continue
        if diff is not None and diff.closed_by(line):
            _end_diff(diff, lines[diff.start : position], edits, problems)
            diff = None
        elif diff is None and (fence := _FENCE.fullmatch(line)):
            if fence[3].lower() in {"diff", "patch"} or _names_files(lines, position + 1):
                diff = _OpenDiff(position + 1, fence[1] + fence[2])
        elif diff is None and _names_files(lines, position):
            diff = _OpenDiff(position, "")
        position += 1
    if diff is not None:
        _end_diff(diff, lines[diff.start :], edits, problems)
    if len(edits) > MAX_EDITS:
        problems.append(f"more than {MAX_EDITS} edits")
    return ParsedEdits(tuple(edits[:MAX_EDITS]), tuple(problems))


def apply_edits(workspace: Workspace, parsed: ParsedEdits) -> str | None:
    """Apply all edits; return the first error, or None.

    An unsafe path is no error: the workspace records it, and the other edits are applied.
    """
    if parsed.problems:
        return parsed.problems[0] + "."
    for edit in parsed.edits:
        try:
            if isinstance(edit, DiffEdit):
                workspace.apply(apply_patch(workspace.tree(), edit.diff))
            else:
                _apply_block(workspace, edit)
        except UnsafePathError:
            continue
        except (WorkspaceError, PatchError) as error:
            return str(error)
    return None


def contains_code(text: str) -> bool:
    """Return whether an answer contains code.

    Code is an edit, a fenced block that is neither empty nor plain text, or two lines that look like code.
    """
    parsed = parse_edits(text)
    if parsed.edits:
        return True
    lines = text.replace("\r\n", "\n").split("\n")
    inside = plain = False
    for line in lines:
        if fence := _FENCE.fullmatch(line):
            inside, plain = not inside, fence[3].lower() in _PLAIN_TEXT
        elif inside and not plain and line.strip():
            return True
    return sum(_CODE_LINE.match(line[:200]) is not None for line in lines) >= 2


def _apply_block(workspace: Workspace, edit: BlockEdit) -> None:
    if not any(line.strip() for line in edit.search):
        text = "\n".join(edit.replace)
        workspace.write(edit.path, text + "\n" if text else "")
        return
    content = workspace.content(edit.path)
    mark = "\ufeff" if content.startswith("\ufeff") else ""  # before UTF-8 from Windows; most models do not copy it
    lines = content.removeprefix(mark).split("\n")
    search, replace = ([line.removeprefix(mark) for line in part] for part in (edit.search, edit.replace))
    # One search in the whole text, because a comparison line by line takes quadratic time for a hostile answer.
    text = "\n" + "\n".join(line.removesuffix("\r") for line in lines) + "\n"
    wanted = "\n" + "\n".join(search) + "\n"
    found = text.find(wanted)
    if found < 0 or text.find(wanted, found + 1) >= 0:
        times = "does not occur" if found < 0 else "occurs more than once"
        first = next(line for line in edit.search if line.strip()).strip()[:80]
        raise WorkspaceError(f"{edit.path[:200]}: the SEARCH text {times} (it begins {first!r}).")
    start = text.count("\n", 0, found)
    ending = "\r" if lines[start].endswith("\r") else ""
    replacement = [line + ending for line in replace]
    workspace.write(edit.path, mark + "\n".join(lines[:start] + replacement + lines[start + len(search) :]))


def _names_files(lines: list[str], position: int) -> bool:
    line, following = [*lines[position : position + 2], "", ""][:2]
    return line.startswith("diff --git ") or (line.startswith("--- ") and following.startswith("+++ "))


def _path_above(lines: list[str], position: int, known: Container[str]) -> str:
    """Return the file's path above the block at ``position``.

    ``known`` is as in ``parse_edits``. "" if none of the four lines above is a path.
    """
    for line in reversed(lines[max(0, position - 4) : position]):
        if _REPLACE.fullmatch(line.strip()):
            return ""
        if not line.strip():
            continue
        fence = _FENCE.fullmatch(line)
        if fence is not None:
            # The path may follow the language: ```python src/app.py
            rest = line.strip().lstrip("`~").split()
            named = [word for word in rest if "/" in word or "." in word]
            if named:
                return named[-1].strip(_PATH_DECORATION)
            continue
        candidate = line.strip().strip(_PATH_DECORATION)
        candidate = re.sub(r"^(?i:file(name)?|path)\s*:\s*", "", candidate).strip(_PATH_DECORATION)
        is_path = candidate in known or (" " not in candidate and ("." in candidate or "/" in candidate))
        return candidate if is_path else ""
    return ""


def _block(lines: list[str], start: int) -> tuple[int, tuple[tuple[str, ...], tuple[str, ...]] | None]:
    """Parse the SEARCH/REPLACE block at line ``start``.

    Return the index of the line behind it, and the lines of its two parts; None for the parts of an incomplete block.
    """
    divider = None
    for position in range(start + 1, len(lines)):
        stripped = lines[position].strip()
        if divider is None and _DIVIDER.fullmatch(stripped):
            divider = position
        elif _REPLACE.fullmatch(stripped):
            if divider is None:
                return position + 1, None
            return position + 1, (tuple(lines[start + 1 : divider]), tuple(lines[divider + 1 : position]))
        elif _SEARCH.fullmatch(stripped):
            return position, None
    return len(lines), None


@dataclass(frozen=True)
class _OpenDiff:
    start: int
    marks: str

    def closed_by(self, line: str) -> bool:
        return bool(self.marks) and line.startswith(self.marks) and not line.strip().strip(self.marks[-1])


def _end_diff(diff: _OpenDiff, body: list[str], edits: list[BlockEdit | DiffEdit], problems: list[str]) -> None:
    if any(line.startswith(("@@", "diff --git ")) for line in body):
        edits.append(DiffEdit("\n".join(body) + "\n"))
    else:
        problems.append(f"the diff at line {diff.start} of the answer has no hunks")
