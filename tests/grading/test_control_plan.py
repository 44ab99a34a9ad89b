"""Which mutants a control has: some of each part of the tests, so that nothing tells it from the real run."""

import pytest

from codegate.grading import Sandboxes
from codegate.grading.controls.instruments import instrument
from codegate.grading.controls.plan import choose_mutants
from codegate.grading.controls.sites import FileSites, Mutant, Sites, function_of
from codegate.grading.controls.verdict import ids_by_function
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import EVERY_TEST, find, report_of
from tests.grading.worlds import TESTS


def test_chosen_mutants_are_never_the_spared_ones_and_leave_a_test_as_it_is(sites: Sites) -> None:
    (found,) = sites.values()
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    order = ids_by_function(report_of(**dict.fromkeys(tests, "passed")), sites)
    spared = frozenset(mutant.name for mutant in found.mutants if mutant.test != "test_words")
    rows = set()
    for _ in range(60):
        assert {mutant.test for mutant in choose_mutants(sites, tests, [], order, spared).mutants} == {"test_words"}
        assert not choose_mutants(sites, [f"{TESTS}::test_words"], [], order, frozenset()).partners
        plan = choose_mutants(sites, tests, [], order, frozenset())
        # The one that was left may be where a call is exchanged.
        assert plan.partners or any("$copy$" in text for mutant in plan.mutants for _, _, text in mutant.edits)
        assert len({(mutant.test, mutant.row) for mutant in plan.mutants}) == len(plan.mutants) >= 1
        assert all(len(mutant.choices) == 1 for mutant in plan.mutants)
        rows |= {mutant.row for mutant in plan.mutants if mutant.test == "test_table"}
    assert rows == {0, 1}


def test_tests_that_passed_before_are_mutated_too(sites: Sites) -> None:
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    order = ids_by_function(report_of(**dict.fromkeys(tests, "passed")), sites)
    plan = choose_mutants(sites, tests[:1], tests[2:], order, frozenset())
    assert {mutant.test for mutant in plan.mutants} - {"test_table"}


def test_what_everybody_can_read_tells_no_run_of_a_control_from_another(sites: Sites) -> None:
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    order = ids_by_function(report_of(**dict.fromkeys(tests, "passed")), sites)
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


def test_tests_that_passed_before_are_changed_one_after_the_other(sites: Sites) -> None:
    others = [f"{TESTS}::{test}" for test in EVERY_TEST if "words" not in test and "table" not in test]
    order = ids_by_function(report_of(**dict.fromkeys([f"{TESTS}::test_words", *others], "passed")), sites)
    for _ in range(20):
        tried: frozenset[str] = frozenset()
        changed: set[str] = set()
        for _ in range(3):
            plan = choose_mutants(sites, [f"{TESTS}::test_words"], others, order, frozenset(), tried)
            tried |= {mutant.name for mutant in plan.mutants}
            changed |= {mutant.test for mutant in plan.others}
        assert len(changed) >= len({function_of(test, sites) for test in others}) - 1


def test_each_control_changes_what_those_before_it_have_left(sites: Sites) -> None:
    tests = [f"{TESTS}::test_{name}" for name in ("words", "raising", "approximately")]
    order = ids_by_function(report_of(**dict.fromkeys(tests, "passed")), sites)
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
    order = ids_by_function(report_of(**{test: "passed"}), agreeing)
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
    order = ids_by_function(report_of(**dict.fromkeys(tests, "passed")), agreeing)
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


def test_two_controls_in_a_row_have_a_strong_mutant_of_a_test_that_has_one() -> None:
    places = [(1, True), (5, False), (5, True), (9, True)]
    mutants = tuple(
        Mutant(kind="mutant", file=TESTS, test="test_a", order=at, choices=("x",), weak=weak, name=f"{TESTS}#{number}")
        for number, (at, weak) in enumerate(places)
    )
    sites = {TESTS: FileSites(data=b"", mutants=mutants)}
    test = f"{TESTS}::test_a"
    order = {(TESTS, "test_a"): [test]}
    for _ in range(200):
        first = choose_mutants(sites, [test], [], order, frozenset()).mutants[0]
        second = choose_mutants(sites, [test], [], order, frozenset(), frozenset({first.name})).mutants[0]
        assert not (first.weak and second.weak)
