"""``codegate merge``: what it refuses, and how it gates."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from codegate.cli.main import group
from codegate.errors import CodegateError, UsageError
from codegate.gating import GatePolicy
from codegate.running import Gate, load_run
from tests.running.sharded import plan, write_shards


def _invoke(*arguments: object) -> str:
    """Run a command in this process and return its output; an error that it expects is raised."""
    words = [str(each) for each in arguments]
    return CliRunner().invoke(group, words, standalone_mode=False, catch_exceptions=False).output


def _refused(words: str, *arguments: object) -> None:
    with pytest.raises(CodegateError, match=words) as caught:
        _invoke(*arguments)
    assert isinstance(caught.value, UsageError)
    assert caught.value.exit_code == 2


def test_shards_are_merged_as_they_were_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shards = write_shards(tmp_path, plan(samples=1), 3)
    _refused(r"planned without a baseline\. Leave it out", "merge", *shards, "--baseline", "x.lock")
    _refused(r"not of another", "merge", *shards, "--run-id", "another")
    _refused(r"this is shard 2/3 of run", "baseline", "pin", shards[1], "--candidate", "reference")
    _invoke("merge", *shards)
    assert load_run(next(tmp_path.glob("runs/*"))).manifest.shard is None
    gated = write_shards(tmp_path / "gated", plan(samples=1, gated_by="0" * 64), 3)
    _refused(r"codegate\.lock", "merge", *gated)


def test_a_run_that_floors_gate_is_merged_under_these_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    floors = GatePolicy.model_validate({"cohorts": {"all": {"floor": 0.9, "tier": "critical"}}})
    shards = write_shards(tmp_path, plan(20, 2, gated_by=Gate(None, floors).digest), 3)
    _refused("neither a baseline nor a critical floor is given", "merge", *shards)
    config = "candidates: [reference]\ngate: {cohorts: {all: {floor: FLOOR, tier: critical}}}\n"
    (tmp_path / "codegate.yml").write_text(config.replace("FLOOR", "0.0"))
    _refused("another baseline or gate policy", "merge", *shards)
    (tmp_path / "codegate.yml").write_text(config.replace("FLOOR", "0.9"))
    output = _invoke("merge", *shards, "--out", "merged")
    verdicts = json.loads(Path("merged/reports/report.json").read_text())["verdicts"]
    assert "regressed" in {verdict["kind"] for verdict in verdicts}
    assert "samples the pinned model again" not in output, "there is none"


def test_a_run_that_was_planned_without_a_gate_is_merged_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shards = write_shards(tmp_path, plan(20, 2).model_copy(update={"no_gate": True}), 3)
    floors = "candidates: [reference]\ngate: {cohorts: {all: {floor: 0.9, tier: critical}}}\n"
    (tmp_path / "codegate.yml").write_text(floors)
    assert "not gated: the run was planned with --no-gate" in _invoke("merge", *shards, "--out", "merged")
