"""What another expectation has in common with the right one: no program that looks for that is off in every control."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import Sandboxes
from codegate.grading.controls.likeness import split_by_likeness
from codegate.grading.controls.plan import choose_mutants
from codegate.grading.controls.sites import Mutant, Sites
from codegate.grading.controls.verdict import ids_by_function
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import find, report_of
from tests.grading.worlds import TESTS

ASKING = """
from shop.price import total


def test_text():
    assert str(total([1, 2])) == "three, of-two"


def test_number():
    assert total([1, 2]) == 3
"""

texts = st.text(string.ascii_letters + string.digits + " -_'", min_size=1, max_size=8).map(repr)


def mutant_of(*choices: str) -> Mutant:
    return Mutant(kind="mutant", file=TESTS, test="test_text", order=0, choices=choices)


@pytest.fixture(scope="module")
def asking(make_world: MakeWorld, sandboxes: Sandboxes) -> Sites:
    return find(make_world(hidden={TESTS: ASKING}), sandboxes)


@given(text=texts, choices=st.lists(texts, min_size=1, max_size=8))
def test_every_choice_is_of_one_part(text: str, choices: list[str]) -> None:
    parts = split_by_likeness(mutant_of(*choices), text)
    assert sorted(choice for part in parts for choice in part.choices) == sorted(choices)
    assert len({part.like for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("text", "choice", "like"),
    [
        ("'a-b'", "'a b'", "signs"),
        ("'a-b'", "'A-b'", "case"),
        ("'a-b'", "'a-c'", ""),
        ("'1:30'", "'1.30'", "signs"),
        ("12", "13", "size"),
        ("12", "-12", ""),
        ("1.5", "-1.5", ""),
        (">=", "<", ""),
    ],
)
def test_what_a_choice_has_in_common(text: str, choice: str, like: str) -> None:
    (part,) = split_by_likeness(mutant_of(choice), text)
    assert part.like == like


def test_what_needs_a_choice_to_fall_back_on_keeps_all_of_them() -> None:
    loose = mutant_of("'a b'", "'A-b'", "'a-c'").model_copy(update={"loose": True})
    assert split_by_likeness(loose, "'a-b'") == [loose]


@pytest.mark.parametrize(("name", "likes"), [("test_text", {"", "case", "signs"}), ("test_number", {"", "size"})])
def test_one_control_after_the_other_asks_for_something_of_another_kind(
    asking: Sites, name: str, likes: set[str]
) -> None:
    test = f"{TESTS}::{name}"
    order = ids_by_function(report_of(**{test: "passed"}), asking)
    for _ in range(20):
        tried: frozenset[str] = frozenset()
        found = []
        for _ in likes:
            (mutant,) = choose_mutants(asking, [test], [], order, frozenset(), tried).mutants
            tried |= {mutant.name}
            found.append(mutant.like)
        assert set(found) == likes
