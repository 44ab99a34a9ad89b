import json
import multiprocessing
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from codegate.errors import UsageError
from codegate.gating.history import HistoryEntry, append_history, history_entry, read_history
from codegate.gating.trend import days_since, history_alarms, matrix_of, series_of, slope_of
from tests.gating.sampling import NOON, SETTINGS, part, uniform


def entry(run: str = "run-1", day: float = 0, rate: tuple[int, int] = (3, 4), **changes: Any) -> HistoryEntry:
    """Return the entry of a run on 10 problems that each passed ``rate``."""
    passed, n = rate
    results: dict[str, list[bool | None]] = {f"p{i}": [j < passed for j in range(n)] for i in range(10)}
    made = history_entry(part(results, run, finished=NOON + timedelta(days=day)))
    return made.model_copy(update=changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history.jsonl"


def test_what_is_appended_is_read_back_in_order_of_time(path: Path) -> None:
    late, early = entry("b", 2), entry("a", 1)
    assert append_history(path, [late, early]) == (late, early)
    assert append_history(path, [early, entry("c", 3)]) == (entry("c", 3),), "what is there is not added again"
    assert read_history(path) == (early, late, entry("c", 3))
    assert len(path.read_text().splitlines()) == 3


def test_a_harness_of_many_files_goes_into_a_history(path: Path) -> None:
    files = ", ".join(f".claude/skills/skill-{number}/SKILL.md (01234567)" for number in range(1000))
    made = history_entry(part(uniform(2, 1), settings={**SETTINGS, "harness": files}))
    append_history(path, [made])
    assert read_history(path) == (made,)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.dictionaries(st.text(max_size=5), st.booleans(), min_size=1)),
        max_size=8,
        unique_by=lambda one: one[0],
    ),
    st.integers(min_value=0, max_value=10_000),
)
def test_any_cut_of_the_file_loses_at_most_the_last_line(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, dict[str, bool]]], cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.unlink(missing_ok=True)
    entries = [history_entry(part({p: [ok] for p, ok in results.items()}, run)) for run, results in runs]
    append_history(path, entries)
    data = path.read_bytes()
    left = data[: min(cut, len(data))]
    path.write_bytes(left)
    kept = read_history(path)
    whole = left.count(b"\n")
    assert sorted(one.run for one in kept) == sorted(one.run for one in entries[: len(kept)])
    assert len(kept) in {whole, whole + 1}, "an end without a newline that is an entry all the same counts"
    append_history(path, entries)
    assert sorted(one.run for one in read_history(path)) == sorted(run for run, _ in runs)
    assert path.read_bytes().count(b"\n") == len(entries)


def test_a_run_that_says_something_else_now_is_refused(path: Path) -> None:
    append_history(path, [entry()])
    with pytest.raises(UsageError, match="has another entry for candidate x of run run-1"):
        append_history(path, [entry(rate=(4, 4))])
    path.write_bytes(entry().line() + b"\n" + entry().line() + b"\n")
    assert len(read_history(path)) == 1, "two branches that were merged may both have it"
    path.write_bytes(entry().line() + b"\n" + entry(rate=(4, 4)).line() + b"\n")
    with pytest.raises(UsageError, match="has another entry"):
        read_history(path)


def test_unfinished_and_broken_runs_stay_out() -> None:
    good = part({"a": [True, None]})
    assert (history_entry(good).lost, history_entry(good).counts) == (1, {"a": (1, 1)})
    all_lost = history_entry(part({"a": [None]}))
    assert (all_lost.pass_rate, all_lost.lost) == (None, 1)
    samples = good.samples.samples["a"]
    undone = {"a": (samples[0], samples[1].model_copy(update={"failure": "not run"}))}
    unfinished = part({"a": [True, None]})
    object.__setattr__(unfinished, "samples", good.samples.model_copy(update={"samples": undone}))
    with pytest.raises(UsageError, match="is unfinished"):
        history_entry(unfinished)
    for changes in ({"label": "\ud800"}, {"model": "x" * 3000}):
        odd = part({"a": [True]})
        object.__setattr__(odd, "samples", odd.samples.model_copy(update=changes))
        with pytest.raises(UsageError, match="cannot go into a history"):
            history_entry(odd)


def _line(**changes: Any) -> str:
    return json.dumps({**json.loads(entry().line()), **changes})


BROKEN = {
    "no JSON": "schema: codegate.history/1",
    "other schema": _line(schema="codegate.history/2"),
    "unknown key": _line(trust_me=True),
    "rate that is not": _line(pass_rate=1.0),
    "no rate": _line(pass_rate=None),
    "other conditions": _line(conditions={"suite": "x"}),
    "more passes than samples": _line(counts={"p": [2, 1]}, samples=1),
    "more samples than the run": _line(counts={"p": [3, 4]}, samples=3),
    "no time": _line(at="yesterday"),
    "no zone": _line(at="2025-06-01T12:00:00"),
    "too long": _line(label="x" * (5 << 20)),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_line_is_one_clear_line(path: Path, name: str) -> None:
    data = BROKEN[name].encode()
    path.parent.mkdir()
    path.write_bytes(entry("a").line() + b"\n" + data + b"\n" + entry("b").line() + b"\n")
    for appends in (False, True):
        with pytest.raises(UsageError) as caught:
            append_history(path, [entry("c")]) if appends else read_history(path)
        assert str(path) in str(caught.value)
        assert "line 2" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1000


def test_links_pipes_and_folders_are_no_history(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(entry().line() + b"\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(UsageError):
            read_history(tmp_path / name)
        with pytest.raises(UsageError):
            append_history(tmp_path / name, [entry("new")])
    assert len(read_history(tmp_path / "real")) == 1
    with pytest.raises(UsageError, match="does not exist"):
        read_history(tmp_path / "nowhere")


def _append_many(path: Path, writer: int) -> None:
    for number in range(8):
        append_history(path, [entry(f"w{writer}-{number}"), entry(f"both-{number}")])


def test_several_writers_lose_nothing_and_repeat_nothing(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append_many, args=(path, writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(path.read_bytes().splitlines()) == 32
    assert len(read_history(path)) == 32


def test_the_slope_is_that_of_least_squares() -> None:
    draw = random.Random(5)
    entries = [entry(f"r{i}", draw.uniform(0, 90), (draw.randrange(0, 5), 4)) for i in range(12)]
    slope = slope_of(entries)
    days = [(datetime.fromisoformat(one.at) - NOON).total_seconds() / 86400 for one in entries]
    oracle = stats.linregress(days, [one.pass_rate for one in entries])
    assert slope is not None
    assert slope.value == pytest.approx(oracle.slope * 30, rel=1e-9)
    width = stats.t.ppf(0.975, 10) * oracle.stderr * 30
    assert (slope.low, slope.high) == pytest.approx((slope.value - width, slope.value + width), rel=1e-9)
    assert slope.n == 12


def test_a_slope_needs_three_runs_and_time_between_them() -> None:
    assert slope_of([entry("a", 0), entry("b", 1)]) is None
    assert slope_of([entry(name, 1) for name in "abc"]) is None
    assert slope_of([]) is None


def test_three_runs_in_line_do_not_make_a_certain_slope() -> None:
    slope = slope_of([entry("a", 0, (3, 4)), entry("b", 10, (2, 4)), entry("c", 20, (1, 4))])
    assert slope is not None
    assert slope.value == pytest.approx(-0.75)
    assert slope.high - slope.low > 0.5, "each rate has the noise of its 40 samples"


def test_other_conditions_are_another_series() -> None:
    other = part(uniform(10, 5, 4), "r9", settings={**SETTINGS, "prompt": "2"})
    found = series_of([*(entry(f"r{i}", i) for i in range(3)), history_entry(other)])
    assert sorted(len(one.entries) for one in found) == [1, 3]
    assert [one.slope is None for one in found] == [False, True]


@pytest.mark.requirement("D11")
def test_the_matrix_pools_runs_by_model_and_suite() -> None:
    entries = [entry("a", 0, (1, 4)), entry("b", 1, (3, 4)), entry("c", 2, model="model-2"), entry("d", 3)]
    entries[3] = entries[3].model_copy(update={"suite_digest": "e" * 64})
    cells = {(cell.model, cell.suite_digest[0]): cell for cell in matrix_of(entries)}
    assert cells.keys() == {("model-x", "d"), ("model-x", "e"), ("model-2", "d")}
    cell = cells["model-x", "d"]
    assert (cell.runs, cell.rate.value, cell.rate.n) == (2, 0.5, 10)
    assert (cell.first, cell.last) == (entries[0].at, entries[1].at)


@pytest.mark.requirement("D11")
def test_a_history_alarms_about_age_snapshots_and_a_falling_line() -> None:
    now = datetime(2025, 6, 30, 12, tzinfo=UTC)
    steady = [entry(f"r{i}", i) for i in range(22)]
    assert days_since(steady, now) == 8
    assert [(one.kind, one.text) for one in history_alarms(steady, now)] == [("stale", "the last run is 8 days old.")]
    assert history_alarms(steady, now, stale_days=8) == ()
    assert history_alarms((), now) == ()
    falling = [entry(f"r{i}", i, (8 - i // 4, 8)) for i in range(28)]
    [alarm] = history_alarms(falling, now)
    assert (alarm.kind, alarm.level) == ("slope", "warn")
    assert "n=28 runs" in alarm.text
    ahead = entry("ahead", 40_000, (8, 8))
    assert history_alarms([*falling, ahead], now) == (alarm,), "a run dated in the future hides no falling line"
    assert [one.slope for one in series_of([*falling, ahead])] == [one.slope for one in series_of(falling)]
    changed = [*steady, entry("new", 28, model="model-2"), ahead]
    [alarm] = history_alarms(changed, now)
    assert alarm.kind == "snapshot"
    assert "model-x answered until run r21, model-2 since run new" in alarm.text
