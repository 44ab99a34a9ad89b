"""What a control changes in a test: something that its author could have written, and no right answer passes."""

from dataclasses import replace

import pytest

from codegate.grading import Sandboxes, audit_controls
from codegate.grading.controls.control import Control, Subject, examine
from codegate.grading.controls.instruments import instrument
from codegate.grading.controls.sites import FileSites, Sites
from codegate.grading.controls.verdict import Contradiction
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import find, run_on
from tests.grading.worlds import FIX, SOURCE, TESTS, World, files


def test_a_mutant_has_a_name_of_its_own_in_every_search(
    everything: World, sites: Sites, forms: FileSites, sandboxes: Sandboxes
) -> None:
    (found,), (again,) = sites.values(), find(everything, sandboxes).values()
    assert [mutant.name for mutant in found.mutants] == [mutant.name for mutant in again.mutants]
    for file in (found, forms):
        assert len({mutant.name for mutant in file.mutants}) == len(file.mutants) > 20


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
