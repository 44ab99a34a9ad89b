"""``codegate plan``: what a gate on a suite can find and what it costs, before any model call."""

import contextlib
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import click

from codegate.candidates import endings, price_words
from codegate.cli.options import FOLDER, json_option, request_options
from codegate.cli.output import emit, note, say
from codegate.cli.plan_words import expense_table, forecasts, forecasts_json, gate_table
from codegate.cli.progress import run_progress
from codegate.cli.run import command_again
from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline
from codegate.gating.power import baseline_model, forecast, power_statement
from codegate.operations import PlanRequest, asked_run, check_policy, project_here
from codegate.reporting import render_tables
from codegate.running import Journal, Run, load_run, run_suite
from codegate.running.plan import BASELINE_SAMPLES, CallNeeds, call_needs, suite_model
from codegate.running.session import plan_shards
from codegate.strict import shown
from codegate.suite import load_suite
from codegate.wording import count_of

USUAL_RATE: Final = 0.6
"""Pass rate of the pinned model that is assumed where there is no baseline."""
_WIDTH: Final = 80
_PILOT: Final = 3


@click.command()
@click.argument("suite", type=FOLDER, required=False)
@click.option(
    "--pilot",
    type=click.IntRange(1, 100),
    is_flag=False,
    flag_value=_PILOT,
    metavar="[N]",
    help=f"Run one sample of N problems (default {_PILOT}) of the run planned here; measure the rest on them.",
)
@request_options(PlanRequest)
@json_option
def command(suite: Path | None, pilot: int | None, request: PlanRequest) -> ExitCode:
    """Show which drop a gate on SUITE finds in 4 of 5 cases, how often it ends without an answer, and what it costs.

    The gate is simulated: with a pinned baseline on rates that it suggests, without one on a suite of usual
    difficulty. Without --pilot no model is called: what it costs is from the prompts themselves, prices, limits and
    earlier runs. Where a key is set, the provider's list of models says which model ends, and when.

    With --pilot each candidate is run on a few problems first, within the limits of codegate.yml. What that costs and
    takes is the measure of the rest, with 95 % intervals. The command that is printed continues the run: the answers of
    the pilot are its first.

    With --shards it also gives what the jobs of a matrix need (`.shards.matrix`, `.shards.run_id` with --json): run
    each part with the same options by `codegate run --shard K/N --run-id ID`. Shards make a fixed number of samples:
    three, or --samples.
    """
    if pilot is not None and (request.shards is not None or request.predictions is not None):
        raise UsageError("--pilot runs a part of one run with models.", "Leave out --shards and --predictions.")
    project = project_here(request, suite, alone=request.shards is None)
    loaded = load_suite(project.suite)
    check_policy(project.settings.gate, loaded)
    spec = asked_run(request, project)
    settings = project.settings.model_copy(update={"candidates": spec.candidates})
    pinned, samples = project.baseline, spec.samples
    model = baseline_model(pinned.samples) if pinned is not None else suite_model(loaded, USUAL_RATE)
    shared = None
    if request.shards is not None:
        shared = plan_shards(spec, request.shards)
        samples = shared.samples
    tried, made = None, None
    if pilot is not None:
        wanted = replace(spec, pilot=pilot, command=command_again())
        with run_progress() as progress:
            tried, journal = run_suite(wanted, progress, note)
        priced = all(one.prices is not None for one in tried.manifest.candidates if one.calls_a_model)
        made = {
            "run": str(journal.folder),
            "samples": len(tried.outcomes),
            "usd": float(journal.calls.spending().usd) if priced else None,
            "continue": shlex.join((*command_again(), "--resume", str(journal.folder))),
        }
    looks = (samples,) if samples else settings.gate.looks
    together = max(len(settings.candidates), 1)
    if pinned is not None and pinned.suite_digest != loaded.digest:
        note("the suite is not as it was when the baseline was made: problems that have changed since are not compared")
    statement = power_statement(model, settings.gate, looks=looks, candidates=together)
    runs = [
        *([tried] if tried is not None else []),
        *([load_run(path) for path in request.like] or _pooled_runs(pinned)),
    ]

    assumed = f"no baseline: a pass rate of {USUAL_RATE:.0%} assumed"
    source = f"baseline {pinned.samples.label}" if pinned is not None else assumed
    say(f"{loaded.name}: {count_of(len(loaded.active), 'problem')}; {source}")
    again = settings.gate.confirm_samples * model.problems
    expenses = forecasts(loaded, settings, runs, (*statement.expected_samples, again), spec.options.repository)
    tables = [gate_table(statement), *([expense_table(expenses, settings)] if expenses else [])]
    say(f"\n{render_tables(tables, width=_WIDTH)}")
    for one in expenses:
        say(f"  {price_words(one.spec)}")
    own = settings.candidates
    laid = {one.label: [file.path for file in one.harness.laid or ()] for one in own if one.harness is not None}
    for given, paths in laid.items():
        say(f"  {given} is given {count_of(len(paths), 'file')} of this repository: {', '.join(map(shown, paths))}")
    trusted = [pinned.spec] if pinned is not None and pinned.spec.is_trusted_by(own) else []
    ends = [one.words for one in endings([*own, *trusted])]
    for words in ends:
        say(f"  {words}")
    found = None
    if request.drop is not None:
        found = forecast(model, settings.gate, looks=looks, candidates=together, drop=request.drop).regressed
        most = count_of(looks[-1], "sample")
        say(f"  a drop of {request.drop * 100:.3g} pp is found in {found:.0%} of gates with up to {most}")
    if again:
        say(f"  a regression is confirmed by {again} fresh samples of the pinned model")
    calls = call_needs(len(loaded.active), settings.candidates, settings.gate, samples)
    if calls.limit:
        say(f"  {_calls_words(calls, settings.max_model_calls)}")
    if made is not None:
        count = count_of(len(tried.outcomes), "sample") if tried is not None else ""
        usd = made["usd"]
        paid = "a price that is not known" if usd is None else f"${usd:.4f}"
        say(f"  the pilot made {count} for {paid}; this continues its run:\n{made['continue']}")
    if shared is not None:
        say(f"  run {shared.run_id} in {count_of(len(shared.shards), 'shard')}: {', '.join(shared.shards)}")
    emit(
        {
            "schema": "codegate.plan/1",
            "suite": loaded.name,
            "suite_digest": loaded.digest,
            "problems": model.problems,
            "baseline": pinned.digest if pinned is not None else None,
            "power": {**asdict(statement), "sentences": statement.sentences()},
            "found": found,
            "confirmation_samples": again,
            "endings": ends,
            "harness": laid,
            "expenses": forecasts_json(expenses, settings),
            "model_calls": {"baseline": calls.baseline, "gate": calls.gate, "limit": calls.limit},
            "shards": shared.document() if shared is not None else None,
            "pilot": made,
        }
    )
    lost = tried is not None and any(outcome.grade is None for outcome in tried.outcomes)
    return ExitCode.INFRASTRUCTURE if lost else ExitCode.PASS


def _pooled_runs(pinned: Baseline | None) -> list[Run]:
    """Return those runs of the baseline that are still in the folder ``runs``, whatever they are called there."""
    if pinned is None:
        return []
    wanted = [run.id for run in pinned.runs]
    there: dict[str, Run] = {}
    for path in sorted(Path("runs").glob("*/run.json")):
        with contextlib.suppress(UsageError):  # a folder that somebody else keeps there
            journal = Journal.open(path.parent)
            if journal.manifest.id in wanted:
                there[journal.manifest.id] = journal.load()
    for name in wanted:
        if name not in there:
            note(f"no folder in runs/ holds run {name}: what a sample took in it is not counted; name it with --like")
    return list(there.values())


def _calls_words(calls: CallNeeds, limit: int | None) -> str:
    text = (
        f"model calls at most: {calls.baseline} for a baseline of {BASELINE_SAMPLES} samples, {calls.gate} for a gate "
        f"with its confirmation; `max_model_calls: {calls.limit}` leaves room for both and for retries"
    )
    if limit is None or limit >= max(calls.baseline, calls.gate):
        return f"{text}."
    return f"{text}. The limit is {limit}: a run that needs more stops there, resumable."
