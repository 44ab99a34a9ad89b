"""What ``codegate plan`` says that a candidate takes, in words and as a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from codegate.candidates import CandidateSpec
from codegate.cli.output import note
from codegate.errors import UsageError
from codegate.gating.estimates import Estimate
from codegate.gating.power import PowerStatement
from codegate.reporting.cells import Table
from codegate.running import Config, Run
from codegate.running.expenses import (
    ASSUMED_OUTPUT,
    BYTES_PER_TOKEN,
    Prompts,
    SampleDollars,
    SampleExpense,
    prompt_sizes,
    sample_dollars,
    sample_expense,
)
from codegate.running.plan import BASELINE_SAMPLES
from codegate.suite import Suite
from codegate.wording import count_of

_UNKNOWN: Final = "–"


@dataclass(frozen=True)
class Samples:
    """How many samples a candidate gets: in a gate at least and at most, to confirm a regression, and of a baseline."""

    fewest: int
    most: int
    again: int
    baseline: int


@dataclass(frozen=True)
class CandidateForecast:
    """What a candidate takes."""

    spec: CandidateSpec
    samples: Samples
    expense: SampleExpense
    prompts: Prompts | None
    dollars: SampleDollars

    def gate(self) -> tuple[list[Estimate], float | None]:
        """Return the dollars of a gate: expected from and to, and at most, with its confirmation at the same prices."""
        expected, worst, samples = self.dollars.expected, self.dollars.worst, self.samples
        most = None if worst is None else float(worst * (samples.most + samples.again))
        return [expected.times(samples.fewest), expected.times(samples.most)], most

    def baseline(self) -> tuple[Estimate, float | None]:
        """Return the dollars of a baseline: expected, and at most."""
        expected, worst, samples = self.dollars.expected, self.dollars.worst, self.samples.baseline
        return expected.times(samples), None if worst is None else float(worst * samples)


def forecasts(
    suite: Suite, settings: Config, runs: Sequence[Run], samples: tuple[int, int, int], repository: Path | None
) -> tuple[CandidateForecast, ...]:
    """Return what each candidate that calls a model takes; notes why prompts cannot be measured.

    ``samples`` are the fewest and the most of a gate, and those that confirm a regression.
    """
    found = []
    each = Samples(*samples, baseline=BASELINE_SAMPLES * len(suite.active))
    for spec in settings.candidates:
        if not spec.calls_a_model:
            continue
        try:
            prompts = prompt_sizes(suite, spec, repository)
        except UsageError as error:
            prompts = None
            note(f"the prompts of {spec.label} cannot be measured: {error}")
        expense = sample_expense(runs, spec)
        dollars = sample_dollars(spec, expense, prompts, settings.concurrency.models)
        found.append(CandidateForecast(spec, each, expense, prompts, dollars))
    return tuple(found)


def gate_table(statement: PowerStatement) -> Table:
    """Return how often gates end how, by what the candidate is like."""
    cases = {
        "equal on these problems": statement.equal,
        f"worse by {statement.margin * 100:g} pp": statement.worse,
    }
    rows = [
        (name, *(f"{share:.0%}" for share in (case.passed, case.regressed, case.inconclusive)), f"{case.samples:.1f}")
        for name, case in cases.items()
    ]
    header = ("Candidate", "pass", "regressed", "inconclusive", "samples a problem")
    return Table("gate", "Gate outcomes", header, tuple(rows), statement.found_words())


def expense_table(every: Sequence[CandidateForecast], settings: Config) -> Table:
    """Return what a gate and a baseline take, a column for each candidate."""
    header = ("", *(one.spec.label for one in every))
    columns = [_cells(one, settings) for one in every]
    rows = tuple((name, *(column[name] for column in columns)) for name in columns[0])
    notes = [f"token counts assume {BYTES_PER_TOKEN} bytes a token; retries are not included"]
    if any(one.expense.samples == 0 for one in every):
        notes.append("nothing is measured before a first run with the same solver (--like names one)")
    if any(one.dollars.expected.low is not None for one in every):
        notes.append("in brackets: 95 % interval of the mean over problems")
    if any(one.dollars.expected.value is not None and not one.dollars.measured for one in every):
        notes.append(f"{ASSUMED_OUTPUT:,} output tokens an answer are assumed")
    if any(one.spec.solver == "tool_loop" and one.dollars.worst is not None for one in every):
        notes.append("a tool loop costs at most what calls that fill the model's whole context do: far more than usual")
    if any(_over_budget(one, settings.budget_usd) for one in every):
        notes.append(f"`budget_usd` stops each run at ${settings.budget_usd}")
    return Table("expenses", "What it takes", header, rows, f"{'; '.join(notes)}.")


def _cells(forecast: CandidateForecast, settings: Config) -> dict[str, str]:
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
        "a gate: minutes": _estimates(_minutes(forecast, settings), ".0f"),
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
    """Return the values, and in brackets from the lowest to the highest end of their intervals."""
    words, ends = _range(_values(values), form, unit), _interval(values)
    return words if ends is None else f"{words} [{'–'.join(f'{end:{form}}' for end in ends)}]"


def _values(estimates: Sequence[Estimate]) -> list[float] | None:
    return [one.value for one in estimates if one.value is not None] or None


def _over_budget(forecast: CandidateForecast, budget: Decimal | None) -> bool:
    worst = (forecast.gate()[1], forecast.baseline()[1])
    return budget is not None and forecast.spec.prices is not None and any(one is None or one > budget for one in worst)


def forecasts_json(every: Sequence[CandidateForecast], settings: Config) -> dict[str, Any]:
    """Return the forecasts as a document by label, with the key where several candidates have the same."""
    labels = [one.spec.label for one in every]
    return {
        label if labels.count(label) == 1 else f"{label} ({one.spec.key()[:8]})": _json(one, settings)
        for label, one in zip(labels, every, strict=True)
    }


def _json(forecast: CandidateForecast, settings: Config) -> dict[str, Any]:
    """Return the forecast as a document; None is unknown."""
    gate, baseline, prompts, prices = forecast.gate(), forecast.baseline(), forecast.prompts, forecast.spec.prices
    minutes = _minutes(forecast, settings)
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


def _minutes(forecast: CandidateForecast, settings: Config) -> list[Estimate]:
    models, sandboxes = settings.concurrency.models, settings.concurrency.sandboxes
    return [forecast.expense.minutes(n, models, sandboxes) for n in (forecast.samples.fewest, forecast.samples.most)]
