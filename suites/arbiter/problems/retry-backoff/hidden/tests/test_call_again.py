import pytest
from call_again import call_again
from steps import steps


class World:
    """An action that fails some times and takes some time, and a clock that only it and sleeping move."""

    def __init__(self, failures=0, error=OSError, seconds=0.0):
        self.failures, self.error, self.seconds = failures, error, seconds
        self.now, self.calls, self.slept = 1_000.0, 0, []

    def action(self):
        self.calls += 1
        self.now += self.seconds
        if self.calls <= self.failures:
            raise self.error() if isinstance(self.error, type) else self.error
        return "done"

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def retry(self, attempts=5, base=1.0, cap=60.0, random=lambda: 0.0, **more):
        return call_again(
            self.action, on=(OSError,), attempts=attempts, base=base, cap=cap,
            sleep=self.sleep, random=random, clock=lambda: self.now, **more,
        )  # fmt: skip


class Busy(OSError):
    def __init__(self, retry_after):
        self.retry_after = retry_after


def test_a_success_needs_no_delay():
    world = World()
    assert world.retry() == "done"
    assert (world.calls, world.slept) == (1, [])


def test_delays_double():
    world = World(failures=4)
    assert world.retry() == "done"
    assert world.slept == [0.5, 1.0, 2.0, 4.0]


def test_half_of_a_delay_is_drawn():
    world = World(failures=2)
    draws = iter([0.5, 0.25])
    assert world.retry(random=lambda: next(draws)) == "done"
    assert world.slept == [0.75, 1.25]


def test_the_last_failure_comes_through():
    world = World(failures=9)
    with pytest.raises(OSError):
        world.retry(attempts=3)
    assert (world.calls, world.slept) == (3, [0.5, 1.0])


def test_other_exceptions_come_through_at_once():
    world = World(failures=1, error=KeyError)
    with pytest.raises(KeyError):
        world.retry()
    assert (world.calls, world.slept) == (1, [])


@pytest.mark.edge_case
def test_no_backoff_is_above_the_cap():
    world = World(failures=4)
    assert world.retry(base=4, cap=10) == "done"
    assert world.slept == [2.0, 4.0, 5.0, 5.0]


@pytest.mark.edge_case
def test_a_single_attempt():
    world = World(failures=1)
    with pytest.raises(OSError):
        world.retry(attempts=1)
    assert (world.calls, world.slept) == (1, [])


@pytest.mark.edge_case
@pytest.mark.parametrize("attempts", [0, -1])
def test_no_attempt_at_all_is_refused(attempts):
    world = World()
    with pytest.raises(ValueError):
        world.retry(attempts=attempts)
    assert world.calls == 0


@pytest.mark.edge_case
def test_a_delay_of_nothing_is_one():
    world = World(failures=2)
    assert world.retry(base=0) == "done"
    assert world.slept == [0.0, 0.0]


@pytest.mark.temporal
def test_the_server_may_ask_for_more_time():
    world = World(failures=2, error=Busy(90))
    assert world.retry(cap=10) == "done"
    assert world.slept == [90, 90]


@pytest.mark.temporal
def test_the_server_cannot_ask_for_less():
    world = World(failures=3, error=Busy(0.75))
    assert world.retry() == "done"
    assert world.slept == [0.75, 1.0, 2.0]


@pytest.mark.temporal
def test_a_delay_past_the_deadline_is_not_begun():
    world = World(failures=9)
    with pytest.raises(OSError):
        world.retry(deadline=3)
    assert (world.calls, world.slept) == (3, [0.5, 1.0])


@pytest.mark.temporal
def test_the_deadline_itself_is_in_time():
    world = World(failures=2)
    assert world.retry(deadline=1.5) == "done"


@pytest.mark.temporal
def test_the_time_of_the_action_counts():
    world = World(failures=9, seconds=1.0)
    with pytest.raises(OSError):
        world.retry(deadline=3)
    assert (world.calls, world.slept) == (2, [0.5])


@pytest.mark.performance
def test_thousands_of_attempts():
    world = World(failures=2_999)
    with steps(at_most=120_000):
        result = world.retry(attempts=3_000)
    assert result == "done"
