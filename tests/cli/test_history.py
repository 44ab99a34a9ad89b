"""History and nightly watch through the command line."""

import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec, Prices
from tests.cli.run_folders import SPEC, pattern, write_run
from tests.running.world import codegate


def nightly(home: Path, day: int, results: dict[str, list[bool]], **changes: object) -> str:
    name = f"night-{day:02}"
    write_run(home / name, results, at=f"2026-01-{day:02}T03:00:00+00:00", **changes)  # type: ignore[arg-type]
    return name


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pinned")
    write_run(home / "pinned", pattern(20, 10), at="2025-12-31T03:00:00+00:00")
    done = codegate("baseline", "pin", "pinned", cwd=home)
    assert done.code == 0, done.stderr
    return home


@pytest.fixture
def home(pinned: Path, tmp_path: Path) -> Path:
    """A folder with a baseline of ten samples, made before the nights."""
    return shutil.copytree(pinned, tmp_path, dirs_exist_ok=True)


def test_a_history_is_appended_once_and_shown(home: Path) -> None:
    runs = ["pinned", *(nightly(home, day, pattern(20, 1, shift=day)) for day in range(1, 5))]
    first = codegate("history", "append", *runs[:3], "--json", cwd=home)
    assert (first.code, len(first.document["appended"])) == (0, 3), first.stderr
    assert "the others" not in first.stderr, "none was there"
    again = codegate("history", "append", *runs, "--json", cwd=home)
    assert [one["run"] for one in again.document["appended"]] == runs[3:]
    with (home / "history.jsonl").open("a") as file:
        file.write('{"schema": "codegate.hist')  # a crash
    shown = codegate("history", "show", "--baseline", "codegate.lock", "--json", cwd=home)
    assert shown.code == 0, shown.stderr
    view = shown.document
    [series] = view["series"]
    assert [point["run"] for point in series["points"]] == runs
    assert all(point["low"] < point["pass_rate"] < point["high"] for point in series["points"])
    assert series["points"][0]["cost"] is None, "no price is known"
    slope = series["slope_per_30_days"]
    assert slope["n"] == 5
    assert slope["low"] < slope["value"] < slope["high"]
    assert view["matrix"][0]["runs"] == 5
    assert len(view["watch"]["nights"]) == 4, "the baseline's own run is no night"
    assert {alarm["kind"] for alarm in view["alarms"]} <= {"stale"}
    for words in ("pp per 30 days (95% interval", "n=20 problems x 10", "days old"):
        assert words in shown.stderr, shown.stderr


@pytest.mark.requirement("R4")
def test_the_dashboard_shows_every_run_and_no_text_of_a_model_becomes_markup(tmp_path: Path) -> None:
    model = "<script>alert(1)</script>"
    runs = [nightly(tmp_path, day, pattern(10, 2, shift=day), model=model) for day in range(1, 5)]
    assert codegate("history", "append", *runs, cwd=tmp_path).code == 0
    done = codegate("history", "show", "--html", "page.html", cwd=tmp_path)
    assert done.code == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert page.count('<circle class="dot"') == page.count('<line class="interval"') == len(runs)
    assert all(f">{run}</th>" in page for run in runs)
    assert "pp per 30 days (95% interval" in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.requirement("D11")
def test_people_are_recorded_beside_the_history_and_shown(tmp_path: Path) -> None:
    runs = [nightly(tmp_path, day, pattern(10, 2, shift=day)) for day in range(1, 3)]
    assert codegate("history", "append", *runs, cwd=tmp_path).code == 0
    (tmp_path / "people.csv").write_text("problem,person,solved\np-00,Ada,yes\np-01,Ada,no\n")
    done = codegate("history", "human", "--from", "people.csv", "--json", cwd=tmp_path)
    assert (done.code, done.document["people"], done.document["value"]) == (0, 1, 0.5), done.stderr
    shown = codegate("history", "show", "--html", "page.html", "--json", cwd=tmp_path)
    assert (shown.document["people"]["n"], shown.document["matrix"][0]["suite"]) == (2, "hand"), shown.stderr
    page = (tmp_path / "page.html").read_text()
    assert '<th scope="col">People</th>' in page
    assert "hand <code>" in page, "a suite has its name"


def test_costs_are_known_where_prices_are(tmp_path: Path) -> None:
    priced = CandidateSpec(provider="openai", model="m-2025-06-01", prices=Prices(input=Decimal(1), output=Decimal(2)))
    write_run(tmp_path / "r", pattern(4, 2), spec=priced, tokens=(1000, 500))
    done = codegate("history", "append", "r", "--json", cwd=tmp_path)
    assert done.document["appended"][0]["cost"] == pytest.approx(8 * (1000 * 1 + 500 * 2) / 1e6)


def test_the_watch_pages_about_a_drop_and_not_before(home: Path) -> None:
    good = [nightly(home, day, pattern(20, 1, shift=day)) for day in (1, 2)]
    assert codegate("history", "append", *good, cwd=home).code == 0
    calm = codegate("history", "watch", "--json", cwd=home)
    assert (calm.code, calm.document["page"]) == (0, False), calm.stderr
    bad = [nightly(home, day, {f"p-{i:02}": [False] for i in range(20)}) for day in (3, 4)]
    assert codegate("history", "append", *bad, cwd=home).code == 0
    paged = codegate("history", "watch", "--json", cwd=home)
    assert (paged.code, paged.document["page"]) == (1, True)
    assert {alarm["kind"] for alarm in paged.document["alarms"]} >= {"drop", "two_nights"}
    assert "PAGE: m-2025-06-01 has become worse in the last 4 nights" in paged.stderr
    nights = [line for line in paged.stderr.splitlines() if " then, " in line]
    assert nights
    assert all("two-sided p" in night for night in nights), "alarms have the one-sided p"


def test_runs_with_other_settings_are_no_watch_of_the_pinned_candidate(home: Path) -> None:
    longer = SPEC.model_copy(update={"sampling": SPEC.sampling.model_copy(update={"max_output_tokens": 9000})})
    write_run(home / "other", pattern(20, 1), at=datetime.now(UTC).isoformat(), spec=longer)
    assert codegate("history", "append", "other", cwd=home).code == 0
    done = codegate("history", "watch", cwd=home)
    assert done.code == 3, done.stdout
    assert "left out: other: made with other settings: max_output_tokens 9000, pinned" in done.stdout
    assert "WARN: m-2025-06-01 is not watched: no run since the pinning can be compared" in done.stdout
    assert codegate("history", "append", nightly(home, 1, pattern(20, 1)), cwd=home).code == 0
    done = codegate("history", "watch", "--json", cwd=home)
    assert done.code == 0, done.stderr
    assert [alarm["kind"] for alarm in done.document["alarms"]] == ["stale"], "the pinned candidate's run is old"


def test_nights_of_a_renamed_deployment_are_no_silent_watch(home: Path) -> None:
    renamed = SPEC.model_copy(update={"model": "deployment-2"})
    write_run(home / "other", pattern(20, 1), at=datetime.now(UTC).isoformat(), spec=renamed, model=SPEC.model)
    assert codegate("history", "append", "other", cwd=home).code == 0
    done = codegate("history", "watch", cwd=home)
    assert "left out: other: made with other settings: model deployment-2, pinned m-2025-06-01" in done.stdout
    assert (done.code, f"WARN: {SPEC.model} is not watched" in done.stdout) == (3, True)
