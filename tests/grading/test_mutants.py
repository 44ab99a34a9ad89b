"""What a control changes in a test: no right answer passes it, even one that says more than the test looks for."""

import pytest

from codegate.grading import Sandboxes
from codegate.grading.controls.instruments import instrument
from codegate.grading.controls.sites import FileSites, Sites
from tests.grading.conftest import MakeWorld
from tests.grading.control_texts import find
from tests.grading.worlds import FIX, SOURCE, TESTS, World


def test_a_mutant_has_a_name_of_its_own_in_every_search(
    everything: World, sites: Sites, forms: FileSites, sandboxes: Sandboxes
) -> None:
    (found,), (again,) = sites.values(), find(everything).values()
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

def test_ways():
    prices = [2, 5]
    wanted = max(prices) * len(prices)
    assert total(prices) == wanted

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

def test_empty():
    assert total([1]) == []

def test_part():
    assert "nine" in total("ninety nine")

def test_no_more_than_that_it_runs():
    total([5])
"""


@pytest.fixture(scope="module")
def forms(make_world: MakeWorld, sandboxes: Sandboxes) -> FileSites:
    (found,) = find(make_world(hidden={TESTS: FORMS})).values()
    return found


def changed(forms: FileSites, test: str) -> set[str]:
    """Return what the mutants of a test say, with its values in place."""
    texts = set()
    for mutant in forms.mutants_by_function.get(test, ()):
        used = instrument({TESTS: forms}, [mutant])
        (text,) = used.files.values()
        function = text.decode().partition(f"def {test}")[2].partition("\ndef ")[0]
        texts.add(used.reveal(function).partition("\n")[2].strip())
    return texts


def test_a_mutant_expects_something_else(forms: FileSites) -> None:
    said = {test: changed(forms, test) for test in forms.mutants_by_function}
    refuses = {text.replace("    ", "").partition(":")[0] for text in said["test_refuses"]}
    assert refuses < {
        "with (open(__file__))", "with (memoryview(b''))", "with (pytest.raises(ArithmeticError))",
        "with (pytest.raises(EOFError))", "with (pytest.raises(BufferError))", "with (pytest.raises(OSError))",
        "with (pytest.raises(RuntimeError))", "with (pytest.raises(ReferenceError))",
    }  # fmt: skip
    assert {mutant.weak for mutant in forms.mutants_by_function["test_refuses"]} == {True}
    assert said["test_truth"] == {"assert (total([]) == 0) is False"}
    assert said["test_between"] == {"assert 4 < total([2]) < 3"}
    assert said["test_both"] == {"assert not total([2]) and not total([])", "assert total([2]) and total([])"}
    assert "assert isinstance(total([2]), str)" in said["test_kind"] | {"assert isinstance(total([2]), str)"}
    assert said["test_computed"] == {"assert total(PRICES) == (sum(PRICES))"}
    assert said["test_empty"] == {"assert total([1]) == [0]", "assert total([1]) == ['']"}
    assert not any(mutant.weak for mutant in forms.mutants_by_function["test_empty"])
    wanted = {text.partition("\n")[2].strip().partition("\n")[2].strip() for text in said["test_ways"]}
    assert wanted == {"assert total(prices) == (wanted)"}


SAME = """\
from shop.price import total

def test_same():
    tree = {"one": ("free",), "other": ("free",)}
    assert id(tree["one"]) == id(tree["other"])
    assert total([1, 2]) == 3
"""


def test_literals_that_are_one_object_stay_one(make_world: MakeWorld) -> None:
    world = make_world(hidden={TESTS: SAME}, expected=[f"{TESTS}::test_same"]).validated()
    audit = world.problem.manifest.controls
    assert audit is not None
    assert (audit.unfit, len(audit.killed)) == ((), audit.tried)
    assert world.grade({SOURCE: FIX + "\n"}).resolved


def test_nobody_is_accused_of_taking_more_than_the_tests_ask_for(forms: FileSites) -> None:
    assert not changed(forms, "test_no_more_than_that_it_runs")
    assert all("== 1" in text for text in changed(forms, "test_dead"))  # nobody need come so far
    values = [float(one.text) for one in forms.mutants if one.test == "test_about"]
    assert values
    assert all(abs(value - 0.1) > 4 for value in values)  # two answers may be 2 and 2 from what is expected
    parts = {one.text for one in forms.mutants if one.test == "test_part" and one.value is not None}
    assert parts == {"'ninenine'"}  # no word that an answer may have besides


HONEST = """class PriceError(Exception): ...
class BadPrice(PriceError, KeyError, ValueError, TypeError, LookupError): ...
def total(prices):
    raise BadPrice("no price, or a bad one")
"""


def test_what_is_raised_may_be_of_several_classes_and_say_more(make_world: MakeWorld) -> None:
    hidden = "import pytest\nfrom shop.price import PriceError, total\n\ndef test_refuses():\n"
    hidden += "    with pytest.raises(PriceError) as caught:\n        total([None])\n"
    hidden += "    assert 'price' in str(caught.value)\n    assert 'bad or none' != ''\n"
    fix = "class PriceError(Exception): ...\ndef total(prices):\n    raise PriceError('price')\n"
    world = make_world(hidden={TESTS: hidden}, expected=[f"{TESTS}::test_refuses"], fix={SOURCE: fix}).validated(6)
    for _ in range(4):
        assert world.grade({SOURCE: HONEST}).resolved
