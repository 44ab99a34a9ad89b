"""codegate-matrix.yml: a run that several jobs share is the run that one job would have made."""

import json
import zipfile
from typing import Any

import pytest

from tests.action.act.harness import Act, uploaded
from tests.action.act.repository import Repository
from tests.github.workspace import PROBLEMS
from tests.kit.github import FakeGitHub
from tests.kit.repository import run_git as git

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]


def found_in(report: zipfile.ZipFile) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    """Return what execution showed of each answer of a run."""
    outcomes = map(json.loads, report.read("run/outcomes.jsonl").splitlines())
    return {
        (one["candidate"], one["problem"], one["sample"]): (
            one["attempt"]["answer"], *(one["grade"][name] for name in ("resolved", "score", "tests_passed", "failure"))
        )
        for one in outcomes
    }  # fmt: skip


@pytest.mark.requirement("X1")
def test_three_shards_and_a_merge_equal_one_run(act: Act, github: FakeGitHub, repository: Repository) -> None:
    git(repository.folder, "switch", "--quiet", "main")
    # By default a shard makes three samples, and a run alone stops at the first look that settles its verdict.
    repository.configure("reference", "samples: 1\n")
    repository.commit("one sample")
    git(repository.folder, "switch", "--quiet", "--create", "one-sample")
    repository.configure("empty")
    repository.commit("another model")
    event = repository.pull_request()
    shared = act.run(repository.folder, "codegate-matrix.yml", "pull_request", event)
    assert (shared.code, shared.result("merge")) == (1, "failure"), shared.log
    assert shared.outputs("codegate", "merge")["verdict"] == "regressed"
    parts = json.loads(shared.outputs("codegate", "plan")["matrix"])["include"]
    assert [part["shard"] for part in parts] == ["1/3", "2/3", "3/3"]  # of four: there are three problems
    found = uploaded(github)
    assert set(found) == {"codegate-report", *(f"codegate-shard-{part['name']}" for part in parts)}
    done = [json.loads(line)["problem"] for part in parts
            for line in found[f"codegate-shard-{part['name']}"].read("outcomes.jsonl").splitlines()]  # fmt: skip
    assert sorted(done) == sorted(problem.name for problem in PROBLEMS)

    alone = act.as_run(2).run(repository.folder, "codegate-gate.yml", "pull_request", event)
    assert alone.outputs("codegate")["verdict"] == "regressed", alone.log
    assert found_in(uploaded(github)["codegate-report"]) == found_in(found["codegate-report"])


def test_a_shard_that_is_missing_is_red(act: Act, github: FakeGitHub, repository: Repository) -> None:
    repository.configure("empty", "samples: 1\n")
    workflow = repository.folder / ".github" / "workflows" / "codegate-matrix.yml"
    text = workflow.read_text()
    kept = "if: always() && steps.codegate.outputs.run-path != ''"
    assert text.count(kept) == 1
    workflow.write_text(text.replace(kept, "if: matrix.name != '2-of-3'"))
    repository.commit("a shard that is not kept")
    ran = act.run(repository.folder, "codegate-matrix.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("shard"), ran.result("merge")) == (1, "success", "failure"), ran.log
    assert ran.outputs("codegate", "merge")["exit-code"] == "2"


def test_a_plan_that_fails_is_no_green_gate(act: Act, repository: Repository) -> None:
    (repository.folder / "codegate.yml").write_text("suite: suites/handwritten\ncandidates: [nobody]\n")
    repository.commit("a configuration that is none")
    ran = act.run(repository.folder, "codegate-matrix.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("plan"), ran.result("merge")) == (1, "failure", "failure"), ran.log


def test_where_nothing_is_to_be_gated_the_gate_is_green(act: Act, github: FakeGitHub, repository: Repository) -> None:
    (repository.folder / "README.md").write_text("more words\n")
    repository.commit("words")
    ran = act.run(repository.folder, "codegate-matrix.yml", "pull_request", repository.pull_request())
    assert (ran.code, ran.result("merge")) == (0, "success"), ran.log
    assert uploaded(github) == {}
