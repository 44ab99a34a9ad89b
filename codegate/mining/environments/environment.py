"""Environments: what a tree needs, resolved to hash-locked wheels as of the commit's time.

The ladder, best first: what the user gave; the environment of the tree's era, where it holds all that the
tree declares; the tree's own lock file; what its automation installs; all that it declares (then the same without the
versions that the tests ask for); what is declared for run time and the test runner; the newest tree's environment;
environments that worked for other changes; the test runner alone. The project itself is not installed; where packages
depend on it, the test runner has a release from before the commit for itself (``TOOLS_LOCK``). Resolving executes
nothing: wheels only, and the resolver sees no file of the repository. Whoever climbs the ladder stops at the first on
which tests pass.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from codegate.durable import sha256
from codegate.mining.environments.declarations import Declarations
from codegate.mining.environments.eras import Eras
from codegate.mining.environments.given import UserEnvironment
from codegate.sandbox import TOOLS_LOCK
from codegate.sandbox.interpreter import find_interpreter
from codegate.sandbox.resolution import Answer, Question, covers, resolve
from codegate.suite import EnvironmentManifest, LockedEnvironment, PackageFile

Rung = Literal["user", "lockfile", "ci", "declared", "runtime", "minimal", "head"]

# A package that was released before an interpreter was never tried on it, and may have no wheel for it: the bound is
# never earlier than the interpreter's first birthday.
_INTERPRETER_READY: Final = {
    "3.8": date(2020, 10, 1),
    "3.9": date(2021, 10, 1),
    "3.10": date(2022, 10, 1),
    "3.11": date(2023, 10, 1),
    "3.12": date(2024, 10, 1),
    "3.13": date(2025, 10, 1),
    "3.14": date(2026, 10, 1),
}
#: What test runs do without here: it measures, spreads or rearranges them, or checks types; and what pytest itself
#: needs on old Pythons, which compiled requirements files name.
_WATCHING: Final = frozenset(
    {"coverage", "pytest-cov", "pytest-xdist", "pytest-randomly", "pytest-sugar", "pytest-html", "pytest-codspeed",
     "pytest-rerunfailures", "pytest-mypy-plugins", "pytest-github-actions-annotate-failures",
     "atomicwrites", "colorama", "exceptiongroup", "importlib-metadata", "tomli", "zipp"}
)  # fmt: skip
_MOST_NEIGHBOURS: Final = 2
_MOST_LACKING: Final = 3


@dataclass(frozen=True)
class Plan:
    """One list of the ladder.

    Attributes:
        rung: where it is from.
        requirements: PEP 508 strings.
        constraints: pins of what they reach, as ``name==version``.
        persistent: every bound is worth a try, not only the first that resolves.
    """

    rung: Rung
    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    persistent: bool = False


class EnvironmentResolver:
    """Resolves declarations by date. Thread-safe; equal questions are asked once.

    Args:
        python: minor version of the interpreter that the environments are for.
        user: what the user gave; tried first.
        eras: the branch's eras; None: every tree is resolved by itself.
        known: environments of problems that exist already, with the days of their changes: they are shared first.
    """

    def __init__(
        self,
        python: str,
        user: UserEnvironment | None = None,
        eras: Eras | None = None,
        known: tuple[tuple[LockedEnvironment, date], ...] = (),
    ) -> None:
        self.python = python
        self.user = user
        self.eras = eras
        self.known = tuple(entry for entry in known if entry[0].manifest.python == python)
        self._worked: dict[str, tuple[LockedEnvironment, date]] = {}
        self._answers: dict[Question, Answer] = {}
        self._busy: dict[Question, threading.Lock] = {}
        self._guard = threading.Lock()

    def ladder(self, declared: Declarations, committed: date) -> Iterator[LockedEnvironment]:
        """Yield the environments that resolve for ``declared``, best first, each lock once.

        Raises:
            InfrastructureError: the package index cannot be reached, or uv cannot be run.
        """
        seen: set[tuple[str, ...]] = set()
        for environment in self._climb(declared, committed):
            texts = (environment.lock, *environment.packages.values())
            if texts not in seen:
                seen.add(texts)
                yield environment

    def worked(self, environment: LockedEnvironment, committed: date) -> None:
        """Remember that tests of a change of that day pass in ``environment``: it may do for its neighbours."""
        with self._guard:
            self._worked.setdefault(environment.manifest.id, (environment, committed))

    def unresolved(self, declared: Declarations, committed: date) -> str:
        """Return why the best list of ``declared`` has no environment, for people; empty when it has one."""
        plan = plans(declared)[0]
        found = [self._answer(plan, declared, bound, committed) for bound in self._bounds(plan, committed)]
        return "" if any(answer.lock for answer in found) else found[-1].why

    def _climb(self, declared: Declarations, committed: date) -> Iterator[LockedEnvironment]:
        yield from self._given(declared, committed)
        yield from self._shared(declared, committed)
        steps = plans(declared)
        for plan in steps[:-1]:
            yield from self._resolved(plan, declared, committed, committed)
        newest = self.eras.newest() if self.eras is not None else None
        if newest is not None:
            plan = replace(plans(newest.declared)[0], rung="head", persistent=False)
            yield from self._resolved(plan, declared, newest.day, committed)
        yield from self._neighbours(committed)
        yield from self._resolved(steps[-1], declared, committed, committed)

    def _given(self, declared: Declarations, committed: date) -> Iterator[LockedEnvironment]:
        if self.user is None:
            return
        if self.user.lock is not None:
            yield self._environment(self.user.lock, None, "user")
        elif self.user.requirements or self.user.constraints:
            wanted = self.user.requirements or (*declared.runtime, *declared.test)
            plan = Plan("user", _with_runner(wanted), self.user.constraints)
            yield from self._resolved(plan, declared, committed, committed)

    def _shared(self, declared: Declarations, committed: date) -> Iterator[LockedEnvironment]:
        """Yield environments of other changes that hold all that this tree declares."""
        for environment in _nearest(self.known, committed):
            if self._does_for(environment, declared):
                yield environment
        for era in self.eras.of(committed) if self.eras is not None else ():
            for plan in plans(era.declared)[:-1]:
                found = next(self._resolved(plan, era.declared, era.day, committed), None)
                if found is not None:
                    if self._does_for(found, declared):
                        yield found
                    break

    def _does_for(self, environment: LockedEnvironment, declared: Declarations) -> bool:
        """Return whether what a tree runs with is there in a version it allows, and what its tests import at all."""
        tests = [_any_version(text) for text in declared.test if _name(text) not in _WATCHING]
        return covers(environment.lock, (*declared.runtime, *tests), self.python)

    def _neighbours(self, committed: date) -> Iterator[LockedEnvironment]:
        with self._guard:
            worked = tuple(self._worked.values())
        # Under the name and the rung that they have: one environment is one entry of the suite.
        yield from _nearest(worked, committed)

    def _resolved(self, plan: Plan, declared: Declarations, day: date, committed: date) -> Iterator[LockedEnvironment]:
        """Yield the environment of ``plan`` as of ``day`` by its first bound that resolves, or all, by every bound.

        Where it cannot be resolved because of a package that has no wheel and only tests ask for, it is tried without.
        """
        wanted = plan
        for _ in range(_MOST_LACKING):
            for bound in self._bounds(wanted, day):
                answer = self._answer(wanted, declared, bound, committed)
                if answer.lock is not None:
                    yield self._environment(answer.lock, bound, plan.rung, answer.own)
                    if not plan.persistent:
                        return
            fewer = _without(wanted, answer.lacking, declared)
            if answer.lock is not None or fewer is None:
                return
            wanted = fewer

    def _bounds(self, plan: Plan, day: date) -> list[date]:
        # A lock pins what was the newest on the day of the commit, at the latest.
        return bounds(day, self.python)[-1:] if plan.constraints else bounds(day, self.python)

    def _answer(self, plan: Plan, declared: Declarations, bound: date, committed: date) -> Answer:
        """Return the answer for ``plan``, with the project itself only in a release from before the commit."""
        question = Question(plan.requirements, plan.constraints, declared.name, self.python, bound)
        answer = self._ask(question)
        if not answer.own:
            return answer
        # The day before is not yet the commit's day wherever on earth it was made.
        earlier = self._ask(replace(question, own_bound=min(bound, committed - timedelta(days=1))))
        return earlier if earlier.lock is not None else replace(answer, own="")

    def _ask(self, question: Question) -> Answer:
        with self._guard:
            busy = self._busy.setdefault(question, threading.Lock())
        with busy:
            if question not in self._answers:
                self._answers[question] = resolve(question)
            return self._answers[question]

    def _environment(self, lock: str, bound: date | None, rung: Rung, own: str = "") -> LockedEnvironment:
        image = self.user.image if self.user is not None else None
        content = sha256(lock.encode("utf-8"))
        parts = " ".join(text for text in (content, own, image) if text)
        key = sha256(parts.encode("utf-8")) if own or image else content
        name = f"py{self.python.replace('.', '')}-{key[:8]}"
        texts = {TOOLS_LOCK: own} if own else {}
        return lock_environment(name, self.python, lock, texts, rung, bound, image)


def lock_environment(
    name: str,
    python: str,
    lock: str,
    texts: Mapping[str, str],
    rung: Rung,
    bound: date | None = None,
    image: str | None = None,
) -> LockedEnvironment:
    """Return the environment ``name`` of a requirements lock and of ``texts``, other package files by their names."""
    folder = f"environments/{name}"
    manifest = EnvironmentManifest(
        id=name,
        python=python,
        lock=f"{folder}/requirements.lock",
        lock_sha256=sha256(lock.encode("utf-8")),
        exclude_newer=bound,
        rung=rung,
        packages=tuple(
            PackageFile(path=f"{folder}/{file}", sha256=sha256(text.encode("utf-8"))) for file, text in texts.items()
        ),
        image=image,
    )
    return LockedEnvironment(manifest, lock, texts)


def plans(declared: Declarations) -> list[Plan]:
    """Return the lists that a tree itself gives, best first, equal ones once; the last is the test runner alone."""
    everything = (*declared.runtime, *declared.test)
    lists = [
        *([Plan("lockfile", _with_runner(everything), declared.pins)] if declared.pins else []),
        *([Plan("ci", _with_runner((*everything, *declared.automation)))] if declared.automation else []),
        Plan("declared", _with_runner(everything), persistent=True),
        Plan("declared", _with_runner((*declared.runtime, *map(_any_version, declared.test)))),
        Plan("runtime", _with_runner(declared.runtime)),
        Plan("minimal", ("pytest",)),
    ]
    distinct: dict[tuple[tuple[str, ...], tuple[str, ...]], Plan] = {}
    for plan in lists:
        distinct.setdefault((plan.requirements, plan.constraints), plan)
    return list(distinct.values())


def bounds(committed: date, python: str) -> list[date]:
    """Return the days before which packages must have been released, the one to try first first.

    The first day of the commit's year, then that of its quarter, let commits of one time share an environment; the
    day after the commit is the last honest one. None is earlier than the interpreter.
    """
    earliest = _INTERPRETER_READY.get(python, date.min)
    quarter = date(committed.year, 3 * ((committed.month - 1) // 3) + 1, 1)
    days = [date(committed.year, 1, 1), quarter, committed + timedelta(days=1)]
    return list(dict.fromkeys(max(day, earliest) for day in days))


def available_pythons() -> tuple[str, ...]:
    """Return the minor versions of the interpreters that this machine has, of those that environments are made for."""
    return tuple(python for python in _INTERPRETER_READY if find_interpreter(python) is not None)


def choose_python(declared: Declarations, committed: date, available: tuple[str, ...]) -> str | None:
    """Return the newest of ``available`` that a tree supports and that was a year old when it was committed.

    Where all that it supports were younger, the oldest of them. A tree supports the versions that its classifiers or
    its automation name, else those that its ``requires-python`` allows. None when it supports none of ``available``.
    """
    allowed = SpecifierSet(declared.requires_python)
    fitting = [python for python in available if allowed.contains(f"{python}.0")]
    named = [python for python in fitting if python in declared.pythons]
    supported = sorted(named or fitting, key=lambda python: int(python.partition(".")[2]))
    ready = [python for python in supported if _INTERPRETER_READY.get(python, date.min) <= committed]
    return ready[-1] if ready else next(iter(supported), None)


def _nearest(entries: tuple[tuple[LockedEnvironment, date], ...], committed: date) -> list[LockedEnvironment]:
    """Return the environments of other changes that are nearest in time.

    One whose tools keep a release of the project is as old as its change: only for that and later ones is it from
    before the fix.
    """
    fitting = [entry for entry in entries if not entry[0].packages or entry[1] <= committed]
    fitting.sort(key=lambda entry: (abs((entry[1] - committed).days), entry[0].manifest.id))
    return [environment for environment, _ in fitting[:_MOST_NEIGHBOURS]]


def _without(plan: Plan, lacking: str | None, declared: Declarations) -> Plan | None:
    """Return ``plan`` without the package ``lacking``, where only tests ask for it; else None."""
    needed = {_name(text) for text in declared.runtime}
    kept = tuple(text for text in plan.requirements if _name(text) != lacking)
    if lacking is None or lacking in needed or kept == plan.requirements:
        return None
    return replace(plan, requirements=kept)


def _with_runner(requirements: tuple[str, ...]) -> tuple[str, ...]:
    names = {_name(requirement) for requirement in requirements}
    runner = () if "pytest" in names else ("pytest",)
    return tuple(sorted({*requirements, *runner}))


def _name(text: str) -> str:
    return str(canonicalize_name(Requirement(text).name))


def _any_version(text: str) -> str:
    requirement = Requirement(text)
    requirement.specifier = SpecifierSet()
    return str(requirement)
