"""Run events at local times, in zones whose clocks change."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time


@dataclass(frozen=True)
class Schedule:
    """An event at the local time ``at`` in ``zone``, on ``weekdays`` (Monday is 0)."""

    at: time
    zone: str
    weekdays: frozenset[int] = frozenset(range(7))


def upcoming(schedule: Schedule, after: datetime, count: int) -> list[datetime]:
    """Return the next ``count`` runs after ``after``, in UTC."""
    raise NotImplementedError


def agenda(schedules: Mapping[str, Schedule], after: datetime, count: int) -> list[tuple[datetime, str]]:
    """Return the next ``count`` runs of all schedules, with their names."""
    raise NotImplementedError
