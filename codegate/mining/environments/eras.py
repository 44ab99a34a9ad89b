"""Dependency eras: stretches of history whose changes share one environment, that of the stretch's newest tree."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Final

from codegate.mining.environments.declarations import Declarations, read_declarations
from codegate.suite import Part, Tree, git, read_commit

#: Lengths of the eras that a change is in, in days, the longest first. Declared lower bounds are kept and newer
#: packages mostly stay compatible: what an era's environment does not cover or breaks has that of a shorter one, then
#: its own, so that a long era costs little and saves most environments.
ERA_DAYS: Final = (3 * 365, 365)


@dataclass(frozen=True)
class Era:
    """The newest commit of an era, its day, and the folder of it that is mined (empty: all)."""

    repository: Path
    commit: str
    day: date
    folder: str = ""

    @cached_property
    def tree(self) -> Tree:
        """Return the commit's tree."""
        return Part.of(read_commit(self.repository, self.commit), self.folder)

    @cached_property
    def declared(self) -> Declarations:
        """Return what the tree declares, without keeping the tree."""
        return read_declarations(Part.of(read_commit(self.repository, self.commit), self.folder))


class Eras:
    """The eras of a branch, counted back from its newest commit. Thread-safe; every era is read once."""

    def __init__(self, repository: Path, tip: str, folder: str = "") -> None:
        self.repository = repository
        self.folder = folder
        self.tip = tip
        self._newest = self._day_of(tip)
        self._found: dict[int, Era | None] = {}
        self._guard = threading.Lock()

    def newest(self) -> Era | None:
        """Return the newest commit."""
        return self._ending(0)

    def of(self, committed: date, lengths: tuple[int, ...] = ERA_DAYS) -> Iterator[Era]:
        """Yield the eras of some lengths that a day is in, as far as there are commits to stand for them."""
        age = max((self._newest - committed).days, 0)
        for ending in dict.fromkeys(age // days * days for days in lengths):
            era = self._ending(ending)
            if era is not None:
                yield era

    def _ending(self, age: int) -> Era | None:
        """Return the era that ended ``age`` days before the newest commit."""
        with self._guard:
            if age not in self._found:
                before = f"--before={(self._newest - timedelta(days=age)).isoformat()}T23:59:59Z"
                command = ("rev-list", "-1", "--first-parent", *([before] if age else []), self.tip)
                commit = git(self.repository, *command).decode("ascii").strip()
                self._found[age] = Era(self.repository, commit, self._day_of(commit), self.folder) if commit else None
            return self._found[age]

    def _day_of(self, commit: str) -> date:
        text = git(self.repository, "log", "-1", "--format=%cs", commit, "--").decode("ascii")
        return date.fromisoformat(text.strip())
