"""codegate-gate.yml: a pull request from its event to the check's colour."""

import json
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from codegate.sandbox import EnvironmentRecipe
from tests.action.act.harness import Act
from tests.action.act.repository import BRANCH, Repository, git, make_repository, pin_baseline
from tests.github.fake import FakeGitHub
from tests.github.fake.artifacts import Artifacts

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def origin(recipe: EnvironmentRecipe, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with a pinned baseline."""
    made = make_repository(tmp_path_factory.mktemp("origin") / "demo", recipe)
    pin_baseline(made)
    return made


@pytest.fixture
def repository(origin: Repository, tmp_path: Path) -> Repository:
    """A clone of it, on a branch."""
    folder = tmp_path / "demo"
    git(tmp_path, "clone", "--quiet", str(origin.folder), str(folder))
    git(folder, "remote", "set-url", "origin", "https://github.com/acme/demo.git")
    git(folder, "switch", "--quiet", "--create", BRANCH)
    return Repository(folder)


def uploaded(github: FakeGitHub) -> dict[str, ZipFile]:
    """Return every artifact, by its name; the service has checked sizes and digests."""
    return {stored.name: ZipFile(BytesIO(stored.data)) for stored in github.store(Artifacts).stored.values()}


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
