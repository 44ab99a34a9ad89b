"""What people install, outside of a clone: the wheel, as ``uvx codegate-ci`` and ``pipx run codegate-ci`` do it."""

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.e2e.conftest import ROOT
from tests.kit.scripted_model import Say
from tests.kit.stand_in import StandIn

pytestmark = [pytest.mark.full, pytest.mark.bwrap, pytest.mark.timeout(900)]

COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is made of the source package."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([find_uv_bin(), "build", "--quiet", "--out-dir", folder, ROOT], check=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def bin_(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the wheel alone was installed."""
    return install(wheel, tmp_path_factory.mktemp("fresh") / "venv")


def install(wheel: Path, home: Path, *options: str | Path) -> Path:
    """Install the wheel in an environment of its own and return the folder of its programs."""
    subprocess.run([find_uv_bin(), "venv", "--quiet", home], check=True)
    pip = (find_uv_bin(), "pip", "install", "--quiet", "--python", home / "bin" / "python")
    subprocess.run([*pip, *options, wheel], check=True)
    return home / "bin"


def run(program: Path, *words: str | Path, cwd: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": "", "CODEGATE_CACHE": str(cwd / "cache")}  # nothing is remembered
    return subprocess.run(
        [program, *words], cwd=cwd, env={**environment, **variables}, capture_output=True, text=True, check=False
    )


def test_the_wheel_holds_the_workflows_the_schemas_and_the_demo(wheel: Path) -> None:
    found = set(zipfile.ZipFile(wheel).namelist())
    for inside, folder in (("workflow_templates", ".github/workflow-templates"), ("schema", "docs/schema")):
        assert {f"codegate/{inside}/{path.name}" for path in (ROOT / folder).iterdir()} <= found
    assert "codegate/bundled/quickstart/history.fast-export" in found
    assert {name.split("/")[2] for name in found if name.startswith("codegate/bundled/")} == {"quickstart"}


@pytest.mark.requirement("E2")
def test_the_demo_runs_under_the_name_of_the_distribution(bin_: Path, tmp_path: Path) -> None:
    done = run(bin_ / "codegate-ci", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert re.findall(r"^(?:good|worse) .*: (PASS|REGRESSED)\.", done.stdout, re.MULTILINE) == ["PASS", "REGRESSED"]


def test_the_lowest_versions_that_are_allowed_ask_models(wheel: Path, tmp_path: Path) -> None:
    direct = ("--resolution", "lowest-direct", "--requirements", ROOT / "pyproject.toml")
    bin_ = install(wheel, tmp_path / "venv", *direct)
    with StandIn(lambda _: Say("I do not know."), tmp_path) as played:
        models = (f"openai:m-1@{played.url}/v1", f"anthropic:m-1@{played.url}")
        candidates = [word for model in models for word in ("--candidate", model)]
        done = run(
            bin_ / "codegate", "run", ROOT / "suites" / "answers", *candidates, "--problem", "workflow",
            "--samples", "1", "--no-gate", "--sandbox", "bwrap", cwd=tmp_path, **played.environment,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (journal,) = tmp_path.glob("runs/*/outcomes.jsonl")
    failures = [json.loads(line)["grade"]["failure"] for line in journal.read_text().splitlines()]
    assert failures == ["no_code", "no_code"]


def test_init_pins_the_commit_that_the_package_was_built_from(bin_: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    refused = run(bin_ / "codegate", "init", "--workflows", cwd=tmp_path)
    assert refused.returncode == 2
    assert "`git ls-remote https://github.com/" in refused.stderr
    (package,) = bin_.parent.glob("lib/python3*/site-packages/codegate")
    (package / "commit").write_text(f"{COMMIT}\n")
    done = run(bin_ / "codegate", "init", "--workflows", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"codegate-ci/codegate@{COMMIT} # v" in (tmp_path / ".github/workflows/codegate-gate.yml").read_text()
