"""A recorded run replays to the same patches and grades, without the servers that it was made with."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegate.running import Run, load_run
from codegate.suite import Suite
from tests.kit.scripted_model import ScriptedModel
from tests.running.test_agents import play, spec
from tests.running.world import ModelServer, Said, answer, codegate, only, run_here

pytestmark = pytest.mark.bwrap


def found(run: Run) -> dict[tuple[str, str, int], Any]:
    labels = {candidate.key(): candidate.label for candidate in run.manifest.candidates}
    return {
        (labels[one.candidate], one.problem, one.sample): (one.attempt.patch, one.grade.resolved, one.attempt.usage)
        for one in run.outcomes
        if one.attempt and one.grade
    }


def test_a_recorded_run_replays_to_the_same_grades(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    suite = only(own_suite, "double", "half")
    server.script = lambda name, turn, request: Said(answer(name) if name != "half" else "I do not know.")
    loop = server.spec(name="loop", solver="tool_loop", max_iterations=3)
    with ScriptedModel(play) as model:
        made = run_here(suite, tmp_path / "run", server.spec(name="shot"), loop, spec(model, name="agent"))
    asked = len(server.asked)
    done = codegate("record", "run", "--out", "kept", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    config = {"suite": str(suite.folder), "sandbox": "bwrap", "samples": 1}
    (tmp_path / "codegate.yml").write_text(
        yaml.safe_dump(config | {"candidates": json.loads(done.stdout)["candidates"]})
    )
    again = codegate("run", "--out", "again", cwd=tmp_path)
    assert again.code == 0, again.stderr
    assert found(load_run(tmp_path / "again")) == found(made)
    assert (len(found(made)), len(server.asked)) == (6, asked), "nothing is asked again"
    twice = codegate("record", "run", "--out", "kept", cwd=tmp_path)
    assert (twice.code, "exists" in twice.stderr) == (2, True)
