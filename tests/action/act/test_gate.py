"""codegate-gate.yml: a pull request from its event to the check's colour."""

import json

import pytest

from tests.action.act.harness import Act, uploaded
from tests.action.act.repository import Repository, git
from tests.kit.github import FakeGitHub

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
