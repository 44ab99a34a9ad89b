"""Trends of a run history, and alarms of nightly runs.

The watch compares each night's samples of the pinned model with the stored ones, by the exact stratified test of "no
problem's rate fell". Seven pooled nights with p < 0.002 raise the alarm ``page``: an unchanged model raises it in about
1 % of months, and a drop of ten points after three or four nights. Two nights in a row with p < 0.05 raise ``warn``.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from codegate.gating.baseline import Baseline
from codegate.gating.comparability import condition_differences
from codegate.gating.drift import LEVEL, PassRateChange, change_between, counts_of, interval_words, pass_rate
from codegate.gating.estimates import Estimate
from codegate.gating.history import HistoryEntry
from codegate.gating.sentence import probability
from codegate.gating.statistics import mean, student_quantile, within_variance
from codegate.gating.verdict import Mismatch
from codegate.wording import count_of, join_first

DAYS: Final = 30
"""A slope is the change of the pass rate over this many days."""
_SECONDS: Final = 86_400.0
_LEAST: Final = 3  # fewest runs for a slope

WINDOW: Final = 7
"""Number of nights whose samples are pooled."""
PAGE_LEVEL: Final = 0.002
"""One-sided p of the pooled nights below which the watch pages."""
WARN_LEVEL: Final = 0.05
"""One-sided p below which a night is bad. Two bad nights in a row raise ``warn``."""
TOLERATED_LOSSES: Final = 0.10
"""Largest share of a run's samples that infrastructure faults may take. The loss of one sample is always tolerated."""
_CLOCKS: Final = timedelta(days=1)
"""How far the clocks of two machines may be apart."""
STALE_DAYS: Final = 7
"""A history whose newest run is older than this is stale."""
_SHOWN: Final = 14  # most nights that are compared with the baseline
_NAMED: Final = 3  # most fields that a message names
_SHORT: Final = 30  # most characters of a value in a message
_OF_MODEL: Final = ("provider", "model")  # settings that identify the pinned model

AlarmKind = Literal["drop", "two_nights", "snapshot", "conditions", "slope", "stale", "unwatched"]


@dataclass(frozen=True)
class Slope:
    """The pass rate's least-squares change per 30 days, with interval."""

    value: float
    low: float
    high: float
    n: int

    def words(self) -> str:
        """Return the slope as text, with its interval and n."""
        interval = interval_words((self.low, self.high))
        return f"{self.value * 100:+.1f} pp per {DAYS} days ({interval}, n={count_of(self.n, 'run')})"


@dataclass(frozen=True)
class Series:
    """One candidate's runs under the same conditions, oldest first."""

    candidate: str
    label: str
    conditions_digest: str
    entries: tuple[HistoryEntry, ...]
    slope: Slope | None

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models that answered, in order of first use."""
        return tuple(dict.fromkeys(entry.model for entry in self.entries))


@dataclass(frozen=True)
class MatrixCell:
    """One model's pooled pass rate on one suite version."""

    model: str
    suite: str
    suite_digest: str
    runs: int
    first: str
    last: str
    rate: Estimate


def series_of(entries: Sequence[HistoryEntry]) -> tuple[Series, ...]:
    """Group a history by candidate and conditions.

    Runs that are dated in the future do not count for the slope.
    """
    now = datetime.now(UTC)
    found: dict[tuple[str, str], list[HistoryEntry]] = defaultdict(list)
    for entry in entries:
        found[entry.candidate, entry.conditions_digest].append(entry)
    return tuple(
        Series(candidate, many[-1].label, conditions, tuple(many), slope_of(_past(many, now)))
        for (candidate, conditions), many in found.items()
    )


def matrix_of(entries: Sequence[HistoryEntry]) -> tuple[MatrixCell, ...]:
    """Return each model's pooled rate on each suite version."""
    found: dict[tuple[str, str], list[HistoryEntry]] = defaultdict(list)
    for entry in entries:
        found[entry.model, entry.suite_digest].append(entry)
    return tuple(
        MatrixCell(
            model=model,
            suite=many[-1].suite,
            suite_digest=suite,
            runs=len(many),
            first=min(entry.at for entry in many),
            last=max(entry.at for entry in many),
            rate=pass_rate(pooled_counts(many)),
        )
        for (model, suite), many in sorted(found.items())
    )


def pooled_counts(entries: Sequence[HistoryEntry]) -> dict[str, tuple[int, int]]:
    """Return each problem's passes and graded samples, summed over ``entries``."""
    pooled: dict[str, tuple[int, int]] = {}
    for entry in entries:
        for problem, (passed, n) in entry.counts.items():
            before = pooled.get(problem, (0, 0))
            pooled[problem] = (before[0] + passed, before[1] + n)
    return pooled


def slope_of(entries: Sequence[HistoryEntry]) -> Slope | None:
    """Return the least-squares slope of the pass rate over time.

    None below three runs, or if all have the same time. The residual variance is at least the sampling variance of a
    run's rate, because three runs may be in line by chance.
    """
    points = [
        (datetime.fromisoformat(entry.at).timestamp() / _SECONDS, entry.pass_rate)
        for entry in entries
        if entry.pass_rate is not None
    ]
    if len(points) < _LEAST:
        return None
    n = len(points)
    middle, level = mean([x for x, _ in points]), mean([y for _, y in points])
    spread = math.fsum((x - middle) ** 2 for x, _ in points)
    if spread <= 0.0:
        return None
    slope = math.fsum((x - middle) * (y - level) for x, y in points) / spread
    residual = math.fsum((y - level - slope * (x - middle)) ** 2 for x, y in points) / (n - 2)
    cells = [cell for cell in pooled_counts(entries).values() if cell[1]]
    samples = sum(k for entry in entries for _, k in entry.counts.values()) / len(entries)
    sampling = (within_variance(cells) or 0.0) / max(samples, 1.0)
    error = math.sqrt(max(residual, sampling) / spread)
    width = student_quantile(0.5 + LEVEL / 2, n - 2) * error
    return Slope(slope * DAYS, (slope - width) * DAYS, (slope + width) * DAYS, n)


def days_since(entries: Sequence[HistoryEntry], now: datetime | None = None) -> int | None:
    """Return how many whole days ago the newest run finished.

    Runs that are dated in the future do not count. None if there is no other run.
    """
    now = now or datetime.now(UTC)
    past = [datetime.fromisoformat(entry.at) for entry in _past(entries, now)]
    return max((now - max(past)).days, 0) if past else None


def _past(entries: Sequence[HistoryEntry], now: datetime) -> list[HistoryEntry]:
    return [entry for entry in entries if not _is_future(entry, now)]


def _is_future(entry: HistoryEntry, now: datetime) -> bool:
    return datetime.fromisoformat(entry.at) > now + _CLOCKS


@dataclass(frozen=True)
class Alarm:
    """An alarm for people; ``page`` is more urgent than ``warn``."""

    kind: AlarmKind
    level: Literal["page", "warn"]
    text: str


@dataclass(frozen=True)
class Night:
    """One UTC day's runs, compared with the stored samples.

    ``alone`` compares only this day's runs. ``window`` compares the runs of the last ``nights`` days (at most seven),
    including this day.
    """

    date: str
    runs: tuple[str, ...]
    alone: PassRateChange
    window: PassRateChange
    nights: int


@dataclass(frozen=True)
class WatchResult:
    """The result of the nightly comparison.

    ``left_out`` has the runs that were not compared, with reasons.
    """

    nights: tuple[Night, ...]
    left_out: tuple[tuple[str, str], ...]
    alarms: tuple[Alarm, ...]

    @property
    def pages(self) -> bool:
        """Return whether any alarm is urgent: level ``page``."""
        return any(alarm.level == "page" for alarm in self.alarms)

    @property
    def unwatched(self) -> bool:
        """Return whether no run could be compared with the baseline."""
        return any(alarm.kind == "unwatched" for alarm in self.alarms)


def watch(baseline: Baseline, entries: Sequence[HistoryEntry]) -> WatchResult:
    """Compare the pinned candidate's nightly runs with its baseline.

    Runs under other conditions, with another model or with too many lost samples are left out, with the reason. Runs of
    the pinned model with other settings, and runs that are dated in the future, are left out as well.
    """
    pinned = {run.id for run in baseline.runs}
    since = max(run.finished for run in baseline.runs)
    by_day: dict[str, list[HistoryEntry]] = defaultdict(list)
    left_out: list[tuple[str, str]] = []
    latest: HistoryEntry | None = None
    reason, now = "", datetime.now(UTC)
    for entry in entries:
        if entry.run in pinned or entry.at < since:
            continue
        differing = condition_differences(baseline.samples.fields, entry.conditions, entry.proved).mismatches
        if entry.candidate != baseline.samples.candidate:
            named = all(entry.conditions.get(name) == baseline.samples.settings.get(name) for name in _OF_MODEL)
            if named or entry.model == baseline.samples.model:  # such as a renamed deployment of it
                left_out.append((entry.run, f"made with other settings: {_named(differing) or entry.label}"))
            continue
        if _is_future(entry, now):  # it would stay the newest run, before all later nights
            left_out.append((entry.run, "dated in the future: check the clock of the machine that made it"))
            continue
        latest = entry
        reason = f"made under other conditions: {_named(differing)}" if differing else _lost_too_many(entry)
        if not reason and entry.model != baseline.samples.model:
            reason = f"{entry.model} answered"
        if reason:
            left_out.append((entry.run, reason))
        else:
            by_day[entry.at[:10]].append(entry)
    days = sorted(by_day)
    stored = counts_of(baseline.samples)
    found = [
        night
        for last in range(max(len(days) - _SHOWN, 0), len(days))
        if (night := _night(stored, by_day, days[max(last - WINDOW + 1, 0) : last + 1])) is not None
    ]
    result = WatchResult(tuple(found), tuple(left_out), _alarms(baseline, found, latest, reason))
    if (age := baseline.age()).state == "future":
        cause = f"of the baseline, {age.words()}"
    elif (left_out or by_day) and not found:
        cause = "no run since the pinning can be compared with the baseline"
    else:
        return result
    if result.pages:
        return result
    warning = Alarm("unwatched", "warn", f"{baseline.samples.model} is not watched: {cause}.")
    return replace(result, alarms=(*result.alarms, warning))


def _lost_too_many(entry: HistoryEntry) -> str:
    made = entry.samples * len(entry.counts)
    enough = entry.lost < made and entry.lost <= max(1, TOLERATED_LOSSES * made)
    return "" if enough else f"{entry.lost} of {made} samples were lost to infrastructure faults"


def _night(stored: dict[str, tuple[int, int]], by_day: dict[str, list[HistoryEntry]], days: list[str]) -> Night | None:
    today = by_day[days[-1]]
    alone = change_between(stored, pooled_counts(today))
    window = change_between(stored, pooled_counts([entry for day in days for entry in by_day[day]]))
    if alone is None or window is None:
        return None  # stored samples and runs have no common problem
    return Night(days[-1], tuple(entry.run for entry in today), alone, window, len(days))


def _named(differing: Sequence[Mismatch]) -> str:
    named = (f"{one.field} {one.candidate[:_SHORT]}, pinned {one.baseline[:_SHORT]}" for one in differing)
    return join_first(named, _NAMED, "; ")


def _alarms(
    baseline: Baseline, nights: Sequence[Night], latest: HistoryEntry | None, left_out: str
) -> tuple[Alarm, ...]:
    # `left_out` is why the latest run was not compared, or "".
    alarms: list[Alarm] = []
    model = baseline.samples.model
    # Without a graded sample no response may have named a model: the entry then has the configured name.
    another = latest is not None and latest.model != model and latest.pass_rate is not None
    if latest is not None and another:
        text = (
            f"{model} is pinned, but {latest.model} answered in run {latest.run}: the provider serves another snapshot."
        )
        alarms.append(Alarm("snapshot", "page", text))
    if nights and nights[-1].window.p_drop < PAGE_LEVEL:
        last = nights[-1]
        days = "night" if last.nights == 1 else f"{last.nights} nights"
        text = f"{model} has become worse in the last {days}: {_drop_words(last.window)}."
        alarms.append(Alarm("drop", "page", text))
    bad = [night for night in nights[-2:] if night.alone.p_drop < WARN_LEVEL]
    if len(bad) == 2:
        text = f"{model} was worse two nights in a row: {_drop_words(bad[-1].alone)} the second time."
        alarms.append(Alarm("two_nights", "warn", text))
    if latest is not None and left_out and not another:
        alarms.append(Alarm("conditions", "warn", f"run {latest.run} was not compared: {left_out}."))
    return tuple(alarms)


def _drop_words(change: PassRateChange) -> str:
    numbers = [f"{change.difference * 100:+.1f} pp", *([interval_words(change.interval)] if change.interval else [])]
    found = f"{change.before:.1%} pinned, {change.after:.1%} now on {count_of(change.n, 'problem')}"
    return f"{found} ({', '.join(numbers)}, one-sided {probability(change.p_drop)})"


def history_alarms(
    entries: Sequence[HistoryEntry], now: datetime | None = None, stale_days: int = STALE_DAYS
) -> tuple[Alarm, ...]:
    """Return the alarms that a history raises without a baseline.

    The causes are: another model answered, the pass rate falls, or the newest run is more than ``stale_days`` days old.
    Runs that are dated in the future do not count.
    """
    alarms = []
    now = now or datetime.now(UTC)
    for series in series_of(_past(entries, now)):
        answered = [entry for entry in series.entries if entry.pass_rate is not None][-2:]
        if answered and answered[0].model != answered[-1].model:
            before, last = answered
            change = f"{before.model} answered until run {before.run}, {last.model} since run {last.run}."
            alarms.append(Alarm("snapshot", "warn", f"{series.label}: {change}"))
        if series.slope is not None and series.slope.high < 0:
            alarms.append(Alarm("slope", "warn", f"{series.label} is getting worse: {series.slope.words()}."))
    age = days_since(entries, now)
    if age is not None and age > stale_days:
        alarms.append(Alarm("stale", "warn", f"the last run is {count_of(age, 'day')} old."))
    return tuple(alarms)
