"""codegate-baseline.yml: a baseline is made, fetched by who pins it, and kept from expiring."""

import json
from io import BytesIO
from zipfile import ZipFile

import pytest

from codegate.durable import sha256
from tests.action.act.harness import Act, Ran, uploaded
from tests.action.act.repository import BRANCH, Repository
from tests.kit.github import FakeGitHub
from tests.kit.github.artifacts import REPOSITORY_ID, Artifacts, Run, zipped
from tests.kit.repository import run_git as git

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]


def asked(act: Act, repository: Repository, branch: str) -> Ran:
    """Dispatch the workflow by hand, as on its page."""
    event = repository.event(inputs={"candidate": "reference", "samples": "5"}, ref=f"refs/heads/{branch}")
    return act.run(repository.folder, "codegate-baseline.yml", "workflow_dispatch", event)


def poison(github: FakeGitHub, genuine: bytes) -> None:
    """Upload what somebody wants to be taken for the pinned baseline, newer than it and under its name."""
    store = github.store(Artifacts)
    lower = genuine.replace(b"true", b"false")
    for data in (zipped({"baseline.json": lower}), zipped({"../baseline.json": genuine}), b"PK\x03\x04"):
        store.put("codegate-baseline", data, Run(91, "pull_request", head_repository_id=REPOSITORY_ID + 1))
        store.put("codegate-baseline", data, Run(92, path=".github/workflows/another.yml"))
        store.put("codegate-baseline", data, Run(93))


def test_a_baseline_lives_in_an_artifact_once_its_lock_is_committed(
    act: Act, github: FakeGitHub, repository: Repository
) -> None:
    folder = repository.folder
    git(folder, "switch", "--quiet", "main")
    made = asked(act, repository, "main")
    assert (made.code, made.result("baseline")) == (0, "success"), made.log
    artifact = uploaded(github)["codegate-baseline"]
    assert set(artifact.namelist()) == {"baseline.json", "codegate.lock"}
    archives = json.loads(artifact.read("codegate.lock"))["environments"]
    built = uploaded(github)["codegate-environments"]
    names = [name for name in built.namelist() if not name.endswith(".json")]
    assert {name.partition(".")[0]: sha256(built.read(name)) for name in names} == archives != {}

    (folder / "baseline.json").unlink()
    (folder / "codegate.lock").write_bytes(artifact.read("codegate.lock"))
    repository.commit("pin it")
    poison(github, artifact.read("baseline.json"))
    git(folder, "switch", "--quiet", "--create", "another")
    repository.configure("empty")
    repository.commit("another model")
    worse = act.as_run(2).run(folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    assert (worse.code, worse.outputs("codegate")["verdict"]) == (1, "regressed"), worse.log
    assert "1 environment taken from artifact 'codegate-environments'" in worse.log

    git(folder, "switch", "--quiet", "main")
    kept = act.as_run(3).run(folder, "codegate-baseline.yml", "schedule", repository.event(schedule="47 4 * * 1"))
    assert (kept.code, kept.result("baseline")) == (0, "success"), kept.log
    stored = github.store(Artifacts).stored
    genuine = [number for number, entry in stored.items() if entry.run in {1, 3} and entry.name == "codegate-baseline"]
    assert [stored[number].run for number in genuine] == [1, 3]
    (again,) = (ZipFile(BytesIO(stored[number].data)) for number in genuine[1:])
    assert again.read("baseline.json") == artifact.read("baseline.json")
    assert [entry.run for entry in stored.values() if entry.name == "codegate-environments"] == [1, 3]

    for number in genuine:
        del stored[number]
    git(folder, "switch", "--quiet", "another")
    gone = act.as_run(4).run(folder, "codegate-gate.yml", "pull_request", repository.pull_request())
    assert (gone.code, gone.outputs("codegate")["verdict"]) == (1, "no baseline"), gone.log


def test_a_baseline_is_made_on_the_default_branch_only(act: Act, github: FakeGitHub, repository: Repository) -> None:
    ran = asked(act, repository, BRANCH)
    assert (ran.code, ran.result("baseline")) == (0, ""), ran.log
    assert github.requests == []
