"""The README's own steps, word for word: a baseline pinned on the command line, gated by the workflow of ``init``."""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegate.candidates import EXAMPLE_CANDIDATE
from codegate.sandbox.docker import DockerBackend
from tests.e2e.project import write_history
from tests.github.runner import outputs
from tests.github.test_event import pull_payload
from tests.kit.pages import ROOT, Terminal, steps
from tests.kit.stand_in import StandIn
from tests.running.world import codegate, knowing

pytestmark = [pytest.mark.docker, pytest.mark.full, pytest.mark.timeout(1800)]

PINNED, UPGRADE = EXAMPLE_CANDIDATE.partition(":")[2], "gpt-5.4-2026-03-05"


def gate_workflow(
    workspace: Path, base: str, home: Path, environment: Mapping[str, str]
) -> tuple[int | None, dict[str, str], str]:
    """Run the steps of the gate's workflow on the checked-out pull request, and return how the gate's ended."""
    workflow = yaml.safe_load((workspace / ".github/workflows/codegate-gate.yml").read_text())
    payload = pull_payload()
    payload["pull_request"]["base"]["sha"] = base
    (home / "event.json").write_text(json.dumps(payload))
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    ended = {step["id"]: _act(step["with"], inputs, workspace, home, environment)
             for step in workflow["jobs"]["gate"]["steps"] if step.get("id") in {"changes", "codegate"}}  # fmt: skip
    assert ended["changes"][1]["gate"] == "true", ended["changes"]
    return ended["codegate"]


def _act(
    given: Mapping[str, object], inputs: Mapping[str, Any], workspace: Path, home: Path, environment: Mapping[str, str]
) -> tuple[int | None, dict[str, str], str]:
    """Run a step of the action as its container does, and return how it ended, with its outputs and its log."""
    known = {name: str(about.get("default", "")) for name, about in inputs.items()}
    unset = {name: re.sub(r"\$\{\{.*?\}\}", "", str(value)) for name, value in given.items()}  # no variable is
    known |= unset | {"github-token": ""}  # no GitHub is asked: everything is in the clone
    files = {name: home / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_bytes(b"")
    job = {
        "CI": "true",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(home / "event.json"),
        "GITHUB_REPOSITORY": "acme/demo",
        "GITHUB_SHA": "c" * 40,
        "GITHUB_RUN_ID": "123",
        **{name: str(path) for name, path in files.items()},
        **{f"INPUT_{name.upper()}": value for name, value in known.items()},
    }
    done = codegate("action", cwd=workspace, environment={**environment, **job})
    return done.code, outputs(files["GITHUB_OUTPUT"].read_bytes()), done.stdout + done.stderr


@pytest.mark.requirement("F1")
def test_the_steps_of_the_readme_end_in_a_verdict(docker_backend: DockerBackend, tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    history = write_history(workspace)
    with StandIn(knowing, tmp_path) as stand_in:
        terminal = Terminal(workspace, {**os.environ, **stand_in.environment})
        for step in (*steps("README.md", "In a workflow"), *steps("README.md", "On the command line")):
            if step.words[0] == "codegate":
                done = terminal.enter(step.command)
                assert done.code in step.codes, f"$ {step.command}\n{done.stdout}{done.stderr}"
        for name in ("suites", "codegate.yml", "codegate.lock", "baseline.json", ".github"):
            history.git("add", name)
        base = history.commit_staged("Pin the model that we use")
        history.branch("upgrade")
        config = workspace / "codegate.yml"
        config.write_text(config.read_text().replace(PINNED, UPGRADE))
        history.git("add", "codegate.yml")
        history.commit_staged("Use the newer model")
        code, written, log = gate_workflow(workspace, base, tmp_path, stand_in.environment)
    assert written["verdict"] in {"pass", "inconclusive"}, log
    assert code in {0, 3}
    assert "also changed" not in log, "init writes the solver that the baseline's short form runs"
    assert stand_in.refused == []
