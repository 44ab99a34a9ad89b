"""Merging: the shards of a run become the run; what is missing, doubled, foreign or changed is refused by name."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import InfrastructureError, UsageError
from codegate.gating import GatePolicy
from codegate.running import (
    Gate,
    Journal,
    RunManifest,
    candidate_samples,
    gate_run,
    load_run,
    merge_shards,
    run_exit_code,
)
from codegate.running.outcome import Fault, SoundnessRecord
from codegate.running.shards import shard_folders
from tests.kit.runs import SPECS, pinned, solved
from tests.running.sharded import made, parts, plan, write, write_shards

WHOLE = plan(samples=1)
FAULT = Fault(cause="provider.timeout", message="late.", retries=1)


def changed(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change a JSON file of a run."""
    path = folder / name
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def refused(words: str, folders: list[Path], out: Path, **more: Any) -> None:
    """Merging ends with a usage error that has ``words``, and leaves nothing behind."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(UsageError, match=words):
        merge_shards(folders, out, **more)
    assert sorted(out.parent.iterdir()) == before


@pytest.mark.parametrize("of", [1, 3, 7])
@pytest.mark.requirement("X1")
def test_shards_and_merge_are_one_run(tmp_path: Path, of: int) -> None:
    folders = write_shards(tmp_path, WHOLE, of)
    merged = merge_shards(list(reversed(folders)), tmp_path / "merged")
    single = Journal.open(write(tmp_path / "single", WHOLE))
    run = merged.load()
    assert run.manifest == WHOLE.model_copy(update={"id": merged.manifest.id})
    assert list(run.manifest.problems) == list(WHOLE.problems)
    assert tuple(outcome.key for outcome in run.outcomes) == WHOLE.outcome_keys()
    alone = {outcome.key: outcome for outcome in single.load().outcomes}
    assert {outcome.key: outcome for outcome in run.outcomes} == alone, "every outcome, in full"
    assert merged.calls.spending() == single.calls.spending()
    for key in WHOLE.outcome_keys():
        assert merged.read_attempt(*key) == single.read_attempt(*key) is not None
    for name in WHOLE.problems:
        assert merged.read_problem(name) == single.read_problem(name) is not None
    assert run_exit_code(run, ()) == run_exit_code(single.load(), ())
    for spec in SPECS:
        assert candidate_samples(run, spec) == candidate_samples(single.load(), spec)


def test_a_merged_run_keeps_the_answers_that_faults_took(tmp_path: Path) -> None:
    folders = write_shards(tmp_path / "shards", WHOLE, 2)
    graded = next(one for one in Journal.open(folders[0]).outcomes() if one.grade is not None)
    late = graded.model_copy(update={"attempt": None, "grade": None, "fault": FAULT})
    with (folders[0] / "outcomes.jsonl").open("a") as file:
        file.write(late.line() + "\n")
    merged = merge_shards(folders, tmp_path / "merged")
    assert {outcome.key: outcome.lost for outcome in merged.outcomes() if outcome.lost} == {
        late.key: {"provider.timeout": 1}
    }


def test_missing_and_doubled_shards_are_named(tmp_path: Path) -> None:
    one, two, three, four = write_shards(tmp_path, WHOLE, 4)
    out = tmp_path / "out"
    refused(r"2 of 4 shards are missing: 2/4, 4/4\.", [one, three], out)
    copy = Path(shutil.copytree(two, tmp_path / "copy"))
    refused(rf"shard 2/4 is given twice: {two} and {copy}", [one, two, copy, three, four], out)
    refused(r"shard 2/4 is given twice", [one, two, two, three], out)
    refused("no shard was given", [], out)


def test_what_is_of_another_run_is_refused(tmp_path: Path) -> None:
    one, two, three = write_shards(tmp_path, WHOLE, 3)
    later = plan(samples=1).model_copy(update={"id": "20250102T000000Z-abcdef"})
    again = write_shards(tmp_path / "again", later, 3)[1]
    out = tmp_path / "out"
    refused(rf"{again} is a shard of run 20250102T\S+, not of 20250101T", [one, again, three], out)
    refused(r"is a shard of run 20250101T\S+, not of another", [one, two, three], out, run_id="another")
    whole = write(tmp_path / "whole", WHOLE)
    refused(rf"{whole} is a whole run, and no shard", [one, two, whole], out)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"suite_digest": "e" * 64}, "differ in suite_digest"),
        ({"conditions": {**WHOLE.conditions, "grader": "2"}}, "differ in conditions"),
        ({"sandbox": "docker", "conditions": {**WHOLE.conditions, "sandbox": "docker"}}, "differ in sandbox, condit"),
        ({"samples": 2, "looks": [2]}, "differ in samples"),
        ({"gated_by": "0" * 64}, "differ in gated_by"),
        ({"codegate": "0.2.0"}, "differ in codegate"),
        ({"prompts": {}}, "differ in prompts"),
        ({"shard": {"number": 2, "of": 4, "problems": 7}}, "is shard 2/4, and .* is shard 1/3|is shard 2/4"),
        ({"shard": {"number": 2, "of": 3, "problems": 8}}, "is shard 2/3, and"),
        ({"shard": {"number": 9, "of": 3, "problems": 7}}, "there is no part 9 of 3"),
        ({"shard": {"number": 1, "of": 3, "problems": 7}}, "shard 1/3 is given twice"),
    ],
)
def test_a_shard_whose_plan_was_changed_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    one, two, three = write_shards(tmp_path, WHOLE, 3)
    changed(two, "run.json", lambda manifest: manifest | change)
    refused(words, [one, two, three], tmp_path / "out")


def test_a_plan_that_was_changed_in_every_shard_is_not_that_of_the_id(tmp_path: Path) -> None:
    folders = write_shards(tmp_path, plan(samples=1, gated_by="0" * 64), 3)
    for folder in folders:
        changed(folder, "run.json", lambda manifest: manifest | {"gated_by": None})
    refused("do not match its plan", folders, tmp_path / "out")


def test_an_outcome_of_another_shard_is_refused(tmp_path: Path) -> None:
    one, two, three = write_shards(tmp_path, WHOLE, 3)
    stranger = made(WHOLE, parts(WHOLE, 3)[2].outcome_keys()[0])
    with (two / "outcomes.jsonl").open("a") as journal:
        journal.write(stranger.line() + "\n")
    refused(rf"{two}/outcomes.jsonl line \d+ is of another run", [one, two, three], tmp_path / "out")
    # Nor does it help to plan it there too.
    problems = {stranger.problem: stranger.problem_digest}
    changed(two, "run.json", lambda manifest: manifest | {"problems": manifest["problems"] | problems})
    refused("do not match its plan", [one, two, three], tmp_path / "out")


def test_an_unfinished_shard_is_refused(tmp_path: Path) -> None:
    manifests = parts(WHOLE, 3)
    folders = write_shards(tmp_path, WHOLE, 3)
    shutil.rmtree(folders[1])
    write(folders[1], manifests[1], manifests[1].outcome_keys()[:-2])
    total = len(manifests[1].outcome_keys())
    refused(rf"shard 2/3 .* is unfinished: {total - 2} of {total} outcomes\.", folders, tmp_path / "out")


def test_what_is_unsound_in_a_shard_is_left_out_of_the_whole(tmp_path: Path) -> None:
    manifests = parts(WHOLE, 3)
    folders = write_shards(tmp_path, WHOLE, 3)
    (bad, *_), found = list(manifests[1].problems), {}
    for folder, manifest in zip(folders, manifests, strict=True):
        found = {name: "it does not pass here" if name == bad else None for name in manifest.problems}
        _record(folder, found)
    run = merge_shards(folders, tmp_path / "out").load()
    assert run.manifest.excluded[bad] == "quarantined: it does not pass here"
    assert bad not in run.manifest.problems
    assert len(run.outcomes) == len(WHOLE.outcome_keys()) - 2
    record = Journal.open(tmp_path / "out").soundness()
    assert record is not None
    assert record.problems.keys() == WHOLE.problems.keys()

    _record(folders[1], dict.fromkeys(manifests[1].problems, "it does not pass here"))
    with pytest.raises(InfrastructureError, match=rf"{len(manifests[1].problems)} of 7 problems are not sound here"):
        merge_shards(folders, tmp_path / "again")

    stranger = next(iter(manifests[0].problems))
    _record(folders[1], {stranger: "it does not pass here"})
    refused(rf"soundness record of '{stranger}', which is not its problem", folders, tmp_path / "third")


def _record(folder: Path, problems: dict[str, str | None]) -> None:
    journal = Journal.open(folder)
    with journal.writing():
        journal.record_soundness(SoundnessRecord(checked="2025-01-01T00:00:00+00:00", problems=problems))


def test_a_gated_run_is_merged_under_its_gate_only(tmp_path: Path) -> None:
    gate = _gate(WHOLE)
    folders = write_shards(tmp_path, plan(samples=1, gated_by=gate.digest), 3)
    other = Gate(gate.baseline, GatePolicy(margin=0.2))
    refused("planned for another baseline or gate policy", folders, tmp_path / "out", gate=other)
    refused("planned for a gate, but neither a baseline nor a critical floor is given", folders, tmp_path / "out")
    assert len(merge_shards(folders, tmp_path / "out", gate=gate).load().outcomes) == len(WHOLE.outcome_keys())
    ungated = write_shards(tmp_path / "ungated", WHOLE, 3)
    refused("planned without a baseline, but one is configured", ungated, tmp_path / "again", gate=gate)


def test_who_compares_a_shard_alone_is_told_to_merge(tmp_path: Path) -> None:
    shard = load_run(write_shards(tmp_path, plan(samples=1, gated_by=_gate(WHOLE).digest), 3)[0])
    floors = GatePolicy.model_validate({"cohorts": {"all": {"floor": 0.1, "tier": "critical"}}})
    other = Gate(_gate(WHOLE).baseline, GatePolicy(margin=0.2))
    for by in (Gate(None, floors), other):
        with pytest.raises(UsageError, match=r"this is shard 1/3 of run .*, not the run.*codegate merge"):
            gate_run(shard, by)


def test_a_candidate_that_cannot_be_compared_need_not_have_been_asked(tmp_path: Path) -> None:
    gate = _gate(WHOLE.model_copy(update={"conditions": {**WHOLE.conditions, "grader": "older"}}))
    manifests = parts(plan(samples=1, gated_by=gate.digest), 3)
    folders = [write(tmp_path / str(number), part, ()) for number, part in enumerate(manifests)]
    assert merge_shards(folders, tmp_path / "out", gate=gate).load().outcomes == ()


def _gate(manifest: RunManifest) -> Gate:
    return Gate(pinned(solved(manifest), SPECS[0]), GatePolicy())


def test_a_confirmation_in_a_shard_is_refused(tmp_path: Path) -> None:
    folders = write_shards(tmp_path, WHOLE, 3)
    write(folders[0] / "confirmation", WHOLE)
    refused("shard 1/3 .* holds a confirmation", folders, tmp_path / "out")


@pytest.mark.parametrize("name", ["run.json", "outcomes.jsonl", "soundness.json", "calls.log"])
@pytest.mark.parametrize("kind", ["link", "pipe", "junk"])
def test_odd_files_in_a_shard_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    folders = write_shards(tmp_path, WHOLE, 3)
    path = folders[1] / name
    if path.exists():
        path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b'{"schema": "\xff\n')
    refused(str(folders[1]), folders, tmp_path / "out")


def test_nothing_is_written_over_and_nothing_half_is_left(tmp_path: Path) -> None:
    folders = write_shards(tmp_path, WHOLE, 3)
    out = tmp_path / "out"
    out.mkdir()
    assert merge_shards(folders, out).folder == out, "an empty folder is as good as none"
    refused(f"{out} exists already", folders, out)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refused("exists already", folders, tmp_path / "link")


def test_folders_of_downloaded_artifacts_are_found(tmp_path: Path) -> None:
    down = tmp_path / "down"
    folders = write_shards(down, WHOLE, 3)
    (down / "codegate-shard-2-of-3" / "report").mkdir(parents=True)
    folders[1] = folders[1].rename(down / "codegate-shard-2-of-3" / "run")
    (down / "link").symlink_to(folders[0])
    (down / "linked").mkdir()
    (down / "linked" / "run").symlink_to(folders[0])
    assert sorted(shard_folders([down])) == sorted(folders), "not through a link"
    assert shard_folders(folders) == tuple(folders)
    for nothing in (tmp_path / "none", down / "codegate-shard-2-of-3" / "report"):
        with pytest.raises(UsageError, match=r"is no folder|holds no run"):
            shard_folders([nothing])
