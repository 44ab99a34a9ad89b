"""What grading costs, as a ratio to running the same tests bare.

    python -m bench.grading SUITE [--sandbox bwrap docker] [--jobs 1 2 4] [--problems 20] [--rounds 5]

The floor of a round is plain ``pytest`` on prepared folders, as many processes at once, without isolation, by the
interpreter that the sandboxes have: that of a development environment would load its plugins too, and take six times
as long. In the same round the grader grades the reference fixes with a line more (passing attempts, of which each takes
the hidden tests and a control) and patches that fix nothing (failing ones). Prints the medians of the rounds' ratios,
by wall clock and by the processor time that the whole machine was busy, the Docker daemon included. Nothing else should
run: the kernel shares a busy machine between sessions, of which each sandbox is one and the floor is one in all, so
that the ratios come out too low.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from codegate.environments import recipe_of
from codegate.grading import Sandboxes, grade
from codegate.sandbox import select_backend
from codegate.sandbox.toolchains import find_interpreter
from codegate.suite import Problem, Suite, Tree, load_base, load_suite, make_patch


def run_floor(folder: Path, problem: Problem, site: Path, python: str) -> None:
    roots = [str(folder / root) for root in problem.manifest.python_path]
    environment = {"PATH": os.defpath, "PYTHONPATH": ":".join([str(site), *roots]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *problem.manifest.test_files]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{problem.id}: the floor fails: {done.stdout[-400:].decode()}")


def run_graded(problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes, *, resolved: bool) -> None:
    result = grade(problem, base, patch, sandboxes)
    if result.resolved is not resolved:
        raise SystemExit(f"{problem.id}: resolved should be {resolved}: {result.detail}")


def patch_like(problem: Problem, base: Tree, tree: Tree) -> str:
    """Return a patch that makes what the fix changes as it is in ``tree``, with a line more.

    With the line it is not the reference fix, whose control was run when the problem was validated.
    """
    path = next(path for path in problem.fix if path in base)
    files = {name: tree[name] for name in problem.fix if name in tree}
    return make_patch(base, {**files, path: replace(tree[path], data=tree[path].data + b"\n\nUNUSED = 1\n")})


class Cost(NamedTuple):
    """Of a problem, in seconds."""

    wall: float
    processor: float


def timed(jobs: int, work: Sequence[Callable[[], None]]) -> Cost:
    started, busy = time.perf_counter(), busy_seconds()
    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(step) for step in work]:
            done.result()
    return Cost((time.perf_counter() - started) / len(work), (busy_seconds() - busy) / len(work))


def busy_seconds() -> float:
    """Return the machine's processor time since it started: https://man7.org/linux/man-pages/man5/proc_stat.5.html."""
    user, nice, system, _idle, _waits, hard, soft = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + hard + soft) / os.sysconf("SC_CLK_TCK")


def write_out(folder: Path, tree: Tree) -> Path:
    for path, file in tree.items():
        if not file.is_link:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(file.data)
    return folder


def site_of(suite: Suite, problem: Problem, folder: Path, python: str) -> Path:
    # The floor uses the same packages, in a plain folder, with byte code as everywhere: without, each start of pytest
    # would compile it, which takes as long as the tests.
    pins = suite.environments[problem.environment.id].resolved.splitlines()
    site, uv = folder / "site", str(Path(sys.executable).with_name("uv"))
    wanted = [line for line in pins if "==" in line]
    options = ("--quiet", "--no-deps", "--compile-bytecode", "--python", python, "--target", str(site))
    subprocess.run([uv, "pip", "install", *options, *wanted], check=True)
    return site


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--sandbox", choices=["docker", "bwrap"], nargs="+", default=["bwrap"])
    parser.add_argument("--jobs", type=int, nargs="+", default=[2])
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    suite = load_suite(options.suite)
    problems = suite.active[: options.problems]
    bases = {problem.id: load_base(suite, problem) for problem in problems}
    version = recipe_of(suite.environments[problems[0].environment.id]).python
    found = find_interpreter(version)
    if found is None:
        raise SystemExit(f"there is no Python {version}")
    python = str(found.executable)
    with tempfile.TemporaryDirectory(prefix="codegate-bench-") as name:
        floor, site = [], site_of(suite, problems[0], Path(name), python)
        for problem in problems:
            fixed = bases[problem.id].overlay(problem.fix).overlay(problem.hidden)
            floor.append(partial(run_floor, write_out(Path(name) / problem.id, fixed), problem, site, python))
        print(f"{len(problems)} problems, medians of {options.rounds} rounds; ratios to bare pytest, wall (processor)")
        print("sandbox  jobs  bare         passing      failing")
        for sandbox in options.sandbox:
            for jobs in options.jobs:
                print(compare(suite, problems, bases, floor, sandbox, jobs, options.rounds), flush=True)


def compare(
    suite: Suite,
    problems: Sequence[Problem],
    bases: Mapping[str, Tree],
    floor: Sequence[Callable[[], None]],
    sandbox: str,
    jobs: int,
    rounds: int,
) -> str:
    """Return a line: sandbox, jobs, the floor's milliseconds, and the ratios of passing and of failing attempts."""
    backend = select_backend(sandbox, "bench")
    sandboxes = Sandboxes.of(suite, backend, None, jobs)
    passing, failing = [], []
    for problem in problems:
        base = bases[problem.id]
        right, wrong = (patch_like(problem, base, tree) for tree in (base.overlay(problem.fix), base))
        passing.append(partial(run_graded, problem, base, right, sandboxes, resolved=True))
        failing.append(partial(run_graded, problem, base, wrong, sandboxes, resolved=False))
    try:
        timed(jobs, passing[:2])
        found = [[timed(jobs, work) for work in (floor, passing, failing)] for _ in range(rounds)]
    finally:
        sandboxes.close()
        backend.close()
    bare = statistics.median(1000 * costs[0].wall for costs in found)
    columns = [
        f"{statistics.median(costs[which].wall / costs[0].wall for costs in found):.2f} "
        f"({statistics.median(costs[which].processor / costs[0].processor for costs in found):.2f})"
        for which in (1, 2)
    ]
    return f"{sandbox:7}  {jobs:4}  {bare:6.0f} ms    {columns[0]:11}  {columns[1]}"


if __name__ == "__main__":
    main()
