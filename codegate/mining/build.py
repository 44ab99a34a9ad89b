"""From one unit to one problem: cut, environment, validation, statement, and the last word of the real grader."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from codegate.candidates import CandidateSpec, Usage
from codegate.grading import Sandboxes, grade_reference
from codegate.mining.assemble import Findings, assemble, problem_id
from codegate.mining.cut import Cut, cut
from codegate.mining.kinds.kind import KindOf, classify_kind
from codegate.mining.languages import LanguageSupport, RunnerSettings, language_of
from codegate.mining.options import MineOptions
from codegate.mining.probes.example import public_text
from codegate.mining.probes.finding import find_examples
from codegate.mining.profile import Steps
from codegate.mining.proving.leak import audit
from codegate.mining.proving.quality import measure_quality
from codegate.mining.proving.validation import OpenSandbox, Trial, Validated, try_cut
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.statements.interface import NO_INTERFACE, Interface, interface_of
from codegate.mining.statements.material import entries_of
from codegate.mining.statements.rewrite import rewrite_statement
from codegate.mining.statements.statement import StatementText, gates_of, required_form, write_statement
from codegate.mining.statements.testsource import exact_texts
from codegate.mining.units import BugScore, Rejected
from codegate.sandbox import FilesRefused, Sandbox, SandboxError
from codegate.suite import Language, LockedEnvironment, Problem, ProblemLimits, Tree, make_patch, read_commit


@dataclass(frozen=True)
class Prospect:
    """A unit worth trying, its bug score, and what a forge says of it."""

    unit: Unit
    bug: BugScore
    enrichment: Enrichment | None = None


@dataclass(frozen=True)
class Built:
    """A unit that became a problem, and the environment that it needs."""

    problem: Problem
    environment: LockedEnvironment


class Stopped(Exception):
    """Raised inside a worker when its result is no longer wanted."""


class ProblemBuilder:
    """Builds problems. Thread-safe.

    Args:
        repository: where the commits are.
        name: the suite's name.
        languages: what is known of each language that is mined.
        sandboxes: where the code runs.
        options: what was asked.
        today: the day that quarantines count from.
        tip: the newest tree, for changelogs that name a change later.
        stop: set when results are no longer wanted.
    """

    def __init__(
        self,
        repository: Path,
        name: str,
        languages: Mapping[Language, LanguageSupport],
        sandboxes: Sandboxes,
        options: MineOptions,
        today: date,
        tip: Tree,
        stop: threading.Event,
    ) -> None:
        self.repository = repository
        self.name = name
        self.languages = languages
        self.sandboxes = sandboxes
        self.options = options
        self.today = today
        self.tip = tip
        self.stop = stop
        self.usage = Usage(input_tokens=0, output_tokens=0)
        self.rewrites = 0
        self._counting = threading.Lock()
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
        except Stopped:
            return Rejected("budget")
        return self.build_parts(prospect, parts, steps) if isinstance(parts, Cut) else Rejected(parts)

    def build_parts(
        self, prospect: Prospect, parts: Cut, steps: Steps, statement: StatementText | None = None
    ) -> Built | Rejected:
        """Make a problem of a unit that is cut already or say why it is none.

        Raises:
            InfrastructureError: ours, the sandbox's, the package index's or the rewriting model's fault.
        """
        try:
            return self._build(prospect, parts, steps, statement)
        except Stopped:
            return Rejected("budget")

    def _build(
        self, prospect: Prospect, parts: Cut, steps: Steps, told: StatementText | None = None
    ) -> Built | Rejected:
        unit = prospect.unit
        language = language_of(parts.fix, parts.test_files)
        support = self.languages.get(language) if language is not None else None
        if language is None or support is None:
            return Rejected("unsupported_language")
        settings = support.runner(parts.fixed)
        if settings is None:
            return Rejected("no_runner", f"no test runner that is known here runs {', '.join(parts.test_files)}"[:300])
        try:
            found = self._try(parts, support, settings, unit, steps)
            if isinstance(found, Rejected):
                return found
            environment, trial = found
            # What needs no further run of the tests comes first: most of what is rejected is rejected here.
            described = self._describe(prospect, parts, environment, trial.seen, steps, told)
            if isinstance(described, Rejected):
                return described
            with steps.step("leak"), self._opener(environment)(trial.seen.limits) as sandbox:
                leaks = audit(parts.base, parts.hidden, parts.fix, sandbox)
            if not leaks.clean:
                return Rejected("leak", "; ".join(leaks.findings)[:300])
            with steps.step("variation"):
                validated = trial.confirm(self.options.rounds)
            if isinstance(validated, Rejected):
                return validated
            if validated.outcomes.fail_to_pass != trial.seen.outcomes.fail_to_pass:
                described = self._describe(prospect, parts, environment, validated, steps, told)
                if isinstance(described, Rejected):
                    return described
            kind, interface, statement = described
            if told is None and self.options.rewrite is not None:
                with steps.step("statement"):
                    statement = self._rewritten(self.options.rewrite, prospect, parts, validated, interface, statement)
                if interface.undisclosed(statement.text):
                    return _undisclosed(interface, statement)
            with steps.step("quality"):
                exact = exact_texts(parts, validated.outcomes.fail_to_pass)
                quality = measure_quality(parts, validated, self._opener(environment), exact, statement.words)
            findings = Findings(
                unit=unit,
                bug=prospect.bug,
                enrichment=prospect.enrichment,
                cut=parts,
                language=language,
                settings=settings,
                python_path=support.python_path(parts.fixed),
                environment=environment,
                validated=validated,
                kind=kind,
                interface=interface,
                statement=statement,
                quality=quality,
                leaks=leaks,
            )
            with steps.step("oracle"):
                self._check_wanted()
                patch = make_patch(parts.base, parts.fix)
                problem = assemble(self.name, findings, patch)
                result, controls = grade_reference(problem, parts.base, self.sandboxes, self.options.rounds)
                problem = assemble(self.name, replace(findings, controls=controls), patch)
        except FilesRefused as error:
            linked = any(file.is_link for file in parts.fixed.values())
            return Rejected("symlink" if linked else "too_large", str(error)[:300])
        if not result.resolved:
            return Rejected("oracle_fails", f"{result.failure}: {result.detail}"[:300])
        return Built(problem, environment)

    def _describe(
        self,
        prospect: Prospect,
        parts: Cut,
        environment: LockedEnvironment,
        validated: Validated,
        steps: Steps,
        told: StatementText | None,
    ) -> tuple[KindOf, Interface, StatementText] | Rejected:
        """Return what kind of change a unit is and what a model is told of it."""
        kind = classify_kind(prospect.unit, parts, validated.outcomes, prospect.enrichment)
        if kind.kind not in self.options.kinds:
            return Rejected("other_kind", f"{kind.kind}: {'; '.join(kind.evidence)}"[:300])
        with steps.step("statement"):
            interface = interface_of(parts) if told is None else NO_INTERFACE
            statement = told or self._statement(prospect, parts, environment, validated, interface)
        return statement if isinstance(statement, Rejected) else (kind, interface, statement)

    def _statement(
        self,
        prospect: Prospect,
        parts: Cut,
        environment: LockedEnvironment,
        validated: Validated,
        interface: Interface,
    ) -> StatementText | Rejected:
        unit, public = prospect.unit, public_text(parts)
        examples = find_examples(parts, validated, self._opener(environment), public, unit.commit)
        statement = write_statement(
            unit,
            parts,
            validated.outcomes,
            enrichment=prospect.enrichment,
            examples=examples,
            later=entries_of(self.tip, [number for number in (unit.pull_request, *unit.closes) if number]),
            interface=interface,
            public=public,
        )
        if isinstance(statement, str):
            return Rejected("no_statement", statement)
        return _undisclosed(interface, statement) if interface.undisclosed(statement.text) else statement

    def _rewritten(
        self,
        candidate: CandidateSpec,
        prospect: Prospect,
        parts: Cut,
        validated: Validated,
        interface: Interface,
        statement: StatementText,
    ) -> StatementText:
        name = problem_id(self.name, prospect.unit)
        gates = gates_of(parts, validated.outcomes, interface, public_text(parts))
        self._check_wanted()
        # No answer ends mining: what was found so far is remembered, and the same command goes on from here.
        done = rewrite_statement(candidate, name, statement, gates, required_form(parts, gates.required, interface, ""))
        with self._counting:
            self.usage += done.usage
            self.rewrites += 1
        return done.statement or statement

    def _try(
        self, parts: Cut, support: LanguageSupport, settings: RunnerSettings, unit: Unit, steps: Steps
    ) -> tuple[LockedEnvironment, Trial] | Rejected:
        """Go down the environment's ladder until one makes a test pass, and run both states there."""
        first: Rejected | None = None  # what the best environment lacks; the last one always lacks everything
        unbuilt: Rejected | None = None  # a better environment was never tried: what poorer ones show is not the end
        ladder = support.environments(parts.base, parts.fixed, unit.date.date())
        roots = support.python_path(parts.fixed)
        while True:
            with steps.step("environment"):
                self._check_wanted()
                environment = next(ladder, None)
                if environment is None:
                    why = "" if first else support.unresolved(parts.fixed, unit.date.date())
                    return (
                        unbuilt
                        or first
                        or Rejected("env_unresolved", (why or "no requirements could be resolved")[:300])
                    )
                failure = self._prepare(environment)
            if failure:
                unbuilt = unbuilt or Rejected("env_unresolved", failure)
                first = first or unbuilt
                continue
            with steps.step("validation"):
                outcome = try_cut(
                    parts,
                    self._opener(environment),
                    roots,
                    self.today,
                    self.options.include_new_tests,
                    settings,
                    support.limits(),
                )
            if isinstance(outcome, Trial):
                support.worked(environment, unit.date.date())
                return environment, outcome
            if outcome.reason not in {"env_no_passing_test", "collect_error_gold"}:
                return unbuilt or outcome
            first = first or outcome

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


def _undisclosed(interface: Interface, statement: StatementText) -> Rejected:
    names = ", ".join(interface.undisclosed(statement.text))
    return Rejected("unsolvable_new_symbol", f"the tests use {names}, which nothing tells"[:300])
