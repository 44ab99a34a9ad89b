"""Which tests of the repository an answer breaks, beside those of the fix."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from codegate.grading import (
    Regressions,
    TestReport,
    TestSelection,
    find_regressions,
    run_full_test_suite,
    run_tests,
    shown_tests,
)
from codegate.suite import ProblemLimits, Tree, make_patch
from tests.grading.conftest import MakeWorld
from tests.grading.worlds import FIX, SOURCE, Files, Opener, World
from tests.kit.problem import changes

pytestmark = pytest.mark.sandbox


TAX = "def tax():\n    return 1\n"
OTHERS: Files = {
    "shop/tax.py": TAX,
    "tests/test_tax.py": "from shop.tax import tax\n\ndef test_tax():\n    assert tax() == 1\n"
    "\ndef test_known():\n    assert tax() == 2\n",
}
ONE = "tests/test_tax.py::test_tax"
NOTHING = "tests/test_price.py::test_nothing"
MakeOther = Callable[..., World]


@pytest.fixture
def make_other(make_unboxed: MakeWorld) -> MakeOther:
    """Make problems with a source file and a test file that the fix does not touch."""

    def make(base: Files | None = None, **options: object) -> World:
        return make_unboxed(base={**OTHERS, **(base or {})}, known=[NOTHING], **options)

    return make


def found(world: World, change: Files, passing: frozenset[str] | None = None) -> Regressions | None:
    if passing is None:
        passing = run_full_test_suite(world.problem, world.base, world.sandboxes)
    return find_regressions(
        world.problem, world.base, make_patch(world.base, changes(change)), passing, world.sandboxes
    )


def test_a_test_that_the_fix_does_not_touch_is_a_regression(make_other: MakeOther) -> None:
    world = make_other()
    passing = run_full_test_suite(world.problem, world.base, sandboxes=world.sandboxes)
    assert passing == {ONE, NOTHING}, "no fail-to-pass test, and none that fails with the fix"
    broken = {SOURCE: FIX, "shop/tax.py": TAX.replace("1", "3")}
    assert world.grade(broken).resolved, "the hidden tests do not see it"
    assert found(world, broken, passing) == Regressions(compared=2, failing=1, first=(ONE,))
    own = {"tests/test_tax.py": "def test_tax():\n    assert False\n", "tests/conftest.py": "raise SystemExit\n"}
    assert found(world, {SOURCE: FIX, **own}, passing) == Regressions(compared=2, failing=0), "an answer's own tests"
    unloaded = {SOURCE: FIX, "shop/tax.py": None}
    assert found(world, unloaded, passing) == Regressions(compared=2, failing=1, first=(ONE,))


@pytest.mark.parametrize(
    ("passes", "compared", "failing"),
    [
        pytest.param({0, 1, 2}, 2, 1, id="steady until the answer", marks=pytest.mark.full),
        pytest.param({0}, 1, 0, id="fails in the second run with the fix", marks=pytest.mark.full),
        pytest.param({0, 1, 2, 4}, 2, 0, id="passes in the second run with the answer"),
    ],
)
def test_a_flaky_test_is_no_regression(
    make_unboxed: MakeWorld, monkeypatch: pytest.MonkeyPatch, passes: set[int], compared: int, failing: int
) -> None:
    test = f"def test_a():\n    assert int(open('run.txt').read()) in {passes}\n"
    world, numbers = make_unboxed(base={"tests/test_a.py": test}, known=[NOTHING]), count()

    def run_numbered(opened: Opener, tree: Tree, selection: TestSelection) -> TestReport:
        if selection.files == ("tests/test_a.py",):
            tree = tree.overlay(changes({"run.txt": str(next(numbers))}))
        return run_tests(opened, tree, selection)

    monkeypatch.setattr(shown_tests, "run_tests", run_numbered)
    assert found(world, {SOURCE: FIX}) == Regressions(
        compared=compared, failing=failing, first=("tests/test_a.py::test_a",) * failing
    )


@pytest.mark.full
def test_a_test_that_writes_to_its_own_file_is_not_compared(make_other: MakeOther) -> None:
    test = "def test_a():\n    open(__file__, 'a').write('#')\n"
    assert found(make_other({"tests/test_a.py": test}), {SOURCE: FIX}) == Regressions(compared=2, failing=0)


HANGING = "import time\n\ntime.sleep(600)\n"
FAILING = TAX.replace("1", "3")
FORGING = "open('tests/test_tax.py', 'a').write('# \\n')\n" + TAX
SKIPPING = f"import pytest\n\n{FIX}\n_total = total\n\ndef total(prices):\n    return _total(prices) or pytest.skip()\n"


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        pytest.param({"shop/tax.py": HANGING}, {ONE}, id="hangs", marks=pytest.mark.full),
        pytest.param(
            {SOURCE: HANGING, "shop/tax.py": FAILING},
            {NOTHING, ONE},
            id="hangs before a file that fails",
            marks=pytest.mark.full,
        ),
        pytest.param({SOURCE: SKIPPING, "shop/tax.py": FORGING}, {NOTHING, ONE}, id="skips, and rewrites a test file"),
    ],
)
def test_whatever_does_not_pass_is_a_regression(make_other: MakeOther, change: Files, failing: set[str]) -> None:
    world = make_other(limits=ProblemLimits(seconds=3, memory_mb=256))
    assert found(world, {SOURCE: FIX, **change}, frozenset({ONE, NOTHING})) == Regressions(
        compared=2, failing=len(failing), first=tuple(sorted(failing))
    )


def test_files_that_there_is_no_time_for_are_not_compared(
    make_other: MakeOther, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_other(limits=ProblemLimits(seconds=3, memory_mb=256))
    monkeypatch.setattr(shown_tests, "_SUITE_LIMITS", 0.1)
    assert found(world, {SOURCE: HANGING, "shop/tax.py": FAILING}, frozenset({ONE, NOTHING})) == Regressions(
        compared=1, failing=1, first=(NOTHING,)
    )
    assert found(world, {SOURCE: FIX}, frozenset()) is None


def test_nothing_is_run_without_test_files(make_other: MakeOther, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_other()
    given = world.problem.manifest.model_copy(update={"runner": "junit", "command": ("make", "test")})
    world.problem = replace(world.problem, manifest=given)
    monkeypatch.setattr(shown_tests, "run_tests", None)
    assert found(world, {SOURCE: FIX}) is None
