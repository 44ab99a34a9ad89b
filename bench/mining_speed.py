"""How long mining takes per problem, how often it runs tests for that, and how long a second mining takes.

    python -m bench.mining_speed [REPO...] [--problems 20] [--max-problems N] [--jobs 2]

Without a REPO, a history of small bug fixes is made (``bench.history``). Each repository is mined twice with one memory
of earlier minings: the first time prints ``--profile``'s table, the second what a mining takes that has nothing to do.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.history import build_history
from codegate.mining import MineEvent, MineRequest, mine_repository
from codegate.sandbox import select_backend


def measure(repository: Path, out: Path, options: argparse.Namespace) -> None:
    """Mine ``repository`` twice and print what that took."""

    def progress(event: MineEvent) -> None:
        if options.verbose:
            print(f"  {event.done}/{event.total} {event.message}", file=sys.stderr, flush=True)

    wanted = MineRequest(
        jobs=options.jobs,
        max_problems=options.max_problems,
        budget_minutes=options.budget_minutes,
        memory=out / "memory",
    )
    for turn in ("first", "second"):
        backend = select_backend(options.sandbox, "bench")
        try:
            started = time.monotonic()
            report = mine_repository(repository, out / "suite", wanted, backend, progress)
            seconds = time.monotonic() - started
        finally:
            backend.close()
        each = f", {seconds / len(report.problems):.1f} s each" if report.problems else ""
        print(f"{repository.name}, {turn} mining: {seconds:.1f} s, {len(report.problems)} problems{each}")
        print(f"  {report.reasons}")
        if turn == "first":
            print("\n".join(f"  {line}" for line in report.profile.lines()), flush=True)


def main() -> None:
    """Measure every repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="*", metavar="REPO")
    parser.add_argument("--problems", type=int, default=20, help="of the history that is made")
    parser.add_argument("--max-problems", type=int)
    parser.add_argument("--budget-minutes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sandbox", choices=["docker", "bwrap"], default="bwrap")
    parser.add_argument("--verbose", action="store_true", help="how each unit ends, on standard error")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codegate-bench-") as scratch:
        root = Path(scratch)
        repositories = options.repositories or [build_history(root / "small", options.problems)]
        for repository in repositories:
            measure(repository, root / "out" / repository.resolve().name, options)


if __name__ == "__main__":
    main()
