"""How well mining tells bug fixes from other changes: precision and recall against hand-labelled, executed fixes.

Usage: python bench/mining_kinds.py --oracle ORACLE.jsonl --repositories CLONES [--suite SUITE ...]

ORACLE has one JSON object a line: repo ("owner/name"), base_commit, fix_commit, label ("bug" or other), FAIL_TO_PASS
and import_gated. CLONES holds a clone of each repository, named as the repository.

Without --suite every row is classified with its recorded fail-to-pass ids in place of an execution; what mining
rejects before execution (by words, paths or the cut) counts as not found. Besides the figures of the weights as they
are, the weights are fitted anew on all repositories but one and tried on that one: a signal that only holds in one
repository shows there. With --suite the kinds in mined suites are compared instead (--window JSON bounds the commits
of the oracle by their dates). Exits with 1 below a precision of 0.85 or a recall of 0.80.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegate.languages import PathClassifier
from codegate.mining.cut import Cut, cut, reject_by_paths
from codegate.mining.kinds import BUGS, Signal, classify_kind, score_change, signals
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.history import MergedChange, read_merged_changes
from codegate.mining.units import reject_by_text
from codegate.suite import load_suite, read_commit

PRECISION, RECALL = 0.85, 0.80
SMOOTHING = 0.7
MOST_BITS = 3.0


@dataclass(frozen=True)
class Row:
    """One labelled commit and what was said of it; ``rejected`` before it was classified, or in no suite."""

    repository: str
    commit: str
    title: str
    bug: bool
    said: bool
    rejected: str = ""
    signals: tuple[Signal, ...] = ()
    evidence: tuple[str, ...] = ()


def read_oracle(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def clone_name(row: dict[str, Any]) -> str:
    return str(row["repo"]).rpartition("/")[2]


def recorded_outcomes(row: dict[str, Any]) -> TestOutcomes:
    tests = tuple(row["FAIL_TO_PASS"])
    kinds = dict.fromkeys(tests, "collection" if row["import_gated"] else "assertion")
    return TestOutcomes(tests, (), (), (), False, kinds, dict.fromkeys(tests))  # type: ignore[arg-type]


def classified(rows: Iterable[dict[str, Any]], clones: Path) -> list[Row]:
    found: list[Row] = []
    units: dict[str, dict[str, MergedChange]] = {}
    heads: dict[str, PathClassifier] = {}
    for row in rows:
        name = clone_name(row)
        if name not in units:
            history = read_merged_changes(clones / name)
            units[name] = {unit.commit: unit for unit in history}
            heads[name] = PathClassifier.of(read_commit(clones / name, history[0].commit))
        found.append(classify(row, name, clones / name, units[name], heads[name]))
    return found


def classify(row: dict[str, Any], name: str, clone: Path, units: dict[str, MergedChange], head: PathClassifier) -> Row:
    commit, bug = str(row["fix_commit"]), row["label"] == "bug"
    listed = commit in units
    unit = units[commit] if listed else read_merged_changes(clone, commit)[0]
    parts = cut(unit, read_commit(clone, unit.base), read_commit(clone, unit.commit))
    reason = "" if listed else "not on the first-parent chain"
    reason = reason or reject_by_text(unit, score_change(unit)) or reject_by_paths(unit, head) or ""
    if not isinstance(parts, Cut):
        return Row(name, commit, unit.title, bug, False, reason or parts)
    outcomes = recorded_outcomes(row)
    kind = classify_kind(unit, parts, outcomes)
    said = kind.kind in BUGS
    return Row(name, commit, unit.title, bug, said, reason, tuple(signals(unit, parts, outcomes)), kind.evidence)


def mined(rows: Sequence[dict[str, Any]], suites: Iterable[Path], window: Path | None) -> list[Row]:
    """Return a row for each labelled commit within the window, and what the suites made of it."""
    kinds: dict[str, str] = {}
    for folder in suites:
        for problem in load_suite(folder).problems:
            kinds[problem.manifest.provenance.commit or ""] = problem.manifest.kind or "unknown"
    bounds = json.loads(window.read_text(encoding="utf-8")) if window is not None else {}
    touched = {clone_name(row) for row in rows if row["fix_commit"] in kinds}
    found = []
    for row in rows:
        name, commit = clone_name(row), str(row["fix_commit"])
        bound = bounds.get(name)
        outside = bound and not bound["oldest"][:10] <= str(row["date"]) <= bound["newest"][:10]
        if name in touched and not outside:
            kind = kinds.get(commit)
            rejected = "" if kind else "not in a suite"
            found.append(Row(name, commit, str(row["title"]), row["label"] == "bug", kind in BUGS, rejected))
    labelled = {row.commit for row in found}
    print(f"{len(kinds)} problems {dict(Counter(kinds.values()))}, {len(kinds.keys() & labelled)} of them labelled")
    return found


def figures(rows: Sequence[Row], said: Sequence[bool], name: str) -> tuple[float, float]:
    """Print and return precision and recall: nothing said is a precision of 1, nothing to find a recall of 1."""
    right = sum(row.bug and yes for row, yes in zip(rows, said, strict=True))
    claimed, bugs = sum(said), sum(row.bug for row in rows)
    precision, recall = right / claimed if claimed else 1.0, right / bugs if bugs else 1.0
    shown = f"precision {precision:6.1%} ({right}/{claimed})   recall {recall:6.1%} ({right}/{bugs})"
    print(f"{name:26} {shown}   n={len(rows)}")
    return precision, recall


def keys(row: Row) -> set[tuple[str, float]]:
    return {(signal.name, signal.bug_bits) for signal in row.signals}


def fitted(rows: Sequence[Row]) -> dict[tuple[str, float], float]:
    """Return the bits of each signal as these rows have it: the smoothed log-odds of bug fixes against the rest."""
    bugs = sum(row.bug for row in rows) + 2 * SMOOTHING
    others = sum(not row.bug for row in rows) + 2 * SMOOTHING
    seen = Counter((key, row.bug) for row in rows for key in keys(row))
    bits = {
        key: math.log2(((seen[key, True] + SMOOTHING) / bugs) / ((seen[key, False] + SMOOTHING) / others))
        for key in {key for key, _ in seen}
    }
    return {key: max(-MOST_BITS, min(MOST_BITS, value)) for key, value in bits.items()}


def leave_one_out(rows: Sequence[Row]) -> None:
    said: dict[str, bool] = {}
    print("\nweights fitted without the repository:")
    for name in sorted({row.repository for row in rows}):
        bits = fitted([row for row in rows if row.repository != name])
        left = [row for row in rows if row.repository == name]
        said |= {row.commit: sum(bits.get(key, 0.0) for key in keys(row)) > 0 for row in left}
        figures(left, [said[row.commit] for row in left], f"  {name}")
    figures(rows, [said[row.commit] for row in rows], "  all, each by the others")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", type=Path, required=True)
    parser.add_argument("--repositories", type=Path)
    parser.add_argument("--suite", type=Path, action="append", default=[])
    parser.add_argument("--window", type=Path)
    parser.add_argument("--verbose", action="store_true", help="show each mistake with its evidence")
    options = parser.parse_args()
    if not options.suite and options.repositories is None:
        parser.error("give --repositories, or the --suite to check")
    oracle = read_oracle(options.oracle)
    rows = mined(oracle, options.suite, options.window) if options.suite else classified(oracle, options.repositories)
    said = [row.said and not row.rejected for row in rows]
    print("as it is:")
    for name in sorted({row.repository for row in rows}):
        of = [index for index, row in enumerate(rows) if row.repository == name]
        figures([rows[index] for index in of], [said[index] for index in of], f"  {name}")
    precision, recall = figures(rows, said, "  all")
    lost = Counter(row.rejected for row in rows if row.bug and row.rejected)
    print(f"bug fixes lost before they were classified: {sum(lost.values())} {dict(lost) if lost else ''}")
    for row, yes in zip(rows, said, strict=True):
        if options.verbose and row.bug != yes:
            print(f"- {'missed' if row.bug else 'wrong'}: {row.title} {row.rejected} {'; '.join(row.evidence)}")
    if not options.suite:
        leave_one_out(rows)
    raise SystemExit(0 if rows and precision >= PRECISION and recall >= RECALL else 1)


if __name__ == "__main__":
    main()
