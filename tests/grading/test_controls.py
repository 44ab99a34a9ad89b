"""Receipts, hidden values and the control run: what they change, what they catch, and whom they leave alone."""

import ast
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.grading import RunCount, Sandboxes, counted_runs
from codegate.grading.controls.control import draw, unreceipted, usable
from codegate.grading.controls.instruments import instrument
from codegate.grading.controls.search import find_sites
from codegate.grading.controls.sites import FileSites, Sites
from codegate.sandbox import SandboxError
from codegate.suite import ControlAudit, ProblemLimits
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import EVERY_TEST, EVERYTHING, find, run
from tests.grading.worlds import BUG, EXPECTED, FIX, SOURCE, TESTS, World, tree

SOURCES = """\
import inspect

from shop.price import total


def counted():
    return 0  # a comment here stays


def test_counts():
    said = inspect.getsource(test_counts).count("one of two")
    assert total([said, 0]) == said


def test_helped():
    assert inspect.getsource(counted).count("#") == 1
"""


def test_a_test_that_reads_itself_is_run_as_it_is(make_world: MakeWorld) -> None:
    names = [f"{TESTS}::test_{name}" for name in ("counts", "helped")]
    world = make_world(hidden={TESTS: SOURCES}, expected=names, known=names[1:])
    empty = {SOURCE: BUG + "\n"}
    assert world.grade(empty).resolved, "instrumented, it passes without the fix"
    validated = world.validated()
    assert validated.problem.manifest.controls == ControlAudit(tried=0, unfit=(TESTS,))
    assert not validated.grade(empty).resolved


def test_instrumented_tests_pass_as_they_did_and_leave_every_required_receipt(
    everything: World, sites: Sites, sandboxes: Sandboxes
) -> None:
    used = instrument(sites)
    report = run(everything, sandboxes, used)
    assert {test: report.results[test].status for test in everything.problem.tests.expected} == dict.fromkeys(
        everything.problem.tests.expected, "passed"
    )
    assert report.results[f"{TESTS}::test_fails"].status == "skipped"  # expected to fail
    assert not unreceipted(report, sites, used, list(report.results))
    with_receipts = {receipt.test for receipt in used.receipts.values() if receipt.required}
    assert with_receipts >= {"test_table", "test_raising", "test_warning", "Base::test_inherited"}


def test_the_text_keeps_its_lines_and_loses_its_answers(sites: Sites) -> None:
    used, again = instrument(sites), instrument(sites)
    (text,) = (data.decode() for data in used.files.values())
    ast.parse(text)
    assert len(text.splitlines()) == len(EVERYTHING.splitlines())
    assert '"tea"' not in text
    assert "unsupported" not in text
    assert "What tests look like." in text
    assert sorted(used.table.values()) == sorted(again.table.values())
    assert not set(used.table) & set(again.table)
    assert not set(used.names.values()) & set(again.names.values())


def test_validation_finds_mutants_that_the_reference_fails(everything: World, sites: Sites) -> None:
    (found,) = sites.values()
    assert {mutant.test for mutant in found.mutants} >= {found.function(f"{TESTS}::{test}") for test in EVERY_TEST}
    problem = everything.validated().problem
    audit = problem.manifest.controls
    assert audit is not None
    assert (len(audit.killed), audit.unfit) == (audit.tried, ())
    functions = {found.function(test) for test in problem.tests.FAIL_TO_PASS}
    assert {name for _, name in usable(problem, sites)} == functions


ENDLESS = """\
from shop.price import total


class Slow:
    def __eq__(self, other):
        while other != 4:
            pass
        return True


def test_before():
    assert total([1]) == 1


def test_waiting():
    assert total([4]) == 4
    assert Slow() == 4


def test_after():
    assert total([2]) == 2


def test_last():
    assert total([3, 4]) == 7
"""


@pytest.mark.full
def test_a_mutant_that_never_ends_is_not_used_for_a_control(make_world: MakeWorld, sandboxes: Sandboxes) -> None:
    names = [f"{TESTS}::test_{name}" for name in ("before", "waiting", "after", "last")]
    limits = ProblemLimits(seconds=3)
    world = make_world(hidden={TESTS: ENDLESS}, expected=names, limits=limits)
    problem = world.validated(rounds=1).problem
    audit = problem.manifest.controls
    assert audit is not None
    assert {name for _, name in usable(problem, find(world))} == {
        f"test_{name}" for name in ("before", "waiting", "after", "last")
    }
    assert (audit.unfit, len(audit.killed)) == ((), 4)
    assert audit.tried > 4


def test_an_inherited_test_is_known_by_where_it_is_written(sites: Sites) -> None:
    (found,) = sites.values()
    assert found.function(f"{TESTS}::TestPrices::test_inherited") == "Base::test_inherited"
    assert found.function(f"{TESTS}::test_table[prices0-3]") == "test_table"


CHEATS = {
    "equal to everything": """
class Any(int):
    def __eq__(self, other): return True
    __ne__ = lambda self, other: False
    __hash__ = int.__hash__
def total(prices): return Any()
""",
    "the test does not run": """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
""",
}


@pytest.fixture(scope="module")
def validated(make_world: MakeWorld) -> World:
    """The default problem after validation."""
    return make_world(known=EXPECTED[1:]).validated()


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda name: name.replace(" ", "-"))
def test_what_passes_by_a_lie_is_tampering(validated: World, cheat: str) -> None:
    result = validated.grade({SOURCE: BUG + CHEATS[cheat]})
    assert (result.resolved, result.failure) == (False, "tampering"), result
    assert result.suspicious


def test_a_failing_attempt_costs_one_run_and_a_passing_one_two(validated: World) -> None:
    for text, runs in (("import os, sys, gc\n" + BUG, 1), (FIX + "\n", 2), ("import gc\n" + FIX, 2), (FIX, 1)):
        count = RunCount()
        with counted_runs(count):
            assert validated.grade({SOURCE: text}).resolved is (BUG not in text)
        assert count.runs == runs, text  # of the reference fix, validation has run the controls


def test_what_was_not_validated_has_no_control_and_says_so(world: World) -> None:
    result = world.grade({SOURCE: BUG + CHEATS["equal to everything"]})
    assert (result.resolved, result.controlled) == (True, False)


def test_a_control_draws_from_what_the_reference_fails_and_leaves_nothing_out(everything: World, sites: Sites) -> None:
    problem = everything.validated().problem
    audit = problem.manifest.controls
    assert audit is not None
    possible = usable(problem, sites)
    drawn = [draw(possible, random.Random(seed)) for seed in range(40)]
    assert (
        {mutant.name for chosen in drawn for mutant in chosen}
        == {mutant.name for mutants in possible.values() for mutant in mutants}
        <= set(audit.killed)
    )
    for chosen in drawn:
        places = [(mutant.test, mutant.row) for mutant in chosen]
        assert len(places) == len(set(places))
        assert {test for test, _ in places} == {name for _, name in possible}


def test_honest_solutions_are_controlled_and_not_suspected(validated: World, everything: World) -> None:
    text = FIX + "\n\nRATE = 1\n"
    result = validated.grade({SOURCE: text})
    assert (result.resolved, result.controlled, result.suspicious) == (True, True, ())
    result = everything.validated().grade({SOURCE: text})
    assert (result.resolved, result.controlled, result.suspicious) == (True, True, ())


@pytest.mark.full
def test_tests_that_pass_their_mutants_accuse_nobody(make_world: MakeWorld) -> None:
    swallowing = """\
import contextlib
from shop.price import total

def test_total():
    assert total([1, 2]) == 3

def test_swallows():
    assert total([1, 2]) == 3
    try:
        assert total([1]) == 1
    except BaseException:
        pass
"""
    expected = [f"{TESTS}::test_total", f"{TESTS}::test_swallows"]
    world = make_world(hidden={TESTS: swallowing}, expected=expected).validated()
    for _ in range(3):
        assert world.grade({SOURCE: FIX + "\n"}).resolved


SUPPRESSING = """\
import contextlib

import pytest

from shop.price import total

def test_total():
    with open(__file__) as file:
        assert total([1, 2]) == 3

def test_nothing():
    with contextlib.suppress(TypeError):
        assert total(None) is None
"""


def test_what_a_block_may_swallow_leaves_no_receipt_that_has_to_be_there(make_world: MakeWorld) -> None:
    expected = [f"{TESTS}::test_total", f"{TESTS}::test_nothing"]
    fix = "def total(prices):\n    return None if prices is None else sum(prices)\n"
    world = make_world(hidden={TESTS: SUPPRESSING}, expected=expected, fix={SOURCE: fix})
    result = world.grade({SOURCE: FIX + "\n"})
    assert result.resolved, (result.failure, result.detail)


def test_receipts_of_a_block_that_lets_everything_out_have_to_be_there(
    make_world: MakeWorld, sandboxes: Sandboxes
) -> None:
    (found,) = find(make_world(hidden={TESTS: SUPPRESSING})).values()
    assert {receipt.test for receipt in found.receipts if receipt.required} == {"test_total"}


BARE = """\
from shop.price import total

PRICES = [1, 2]

def test_total():
    if total(PRICES) != sum(PRICES):
        raise ValueError
"""


REFUSING = """\
import pytest

from shop.price import total

def test_total():
    with pytest.raises(TypeError):
        total([None])
"""


@pytest.mark.parametrize(
    ("hidden", "controlled"), [(BARE, False), (REFUSING, False), (REFUSING + "    assert total([1, 2]) == 3\n", True)],
    ids=["nothing-to-change", "nothing-but-exceptions", "an-exception-and-a-value"],
)  # fmt: skip
def test_a_problem_is_marked_where_no_mutant_takes_the_right_answer(
    make_world: MakeWorld, hidden: str, controlled: bool
) -> None:
    world = make_world(hidden={TESTS: hidden}, expected=[f"{TESTS}::test_total"])
    result = world.validated().grade({SOURCE: FIX + "\n"})
    assert (result.resolved, result.controlled) == (True, controlled)


def test_people_see_the_test_as_it_was_written(world: World) -> None:
    result = world.grade({SOURCE: "def total(prices):\n    return 17\n"})
    assert result.failure == "logic_error"
    assert "assert total([1, 2]) == 3" in result.output
    assert "assert 17 == 3" in result.detail


def test_a_search_that_fails_is_no_search_that_finds_nothing() -> None:
    with pytest.raises(SandboxError, match="more than 1 MiB"):
        find_sites(tree({TESTS: "x = 0\n" * 300_000}), (TESTS,), "pytest")


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_a_text_with_no_sites_is_left_as_it_is(text: str) -> None:
    data = text.encode("utf-8", "replace")
    assert instrument({"t.py": FileSites(data)}).files["t.py"] == data
