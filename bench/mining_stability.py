"""Does the oracle ever flip? Grades every reference fix again and again through the production grader.

Usage: python bench/mining_stability.py SUITE… [--repeats 20] [--nop-repeats 5] [--at-least 50] [--jobs 2]

A flip is a reference fix that is not resolved in some repeat. The unfixed tree must never pass all that is graded.
The share of problems whose test command's exit status agrees with its results is read from the suites. Exits 1 when a
reference flips, an unfixed tree resolves, or the suites have fewer active problems than the goal speaks of.
"""

import argparse
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from codegate.grading import Sandboxes, grade, run_hidden_tests, test_selection
from codegate.sandbox import select_backend
from codegate.suite import Problem, Tree, load_base, load_suite, make_patch


@dataclass(frozen=True)
class Repeats:
    """What the repeats of one problem showed."""

    problem: str
    resolved: int
    repeats: int
    nop_resolved: int
    nop_repeats: int
    detail: str


def repeat(problem: Problem, base: Tree, sandboxes: Sandboxes, repeats: int, nop_repeats: int) -> Repeats:
    patch, details = make_patch(base, problem.fix), Counter[str]()
    for _ in range(repeats):
        result = grade(problem, base, patch, sandboxes)
        details["resolved" if result.resolved else f"{result.failure}: {result.detail}"[:200]] += 1
    nop = 0
    for _ in range(nop_repeats):
        report = run_hidden_tests(problem, base, sandboxes, test_selection(problem))
        results = report.results
        nop += all(test in results and results[test].status == "passed" for test in problem.tests.expected)
    failures = "; ".join(f"{number}x {text}" for text, number in details.items() if text != "resolved")
    return Repeats(problem.id, details["resolved"], repeats, nop, nop_repeats, failures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, nargs="+")
    parser.add_argument("--repository", type=Path, help="where the base commits are, if not where the suite says")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--nop-repeats", type=int, default=5)
    parser.add_argument("--at-least", type=int, default=50, help="problems that the figure has to stand on")
    parser.add_argument("--sandbox", choices=["auto", "docker", "bwrap"], default="auto")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()

    found: list[Repeats] = []
    clean: list[bool] = []
    backend = select_backend(options.sandbox, "bench")
    try:
        for folder in options.suites:
            suite = load_suite(folder)
            sandboxes = Sandboxes.of(suite, backend, options.repository)
            with ThreadPoolExecutor(options.jobs) as pool:
                runs = [
                    pool.submit(
                        repeat, problem, load_base(suite, problem, options.repository), sandboxes, options.repeats,
                        options.nop_repeats,
                    )
                    for problem in suite.active
                ]  # fmt: skip
                found += [run.result() for run in runs]
            sandboxes.close()
            qualities = [problem.manifest.quality for problem in suite.active]
            clean += [quality.command_clean for quality in qualities if quality and quality.command_clean is not None]
    finally:
        backend.close()

    flips = [entry for entry in found if entry.resolved < entry.repeats]
    solved = [entry for entry in found if entry.nop_resolved]
    for entry in (*flips, *solved):
        print(
            f"{entry.problem}: fix resolved {entry.resolved} of {entry.repeats}, no change {entry.nop_resolved} of "
            f"{entry.nop_repeats}. {entry.detail}"
        )
    print(f"problems: {len(found)}")
    print(f"oracle flips in {options.repeats} repeats: {len(flips)}")
    print(f"unfixed trees resolved in {options.nop_repeats} repeats: {len(solved)}")
    if clean:
        print(f"commands clean: {sum(clean)} of {len(clean)} ({sum(clean) / len(clean):.1%})")
    if flips or solved or len(found) < options.at_least:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
