"""The scan: which units there are, and which of them are worth trying, best first. Nothing is executed."""

from pathlib import Path

from codegate.mining.build import Prospect
from codegate.mining.cut import duplicates, reject_by_paths
from codegate.mining.history import read_units
from codegate.mining.options import MineOptions
from codegate.mining.report import UnitResult, unit_result
from codegate.mining.units import Rejected, reject_by_text, score_unit
from codegate.suite import PathClassifier, read_commit


def scan(
    repository: Path, tip: str, options: MineOptions, scanned: str | None = None
) -> tuple[list[Prospect], list[UnitResult]]:
    """Return the units to try, best first, and the results of those that words or paths rule out.

    Args:
        repository: a local clone.
        tip: the commit whose first-parent history is read.
        options: what to mine.
        scanned: the commit that an earlier scan began at: it and what is older is left alone.

    Raises:
        UsageError: git cannot read the history.
    """
    units = read_units(repository, tip, options.since)
    seen = next((number for number, unit in enumerate(units) if unit.commit == scanned), None)
    units = units[:seen]
    head = PathClassifier.of(read_commit(repository, tip))
    prospects: list[Prospect] = []
    results: list[UnitResult] = []
    for unit in units:
        bug = score_unit(unit)
        reason = reject_by_text(unit, bug) or reject_by_paths(unit, head)
        if reason is None:
            prospects.append(Prospect(unit, bug))
        else:
            results.append(unit_result(unit, bug, Rejected(reason)))
    again = duplicates([prospect.unit for prospect in prospects], head)
    results += [
        unit_result(entry.unit, entry.bug, Rejected("duplicate")) for entry in prospects if entry.unit.commit in again
    ]
    queue = [entry for entry in prospects if entry.unit.commit not in again]
    queue.sort(key=lambda entry: (-entry.bug.score, -entry.unit.date.timestamp(), entry.unit.commit))
    return queue, results
