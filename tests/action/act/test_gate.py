"""codegate-gate.yml: a pull request from its event to the check's colour."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from codegate.sandbox import EnvironmentRecipe
from tests.action.act.harness import ACTION, ACTION_IMAGE, JOB_IMAGE, Act, containers, uploaded
from tests.action.act.repository import BRANCH, Repository, git, make_repository
from tests.github.workspace import SLOW
from tests.kit.github import FakeGitHub

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


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


def test_a_pull_request_with_as_good_a_model_is_green(act: Act, github: FakeGitHub, repository: Repository) -> None:
    with (repository.folder / "codegate.yml").open("a") as file:
        file.write("samples: 1\n")
    repository.commit("the same model")
    ran = act.run(repository.folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("gate")) == (0, "success"), ran.log
    assert (ran.outputs("codegate")["verdict"], ran.outputs("codegate")["difference"]) == ("pass", "0.0000")
    assert "codegate-report" in uploaded(github)


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


PUSH = f"""\
name: codegate push
on: push
permissions: {{}}
jobs:
  gate:
    runs-on: ubuntu-24.04
    permissions: {{contents: read}}
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: {{fetch-depth: 0, persist-credentials: false}}
      - uses: {ACTION}
        id: codegate
"""


def test_a_push_is_gated_without_a_word_of_configuration(act: Act, repository: Repository) -> None:
    (repository.folder / ".github" / "workflows" / "push.yml").write_text(PUSH)
    repository.commit("the shortest workflow")
    ran = act.run(repository.folder, "push.yml", "push", repository.event(ref="refs/heads/main"))
    assert (ran.code, ran.result("gate")) == (0, "success"), ran.log
    assert ran.outputs("codegate")["verdict"] == "pass"


def said(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False).stdout.strip()


def test_a_cancelled_run_leaves_no_container_after_ten_seconds(
    act: Act, github: FakeGitHub, recipe: EnvironmentRecipe, tmp_path: Path
) -> None:
    slow = make_repository(tmp_path / "demo", recipe, (SLOW,))
    git(slow.folder, "switch", "--quiet", "--create", BRANCH)
    slow.configure("reference", "# anything\n")
    slow.commit("a change")
    running = act.start(slow.folder, "codegate-gate.yml", "pull_request", slow.pull_request())
    run = ""
    deadline = time.monotonic() + 200
    while not (run and said("ps", "--quiet", "--filter", f"label=codegate.run={run}")):
        assert running.process.poll() is None, running.finish(10).log
        assert time.monotonic() < deadline
        time.sleep(0.3)
        for job in containers(JOB_IMAGE):
            manifest = said("exec", job, "cat", str(slow.folder / "codegate-report" / "run" / "run.json"))
            run = str(json.loads(manifest)["id"]) if manifest else ""
    (container,) = containers(ACTION_IMAGE)
    said("kill", "--signal", "INT", container)  # what the runner's SIGINT to `docker run` becomes; act sends none
    started = time.monotonic()
    while said("ps", "--all", "--quiet", "--filter", f"label=codegate.run={run}") or containers(ACTION_IMAGE):
        assert time.monotonic() - started < 10
        time.sleep(0.2)
    ran = running.finish(120)
    assert (ran.code, ran.result("gate")) == (1, "failure"), ran.log
    assert (ran.outputs("codegate")["verdict"], ran.outputs("codegate")["exit-code"]) == ("interrupted", "130")
    assert "run/run.json" in uploaded(github)["codegate-report"].namelist()
    assert containers() == []


def test_a_pull_request_from_a_fork_spends_nothing_and_is_not_red(
    act: Act, github: FakeGitHub, repository: Repository
) -> None:
    repository.configure("openai:gpt-4.1-2025-04-14")
    repository.commit("a model that costs money")
    ran = act.run(repository.folder, "codegate-gate.yml", "pull_request", repository.pull_request(fork=True))
    assert (ran.code, ran.result("gate")) == (0, "success"), ran.log
    assert ran.outputs("codegate")["verdict"] == "skipped"


def test_a_branch_of_our_own_without_a_key_is_a_mistake(act: Act, repository: Repository) -> None:
    repository.configure("openai:gpt-4.1-2025-04-14")
    repository.commit("a model whose key nobody gave")
    ran = act.run(repository.folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("gate")) == (1, "failure"), ran.log
    assert (ran.outputs("codegate")["verdict"], ran.outputs("codegate")["exit-code"]) == ("error", "2")
