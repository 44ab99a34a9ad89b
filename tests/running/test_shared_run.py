"""Shards as they are carried out: soundness and limits of a part, resuming one, and what is not asked in any."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating import QUARANTINED, GatePolicy
from codegate.operations.runs import run as run_and_report
from codegate.running import Gate, Run, RunOptions, RunSpec, merge_shards, plan_run, run_exit_code, run_suite
from codegate.running.gate import gate_candidate
from codegate.running.session import plan_shards
from codegate.running.shards import shard_choice
from codegate.suite import Suite, load_suite
from tests.kit.runs import pinned, solved
from tests.running.test_soundness import break_fix
from tests.running.world import ModelServer, Said, answer, lines

pytestmark = pytest.mark.bwrap


def sharded(
    suite: Suite, out: Path, spec: CandidateSpec, **options: Any
) -> tuple[Callable[[int], Run], list[Path], list[str]]:
    """Return what carries out shard 1, 2 or 3 or goes on with it, their folders, and what is announced."""
    request = RunSpec(suite.folder, (spec,), 1, "bwrap", options=RunOptions(**options))
    shared = plan_shards(request, 3)
    folders = [out / str(number) for number in (1, 2, 3)]
    said: list[str] = []

    def carry_out(number: int) -> Run:
        folder = folders[number - 1]
        resume = folder if folder.exists() else None
        choice = None if resume else shard_choice(shared.shards[number - 1], shared.run_id)
        part = RunSpec(
            suite.folder, (spec,), 1, "bwrap", folder, resume, RunOptions(**options, precheck=number == 2), shard=choice
        )
        return run_suite(part, lambda step: None, said.append)[0]

    return carry_out, folders, said


def test_a_shard_is_resumed_and_asks_of_its_own_problems_only(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    break_fix(own_suite, "half")
    suite = load_suite(own_suite.folder)
    carry_out, folders, said = sharded(suite, tmp_path, server.spec(), max_model_calls=6)
    server.script = lambda name, turn, request: Said(answer(name)) if turn else Said(status=400)
    with pytest.raises(UsageError, match=r"the first request of .* failed"):
        carry_out(1)
    assert server.asked == ["double"]
    assert run_exit_code(carry_out(1), ()) == 0
    assert server.asked == ["double", "double"]
    assert "shard 1/3: 1 of 3 problems, at most 2 of the model calls" in said
    server.script = lambda name, turn, request: Said(answer(name))

    # All that shard 2 has is not sound here: of the whole that is little, so it ends well, and asks nobody.
    second = carry_out(2)
    assert (run_exit_code(second, ()), second.outcomes) == (0, ())
    carry_out(3)
    assert server.asked == ["double", "double", "square"]

    merged = merge_shards(folders, tmp_path / "merged")
    run = merged.load()
    assert sorted(run.manifest.problems) == ["calc-double", "calc-square"]
    assert run.manifest.excluded["calc-half"].startswith(f"{QUARANTINED}the reference fix does not pass here")
    assert [outcome.grade is not None for outcome in run.outcomes] == [True, True]
    assert merged.calls.spending().calls == 3
    assert len(lines(merged.folder)) == 2, "the fault that was tried again is no outcome of the run"


def test_what_cannot_be_compared_is_asked_in_no_shard(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    spec = server.spec()
    whole = plan_run(suite, (spec,), 5, "bwrap", "r")
    older = whole.model_copy(update={"prompts": {spec.key(): "older"}})
    gate = Gate(pinned(solved(older), spec), GatePolicy(compare="model"))
    request = RunSpec(suite.folder, (spec,), None, "bwrap", gate=gate)
    shared = plan_shards(request, 2)
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder, shard in zip(folders, shared.shards, strict=True):
        choice = shard_choice(shard, shared.run_id)
        report = run_and_report(replace(request, out=folder, shard=choice), lambda step: None, lambda text: None)
        assert report.exit_code == 3, "as the merged run ends"
    assert server.asked == []
    run = merge_shards(folders, tmp_path / "merged", gate=gate).load()
    assert (run.manifest.samples, run.manifest.looks) == (3, (3,)), "a fixed number"
    assert gate_candidate(run, spec, gate).kind == "incomparable"
    with pytest.raises(UsageError, match="planned for a gate, but neither a baseline nor a critical floor"):
        run_suite(replace(request, resume=folders[0], gate=None), lambda step: None, lambda text: None)
