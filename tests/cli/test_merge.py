"""``codegate plan --shards``, ``run --shard`` and ``merge``: a matrix of jobs from its plan to its verdict."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from codegate.candidates import CandidateSpec
from codegate.cli.main import group
from codegate.errors import CodegateError, UsageError
from codegate.gating import GatePolicy, load_pinned
from codegate.running import Gate, RunSpec, load_run, plan_run, run_suite
from codegate.running.gate import gate_digest
from codegate.running.shards import shard_choice
from codegate.suite import Suite
from tests.kit.runs import pinned, solved, write_pinned
from tests.running.sharded import plan, write_shards
from tests.running.world import codegate

REFERENCE, EMPTY = CandidateSpec(provider="reference"), CandidateSpec(provider="empty")
POLICY = GatePolicy(max_samples=1, confirm_samples=1, must_pass=("calc-double",))

MEASURED = {
    "seconds", "peak_memory_bytes", "output", "sandbox_seconds", "infrastructure_median", "infrastructure_p95",
}  # fmt: skip
"""Keys of ``report.json`` whose values a clock or a machine measured; ``output`` has pytest's own time in it."""
NAMED = {"trace_id", "span_id", "id", "created", "run"}


@pytest.mark.full
@pytest.mark.bwrap
def test_a_matrix_of_shards_is_one_run(suite: Suite, tmp_path: Path) -> None:
    gate = Gate(load_pinned(_lock(suite, tmp_path)), POLICY)
    (tmp_path / "codegate.yml").write_text(
        f"suite: {suite.folder}\nsandbox: bwrap\ncandidates: [reference, empty]\n"
        "gate: {max_samples: 1, confirm_samples: 1, must_pass: [calc-double]}\n"
    )
    planned = codegate("plan", "--shards", "3", "--json", cwd=tmp_path)
    assert planned.code == 0, planned.stderr
    shared = planned.document["shards"]
    assert shared["matrix"] == {"shard": ["1/3", "2/3", "3/3"]}
    first = codegate("run", "--shard", "1/3", "--run-id", shared["run_id"], "--out", "shards/1/run", cwd=tmp_path)
    assert first.code == 0, first.stderr
    assert "shard 1/3: 1 of 3 problems" in first.stderr
    both = (REFERENCE, EMPTY)
    for shard in ("2/3", "3/3"):
        choice = shard_choice(shard, shared["run_id"])
        _run(RunSpec(suite.folder, both, None, "bwrap", tmp_path / "shards" / shard[0], gate=gate, shard=choice))
    single = tmp_path / "single"
    _run(RunSpec(suite.folder, both, 1, "bwrap", single))

    done = codegate("merge", "shards", "--run-id", shared["run_id"], "--out", "merged", "--json", cwd=tmp_path)
    assert done.code == 1, done.stderr
    assert [verdict["kind"] for verdict in done.document["verdicts"]] == ["inconclusive", "regressed"]
    unconfirmed = "not confirmed by a fresh baseline run"
    assert done.document["verdicts"][1]["confirmed"] is None
    assert [unconfirmed in verdict["warnings"] for verdict in done.document["verdicts"]] == [False, True]
    assert "codegate run SUITE --resume merged" in done.stderr
    assert (tmp_path / "merged/result.json").read_bytes() == (single / "result.json").read_bytes()

    assert _differences(*(_report(tmp_path / name, tmp_path) for name in ("merged", "single"))) <= MEASURED | NAMED

    # The merged run is a run like any other: carried on where the pinned model can be asked, it is confirmed.
    _run(RunSpec(suite.folder, both, None, "bwrap", None, tmp_path / "merged", gate=gate))
    regressed = _report(tmp_path / "merged", tmp_path)["verdicts"][1]
    assert regressed["confirmed"] is True
    assert unconfirmed not in regressed["warnings"]


def _lock(suite: Suite, folder: Path) -> Path:
    """Pin a baseline in which the reference solved everything, five times."""
    return write_pinned(folder, pinned(solved(plan_run(suite, (REFERENCE,), 5, "bwrap", "r")), REFERENCE))


def _run(request: RunSpec) -> None:
    run_suite(request, lambda step: None, lambda text: None)


def _report(run: Path, home: Path) -> Any:
    _invoke("report", run, "--config", home / "codegate.yml", "--baseline", home / "codegate.lock", "--out", run / "r")
    return json.loads((run / "r" / "report.json").read_text())


def _differences(one: Any, other: Any, key: str = "") -> set[str]:
    """Return the names of the fields in which two documents differ, each with the name of what holds it."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        found = [_differences(one[name], other[name], name) for name in one]
        names = set[str]().union(*found)
        return {key} if names & {"value", "low", "high", "n"} else names
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return set[str]().union(*(_differences(a, b, key) for a, b in zip(one, other, strict=True)))
    return set() if one == other else {key}


def _invoke(*arguments: object) -> str:
    """Run a command in this process and return its output; an error that it expects is raised."""
    words = [str(each) for each in arguments]
    return CliRunner().invoke(group, words, standalone_mode=False, catch_exceptions=False).output


def _refused(words: str, *arguments: object) -> None:
    with pytest.raises(CodegateError, match=words) as caught:
        _invoke(*arguments)
    assert isinstance(caught.value, UsageError)
    assert caught.value.exit_code == 2


def test_what_is_not_all_there_is_not_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, two, three = write_shards(tmp_path, plan(samples=1), 3)
    _refused(r"1 of 3 shards are missing: 2/3", "merge", one, three)
    _refused(r"shard 2/3 is given twice", "merge", one, two, two, three)
    _refused(r"planned without a baseline\. Leave it out", "merge", one, two, three, "--baseline", "x.lock")
    _refused(r"not of another", "merge", one, two, three, "--run-id", "another")
    _refused(r"this is shard 2/3 of run", "baseline", "pin", two, "--candidate", "reference")
    _invoke("merge", one, two, three)
    assert load_run(next(tmp_path.glob("runs/*"))).manifest.shard is None


def test_a_gated_run_is_not_merged_without_its_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(r"codegate\.lock", "merge", *write_shards(tmp_path, plan(samples=1, gated_by="0" * 64), 3))


def test_a_run_that_floors_gate_is_merged_under_these_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    floors = GatePolicy.model_validate({"cohorts": {"all": {"floor": 0.9, "tier": "critical"}}})
    shards = write_shards(tmp_path, plan(20, 2, gated_by=gate_digest(floors)), 3)
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
