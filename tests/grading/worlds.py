"""Rooms to run tests in and problems to grade, made to measure: trees are dictionaries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from codegate.grading import (
    Copies,
    Grade,
    Sandboxes,
    TestReport,
    TestSelection,
    find_flips,
    grade,
    run_hidden_tests,
    run_tests,
)
from codegate.grading import test_selection as selection_of
from codegate.grading.controls.copies import Flips, make_copies, read_originals
from codegate.grading.controls.verdict import SeparatedRun, separate_copies
from codegate.languages.controls import EditableTest
from codegate.sandbox import Sandbox
from codegate.suite import ControlAudit, Environment, Problem, ProblemLimits, RunnerName, Tree, make_patch
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

LARGE = ProblemLimits(seconds=120, memory_mb=2048, pids=256, disk_mb=512)
"""What tools take that compile, or that start processes of their own."""

Files = Mapping[str, str | bytes | None]
Opener = Callable[[], AbstractContextManager[Sandbox]]


def tree(content: Files) -> Tree:
    """Return ``content`` as a tree."""
    return Tree().overlay(changes(content))


def with_controls(problem: Problem, base: Tree, sandboxes: Sandboxes) -> Problem:
    """Return a problem with the flips that its fix fails."""
    audit = find_flips(problem, base, sandboxes)
    return replace(problem, manifest=problem.manifest.model_copy(update={"controls": audit}))


def statuses(report: TestReport, file: str = "") -> dict[str, str]:
    """Return the statuses by the tests' ids, from which the name of ``file`` is left out."""
    return {test.removeprefix(f"{file}::"): result.status for test, result in report.results.items()}


@dataclass(frozen=True)
class Room:
    """Where tests run.

    Attributes:
        opened: opens a sandbox.
        runner: runs the tests.
        base: what each tree has.
    """

    opened: Opener
    runner: RunnerName = "pytest"
    base: Files = field(default_factory=dict)

    def run(self, content: Files, *files: str, **selection: Any) -> TestReport:
        """Run test files of a tree; ``selection`` has further fields of the selection."""
        chosen = TestSelection(files, **{"runner": self.runner, "timeout_seconds": 100.0, **selection})
        return run_tests(self.opened, tree({**self.base, **content}), chosen)

    def statuses(self, content: Files, *files: str, **selection: Any) -> dict[str, str]:
        """Return the statuses of a run that nothing disturbed by the last parts of the tests' ids."""
        report = self.run(content, *files, **selection)
        assert report.proven, report
        assert report.collection_errors == ()
        return {test.rpartition("::")[2]: result.status for test, result in report.results.items()}

    def beside(
        self, content: Files, file: str, flips: Callable[[EditableTest], Sequence[Flips]], seconds: float | None = None
    ) -> tuple[Copies, SeparatedRun]:
        """Run each test of a file with marks, beside copies with ``flips``."""
        texts = read_originals(tree({**self.base, **content}), (file,), self.runner)
        copies = {key: flips(unit) for key, unit in texts.units.items()}
        made = replace(make_copies(texts, texts.units.values(), copies), seconds=seconds)
        return made, separate_copies(made, self.run(content, file, copies=made), texts)


def room_of(sandboxes: Sandboxes, environment: Environment = PLAIN, limits: ProblemLimits = LARGE, **room: Any) -> Room:
    """Return the room of an environment; ``room`` has its other attributes."""
    return Room(partial(sandboxes.open, environment.manifest, limits), **room)


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
        base: the tree before the fix; of Python, over the default one.
        hidden: the tests after it; likewise.
        fix: the sources after it.
        expected: the ids that must pass.
        known: those of them that pass before the fix; most tests here do not mind if they are none of these.
        run: the test files that are run; by default those of the expected ids.
        environment: that they are graded in.
        fields: of the problem's manifest, such as its ``language`` and ``runner``.
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
        environment: Environment = PLAIN,
        **fields: Any,
    ) -> None:
        own: dict[str, Files] = {} if "language" in fields else {"base": BASE, "hidden": {TESTS: TEST}}
        fields = {"python_path": ("", "src"), **({} if run is None else {"test_files": tuple(run)}), **fields}
        self.sandboxes = sandboxes
        self.base = tree({**own.get("base", {}), **(base or {})})
        old = tuple(known)
        self.problem = problem(
            "shop-1",
            environment.manifest,
            hidden=changes({**own.get("hidden", {}), **(hidden or {})}),
            fix=changes(fix if fix is not None else {SOURCE: FIX}),
            wanted=[test for test in expected if test not in old],
            known=old,
            statement="The first price is left out.",
            limits=limits or ProblemLimits(seconds=30, memory_mb=256),
            **fields,
        )

    def validated(self) -> "World":
        """Return this world after validation: with the mutants that its fix fails."""
        found = copy(self)
        found.problem = with_controls(self.problem, self.base, self.sandboxes)
        return found

    @property
    def audit(self) -> ControlAudit:
        """Return what validation found."""
        assert self.problem.manifest.controls is not None
        return self.problem.manifest.controls

    def grade(self, change: Files | str) -> Grade:
        """Grade a change of the base tree, or a patch as text."""
        patch = change if isinstance(change, str) else make_patch(self.base, changes(change))
        return grade(self.problem, self.base, patch, self.sandboxes)

    def report(self, change: Files) -> TestReport:
        """Run the hidden tests on a change of the base tree, without their copies."""
        after = self.base.overlay(changes(change))
        return run_hidden_tests(self.problem, after, self.sandboxes, selection_of(self.problem))
