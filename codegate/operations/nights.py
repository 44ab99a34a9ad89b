"""The history of runs, and the watch over the pinned model."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from codegate.candidates import CandidateSpec, cost
from codegate.gating import Baseline, trend
from codegate.gating.history import HistoryEntry, append_history, history_entry, read_history
from codegate.gating.trend import STALE_DAYS, Watch, history_alarms
from codegate.operations.baselines import samples_of
from codegate.running import Run


def append(
    history: Path, runs: Sequence[Run], name: str | None = None
) -> tuple[tuple[HistoryEntry, ...], tuple[HistoryEntry, ...]]:
    """Append a line for each candidate of finished runs, or the one called ``name``, to the file ``history``.

    Returns:
        The lines that were added, and those that were there already among them.

    Raises:
        UsageError: no candidate fits, or the history is broken.
    """
    entries = tuple(entry for run in runs for entry in _entries(run, name))
    return tuple(append_history(history, entries)), entries


def watch(history: Path, baseline: Baseline, *, stale_days: int = STALE_DAYS) -> Watch:
    """Compare the runs of the pinned model since the pinning with the baseline, night by night.

    An alarm is added where no run was made for ``stale_days``.

    Raises:
        UsageError: the history is broken.
    """
    entries = read_history(history)
    found = trend.watch(baseline, entries)
    stale = (alarm for alarm in history_alarms(entries, stale_days=stale_days) if alarm.kind == "stale")
    return replace(found, alarms=(*found.alarms, *stale))


def _entries(run: Run, name: str | None) -> list[HistoryEntry]:
    names = [name] if name is not None else [candidate.key() for candidate in run.manifest.candidates]
    parts = [samples_of(run, each) for each in names]
    return [history_entry(part, _dollars(run, part.spec)) for part in parts]


def _dollars(run: Run, spec: CandidateSpec) -> float | None:
    """Return what the model calls of a candidate cost; None where that of any of them is not known."""
    total = Decimal(0)
    for outcome in run.of(spec.key()):
        paid = cost(outcome.attempt.usage, spec.prices) if outcome.attempt else None
        if paid is None:
            return None
        total += paid
    return float(total)
