"""Print how the gate does on its goals: ``python -m bench.gate`` (seeded; about half an hour on two cores).

``--quick`` uses a tenth of the suites, for a look at the tables rather than at their last digit. Names of tables choose
some: ``python -m bench.gate power answers luck floors`` takes a few minutes.
"""

import argparse
import multiprocessing
import time
from collections.abc import Sequence

from bench.gate.goals import TABLES, jobs, run


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the suites")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}")
    asked = parser.parse_args(arguments)
    if unknown := sorted(set(asked.tables) - TABLES.keys()):
        parser.error(f"there is no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    chosen = [TABLES[name] for name in TABLES if name in asked.tables or not asked.tables]
    needed = frozenset().union(*(names for names, _ in chosen))
    began = time.monotonic()
    planned = [job for job in jobs(0.1 if asked.quick else 1.0) if job.key[0] in needed]
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        results = dict(pool.imap_unordered(run, planned))
    for _, table in chosen:
        title, rows = table(results)
        print(f"\n{title}\n\n| measure | goal | measured |\n|---|---|---|")
        for measure, goal, measured in rows:
            print(f"| {measure} | {goal or '-'} | {measured} |")
    print(f"\n{len(planned)} simulations in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
