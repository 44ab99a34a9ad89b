import pytest
from breaker import CircuitBreaker
from steps import steps


def breaker_of(threshold=2, window=60, cooldown=10, longest=40):
    return CircuitBreaker(threshold, window, cooldown, longest)


def call(breaker, succeeded, now):
    ticket = breaker.start(now)
    assert ticket is not None
    breaker.finish(ticket, succeeded, now)


def test_calls_are_made_while_they_succeed():
    breaker = breaker_of()
    for now in range(5):
        call(breaker, True, now)
    assert breaker.state(5) == "closed"


def test_failures_open_the_breaker():
    breaker = breaker_of()
    call(breaker, False, 0)
    assert breaker.state(0) == "closed"
    call(breaker, True, 1)
    call(breaker, False, 2)
    assert breaker.state(2) == "open"
    assert breaker.start(3) is None


def test_a_trial_that_succeeds_closes_it():
    breaker = breaker_of(threshold=1)
    call(breaker, False, 0)
    assert breaker.state(20) == "half_open"
    call(breaker, True, 20)
    assert breaker.state(20) == "closed"
    assert breaker.start(21) is not None


def test_a_trial_that_fails_opens_it_again():
    breaker = breaker_of(threshold=3)
    for now in range(3):
        call(breaker, False, now)
    call(breaker, False, 20)
    assert breaker.state(21) == "open"
    assert breaker.start(21) is None


@pytest.mark.edge_case
def test_one_trial_at_a_time():
    breaker = breaker_of(threshold=1)
    call(breaker, False, 0)
    trial = breaker.start(20)
    assert breaker.start(21) is None
    assert breaker.state(21) == "half_open"
    breaker.finish(trial, True, 22)
    assert breaker.start(22) is not None


@pytest.mark.edge_case
def test_a_call_is_finished_once():
    breaker = breaker_of()
    ticket = breaker.start(0)
    for now in range(3):
        breaker.finish(ticket, False, now)
    breaker.finish(12345, False, 3)
    breaker.finish(12346, False, 3)
    assert breaker.state(3) == "closed"


@pytest.mark.edge_case
def test_tickets_are_not_given_twice():
    breaker = breaker_of(threshold=1)
    tickets = [breaker.start(0) for _ in range(5)]
    breaker.finish(tickets[0], False, 0)
    tickets.append(breaker.start(20))
    breaker.finish(tickets[-1], True, 20)
    tickets.append(breaker.start(21))
    assert len(set(tickets)) == 7


@pytest.mark.edge_case
@pytest.mark.parametrize("limits", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 5, 4)])
def test_limits_are_checked(limits):
    with pytest.raises(ValueError):
        CircuitBreaker(*limits)


@pytest.mark.temporal
def test_old_failures_no_longer_count():
    breaker = breaker_of()
    call(breaker, False, 0)
    call(breaker, False, 60)
    assert breaker.state(60) == "closed"
    call(breaker, False, 119)
    assert breaker.state(119) == "open"


@pytest.mark.temporal
def test_the_cooldown_ends_on_the_second():
    breaker = breaker_of(threshold=1)
    call(breaker, False, 5)
    assert breaker.state(14) == "open"
    assert breaker.start(14) is None
    assert breaker.state(15) == "half_open"


@pytest.mark.temporal
def test_the_cooldown_doubles_up_to_the_longest():
    breaker = breaker_of(threshold=1)
    call(breaker, False, 0)
    now, waits = 0, []
    for _ in range(4):
        begin = now
        while breaker.state(now) == "open":
            now += 1
        waits.append(now - begin)
        call(breaker, False, now)
    assert waits == [10, 20, 40, 40]


@pytest.mark.temporal
def test_a_success_brings_the_first_cooldown_back():
    breaker = breaker_of(threshold=1)
    call(breaker, False, 0)
    call(breaker, False, 10)
    call(breaker, True, 30)
    call(breaker, False, 31)
    assert breaker.state(40) == "open"
    assert breaker.state(41) == "half_open"


@pytest.mark.temporal
def test_calls_from_before_the_opening_no_longer_count():
    breaker = breaker_of(threshold=1)
    late, other = breaker.start(0), breaker.start(0)
    call(breaker, False, 1)
    breaker.finish(late, True, 2)
    assert breaker.state(2) == "open"
    call(breaker, True, 11)
    breaker.finish(other, False, 12)
    assert breaker.state(12) == "closed"


@pytest.mark.performance
def test_many_failures_in_the_window():
    breaker = CircuitBreaker(5_000, 100_000, 10, 10)
    with steps(at_most=150_000):
        for now in range(3_000):
            breaker.finish(breaker.start(now), False, now)
    assert breaker.state(3_000) == "closed"
