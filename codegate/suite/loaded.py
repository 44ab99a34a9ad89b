"""A loaded suite: problems, environments and digests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codegate.suite.model import EnvironmentManifest, ProblemManifest, SuiteManifest, TestSets
from codegate.suite.tree import Changes

if TYPE_CHECKING:
    from codegate.suite.proved import ProvedPlace


RECIPE: Final = "recipe.yml"
"""The file of an environment that says how it is built."""
RESOLVED: Final = "resolved.txt"
"""The file of an environment with the versions that a build installed."""
ANSWER: Final = "answer.md"
"""The file of ``fix`` that has the right answer to a question."""
EVIDENCE: Final = "statement"
"""Tag that says what a mined statement has: ``executed`` examples, or only ``quoted`` words."""
DROPPED: Final = "dropped in review"
DROPPED_BEFORE: Final = f"{DROPPED}; quarantined before: "
"""Begins the evidence of a dropped problem that had been quarantined before."""


@dataclass(frozen=True)
class Environment:
    """An environment with its recipe and its installed versions."""

    manifest: EnvironmentManifest
    recipe: str = field(repr=False)
    resolved: str = field(repr=False)

    @property
    def id(self) -> str:
        """Return the id by which problems refer to the environment."""
        return self.manifest.id


@dataclass(frozen=True)
class Problem:
    """One past bug, without its base tree (see ``load_base``).

    ``hidden`` has the test files as they are after the fix and ``fix`` the source files, each as a change of the base
    tree. ``digest`` covers all that can change a grade (see ``make_problem``); ``plain_digest`` leaves out the
    controls, which the first validation adds.
    """

    manifest: ProblemManifest
    statement: str
    tests: TestSets
    hidden: Changes
    fix: Changes
    environment: EnvironmentManifest
    digest: str
    plain_digest: str = ""

    @property
    def id(self) -> str:
        """Return the problem's id, unique in its suite."""
        return self.manifest.id

    @property
    def active(self) -> bool:
        """Return whether the problem takes part in comparisons."""
        return self.manifest.status == "active"

    @property
    def reference_answer(self) -> str:
        """Return the right answer to a question, else ""."""
        file = self.fix.get(ANSWER) if self.manifest.answer is not None else None
        return file.text if file is not None else ""

    @property
    def service_tests(self) -> tuple[str, ...]:
        """Return the ids of expected service calls, graded as tests."""
        return self.manifest.service.tests if self.manifest.service else ()

    @property
    def quoted(self) -> bool:
        """Return whether the statement has no executed example."""
        return self.manifest.tags.get(EVIDENCE) == "quoted"

    @property
    def dropped(self) -> bool:
        """Return whether a reviewer dropped the problem."""
        quarantine = self.manifest.quarantine
        return (
            self.manifest.status == "retired"
            and quarantine is not None
            and (quarantine.evidence == DROPPED or quarantine.evidence.startswith(DROPPED_BEFORE))
        )

    def expired(self, today: date) -> bool:
        """Return whether the problem's quarantine is over by ``today``."""
        quarantine = self.manifest.quarantine
        return self.manifest.status == "quarantined" and quarantine is not None and quarantine.expires <= today


@dataclass(frozen=True)
class Suite:
    """A suite with its manifest, problems, environments and digest.

    ``problems`` are in the manifest's order and ``environments`` by id. ``digest`` covers everything that is graded;
    ``proved`` is the content of ``proved.json``.
    """

    folder: Path
    manifest: SuiteManifest
    problems: tuple[Problem, ...]
    environments: Mapping[str, Environment] = field(repr=False)
    digest: str = ""
    proved: tuple["ProvedPlace", ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """Return the suite's name."""
        return self.manifest.name

    @property
    def active(self) -> tuple[Problem, ...]:
        """Return the problems that take part in comparisons."""
        return tuple(problem for problem in self.problems if problem.active)

    @property
    def active_or_quarantined(self) -> tuple[Problem, ...]:
        """Return the active and the quarantined problems."""
        return tuple(problem for problem in self.problems if problem.manifest.status != "retired")

    def expired(self, today: date) -> tuple[str, ...]:
        """Return the ids of problems whose quarantine is over."""
        return tuple(problem.id for problem in self.problems if problem.expired(today))
