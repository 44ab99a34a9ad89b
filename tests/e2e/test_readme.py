"""The README's own steps, word for word: a baseline pinned on the command line, gated by the workflow of ``init``."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegate.candidates import EXAMPLE_CANDIDATE
from codegate.sandbox.docker import DockerBackend
from tests.github.runner import outputs
from tests.github.test_event import pull_payload
from tests.kit.command import Done
from tests.kit.repository import HistoryBuilder
from tests.running.world import BODIES, MODEL, NAMES, ModelServer, Said, answer, codegate, serving, source

pytestmark = [pytest.mark.docker, pytest.mark.full, pytest.mark.timeout(1800)]

README = Path(__file__).parents[2] / "README.md"
PINNED, UPGRADE = EXAMPLE_CANDIDATE, "anthropic:claude-sonnet-5-5"


def steps(heading: str) -> list[list[str]]:
    """Return the commands of codegate in a section of the README."""
    section = re.split(rf"^## {heading}$", README.read_text(), flags=re.MULTILINE)[1].split("\n## ")[0]
    block = section.split("```console\n")[1].split("```")[0]
    commands = [shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines()]
    return [command[1:] for command in commands if command[0] == "codegate"]


def write_history(folder: Path) -> HistoryBuilder:
    """Three bugs, and their fixes one after the other, each with its test."""
    history = HistoryBuilder(folder)
    history.commit("begin", {
        "calc/__init__.py": "",
        **{f"calc/{name}.py": source(name, fixed=False) for name in NAMES},
        "tests/test_public.py": "from calc.half import half\n\n\ndef test_zero():\n    assert half(0) == 0\n",
    })  # fmt: skip
    for number, name in enumerate(NAMES, start=1):
        expected = eval(BODIES[name][1], {"n": 7})
        history.commit(
            f"Fix {name}: wrong results (#{number})\n\n{name}() returns a wrong number for nearly every input.\n",
            {
                f"calc/{name}.py": source(name, fixed=True),
                f"tests/test_{name}.py": f"from calc.{name} import {name}\n\n\ndef test_{name}():\n"
                f"    assert {name}(7) == {expected}\n",
            },
        )
    return history


def script(name: str, turn: int, request: dict[str, Any]) -> Said:
    """Answer in one go, or, where tools are offered, by one call of a tool and a last word."""
    if not request.get("tools"):
        return Said(answer(name))
    if any(message["role"] == "tool" for message in request["messages"]):
        return Said("Done.")
    arguments = json.dumps({"path": f"calc/{name}.py", "content": source(name, fixed=True)})
    use = {"id": f"call-{turn}", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
    return Said(tool_calls=[use])


def gate_workflow(workspace: Path, base: str, home: Path) -> tuple[int | None, dict[str, str], str]:
    """Run the steps of the gate's workflow on the checked-out pull request, and return how the gate's ended."""
    workflow = yaml.safe_load((workspace / ".github/workflows/codegate-gate.yml").read_text())
    steps_ = workflow["jobs"]["gate"]["steps"]
    changes = next(step for step in steps_ if "run" in step)
    gate = next(step for step in steps_ if "codegate" in step.get("uses", ""))
    files = {name: home / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_bytes(b"")
    shell = {"PATH": os.environ["PATH"], "BASE": base, "GITHUB_OUTPUT": str(files["GITHUB_OUTPUT"])}
    subprocess.run(["bash", "-e", "-c", changes["run"]], cwd=workspace, env=shell, check=True)
    assert outputs(files["GITHUB_OUTPUT"].read_bytes()) == {"gate": "true"}
    files["GITHUB_OUTPUT"].write_bytes(b"")

    action = yaml.safe_load((README.parent / "action.yml").read_text())
    given = {name: str(about.get("default", "")) for name, about in action["inputs"].items()}
    unset = {name: re.sub(r"\$\{\{.*?\}\}", "", str(value)) for name, value in gate["with"].items()}  # no variable is
    given |= unset | {"github-token": ""}  # no GitHub is asked: everything is in the clone
    payload = pull_payload()
    payload["pull_request"]["base"]["sha"] = base
    (home / "event.json").write_text(json.dumps(payload))
    environment = {
        "CI": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(home / "event.json"),
        "GITHUB_REPOSITORY": "acme/demo",
        "GITHUB_SHA": "c" * 40,
        "GITHUB_RUN_ID": "123",
        **{name: str(path) for name, path in files.items()},
        **{f"INPUT_{name.upper()}": value for name, value in given.items()},
    }
    done = codegate("action", cwd=workspace, environment=environment)
    return done.code, outputs(files["GITHUB_OUTPUT"].read_bytes()), done.stdout + done.stderr


def follow(server: ModelServer, workspace: Path, environment: Mapping[str, str]) -> dict[str, Done]:
    """Carry out the README's steps on the command line; its two models are ones of ``server``."""
    models = {PINNED: server.candidate, UPGRADE: server.candidate.replace(MODEL, f"{MODEL}-2")}
    done = {}
    for step in steps("On the command line"):
        words = [models.get(word, word) for word in step]
        done[" ".join(step)] = codegate(*words, cwd=workspace, environment=environment)
    return done


def test_the_steps_of_the_readme_end_in_a_verdict(docker_backend: DockerBackend, tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    history = write_history(workspace)
    with serving() as server:
        server.script = script
        done = follow(server, workspace, {})
        for step, result in done.items():
            assert result.code in ({0, 3} if step.endswith(UPGRADE) else {0}), (step, result.stderr)
        upgraded = done[f"run suites/mine --candidate {UPGRADE}"].stdout
        assert "INCOMPARABLE" not in upgraded
        assert re.search(r"PASS|INCONCLUSIVE", upgraded), "three problems are few"

        [init] = steps("In a workflow")
        assert codegate(*init, cwd=workspace).code == 0
        config = workspace / "codegate.yml"
        local = f"model: {MODEL} \n    base_url: {server.url} #"
        config.write_text(config.read_text().replace(f"model: {PINNED.partition(':')[2]}", local))
        for name in ("suites", "codegate.yml", "codegate.lock", "baseline.json", ".github"):
            history.git("add", name)
        base = history.commit_staged("Pin the model that we use")
        history.branch("upgrade")
        config.write_text(config.read_text().replace(f"model: {MODEL} ", f"model: {MODEL}-2 "))
        history.git("add", "codegate.yml")
        history.commit_staged("Use the newer model")
        code, written, log = gate_workflow(workspace, base, tmp_path)
    assert written["verdict"] in {"pass", "inconclusive"}, log
    assert code in {0, 3}
    assert "also changed: max_iterations unset → 5; prompt single_shot/" in log, "init writes another solver"
