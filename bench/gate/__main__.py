"""Print how the gate does on its goals: ``python -m bench.gate`` (seeded; about half an hour on two cores).

``--quick`` uses a tenth of the suites, for a look at the tables rather than at their last digit.
"""

import argparse
import multiprocessing
import time
from collections.abc import Sequence

from bench.gate.goals import jobs, run, tables


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the suites")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    planned = list(jobs(0.1 if asked.quick else 1.0))
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        results = dict(pool.imap_unordered(run, planned))
    for title, rows in tables(results):
        print(f"\n{title}\n\n| measure | goal | measured |\n|---|---|---|")
        for measure, goal, measured in rows:
            print(f"| {measure} | {goal or '-'} | {measured} |")
    print(f"\n{len(planned)} simulations in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
