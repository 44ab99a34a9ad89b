"""List the changes worth trying, best first; execute nothing."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.languages import PathClassifier
from codegate.mining.assemble import component
from codegate.mining.cut import duplicates, reject_by_paths, source_changes
from codegate.mining.kinds import score_change
from codegate.mining.options import DEFAULT_KINDS, MineRequest
from codegate.mining.report import ChangeResult, change_result
from codegate.mining.sources.changes import PathChange
from codegate.mining.sources.enrichment import GitHubEnrichment, open_forge
from codegate.mining.sources.history import read_merged_changes
from codegate.mining.units import Prospect, Rejected, reject_by_text, reverted_commits
from codegate.suite import GitError, git, read_commit

_NEIGHBOURS: Final = 20
"""Number of neighbouring prospects in the queue among which components take turns."""

SHORTLIST: Final = 400
"""How many of the best units GitHub is asked about, because each takes part of a request."""


def scan(
    repository: Path, tip: str, options: MineRequest, scanned: str | None = None
) -> tuple[list[Prospect], list[ChangeResult]]:
    """Return the changes to try, and the rejected ones.

    The changes are in the history of ``tip``. The best come first; words and paths decide which are rejected. If a
    suite was mined at the commit ``scanned``, only later commits count.

    Raises:
        UsageError: git cannot read the history, the folder to mine is not there, or GitHub cannot be queried.
    """
    forge = open_forge(repository, options.github) if options.github is not None else None
    fresh = _since(repository, tip, scanned)
    units = [
        unit for unit in read_merged_changes(repository, tip, options.since) if fresh is None or unit.commit in fresh
    ]
    if options.only is not None:
        units = [unit for unit in units if unit.commit == options.only]
        if not units:
            raise UsageError(
                f"{options.only[:12]} is no merged change in the history of {tip[:12]}.",
                "Give the commit that it was merged with, and --branch where that is on another one.",
            )
    newest = read_commit(repository, tip)
    if options.path and not any(path.startswith(f"{options.path}/") for path in newest):
        raise UsageError(f"there is no folder {options.path} in {tip[:12]}.", "Give --path from the repository's root.")
    head = PathClassifier.of(newest)
    name = options.names()
    taken_back = reverted_commits(units)
    fixes_only, fixes = set(options.kinds) <= set(DEFAULT_KINDS), not set(options.kinds).isdisjoint(DEFAULT_KINDS)
    best_first = partial(_best_first, fixes=fixes)
    prospects: list[Prospect] = []
    results: list[ChangeResult] = []
    for unit in units:
        bug = score_change(unit)
        reason = reject_by_text(unit, bug, fixes_only=fixes_only) or reject_by_paths(unit, head, name, options.path)
        if reason is None and unit.commit in taken_back:
            why = f"{taken_back[unit.commit][:12]} takes it back or blames it"
            results.append(change_result(unit, bug, Rejected("reversed", why)))
        elif reason is None:
            prospects.append(Prospect(unit, bug))
        else:
            results.append(change_result(unit, bug, Rejected(reason)))
    again = duplicates([prospect.unit for prospect in prospects], head, repository)
    results += [
        change_result(entry.unit, entry.bug, Rejected("duplicate")) for entry in prospects if entry.unit.commit in again
    ]
    queue = [entry for entry in prospects if entry.unit.commit not in again]
    queue.sort(key=best_first)
    if forge is not None:
        queue = sorted(_enriched(queue, forge), key=best_first)
    return _spread(queue, head), results


def _spread(queue: list[Prospect], head: PathClassifier) -> list[Prospect]:
    """Return the queue, reordered so that neighbours differ in component.

    Otherwise one file that often changes could fill a suite.
    """
    found: list[Prospect] = []
    for start in range(0, len(queue), _NEIGHBOURS):
        turns: Counter[str] = Counter()
        ranked: list[tuple[int, int]] = []
        for place, entry in enumerate(queue[start : start + _NEIGHBOURS], start):
            changed = source_changes(entry.unit, head)
            name = component(max(changed, key=_lines).path) if changed else ""
            ranked.append((turns[name], place))
            turns[name] += 1
        found += [queue[place] for _, place in sorted(ranked)]
    return found


def _lines(change: PathChange) -> int:
    return (change.added or 0) + (change.removed or 0)


def _since(repository: Path, tip: str, scanned: str | None) -> frozenset[str] | None:
    """Return the commits after ``scanned``, None for all.

    None also if the history was rewritten.
    """
    if scanned is None:
        return None
    try:
        return frozenset(git(repository, "rev-list", f"{scanned}..{tip}").decode("ascii").split())
    except GitError:
        return None


def _enriched(queue: list[Prospect], forge: GitHubEnrichment) -> list[Prospect]:
    known = forge.fetch([entry.unit for entry in queue[:SHORTLIST]])
    return [
        Prospect(entry.unit, score_change(entry.unit, facts), facts)
        if (facts := known.get(entry.unit.commit))
        else entry
        for entry in queue
    ]


def _best_first(entry: Prospect, *, fixes: bool) -> tuple[bool, float, str]:
    """Return a change's sort key.

    With ``fixes``, likely bug fixes come first, else last. Newer changes come before older ones.
    """
    return (entry.bug.score <= 0) == fixes, -entry.unit.date.timestamp(), entry.unit.commit
