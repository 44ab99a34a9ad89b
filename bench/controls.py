"""Do the instruments of hidden tests leave right code alone, and do their mutants fail it?

Usage: python bench/controls.py SUITE… [--repository PATH] [--most 20] [--sandbox bwrap]

Instruments the hidden tests of each active problem and runs them on its reference fix: no test that passes as it is may
fail so, or lack a receipt. Then runs mutants of its fail-to-pass tests, up to three of each function: the reference has
to fail them. Exits 1 when a test breaks or fewer than 98 % of the mutants are killed.
"""

import argparse
from pathlib import Path

from codegate.grading import Sandboxes, audit_controls
from codegate.sandbox import SandboxError, select_backend
from codegate.suite import load_base, load_suite

GOAL = 0.98


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, nargs="+")
    parser.add_argument("--repository", type=Path, help="where the base commits are, if not where the suite says")
    parser.add_argument("--most", type=int, default=20, help="problems of each suite")
    parser.add_argument("--sandbox", choices=["auto", "docker", "bwrap"], default="auto")
    options = parser.parse_args()
    problems = tests = uncontrolled = mutants = killed = unfit = 0
    backend = select_backend(options.sandbox, "bench-controls")
    try:
        for folder in options.suites:
            suite = load_suite(folder)
            sandboxes = Sandboxes.of(suite, backend, options.repository)
            for problem in suite.active[: options.most]:
                try:
                    audit = audit_controls(problem, load_base(suite, problem, options.repository), sandboxes)
                except SandboxError as error:
                    print(f"{suite.name} {problem.id}: {error}")
                    continue
                count = len(problem.tests.expected)
                print(
                    f"{problem.id}: {count} tests, {len(audit.killed)}/{audit.tried} mutants killed"
                    + (f", unfit {', '.join(audit.unfit)}" if audit.unfit else ""),
                    flush=True,
                )
                problems, tests = problems + 1, tests + len(problem.tests.expected)
                mutants, killed, unfit = mutants + audit.tried, killed + len(audit.killed), unfit + len(audit.unfit)
                uncontrolled += not audit.killed
            sandboxes.close()
    finally:
        backend.close()
    share = killed / mutants if mutants else 0.0
    print(f"{problems} problems, {tests} tests: {unfit} test files broken by their instruments")
    print(f"{killed} of {mutants} mutants killed ({share:.1%}, goal {GOAL:.0%}); {uncontrolled} problems have none")
    raise SystemExit(unfit > 0 or share < GOAL)


if __name__ == "__main__":
    main()
