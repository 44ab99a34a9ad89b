"""``codegate plan``: show what a gate finds and costs."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import Field

from codegate.candidates import price_words
from codegate.cli.options import Argument, as_command
from codegate.cli.output import emit, note, say
from codegate.cli.policy import project_by_request
from codegate.cli.progress import run_progress
from codegate.cli.run import command_again
from codegate.errors import ExitCode
from codegate.gating.baseline import samples_each
from codegate.gating.estimates import Estimate
from codegate.gating.pinning import BASELINE_SAMPLES
from codegate.gating.power import TYPICAL_RATE, PowerStatement
from codegate.operations.plan import CandidateForecast, plan
from codegate.operations.requests import PlanRequest
from codegate.reporting import render_tables
from codegate.reporting.cells import Table
from codegate.running import Journal, Run, RunOptions
from codegate.running.expenses import ASSUMED_OUTPUT, BYTES_PER_TOKEN
from codegate.running.plan import CallNeeds
from codegate.strict import Folder, printable
from codegate.wording import count_of

_WIDTH: Final = 80
_PILOT: Final = 3
_UNKNOWN: Final = "–"
_LONG: Final = {"tool_loop": "a tool loop", "agent": "an agent without `usd` or `tokens`"}
"""Solvers whose calls may fill the model's context."""


@as_command()
def command(
    suite: Annotated[Folder | None, Argument()] = None,
    pilot: Annotated[
        int | None,
        Field(ge=1, le=100, examples=["[N]"], json_schema_extra={"flag_value": _PILOT}),
        f"Run one sample of N problems (default {_PILOT}) of the run planned here; measure the rest on them.",
    ] = None,
    *,
    request: PlanRequest,
) -> ExitCode:
    """Show what a gate on SUITE finds and costs.

    It shows the drop that the gate finds in 4 of 5 cases, how often the gate ends inconclusive, and its cost. The gate
    is simulated with the pass rates of the pinned baseline, or without a baseline with those of a suite of usual
    difficulty. Without --pilot no model is called: costs come from the prompts, prices, limits and earlier runs. If a
    key is set, the provider's list of models shows which models end, and when.

    With --pilot each candidate is first run on a few problems, within the limits of codegate.yml. Cost and time of the
    rest are estimated from these, with 95 % intervals. The command that is printed continues the run: the pilot's
    answers are its first.

    With --shards it also prints the inputs of a job matrix (`.shards.matrix`, `.shards.run_id` with --json): run each
    part with the same options by `codegate run --shard K/N --run-id ID`. Shards make a fixed number of samples: three,
    or --samples.
    """
    project = project_by_request(request, suite)
    with run_progress("simulating gates") as progress:
        made = plan(request, suite, progress, note, project=project, pilot=pilot, command=command_again())
    pinned, tried, calls, shards, options = made.baseline, made.pilot, made.calls, made.shards, made.run.options
    own = made.run.candidates
    laid = {one.label: [file.path for file in one.harness.laid or ()] for one in own if one.harness is not None}
    pilot_words, pilot_document = _pilot(*tried) if tried is not None else ("", None)
    assumed = f"no baseline: a pass rate of {TYPICAL_RATE:.0%} assumed"
    source = assumed
    if pinned is not None:
        each = samples_each(pinned.samples)
        more = f"; {BASELINE_SAMPLES} would find smaller drops" if each < BASELINE_SAMPLES else ""
        source = f"baseline {pinned.samples.label} with {count_of(each, 'sample')} per problem{more}"
    say(f"{made.suite.name}: {count_of(len(made.suite.active), 'problem')}; {source}")
    tables = [_gate_table(made.power), *([_expense_table(made.expenses, options)] if made.expenses else [])]
    say(f"\n{render_tables(tables, width=_WIDTH)}")
    if total := _total(made.expenses):
        say(f"  {total}")
    for one in made.expenses:
        say(f"  {price_words(one.spec)}")
    for given, paths in laid.items():
        say(f"  {given} is given {count_of(len(paths), 'file')} of this repository: {', '.join(map(printable, paths))}")
    for words in made.endings:
        say(f"  {words}")
    if request.drop is not None:
        most = count_of(made.samples, "sample")
        say(f"  a drop of {request.drop * 100:.3g} pp is found in {made.found:.0%} of gates with up to {most}")
    if made.again:
        say(f"  a regression is confirmed by {count_of(made.again, 'fresh sample')} of the pinned model")
    if calls.limit:
        say(f"  {_calls_words(calls, options.max_model_calls)}")
    if pilot_words:
        say(f"  {pilot_words}")
    if shards is not None:
        say(f"  run {shards.run_id} in {count_of(len(shards.shards), 'shard')}: {', '.join(shards.shards)}")
    emit(
        {
            "schema": "codegate.plan/1",
            "suite": made.suite.name,
            "suite_digest": made.suite.digest,
            "problems": made.power.problems,
            "baseline": pinned.digest if pinned is not None else None,
            "power": {**asdict(made.power), "sentences": made.power.sentences()},
            "found": made.found,
            "confirmation_samples": made.again,
            "endings": made.endings,
            "harness": laid,
            "expenses": _forecasts_json(made.expenses, options),
            "model_calls": {"baseline": calls.baseline, "gate": calls.gate, "limit": calls.limit},
            "shards": shards.document() if shards is not None else None,
            "pilot": pilot_document,
        }
    )
    lost = tried is not None and any(outcome.grade is None for outcome in tried[0].outcomes)
    return ExitCode.INFRASTRUCTURE if lost else ExitCode.PASS


def _pilot(run: Run, journal: Journal) -> tuple[str, dict[str, Any]]:
    priced = all(one.prices is not None for one in run.manifest.candidates if one.calls_a_model)
    usd = float(journal.calls.spending().usd) if priced else None
    command = shlex.join((*command_again(), "--resume", str(journal.folder)))
    paid = "a price that is not known" if usd is None else f"${usd:.4f}"
    count = len(run.outcomes)
    text = f"the pilot made {count_of(count, 'sample')} for {paid}; this continues its run:\n{command}"
    return text, {"run": str(journal.folder), "samples": count, "usd": usd, "continue": command}


def _calls_words(calls: CallNeeds, limit: int | None) -> str:
    text = (
        f"model calls at most: {calls.baseline} for a baseline of {BASELINE_SAMPLES} samples, {calls.gate} for a gate "
        f"with its confirmation; the limit is each run's, so `max_model_calls: {calls.limit}` is enough for either, "
        "retries included"
    )
    if limit is None or limit >= max(calls.baseline, calls.gate):
        return f"{text}."
    return f"{text}. The limit is {limit}: a run that needs more stops there, resumable."


def _gate_table(statement: PowerStatement) -> Table:
    cases = {
        "equal on these problems": statement.equal,
        f"worse by {statement.margin * 100:g} pp": statement.worse,
    }
    rows = [
        (name, *(f"{share:.0%}" for share in (case.passed, case.regressed, case.inconclusive)), f"{case.samples:.1f}")
        for name, case in cases.items()
    ]
    header = ("Candidate", "pass", "regressed", "inconclusive", "samples a problem")
    notes = "; ".join(filter(None, (statement.too_few_words(), statement.detectable_words())))
    return Table("gate", "Gate outcomes", header, tuple(rows), notes)


def _expense_table(every: Sequence[CandidateForecast], options: RunOptions) -> Table:
    header = ("", *(one.spec.label for one in every))
    columns = [_cells(one, options) for one in every]
    rows = tuple((name, *(column[name] for column in columns)) for name in columns[0])
    notes = [f"token counts assume {BYTES_PER_TOKEN} bytes a token; retries are not included"]
    if any(one.expense.samples == 0 for one in every):
        notes.append("nothing is measured: runs/ has no folder of a pinned run with the same solver (--like names one)")
    if any(one.dollars.expected.low is not None for one in every):
        notes.append("in brackets: 95 % interval of the mean over problems")
    if any(one.dollars.expected.value is not None and not one.dollars.measured for one in every):
        notes.append(f"{ASSUMED_OUTPUT:,} output tokens an answer are assumed")
    bounded = {one.spec.solver for one in every if one.dollars.worst is not None}
    if long := [name for solver, name in _LONG.items() if solver in bounded]:
        whole = "what calls that fill the model's whole context do: far more than usual"
        notes.append(f"{' or '.join(long)} costs at most {whole}")
    if "single_shot" in bounded:
        notes.append("at most: each answer takes all the output tokens that it may, far more than usual")
    if any(_over_budget(one, options.budget_usd) for one in every):
        notes.append(f"`budget_usd` stops each run at ${options.budget_usd}")
    return Table("expenses", "What it takes", header, rows, f"{'; '.join(notes)}.")


def _total(every: Sequence[CandidateForecast]) -> str:
    """Say what a gate of several candidates costs together.

    "" for a single candidate, or if a cost is unknown.
    """
    gates = [values for one in every if (values := _values(one.gate()[0])) is not None]
    if len(every) < 2 or len(gates) < len(every):
        return ""
    ends = [sum(values[0] for values in gates), sum(values[-1] for values in gates)]
    return f"a gate of all {len(every)} candidates: about {_range(ends, '.2f', '$')}"


def _cells(forecast: CandidateForecast, options: RunOptions) -> dict[str, str]:
    prompts, expense, samples = forecast.prompts, forecast.expense, forecast.samples
    tokens = None
    if expense.input_tokens.value is not None and expense.output_tokens.value is not None:
        each = (expense.input_tokens.value + expense.output_tokens.value) / 1e6
        tokens = [samples.fewest * each, samples.most * each]
    whose = "of this candidate" if expense.own else "of others"
    (gate, gate_most), (baseline, baseline_most) = forecast.gate(), forecast.baseline()
    return {
        "tokens of a first prompt: median, most": _UNKNOWN
        if prompts is None
        else f"{prompts.median_tokens:,}, {prompts.most_tokens:,}",
        "a gate: samples": _range([samples.fewest, samples.most], ",.0f"),
        "a gate: million tokens": _range(tokens, ".2f"),
        "a sample: about": _estimates([forecast.dollars.expected], ".4f", "$"),
        "a gate: minutes": _estimates(_minutes(forecast, options), ".0f"),
        "a gate: about": _estimates(gate, ".2f", "$"),
        "a gate: at most, with its confirmation": _range(gate_most, ".2f", "$"),
        f"a baseline of {BASELINE_SAMPLES} samples: about": _estimates([baseline], ".2f", "$"),
        f"a baseline of {BASELINE_SAMPLES} samples: at most": _range(baseline_most, ".2f", "$"),
        "measured on": _UNKNOWN
        if not expense.samples
        else f"{count_of(expense.samples, 'sample')} of {count_of(expense.problems, 'problem')}, {whose}",
    }


def _range(values: Sequence[float] | float | None, form: str, unit: str = "") -> str:
    if values is None:
        return _UNKNOWN
    each = [values] if isinstance(values, float) else values
    return " to ".join(dict.fromkeys(f"{unit}{value:{form}}" for value in each))


def _estimates(values: Sequence[Estimate], form: str, unit: str = "") -> str:
    words, ends = _range(_values(values), form, unit), _interval(values)
    return words if ends is None else f"{words} [{'–'.join(f'{end:{form}}' for end in ends)}]"


def _values(estimates: Sequence[Estimate]) -> list[float] | None:
    return [one.value for one in estimates if one.value is not None] or None


def _over_budget(forecast: CandidateForecast, budget: Decimal | None) -> bool:
    worst = (forecast.gate()[1], forecast.baseline()[1])
    return budget is not None and forecast.spec.prices is not None and any(one is None or one > budget for one in worst)


def _forecasts_json(every: Sequence[CandidateForecast], options: RunOptions) -> dict[str, Any]:
    """Return the forecasts as JSON, by label.

    If several candidates have the same label, the candidate's key follows the label.
    """
    labels = [one.spec.label for one in every]
    return {
        label if labels.count(label) == 1 else f"{label} ({one.spec.key()[:8]})": _json(one, options)
        for label, one in zip(labels, every, strict=True)
    }


def _json(forecast: CandidateForecast, options: RunOptions) -> dict[str, Any]:
    gate, baseline, prompts, prices = forecast.gate(), forecast.baseline(), forecast.prompts, forecast.spec.prices
    minutes = _minutes(forecast, options)
    return {
        "prices": None if prices is None else prices.model_dump(mode="json"),
        "prompt_tokens": None if prompts is None else {"median": prompts.median_tokens, "most": prompts.most_tokens},
        "samples_known": forecast.expense.samples,
        "samples": [forecast.samples.fewest, forecast.samples.most],
        "problems_known": forecast.expense.problems,
        "own": forecast.expense.own,
        "input_tokens": forecast.expense.input_tokens.value,
        "output_tokens": forecast.expense.output_tokens.value,
        "measured": forecast.dollars.measured,
        "gate_usd": {"expected": _values(gate[0]), "interval": _interval(gate[0]), "worst": gate[1]},
        "baseline_usd": {"expected": baseline[0].value, "interval": _interval([baseline[0]]), "worst": baseline[1]},
        "minutes": _values(minutes),
        "minutes_interval": _interval(minutes),
    }


def _interval(values: Sequence[Estimate]) -> list[float] | None:
    low, high = values[0].low, values[-1].high
    return None if low is None or high is None else [low, high]


def _minutes(forecast: CandidateForecast, options: RunOptions) -> list[Estimate]:
    return [
        forecast.expense.minutes(n, options.models, options.jobs)
        for n in (forecast.samples.fewest, forecast.samples.most)
    ]
