"""The nightly watch: does the pinned model still do on these problems what it did when it was pinned?

The nights' samples are compared with the stored ones by the exact stratified test of "no problem's rate fell". It is
the right test for one model on fixed problems: the gate's paired t would add the differences *between* problems to
the noise. Seven nights pooled at p < 0.002 page: thirty equal nights page in about 1 % of months, and a drop of ten
points is paged after three or four nights. Two nights in a row below 0.05 warn.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from codegate.gating.baseline import Baseline
from codegate.gating.comparability import condition_differences
from codegate.gating.drift import Change, change_between, counts_of, p_words
from codegate.gating.history import HistoryEntry
from codegate.gating.trend import Series, days_since, pooled_counts, series_of
from codegate.gating.verdict import Mismatch

WINDOW: Final = 7
"""Nights that are pooled."""
PAGE_LEVEL: Final = 0.002
"""One-sided p of the pooled nights below which the watch pages."""
WARN_LEVEL: Final = 0.05
"""One-sided p of a night below which it is a bad one; two in a row warn."""
STALE_DAYS: Final = 7
"""A history whose newest run is older than this is stale."""
_SHOWN: Final = 14  # nights that are judged: what was before has been judged in its time
_NAMED: Final = 3  # fields that a message names
_SHORT: Final = 30  # characters of a value

AlarmKind = Literal["drop", "two_nights", "snapshot", "conditions", "slope", "stale"]


@dataclass(frozen=True)
class Alarm:
    """Something to look at; ``page``: now, ``warn``: soon. ``text`` is one sentence for people."""

    kind: AlarmKind
    level: Literal["page", "warn"]
    text: str


@dataclass(frozen=True)
class Night:
    """The runs of one UTC day.

    Attributes:
        date: the day.
        runs: their ids.
        alone: the day's samples against the stored ones.
        window: those of the last seven nights, this one included, against the stored ones.
        nights: how many nights are in the window.
    """

    date: str
    runs: tuple[str, ...]
    alone: Change
    window: Change
    nights: int


@dataclass(frozen=True)
class Watch:
    """What the watch found: the last nights, what it left out and why, and its alarms, the gravest first."""

    nights: tuple[Night, ...]
    left_out: tuple[tuple[str, str], ...]
    alarms: tuple[Alarm, ...]

    @property
    def pages(self) -> bool:
        """Return whether somebody is to be paged."""
        return any(alarm.level == "page" for alarm in self.alarms)


def watch(baseline: Baseline, entries: Sequence[HistoryEntry]) -> Watch:
    """Compare the runs of the pinned candidate that were made since the pinning with the pinned samples.

    Args:
        baseline: what is pinned.
        entries: the history, the oldest first.
    """
    pinned = {run.id for run in baseline.runs}
    since = max(run.finished for run in baseline.runs)
    by_day: dict[str, list[HistoryEntry]] = defaultdict(list)
    left_out: list[tuple[str, str]] = []
    latest: HistoryEntry | None = None
    for entry in entries:
        if entry.candidate != baseline.samples.candidate or entry.run in pinned or entry.at <= since:
            continue
        latest = entry
        if differing := condition_differences(baseline.samples.fields, entry.conditions, entry.proved).mismatches:
            left_out.append((entry.run, f"made under other conditions: {_named(differing)}"))
        elif entry.model != baseline.samples.model:
            left_out.append((entry.run, f"{entry.model} answered"))
        elif not any(n for _, n in entry.counts.values()):
            left_out.append((entry.run, "infrastructure lost every sample"))
        else:
            by_day[entry.at[:10]].append(entry)
    days = sorted(by_day)
    stored = counts_of(baseline.samples)
    found = [
        night
        for last in range(max(len(days) - _SHOWN, 0), len(days))
        if (night := _night(stored, by_day, days[max(last - WINDOW + 1, 0) : last + 1])) is not None
    ]
    return Watch(tuple(found), tuple(left_out), _alarms(baseline, found, latest, dict(left_out)))


def _night(stored: dict[str, tuple[int, int]], by_day: dict[str, list[HistoryEntry]], days: list[str]) -> Night | None:
    today = by_day[days[-1]]
    alone = change_between(stored, pooled_counts(today))
    window = change_between(stored, pooled_counts([entry for day in days for entry in by_day[day]]))
    if alone is None or window is None:
        return None  # no problem in common
    return Night(days[-1], tuple(entry.run for entry in today), alone, window, len(days))


def _named(differing: Sequence[Mismatch]) -> str:
    named = [f"{one.field} {one.candidate[:_SHORT]}, pinned {one.baseline[:_SHORT]}" for one in differing[:_NAMED]]
    return "; ".join(named) + (f"; and {len(differing) - _NAMED} more" if len(differing) > _NAMED else "")


def _alarms(
    baseline: Baseline, nights: Sequence[Night], latest: HistoryEntry | None, left_out: dict[str, str]
) -> tuple[Alarm, ...]:
    alarms: list[Alarm] = []
    model = baseline.samples.model
    if latest is not None and latest.model != model:
        alarms.append(
            Alarm("snapshot", "page", f"{model} is pinned, and in run {latest.run} {latest.model} answered: the "
                  "provider serves another snapshot.")
        )  # fmt: skip
    if nights and nights[-1].window.p_drop < PAGE_LEVEL:
        last = nights[-1]
        days = "night" if last.nights == 1 else f"{last.nights} nights"
        alarms.append(
            Alarm("drop", "page", f"{model} has become worse in the last {days}: {_drop_words(last.window)}.")
        )
    bad = [night for night in nights[-2:] if night.alone.p_drop < WARN_LEVEL]
    if len(bad) == 2:
        alarms.append(
            Alarm("two_nights", "warn", f"{model} was worse two nights in a row: {_drop_words(bad[-1].alone)} the "
                  "second time.")
        )  # fmt: skip
    if latest is not None and latest.run in left_out and latest.model == model:
        alarms.append(Alarm("conditions", "warn", f"run {latest.run} says nothing: {left_out[latest.run]}."))
    return tuple(alarms)


def _drop_words(change: Change) -> str:
    text = (
        f"{change.before:.1%} pinned, {change.after:.1%} now on {change.n} problems ({change.difference * 100:+.1f} pp"
    )
    if change.interval is not None:
        low, high = (f"{end * 100:+.1f}" for end in change.interval)
        text += f", 95% interval {low}..{high}"
    return f"{text}, one-sided {p_words(change.p_drop)})"


def history_alarms(
    entries: Sequence[HistoryEntry], now: datetime | None = None, stale_days: int = STALE_DAYS
) -> tuple[Alarm, ...]:
    """Return what a history alone is alarming about: another snapshot than before, a falling line, a stale end.

    Args:
        entries: the history, the oldest first.
        now: the present; the clock's if None.
        stale_days: the newest run may be this old.
    """
    alarms = [alarm for series in series_of(entries) for alarm in _series_alarms(series)]
    age = days_since(entries, now)
    if age is not None and age > stale_days:
        alarms.append(Alarm("stale", "warn", f"the last run is {age} days old."))
    return tuple(alarms)


def _series_alarms(series: Series) -> list[Alarm]:
    alarms = []
    if len(series.entries) > 1:
        before, last = series.entries[-2:]
        if before.model != last.model:
            alarms.append(
                Alarm("snapshot", "warn", f"{series.label}: {before.model} answered until run {before.run}, "
                      f"{last.model} since run {last.run}.")
            )  # fmt: skip
    if series.slope is not None and series.slope.high < 0:
        alarms.append(Alarm("slope", "warn", f"{series.label} is getting worse: {series.slope.words()}."))
    return alarms
