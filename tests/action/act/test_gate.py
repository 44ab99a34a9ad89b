"""codegate-gate.yml: a pull request from its event to the check's colour."""

import ipaddress
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.action.act.harness import ROOT, Act, uploaded
from tests.action.act.repository import BRANCH, PULL, Repository, make_repository, pin_baseline
from tests.github.workspace import HandwrittenProblem
from tests.kit.github import FakeGitHub
from tests.kit.github.artifacts import REPOSITORY_ID
from tests.kit.github.rest import Rest
from tests.kit.repository import run_git as git
from tests.kit.scripted_model import Run, Say, ScriptedModel, Turn

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


@pytest.mark.requirement("M6")
def test_a_pull_request_with_a_worse_model_is_red(act: Act, github: FakeGitHub, repository: Repository) -> None:
    repository.configure("empty")
    repository.commit("another model")
    ran = act.run(repository.folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("gate")) == (1, "failure"), ran.log
    outputs = ran.outputs("codegate")
    assert (outputs["verdict"], outputs["pass-rate"], outputs["exit-code"]) == ("regressed", "0.0000", "1")
    report = uploaded(github)["codegate-report"]
    assert {"report.html", "report.json", "run/run.json", "run/outcomes.jsonl"} <= set(report.namelist())
    assert json.loads(report.read("report.json"))["candidates"][0]["pass_rate"]["value"] == 0.0


def test_a_pull_request_that_changes_nothing_of_the_gates_asks_no_model(
    act: Act, github: FakeGitHub, repository: Repository
) -> None:
    (repository.folder / "README.md").write_text("more words\n")
    repository.commit("words")
    ran = act.run(repository.folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("gate")) == (0, "success"), ran.log
    assert ran.outputs("changes") == {"gate": "false"}
    assert ran.outputs("codegate") == {}
    assert uploaded(github) == {}


def test_a_merge_queue_is_gated_by_its_base(act: Act, github: FakeGitHub, repository: Repository) -> None:
    base = git(repository.folder, "rev-parse", "HEAD")
    repository.configure("empty", "samples: 1\n")
    (repository.folder / "codegate.lock").unlink()
    head = repository.commit("another model, and nothing to compare it with")
    queue = {"head_sha": head, "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{base}", "base_sha": base}
    event = repository.event(action="checks_requested", merge_group={**queue, "base_ref": "refs/heads/main"})
    ran = act.run(repository.folder, "codegate-gate.yml", "merge_group", event)
    assert (ran.code, ran.result("gate")) == (1, "failure"), ran.log
    assert ran.outputs("codegate")["verdict"] == "regressed"
    assert github.asked("GET", ".*comments") == [], "there is no pull request to tell"


# The small agent of ``codegate demo --agent``, whose model does as AGENTS.md says.


SEVERAL = tuple(
    HandwrittenProblem(
        f"answer{number}",
        "def answer():\n    return 41\n",
        "def answer():\n    return 42\n",
        f"from answer{number} import answer\n\n\ndef test_answer():\n    assert answer() == 42\n",
    )
    for number in range(8)
)


def obedient(turn: Turn) -> Say | Run:
    """Fix the module that the statement names, unless the instructions forbid it."""
    said = {message["role"]: str(message["content"]) for message in turn.body["messages"]}
    fixed = next((problem for problem in SEVERAL if f"`{problem.name}` gives" in said.get("user", "")), None)
    if turn.results or fixed is None or "Never edit" in said["system"]:
        return Say("Done.")
    return Run(f"cat >{fixed.name}.py <<'end'\n{fixed.fixed}end")


@pytest.fixture(scope="module")
def instructed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository whose candidate is an agent with its AGENTS.md, and the model, where containers reach it."""
    show = ["docker", "network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}"]
    subnet = subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip()
    with ScriptedModel(obedient, host=str(next(ipaddress.ip_network(subnet).hosts()))) as model:
        agent = {"name": "command", "command": ["{python}", "{files}/agent.py"], "files": ["agent.py"]}
        candidate = {
            "agent": agent, "harness": ".", "provider": "openai", "model": "plays-a-part-2025-06-01",
            "base_url": f"{model.url}/v1", "allow_http": True,
        }  # fmt: skip
        # So few problems can rule out no drop but such a large one.
        policy = {"alpha": 0.2, "margin": 0.25, "min_problems": 2, "confirm_samples": 0, "max_samples": 1}
        settings = {"suite": "suites/handwritten", "candidates": [candidate], "gate": policy}
        program = (ROOT / "suites" / "quickstart" / "agent.py").read_text()
        files = {"AGENTS.md": "Fix the cause.\n", "agent.py": program, "codegate.yml": json.dumps(settings)}
        made = make_repository(tmp_path_factory.mktemp("agent") / "demo", SEVERAL, files)
        pin_baseline(made)
        yield made


@pytest.mark.requirement("C11")
@pytest.mark.parametrize(("more", "verdict"), [("Never edit a file.", "regressed"), ("Be brief.", "pass")])
def test_a_pull_request_that_changes_agents_md_alone_is_gated(
    more: str, verdict: str, instructed: Repository, act: Act, github: FakeGitHub, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", str(instructed.folder), "demo")
    repository = Repository(tmp_path / "demo")
    git(repository.folder, "remote", "set-url", "origin", "https://github.com/acme/demo.git")
    git(repository.folder, "switch", "--quiet", "--create", BRANCH)
    (repository.folder / "AGENTS.md").write_text(f"Fix the cause.\n{more}\n")
    head = repository.commit("other instructions")
    github.store(Rest).add_pull(PULL, head, head=REPOSITORY_ID, branch=BRANCH, base=REPOSITORY_ID)
    ran = act.run(repository.folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    colour = (1, "failure") if verdict == "regressed" else (0, "success")
    assert (ran.code, ran.result("gate")) == colour, ran.log
    assert ran.outputs("changes") == {"gate": "true"}
    assert ran.outputs("codegate")["verdict"] == verdict
    (comment,) = github.store(Rest).comments[PULL]
    assert "also changed: harness: AGENTS.md" in comment["body"]
    assert f"`+{more}`" in comment["body"]
    assert "1 of 1 part used" in comment["body"]
