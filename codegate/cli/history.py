"""``codegate history``: record runs, show the trend, watch a model."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import click
from pydantic import Field

from codegate.cli.options import RunFolders, as_command
from codegate.cli.output import emit, say
from codegate.durable import write_atomic
from codegate.errors import ExitCode
from codegate.gating import load_pinned, trend
from codegate.gating.drift import pass_rate
from codegate.gating.history import HistoryEntry, read_history
from codegate.gating.people import people_path, read_people, record_people
from codegate.gating.trend import (
    STALE_DAYS,
    Alarm,
    MatrixCell,
    Series,
    WatchResult,
    days_since,
    history_alarms,
    matrix_of,
    series_of,
)
from codegate.operations.baselines import append_runs, watch
from codegate.reporting import render_dashboard
from codegate.running import load_run
from codegate.strict import File
from codegate.wording import count_of

_SHOWN: Final = 10  # most runs of a series in the output for people
_PREFIX: Final = 8  # first digits of a digest that are shown


_History = Annotated[File, "--history", "The history's file."]
_HISTORY: Final = Path("history.jsonl")
_StaleDays = Annotated[int, Field(ge=1), ""]


@click.group()
def command() -> None:
    """Record finished runs, show the trend, watch the pinned model."""


@as_command(command, "append")
def append_command(
    runs: RunFolders,
    name: Annotated[str | None, "--candidate", "Only this candidate."] = None,
    path: _History = _HISTORY,
) -> None:
    """Append finished runs to the history.

    RUN: folders of finished runs. Each candidate of a run gets one line. Runs in the history are not added again.
    """
    added, entries = append_runs(path, [load_run(folder) for folder in runs], name)
    for entry in added:
        say(f"{entry.run}  {entry.label} ({entry.model}): {pass_rate(entry.counts).words()} problems")
    others = ", the others were there" if len(added) < len(entries) else ""
    say(f"{len(added)} of {len(entries)} appended to {path}{others}")
    emit({"schema": "codegate.history-append/1", "appended": [_point(entry) for entry in added]})


@as_command(command, "show")
def show_command(
    path: _History = _HISTORY,
    baseline: Annotated[File | None, "A lock: also compare with the baseline that it pins."] = None,
    stale_days: _StaleDays = STALE_DAYS,
    html: Annotated[File | None, "Also write a dashboard: one page that needs nothing else."] = None,
) -> None:
    """Show every candidate's trend, results by suite, and alarms.

    With --json: the data of the dashboard's charts.
    """
    entries = read_history(path)
    found = trend.watch(load_pinned(baseline), entries) if baseline is not None else None
    alarms = (found.alarms if found else ()) + history_alarms(entries, stale_days=stale_days)
    series, age, people = series_of(entries), days_since(entries), read_people(path)
    lines = [line for one in series for line in _series_words(one)]
    lines += ["models and suites:", *(f"  {_cell_words(cell)}" for cell in matrix_of(entries))]
    if people is not None:
        lines.append(f"{people.words()}: {people.rate_on(people.counts).words()} problems")
    lines.append("no run yet" if age is None else f"the last run is {count_of(age, 'day')} old")
    say(*lines, *_alarm_words(alarms))
    if html is not None:
        write_atomic(html, render_dashboard(entries, alarms, people).encode("utf-8"))
        say(f"dashboard: {html}")
    emit(
        {
            "schema": "codegate.history-view/1",
            "runs": len({entry.run for entry in entries}),
            "age_days": age,
            "series": [_series(one) for one in series],
            "people": None if people is None else {"people": people.people, **asdict(people.rate_on(people.counts))},
            "matrix": [asdict(cell) for cell in matrix_of(entries)],
            "watch": None if found is None else _watch(found),
            "alarms": [asdict(alarm) for alarm in alarms],
        }
    )


@as_command(command, "human")
def human_command(
    source: Annotated[File, "--from", "CSV: problem,person,solved (yes or no)."], path: _History = _HISTORY
) -> None:
    """Record which of the history's problems people solved.

    The dashboard shows their pass rate in its own column; no gate reads it. Names are not kept. An earlier record is
    replaced.
    """
    problems = {name for entry in read_history(path) for name in entry.counts}
    people = record_people(path, source, problems)
    rate = people.rate_on(people.counts)
    say(f"{people_path(path)}: {rate.words()} problems, by {people.words()}")
    emit({"schema": "codegate.history-human/1", "people": people.people, **asdict(rate)})


@as_command(command, "watch")
def watch_command(
    path: _History = _HISTORY,
    baseline: Annotated[File, "The baseline's lock."] = Path("codegate.lock"),
    stale_days: _StaleDays = STALE_DAYS,
) -> ExitCode:
    """Compare the pinned model's nightly runs with the baseline.

    These are its runs since the pinning. Exits 1 for an alarm of level PAGE: the last seven nights together are worse
    (exact test, one-sided p < 0.002), or another snapshot answered. Two bad nights in a row (p < 0.05 each) are only a
    warning. Exits 3 if there are runs since the pinning, but none can be compared.
    """
    pinned = load_pinned(baseline)
    found = watch(path, pinned, stale_days=stale_days)
    for night in found.nights:
        say(f"{night.date}  {night.alone.words()}")
    if found.nights:
        last = found.nights[-1]
        say(f"last {last.nights} together: {last.window.words()}")
    else:
        say("no night to compare: nothing was run since the pinning under its conditions")
    for run, reason in found.left_out:
        say(f"left out: {run}: {reason}")
    say(*_alarm_words(found.alarms))
    emit(
        {
            "schema": "codegate.watch/1",
            "baseline": pinned.digest,
            "model": pinned.samples.model,
            "page": found.pages,
            **_watch(found),
            "alarms": [asdict(alarm) for alarm in found.alarms],
        }
    )
    if found.pages:
        return ExitCode.REGRESSED
    return ExitCode.INCONCLUSIVE if found.unwatched else ExitCode.PASS


def _alarm_words(alarms: tuple[Alarm, ...]) -> list[str]:
    return [f"{alarm.level.upper()}: {alarm.text}" for alarm in alarms] or ["no alarm"]


def _series_words(series: Series) -> list[str]:
    trend = series.slope.words() if series.slope else f"no trend yet (n={count_of(len(series.entries), 'run')})"
    lines = [f"{series.label}, conditions {series.conditions_digest[:_PREFIX]}: {trend}"]
    if len(series.entries) > _SHOWN:
        lines.append(f"  {count_of(len(series.entries) - _SHOWN, 'earlier run')}")
    for entry in series.entries[-_SHOWN:]:
        dollars = "" if entry.cost is None else f", ${entry.cost:,.2f}"
        rate = pass_rate(entry.counts).words()
        lines.append(f"  {entry.at[:10]}  {entry.run}  {rate} problems x {entry.samples}, {entry.model}{dollars}")
    return lines


def _cell_words(cell: MatrixCell) -> str:
    runs = f"{count_of(cell.runs, 'run')}, {cell.first[:10]} to {cell.last[:10]}"
    return f"{cell.model} on {cell.suite} {cell.suite_digest[:_PREFIX]}: {cell.rate.words()} problems ({runs})"


def _point(entry: HistoryEntry) -> dict[str, Any]:
    rate = pass_rate(entry.counts)
    return {
        "run": entry.run,
        "at": entry.at,
        "model": entry.model,
        "pass_rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "problems": rate.n,
        "samples": entry.samples,
        "lost": entry.lost,
        "cost": entry.cost,
    }


def _series(series: Series) -> dict[str, Any]:
    return {
        "candidate": series.candidate,
        "label": series.label,
        "conditions": dict(series.entries[-1].conditions),
        "conditions_digest": series.conditions_digest,
        "models": list(series.models),
        "slope_per_30_days": None if series.slope is None else asdict(series.slope),
        "points": [_point(entry) for entry in series.entries],
    }


def _watch(found: WatchResult) -> dict[str, Any]:
    return {
        "nights": [asdict(night) for night in found.nights],
        "left_out": [{"run": run, "reason": reason} for run, reason in found.left_out],
    }
