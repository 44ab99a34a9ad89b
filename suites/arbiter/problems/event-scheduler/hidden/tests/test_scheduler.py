from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from scheduler import Schedule, agenda, upcoming
from steps import steps

NINE = Schedule(time(9), "Europe/Berlin")


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def shown(runs):
    return [run.strftime("%m-%d %H:%M") for run in runs]


def test_every_day_at_a_local_time():
    assert shown(upcoming(NINE, utc("2024-01-10 12:00"), 3)) == ["01-11 08:00", "01-12 08:00", "01-13 08:00"]


def test_on_some_weekdays():
    schedule = Schedule(time(9), "Europe/Berlin", frozenset({0, 4}))
    assert shown(upcoming(schedule, utc("2024-01-10 12:00"), 3)) == ["01-12 08:00", "01-15 08:00", "01-19 08:00"]


def test_runs_are_in_utc():
    (run,) = upcoming(Schedule(time(9, 30), "Asia/Tokyo"), utc("2024-01-10 12:00"), 1)
    assert run == utc("2024-01-11 00:30")
    assert run.tzinfo is UTC


def test_an_agenda_of_several_schedules():
    schedules = {"late": Schedule(time(12), "UTC"), "early": Schedule(time(8), "UTC")}
    found = agenda(schedules, utc("2024-01-10 10:00"), 3)
    assert [name for _, name in found] == ["late", "early", "late"]
    assert shown(run for run, _ in found) == ["01-10 12:00", "01-11 08:00", "01-11 12:00"]


@pytest.mark.edge_case
def test_a_run_at_this_very_moment_is_over():
    assert shown(upcoming(NINE, utc("2024-01-10 08:00"), 1)) == ["01-11 08:00"]
    assert shown(upcoming(NINE, utc("2024-01-10 07:59"), 1)) == ["01-10 08:00"]


@pytest.mark.edge_case
def test_none_are_asked_for():
    assert upcoming(NINE, utc("2024-01-10 08:00"), 0) == []
    assert agenda({"nine": NINE}, utc("2024-01-10 08:00"), 0) == []
    assert agenda({}, utc("2024-01-10 08:00"), 5) == []


@pytest.mark.edge_case
def test_runs_at_the_same_time_are_ordered_by_name():
    schedules = {name: Schedule(time(8), "UTC") for name in ("b", "c", "a")}
    assert [name for _, name in agenda(schedules, utc("2024-01-10 10:00"), 4)] == ["a", "b", "c", "a"]


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("schedule", "after"),
    [
        (NINE, datetime(2024, 1, 10)),
        (Schedule(time(9), "Europe/Nowhere"), utc("2024-01-10")),
        (Schedule(time(9), "UTC", frozenset()), utc("2024-01-10")),
        (Schedule(time(9), "UTC", frozenset({7})), utc("2024-01-10")),
    ],
    ids=["no zone", "unknown zone", "no weekday", "no such weekday"],
)
def test_what_makes_no_sense_is_refused(schedule, after):
    with pytest.raises(ValueError):
        upcoming(schedule, after, 0)
    with pytest.raises(ValueError):
        agenda({"one": schedule}, after, 0)


@pytest.mark.temporal
def test_the_clocks_go_forward():
    assert shown(upcoming(NINE, utc("2024-03-29 12:00"), 3)) == ["03-30 08:00", "03-31 07:00", "04-01 07:00"]


@pytest.mark.temporal
def test_a_local_time_that_is_skipped():
    schedule = Schedule(time(2, 30), "Europe/Berlin")
    assert shown(upcoming(schedule, utc("2024-03-30 12:00"), 2)) == ["03-31 01:30", "04-01 00:30"]


@pytest.mark.temporal
def test_a_local_time_that_comes_twice():
    schedule = Schedule(time(1, 30), "America/New_York")
    assert shown(upcoming(schedule, utc("2024-11-02 12:00"), 2)) == ["11-03 05:30", "11-04 06:30"]


@pytest.mark.temporal
def test_the_weekday_is_that_of_the_zone():
    schedule = Schedule(time(8), "Pacific/Auckland", frozenset({0}))
    assert shown(upcoming(schedule, utc("2024-06-15 00:00"), 1)) == ["06-16 20:00"]


@pytest.mark.temporal
def test_after_may_be_in_any_zone():
    after = datetime(2024, 1, 10, 23, tzinfo=timezone(timedelta(hours=-8)))
    assert shown(upcoming(NINE, after, 1)) == ["01-11 08:00"]


@pytest.mark.performance
def test_an_agenda_of_many_schedules():
    schedules = {f"{number:03}": Schedule(time(number % 24), "UTC") for number in range(300)}
    agenda(schedules, utc("2024-01-10 10:00"), 1)
    with steps(at_most=60_000):
        found = agenda(schedules, utc("2024-01-10 10:00"), 300)
    assert len(found) == 300
