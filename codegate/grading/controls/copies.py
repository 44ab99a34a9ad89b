"""Write test files with marks and altered copies of tests.

A mark is a call that is inserted after a statement; it sends a secret token when it runs. A test and its copies get
names that only this run has, in a random order. So code under test cannot tell the original from the copies unless it
knows the right answer. Afterwards the run's test ids are mapped back to the original ones.

An ``EditableTest``, or unit, is a test in the text of its file. A ``Site`` is a literal, name or operator in it that a
copy can change; such a change is a flip.
"""

import re
import secrets
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from pydantic import TypeAdapter, ValidationError

from codegate.grading.records import Phase
from codegate.languages import path_language
from codegate.languages.controls import EditableTest, Site
from codegate.languages.searching import SearchError, SearchUnavailable, search_tests
from codegate.languages.syntax import spliced
from codegate.sandbox import SandboxError
from codegate.suite import RunnerName, Tree

_UNIT: Final[TypeAdapter[EditableTest]] = TypeAdapter(EditableTest)

TestKey = tuple[str, str]
"""A file, and the name of a test in it."""


class UnreadableTests(SandboxError):
    """The search for the tests in hidden test files failed."""


@dataclass(frozen=True)
class OriginalTests:
    """The unchanged test files, and the tests in them."""

    files: Mapping[str, bytes]
    units: Mapping[TestKey, EditableTest]

    def owners(self, test: str) -> list[EditableTest]:
        """Return the tests that a run's test id can mean.

        There are several if classes can inherit tests, or if titles are not known before the run.
        """
        file, _, name = test.partition("::")
        language = path_language(file)
        sign = language.parameters if language else ""
        while (file, name) not in self.units and sign and sign in name:
            name = name.rpartition(sign)[0]
        unit = self.units.get((file, name))
        if unit is not None:
            return [unit]
        last = name.rpartition("::")[2]
        own = (one for (path, _), one in self.units.items() if path == file)
        return [one for one in own if one.own_name == last or one.may_be(name)]


def read_originals(tree: Tree, files: Iterable[str], runner: RunnerName, older: Tree | None = None) -> OriginalTests:
    """Return a tree's test files and their tests.

    Tests are found only in files of the runner's language. ``older`` is the tree with earlier versions of the files,
    which the author of a patch may know.

    Raises:
        UnreadableTests: the search for tests failed.
        SandboxError: this machine cannot search.
    """
    data, before = (
        {path: one[path].data for path in files if path in one and not one[path].is_link}
        for one in (tree, older or Tree())
    )
    try:
        units = [
            _UNIT.validate_json(line) for line in search_tests(_decoded(data), runner, _decoded(before)).splitlines()
        ]
    except (SearchError, ValidationError) as error:
        raise UnreadableTests(
            f"the hidden tests could not be read: {error}.",
            "Remove `controls` from problem.yml, if it is there, and run `codegate validate`: it records such files.",
        ) from error
    except SearchUnavailable as error:
        raise SandboxError(
            f"the hidden tests could not be read: {error}.",
            "Lower `jobs`, or raise this machine's limits of processes and memory.",
        ) from error
    return OriginalTests(data, {(unit.file, unit.name): unit for unit in units})


def _decoded(files: Mapping[str, bytes]) -> dict[str, str]:
    texts = {}
    for path, content in files.items():
        with suppress(UnicodeDecodeError):
            texts[path] = content.decode("utf-8")
    return texts


@dataclass(frozen=True)
class SiteFlip:
    """A change of a test: one site gets another text.

    ``number`` is the index of the new text in ``site.texts``. ``ends`` is the index of the statement at which the
    changed test fails with the reference fix; -1 if unknown.
    """

    site: Site
    number: int
    ends: int = -1

    @property
    def name(self) -> str:
        """Return the flip's name, the same in every run."""
        return f"{self.site.name}.{self.number}"


Flips = tuple[SiteFlip, ...]


@dataclass(frozen=True)
class Variant:
    """A test's copy with flips; the original has no flips."""

    unit: EditableTest
    flips: Flips = ()


@dataclass(frozen=True)
class Copies:
    """The test files of one run, with marks and copies.

    Attributes:
        files: by path, the content of each file.
        variants: by random word, the copy or original test whose name contains the word. Tests without copies have
            none.
        marks: by token, the key of the marked test and the index of the statement. The key is the test's random word,
            or file and name of a test without copies.
        mark: name of the inserted function that sends a token.
        originals: the unchanged files.
        lines: by file and line, the number of the unchanged file's line.
        seconds: time limit of each test and copy in ``variants``, if the runner can set one.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    marks: Mapping[str, tuple[str | TestKey, int]] = field(default_factory=dict)
    mark: str = ""
    originals: OriginalTests = field(default_factory=lambda: OriginalTests({}, {}))
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    seconds: float | None = None

    def apply_to(self, tree: Tree) -> Tree:
        """Return ``tree`` with these test files instead of its own."""
        return tree.overlay({path: replace(tree[path], data=data) for path, data in self.files.items()})

    def settings(self) -> dict[str, object]:
        """Return settings for the test driver.

        The settings do not reveal which variants are copies and which are original tests.
        """
        return {"mark": self.mark, "variants": sorted(self.variants)}

    def original_text(self, text: str) -> str:
        """Return output as if the unchanged files had run.

        Marks and random words are removed, and line numbers of test files become the unchanged files' numbers.
        """
        shown = self._words.sub("", self._marks.sub("", text)) if text else text

        def unchanged(place: re.Match[str]) -> str:
            path, number = self._paths[place[1]], int(place[2])
            folder, at = path[: -len(place[1])], place.start()
            # The path may also end another file's path, in another folder; that file's lines are not changed.
            known = not shown.endswith("/", 0, at) or shown.endswith((folder, "./"), 0, at)
            lines = self.lines[path] if known else ()
            return f"{place[1]}:{lines[number - 1]}" if 0 < number <= len(lines) else place[0]

        return self._places.sub(unchanged, shown)

    def split_id(self, test: str) -> tuple[str, str, str] | None:
        """Split a run's test id at its random word.

        Return the random word, the id without it, and the part of the id before the test's name; None if the id has no
        random word.
        """
        found = self._words.search(test)
        return (found[1], test.replace(found[0], "", 1), test[: test.rfind("::", 0, found.start())]) if found else None

    def mark_keys(self, test: str) -> list[str | TestKey]:
        """Return the possible keys in ``marks`` of a test.

        If the id ``test`` has a random word, that is the key. Otherwise the keys are file and name of each test that
        can have this id.
        """
        found = self.split_id(test)
        return [found[0]] if found else [(unit.file, unit.name) for unit in self.originals.owners(test)]

    def passed(self, test: str | TestKey, left: Iterable[str]) -> frozenset[int]:
        """Return the indexes of marked statements that a test ran.

        ``test`` is the test's key in ``marks``, and ``left`` are the tokens that the test's run sent.
        """
        places = (self.marks[token] for token in left if token in self.marks)
        return frozenset(statement for one, statement in places if one == test)

    def receipts(self, tests: Mapping[str, tuple[Phase, ...]]) -> dict[str, frozenset[str]]:
        """Return the tokens that each test's marks sent, by id.

        ``tests`` has each test's phases with their tokens. Some runners report a token with another test than its own.
        """
        left: dict[str | TestKey, set[str]] = {}
        for token in {token for phases in tests.values() for phase in phases for token in phase.receipts}:
            if token in self.marks:
                left.setdefault(self.marks[token][0], set()).add(token)
        return {test: frozenset(token for one in self.mark_keys(test) for token in left.get(one, ())) for test in tests}

    @cached_property
    def marked(self) -> frozenset[str | TestKey]:
        """Return the keys of all tests that have marks."""
        return frozenset(name for name, _ in self.marks.values())

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        if not self.mark:
            return re.compile("(?!)")
        made = rf" #!\[allow\([\w, ]+\)\] extern crate std as {self.mark};.*?(?={self.mark}!)"
        return re.compile(rf'(?:{made})?(?:; |\n\s*| )?{self.mark}(?:\("\w+"\)|!\{{"\w+"\}})')

    @cached_property
    def _paths(self) -> dict[str, str]:
        names = [PurePosixPath(path).name for path in self.files]
        return {name: path for name, path in zip(names, self.files, strict=True)
                if names.count(name) == 1 and path in self.lines}  # fmt: skip

    @cached_property
    def _places(self) -> re.Pattern[str]:
        names = "|".join(map(re.escape, self._paths))
        return re.compile(rf"(?<![\w.-])({names}):(\d{{1,7}})" if names else "(?!)")

    @cached_property
    def _words(self) -> re.Pattern[str]:
        return re.compile(f"_({'|'.join(self.variants)})" if self.variants else "(?!)")


def make_copies(
    originals: OriginalTests,
    units: Iterable[EditableTest],
    copies: Mapping[TestKey, Sequence[Flips]],
    *,
    real: float | None = None,
    instead: Mapping[TestKey, Flips] | None = None,
) -> Copies:
    """Return test files with marks in ``units``, and with copies.

    ``copies`` has, by test, the flips (changed literals) of each of its copies. ``instead`` has flips that change a
    test itself. ``real`` is the position of the original test among its copies, from 0 (first) to 1 (last); None:
    random.
    """
    mark = f"_{secrets.token_hex(6)}"
    variants: dict[str, Variant] = {}
    marks: dict[str, tuple[str | TestKey, int]] = {}
    edits: dict[str, list[tuple[int, int, bytes]]] = {}
    for unit in units:
        key = (unit.file, unit.name)
        wanted = list(copies.get(key, ()))
        first = (instead or {}).get(key, ())
        wanted.insert(secrets.randbelow(len(wanted) + 1) if real is None else round(real * len(wanted)), first)
        data = originals.files[unit.file]
        written = []
        for flips in wanted:
            inner = [(flip.site.start, flip.site.end, flip.site.texts[flip.number].encode()) for flip in flips]
            name: str | TestKey = key
            if len(wanted) > 1:
                name = secrets.token_hex(6)
                variants[name] = Variant(unit, flips)
                at, text = unit.word
                inner.append((at, at, text.replace("$word$", name).encode()))
            for number, (end, text) in enumerate(unit.marks):
                token = f"{secrets.token_hex(6)}_{number}"
                marks[token] = name, number
                inner.append((end, end, text.replace("$mark$", mark).replace("$token$", token).encode()))
            written.append(spliced(data, inner, unit.span))
        line = data[data.rfind(b"\n", 0, unit.span[0]) + 1 : unit.span[0]]
        joint = b"\n\n" + line[: len(line) - len(line.lstrip())]
        edits.setdefault(unit.file, []).append((*unit.span, joint.join(written)))
    for path, found in edits.items():
        language = path_language(path)
        head = language.untyped.get(PurePosixPath(path).suffix, "") if language else ""
        at = len(BOM_UTF8) if originals.files[path].startswith(BOM_UTF8) else 0
        found.append((at, at, head.encode()))
    files = {
        path: spliced(originals.files[path], found, (0, len(originals.files[path]))) for path, found in edits.items()
    }
    numbers = {path: _original_lines(originals.files[path], found) for path, found in edits.items()}
    return Copies(files, variants, marks, mark, originals, {path: lines for path, lines in numbers.items() if lines})


def _original_lines(data: bytes, edits: Iterable[tuple[int, int, bytes]]) -> list[int]:
    """Return the original line number of each edited line.

    Line numbers begin at 1; the first item is for line 1. ``data`` is the original file, and ``edits`` are the byte
    ranges that ``make_copies`` replaces in it. Empty if inserted marks or flips add lines, because then a copy's lines
    do not match those of its original.
    """
    lines, number, at = [1], 1, 0
    for start, end, text in sorted([*edits, (len(data), len(data), b"")], key=lambda one: one[:2]):
        before, inside, added = data.count(b"\n", at, start), data.count(b"\n", start, end), text.count(b"\n")
        lines += range(number + 1, number + before + 1)
        number += before
        if start == end:
            lines += [number] * added
            continue
        copy = inside + 2  # lines of a copy, with the empty line that follows it
        if (added + 2) % copy:
            return []
        lines += [number + min(line % copy, inside) for line in range(1, added + 1)]
        number, at = number + inside, end
    return lines
