"""Write hidden tests with marks and copies, for one run.

Marks are calls that are inserted after statements and that leave a token. The copies of a test and the test itself have
names that only this run has, in a random order: without the right answer, code under test cannot tell which of them is
the real one. Afterwards the ids of the run are mapped back.
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
from codegate.languages.controls import Site, Unit
from codegate.languages.searching import SearchError, SearchUnavailable, search_tests
from codegate.languages.syntax import spliced
from codegate.sandbox import SandboxError
from codegate.suite import RunnerName, Tree

_UNIT: Final[TypeAdapter[Unit]] = TypeAdapter(Unit)

Key = tuple[str, str]
"""A file, and the name of a unit or function in it."""


class UnitsUnknown(SandboxError):
    """Hidden tests cannot be read, so none can be marked."""


@dataclass(frozen=True)
class Texts:
    """The unchanged test files, and their units."""

    files: Mapping[str, bytes]
    units: Mapping[Key, Unit]

    def owners(self, test: str) -> list[Unit]:
        """Return the units that may declare a test id.

        There are several if classes may inherit tests, or if titles are not known before the run.
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
        return [one for one in own if one.own == last or one.may_be(name)]


def read_texts(tree: Tree, files: Iterable[str], runner: RunnerName, older: Tree | None = None) -> Texts:
    """Return the test ``files`` of a tree with their units.

    A file that is not in the runner's language has no units. The author of a patch may know ``older`` versions of the
    files.

    Raises:
        UnitsUnknown: the search for units failed.
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
        raise UnitsUnknown(
            f"the hidden tests could not be read: {error}.",
            "Remove `controls` from problem.yml, if it is there, and run `codegate validate`: it records such files.",
        ) from error
    except SearchUnavailable as error:
        raise SandboxError(
            f"the hidden tests could not be read: {error}.",
            "Lower `jobs`, or raise this machine's limits of processes and memory.",
        ) from error
    return Texts(data, {(unit.file, unit.name): unit for unit in units})


def _decoded(files: Mapping[str, bytes]) -> dict[str, str]:
    texts = {}
    for path, content in files.items():
        with suppress(UnicodeDecodeError):
            texts[path] = content.decode("utf-8")
    return texts


@dataclass(frozen=True)
class SiteFlip:
    """A site with one of its other texts.

    ``ends`` is the statement at which the reference fix fails with it, -1 if unknown.
    """

    site: Site
    number: int
    ends: int = -1

    @property
    def name(self) -> str:
        """Return a name that stays the same between runs."""
        return f"{self.site.name}.{self.number}"


Flips = tuple[SiteFlip, ...]


@dataclass(frozen=True)
class Variant:
    """A test with its flips; without any, the real one."""

    unit: Unit
    flips: Flips = ()


@dataclass(frozen=True)
class Copies:
    """The test files of one run, with marks and copies.

    Attributes:
        files: text of each file.
        variants: tests that have copies, and the copies, by the random word in their name.
        marks: by token, the statement, and the word of its test (its unit if that has no copies).
        mark: name of the driver's function in the texts.
        texts: the unchanged files.
        seconds: time limit of each copy and of each test that has copies, if the runner can set one.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    marks: Mapping[str, tuple[str | Key, int]] = field(default_factory=dict)
    mark: str = ""
    texts: Texts = field(default_factory=lambda: Texts({}, {}))
    seconds: float | None = None

    def place(self, tree: Tree) -> Tree:
        """Return ``tree`` with these texts instead of its own."""
        return tree.overlay({path: replace(tree[path], data=data) for path, data in self.files.items()})

    def settings(self) -> dict[str, object]:
        """Return settings for a driver, without each copy's role."""
        return {"mark": self.mark, "variants": sorted(self.variants)}

    def reveal(self, text: str) -> str:
        """Return a run's output without marks and random words."""
        if self.mark:
            made = rf" #!\[allow\([\w, ]+\)\] extern crate std as {self.mark};.*?(?={self.mark}!)"
            text = re.sub(rf'(?:{made})?(?:; |\n\s*| )?{self.mark}(?:\("\w+"\)|!\{{"\w+"\}})', "", text)
        return self._words.sub("", text)

    def variant(self, test: str) -> tuple[str, str, str] | None:
        """Return the parts of a copy's id, or None.

        They are the random word, the id without it, and what stands before the test's name.
        """
        found = self._words.search(test)
        return (found[1], test.replace(found[0], "", 1), test[: test.rfind("::", 0, found.start())]) if found else None

    def places(self, test: str) -> list[str | Key]:
        """Return the words or units whose marks a test runs."""
        found = self.variant(test)
        return [found[0]] if found else [(unit.file, unit.name) for unit in self.texts.owners(test)]

    def passed(self, test: str | Key, left: Iterable[str]) -> frozenset[int]:
        """Return the statements whose marks a word or unit left.

        ``left`` are the tokens of its run.
        """
        places = (self.marks[token] for token in left if token in self.marks)
        return frozenset(statement for one, statement in places if one == test)

    def receipts(self, tests: Mapping[str, tuple[Phase, ...]]) -> dict[str, frozenset[str]]:
        """Return each test's tokens, for runners that mix them up."""
        left: dict[str | Key, set[str]] = {}
        for token in {token for phases in tests.values() for phase in phases for token in phase.receipts}:
            if token in self.marks:
                left.setdefault(self.marks[token][0], set()).add(token)
        return {test: frozenset(token for one in self.places(test) for token in left.get(one, ())) for test in tests}

    @cached_property
    def marked(self) -> frozenset[str | Key]:
        """Return the units and words that have marks."""
        return frozenset(name for name, _ in self.marks.values())

    @cached_property
    def _words(self) -> re.Pattern[str]:
        return re.compile(f"_({'|'.join(self.variants)})" if self.variants else "(?!)")


def make_copies(
    texts: Texts,
    units: Iterable[Unit],
    copies: Mapping[Key, Sequence[Flips]],
    *,
    real: float | None = None,
    instead: Mapping[Key, Flips] | None = None,
) -> Copies:
    """Return files with marked ``units`` and ``copies`` of some.

    ``copies`` has, by unit, the flips of each copy, and ``instead`` the flips of units that are changed themselves.
    ``real`` is the position of the real test among its copies, from 0 (before all) to 1 (behind all); None: random.
    """
    mark = f"_{secrets.token_hex(6)}"
    variants: dict[str, Variant] = {}
    marks: dict[str, tuple[str | Key, int]] = {}
    edits: dict[str, list[tuple[int, int, bytes]]] = {}
    for unit in units:
        key = (unit.file, unit.name)
        wanted = list(copies.get(key, ()))
        first = (instead or {}).get(key, ())
        wanted.insert(secrets.randbelow(len(wanted) + 1) if real is None else round(real * len(wanted)), first)
        data = texts.files[unit.file]
        written = []
        for flips in wanted:
            inner = [(flip.site.start, flip.site.end, flip.site.texts[flip.number].encode()) for flip in flips]
            name: str | Key = key
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
        at = len(BOM_UTF8) if texts.files[path].startswith(BOM_UTF8) else 0
        found.append((at, at, head.encode()))
    files = {path: spliced(texts.files[path], found, (0, len(texts.files[path]))) for path, found in edits.items()}
    return Copies(files, variants, marks, mark, texts)
