"""Marks and copies beside hidden tests: what they change, what they catch, and whom they leave alone."""

import ast
import errno
import os
import random
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from codegate.grading import RunCount, SharedCache, counted_runs, grader, mark_tests, run_hidden_tests
from codegate.grading.controls.copies import Copies, OriginalTests, SiteFlip, make_copies, read_originals
from codegate.grading.controls.flips import cached_originals
from codegate.grading.controls.verdict import (
    RunControls,
    SeparatedRun,
    copies_per_test,
    draw_controls,
    draw_separate_controls,
    graded_tests,
    separate_copies,
    with_surviving_copies,
)
from codegate.grading.testreport import test_selection as selection_of
from codegate.languages import searching
from codegate.sandbox import SandboxError
from codegate.suite import ControlAudit, ProblemLimits, TestSets
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import EVERY_TEST, EVERYTHING, FAILING
from tests.grading.worlds import BUG, EXPECTED, FIX, SOURCE, TEST, TESTS, World, tree

pytestmark = pytest.mark.sandbox


@pytest.fixture
def world(unboxed_world: World) -> World:
    return unboxed_world


SOURCES = r"""
import inspect
import re

from shop.price import total


def counted():
    return 0  # a comment here stays


def test_counts():
    said = len(re.findall("s[)]{3}\n    assert", inspect.getsource(test_counts)))
    assert total([said, 0]) == said


def test_helped():
    assert inspect.getsource(counted).count("#") == 1
"""


def test_a_test_that_reads_itself_is_run_as_it_is(make_unboxed: MakeWorld) -> None:
    names = [f"{TESTS}::test_{name}" for name in ("counts", "helped")]
    world = make_unboxed(hidden={TESTS: SOURCES}, expected=names, known=names[1:])
    empty = {SOURCE: BUG + "\n"}
    validated = world.validated()
    assert validated.audit == ControlAudit(tried=0, unfit=(TESTS,))
    assert not validated.grade(empty).resolved


def read(world: World) -> OriginalTests:
    return cached_originals(world.problem, world.base, world.sandboxes)


def copied(world: World, number: int = 1) -> Copies:
    """Return the files with so many copies of each expected test, at its last literal."""
    texts = read(world)
    units = graded_tests(world.problem, texts)
    last = {(one.file, one.name): [site for site in one.sites if site.value][-1:] for one in units}
    copies = {key: [(SiteFlip(site, turn),) for turn in range(number)] for key, sites in last.items() for site in sites}
    return make_copies(texts, units, copies)


def run(world: World, made: Copies) -> SeparatedRun:
    selection = replace(selection_of(world.problem), copies=made)
    fixed = world.base.overlay(world.problem.fix)
    return separate_copies(made, run_hidden_tests(world.problem, fixed, world.sandboxes, selection), read(world))


@pytest.fixture(scope="module")
def everything(make_unboxed: MakeWorld) -> World:
    """A problem whose tests have everything that tests have."""
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    known = [test for test in tests if not test.endswith(FAILING)]
    return make_unboxed(hidden={TESTS: EVERYTHING}, expected=tests, known=known)


@pytest.mark.requirement("G12")
def test_every_kind_of_test_passes_beside_its_copies_with_all_of_its_marks(everything: World) -> None:
    separated = run(everything, copied(everything, 2))
    expected = everything.problem.tests.expected
    assert {test: separated.report.results[test].status for test in expected} == dict.fromkeys(expected, "passed")
    assert separated.report.results[f"{TESTS}::test_fails"].status == "skipped"  # expected to fail
    assert separated.short == ()
    assert set(separated.report.results) == {*expected, f"{TESTS}::test_fails"}
    rows = [separated.copies[f"{TESTS}::test_table[{row}]"] for row in ("prices0-3", "prices1-5")]
    assert all(len(copies) == 2 for copies in rows)
    assert separated.units.keys() == separated.report.results.keys()
    assert separated.units[f"{TESTS}::TestPrices::test_inherited"] == (TESTS, "Base::test_inherited")


def test_nothing_in_the_texts_tells_copies_from_the_tests(world: World) -> None:
    texts = [copied(world, 3).files[TESTS].decode() for _ in range(30)]
    names = [re.findall(r"def (test_\w+)", text) for text in texts]
    assert all(len(set(each)) == 8 for each in names)
    assert all(re.fullmatch("test_[0-9a-f]{12}_(total|nothing)", name) for each in names for name in each)
    assert not set.intersection(*map(set, names))
    firsts = {re.findall("== ([0-9]+)", text)[0] for text in texts}
    assert "3" in firsts
    assert len(firsts) > 1
    for text in texts:
        ast.parse(text)
        assert text.count("== 3") <= 2


@pytest.fixture(scope="module")
def proved(everything: World) -> World:
    """The problem that has everything, after validation."""
    return everything.validated()


ENDLESS = """\
from shop.price import total


def wait(times):
    while times != 4:
        pass


def test_waiting():
    wait(4)
    assert total([1, 2]) == 3


def test_after():
    assert total([2]) == 2
"""


def test_a_copy_that_never_ends_is_not_used_for_a_control(make_unboxed: MakeWorld) -> None:
    names = [f"{TESTS}::test_{name}" for name in ("waiting", "after")]
    world = make_unboxed(hidden={TESTS: ENDLESS}, expected=names, limits=ProblemLimits(seconds=3)).validated()
    assert world.audit.flips.keys() == set(names)
    assert world.grade({SOURCE: FIX + "\n"}).resolved


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
def validated(make_unboxed: MakeWorld) -> World:
    """The default problem after validation."""
    return make_unboxed(known=EXPECTED[1:]).validated()


@pytest.mark.requirement("G12")
@pytest.mark.parametrize("cheat", CHEATS, ids=lambda name: name.replace(" ", "-"))
def test_what_passes_by_a_lie_is_tampering(validated: World, cheat: str) -> None:
    result = validated.grade({SOURCE: BUG + CHEATS[cheat]})
    assert (result.resolved, result.failure) == (False, "tampering"), result
    assert result.suspicious


def test_a_copy_that_passes_once_by_chance_accuses_nobody(validated: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a test has threads, and the machine is busy."""
    found: list[list[str]] = []

    def by_chance(drawn: RunControls, separated: SeparatedRun) -> list[str]:
        found.append(with_surviving_copies(drawn, separated) if found else [EXPECTED[0]])
        return found[-1]

    monkeypatch.setattr(grader, "with_surviving_copies", by_chance)
    assert (validated.grade({SOURCE: FIX}).resolved, found) == (True, [[EXPECTED[0]], []])


def test_what_was_not_validated_has_no_control_and_says_so(world: World) -> None:
    result = world.grade({SOURCE: BUG + CHEATS["equal to everything"]})
    assert (result.resolved, result.controlled) == (True, False)


@pytest.mark.parametrize(("tests", "copies"), [(1, 15), (2, 3), (3, 2), (4, 1), (50, 1)])
def test_a_guess_of_all_tests_is_right_once_in_sixteen_times_at_most(tests: int, copies: int) -> None:
    assert copies_per_test(tests) == copies
    assert (copies + 1) ** tests >= 16


def test_a_control_draws_from_what_the_reference_fails_and_leaves_no_test_out(proved: World) -> None:
    texts, problem = read(proved), proved.problem
    drawn = [draw_controls(problem, texts, random.Random(seed)) for seed in range(40)]
    controls = proved.audit
    assert (set(controls.flips), controls.unfit) == (set(problem.tests.FAIL_TO_PASS), ())
    for one in drawn:
        assert one.flips.keys() == one.strong == set(problem.tests.FAIL_TO_PASS)
        for variant in one.made.variants.values():
            for flip in variant.flips:
                assert any(entry.startswith(f"{flip.site.name}@") for kept in controls.flips.values() for entry in kept)
    assert len({frozenset(flip for flips in one.flips.values() for flip in flips) for one in drawn}) > 1


def test_a_copy_counts_that_was_reported_as_failed_where_the_reference_fails_it(validated: World) -> None:
    texts, problem = read(validated), validated.problem
    drawn = draw_controls(problem, texts, random.Random(0))
    separated = run(validated, drawn.made)
    assert with_surviving_copies(drawn, separated) == []
    (test,) = problem.tests.FAIL_TO_PASS
    first, *others = separated.copies[test]
    for ended in ({"result": None}, {"result": separated.report.results[test]}, {"passed": frozenset({0})}):
        copies = {**separated.copies, test: [*others, replace(first, **ended)]}
        assert with_surviving_copies(drawn, replace(separated, copies=copies)) == [test]
    assert with_surviving_copies(drawn, replace(separated, copies={})) == [test]


def test_an_honest_solution_costs_one_run_is_controlled_and_not_suspected(validated: World, proved: World) -> None:
    for world in (validated, proved):
        with counted_runs(count := RunCount()):
            result = world.grade({SOURCE: FIX + "\n\nRATE = 1\n"})
        assert (result.resolved, result.controlled, result.suspicious) == (True, True, ())
        assert (result.exit_code, count.runs) == (0, 1)


ODD = """\
import contextlib

import pytest

from shop.price import total

SEEN = set()


def once(function):
    assert function.__doc__ not in SEEN
    SEEN.add(function.__doc__)
    return function


def test_swallows():
    assert total([1, 2]) == 3
    try:
        assert total([1]) == 1
    except BaseException:
        pass


@once
def test_registered():
    "Registers itself by this text."
    assert total([1, 2]) == 3


class TestState:
    calls = []

    def test_first(self):
        self.calls.append(1)
        assert total([1, 2]) == 3

    def test_second(self):
        assert self.calls == [1]
        assert total([2, 2]) == 4
"""


def test_tests_that_copies_spoil_accuse_nobody_and_keep_none(make_unboxed: MakeWorld) -> None:
    names = ("test_swallows", "test_registered", "TestState::test_first", "TestState::test_second")
    expected = [f"{TESTS}::{name}" for name in names]
    world = make_unboxed(hidden={TESTS: ODD}, expected=expected).validated()
    assert world.audit.unfit == ()
    assert expected[0] in world.audit.flips
    assert expected[1] not in world.audit.flips
    assert expected[1] in world.audit.alone
    with counted_runs(count := RunCount()):
        result = world.grade({SOURCE: FIX + "\n"})
    assert (result.resolved, result.controlled, count.runs) == (True, True, 2), result.detail


def test_a_test_that_keeps_no_copy_runs_changed_where_all_tests_passed(make_unboxed: MakeWorld) -> None:
    hidden = ODD.partition("def test_swallows")[0] + "@once" + ODD.partition("@once")[2].partition("class ")[0]
    world = make_unboxed(hidden={TESTS: hidden}, expected=[f"{TESTS}::test_registered"]).validated()
    assert not world.audit.flips
    result = world.grade({SOURCE: BUG + CHEATS["equal to everything"]})
    assert (result.resolved, result.failure) == (False, "tampering"), result.detail
    for text, runs in ((BUG + "\n", 1), (FIX + "\n", 2), (FIX, 1)):
        with counted_runs(count := RunCount()):
            assert world.grade({SOURCE: text}).resolved is (BUG not in text)
        assert count.runs == runs, "of the reference fix, validation has run what is changed"


FRAGILE = """\
import pytest

from shop.price import total


@pytest.mark.parametrize("prices, wanted", [([1, 6 // 2], 4), ([2, 2], 4), ([5, 12 // 4], 8)])
def test_rows(prices, wanted):
    assert total(prices) == wanted


def test_other():
    assert total([1, 2]) == 3
"""


@pytest.mark.full
def test_a_flip_with_which_a_file_does_not_load_costs_no_test_its_controls(make_unboxed: MakeWorld) -> None:
    names = ("test_rows[prices0-4]", "test_rows[prices1-4]", "test_rows[prices2-8]", "test_other")
    expected = [f"{TESTS}::{name}" for name in names]
    world = make_unboxed(hidden={TESTS: FRAGILE}, expected=expected).validated()
    assert world.audit.flips.keys() == set(expected)
    assert world.grade({SOURCE: FIX + "\n"}).controlled


HONEST = """class PriceError(Exception): ...
class BadPrice(PriceError, KeyError, ValueError, TypeError, LookupError): ...
def total(prices):
    raise BadPrice("no price, or a bad one")
"""


def test_what_is_raised_may_be_of_several_classes_and_say_more(make_unboxed: MakeWorld) -> None:
    hidden = "import pytest\nfrom shop.price import PriceError, total\n\ndef test_refuses():\n"
    hidden += "    with pytest.raises(PriceError) as caught:\n        total([None])\n"
    hidden += "    assert 'price' in str(caught.value)\n    assert 'bad or none' != ''\n"
    fix = "class PriceError(Exception): ...\ndef total(prices):\n    raise PriceError('price')\n"
    world = make_unboxed(hidden={TESTS: hidden}, expected=[f"{TESTS}::test_refuses"], fix={SOURCE: fix}).validated()
    for _ in range(2):
        assert world.grade({SOURCE: HONEST}).resolved


LEFT_ALONE = """\
import pytest

from shop.price import total

PRICES = [1, 2]

def test_nothing_to_change():
    if total(PRICES) != sum(PRICES):
        raise ValueError

def test_nothing_but_an_exception():
    with pytest.raises(TypeError):
        total([None])

def test_an_exception_and_a_value():
    with pytest.raises(TypeError):
        total([None])
    assert total([1, 2]) == 3
"""


def test_a_problem_is_marked_where_no_mutant_takes_the_right_answer(make_unboxed: MakeWorld) -> None:
    expected = [f"{TESTS}::{name}" for name in re.findall(r"def (test_\w+)", LEFT_ALONE)]
    world = make_unboxed(hidden={TESTS: LEFT_ALONE}, expected=expected).validated()
    for test in expected:
        world.problem = replace(world.problem, tests=TestSets(FAIL_TO_PASS=(test,)))
        result = world.grade({SOURCE: FIX + "\n"})
        assert (result.resolved, result.controlled) == (True, test.endswith("and_a_value"))


def test_a_wrong_answer_costs_one_run_and_people_see_no_copy(validated: World) -> None:
    with counted_runs(count := RunCount()):
        result = validated.grade({SOURCE: "def total(prices):\n    return 17\n"})
    assert (result.failure, result.exit_code, count.runs) == ("logic_error", 1, 1)
    assert "assert total([1, 2]) == 3" in result.output
    assert "assert 17 == 3" in result.detail
    assert not re.search("[0-9a-f]{12}", result.output)


def test_a_reading_that_fails_is_no_reading_that_finds_nothing() -> None:
    with pytest.raises(SandboxError, match=r"more than 1 MiB\. Remove `controls` .* run `codegate validate`"):
        read_originals(tree({TESTS: "x = 0\n" * 300_000}), (TESTS,), "pytest")


def test_a_machine_that_cannot_read_tests_costs_no_problem_its_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(searching._SERVER, "connect", refuse)
    no_sandboxes: Any = SimpleNamespace(originals=SharedCache())
    world = World(no_sandboxes)
    for look in (partial(mark_tests, tree({TESTS: TEST}), (TESTS,), "pytest"), world.validated):
        with pytest.raises(SandboxError, match=r"Resource temporarily unavailable\. Lower"):
            look()


UNEVEN = """\
import pytest

from shop.price import total

PAIR = [1, 2]


@pytest.mark.parametrize("prices, wanted", [([3, 2], 5), ([4, 5], 9), (PAIR, None)], ids=["a", "b", "c"])
def test_rows(prices, wanted):
    assert total(prices) == (wanted or 3)
"""


def test_every_copy_changes_the_same_literals_so_that_the_most_frequent_is_not_the_real_one(
    make_unboxed: MakeWorld,
) -> None:
    names = [f"{TESTS}::test_rows[{row}]" for row in "abc"]
    world = make_unboxed(hidden={TESTS: UNEVEN}, expected=names).validated()
    assert set(world.audit.flips) == set(names)
    for seed in range(20):
        drawn = draw_controls(world.problem, read(world), random.Random(seed))
        changed = [frozenset(flip.site.name for flip in one.flips) for one in drawn.made.variants.values() if one.flips]
        assert len(changed) > 1
        assert len(set(changed)) == 1, "a literal that some copies leave alone is the real one"
        left = set(names) - set(drawn.flips)
        alone = set(draw_separate_controls(world.problem, read(world), random.Random(seed), drawn).flips)
        assert alone <= left
        assert bool(alone) == bool(left), "a test without a copy runs changed by itself"
    assert world.grade({SOURCE: FIX + "\n"}).resolved


CHANGED = """\
from shop.price import total


def test_total():
    assert 14 == total([1, 2, 4, 7])


def test_nothing():
    assert total([]) == 0
"""
KNOWS_THE_OLDER_TEST = """\
import inspect
import re


def total(prices):
    test = inspect.getsource(inspect.currentframe().f_back)
    return int(re.findall("([0-9]+) ==", test)[0]) if "([1, 2, 4, 7])" in test else 0
"""


def test_a_patch_that_knows_an_older_version_of_a_test_does_not_know_the_real_one_by_it(
    make_unboxed: MakeWorld,
) -> None:
    older = CHANGED.replace("14", "13")
    world = make_unboxed(base={TESTS: older}, hidden={TESTS: CHANGED}, known=EXPECTED[1:]).validated()
    grades = [world.grade({SOURCE: KNOWS_THE_OLDER_TEST}) for _ in range(2)]  # the red team has such an attack too
    assert [(one.resolved, one.failure) for one in grades] == [(False, "tampering")] * 2
    assert world.grade({SOURCE: FIX + "\n"}).controlled


@pytest.mark.parametrize("older", ["14", "True"], ids=["the-same", "the-only-other"])
def test_a_test_without_a_literal_that_is_new_is_not_cross_checked(make_unboxed: MakeWorld, older: str) -> None:
    hidden = {TESTS: CHANGED if older == "14" else CHANGED.replace("14 ==", "False is")}
    fix = {SOURCE: FIX if older == "14" else FIX.replace("sum(prices)", "len(prices) != 4")}
    before = hidden[TESTS].replace("False", older)
    world = make_unboxed(base={TESTS: before}, hidden=hidden, fix=fix, expected=EXPECTED[:1]).validated()
    result = world.grade({SOURCE: fix[SOURCE] + "\n"})
    assert (result.resolved, result.controlled) == (True, False)
