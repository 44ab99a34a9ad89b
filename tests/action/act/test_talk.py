"""What is said on a pull request: in one comment, by the gate itself or, for a fork, by codegate-comment.yml."""

from typing import Any

import pytest

from tests.action.act.harness import Act, Ran, uploaded
from tests.action.act.repository import BRANCH, OURS, PULL, THEIRS, Repository
from tests.kit.github import FakeGitHub
from tests.kit.github.artifacts import REPOSITORY_ID
from tests.kit.github.rest import Rest
from tests.kit.repository import run_git as git

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]


def pushed(github: FakeGitHub, repository: Repository, *, fork: bool) -> str:
    """Let GitHub know the pull request as it is now, and return its head."""
    head = git(repository.folder, "rev-parse", "HEAD")
    home = THEIRS if fork else OURS
    github.store(Rest).add_pull(PULL, head, head=home["id"], branch=BRANCH, base=REPOSITORY_ID)
    return head


def comments(github: FakeGitHub) -> list[str]:
    return [entry["body"] for entry in github.store(Rest).comments.get(PULL, [])]


def gated(act: Act, repository: Repository, *, fork: bool = False) -> Ran:
    event = repository.pull_request(fork=fork)
    return act.run(repository.folder, "codegate-gate.yml", "pull_request", event, read_only=fork)


def completed(repository: Repository, head: str, *, fork: bool) -> dict[str, Any]:
    """Return the event of the end of run 1."""
    return repository.event(
        action="completed",
        workflow_run={
            "id": 1,
            "run_attempt": 1,
            "name": "codegate",
            "path": ".github/workflows/codegate-gate.yml",
            "event": "pull_request",
            "status": "completed",
            "conclusion": "failure",
            "head_sha": head,
            "head_branch": BRANCH,
            "head_repository": THEIRS if fork else OURS,
            "repository": OURS,
            "pull_requests": [],
        },
    )


@pytest.mark.requirement("M6")
def test_a_second_push_updates_the_same_comment(act: Act, github: FakeGitHub, repository: Repository) -> None:
    repository.configure("empty")
    repository.commit("another model")
    pushed(github, repository, fork=False)
    assert gated(act, repository).outputs("codegate")["verdict"] == "regressed"
    (first,) = comments(github)
    assert "regressed" in first
    repository.configure("reference", "samples: 1\n")  # something has to differ; the samples are the base commit's
    repository.commit("the old one again")
    pushed(github, repository, fork=False)
    ran = gated(act.as_run(2), repository)
    assert (ran.code, ran.outputs("codegate")["verdict"]) == (0, "inconclusive"), ran.log  # of three problems
    (second,) = comments(github)
    assert "regressed" not in second
    assert second != first


def test_a_forks_pull_request_is_commented_by_the_other_workflow(
    act: Act, github: FakeGitHub, repository: Repository
) -> None:
    repository.configure("empty")
    repository.commit("another model, which needs no key")
    head = pushed(github, repository, fork=True)
    ran = gated(act, repository, fork=True)
    assert (ran.code, ran.outputs("codegate")["verdict"]) == (1, "regressed"), ran.log
    assert comments(github) == []
    assert "codegate-report" in uploaded(github)

    git(repository.folder, "switch", "--quiet", "main")
    said = act.as_run(2).run(
        repository.folder, "codegate-comment.yml", "workflow_run", completed(repository, head, fork=True)
    )
    assert (said.code, said.result("comment")) == (0, "success"), said.log
    (comment,) = comments(github)
    assert "regressed" in comment


def test_a_branch_of_our_own_is_not_commented_twice(act: Act, github: FakeGitHub, repository: Repository) -> None:
    head = pushed(github, repository, fork=False)
    event = completed(repository, head, fork=False)
    said = act.run(repository.folder, "codegate-comment.yml", "workflow_run", event)
    assert (said.code, said.result("comment")) == (0, ""), said.log
    assert github.requests == []
