"""A small change of each language, as parts of a cut: what statements are made from in these tests."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Literal

from codegate.grading import TestResult
from codegate.mining.cut import Cut
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.mining.proving.outcomes import TestKind, TestOutcomes
from codegate.mining.proving.validation import OpenSandbox, ValidatedChange, try_cut
from codegate.mining.sources.changes import PathChange
from codegate.mining.sources.history import MergedChange
from codegate.mining.units import Rejected
from codegate.suite import ProblemLimits, Tree, TreeFile

BODY = "\n\nThe result is wrong for some values. The result should be right for all values."
"""What a statement can be made of: something observed, and something expected."""

BASE = {
    "pkg/sums.py": "def total(items):\n    first = items[0]\n    return first + sum(items[1:])\n",
    "tests/test_sums.py": "from pkg.sums import total\n",
}
FIXED = (
    "def total(items):\n    if not items:\n        return nil_sum(items)\n    return first + sum(items[1:], start=0)\n"
)
HIDDEN = "from pkg.sums import total\n\ndef test_total_of_nothing():\n    assert total([]) == 0\n" + "# filler\n" * 10
TEST = "tests/test_sums.py::TestTotals::test_total_of_nothing[x-1]"
FAILED = TestResult(id=TEST, status="failed", exception="IndexError", message="list index out of range")
DAY = datetime(2025, 1, 1, tzinfo=UTC)
TODAY = DAY.date()


def files(texts: Mapping[str, str]) -> dict[str, TreeFile]:
    return {path: TreeFile(text.encode()) for path, text in texts.items()}


def cut_of(base: Mapping[str, str], fix: Mapping[str, str], hidden: Mapping[str, str]) -> Cut:
    tree = Tree(files(base))
    fixed = tree.overlay(files(fix)).overlay(files(hidden))
    return Cut(tree, files(hidden), files(fix), fixed, tuple(hidden), (), 3)


def sums_cut(extra: Mapping[str, str] | None = None) -> Cut:
    return cut_of({**BASE, **(extra or {})}, {"pkg/sums.py": FIXED}, {"tests/test_sums.py": HIDDEN})


def unit_of(
    message: str, kind: Literal["merge", "squash", "direct"] = "direct", changed: Sequence[str] = ()
) -> MergedChange:
    title = message.partition("\n")[0]
    changes = tuple(PathChange(path, "M", "100644", "100644", "a" * 40, "b" * 40, 1, 1) for path in changed)
    return MergedChange("c" * 40, "b" * 40, kind, 7, "", False, title, message, "A", "a@b", DAY, changes)


def outcomes_of(test: str, result: TestResult | None, kind: TestKind = "assertion") -> TestOutcomes:
    return failing((test,), {test: result}, kind)


def failing(
    tests: tuple[str, ...], evidence: Mapping[str, TestResult | None] | None = None, kind: TestKind = "assertion"
) -> TestOutcomes:
    return TestOutcomes(
        fail_to_pass=tests,
        pass_to_pass=(),
        quarantined=(),
        pass_to_fail=(),
        flaky_fix_tests=False,
        kinds=dict.fromkeys(tests, kind),
        evidence=evidence or {},
    )


def validate_cut(
    cut: Cut,
    open_sandbox: OpenSandbox,
    rounds: int = 1,
    today: date = TODAY,
    *,
    include_new_tests: bool = False,
    support: LanguageSupport | None = None,
) -> ValidatedChange | Rejected:
    """Run the test files of ``cut`` in both states until it is proven: by pytest, or as ``support`` does."""
    settings = (support.runner(cut.fixed) if support else None) or RunnerSettings("pytest")
    compiled = ProblemLimits(seconds=240.0, memory_mb=3072, pids=512, disk_mb=1024)
    limits = compiled if support else ProblemLimits(seconds=120.0)
    trial = try_cut(cut, open_sandbox, today, include_new_tests, settings, limits)
    return trial if isinstance(trial, Rejected) else trial.confirm(rounds)
