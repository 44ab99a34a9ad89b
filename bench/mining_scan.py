"""How fast a repository's history is read into units.

    python bench/mining_scan.py CLONE...

Goal: at most 10 s of processor time, of the scan and its gits, per 5,000 units; other work on the machine lengthens it
less than the wall clock.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from codegate.mining.sources.history import read_merged_changes

UNITS = 5000
GOAL = 10.0


def measure(clone: Path) -> bool:
    """Print one clone's figures and return whether they reach the goal."""
    started, before = time.monotonic(), os.times()
    units = len(read_merged_changes(clone))
    wall, after = time.monotonic() - started, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    share = max(units, 1) / UNITS
    print(
        f"{clone.name:24} {units:6} units  {wall:7.2f} s  cpu {cpu:7.2f} s  {units / wall:8.0f} units/s"
        f"  per {UNITS}: {wall / share:6.2f} s (cpu {cpu / share:6.2f} s, goal {GOAL:.0f} s)",
        flush=True,
    )
    return cpu / share <= GOAL


def main() -> int:
    """Measure every clone; 1 when one is slower than the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", type=Path)
    options = parser.parse_args()
    slow = [clone for clone in options.clones if not measure(clone)]
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
