"""What a sandbox costs: grading a suite's reference fixes against running the same tests bare.

Usage: python bench/grading.py SUITE [--sandbox bwrap] [--problems 20] [--rounds 3] [--jobs 2]

Each round times the floor (plain ``pytest`` subprocesses on prepared folders, no isolation) and the grader on the
same problems with the same width, one after the other, and prints wall-clock milliseconds per problem and their
ratio. Quote the median of the ratios: single times drift with the machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from codegate.grading import Sandboxes, grade
from codegate.sandbox import EnvironmentRecipe, cache_folder, select_backend
from codegate.suite import Problem, Suite, Tree, load_base, load_suite, make_patch


def run_floor(folder: Path, problem: Problem, site: Path) -> None:
    roots = [str(folder / root) for root in problem.manifest.python_path]
    environment = {"PATH": os.defpath, "PYTHONPATH": ":".join([str(site), *roots]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *problem.manifest.test_files]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{problem.id}: the floor fails: {done.stdout[-400:].decode()}")


def run_graded(problem: Problem, base: Tree, sandboxes: Sandboxes) -> None:
    result = grade(problem, base, make_patch(base, problem.fix), sandboxes)
    if not result.resolved:
        raise SystemExit(f"{problem.id}: the reference is not resolved: {result.detail}")


def timed(jobs: int, work: Sequence[Callable[[], None]]) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(step) for step in work]:
            done.result()
    return 1000 * (time.perf_counter() - started) / len(work)


def write_out(folder: Path, tree: Tree) -> Path:
    for path, file in tree.items():
        if not file.is_link:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(file.data)
    return folder


def site_of(suite: Suite, problem: Problem) -> Path:
    # The bubblewrap backend's environment is a plain folder; the floor uses the same packages.
    backend = select_backend("bwrap", "bench")
    environment = problem.environment
    backend.prepare(EnvironmentRecipe(environment.python, suite.locks[environment.id]))
    backend.close()
    lock = suite.locks[environment.id]
    names = {line.split("==")[0].replace("-", "_") for line in lock.splitlines() if "==" in line}
    for site in cache_folder().glob("environments/*/site"):
        if names <= {item.name.split("-")[0].lower() for item in site.glob("*.dist-info")}:
            return site
    raise SystemExit("the environment's folder was not found in the cache")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--sandbox", choices=["docker", "bwrap"], default="bwrap")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    suite = load_suite(options.suite)
    problems = suite.active[: options.problems]
    bases = {problem.id: load_base(suite, problem) for problem in problems}
    site = site_of(suite, problems[0])
    backend = select_backend(options.sandbox, "bench")
    sandboxes = Sandboxes(backend, suite.locks, ahead=options.jobs)
    ratios = []
    try:
        with tempfile.TemporaryDirectory(prefix="codegate-bench-") as name:
            folders = {
                p.id: write_out(Path(name) / p.id, bases[p.id].overlay(p.fix).overlay(p.hidden)) for p in problems
            }
            floor = [partial(run_floor, folders[p.id], p, site) for p in problems]
            graded = [partial(run_graded, p, bases[p.id], sandboxes) for p in problems]
            timed(options.jobs, graded[:2])
            for _ in range(options.rounds):
                bare, sandboxed = timed(options.jobs, floor), timed(options.jobs, graded)
                ratios.append(sandboxed / bare)
                print(f"bare {bare:6.0f} ms   graded {sandboxed:6.0f} ms   ratio {ratios[-1]:.2f}")
    finally:
        sandboxes.close()
        backend.close()
    print(
        f"{options.sandbox}, {len(problems)} problems, {options.jobs} at once: median {statistics.median(ratios):.2f}"
    )


if __name__ == "__main__":
    main()
