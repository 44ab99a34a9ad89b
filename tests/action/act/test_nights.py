"""codegate-nightly.yml: the pinned model every night, each compared with those before."""

import pytest

from tests.action.act.harness import Act, Ran, uploaded
from tests.action.act.repository import Repository
from tests.kit.github import FakeGitHub
from tests.kit.github.rest import Rest
from tests.kit.repository import run_git as git

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]


def night(act: Act, repository: Repository, event: str) -> Ran:
    payload = repository.event(schedule="23 3 * * *")
    return act.run(repository.folder, "codegate-nightly.yml", event, payload)


def nights(github: FakeGitHub) -> int:
    """Return how many nights the newest report knows of."""
    return len(uploaded(github)["codegate-nightly"].read("history.jsonl").splitlines())


@pytest.mark.requirement("M6")
def test_a_night_knows_the_nights_before(act: Act, github: FakeGitHub, repository: Repository) -> None:
    git(repository.folder, "switch", "--quiet", "main")
    first = night(act, repository, "schedule")
    assert (first.code, first.outputs("codegate")["verdict"]) == (0, "pass"), first.log
    assert nights(github) == 1
    second = night(act.as_run(2), repository, "workflow_dispatch")
    assert (second.code, second.outputs("codegate")["verdict"]) == (0, "pass"), second.log
    assert nights(github) == 2
    assert github.store(Rest).issues == {}
