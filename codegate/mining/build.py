"""Turn one merged change into one problem.

The steps: cut, environment, validation, statement, and last the grade of the reference fix by the real grader.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from codegate.candidates import CandidateSpec, Usage
from codegate.grading import Sandboxes, grade_reference, mark_tests
from codegate.mining.assemble import Findings, assemble, mined_id
from codegate.mining.cut import Cut, cut
from codegate.mining.environments.recorded import RECIPE_ERRORS, RecordedBuilds, limits_of, settings_of
from codegate.mining.examples.example import Example, FoundExample, base_tests, choose_examples, public_text
from codegate.mining.examples.search import find_examples
from codegate.mining.examples.steady import steady_examples
from codegate.mining.kinds import KindScore, classify_kind
from codegate.mining.languages import LanguageSupport, RunnerSettings, language_of, runs
from codegate.mining.options import MineRequest
from codegate.mining.profile import Steps
from codegate.mining.proving.leak import audit_leaks
from codegate.mining.proving.outcomes import without_undisclosed
from codegate.mining.proving.quality import (
    PartialRun,
    examples_to_show,
    has_example_of,
    measure_quality,
    required_texts,
    run_partial_fixes,
    undisclosed_tests,
)
from codegate.mining.proving.validation import OpenSandbox, Trial, ValidatedChange, try_cut
from codegate.mining.statements.interface import NO_INTERFACE, Interface, interface_of
from codegate.mining.statements.leak_rules import LeakRules, leak_rules_of
from codegate.mining.statements.material import entries_naming
from codegate.mining.statements.rewrite import rewrite_statement
from codegate.mining.statements.statement import StatementText, required_form, write_statement
from codegate.mining.statements.template import template_of
from codegate.mining.units import Prospect, Rejected
from codegate.sandbox import FilesRefused, Sandbox
from codegate.suite import (
    Environment,
    Language,
    LeakAudit,
    Problem,
    ProblemLimits,
    Subtree,
    Tree,
    make_patch,
    read_commit,
)

Result = TypeVar("Result")

_MAY_BE_ENVIRONMENT: Final = frozenset({"env_no_passing_test", "collect_error_gold"})
_LONGEST: Final = 1000  # characters of a detail, enough for a build's last lines of output


@dataclass(frozen=True)
class BuiltProblem:
    """The problem made of a change, and its environment."""

    problem: Problem
    environment: Environment


class ChangeRejected(Exception):
    """Raised when a change makes no problem; has the reason."""

    def __init__(self, rejected: Rejected) -> None:
        super().__init__(rejected.reason)
        self.rejected = replace(rejected, detail=rejected.detail[:_LONGEST])


def _require(found: Result | Rejected) -> Result:
    if isinstance(found, Rejected):
        raise ChangeRejected(found)
    return found


@dataclass
class ProblemBuilder:
    """Makes problems of merged changes. Thread-safe.

    Attributes:
        today: the first day of new quarantines.
        tip: the newest tree; its changelogs may describe older changes.
        stop: set when results are no longer wanted.
        usage: tokens of the model calls that rewrote statements.
        rewrites: number of the model calls that rewrote statements.
        recorded: builds of the project's recipe; None: there was no time to make any.
    """

    repository: Path
    name: str
    languages: Mapping[Language, LanguageSupport]
    sandboxes: Sandboxes
    options: MineRequest
    today: date
    tip: Tree
    stop: threading.Event
    usage: Usage = field(default_factory=lambda: Usage(input_tokens=0, output_tokens=0))
    rewrites: int = 0
    project: str | None = None
    recorded: RecordedBuilds | None = None
    counting: threading.Lock = field(default_factory=threading.Lock)

    def build(
        self, prospect: Prospect, steps: Steps, parts: Cut | None = None, imported: StatementText | None = None
    ) -> BuiltProblem | Rejected:
        """Return a change's problem, or why there is none.

        ``steps`` gets the seconds of each step. If the change is imported from another benchmark, ``parts`` is its cut
        and ``imported`` its statement; None: they are made here.

        Raises:
            InfrastructureError: codegate, the sandbox, the package index or the model that rewrites statements failed.
        """
        try:
            with steps.step("cut"):
                self.check_wanted()
                cut_parts = parts or self._cut(prospect)
            try:
                return self._unit_builder(prospect, steps, cut_parts, imported).problem()
            except FilesRefused as error:
                linked = any(file.is_link for file in cut_parts.fixed.values())
                raise ChangeRejected(Rejected("symlink" if linked else "too_large", str(error))) from error
        except ChangeRejected as end:
            return end.rejected

    def _cut(self, prospect: Prospect) -> Cut:
        unit = prospect.unit
        base, fixed = (read_commit(self.repository, commit) for commit in (unit.base, unit.commit))
        found = cut(unit, base, fixed, self.options.names(), self.options.path)
        return _require(found if isinstance(found, Cut) else Rejected(found))

    def _unit_builder(
        self, prospect: Prospect, steps: Steps, parts: Cut, imported: StatementText | None
    ) -> "_ChangeBuilder":
        language = language_of(parts.fix, parts.test_files, self.options.names())
        support = self.languages.get(language) if language is not None else None
        if support is None:
            raise ChangeRejected(Rejected("unsupported_language"))
        own = support.runner(Subtree.of(parts.fixed, parts.folder)) if support.parts or not parts.folder else None
        settings = settings_of(self.recorded.recipe, own) if self.recorded is not None else own
        if language is not None and settings is not None and not runs(settings.runner, language):
            raise ChangeRejected(
                Rejected("no_runner", f"the recipe's tests are run by {settings.runner}: {parts.test_files[0]}")
            )
        return _ChangeBuilder(self, prospect, steps, parts, imported, support, own)

    def opener(self, environment: Environment) -> OpenSandbox:
        """Return a function that opens sandboxes of ``environment``.

        Once ``stop`` is set, it raises ``ChangeRejected`` instead.
        """

        @contextmanager
        def opened(limits: ProblemLimits) -> Iterator[Sandbox]:
            self.check_wanted()
            with self.sandboxes.open(environment.manifest, limits) as sandbox:
                yield sandbox

        return opened

    def check_wanted(self) -> None:
        """Raise ``ChangeRejected`` if results are no longer wanted."""
        if self.stop.is_set():
            raise ChangeRejected(Rejected("budget"))


@dataclass(frozen=True)
class _ChangeBuilder:
    """Makes the problem of one change, or raises ``ChangeRejected``."""

    builder: ProblemBuilder
    prospect: Prospect
    steps: Steps
    parts: Cut
    imported: StatementText | None
    support: LanguageSupport
    own: RunnerSettings | None

    def problem(self) -> BuiltProblem:
        environment, settings, trial, leaks = self._find_build()
        same = trial.cut is self.parts
        return replace(self, parts=trial.cut)._finish(environment, settings, trial, leaks if same else None)

    def _with_folder(self, settings: RunnerSettings | None) -> RunnerSettings:
        """Return ``settings``, in the mined folder unless they name one.

        Raise ``ChangeRejected`` if ``settings`` is None, because no known runner runs the tests.
        """
        if settings is None:
            files = ", ".join(self.parts.test_files)
            raise ChangeRejected(Rejected("no_runner", f"no test runner that is known here runs {files}"))
        return replace(settings, folder=settings.folder or self.parts.folder)

    def _finish(
        self, environment: Environment, settings: RunnerSettings, trial: Trial, leaks: LeakAudit | None
    ) -> BuiltProblem:
        # ``leaks`` is the leak audit; None: it was not made yet.
        builder, parts, step = self.builder, self.parts, self.steps.step
        # Checks that need no further run of the tests come first: they leave out most units.
        described = self._describe(trial.seen)
        leaks = leaks or self._audit(environment, trial.seen.limits)
        if not leaks.clean:
            raise ChangeRejected(Rejected("leak", "; ".join(leaks.findings)))
        with step("variation"):
            hidden = parts.base.overlay(parts.hidden)
            used = mark_tests(hidden, parts.test_files, settings.runner)
            validated = _require(trial.confirm(builder.options.rounds, used))
        if validated.outcomes.fail_to_pass != trial.seen.outcomes.fail_to_pass:
            described = self._describe(validated)
        kind, interface, statement = described.kind, described.interface, described.statement
        if builder.options.rewrite is not None:
            with step("statement"):
                statement = self._rewritten(builder.options.rewrite, described)
        validated = replace(validated, outcomes=without_undisclosed(validated.outcomes, described.undisclosed))
        with step("quality"):
            exact = len(described.rules.exact) if described.rules is not None else None
            quality = measure_quality(validated, described.partial, exact, statement.words)
        findings = Findings(
            prospect=self.prospect,
            cut=parts,
            language=self.support.pack.name,
            settings=settings,
            python_path=self.support.python_path(Subtree.of(parts.fixed, parts.folder)),
            environment=environment,
            validated=validated,
            kind=kind,
            interface=interface,
            statement=statement,
            quality=quality,
            leaks=leaks,
        )
        with step("oracle"):
            builder.check_wanted()
            patch = make_patch(parts.base, parts.fix)
            problem = assemble(builder.name, findings, patch, builder.project)
            result, controls = grade_reference(problem, parts.base, builder.sandboxes, trial.marked)
            problem = assemble(builder.name, replace(findings, controls=controls), patch, builder.project)
        if not result.resolved:
            raise ChangeRejected(Rejected("oracle_fails", f"{result.failure}: {result.detail}"))
        return BuiltProblem(problem, environment)

    def _find_build(self) -> tuple[Environment, RunnerSettings, Trial, LeakAudit | None]:
        """Find a build in which the fix makes tests pass.

        Return its environment, settings, trial and leak audit. In each build, the tests run with and without the fix.
        The nearest build comes first. Builds of the change's own base tree follow if tests may fail because of the
        nearest build. A build of a later tree may hold the fix, so it is audited for leaks before tests run; otherwise
        the audit is None.
        """
        builder, support, parts, unit = self.builder, self.support, self.parts, self.prospect.unit
        builds = builder.recorded
        if builds is None:
            raise ChangeRejected(Rejected("budget"))
        choices = builds.builds_to_try(unit.base, parts.base, unit.date)
        new = builder.options.include_new_tests
        first: Rejected | None = None  # the reason of the project's own recipe counts, not those of other recipes
        while True:
            with self.steps.step("environment"):
                builder.check_wanted()
                try:
                    choice = next(choices, None)
                except RECIPE_ERRORS as error:
                    raise ChangeRejected(first or Rejected("env_unresolved", str(error))) from error
                if choice is None:
                    raise ChangeRejected(first or Rejected("env_unresolved"))
                builder.sandboxes.prepare(choice.environment.manifest)
            limits, settings = limits_of(choice.recipe), self._with_folder(settings_of(choice.recipe, self.own))
            opener = builder.opener(choice.environment)
            leaks = self._audit(choice.environment, limits) if choice.later else None
            if leaks is not None and not leaks.clean:
                continue
            with self.steps.step("validation"):
                outcome = try_cut(
                    parts, opener, builder.today, new, settings, limits, support.narrowed,
                    may_be_at_fault=partial(builds.may_be_at_fault, choice), processor_seconds=choice.recipe.seconds,
                )  # fmt: skip
            if isinstance(outcome, Trial):
                return choice.environment, settings, outcome, leaks
            if outcome.reason not in _MAY_BE_ENVIRONMENT:
                raise ChangeRejected(outcome)
            if choice.exact:
                builds.exclude(choice)
                first = first or outcome

    def _audit(self, environment: Environment, limits: ProblemLimits) -> LeakAudit:
        parts, builder = self.parts, self.builder
        with self.steps.step("leak"), builder.sandboxes.open(environment.manifest, limits) as sandbox:
            return audit_leaks(parts.base, parts.hidden, parts.fix, sandbox, parts.folder)

    def _describe(self, validated: ValidatedChange) -> "_Described":
        kind = classify_kind(self.prospect.unit, self.parts, validated.outcomes, self.prospect.enrichment)
        if kind.kind not in self.builder.options.kinds:
            raise ChangeRejected(Rejected("other_kind", f"{kind.kind}: {'; '.join(kind.evidence)}"))
        if self.imported is not None:
            return _Described(kind, NO_INTERFACE, self.imported, self._partial(validated, []))
        unit, public, step = self.prospect.unit, public_text(self.parts), self.steps.step
        with step("statement"):
            interface = interface_of(self.parts)
            searched = find_examples(self.parts, validated, public, unit.commit)
            found = [each for each in searched.examples if not each.example.echoes(interface.names)]
            rules = leak_rules_of(self.parts, validated.outcomes, interface, public)
            rules = replace(rules, exact=required_texts(self.parts, validated, rules.exact))
            later = entries_naming(self.builder.tip, [number for number in (unit.pull_request, *unit.closes) if number])
            write = partial(
                write_statement, unit, self.parts, validated.outcomes,
                enrichment=self.prospect.enrichment, later=later, interface=interface, rules=rules,
                errors=searched.errors, template=template_of(self.parts.base),
            )  # fmt: skip
            examples = self._executed(choose_examples(found))
            _require_statement(write(examples=examples))
            # The base's tests are run only for a unit that has a statement.
            own = base_tests(self.parts, validated)
            if own.failing.issuperset(validated.outcomes.fail_to_pass):
                raise ChangeRejected(
                    Rejected("leak", f"the base has the failing tests: {', '.join(sorted(own.failing))}")
                )
            write = partial(write, overturned=own.overturned)
            _require_disclosed(interface, _require_statement(write(examples=examples)))
        runs = self._partial(validated, found)
        with step("statement"):
            steady = partial(steady_examples, self.parts, validated)
            examples, left = examples_to_show(found, runs, steady)
        with step("quality"):
            undisclosed = undisclosed_tests(self.parts, validated, left if found else (), own.overturned)
        if undisclosed and not has_example_of(set(validated.outcomes.fail_to_pass) - undisclosed, examples):
            raise ChangeRejected(Rejected("no_statement", "the tests ask for more than any example shows"))
        with step("statement"):
            statement = _require_disclosed(interface, _require_statement(write(examples=self._executed(examples))))
        return _Described(kind, interface, statement, runs, undisclosed, rules)

    def _executed(self, examples: list[Example]) -> list[Example]:
        if not examples and self.builder.options.statements == "executed":
            raise ChangeRejected(Rejected("no_statement", "no example can be shown"))
        return examples

    def _partial(self, validated: ValidatedChange, found: Sequence[FoundExample]) -> list[PartialRun]:
        with self.steps.step("quality"):
            return run_partial_fixes(self.parts, validated, found)

    def _rewritten(self, candidate: CandidateSpec, described: "_Described") -> StatementText:
        builder, interface, statement, rules = self.builder, described.interface, described.statement, described.rules
        if rules is None:  # the statement was imported
            return statement
        form = required_form(rules.exact, interface, "")
        builder.check_wanted()
        # If there is no answer, mining ends. The results so far are stored, and the same command goes on from here.
        name = mined_id(builder.name, self.prospect.unit)
        rewritten, usage = rewrite_statement(candidate, name, statement, rules, form)
        with builder.counting:
            builder.usage += usage
            builder.rewrites += 1
        return _require_disclosed(interface, rewritten or statement)


@dataclass(frozen=True)
class _Described:
    """A change's kind, interface, statement and partial fixes.

    ``undisclosed`` are tests that demand more than the statement shows. ``rules`` are the statement's leak rules; None
    if the statement was imported.
    """

    kind: KindScore
    interface: Interface
    statement: StatementText
    partial: list[PartialRun]
    undisclosed: frozenset[str] = frozenset()
    rules: LeakRules | None = None


def _require_statement(statement: StatementText | str) -> StatementText:
    return _require(Rejected("no_statement", statement) if isinstance(statement, str) else statement)


def _require_disclosed(interface: Interface, statement: StatementText) -> StatementText:
    """Return ``statement`` if it gives the names that answers need.

    Raise ``ChangeRejected`` if it lacks an ``unresolvable`` name of ``interface``.
    """
    names = ", ".join(interface.undisclosed(statement.text))
    if names:
        raise ChangeRejected(
            Rejected("unsolvable_new_symbol", f"the tests use {names}, which the statement does not name")
        )
    return statement
