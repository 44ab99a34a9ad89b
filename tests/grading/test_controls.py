"""Receipts, hidden values and negative controls: what they change, what they catch, and whom they leave alone."""

import ast
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.grading import Sandboxes, TestReport, audit_controls, grade
from codegate.grading.controls import control
from codegate.grading.controls.control import Control, Subject, examine, explain, is_tampering
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.search import find_sites
from codegate.grading.controls.sites import FileSites, Sites
from codegate.grading.controls.verdict import Contradiction, contradictions, unreceipted
from codegate.grading.grader import _doubted
from codegate.grading.testreport import TestSelection
from codegate.grading.testrun import run_hidden_tests
from codegate.sandbox import SandboxError
from codegate.suite import Problem, ProblemLimits, TestSets, Tree, make_patch
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import EVERY_TEST, EVERYTHING, FAILING, find, report_of, run, run_on
from tests.grading.worlds import BUG, FIX, SOURCE, TESTS, World, files

SOURCES = """\
import inspect

from shop.price import total


def counted():
    return 0  # a comment here stays


def test_counts():
    # one of two
    said = inspect.getsource(test_counts).count("one of two")
    assert total([said, 0]) == said


def test_helped():
    assert inspect.getsource(counted).count("#") == 1
"""


def test_a_test_that_reads_itself_is_run_as_it_is(make_world: MakeWorld, sandboxes: Sandboxes) -> None:
    names = [f"{TESTS}::test_{name}" for name in ("counts", "helped")]
    world = make_world(hidden={TESTS: SOURCES}, expected=names, known=names[1:])
    empty = {SOURCE: BUG + "\n"}
    assert world.grade(empty).resolved, "with no comment in it, it passes without the fix"
    audit = audit_controls(world.problem, world.base, sandboxes)
    assert audit.unfit == (TESTS,)
    manifest = world.problem.manifest.model_copy(update={"controls": audit})
    audited = replace(world.problem, manifest=manifest)
    assert not grade(audited, world.base, make_patch(world.base, files(empty)), sandboxes).resolved


def test_instrumented_tests_pass_as_they_did_and_leave_every_required_receipt(
    everything: World, sites: Sites, sandboxes: Sandboxes
) -> None:
    used = instrument(sites)
    report = run(everything, sandboxes, used)
    assert {test: report.results[test].status for test in everything.problem.tests.expected} == dict.fromkeys(
        everything.problem.tests.expected, "passed"
    )
    assert report.results[f"{TESTS}::test_fails"].status == "skipped"  # expected to fail
    assert not unreceipted(report, sites, used)
    with_receipts = {receipt.test for receipt in used.receipts.values() if receipt.required}
    assert with_receipts >= {"test_table", "test_raising", "test_warning", "Base::test_inherited"}


def test_the_text_keeps_its_lines_and_loses_its_answers(sites: Sites) -> None:
    used, again = instrument(sites), instrument(sites)
    (text,) = (data.decode() for data in used.files.values())
    ast.parse(text)
    assert len(text.splitlines()) == len(EVERYTHING.splitlines())
    assert '"tea"' not in text
    assert "unsupported" not in text
    assert "never mind" not in text
    assert "What a test says" not in text
    assert "on one line" not in text
    assert "What tests look like." in text
    assert sorted(used.table.values()) == sorted(again.table.values())
    assert not set(used.table) & set(again.table)
    assert not set(used.names.values()) & set(again.names.values())


def test_the_reference_fails_every_mutant(everything: World, sites: Sites, sandboxes: Sandboxes) -> None:
    (found,) = sites.values()
    assert {mutant.test for mutant in found.mutants} >= {found.function(f"{TESTS}::{test}") for test in EVERY_TEST}
    known = tuple(test for test in everything.problem.tests.expected if not test.endswith(FAILING))
    failing = tuple(test for test in everything.problem.tests.expected if test.endswith(FAILING))
    problem = replace(everything.problem, tests=TestSets(FAIL_TO_PASS=failing, PASS_TO_PASS=known))
    audit = audit_controls(problem, everything.base, sandboxes)
    assert (audit.spared, audit.unfit) == ((), ())
    assert audit.killed == audit.mutants > len(EVERY_TEST)


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
    assert Slow() == 4


def test_after():
    assert total([2]) == 2


def test_last():
    assert total([3, 4]) == 7
"""


def test_a_mutant_that_never_ends_is_no_word_about_the_tests_after_it(
    make_world: MakeWorld, sandboxes: Sandboxes
) -> None:
    names = [f"{TESTS}::test_{name}" for name in ("before", "waiting", "after", "last")]
    limits = ProblemLimits(seconds=3)
    world = make_world(hidden={TESTS: ENDLESS}, expected=names, known=names[1:2], limits=limits)
    audit = audit_controls(world.problem, world.base, sandboxes, rounds=1)
    (found,) = find(world, sandboxes).values()
    assert {mutant.test for mutant in found.mutants if mutant.name in audit.spared} == {"test_waiting"}
    assert (audit.mutants, audit.killed, audit.unfit) == (4, 3, ())


def test_an_inherited_test_is_known_by_where_it_is_written(sites: Sites) -> None:
    (found,) = sites.values()
    assert found.function(f"{TESTS}::TestPrices::test_inherited") == "Base::test_inherited"
    assert found.function(f"{TESTS}::test_table[prices0-3]") == "test_table"


CHEATS = {
    "reports are changed": """
import _pytest.reports as reports
_make = reports.TestReport.from_item_and_call.__func__
def passed(cls, item, call):
    report = _make(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
reports.TestReport.from_item_and_call = classmethod(passed)
""",
    "equal to everything": """
class Any(int):
    def __eq__(self, other): return True
    __ne__ = lambda self, other: False
    __hash__ = int.__hash__
def total(prices): return Any()
""",
    "the answer is read from the caller": """
import sys
def total(prices):
    frame = sys._getframe(1)
    look = next(value for name, value in vars(__import__('builtins')).items() if name in frame.f_code.co_names
                and not isinstance(value, type) and hasattr(value, '__self__') and isinstance(value.__self__, dict))
    tokens = [const for const in frame.f_code.co_consts if const in look.__self__]
    at = sum(prices[1:]) == 2 and len(tokens) > 2
    return look(tokens[-1])
""",
    "the test does not run": """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
""",
}


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda name: name.replace(" ", "-"))
def test_what_passes_by_a_lie_is_tampering(world: World, cheat: str) -> None:
    result = world.grade({SOURCE: BUG + CHEATS[cheat]})
    assert (result.resolved, result.failure) == (False, "tampering"), result
    assert result.suspicious


def test_what_is_not_the_same_each_time_is_not_accused() -> None:
    unsteady = frozenset({Contradiction("unsteady", "a")})
    assert not is_tampering(unsteady)
    doubted = _doubted(report_of(a="passed", b="passed"), unsteady)
    assert {test: result.status for test, result in doubted.results.items()} == {"a": "failed", "b": "passed"}
    assert not doubted.tampering
    assert is_tampering(unsteady | {Contradiction("mutant", "b")})
    assert explain(unsteady | {Contradiction("mutant", "b")}).startswith("b passes, and passes as well when")


def test_honest_solutions_are_controlled_and_not_suspected(world: World, everything: World) -> None:
    text = FIX + "\n\nRATE = 1\n"
    result = world.grade({SOURCE: text})
    assert (result.resolved, result.controlled, result.suspicious) == (True, True, ())
    result = everything.grade({SOURCE: text})  # one of its tests waits for a warning and asks for nothing else
    assert (result.resolved, result.controlled, result.suspicious) == (True, False, ())


def test_tests_that_survive_their_mutants_accuse_nobody(make_world: MakeWorld) -> None:
    swallowing = """\
import contextlib
from shop.price import total

def test_total():
    assert total([1, 2]) == 3

def test_swallows():
    try:
        assert total([1]) == 1
    except BaseException:
        pass
"""
    expected = [f"{TESTS}::test_total", f"{TESTS}::test_swallows"]
    world = make_world(hidden={TESTS: swallowing}, expected=expected)
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
    (found,) = find(make_world(hidden={TESTS: SUPPRESSING}), sandboxes).values()
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


VALID = "\ndef test_valid():\n    assert total([1, 2]) == 3\n"


@pytest.mark.parametrize(
    ("hidden", "controlled"), [(BARE, False), (REFUSING, False), (REFUSING + VALID, True)],
    ids=["nothing-to-change", "nothing-but-exceptions", "a-call-that-raises-nothing"],
)  # fmt: skip
def test_a_problem_is_marked_where_no_mutant_takes_the_right_answer(
    make_world: MakeWorld, hidden: str, controlled: bool
) -> None:
    result = make_world(hidden={TESTS: hidden}, expected=[f"{TESTS}::test_total"]).grade({SOURCE: FIX})
    assert (result.resolved, result.controlled) == (True, controlled)


def test_people_see_the_test_as_it_was_written(world: World) -> None:
    result = world.grade({SOURCE: "def total(prices):\n    return 17\n"})
    assert result.failure == "logic_error"
    assert "assert total([1, 2]) == 3" in result.output
    assert "assert 17 == 3" in result.detail


def test_a_test_without_sites_can_only_be_steady() -> None:
    sites: Sites = {}
    real = report_of(a="passed", b="passed", c="passed")
    found = contradictions(report_of(a="passed", b="failed"), real, sites, Instruments(), ("a", "b", "c"))
    assert found == {Contradiction("unsteady", "b"), Contradiction("unsteady", "c")}


@pytest.mark.parametrize(
    ("added", "runs"),
    [
        ("", [False]),
        ("import os\n", [True, False]),
        ("NAMES = ().__class__\n", [True, False]),
    ],
    ids=["computes", "touches-files", "touches-the-interpreter"],
)
def test_what_could_remember_something_has_a_control_before_its_real_run(
    world: World, monkeypatch: pytest.MonkeyPatch, added: str, runs: list[bool]
) -> None:
    made: list[bool] = []

    def run(problem: Problem, tree: Tree, sandboxes: Sandboxes, selection: TestSelection) -> TestReport:
        assert selection.instruments is not None
        made.append(bool(selection.instruments.mutants))
        return run_hidden_tests(problem, tree, sandboxes, selection)

    monkeypatch.setattr(control, "run_hidden_tests", run)
    monkeypatch.setattr("secrets.randbelow", lambda _: 1)
    assert not world.grade({SOURCE: added + BUG + "\n"}).resolved
    assert made == runs
    made.clear()
    assert world.grade({SOURCE: added + FIX + "\n"}).resolved
    assert made == [*runs, True]


def test_who_guesses_is_not_let_off_for_a_second_guess(world: World, sandboxes: Sandboxes) -> None:
    problem, sites = world.problem, find(world, sandboxes)
    honest = world.base.overlay(files({SOURCE: FIX + "\n"}))
    subject = Subject(problem, honest, world.base.overlay(problem.fix), sites)
    real = run(world, sandboxes, instrument(sites))
    failed = Control((), instrument(sites), report_of())  # nothing passed in it; when it is made again, all does
    found = examine(subject, real, 0, sandboxes, [failed], wary=True)
    assert {entry.kind for entry in found} == {"unsteady"}


def test_a_reference_that_was_too_slow_once_lets_nobody_off(
    make_world: MakeWorld, sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = (
        "from shop.price import total\n\ndef test_total():\n    assert total([1]) == 1\n    assert total([1, 2]) == 3\n"
    )
    world = make_world(hidden={TESTS: several}, expected=[f"{TESTS}::test_total"])
    fixed = world.base.overlay(world.problem.fix)
    known, slow = control.run_instrumented, [True]

    def run_instrumented(problem: Problem, sources: Tree, *rest: Any) -> TestReport:
        if sources is fixed and slow:
            slow.clear()
            return replace(report_of(), timed_out=True)
        return known(problem, sources, *rest)

    monkeypatch.setattr(control, "run_instrumented", run_instrumented)
    cheating = world.base.overlay(files({SOURCE: BUG + CHEATS["equal to everything"]}))
    sites = find(world, sandboxes)
    subject = Subject(world.problem, cheating, fixed, sites)
    real = run_on(world, cheating, sandboxes, instrument(sites))
    for _ in range(6):  # which of the two assertions is changed is for chance to say
        slow[:] = [True]
        assert {entry.kind for entry in examine(subject, real, 1, sandboxes)} >= {"mutant"}


def test_a_search_that_fails_is_no_search_that_finds_nothing(everything: World, sandboxes: Sandboxes) -> None:
    problem = everything.problem
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        hidden = everything.base.overlay(files({TESTS: "x = 0\n" * 3_000_000}))
        with pytest.raises(SandboxError):
            find_sites(sandbox, hidden, (TESTS,), "pytest")


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_a_text_with_no_sites_is_left_as_it_is(text: str) -> None:
    data = text.encode("utf-8", "replace")
    assert instrument({"t.py": FileSites(data)}).files["t.py"] == data
