"""How many of a repository's bug fixes become problems, and what that costs.

Usage: python bench/mining_yield.py REPO… [--since 2023-11-22] [--keep FOLDER] [--sandbox bwrap] [--jobs 2]

Mines each repository with the product and prints a line for each: candidates (units since that day with a positive
bug score, source and tests), how many were validated, the yield, environments, problems per environment, wall-clock
seconds per validated problem and stored bytes per problem; then what the lost candidates were lost to. Exits with 1
when the goals are missed: yield of all repositories together, the median of the problems per environment, bytes.
Candidates that a ``--max-problems`` or ``--budget-minutes`` left untried are not counted.
"""

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from codegate.mining import ChangeResult, MineEvent, MineReport, MineRequest, mine_repository
from codegate.sandbox import select_backend

#: Reasons that only execution gives: a candidate that ends with one of them had source and tests.
_BY_EXECUTION = {
    "env_unresolved", "env_no_passing_test", "timeout", "collect_error_gold", "no_f2p", "only_new_tests",
    "p2f_in_gold", "f2p_flaky", "oracle_fails", "nop_resolves", "leak",
}  # fmt: skip
_BUG_LIKE = 1
_YIELD = 0.75
_PER_ENVIRONMENT = 10.0
_BYTES = 2 << 20


@dataclass(frozen=True)
class Row:
    """What mining one repository gave."""

    name: str
    candidates: int
    validated: int
    problems: int
    environments: int
    seconds: float
    stored: int
    lost: Counter[str]

    @property
    def per_environment(self) -> float:
        """Return problems per environment."""
        return self.problems / self.environments if self.environments else 0.0

    @property
    def bytes_each(self) -> float:
        """Return stored bytes per problem."""
        return self.stored / self.problems if self.problems else 0.0


def is_candidate(result: ChangeResult) -> bool:
    """Whether a unit looks like a bug fix and has source and tests, so that only execution decides about it."""
    return result.score >= _BUG_LIKE and (result.reason is None or result.reason in _BY_EXECUTION)


def measure(report: MineReport, name: str) -> Row:
    candidates = [result for result in report.results if is_candidate(result)]
    return Row(
        name=name,
        candidates=len(candidates),
        validated=sum(result.problem is not None for result in candidates),
        problems=len(report.problems),
        environments=len(report.suite.manifest.environments) if report.suite is not None else 0,
        seconds=report.seconds["total"],
        stored=sum(path.stat().st_size for path in report.out.rglob("*") if path.is_file()),
        lost=Counter(result.reason for result in candidates if result.reason is not None),
    )


def show(row: Row) -> None:
    share = row.validated / row.candidates if row.candidates else 0.0
    each = row.seconds / row.problems if row.problems else 0.0
    print(
        f"{row.name:16} {row.candidates:10} {row.validated:9} {share:6.0%} {row.environments:12}"
        f" {row.per_environment:7.1f} {each:9.1f} {row.bytes_each:12.0f}  {dict(row.lost.most_common())}",
        flush=True,
    )


def mine_one(repository: Path, out: Path, options: argparse.Namespace) -> Row:
    def progress(event: MineEvent) -> None:
        if options.verbose:
            print(f"  {event.done}/{event.total} {event.message}", file=sys.stderr, flush=True)

    wanted = MineRequest(
        since=options.since,
        jobs=options.jobs,
        rounds=options.rounds,
        max_problems=options.max_problems,
        budget_minutes=options.budget_minutes,
        include_new_tests=options.include_new_tests,
    )
    backend = select_backend(options.sandbox, "bench")
    try:
        return measure(mine_repository(repository, out, wanted, backend, progress), repository.resolve().name)
    finally:
        backend.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+", metavar="REPO")
    parser.add_argument("--since", type=date.fromisoformat, default=None, help="the first day, as YYYY-MM-DD")
    parser.add_argument("--keep", type=Path, help="write the suites below this folder and keep them")
    parser.add_argument("--sandbox", choices=["docker", "bwrap"], default="bwrap")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="validation runs of each state")
    parser.add_argument("--max-problems", type=int)
    parser.add_argument("--budget-minutes", type=float, help="for each repository")
    parser.add_argument("--include-new-tests", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="how each unit ends, on standard error")
    options = parser.parse_args()
    print(
        f"{'repository':16} {'candidates':>10} {'validated':>9} {'yield':>6} {'environments':>12} {'per env':>7}"
        f" {'s/problem':>9} {'bytes each':>12}  lost"
    )
    with ExitStack() as stack:
        root = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codegate-bench-")))
        rows = []
        for repository in options.repositories:
            rows.append(mine_one(repository, root / repository.resolve().name, options))
            show(rows[-1])
    candidates, validated = sum(row.candidates for row in rows), sum(row.validated for row in rows)
    share = validated / candidates if candidates else 0.0
    median = statistics.median(row.per_environment for row in rows)
    largest = max(row.bytes_each for row in rows)
    print(
        f"{validated} of {candidates} candidates: yield {share:.0%} (goal {_YIELD:.0%}); median {median:.1f} problems"
        f" per environment (goal {_PER_ENVIRONMENT:.0f}); at most {largest:.0f} bytes each (goal {_BYTES})"
    )
    if share < _YIELD or median < _PER_ENVIRONMENT or largest > _BYTES:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
