"""Receipts, hidden values and negative controls: what they change, what they catch, and whom they leave alone."""

import ast
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.grading import Sandboxes, TestReport, TestResult, audit_controls, grade, run_tests
from codegate.grading.controls import control
from codegate.grading.controls.control import Control, Subject, examine, explain, is_tampering
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.plan import choose_mutants
from codegate.grading.controls.search import find_sites
from codegate.grading.controls.sites import FileSites, Mutant, Sites
from codegate.grading.controls.verdict import Contradiction, contradictions, ids_by_function, unreceipted
from codegate.grading.grader import _doubted
from codegate.grading.testreport import TestSelection
from codegate.grading.testreport import test_selection as selection_of
from codegate.grading.testrun import run_hidden_tests
from codegate.sandbox import SandboxError
from codegate.suite import Problem, ProblemLimits, TestSets, Tree, make_patch
from tests.grading.conftest import MakeWorld
from tests.grading.worlds import BUG, FIX, SOURCE, TESTS, World, files

EVERYTHING = '''\
"""What tests look like."""
import contextlib
import types
import unittest
import warnings

import pytest

from shop.price import total

TABLE = [([1, 2], 3), ([], 0)]


@pytest.mark.parametrize("prices, sum_", [([1, 2], 3), ([5], 5)])
def test_table(prices, sum_):
    assert total(prices) == sum_


def test_words():
    """What a test says of itself."""
    text = "a" "b"
    long = """one
two"""; short = f"{text!r:>10} {1 + 1}"
    assert text == "ab" and len(long) == 7, "never mind"
    assert (total([1, 2])
            == 3)
    assert not total([]); assert total([2]) in (2, 3)
    assert short
    if text: assert text == 'ab'  # on one line
    return None


def test_raising():
    with pytest.raises(TypeError, match="unsupported"):
        total([None, 1])
    with pytest.raises(TypeError) as caught, contextlib.suppress(ValueError):
        total(1)
    assert caught.value.args
    pytest.raises(TypeError, total, 1)


def test_warning():
    with pytest.warns(UserWarning):
        warnings.warn("careful")


def test_match():
    match total([1, 2]):
        case 3:
            found = 1 if 2else 3
        case _:
            found = -1
    assert found == 1


def test_approximately():
    assert total([0.1, 0.2]) == pytest.approx(0.3)
    for prices, expected in TABLE:
        assert total(prices) == expected


class Base(unittest.TestCase):
    def test_inherited(self):
        self.assertEqual(total([4]), 4)


class TestPrices(Base):
    def setUp(self):
        self.prices = {"tea": 2, b"raw": -1.5}

    def helper(self):
        """Helpers are asked for their docstrings."""
        return self

    def recorder(self):
        return types.SimpleNamespace(fail=str)


    def test_methods(self):
        self.assertTrue(self.prices)
        self.assertIn("asked", self.helper.__doc__)
        assert self.helper().recorder().fail("recorded") == "recorded"
        self.assertIn("tea", self.prices)
        self.assertAlmostEqual(sum(self.prices.values()), 0.5)
        with self.assertRaises(TypeError):
            total(None)
        for price in (1, 2):
            with self.subTest(price=price):
                self.assertEqual(total([price]), price)


@pytest.mark.xfail
def test_fails():
    assert False


async def not_a_test():
    assert "x" == "x"
'''
EVERY_TEST = (
    "test_table[prices0-3]", "test_table[prices1-5]", "test_words", "test_raising", "test_warning", "test_match",
    "test_approximately", "Base::test_inherited", "TestPrices::test_inherited", "TestPrices::test_methods",
)  # fmt: skip


@pytest.fixture(scope="module")
def everything(make_world: MakeWorld) -> World:
    return make_world(hidden={TESTS: EVERYTHING}, expected=[f"{TESTS}::{test}" for test in EVERY_TEST])


FAILING = ("test_words", "test_match", "test_inherited", "test_approximately")  # before the fix


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


def find(world: World, sandboxes: Sandboxes) -> Sites:
    problem = world.problem
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        return find_sites(sandbox, world.base.overlay(problem.hidden), problem.manifest.test_files, "pytest")


@pytest.fixture(scope="module")
def sites(everything: World, sandboxes: Sandboxes) -> Sites:
    return find(everything, sandboxes)


def run_on(world: World, sources: Tree, sandboxes: Sandboxes, used: Instruments) -> TestReport:
    problem = world.problem
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        whole = sources.overlay(problem.hidden)
        return run_tests(sandbox, whole, replace(selection_of(problem), instruments=used))


def run(world: World, sandboxes: Sandboxes, used: Instruments) -> TestReport:
    return run_on(world, world.base.overlay(world.problem.fix), sandboxes, used)


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


def test_a_mutant_has_a_name_of_its_own_in_every_search(
    everything: World, sites: Sites, forms: FileSites, sandboxes: Sandboxes
) -> None:
    (found,), (again,) = sites.values(), find(everything, sandboxes).values()
    assert [mutant.name for mutant in found.mutants] == [mutant.name for mutant in again.mutants]
    for file in (found, forms):
        assert len({mutant.name for mutant in file.mutants}) == len(file.mutants) > 20


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
    doubted = _doubted(_report(a="passed", b="passed"), unsteady)
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


def _report(**statuses: str) -> TestReport:
    return TestReport({test: TestResult(id=test, status=status) for test, status in statuses.items()})


def test_a_test_without_sites_can_only_be_steady() -> None:
    sites: Sites = {}
    real = _report(a="passed", b="passed", c="passed")
    found = contradictions(_report(a="passed", b="failed"), real, sites, Instruments(), ("a", "b", "c"))
    assert found == {Contradiction("unsteady", "b"), Contradiction("unsteady", "c")}


def test_chosen_mutants_are_never_the_spared_ones_and_leave_a_test_as_it_is(sites: Sites) -> None:
    (found,) = sites.values()
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    order = ids_by_function(_report(**dict.fromkeys(tests, "passed")), sites)
    spared = frozenset(mutant.name for mutant in found.mutants if mutant.test != "test_words")
    rows = set()
    for _ in range(60):
        assert {mutant.test for mutant in choose_mutants(sites, tests, [], order, spared).mutants} == {"test_words"}
        assert not choose_mutants(sites, [f"{TESTS}::test_words"], [], order, frozenset()).partners
        plan = choose_mutants(sites, tests, [], order, frozenset())
        assert plan.partners
        assert len({(mutant.test, mutant.row) for mutant in plan.mutants}) == len(plan.mutants) >= 1
        assert all(len(mutant.choices) == 1 for mutant in plan.mutants)
        rows |= {mutant.row for mutant in plan.mutants if mutant.test == "test_table"}
    assert rows == {0, 1}


def test_tests_that_passed_before_are_mutated_too(sites: Sites) -> None:
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    order = ids_by_function(_report(**dict.fromkeys(tests, "passed")), sites)
    plan = choose_mutants(sites, tests[:1], tests[2:], order, frozenset())
    assert {mutant.test for mutant in plan.mutants} - {"test_table"}


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
    failed = Control((), instrument(sites), _report())  # a run in which nothing passed; when it is made again, all does
    found = examine(subject, real, 0, sandboxes, [failed], wary=True)
    assert {entry.kind for entry in found} == {"unsteady"}


FORMS = """\
import pytest

from shop.price import PriceError, ShopError, total

PRICES = [1, 2]

def test_total():
    assert total([1, 2]) == 3

def test_refuses():
    with pytest.raises(PriceError):
        total([None])

def test_letters():
    with pytest.raises(PriceError):
        total("ab".upper())
        total(None)

def test_truth():
    assert (total([]) == 0) is True

def test_between():
    assert 1 < total([2]) < 3

def test_both():
    assert total([2]) and not total([])

def test_kind():
    assert isinstance(total([2]), int)

def test_computed():
    assert total(PRICES) == sum(PRICES)

def test_copies():
    assert list(PRICES) == [1, 2]

def test_added():
    assert total(PRICES) == PRICES[0] + PRICES[1]

def test_own():
    own = PriceError()
    assert total([]) == len(own.args)

def test_ways():
    prices = [2, 5]
    wanted = max(prices) * len(prices)
    assert total(prices) == wanted

def test_row():
    rows = [4, 5]
    assert total(rows) == [row * 2 for row in rows][0]

def test_order():
    rows = [5, 4]
    assert total(rows) == sorted(rows)

def test_text():
    name = str(len([5]))
    assert total([5]) == f"about {name} EUR"

def test_alike():
    assert total([5]) == total([5, 0])

def test_dead():
    with pytest.raises(PriceError):
        total("a")
        assert total([1]) == 1

def test_helped():
    assert total([1]) == helped(1)

def helped(value):
    return value // 1

def test_about():
    assert total([0.1]) == pytest.approx(0.1, abs=2)

def test_no_more_than_that_it_runs():
    total([5])
"""


@pytest.fixture(scope="module")
def forms(make_world: MakeWorld, sandboxes: Sandboxes) -> FileSites:
    (found,) = find(make_world(hidden={TESTS: FORMS}), sandboxes).values()
    return found


def changed(forms: FileSites, test: str) -> set[str]:
    """Return what the mutants of a test say, with its values in place."""
    texts = set()
    for mutant in forms.mutants_by_function.get(test, ()):
        for choice in mutant.choices:
            used = instrument({TESTS: forms}, [mutant.model_copy(update={"choices": (choice,)})])
            (text,) = used.files.values()
            function = text.decode().partition(f"def {test}")[2].partition("\ndef ")[0]
            texts.add(used.reveal(function).partition("\n")[2].strip())
    return texts


def test_a_mutant_is_something_that_an_author_could_have_written(forms: FileSites) -> None:
    said = {test: changed(forms, test) for test in forms.mutants_by_function}
    refuses = {text.replace("    ", "") for text in said["test_refuses"]}
    assert "with (pytest.raises(PriceError)):\ntotal([1, 2])" in refuses
    assert all(text.startswith("with (pytest.raises(PriceError)):\ntotal(") for text in refuses)
    assert any("pytest.raises(ShopError)" in text for text in said["test_letters"])
    assert said["test_truth"] == {"assert (total([]) == 0) is False"}
    assert said["test_between"] == {"assert 4 < total([2]) < 6", "assert -2 < total([2]) < 0"}
    assert said["test_both"] == {"assert not total([2]) and not total([])", "assert total([2]) and total([])"}
    assert "assert isinstance(total([2]), str)" in said["test_kind"]
    # The text itself says another thing: who reads it finds nothing to undo.
    more = {f"assert total(PRICES) == sum(PRICES) {more}" for more in ("+ 1", "- 1", "+ 2")}
    assert said["test_computed"] == {"assert total(PRICES) == max(PRICES)", *more}
    weak = {one.weak for one in forms.mutants_by_function["test_computed"] if "+ 1" in one.choices}
    assert weak == {True}, "what is added can be taken off"
    ways = {text.partition("wanted = ")[2].partition("\n")[0] for text in said["test_ways"]}
    assert {"min(prices) * len(prices)", "max(prices) + len(prices)", "max(prices) * len(prices) - 1"} <= ways
    assert not any("len(own.args) " in text for text in said["test_own"])  # what is in it is for the patch to say
    rows = {text.partition("== ")[2] for text in said["test_row"]}
    assert {"[row * 3 for row in rows][0]", "[row + 2 for row in rows][0]"} <= rows
    assert all(text.endswith("[0]") for text in rows)
    assert {text.partition("== ")[2] for text in said["test_order"]} == {"list(rows)"}
    texts = {text.partition("== ")[2] for text in said["test_text"] if "str(len([5]))" in text}
    assert texts
    assert all("{name}" in text and text != 'f"about {name} EUR"' for text in texts)
    others = ("list(PRICES)", "sum(PRICES)", "helped(1)")
    assert said["test_added"] == {f"assert total(PRICES) == {other}" for other in others}


SAME = """\
from shop.price import total

def test_same():
    tree = {"one": ("free",), "other": ("free",)}
    assert id(tree["one"]) == id(tree["other"])
    assert total([1, 2]) == 3
"""


def test_literals_that_are_one_object_stay_one(make_world: MakeWorld, sandboxes: Sandboxes) -> None:
    world = make_world(hidden={TESTS: SAME}, expected=[f"{TESTS}::test_same"])
    audit = audit_controls(world.problem, world.base, sandboxes)
    assert (audit.unfit, audit.mutants > 0, audit.killed) == ((), True, audit.mutants)
    assert world.grade({SOURCE: FIX}).resolved


def test_a_copy_shares_no_token_with_what_it_is_copied_from(forms: FileSites) -> None:
    (copied,) = {
        one.choices: one for one in forms.mutants if one.test == "test_refuses" and "copy" in one.choices[0]
    }.values()
    used = instrument({TESTS: forms}, [copied])
    (text,) = used.files.values()
    assert all(text.count(token.encode()) <= 1 for token in used.table)


def test_nobody_is_accused_of_taking_more_than_the_tests_ask_for(forms: FileSites) -> None:
    assert not changed(forms, "test_no_more_than_that_it_runs")
    assert all("== 1" in text for text in changed(forms, "test_dead"))  # nobody need come so far
    assert all("(1)" in text for text in changed(forms, "test_helped") if "helped" in text)
    values = [float(choice) for one in forms.mutants if one.test == "test_about" for choice in one.choices]
    assert values
    assert all(abs(value - 0.1) > 4 for value in values)  # two answers may be 2 and 2 from what is expected


SETTINGS = """class PriceError(Exception): ...
class ShopError(Exception): ...
"""


def test_what_is_raised_may_be_of_two_classes(make_world: MakeWorld, sandboxes: Sandboxes) -> None:
    hidden = "import pytest\nfrom shop.price import PriceError, total\n\ndef test_refuses():\n"
    hidden += "    with pytest.raises(PriceError):\n        total([None])\n"
    fix = SETTINGS + "def total(prices):\n    raise PriceError\n"
    world = make_world(hidden={TESTS: hidden}, expected=[f"{TESTS}::test_refuses"], fix={SOURCE: fix})
    sites = find(world, sandboxes)
    honest = fix.replace("raise PriceError", "raise BadPrice").replace(
        "def ", "class BadPrice(PriceError, KeyError): ...\ndef "
    )
    subject = Subject(
        world.problem, world.base.overlay(files({SOURCE: honest})), world.base.overlay(world.problem.fix), sites
    )
    (found,) = (one for one in sites[TESTS].mutants if one.loose)
    assert "KeyError" in found.choices
    mutant = found.model_copy(update={"choices": ("KeyError",)})
    used = instrument(sites, [mutant])
    plain = instrument(sites)

    def grade(text: str) -> frozenset[Contradiction]:
        own = replace(subject, candidate=world.base.overlay(files({SOURCE: text})))
        real = run_on(world, own.candidate, sandboxes, plain)
        return examine(
            own,
            real,
            0,
            sandboxes,
            [Control((mutant,), used, run_on(world, own.candidate, sandboxes, used))],
            wary=True,
        )

    assert not grade(honest)


def test_what_everybody_can_read_tells_no_run_of_a_control_from_another(sites: Sites) -> None:
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    order = ids_by_function(_report(**dict.fromkeys(tests, "passed")), sites)
    hidden = f"{TESTS}::test_words"
    first = set()
    for _ in range(40):
        plan = choose_mutants(sites, [hidden], [test for test in tests if test != hidden], order, frozenset())
        assert not plan.partners
        one, other = plan.runs()
        left, right = ([mutant for mutant in run if mutant.test != "test_words"] for run in (one, other))
        assert left == right != []
        assert len(one) + len(other) == 2 * len(left) + 1
        first.add(len(one) > len(other))
    assert first == {True, False}


def test_each_control_changes_what_those_before_it_have_left(sites: Sites) -> None:
    tests = [f"{TESTS}::test_{name}" for name in ("words", "raising", "approximately")]
    order = ids_by_function(_report(**dict.fromkeys(tests, "passed")), sites)
    for _ in range(20):
        first = choose_mutants(sites, tests, [], order, frozenset())
        tried = frozenset(mutant.name for mutant in first.mutants)
        second = choose_mutants(sites, tests, [], order, frozenset(), tried)
        changed = {mutant.test for mutant in (*first.mutants, *second.mutants)}
        assert changed >= {test.partition("::")[2] for test in tests}
    assertions = {mutant.name: mutant.assertion for file in sites.values() for mutant in file.mutants}
    places, tried = [], frozenset()
    for _ in range(4):
        (mutant,) = choose_mutants(sites, tests[:1], [], order, frozenset(), tried).mutants
        places.append(assertions[mutant.name])
        tried |= {mutant.name}
    assert len(set(places)) == 4


AGREEING = """\
from shop.price import total


def test_sums():
    assert total([1, 2]) == 3, "one and two are three"
    assert total([3]) == 3
    assert total([]) != 3


def test_refuses():
    with pytest.raises(TypeError):
        total(None)


def test_takes():
    assert total([4]) == 4
"""


@pytest.fixture(scope="module")
def agreeing(make_world: MakeWorld, sandboxes: Sandboxes) -> Sites:
    return find(make_world(hidden={TESTS: AGREEING}), sandboxes)


def test_what_a_test_says_twice_is_another_in_both_places(agreeing: Sites) -> None:
    test = f"{TESTS}::test_sums"
    order = ids_by_function(_report(**{test: "passed"}), agreeing)
    said = set()
    for _ in range(60):
        plan = choose_mutants(agreeing, [test], [], order, frozenset())
        used = instrument(agreeing, plan.mutants)
        said.add(sum(text == "3" for text in used.table.values()))  # four: an input, two answers, and what is none
    assert said >= {2, 3}


def test_what_a_test_says_to_people_is_said_to_them_alone(agreeing: Sites) -> None:
    used = instrument(agreeing)
    (token,) = (token for token, text in used.asides.items() if text)
    assert token.encode() in used.files[TESTS]
    assert used.reveal(f"AssertionError: {token}") == "AssertionError: one and two are three"
    assert used.reveal(f"AssertionError: {token}a") == f"AssertionError: {token}a"


def test_a_call_that_is_copied_and_the_one_that_it_takes_the_place_of_are_exchanged(agreeing: Sites) -> None:
    tests = [f"{TESTS}::test_{name}" for name in ("sums", "refuses", "takes")]
    order = ids_by_function(_report(**dict.fromkeys(tests, "passed")), agreeing)
    donors = set()
    for _ in range(60):
        plan = choose_mutants(agreeing, tests[:2], tests[2:], order, frozenset())
        moved = [mutant for mutant in plan.mutants if mutant.donors and mutant.donors[0]]
        assert len({(mutant.file, mutant.test) for mutant in plan.mutants}) == len(plan.mutants)
        if not moved:
            continue
        (donor,) = moved[0].donors
        donors.add(donor)
        text = instrument(agreeing, plan.mutants).files[TESTS].decode()
        assert text.count("total(None)") == 1
        assert text.index("total(None)") > text.index(f"def {donor}(")
        assert (donor in {mutant.test for mutant in plan.others}) == (donor == "test_takes")
        assert plan.partners == (donor == "test_takes" and "test_sums" not in {mutant.test for mutant in plan.mutants})
    assert donors == {"test_sums", "test_takes"}


def test_a_place_that_has_only_weak_mutants_is_seldom_the_one() -> None:
    weak, strong = (
        Mutant(kind="mutant", file=TESTS, test="test_a", order=at, choices=("not",), weak=at < 9, name=f"{TESTS}#{at}")
        for at in (1, 9)
    )
    sites = {TESTS: FileSites(data=b"", mutants=(weak, strong))}
    test = f"{TESTS}::test_a"
    order = {(TESTS, "test_a"): [test]}
    plans = [choose_mutants(sites, [test], [], order, frozenset()) for _ in range(400)]
    assert 0.03 < sum(plan.mutants[0].weak for plan in plans) / len(plans) < 0.25


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
