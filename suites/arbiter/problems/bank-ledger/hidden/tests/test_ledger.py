from decimal import Decimal

import pytest
from ledger import Ledger, split
from steps import steps


def test_deposits_add_up():
    ledger = Ledger()
    ledger.deposit("ann", "10.50", 1)
    ledger.deposit("ann", 5, 2)
    assert ledger.balance("ann", 2) == Decimal("15.50")
    assert ledger.balance("bob", 2) == 0


def test_a_transfer_moves_money():
    ledger = Ledger()
    ledger.deposit("ann", 10, 1)
    ledger.transfer("ann", "bob", "4.25", 2)
    assert ledger.balance("ann", 2) == Decimal("5.75")
    assert ledger.balance("bob", 2) == Decimal("4.25")


def test_no_more_is_moved_than_there_is():
    ledger = Ledger()
    ledger.deposit("ann", 10, 1)
    with pytest.raises(ValueError):
        ledger.transfer("ann", "bob", "10.01", 2)
    assert ledger.balance("ann", 2) == 10
    assert ledger.balance("bob", 2) == 0


def test_an_amount_is_split():
    assert split("10", 3) == [Decimal("3.34"), Decimal("3.33"), Decimal("3.33")]
    assert split("0.02", 3) == [Decimal("0.01"), Decimal("0.01"), 0]


def test_interest_of_a_year():
    ledger = Ledger()
    ledger.deposit("ann", 1000, 0)
    assert ledger.interest("ann", Decimal("0.05"), 1, 365) == 50


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("amount", "held"), [("0.125", "0.12"), ("0.135", "0.14"), ("2.675", "2.68"), ("1.005", "1.00")]
)
def test_halves_go_to_the_even_cent(amount, held):
    ledger = Ledger()
    ledger.deposit("ann", amount, 1)
    assert str(ledger.balance("ann", 1)) == held


@pytest.mark.edge_case
@pytest.mark.parametrize("amount", [0, -1, "0.005", "ten", "", "nan", "inf"])
def test_what_is_no_amount_is_refused(amount):
    ledger = Ledger()
    with pytest.raises(ValueError):
        ledger.deposit("ann", amount, 1)
    assert ledger.balance("ann", 1) == 0


@pytest.mark.edge_case
@pytest.mark.parametrize("amount", [1.5, None])
def test_a_float_is_no_amount(amount):
    with pytest.raises(TypeError):
        Ledger().deposit("ann", amount, 1)
    with pytest.raises(TypeError):
        split(amount, 2)


@pytest.mark.edge_case
def test_the_last_cent_can_be_moved_but_not_to_oneself():
    ledger = Ledger()
    ledger.deposit("ann", 10, 1)
    with pytest.raises(ValueError):
        ledger.transfer("ann", "ann", 1, 1)
    ledger.transfer("ann", "bob", 10, 1)
    assert str(ledger.balance("ann", 1)) == "0.00"


@pytest.mark.edge_case
def test_interest_is_rounded_once():
    ledger = Ledger()
    ledger.deposit("ann", 10, 0)
    assert ledger.interest("ann", Decimal("0.05"), 1, 20) == Decimal("0.03")
    assert ledger.interest("ann", Decimal("0.05"), 5, 4) == 0


@pytest.mark.temporal
def test_a_balance_is_that_of_its_day():
    ledger = Ledger()
    ledger.deposit("ann", 5, 10)
    ledger.deposit("ann", 3, 4)
    assert [ledger.balance("ann", day) for day in (3, 4, 9, 10, 99)] == [0, 3, 3, 8, 8]


@pytest.mark.temporal
def test_money_that_comes_later_cannot_be_moved():
    ledger = Ledger()
    ledger.deposit("ann", 10, 5)
    with pytest.raises(ValueError):
        ledger.transfer("ann", "bob", 1, 4)
    ledger.transfer("ann", "bob", 1, 5)
    assert ledger.balance("bob", 5) == 1


@pytest.mark.temporal
def test_money_that_is_moved_later_is_no_longer_there():
    ledger = Ledger()
    ledger.deposit("ann", 10, 1)
    ledger.transfer("ann", "bob", 8, 9)
    with pytest.raises(ValueError):
        ledger.transfer("ann", "bob", 3, 5)
    ledger.transfer("ann", "bob", 2, 5)
    assert [ledger.balance("bob", day) for day in (4, 5, 9)] == [0, 2, 10]


@pytest.mark.temporal
def test_interest_follows_the_balance():
    ledger = Ledger()
    ledger.deposit("ann", 365, 11)
    ledger.deposit("ann", 365, 16)
    assert ledger.interest("ann", Decimal("0.10"), 1, 20) == Decimal("1.50")
    assert ledger.interest("ann", Decimal("0.10"), 16, 16) == Decimal("0.20")


@pytest.mark.performance
def test_interest_of_many_days():
    ledger = Ledger()
    ledger.deposit("ann", 365, 1)
    with steps(at_most=2_000):
        interest = ledger.interest("ann", Decimal("0.01"), 1, 100_000)
    assert interest == 1_000


@pytest.mark.performance
def test_many_entries_in_order():
    ledger = Ledger()
    with steps(at_most=250_000):
        for day in range(2_000):
            ledger.deposit("ann", 1, day)
            balance = ledger.balance("ann", day)
    assert balance == 2_000
