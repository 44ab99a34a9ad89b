"""``action.yml``, the Dockerfile and the code agree with one another and with what a runner takes."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Context

from codegate.cli.main import group
from codegate.gating import GatePolicy
from codegate.github.inputs import Inputs, read_inputs
from codegate.github.step import COMMENT_URL, OUTPUTS
from tests.kit.repository import make_repository, run_git

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


class Asked(dict[str, str]):
    """An environment that remembers what was looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)


def test_every_input_is_declared_and_every_declared_input_is_read() -> None:
    asked = Asked()
    read_inputs(asked)
    declared = {f"INPUT_{name.upper()}" for name in ACTION["inputs"] if name != "run"}  # which is no mode's
    assert {name for name in asked.names if name.startswith("INPUT_")} == declared


def test_every_output_is_declared_and_set() -> None:
    assert set(ACTION["outputs"]) == {*OUTPUTS, COMMENT_URL, "gate"}  # the last is a script's
    assert OUTPUTS[-1] == "verdict"


def test_the_page_has_the_tables_of_action_yml() -> None:
    script = runpy.run_path(str(ROOT / ".ci" / "action_docs.py"))
    page = (ROOT / "docs" / "action.md").read_text()
    assert script["written"](page, ACTION) == page, "run `make schema`"
    assert page.rstrip().endswith("and gives its files back.")
    assert page.count("| `mode` |") == page.count("| `verdict` |") == 1


def test_the_page_of_commands_is_what_they_say_themselves() -> None:
    # In a process of its own: a command keeps the help option of whoever called it first.
    script = [sys.executable, str(ROOT / ".ci" / "command_docs.py")]
    written = subprocess.run([*script, "-"], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "cli.md").read_text() == written, "run `make schema`"
    readme = subprocess.run([*script, "--readme"], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "README.md").read_text() == readme, "run `make schema`"
    assert written.count("\n## codegate ") == len(group.list_commands(Context(group)))


def test_defaults_are_those_of_the_code() -> None:
    defaults = {name: field["default"] for name, field in ACTION["inputs"].items() if "default" in field}
    own = {field.alias: field.default for name, field in Inputs.model_fields.items() if name != "workspace"}
    texts = {name: str(value) for name, value in own.items() if value not in (None, (), "")}
    assert {name: text.lower() for name, text in texts.items()} | {"github-token": "${{ github.token }}"} == defaults
    assert GatePolicy().on_inconclusive == "neutral", "which the description names"


@pytest.mark.requirement("M1")
def test_the_dockerfile_is_what_the_runner_wants() -> None:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    words = [line.split()[0] for line in lines if not line.startswith((" ", "\t"))]
    assert set(words) <= {"FROM", "RUN", "COPY", "ENTRYPOINT"}  # no USER, no WORKDIR, nothing of one builder only
    assert not [line for line in lines if "--mount" in line or "--chmod" in line or "<<" in line]
    (entrypoint,) = [line for line in lines if line.startswith("ENTRYPOINT")]
    assert re.fullmatch(r'ENTRYPOINT \["/[^"]+/python", "-I", "-m", "codegate", "action"\]', entrypoint)


def test_a_release_commits_an_action_that_uses_the_published_image(tmp_path: Path) -> None:
    folder, image = tmp_path / "checkout", f"ghcr.io/codegate-ci/codegate@sha256:{'5' * 64}"
    make_repository(folder, {name: (ROOT / name).read_bytes() for name in ("action.yml", "Dockerfile")})
    run_git(folder, "reset", "--quiet", "--hard")

    def published(image: str) -> subprocess.CompletedProcess[str]:
        script = ROOT / ".ci" / "published_action.sh"
        return subprocess.run([script, image], cwd=folder, capture_output=True, text=True, check=False)

    commit = published(image).stdout.strip()
    assert commit == published(image).stdout.strip()
    assert run_git(folder, "rev-parse", f"{commit}^").strip() == run_git(folder, "rev-parse", "HEAD").strip()
    assert run_git(folder, "diff", "--name-only", "HEAD", commit).split() == ["action.yml"]
    written = tmp_path / "action.yml"
    written.write_text(run_git(folder, "show", f"{commit}:action.yml"))
    assert yaml.safe_load(written.read_text()) == {**ACTION, "runs": {**ACTION["runs"], "image": f"docker://{image}"}}
    assert run_git(folder, "status", "--porcelain") == "", "the checkout stays as it is"
    assert published("ghcr.io/codegate-ci/codegate:1.0").returncode == 2
