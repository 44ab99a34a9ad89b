"""Do controls leave right code alone, and how many tests have one?

Usage: python bench/controls.py SUITE… [--repository PATH] [--most 20] [--sandbox bwrap]

Audits each active problem anew on its reference fix: marks and copies may break no test. Shows how many changes of
tests it fails and how many fail-to-pass tests keep one. Exits 1 when a test file is broken.
"""

import argparse
import time
from pathlib import Path

from codegate.grading import Sandboxes, find_flips
from codegate.sandbox import SandboxError, select_backend
from codegate.suite import load_base, load_suite


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, nargs="+")
    parser.add_argument("--repository", type=Path, help="where the base commits are, if not where the suite says")
    parser.add_argument("--most", type=int, default=20, help="problems of each suite")
    parser.add_argument("--sandbox", choices=["auto", "docker", "bwrap"], default="auto")
    options = parser.parse_args()
    problems = tests = controlled = alone = unfit = 0
    backend = select_backend(options.sandbox, "bench-controls")
    try:
        for folder in options.suites:
            suite = load_suite(folder)
            sandboxes = Sandboxes.of(suite, backend, options.repository)
            for problem in suite.active[: options.most]:
                started = time.monotonic()
                try:
                    audit = find_flips(problem, load_base(suite, problem, options.repository), sandboxes)
                except SandboxError as error:
                    print(f"{suite.name} {problem.id}: {error}")
                    continue
                count = len(problem.tests.FAIL_TO_PASS)
                kept = f"{len(audit.flips)} with copies, {len(audit.alone)} in a second run"
                seconds = time.monotonic() - started
                print(f"{problem.id}: {count} tests, {kept}, {audit.tried} changes tried in {seconds:.0f} s"
                      + (f", unfit {', '.join(audit.unfit)}" if audit.unfit else ""), flush=True)  # fmt: skip
                problems, tests, unfit = problems + 1, tests + count, unfit + len(audit.unfit)
                controlled, alone = controlled + len(audit.flips), alone + len(audit.alone)
            sandboxes.close()
    finally:
        backend.close()
    print(f"{problems} problems, {tests} fail-to-pass tests: {controlled} with copies, {alone} in a second run")
    print(f"{unfit} test files broken")
    raise SystemExit(unfit > 0)


if __name__ == "__main__":
    main()
