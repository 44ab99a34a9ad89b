"""Run events at local times, in zones whose clocks change."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@dataclass(frozen=True)
class Schedule:
    """An event at the local time ``at`` in ``zone``, on ``weekdays`` (Monday is 0)."""

    at: time
    zone: str
    weekdays: frozenset[int] = frozenset(range(7))


def upcoming(schedule: Schedule, after: datetime, count: int) -> list[datetime]:
    """Return the next ``count`` runs after ``after``, in UTC."""
    return list(islice(_runs(schedule, after), count))


def agenda(schedules: Mapping[str, Schedule], after: datetime, count: int) -> list[tuple[datetime, str]]:
    """Return the next ``count`` runs of all schedules, with their names."""
    runs = {name: _runs(schedule, after) for name, schedule in schedules.items()}
    heap = [(next(run), name) for name, run in runs.items()]
    heapq.heapify(heap)
    found = []
    while heap and len(found) < count:
        run, name = heap[0]
        found.append((run, name))
        heapq.heapreplace(heap, (next(runs[name]), name))
    return found


def _runs(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    if after.tzinfo is None:
        raise ValueError("`after` has no time zone")
    if not schedule.weekdays or not schedule.weekdays <= set(range(7)):
        raise ValueError("weekdays are some of 0 to 6")
    try:
        zone = ZoneInfo(schedule.zone)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(f"there is no time zone {schedule.zone!r}") from error
    return _days(schedule, zone, after.astimezone(UTC))


def _days(schedule: Schedule, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    # A skipped time of the day before may be past midnight.
    day = after.astimezone(zone).date() - timedelta(days=1)
    while True:
        run = datetime.combine(day, schedule.at, tzinfo=zone).astimezone(UTC)
        if day.weekday() in schedule.weekdays and run > after:
            yield run
        day += timedelta(days=1)
