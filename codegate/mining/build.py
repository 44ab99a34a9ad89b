"""From one unit to one problem: cut, environment, validation, statement, and the last word of the real grader."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from codegate.durable import sha256
from codegate.grading import Sandboxes, grade
from codegate.mining.cut import Cut, cut
from codegate.mining.declarations import import_roots, read_declarations
from codegate.mining.environment import EnvironmentResolver
from codegate.mining.history import Unit
from codegate.mining.leak import audit
from codegate.mining.statement import StatementText, write_statement
from codegate.mining.units import BugScore, Rejected
from codegate.mining.validation import OpenSandbox, Validated, validate_cut
from codegate.sandbox import FilesRefused, Sandbox, SandboxError
from codegate.suite import (
    Base,
    LockedEnvironment,
    Problem,
    ProblemLimits,
    ProblemManifest,
    Provenance,
    Statement,
    TestSets,
    TreeFile,
    make_patch,
    make_problem,
    read_commit,
)

#: (at most changed source lines, at most files, at most hunks) of each tier; what is larger is XL.
_TIERS: Final = (("XS", 3, 1, 1), ("S", 15, 1, 10_000), ("M", 60, 3, 10_000), ("L", 200, 8, 10_000))

_EMPTY: Final = TreeFile(b"")


@dataclass(frozen=True)
class Prospect:
    """A unit worth trying, and its bug score."""

    unit: Unit
    bug: BugScore


@dataclass(frozen=True)
class Built:
    """A unit that became a problem, and the environment that it needs."""

    problem: Problem
    environment: LockedEnvironment


class Stopped(Exception):
    """Raised inside a worker when its result is no longer wanted."""


class Steps:
    """Seconds spent in each step of one unit."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time inside the block for ``name``."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] += time.monotonic() - started


class ProblemBuilder:
    """Builds problems. Thread-safe.

    Args:
        repository: where the commits are.
        name: the suite's name.
        resolver: resolves environments.
        sandboxes: where the code runs.
        rounds: validation runs of each state.
        include_new_tests: keep units whose tests cannot be imported before the fix.
        today: the day that quarantines count from.
        stop: set when results are no longer wanted.
    """

    def __init__(
        self,
        repository: Path,
        name: str,
        resolver: EnvironmentResolver,
        sandboxes: Sandboxes,
        rounds: int,
        include_new_tests: bool,
        today: date,
        stop: threading.Event,
    ) -> None:
        self.repository = repository
        self.name = name
        self.resolver = resolver
        self.sandboxes = sandboxes
        self.rounds = rounds
        self.include_new_tests = include_new_tests
        self.today = today
        self.stop = stop
        self.unbuildable: SandboxError | None = None
        self.prepared = 0

    def build(self, prospect: Prospect, steps: Steps) -> Built | Rejected:
        """Make a problem of ``prospect`` or say why it is none.

        Raises:
            InfrastructureError: ours, the sandbox's or the package index's fault.
        """
        unit = prospect.unit
        try:
            with steps.step("cut"):
                self._check_wanted()
                base = read_commit(self.repository, unit.base)
                parts = cut(unit, base, read_commit(self.repository, unit.commit))
            return self._build(prospect, parts, steps) if isinstance(parts, Cut) else Rejected(parts)
        except Stopped:
            return Rejected("budget")

    def _build(self, prospect: Prospect, parts: Cut, steps: Steps) -> Built | Rejected:
        unit, roots = prospect.unit, import_roots(parts.fixed)
        try:
            found = self._validate(parts, roots, unit, steps)
            if isinstance(found, Rejected):
                return found
            environment, validated = found
            with steps.step("statement"):
                statement = write_statement(self.name, unit, parts, validated.outcomes)
                if statement is None:
                    return Rejected("leak", "every wording repeats the fix")
            with steps.step("oracle"):
                patch = make_patch(parts.base, parts.fix)
                problem = self._problem(prospect, parts, roots, environment, validated, statement, patch)
                self._check_wanted()
                result = grade(problem, parts.base, patch, self.sandboxes)
        except FilesRefused as error:
            linked = any(file.is_link for file in parts.fixed.values())
            return Rejected("symlink" if linked else "too_large", str(error)[:300])
        if not result.resolved:
            return Rejected("oracle_fails", f"{result.failure}: {result.detail}"[:300])
        return Built(problem, environment)

    def _validate(
        self, parts: Cut, roots: tuple[str, ...], unit: Unit, steps: Steps
    ) -> tuple[LockedEnvironment, Validated] | Rejected:
        """Go down the environment's ladder until one makes a test pass, and validate there."""
        last = Rejected("env_unresolved", "no requirements could be resolved to wheels")
        ladder = self.resolver.ladder(read_declarations(parts.fixed), unit.date.date())
        while True:
            with steps.step("environment"):
                self._check_wanted()
                environment = next(ladder, None)
                if environment is None:
                    return last
                failure = self._prepare(environment)
            if failure:
                last = Rejected("env_unresolved", failure)
                continue
            with steps.step("validation"):
                outcome = validate_cut(
                    parts, self._opener(environment), roots, self.rounds, self.today, self.include_new_tests
                )
            if isinstance(outcome, Validated):
                return environment, outcome
            if outcome.reason != "env_no_passing_test":
                return Rejected(outcome.reason, outcome.detail)
            last = Rejected(outcome.reason, outcome.detail)

    def _prepare(self, environment: LockedEnvironment) -> str:
        """Build the environment; return why it cannot be built, or an empty string."""
        recipe = self.sandboxes.add(environment)
        try:
            # Not through `Sandboxes.prepare`: a preflight finding must end mining, not count as a rung that failed.
            self.sandboxes.backend.prepare(recipe)
        except SandboxError as error:
            self.unbuildable = error
            return str(error)[:300]
        self.prepared += 1
        return ""

    def _opener(self, environment: LockedEnvironment) -> OpenSandbox:
        @contextmanager
        def opened(limits: ProblemLimits) -> Iterator[Sandbox]:
            self._check_wanted()
            with self.sandboxes.open(environment.manifest, limits) as sandbox:
                yield sandbox

        return opened

    def _check_wanted(self) -> None:
        if self.stop.is_set():
            raise Stopped

    def _problem(
        self,
        prospect: Prospect,
        parts: Cut,
        roots: tuple[str, ...],
        environment: LockedEnvironment,
        validated: Validated,
        statement: StatementText,
        patch: str,
    ) -> Problem:
        unit, outcomes = prospect.unit, validated.outcomes
        kinds = sorted(set(outcomes.kinds.values()))
        leaks = audit(parts)
        tags = {
            "tier": tier(parts.source_lines, len(parts.fix), patch.count("\n@@ -")),
            "component": component(parts),
            "year": str(unit.date.year),
            "fails_by": "+".join(kinds),
            **({"leak": leaks[0][:200]} if leaks else {}),
        }
        manifest = ProblemManifest(
            id=f"{self.name}-{unit.pull_request or unit.commit[:12]}",
            base=Base(commit=unit.base),
            environment=environment.manifest.id,
            python_path=roots,
            test_files=parts.test_files,
            public_tests=parts.public_tests,
            hidden_deleted=tuple(path for path, file in parts.hidden.items() if file is None),
            fix_deleted=tuple(path for path, file in parts.fix.items() if file is None),
            statement=Statement(mode=statement.mode, sha256=sha256(statement.text.encode("utf-8"))),
            limits=validated.limits,
            tags=tags,
            provenance=Provenance(
                kind=unit.kind,
                commit=unit.commit,
                pull_request=unit.pull_request,
                title=_printable(unit.title),
                date=unit.date,
                bug_score=prospect.bug.score,
                evidence=tuple(_printable(text) for text in prospect.bug.evidence),
            ),
        )
        tests = TestSets(
            FAIL_TO_PASS=outcomes.fail_to_pass,
            PASS_TO_PASS=outcomes.pass_to_pass,
            QUARANTINED=outcomes.quarantined,
        )
        return make_problem(manifest, statement.text, tests, parts.hidden, parts.fix, environment.manifest)


def tier(lines: int, files: int, hunks: int) -> str:
    """Return the size class of a fix, from XS to XL."""
    fitting = (name for name, most, many, parts in _TIERS if lines <= most and files <= many and hunks <= parts)
    return next(fitting, "XL")


def component(parts: Cut) -> str:
    """Return the part of the code base that the fix is in: the first two segments of its largest file's path."""
    path = max(parts.fix, key=lambda path: (path.endswith(".py"), len((parts.fix[path] or _EMPTY).data), path))
    segments = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").split("/")
    return _printable("/".join(segments[:2]))


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
