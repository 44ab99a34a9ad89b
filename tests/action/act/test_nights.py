"""codegate-nightly.yml: the pinned model every night, each compared with those before."""

import pytest

from tests.action.act.harness import Act, Ran, uploaded
from tests.action.act.repository import Repository, git, install, pin_baseline
from tests.github.workspace import PROBLEMS, write_transcripts
from tests.kit.github import FakeGitHub
from tests.kit.github.rest import Rest

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]


def night(act: Act, repository: Repository, event: str) -> Ran:
    payload = repository.event(schedule="23 3 * * *")
    return act.run(repository.folder, "codegate-nightly.yml", event, payload)


def nights(github: FakeGitHub) -> int:
    """Return how many nights the newest report knows of."""
    return len(uploaded(github)["codegate-nightly"].read("history.jsonl").splitlines())


def test_a_night_knows_the_nights_before(act: Act, github: FakeGitHub, repository: Repository) -> None:
    git(repository.folder, "switch", "--quiet", "main")
    first = night(act, repository, "schedule")
    assert (first.code, first.outputs("codegate")["verdict"]) == (0, "pass"), first.log
    assert nights(github) == 1
    second = night(act.as_run(2), repository, "workflow_dispatch")
    assert (second.code, second.outputs("codegate")["verdict"]) == (0, "pass"), second.log
    assert nights(github) == 2
    assert github.store(Rest).issues == {}


def test_an_issue_is_opened_when_the_model_drifts_and_closed_when_it_is_back(
    act: Act, github: FakeGitHub, repository: Repository
) -> None:
    folder = repository.folder
    git(folder, "switch", "--quiet", "main")
    install(folder, "codegate-nightly.yml", {"mode: nightly": 'mode: nightly\n          samples: "4"'})
    answers = folder / "answers.jsonl"
    write_transcripts(answers, {problem.name: problem.fixed for problem in PROBLEMS})
    repository.configure("replay:answers.jsonl")
    for pinned in ("codegate.lock", "baseline.json"):
        (folder / pinned).unlink()
    pin_baseline(repository)
    first = night(act, repository, "schedule")
    assert (first.code, first.outputs("codegate")["verdict"]) == (0, "pass"), first.log

    answers.write_text(answers.read_text().replace("model-2025-01-01", "model-2025-02-02"))
    repository.commit("the provider changes what the name stands for")
    drifted = night(act.as_run(2), repository, "schedule")
    assert (drifted.code, drifted.outputs("codegate")["verdict"]) == (1, "regressed"), drifted.log
    (issue,) = github.store(Rest).issues.values()
    assert issue["state"] == "open"
    assert drifted.outputs("codegate")["comment-url"] == issue["html_url"]

    answers.write_text(answers.read_text().replace("model-2025-02-02", "model-2025-01-01"))
    repository.commit("and changes it back")
    back = night(act.as_run(3), repository, "schedule")
    assert (back.code, back.outputs("codegate")["verdict"]) == (0, "pass"), back.log
    assert issue["state"] == "closed"
