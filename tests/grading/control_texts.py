"""A test file with everything that tests have."""

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


FAILING = ("test_words", "test_match", "test_inherited", "test_approximately")  # before the fix
