"""Dependency eras: stretches of history whose changes share one environment, that of the stretch's newest tree."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from codegate.mining.environments.declarations import Declarations, read_declarations
from codegate.suite import git, read_commit

#: Lengths of the eras that a change is in, in days, the longest first. Declared lower bounds are kept and newer
#: packages mostly stay compatible: what an era's environment does not cover or breaks has that of a shorter one, then
#: its own, so that a long era costs little and saves most environments.
ERA_DAYS: Final = (3 * 365, 365)


@dataclass(frozen=True)
class Era:
    """The newest tree of an era: what it declares, and the day of its commit."""

    declared: Declarations
    day: date


class Eras:
    """The eras of a branch, counted back from its newest commit. Thread-safe; every era is read once.

    Args:
        repository: where the commits are.
        tip: full id of the newest commit.
    """

    def __init__(self, repository: Path, tip: str) -> None:
        self.repository = repository
        self.tip = tip
        self._newest = self._day_of(tip)
        self._found: dict[int, Era | None] = {}
        self._guard = threading.Lock()

    def newest(self) -> Era | None:
        """Return what the newest commit declares."""
        return self._ending(0)

    def of(self, committed: date) -> Iterator[Era]:
        """Yield the eras that a day is in, the longest first, as far as there are commits to stand for them."""
        age = max((self._newest - committed).days, 0)
        for ending in dict.fromkeys(age // days * days for days in ERA_DAYS):
            era = self._ending(ending)
            if era is not None:
                yield era

    def _ending(self, age: int) -> Era | None:
        """Return the era that ended ``age`` days before the newest commit."""
        with self._guard:
            if age not in self._found:
                self._found[age] = self._read(age)
            return self._found[age]

    def _read(self, age: int) -> Era | None:
        commit = self.tip
        if age:
            before = f"--before={(self._newest - timedelta(days=age)).isoformat()}T23:59:59Z"
            commit = git(self.repository, "rev-list", "-1", "--first-parent", before, self.tip).decode("ascii").strip()
        if not commit:
            return None
        return Era(read_declarations(read_commit(self.repository, commit)), self._day_of(commit))

    def _day_of(self, commit: str) -> date:
        text = git(self.repository, "log", "-1", "--format=%cs", commit, "--").decode("ascii")
        return date.fromisoformat(text.strip())
