"""A small problem to grade, made to measure: trees as dictionaries, suspects as functions of their text."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from codegate.grading import Grade, Sandboxes, TestReport, find_flips, grade, run_hidden_tests
from codegate.grading import test_selection as selection_of
from codegate.suite import Environment, Problem, ProblemLimits, Tree, make_patch
from tests.kit.environment import PLAIN
from tests.kit.problem import changes, problem

SOURCE = "shop/price.py"
TESTS = "tests/test_price.py"

BUG = "def total(prices):\n    return sum(prices[1:])\n"
FIX = "def total(prices):\n    return sum(prices)\n"
TEST = """\
from shop.price import total

def test_total():
    assert total([1, 2]) == 3

def test_nothing():
    assert total([]) == 0
"""
EXPECTED = ("tests/test_price.py::test_total", "tests/test_price.py::test_nothing")

Files = Mapping[str, str | bytes | None]


def tree(content: Files) -> Tree:
    """Return ``content`` as a tree."""
    return Tree().overlay(changes(content))


def with_controls(problem: Problem, base: Tree, sandboxes: Sandboxes) -> Problem:
    """Return a problem with the flips that its fix fails."""
    audit = find_flips(problem, base, sandboxes)
    return replace(problem, manifest=problem.manifest.model_copy(update={"controls": audit}))


BASE: Files = {
    "shop/__init__.py": "",
    SOURCE: BUG,
    "pyproject.toml": '[project]\nname = "shop"\n',
    TESTS: "from shop.price import total\n\ndef test_nothing():\n    assert total([]) == 0\n",
}


class World:
    """A problem with its base tree, ready to grade patches.

    Args:
        sandboxes: where they are graded.
        base: the tree before the fix, over the default one.
        hidden: the tests after it.
        fix: the sources after it.
        expected: the ids that must pass.
        known: those of them that pass before the fix; most tests here do not mind if they are none of these.
        run: the test files that are run; by default those of the expected ids.
        environment: that they are graded in.
    """

    def __init__(
        self,
        sandboxes: Sandboxes,
        *,
        base: Files | None = None,
        hidden: Files | None = None,
        fix: Files | None = None,
        expected: Iterable[str] = EXPECTED,
        known: Iterable[str] = (),
        run: Iterable[str] | None = None,
        limits: ProblemLimits | None = None,
        python_path: tuple[str, ...] = ("", "src"),
        environment: Environment = PLAIN,
    ) -> None:
        self.sandboxes = sandboxes
        self.base = tree({**BASE, **(base or {})})
        old = tuple(known)
        fields: dict[str, Any] = {} if run is None else {"test_files": tuple(run)}
        self.problem = problem(
            "shop-1",
            environment.manifest,
            hidden=changes({TESTS: TEST, **(hidden or {})}),
            fix=changes(fix if fix is not None else {SOURCE: FIX}),
            wanted=[test for test in expected if test not in old],
            known=old,
            statement="The first price is left out.",
            python_path=python_path,
            limits=limits or ProblemLimits(seconds=30, memory_mb=256),
            **fields,
        )

    def validated(self) -> "World":
        """Return this world after validation: with the mutants that its fix fails."""
        found = copy(self)
        found.problem = with_controls(self.problem, self.base, self.sandboxes)
        return found

    def grade(self, change: Files | str) -> Grade:
        """Grade a change of the base tree, or a patch as text."""
        patch = change if isinstance(change, str) else make_patch(self.base, changes(change))
        return grade(self.problem, self.base, patch, self.sandboxes)

    def report(self, change: Files) -> TestReport:
        """Run the hidden tests on a change of the base tree, without their copies."""
        after = self.base.overlay(changes(change))
        return run_hidden_tests(self.problem, after, self.sandboxes, selection_of(self.problem))
