"""The journal: what a crash, a full disk or a stranger does to it."""

import json
import os
import resource
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codegate.candidates import CandidateSpec, Message
from codegate.errors import InfrastructureError, Interrupted, UsageError
from codegate.running import Journal, Outcome, RunOptions, candidate_samples, load_run
from codegate.running.call_log import Spending
from codegate.running.checks import with_spending
from codegate.solving import Attempt
from tests.kit.runs import LATE, SPECS, manifest, outcome


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "run", manifest())


def written(journal: Journal, *outcomes: Outcome) -> bytes:
    with journal.writing():
        for each in outcomes:
            journal.append(each)
    return (journal.folder / "outcomes.jsonl").read_bytes()


def attempt(patch: str = "", problem: str = "p-1") -> Attempt:
    return Attempt(
        problem=problem,
        candidate=SPECS[0].key(),
        sample=0,
        solver="reference",
        prompt_version="none",
        patch=patch,
        messages=(Message(role="assistant", text="done \udce9"),),
    )


def test_what_is_written_is_read(journal: Journal) -> None:
    outcomes = (outcome(True), outcome(False, sample=1), outcome(None, "p-2"), outcome(True, spec=SPECS[1]))
    written(journal, *outcomes)
    (journal.folder / "confirmation").mkdir()  # all that a crash left of one
    run = load_run(journal.folder)
    assert run.manifest == journal.manifest
    assert run.outcomes == outcomes


def test_an_outcome_keeps_the_answers_that_faults_took_before_it(journal: Journal) -> None:
    late: dict[str, Any] = {"attempt": None, "fault": LATE}
    graded = outcome(True, lost={"provider.malformed": 1})
    busy = outcome(None, attempt=None, fault=LATE.model_copy(update={"cause": "provider.overloaded"}))
    written(journal, outcome(None, **late, lost={"provider.timeout": 1}), busy, outcome(None, **late), graded)
    (read,) = journal.outcomes()
    assert read == graded.model_copy(update={"lost": {"provider.timeout": 3, "provider.malformed": 1}})
    (sample, _) = candidate_samples(journal.load(), SPECS[0]).samples["p-1"]
    assert (sample.passed, sample.lost) == (True, read.lost)


def test_an_answer_that_was_kept_and_graded_later_was_not_lost(journal: Journal) -> None:
    written(journal, outcome(None), outcome(True), outcome(None, sample=1))
    graded, broken = candidate_samples(journal.load(), SPECS[0]).samples["p-1"]
    assert (graded.lost, broken.lost) == ({}, {"sandbox": 1})


def test_what_a_kept_answer_lost_counts_once_when_it_is_graded_later(journal: Journal) -> None:
    late = attempt().model_copy(update={"lost": ("provider.timeout",)}).summary()
    both = (outcome(grade, attempt=late, lost={"provider.timeout": 1}) for grade in (None, True))
    written(journal, outcome(None, attempt=None, fault=LATE), *both)
    (read,) = journal.outcomes()
    assert read.lost == {"provider.timeout": 2}


@pytest.mark.parametrize("patch", ["-a = '\udce9'\n+a = '\\xe9' \u2028\n", "+##[set-output name=verdict;]pass\n"])
def test_any_patch_is_read_back_and_no_line_holds_a_workflow_command(journal: Journal, patch: str) -> None:
    assert b"##[" not in written(journal, outcome(True, attempt=attempt(patch).summary()))
    with journal.writing():
        journal.write_attempt(attempt(patch))
    [read] = journal.outcomes()
    assert read.attempt is not None
    assert read.attempt.patch == patch
    assert journal.read_attempt(SPECS[0].key(), "p-1", 0) == attempt(patch)


@given(data=st.data())
def test_cut_anywhere_the_whole_lines_before_the_cut_count(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    journal = Journal.create(tmp_path_factory.mktemp("cut") / "run", manifest())
    outcomes = (outcome(True), outcome(None, "p-2"), outcome(False, sample=1))
    whole = written(journal, *outcomes)
    cut = data.draw(st.integers(0, len(whole)))
    path = journal.folder / "outcomes.jsonl"
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    assert journal.outcomes() == outcomes[:kept]
    assert written(journal, outcome(True, "p-2", 1)).count(b"\n") == kept + 1
    assert journal.outcomes() == (*outcomes[:kept], outcome(True, "p-2", 1))


@pytest.mark.parametrize(
    "line",
    [
        b'{"schema":"codegate.outc',
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"a":1,"a":2}',
        b"[" * 5000,
        outcome(True).line().replace('"sample": 0', '"sample": 7').encode(),
        outcome(True).line().replace("1" * 64, "9" * 64).encode(),
        outcome(True).line().replace(SPECS[0].key(), "0" * 16).encode(),
        outcome(True).line().replace('"resolved": true', '"resolved": "x"').encode(),
    ],
    ids=lambda line: line[:20].decode("latin-1"),
)
def test_a_broken_or_foreign_line_in_the_middle_is_refused_with_its_number(journal: Journal, line: bytes) -> None:
    whole = written(journal, outcome(True), outcome(False, sample=1)).splitlines(keepends=True)
    (journal.folder / "outcomes.jsonl").write_bytes(whole[0] + line + b"\n" + whole[1])
    with pytest.raises(UsageError, match=r"outcomes\.jsonl line 2 .*Restore the file"):
        journal.outcomes()


def test_an_outcome_has_a_grade_or_a_fault() -> None:
    good = outcome(True)
    with pytest.raises(ValidationError, match="exactly one"):
        Outcome.model_validate(good.model_dump(by_alias=True) | {"grade": None})
    with pytest.raises(ValidationError, match="exactly one"):
        Outcome.model_validate(good.model_dump(by_alias=True) | {"fault": outcome(None).fault})


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [(None, True, True), (True, None, True), (None, None, None)],
)
def test_a_grade_wins_over_a_fault_and_a_repeated_fault_counts_once(
    journal: Journal, first: bool | None, second: bool | None, counts: bool | None
) -> None:
    written(journal, outcome(first), outcome(second))
    [one] = journal.outcomes()
    assert (one.grade.resolved if one.grade else None) is counts


@pytest.mark.parametrize("again", [True, False])
def test_a_second_grade_of_a_sample_is_refused_with_both_lines(journal: Journal, again: bool) -> None:
    written(journal, outcome(False), outcome(None, "p-2"), outcome(again))
    with pytest.raises(UsageError, match=r"outcomes\.jsonl line 3 grades sample 0 of p-1 again, after line 1.*Restore"):
        load_run(journal.folder)


def test_a_folder_with_a_run_or_its_remains_takes_no_new_one(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="already holds a run"):
        Journal.create(journal.folder, manifest())
    remains = tmp_path / "remains"
    remains.mkdir()
    (remains / "outcomes.jsonl").write_text("")
    with pytest.raises(UsageError, match=r"outcomes\.jsonl\. Choose another --out\.$"):
        Journal.create(remains, manifest())


def test_only_an_own_run_that_has_not_begun_is_removed(journal: Journal, tmp_path: Path) -> None:
    Journal.open(journal.folder).remove_if_unstarted()
    with Journal.open(journal.folder).writing():
        journal.remove_if_unstarted()
    assert (journal.folder / "run.json").exists(), "another process made it, or continues it"
    (journal.folder / "answers.jsonl").touch()
    journal.remove_if_unstarted()
    assert not journal.folder.exists()
    called = Journal.create(tmp_path / "called", manifest())
    with called.writing():
        called.calls.record("a" * 16)
    called.remove_if_unstarted()
    assert load_run(called.folder).manifest == called.manifest
    (tmp_path / "own").mkdir()
    (tmp_path / "own/notes.txt").touch()
    Journal.create(tmp_path / "own", manifest()).remove_if_unstarted()
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["notes.txt"]


def test_two_writers_are_refused_and_the_first_goes_on(journal: Journal) -> None:
    with journal.writing():
        with (
            pytest.raises(UsageError, match="written by another process"),
            Journal.open(journal.folder).writing(),
        ):
            pass
        journal.append(outcome(True))
    with Journal.open(journal.folder).writing():
        pass
    assert len(journal.outcomes()) == 1


def test_a_thread_left_over_from_a_run_cannot_write_after_it(journal: Journal) -> None:
    with pytest.raises(RuntimeError, match="not open"):
        journal.append(outcome(True))
    written(journal, outcome(True))
    with pytest.raises(Interrupted):
        journal.append(outcome(False))
    with pytest.raises(Interrupted):
        journal.write_attempt(attempt())
    assert journal.outcomes() == (outcome(True),)


def test_after_a_write_that_failed_nothing_is_appended_behind_the_torn_line(journal: Journal) -> None:
    before = written(journal, outcome(True))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with journal.writing():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
        try:
            with pytest.raises(InfrastructureError, match=r"cannot write .*outcomes\.jsonl.*Check its space"):
                journal.append(outcome(False, sample=1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with pytest.raises(InfrastructureError, match=r"outcomes\.jsonl"):
            journal.append(outcome(False, sample=1))
    assert journal.outcomes() == (outcome(True),)
    written(journal, outcome(False, sample=1))
    assert journal.outcomes() == (outcome(True), outcome(False, sample=1))


def test_a_call_whose_line_was_cut_short_was_not_made(journal: Journal) -> None:
    assert journal.calls.spending() == Spending()
    with journal.writing():
        journal.calls.record("a" * 16, Decimal("0.25"))
        journal.calls.record("b" * 16, Decimal("0.5"))
    path = journal.folder / "calls.log"
    path.write_bytes(path.read_bytes()[:-3])
    assert Journal.open(journal.folder).calls.spending() == Spending(1, Decimal("0.25"))
    with journal.writing():
        journal.calls.record("c" * 16)
        journal.calls.record_cost("a" * 16, Decimal("-0.15"))
    assert journal.calls.spending() == Spending(2, Decimal("0.10"), unpriced=1)


def test_no_line_of_a_run_folder_adds_to_a_budget(journal: Journal) -> None:
    with journal.writing():
        journal.calls.record("a" * 16, Decimal("0.25"))
        journal.calls.record_cost("b" * 16, Decimal(-1000))
    assert Journal.open(journal.folder).calls.spending() == Spending(1, Decimal(0))


def test_calls_of_unknown_cost_are_named_where_a_budget_does_not_count_them(tmp_path: Path) -> None:
    model, replayed = CandidateSpec(provider="openai", model="m-1"), CandidateSpec(provider="replay", model="a.jsonl")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    other = Journal.create(tmp_path / "a", manifest(specs=(model, replayed), id="a", created=now))
    own = Journal.create(tmp_path / "b", manifest(specs=(model,), id="b", created=now))
    with other.writing(), own.writing():
        other.calls.record(model.key())
        other.calls.record(model.key(), check=True)
        other.calls.record(replayed.key())
        other.calls.record_answers(model.key())
        other.calls.record(model.key(), Decimal("0.25"))
        own.calls.record(model.key())
    said: list[str] = []
    options = with_spending(RunOptions(budget_usd_per_month=Decimal(3)), own, said.append)
    assert options.budget_usd == Decimal("2.75")
    assert said == [
        "no budget counts 1 earlier call of this run, of unknown cost",
        f"the month's other runs in {tmp_path} cost $0.25 of $3.00, and 2 calls of unknown cost, not counted",
    ]
    assert with_spending(RunOptions(), own, said.append) == RunOptions()
    assert len(said) == 2, "without a budget nothing is left out"


def test_a_months_budget_passes_over_folders_that_cannot_be_looked_into(journal: Journal) -> None:
    # As in /tmp, where other users have private folders. Root can read these, but not a name that is too long.
    (journal.folder.parent / "of-another-user").symlink_to("x" * 300)
    assert journal.spent_this_month() == Spending()


def test_a_count_of_calls_that_is_none_is_refused(journal: Journal) -> None:
    (journal.folder / "calls.log").write_text("call nobody 1\n")
    with pytest.raises(UsageError, match=r"calls\.log line 1 is not of a model call"):
        journal.calls.spending()


@pytest.mark.parametrize("name", ["outcomes.jsonl", "calls.log", "transcripts", "problems"])
@pytest.mark.parametrize("kind", ["fifo", "other", "device", "link"])
def test_what_is_no_file_of_a_run_is_named_and_neither_waited_for_nor_written_through(
    journal: Journal, tmp_path: Path, name: str, kind: str
) -> None:
    path, target = journal.folder / name, tmp_path / "precious"
    target.write_text("no line break at its end")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind != "other":
        path.symlink_to(target if kind == "link" else "/dev/zero")
    elif "." in name:
        path.mkdir()
    else:
        path.write_text("")
    with pytest.raises(UsageError, match=name):
        written(journal, outcome(True))
    assert target.read_text() == "no line break at its end"
    if name == "outcomes.jsonl":
        with pytest.raises(UsageError, match=name):
            load_run(journal.folder)


def test_a_journal_of_holes_is_refused_before_it_is_read(journal: Journal) -> None:
    with (journal.folder / "outcomes.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than"):
        load_run(journal.folder)
    with pytest.raises(UsageError, match="larger than"):
        written(journal)


def test_a_line_cut_short_is_dropped_however_long_it_is(journal: Journal) -> None:
    whole = written(journal, outcome(True))
    with (journal.folder / "outcomes.jsonl").open("ab") as file:
        file.write(b"x" * (3 << 20))
    assert written(journal) == whole
    (journal.folder / "outcomes.jsonl").write_bytes(b"x" * (3 << 20))
    assert written(journal) == b""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"samples": 101}, "samples"),
        ({"id": "../../elsewhere"}, "id"),
        ({"problems": {f"p-{n}": "1" * 64 for n in range(5001)}, "samples": 100}, "more than 1000000 outcomes"),
        ({"candidates": [{"provider": "openai", "model": "m", "base_url": "http://evil.example/v1"}]}, "base URL"),
    ],
)
def test_a_plan_that_nobody_made_is_refused(journal: Journal, change: dict[str, object], words: str) -> None:
    path = journal.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UsageError, match=words) as caught:
        load_run(journal.folder)
    assert "run.json" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_link_among_the_transcripts_is_not_written_through(journal: Journal, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (journal.folder / "transcripts").mkdir()
    (journal.folder / "transcripts" / SPECS[0].key()).symlink_to(outside)
    with pytest.raises(UsageError, match="symbolic link"), journal.writing():
        journal.write_attempt(attempt())
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", json.dumps({"problem": "p-1"}), "\udce9"])
def test_a_broken_attempt_is_named(journal: Journal, text: str) -> None:
    with journal.writing():
        journal.write_attempt(attempt())
    [path] = (journal.folder / "transcripts").rglob("*.json")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"p-1\.0\.json.*remove it to repeat the model calls"):
        journal.read_attempt(SPECS[0].key(), "p-1", 0)


def test_an_attempt_in_anothers_place_is_refused(journal: Journal) -> None:
    with journal.writing():
        journal.write_attempt(attempt())
    [path] = (journal.folder / "transcripts").rglob("*.json")
    path.rename(path.with_name("p-2.0.json"))
    with pytest.raises(UsageError, match="another attempt"):
        journal.read_attempt(SPECS[0].key(), "p-2", 0)
    assert journal.read_attempt(SPECS[0].key(), "p-1", 0) is None


@pytest.mark.parametrize("problem", ["../../x", "a/b", "", ".hidden", "a\0"])
def test_ids_cannot_leave_the_folder(journal: Journal, problem: str) -> None:
    with journal.writing(), pytest.raises(UsageError, match="not a usable id"):
        journal.write_attempt(attempt(problem=problem))


def test_a_folder_without_a_run_and_a_broken_manifest_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no run: it has no run\.json"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text('{"schema": "codegate.run/1"}')
    with pytest.raises(UsageError, match=r"run\.json: id: "):
        load_run(tmp_path)
    os.truncate(tmp_path / "run.json", 5)
    with pytest.raises(UsageError, match=r"run\.json is not usable JSON"):
        load_run(tmp_path)
