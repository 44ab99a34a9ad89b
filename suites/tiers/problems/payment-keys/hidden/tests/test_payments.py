import threading

import pytest
from payments import Declined, InProgress, KeyReused, Payments


class Bank:
    def __init__(self, keep=100):
        self.now, self.calls, self.errors = 0, [], []
        self.payments = Payments(self.charge, lambda: self.now, keep)

    def charge(self, request):
        self.calls.append(request)
        if self.errors:
            raise self.errors.pop(0)
        return {"id": len(self.calls), "items": [1]}

    def pay(self, key="k", **request):
        return self.payments.pay(key, request)


@pytest.fixture
def bank():
    return Bank()


def test_a_payment_is_made_once(bank):
    assert bank.pay(amount=5) == ({"id": 1, "items": [1]}, False)
    assert bank.pay(amount=5) == ({"id": 1, "items": [1]}, True)
    assert bank.calls == [{"amount": 5}]


def test_other_keys_are_other_payments(bank):
    bank.pay(amount=5)
    assert bank.pay("other", amount=5) == ({"id": 2, "items": [1]}, False)


def test_a_key_is_of_one_request(bank):
    bank.pay(amount=5)
    with pytest.raises(KeyReused):
        bank.pay(amount=6)
    assert len(bank.calls) == 1


def test_a_declined_payment_stays_declined(bank):
    bank.errors = [Declined("no funds", 51)]
    for _ in range(2):
        with pytest.raises(Declined) as raised:
            bank.pay(amount=5)
        assert raised.value.args == ("no funds", 51)
    assert len(bank.calls) == 1


def test_a_failed_payment_can_be_repeated(bank):
    bank.errors = [OSError("down")]
    with pytest.raises(OSError, match="down"):
        bank.pay(amount=5)
    assert len(bank.payments) == 0
    assert bank.pay(amount=6) == ({"id": 2, "items": [1]}, False)


@pytest.mark.edge_case
def test_the_order_of_keys_means_nothing(bank):
    bank.payments.pay("k", {"a": 1, "b": {"c": 2, "d": 3}})
    assert bank.payments.pay("k", {"b": {"d": 3, "c": 2}, "a": 1})[1] is True


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), (0, False), ([1, 2], [2, 1]), (None, 0), ("1", 1), ({}, [])]
)
def test_other_values_are_other_requests(bank, one, other):
    bank.pay(value=one)
    with pytest.raises(KeyReused):
        bank.pay(value=other)


@pytest.mark.edge_case
def test_responses_are_the_callers_own(bank):
    first, _ = bank.pay(amount=5)
    first["items"].append(2)
    second, _ = bank.pay(amount=5)
    assert second["items"] == [1]
    second["items"].append(3)
    assert bank.pay(amount=5)[0]["items"] == [1]


@pytest.mark.edge_case
def test_requests_are_the_callers_own(bank):
    request = {"items": [1]}
    bank.payments.pay("k", request)
    request["items"].append(2)
    with pytest.raises(KeyReused):
        bank.payments.pay("k", request)
    assert bank.payments.pay("k", {"items": [1]})[1] is True


@pytest.mark.edge_case
@pytest.mark.parametrize(("key", "allowed"), [("", False), ("x" * 65, False), ("x" * 64, True), ("x", True)])
def test_keys_are_checked(bank, key, allowed):
    if allowed:
        assert bank.pay(key)[1] is False
    else:
        with pytest.raises(ValueError):
            bank.pay(key)
    assert len(bank.calls) == allowed


@pytest.mark.edge_case
def test_an_empty_response_is_kept():
    calls = []
    payments = Payments(calls.append, lambda: 0)
    assert [payments.pay("k", {}), payments.pay("k", {})] == [(None, False), (None, True)]
    assert len(calls) == 1


@pytest.mark.temporal
def test_a_key_is_kept_for_a_time(bank):
    bank.now = 10
    bank.pay(amount=5)
    bank.now = 109
    assert bank.pay(amount=5)[1] is True
    bank.now = 110
    assert bank.pay(amount=6) == ({"id": 2, "items": [1]}, False)


@pytest.mark.temporal
def test_a_repetition_does_not_prolong(bank):
    bank.pay(amount=5)
    bank.now = 60
    bank.pay(amount=5)
    bank.now = 100
    assert bank.pay(amount=5)[1] is False


@pytest.mark.temporal
def test_keys_are_forgotten(bank):
    for number in range(5):
        bank.now = number
        bank.pay(str(number))
    bank.now = 102
    assert len(bank.payments) == 2


def begun(bank, key="k"):
    """Start a payment that waits, and return what lets it go on."""
    entered, go_on = threading.Event(), threading.Event()

    def charge(request):
        if request.get("slow"):
            entered.set()
            go_on.wait(30)
        return Bank.charge(bank, request)

    bank.payments = Payments(charge, lambda: bank.now, 100)
    thread = threading.Thread(target=bank.pay, kwargs={"key": key, "slow": True})
    thread.start()
    assert entered.wait(30)

    def end():
        go_on.set()
        thread.join(30)

    return end


@pytest.mark.temporal
def test_a_payment_under_way(bank):
    end = begun(bank)
    with pytest.raises(InProgress):
        bank.pay(slow=True)
    with pytest.raises(KeyReused):
        bank.pay(amount=5)
    assert bank.pay("other", amount=5)[1] is False
    end()
    assert bank.pay(slow=True)[1] is True
    assert len(bank.calls) == 2


@pytest.mark.temporal
def test_a_payment_under_way_is_never_forgotten(bank):
    end = begun(bank)
    bank.now = 1_000
    with pytest.raises(InProgress):
        bank.pay(slow=True)
    assert len(bank.payments) == 1
    end()
    assert len(bank.calls) == 1


class Counted(str):
    compared = 0

    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)


@pytest.mark.performance
def test_no_call_looks_at_all_keys():
    asked = 0

    def clock():
        nonlocal asked
        asked += 1
        return 0

    payments = Payments(lambda _: 1, clock)
    Counted.compared = 0
    for number in range(2_000):
        payments.pay(Counted(number), {})
    assert len(payments) == 2_000
    assert asked <= 20_000
    assert Counted.compared <= 100_000
