from fractions import Fraction

import pytest
from expression import evaluate
from steps import steps


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 - 2 - 1", 4),
        ("8 / 4 / 2", 1),
        ("2 ^ 3 ^ 2", 512),
        ("2 * 3 ^ 2", 18),
        ("10 - 4 / 2 + 1", 9),
    ],
)
def test_precedence_and_grouping(text, value):
    assert evaluate(text) == value


def test_numbers_are_exact():
    assert evaluate("1 / 3 + 1 / 6") == Fraction(1, 2)
    assert evaluate("0.1 + 0.2") == Fraction(3, 10)
    assert isinstance(evaluate("4"), Fraction)


def test_names_are_assigned_and_used():
    assert evaluate("x = 3; y_2 = x / 2; y_2 + x") == Fraction(9, 2)
    assert evaluate("x = 3") == 3


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("text", "value"), [("-2^2", -4), ("(-2)^2", 4), ("3--2", 5), ("--2", 2), ("2*-3", -6), ("-.5", Fraction(-1, 2))]
)
def test_unary_minus(text, value):
    assert evaluate(text) == value


@pytest.mark.edge_case
def test_exponents():
    assert evaluate("2^-1") == Fraction(1, 2)
    assert evaluate("4^(1/2*2)") == 4
    with pytest.raises(ValueError):
        evaluate("4^0.5")


@pytest.mark.edge_case
@pytest.mark.parametrize("text", ["1 / 0", "1 / (2 - 2)", "0 ^ -1"])
def test_division_by_zero(text):
    with pytest.raises(ZeroDivisionError):
        evaluate(text)


@pytest.mark.edge_case
@pytest.mark.parametrize("text", ["", "  ", "1 +", "(1", "1)", "1 2", "2 $ 3", "1;", "= 3", "1 = 2", "x", "()", "* 2"])
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError):
        evaluate(text)


@pytest.mark.temporal
def test_a_name_has_its_latest_value():
    assert evaluate("x = 1; x = x + 1; x = x * 5; x") == 10


@pytest.mark.temporal
def test_a_later_assignment_changes_nothing_before_it():
    assert evaluate("x = 1; y = x + 1; x = 5; y") == 2


@pytest.mark.temporal
def test_a_name_has_no_value_before_its_assignment():
    with pytest.raises(ValueError):
        evaluate("y = x; x = 1; y")


@pytest.mark.performance
def test_deep_parentheses_are_read_once():
    with steps(at_most=20_000):
        value = evaluate("(" * 60 + "1" + ")" * 60)
    assert value == 1


@pytest.mark.performance
def test_long_sums_are_read_in_proportion_to_their_length():
    evaluate("1")
    with steps(at_most=400_000):
        value = evaluate("+".join(["1"] * 2_000))
    assert value == 2_000
