"""Forecast what a gate can detect, and what it costs."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from codegate.candidates import CandidateSpec, model_shutdowns
from codegate.errors import UsageError
from codegate.gating import Baseline, GatePolicy
from codegate.gating.estimates import Estimate
from codegate.gating.pinning import BASELINE_SAMPLES
from codegate.gating.power import PowerStatement, baseline_model, forecast, power_statement
from codegate.operations.requests import PlanRequest, project_here, requested_run
from codegate.operations.rules import Project
from codegate.running import Journal, Progress, Run, RunSpec, load_run, run_suite
from codegate.running.config import with_user_prices
from codegate.running.expenses import (
    PromptSizes,
    SampleDollars,
    SampleExpense,
    prompt_sizes,
    sample_dollars,
    sample_expense,
)
from codegate.running.gate import check_policy
from codegate.running.plan import CallNeeds, call_needs, suite_model
from codegate.running.session import plan_shards
from codegate.running.shards import ShardPlan
from codegate.suite import Suite, load_suite


@dataclass(frozen=True)
class SampleCounts:
    """A candidate's numbers of samples in gate and baseline.

    A gate makes ``fewest`` to ``most`` samples. To confirm a regression it makes ``again`` samples of the pinned model.
    A new baseline takes ``baseline``.
    """

    fewest: int
    most: int
    again: int
    baseline: int


@dataclass(frozen=True)
class CandidateForecast:
    """The expected cost and time of one candidate's samples.

    ``fresh`` is the highest cost of a sample of the pinned model; None if unknown.
    """

    spec: CandidateSpec
    samples: SampleCounts
    expense: SampleExpense
    prompts: PromptSizes | None
    dollars: SampleDollars
    fresh: Decimal | None

    def gate(self) -> tuple[list[Estimate], float | None]:
        """Return a gate's expected costs and highest cost, in dollars.

        The expected costs are for the fewest and for the most samples. The highest cost includes confirming a
        regression; it is None if unknown.
        """
        expected, worst, samples = self.dollars.expected, self.dollars.worst, self.samples
        fresh = self.fresh if samples.again else Decimal(0)
        most = None if worst is None or fresh is None else float(worst * samples.most + fresh * samples.again)
        return [expected.times(samples.fewest), expected.times(samples.most)], most

    def baseline(self) -> tuple[Estimate, float | None]:
        """Return a baseline's expected and highest cost in dollars.

        The highest cost is None if unknown.
        """
        expected, worst, samples = self.dollars.expected, self.dollars.worst, self.samples.baseline
        return expected.times(samples), None if worst is None else float(worst * samples)


@dataclass(frozen=True)
class Plan:
    """The forecast for the gate of ``run``.

    ``samples`` is the largest number per problem. ``again`` is the number of samples of the pinned model that confirm a
    regression. ``found`` is the share of gates (0..1) that find the requested drop. ``endings`` are sentences on model
    shutdowns.
    """

    suite: Suite
    run: RunSpec
    baseline: Baseline | None
    power: PowerStatement
    samples: int
    found: float | None
    again: int
    expenses: tuple[CandidateForecast, ...]
    calls: CallNeeds
    endings: tuple[str, ...]
    shards: ShardPlan | None
    pilot: tuple[Run, Journal] | None


def plan(
    request: PlanRequest,
    folder: Path | None,
    progress: Callable[[Progress], None],
    announce: Callable[[str], None],
    *,
    project: Project | None = None,
    pilot: int | None = None,
    command: tuple[str, ...] = (),
) -> Plan:
    """Forecast the gate of a suite.

    ``folder`` is the suite's folder; None: the configured folder. ``project`` None: the project of this folder.
    ``pilot`` is a number of problems: a run first makes one sample of each. ``command`` is the command line that
    continues this run.
    """
    if pilot is not None and (request.shards is not None or request.predictions is not None):
        raise UsageError("--pilot runs a part of one run with models.", "Leave out --shards and --predictions.")
    project = project or project_here(request, folder, alone=request.shards is None)
    policy, suite = project.settings.gate, load_suite(project.suite)
    check_policy(policy, suite)
    spec = requested_run(request, project)
    pinned = spec.baseline
    model = baseline_model(pinned.samples) if pinned is not None else suite_model(suite)
    shards = plan_shards(spec, request.shards) if request.shards is not None else None
    samples = shards.samples if shards is not None else spec.samples
    tried = None
    if pilot is not None:
        tried = run_suite(replace(spec, pilot=pilot, command=command), progress, announce)
    if pinned is not None and pinned.suite_digest != suite.digest:
        announce("the suite is not as when the baseline was made: problems that have changed since are not compared")
    looks, together = (samples,) if samples else policy.looks, max(len(spec.candidates), 1)
    power = power_statement(model, policy, looks=looks, candidates=together)
    runs = [load_run(path) for path in request.like] or _pooled_runs(pinned, announce)
    runs = [tried[0], *runs] if tried is not None else runs
    again = policy.confirm_samples * model.problems
    each = SampleCounts(*power.expected_samples, again, baseline=BASELINE_SAMPLES * len(suite.active))
    drop = request.drop
    found = forecast(model, policy, looks=looks, candidates=together, drop=drop).regressed if drop is not None else None
    trusted = [pinned.spec] if pinned is not None and pinned.spec.is_trusted_by(spec.candidates) else []
    return Plan(
        suite=suite,
        run=spec,
        baseline=pinned,
        power=power,
        samples=looks[-1],
        found=found,
        again=again,
        expenses=tuple(_forecasts(suite, spec, pinned, runs, each, announce)),
        calls=call_needs(len(suite.active), spec.candidates, policy, samples),
        endings=tuple(one.words for one in model_shutdowns([*spec.candidates, *trusted])),
        shards=shards,
        pilot=tried,
    )


def usual_power(suite: Suite) -> PowerStatement:
    """Forecast what the default gate detects, without any baseline."""
    return power_statement(suite_model(suite), GatePolicy())


def _forecasts(
    suite: Suite,
    run: RunSpec,
    pinned: Baseline | None,
    runs: Sequence[Run],
    each: SampleCounts,
    announce: Callable[[str], None],
) -> Iterator[CandidateForecast]:
    def measured(spec: CandidateSpec) -> tuple[SampleExpense, PromptSizes | None, SampleDollars]:
        try:
            prompts = prompt_sizes(suite, spec, run.options.repository)
        except UsageError as error:
            prompts = None
            announce(f"the prompts of {spec.label} cannot be measured: {error}")
        expense = sample_expense(runs, spec)
        return expense, prompts, sample_dollars(spec, expense, prompts, run.options.models)

    asking = [spec for spec in run.candidates if spec.calls_a_model]
    of_pinned: Decimal | None = Decimal(0)  # cost of a pinned candidate that calls no model or cannot be called
    if asking and pinned is not None and pinned.spec.calls_a_model and pinned.spec.is_trusted_by(run.candidates):
        of_pinned = measured(with_user_prices(pinned.spec, run.candidates, run.prices))[2].worst
    for spec in asking:
        expense, prompts, dollars = measured(spec)
        yield CandidateForecast(spec, each, expense, prompts, dollars, dollars.worst if pinned is None else of_pinned)


def _pooled_runs(pinned: Baseline | None, announce: Callable[[str], None]) -> list[Run]:
    if pinned is None:
        return []
    wanted = [run.id for run in pinned.runs]
    there: dict[str, Run] = {}
    for path in sorted(Path("runs").glob("*/run.json")):
        with contextlib.suppress(UsageError):  # the folder holds no run of codegate
            journal = Journal.open(path.parent)
            if journal.manifest.id in wanted:
                there[journal.manifest.id] = journal.load()
    for name in wanted:
        if name not in there:
            announce(
                f"no folder in runs/ holds run {name} of the pinned baseline, whose file keeps no tokens and times: "
                "what a sample took in it is not counted; name the run with --like"
            )
    return list(there.values())
