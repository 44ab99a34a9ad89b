import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from scipy import stats

from codegate.gating import Baseline, pin
from codegate.gating.drift import change_between
from codegate.gating.history import HistoryEntry, history_entry
from codegate.gating.trend import history_alarms, watch
from tests.gating.sampling import CONDITIONS, NOON, SETTINGS, SPEC, part

Rates = list[float]


def rates_of(draw: random.Random, n: int = 40) -> Rates:
    """U-shaped difficulties with a mean of 0.6."""
    return [draw.betavariate(0.24, 0.16) for _ in range(n)]


def run_of(draw: random.Random, rates: Rates, run: str, k: int, day: float = 0) -> HistoryEntry:
    results: dict[str, list[bool | None]] = {
        f"p{i}": [draw.random() < rate for _ in range(k)] for i, rate in enumerate(rates)
    }
    return history_entry(part(results, run, finished=NOON + timedelta(days=day)))


def baseline_of(draw: random.Random, rates: Rates, k: int = 10) -> Baseline:
    return pin([part({f"p{i}": [draw.random() < rate for _ in range(k)] for i, rate in enumerate(rates)}, "pinned")])


def dropped(rates: Rates, drop: float) -> Rates:
    """Return rates whose mean is lower by ``drop``: each is lower by the same share."""
    share = 1 - drop * len(rates) / sum(rates)
    return [rate * share for rate in rates]


def nights(draw: random.Random, rate_at: Callable[[int], Rates], count: int) -> list[HistoryEntry]:
    return [run_of(draw, rate_at(day), f"night-{day:02}", 1, day + 1) for day in range(count)]


def first_page(baseline: Baseline, entries: list[HistoryEntry]) -> int | None:
    """Return after how many nights the watch, run every night, pages."""
    for count in range(1, len(entries) + 1):
        if watch(baseline, entries[max(count - 8, 0) : count]).pages:
            return count
    return None


@pytest.mark.parametrize("seed", range(3))
def test_one_problem_is_fishers_exact_test(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(40):
        k, m = draw.randint(1, 12), draw.randint(1, 8)
        x, y = draw.randint(0, k), draw.randint(0, m)
        change = change_between({"a": (x, k)}, {"a": (y, m)})
        assert change is not None
        drop = stats.fisher_exact([[y, m - y], [x, k - x]], alternative="less").pvalue
        if y / m < x / k:
            assert change.p_drop == pytest.approx(min(drop, 0.5), abs=1e-9)
        else:
            assert change.p_drop == 0.5


def test_nothing_in_common_is_no_change() -> None:
    assert change_between({"a": (1, 2)}, {"b": (1, 2)}) is None
    assert change_between({"a": (1, 2)}, {"a": (0, 0)}) is None


def test_equal_nights_seldom_page_and_a_drop_pages_soon() -> None:
    """A short form of the simulation in bench/nightly.py, which has the figures."""
    draw = random.Random(20250601)
    paged, waited = 0, []
    for _ in range(12):
        rates = rates_of(draw)
        baseline = baseline_of(draw, rates)
        paged += first_page(baseline, nights(draw, lambda day, rates=rates: rates, 12)) is not None  # type: ignore[misc]
        worse = dropped(rates, 0.15)
        waited.append(first_page(baseline, nights(draw, lambda day, worse=worse: worse, 7)))  # type: ignore[misc]
    assert paged <= 1
    found = sorted(7.5 if night is None else night for night in waited)
    assert found[len(found) // 2] <= 4


def test_two_bad_nights_in_a_row_warn() -> None:
    draw = random.Random(3)
    rates = [0.5] * 20
    baseline = baseline_of(draw, rates)
    good = [run_of(draw, rates, f"g{day}", 2, day) for day in range(1, 6)]
    bad = [run_of(draw, [0.2] * 20, f"b{day}", 2, day) for day in (6, 7)]
    alarms = watch(baseline, [*good, *bad]).alarms
    assert ("two_nights", "warn") in {(alarm.kind, alarm.level) for alarm in alarms}
    assert watch(baseline, [*good, bad[0]]).alarms == ()
    assert watch(baseline, [*good, bad[0], run_of(draw, rates, "g8", 2, 8)]).alarms == ()


def test_runs_of_one_day_are_one_night_and_a_window_has_seven() -> None:
    draw = random.Random(4)
    baseline = baseline_of(draw, [0.5] * 16)
    entries = [run_of(draw, [0.5] * 16, f"r{i}", 1, 1 + i / 2) for i in range(20)]
    found = watch(baseline, entries)
    assert [night.nights for night in found.nights] == [1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]
    assert found.nights[1].runs == ("r1", "r2")


def test_only_runs_of_the_pinned_candidate_since_the_pinning_count() -> None:
    draw = random.Random(5)
    rates = [0.5] * 16
    baseline = baseline_of(draw, rates)
    pinned = run_of(draw, rates, "pinned", 1, 1)
    before = run_of(draw, rates, "before", 1, -1)
    fields = {**CONDITIONS, **SETTINGS, "model": "y.jsonl"}
    other = {"candidate": "other", "conditions": fields, "model": "y"}
    stranger = run_of(draw, rates, "stranger", 1, 1).model_copy(update=other)
    assert watch(baseline, [pinned, before, stranger]) == watch(baseline, [])
    lost = history_entry(part({f"p{i}": [None] for i in range(16)}, "lost", finished=NOON + timedelta(days=2)))
    found = watch(baseline, [lost])
    assert found.left_out == (("lost", "16 of 16 samples were lost to infrastructure faults"),)
    assert found.nights == ()
    assert not found.pages
    for few, made, compared in ((1, 16, 1), (2, 16, 0), (1, 3, 1)):
        results: dict[str, list[bool | None]] = {f"p{i}": [None if i < few else True] for i in range(made)}
        night = history_entry(part(results, "night", finished=NOON + timedelta(days=2)))
        assert len(watch(baseline, [night]).nights) == compared


def test_a_run_of_the_second_in_which_the_baseline_ended_counts() -> None:
    draw = random.Random(8)
    night = run_of(draw, [0.5] * 16, "night", 1)
    assert [found.runs for found in watch(baseline_of(draw, [0.5] * 16), [night]).nights] == [("night",)]


def test_another_snapshot_pages_and_its_samples_do_not_count() -> None:
    draw = random.Random(6)
    baseline = baseline_of(draw, [0.9] * 16)
    other = run_of(draw, [0.1] * 16, "other", 1, 1).model_copy(update={"model": "model-2"})
    found = watch(baseline, [other])
    [alarm] = found.alarms
    assert (alarm.kind, alarm.level, found.nights) == ("snapshot", "page", ())
    assert "model-x is pinned, but model-2 answered in run other" in alarm.text
    back = run_of(draw, [0.9] * 16, "back", 1, 2)
    assert watch(baseline, [other, back]).alarms == (), "it is over when the pinned one answers again"


def test_a_watch_that_compares_nothing_is_an_alarm() -> None:
    draw = random.Random(9)
    baseline = baseline_of(draw, [0.9] * 16)
    night = run_of(draw, [0.9] * 16, "night", 1, 1)
    fields = {**CONDITIONS, **SETTINGS, "max_output_tokens": "9000"}
    other = night.model_copy(update={"run": "other", "candidate": "other", "conditions": fields})
    found = watch(baseline, [other])
    assert found.left_out == (("other", "made with other settings: max_output_tokens 9000, pinned 8192"),)
    assert [(alarm.kind, alarm.level) for alarm in found.alarms] == [("unwatched", "warn")]
    assert watch(baseline, [night, other]).alarms == (), "the pinned candidate is watched"
    assert watch(baseline, [night, other.model_copy(update={"run": "night"})]).alarms == (), "in one run with another"
    assert not watch(baseline, []).unwatched, "before the first night"
    ahead = baseline.model_copy(update={"runs": (baseline.runs[0].model_copy(update={"finished": "2999-01-01T00Z"}),)})
    (alarm,) = watch(ahead, [night]).alarms
    assert (alarm.kind, "dated in the future" in alarm.text) == ("unwatched", True)


def test_a_run_dated_in_the_future_hides_no_later_one() -> None:
    """It was the last night for as long, so that no snapshot, no drop and no silence was noticed any more."""
    draw = random.Random(8)
    rates = [0.5] * 16
    baseline = baseline_of(draw, rates)
    ahead = run_of(draw, rates, "ahead", 1, 40_000)
    other = run_of(draw, rates, "other", 1, 2).model_copy(update={"model": "another"})
    good = run_of(draw, rates, "good", 1, 1)
    found = watch(baseline, [good, other, ahead])
    assert [(alarm.kind, alarm.level) for alarm in found.alarms] == [("snapshot", "page")]
    assert ("ahead", "dated in the future: check the clock of the machine that made it") in found.left_out
    assert watch(baseline, [ahead]).unwatched
    later = NOON + timedelta(days=30)
    assert [alarm.kind for alarm in history_alarms([good, ahead], later)] == ["stale"]
    assert history_alarms([ahead], later) == ()


def test_an_outage_is_no_other_snapshot() -> None:
    baseline = baseline_of(random.Random(6), [0.9] * 16)
    none: dict[str, list[bool | None]] = {f"p{i}": [None] for i in range(16)}
    lost = history_entry(part(none, "lost", finished=NOON + timedelta(days=2)))
    lost = lost.model_copy(update={"model": "alias"})  # as configured: no response named one
    found = watch(baseline, [lost])
    assert found.left_out == (("lost", "16 of 16 samples were lost to infrastructure faults"),)
    assert not found.pages
    night = run_of(random.Random(6), [0.9] * 16, "night", 1, 1)
    assert "snapshot" not in {alarm.kind for alarm in history_alarms([night, lost])}


def test_other_conditions_are_named_and_do_not_count() -> None:
    draw = random.Random(7)
    baseline = baseline_of(draw, [0.9] * 16)
    results: dict[str, list[bool | None]] = {f"p{i}": [False] for i in range(16)}
    other = history_entry(part(results, "r", settings={**SETTINGS, "prompt": "2"}, finished=NOON + timedelta(days=1)))
    found = watch(baseline, [other])
    assert found.left_out == (("r", "made under other conditions: prompt 2, pinned 1"),)
    assert [(alarm.kind, alarm.level) for alarm in found.alarms] == [("conditions", "warn"), ("unwatched", "warn")]
    assert baseline.spec == SPEC


def test_a_night_in_another_sandbox_counts_where_the_suite_is_proved_in_both() -> None:
    baseline = baseline_of(random.Random(7), [0.9] * 16)
    results: dict[str, list[bool | None]] = {f"p{i}": [True] for i in range(16)}
    docker = {**CONDITIONS, "sandbox": "docker"}
    night = history_entry(part(results, "r", conditions=docker, finished=NOON + timedelta(days=1)))
    assert watch(baseline, [night]).left_out == (("r", "made under other conditions: sandbox docker, pinned bwrap"),)
    proved = ({"sandbox": "bwrap"}, {"sandbox": "docker"})
    assert len(watch(baseline, [night.model_copy(update={"proved": proved})]).nights) == 1
