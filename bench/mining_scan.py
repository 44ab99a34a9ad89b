"""How fast a repository's history is read into units: cold, and warm after some new commits.

    python bench/mining_scan.py CLONE... [--new 20]

Cold is without a cache. Warm has a cache from a scan that ended ``--new`` commits of the first-parent history earlier.
Goals, per 5,000 units on two processors: cold at most 10 s, warm at most 1 s. ``cpu`` is the processor time of the scan
and its gits, which other work on the machine lengthens less than the wall clock.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from codegate.mining.sources.history import read_units
from codegate.suite import git

UNITS = 5000
COLD_GOAL = 10.0
WARM_GOAL = 1.0


def scan(clone: Path, branch: str | None, cache: Path) -> tuple[int, float, float]:
    """Scan once; return the number of units, wall-clock and processor seconds."""
    wall, cpu = time.monotonic(), os.times()
    units = read_units(clone, branch, cache=cache)
    after = os.times()
    return len(units), time.monotonic() - wall, sum(after[:4]) - sum(cpu[:4])


def measure(clone: Path, new: int) -> bool:
    """Print one clone's figures and return whether they reach the goals."""
    earlier = git(clone, "rev-parse", "--verify", "--quiet", f"HEAD~{new}^{{commit}}").decode("ascii").strip()
    good = True
    with tempfile.TemporaryDirectory() as cold, tempfile.TemporaryDirectory() as warm:
        scan(clone, earlier, Path(warm))
        for name, cache, goal in (("cold", cold, COLD_GOAL), ("warm", warm, WARM_GOAL)):
            units, wall, cpu = scan(clone, None, Path(cache))
            share = max(units, 1) / UNITS
            good &= wall / share <= goal
            print(
                f"{clone.name:24} {name}  {units:6} units  {wall:7.2f} s  cpu {cpu:7.2f} s  {units / wall:8.0f} units/s"
                f"  per {UNITS}: {wall / share:6.2f} s (cpu {cpu / share:6.2f} s, goal {goal:.0f} s)",
                flush=True,
            )
    return good


def main() -> int:
    """Measure every clone; 1 when one is slower than a goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--new", type=int, default=20, help="commits since the scan that the cache is of")
    options = parser.parse_args()
    slow = [clone for clone in options.clones if not measure(clone, options.new)]
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
