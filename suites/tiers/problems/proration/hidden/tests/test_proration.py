from datetime import date

import pytest
from proration import invoice

PRICES = {"basic": 1000, "pro": 3000, "odd": 1001, "one": 1, "free": 0}
JUNE = (2024, 6)


def day(number, month=6):
    return date(2024, month, number)


def lines(changes, month=JUNE):
    return [(one.day, other.day, *rest) for one, other, *rest in invoice(month, changes, PRICES)["lines"]]


def test_a_whole_month():
    found = invoice(JUNE, [(day(1, 5), "pro", 2)], PRICES)
    assert found == {"lines": [(day(1), day(30), "pro", 2, 6000)], "credit": 0, "total": 6000}


def test_a_plan_that_begins_in_the_month():
    assert lines([(day(16), "pro", 1)]) == [(16, 30, "pro", 1, 1500)]


def test_an_upgrade():
    assert lines([(day(1), "basic", 1), (day(11), "pro", 1)]) == [(1, 10, "basic", 1, 333), (11, 30, "pro", 1, 2000)]


def test_more_seats():
    assert lines([(day(1), "basic", 1), (day(16), "basic", 3)]) == [(1, 15, "basic", 1, 500), (16, 30, "basic", 3, 1500)]


def test_a_pause():
    changes = [(day(1), "basic", 3), (day(11), None, 0), (day(21), "basic", 3)]
    assert lines(changes) == [(1, 10, "basic", 3, 1000), (21, 30, "basic", 3, 1000)]


def test_credits():
    assert invoice(JUNE, [(day(1), "basic", 1)], PRICES, 300)["total"] == 700
    found = invoice(JUNE, [(day(1), "basic", 1)], PRICES, 5000)
    assert (found["credit"], found["total"]) == (1000, 0)


@pytest.mark.parametrize(("month", "cents"), [((2024, 2), 1552), ((2023, 2), 1500), ((2024, 1), 1645)])
def test_months_have_their_days(month, cents):
    assert invoice(month, [(date(*month, 15), "pro", 1)], PRICES)["total"] == cents


def test_changes_can_come_in_any_order():
    assert lines([(day(21), "pro", 1), (day(1), "basic", 1)]) == [(1, 20, "basic", 1, 667), (21, 30, "pro", 1, 1000)]


@pytest.mark.edge_case
def test_the_last_change_of_a_day_counts():
    changes = [(day(11), "pro", 1), (day(1), "basic", 3), (day(11), None, 0), (day(11), "basic", 1)]
    assert lines(changes) == [(1, 10, "basic", 3, 1000), (11, 30, "basic", 1, 667)]


@pytest.mark.edge_case
def test_a_change_to_the_same_begins_no_line():
    assert lines([(day(1), "basic", 1), (day(9), "basic", 1), (day(12), "basic", 1)]) == [(1, 30, "basic", 1, 1000)]


@pytest.mark.edge_case
def test_no_seats_are_no_plan():
    assert lines([(day(1), "pro", 0), (day(30), "pro", 30)]) == [(30, 30, "pro", 30, 3000)]
    assert lines([]) == []


@pytest.mark.edge_case
def test_a_free_plan_has_a_line():
    assert lines([(day(1), "free", 5)]) == [(1, 30, "free", 5, 0)]


@pytest.mark.edge_case
def test_later_changes_do_not_matter():
    assert lines([(day(1), "basic", 1), (day(1, 7), "gone", 5)]) == [(1, 30, "basic", 1, 1000)]


@pytest.mark.edge_case
def test_missing_cents_go_to_the_largest_remainders():
    changes = [(day(1), "odd", 1), (day(8), "odd", 2), (day(12), "odd", 1)]
    # 233.57, 266.93 and 634.0 (19 days: 633.97): in all 1134.47
    assert [line[-1] for line in lines(changes)] == [233, 267, 634]


@pytest.mark.edge_case
def test_of_equal_remainders_the_earlier_gets_the_cent():
    changes = [(day(1), "one", 15), (day(16), "one", 45)]
    assert [line[-1] for line in lines(changes)] == [8, 22]


@pytest.mark.edge_case
@pytest.mark.parametrize(("seats", "cents"), [(1, 0), (3, 2), (5, 2)])
def test_half_cents_go_to_the_even_one(seats, cents):
    assert invoice(JUNE, [(day(16), "one", seats)], PRICES)["total"] == cents


@pytest.mark.edge_case
def test_unknown_plans():
    with pytest.raises(KeyError) as raised:
        invoice(JUNE, [(day(1, 1), "gone", 0), (day(2, 1), "basic", 1)], PRICES)
    assert raised.value.args == ("gone",)


@pytest.mark.edge_case
@pytest.mark.parametrize(("seats", "credits"), [(-1, 0), (1, -1)])
def test_numbers_are_checked(seats, credits):
    with pytest.raises(ValueError):
        invoice(JUNE, [(day(1), "basic", seats)], PRICES, credits)


@pytest.mark.temporal
def test_the_latest_change_before_the_month_counts():
    changes = [(date(2023, 12, 31), "pro", 9), (day(31, 5), "basic", 1), (date(2022, 1, 1), "odd", 1)]
    assert lines(changes) == [(1, 30, "basic", 1, 1000)]


@pytest.mark.temporal
def test_the_borders_of_the_month():
    changes = [(day(31, 5), "pro", 1), (day(1), "basic", 1), (day(30), "pro", 1), (day(1, 7), "basic", 9)]
    assert lines(changes) == [(1, 29, "basic", 1, 967), (30, 30, "pro", 1, 100)]
