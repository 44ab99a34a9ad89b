"""Make partial fixes: the reference fix without one part.

They stand for the fix of a developer who missed a part of the statement.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, TypeVar

from codegate.languages import path_language
from codegate.languages.lines import dialect_of
from codegate.languages.syntax import IDENTIFIER
from codegate.suite import Changes, Tree, TreeFile

Item = TypeVar("Item")

_NEAR: Final = 10

#: Lines that do nothing by themselves: comments, imports, brackets and the other branch of a condition.
_IDLE: Final = re.compile(
    r"\s*(?:(?:#|//|/\*|\*\s|\"\"\").*|(?:import|from|use|package)\b.*|.*\brequire\(.*|[\W_]*|\W*(?:else|try)\W*)\s*"
)
#: Lines that continue a statement after a block: a closing bracket, or another branch.
_GOES_ON: Final = re.compile(r"\s*(?:[)\]}]|(?:else|elif|except|finally|catch)\b)")
_RETURNS: Final = re.compile(r"\s*return\b")
_DECLARES: Final = re.compile(
    r"\s*(?:[a-z]+\s+)*(?:def|func|class|function|const|let|var|type)\s+(?:\([^)]*\)\s*)?(\w+)|\s*(\w+)(?:, \w+)* :?= "
)


@dataclass(frozen=True)
class _Place:
    """A range of lines in a fixed file.

    ``without`` are the base's lines that this range replaced.
    """

    path: str
    begin: int
    end: int
    without: tuple[str, ...] = ()


class _Texts:
    """The fix's files as lines, before and after.

    Attributes:
        changed: the ranges of lines that differ.
    """

    def __init__(self, base: Tree, fix: Changes) -> None:
        self.new = {path: _lines(file) for path, file in fix.items() if file is not None and b"\0" not in file.data}
        self.old = {path: _lines(base[path]) if path in base else [] for path in self.new}
        self.changed = [
            _Place(path, begin, end, tuple(self.old[path][first:last]))
            for path, lines in self.new.items()
            for tag, first, last, begin, end in SequenceMatcher(
                None, self.old[path], lines, autojunk=False
            ).get_opcodes()
            if tag != "equal"
        ]  # fmt: skip
        self._added = {(place.path, number) for place in self.changed for number in range(place.begin, place.end)}
        self._busy = {(path, at) for path, at in self._added if not _IDLE.fullmatch(self.new[path][at])}

    def statements(self) -> list[_Place]:
        places = {(place.path, place.begin, place.end) for place in self.changed}
        found = (each for place in self.changed for each in _blocks(self.new[place.path], place))
        return [each for each in found if (each.path, each.begin, each.end) not in places]

    def can_leave_out(self, place: _Place) -> bool:
        """Return whether a partial fix may lack these lines.

        False if nothing would be left of the fix, or if another line of the fix needs a name that these lines declare.
        """
        own, lines = {(place.path, at) for at in range(place.begin, place.end)}, self.new[place.path]
        busy = sorted(at for _, at in own & self._busy)
        if not busy:
            return not all(_IDLE.fullmatch(line) for line in place.without)
        if self._busy <= own and not any(each.without for each in self.changed):
            return False  # nothing of the fix is left
        declared = _DECLARES.match(lines[busy[0]])
        name = declared[1] or declared[2] if declared is not None else ""
        needed = any(name in IDENTIFIER.findall(self.new[path][at]) for path, at in self._added - own)
        near = lines[max(0, place.begin - _NEAR) : place.begin]
        return not needed or any(name in IDENTIFIER.findall(line) for line in near)


def partial_fixes(base: Tree, fix: Changes, changes: int, statements: int) -> Iterator[Changes]:
    """Yield partial fixes, as changes of ``base``.

    Up to ``changes`` partial fixes lack one change each, spread evenly over the fix. If there are fewer than
    ``statements``, further ones lack one added statement each. Comments, imports and names that another part of the fix
    uses are never left out. A partial fix always parses.
    """
    texts = _Texts(base, fix)
    whole = [path for path in fix if path not in texts.new]
    large: list[str | _Place] = [*whole, *filter(texts.can_leave_out, texts.changed)]
    large = _evenly_spaced(large, changes) if len(whole) + len(texts.changed) > 1 else []
    more = max(0, statements - len(large))
    small = _evenly_spaced(list(filter(texts.can_leave_out, texts.statements())), more) if more else []
    seen = {_acting_lines(fix)}
    for each in [*large, *small]:
        found = _without(each, fix, texts)
        if found is not None and _acting_lines(found) not in seen:
            seen.add(_acting_lines(found))
            yield {path: file for path, file in found.items() if file != base.get(path)}


def _acting_lines(changes: Changes) -> frozenset[tuple[str, tuple[str, ...] | None]]:
    """Return each file's lines without comments, imports and brackets.

    None stands for the lines of a deleted file.
    """
    return frozenset(
        (path, None if file is None else tuple(line.strip() for line in _lines(file) if not _IDLE.fullmatch(line)))
        for path, file in changes.items()
    )


def _lines(file: TreeFile) -> list[str]:
    return file.data.decode("latin-1").splitlines(keepends=True)  # latin-1 keeps any bytes as they are


def _evenly_spaced(items: Sequence[Item], most: int) -> list[Item]:
    step = max(1.0, len(items) / max(1, most))
    return [items[int(number * step)] for number in range(min(len(items), most))]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _blocks(lines: Sequence[str], place: _Place, *, nested: bool = False) -> Iterator[_Place]:
    """Yield each statement's line range in ``place``, by indentation.

    Left out are comments and imports, a statement that has exactly one other inside, and a function's last ``return``.
    ``nested``: ``place`` is inside of a statement that declares nothing, such as a loop.
    """
    at = place.begin
    while at < place.end:
        begin, inner, at = at, at + 1, at + 1
        if not lines[begin].strip():
            continue
        while at < place.end and (
            not lines[at].strip()
            or _indent(lines[at]) > _indent(lines[begin])
            or (_indent(lines[at]) == _indent(lines[begin]) and _GOES_ON.match(lines[at]))
        ):
            at += 1
        while not lines[at - 1].strip():
            at -= 1
        inside = list(_blocks(lines, _Place(place.path, inner, at), nested=_DECLARES.match(lines[begin]) is None))
        own = _Place(place.path, begin, at)
        tops = [
            each for each in inside
            if not any(other != each and other.begin <= each.begin and each.end <= other.end for other in inside)
        ]  # fmt: skip
        ends = not nested and _RETURNS.match(lines[begin])
        if len(tops) != 1 and not ends and not _IDLE.fullmatch(lines[begin]):
            yield own
        yield from inside


def _without(part: str | _Place, fix: Changes, texts: _Texts) -> Changes | None:
    """Return the fix without ``part``, a path or line range.

    None if the file does not parse without the lines, or has the same syntax tree.
    """
    if isinstance(part, str):
        return {path: file for path, file in fix.items() if path != part}
    lines, file = texts.new[part.path], fix[part.path]
    assert file is not None  # noqa: S101 (a file with lines)
    dialect, language = dialect_of(part.path), path_language(part.path)
    same_layout = language.same_layout if language is not None else None
    blank = lines[part.begin][: _indent(lines[part.begin])] if part.begin < len(lines) else ""
    idle = [(f"{blank}{dialect.idle}\n",)] if dialect is not None and dialect.idle else []
    for without in (part.without, *idle):
        data = "".join([*lines[: part.begin], *without, *lines[part.end :]]).encode("latin-1")
        parses = dialect is None or dialect.parses(data) or not dialect.parses(file.data)
        if parses and (same_layout is None or not same_layout(file.data, data)):
            return {**fix, part.path: TreeFile(data, file.mode)}
    return None
