"""How long an attempt takes beside its bare tests in the same round: a change that triples it fails."""

import statistics
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from bench.grading import patch_like, run_floor, run_graded, site_of, timed, write_out
from bench.history import build_history
from codegate.environments import recipe_of
from codegate.grading import Sandboxes
from codegate.mining import MineRequest, mine_repository
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.toolchains import find_interpreter
from codegate.suite import Tree, load_base, load_suite

pytestmark = [pytest.mark.bwrap, pytest.mark.full]

PASSING, FAILING = 6.0, 4.0
"""Far above the ratios that docs/performance.md has: a busy machine may double them."""


def test_an_attempt_takes_a_few_times_as_long_as_its_bare_tests(
    bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    folder = tmp_path / "suite"
    mine_repository(build_history(tmp_path / "history", 3), folder, MineRequest(jobs=2), bwrap_backend, lambda _: None)
    suite = load_suite(folder)
    found = find_interpreter(recipe_of(suite.environments[suite.active[0].environment.id]).python)
    assert found is not None
    python = str(found.executable)
    site = site_of(suite, suite.active[0], tmp_path, python)
    problems = {problem.id: problem for problem in suite.active}
    bases = {name: load_base(suite, problem) for name, problem in problems.items()}
    fixed = {name: bases[name].overlay(problem.fix) for name, problem in problems.items()}
    bare = [
        partial(run_floor, write_out(tmp_path / name, fixed[name].overlay(problem.hidden)), problem, site, python)
        for name, problem in problems.items()
    ]
    sandboxes = Sandboxes.of(suite, bwrap_backend, None)

    def graded(trees: dict[str, Tree], *, resolved: bool) -> list[Callable[[], None]]:
        patches = {name: patch_like(problem, bases[name], trees[name]) for name, problem in problems.items()}
        return [
            partial(run_graded, problem, bases[name], patches[name], sandboxes, resolved=resolved)
            for name, problem in problems.items()
        ]

    kinds = bare, graded(fixed, resolved=True), graded(bases, resolved=False)
    with closing(sandboxes):
        timed(1, kinds[1])
        rounds = [[timed(1, work).wall for work in kinds] for _ in range(3)]
    assert statistics.median(passing / floor for floor, passing, _ in rounds) < PASSING, rounds
    assert statistics.median(failing / floor for floor, _, failing in rounds) < FAILING, rounds
