"""The example package adds a provider, a sandbox, an agent, a language and a report format to codegate."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from codegate.errors import UsageError
from codegate.plugins import load_plugin
from codegate.running.config import load_config
from codegate.suite import Suite, load_suite
from tests.kit.repository import HistoryBuilder
from tests.mining.shell_world import ADD, FIX, MORE, RUN, TEST
from tests.running.world import MODEL, REMEMBERING, ModelServer, Said, source

pytestmark = pytest.mark.sandbox  # a package is installed

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("plugin") / "site"
    options = ["--quiet", "--no-deps", "--python", sys.executable, "--target", str(target)]
    subprocess.run([find_uv_bin(), "pip", "install", *options, str(EXAMPLE)], check=True, timeout=200)
    return target


@pytest.fixture
def history(tmp_path: Path) -> HistoryBuilder:
    return HistoryBuilder(tmp_path / "repository")


def codegate(installed: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{Path(__file__).parents[2]}", **variables}
    command = [sys.executable, "-c", REMEMBERING, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.bwrap
@pytest.mark.requirement("E1")
def test_a_package_adds_a_sandbox_and_a_report_format(installed: Path, suite: Suite, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    options = ["--candidate", "empty", "--sandbox", "quiet", "--no-precheck", "--samples", "1", "--out", str(run)]
    done = codegate(installed, "run", str(suite.folder), *options)
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "run.json").read_text())["sandbox"] == "quiet"
    done = codegate(installed, "report", str(run), "--out", str(out), "--format", "names")
    assert done.returncode == 0, done.stderr
    assert len((out / "unsolved.txt").read_text().splitlines()) == len(
        json.loads((run / "run.json").read_text())["problems"]
    )


@pytest.mark.requirement("E1")
def test_a_package_adds_a_provider_with_its_own_key(installed: Path, suite: Suite, tmp_path: Path) -> None:
    config = tmp_path / "codegate.yml"
    config.write_text("candidates: ['shout:shout-latest']\n")
    done = codegate(installed, "run", str(suite.folder), "--config", str(config), "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "'shout-latest' is a floating alias" in done.stderr
    assert "shout:shout-1.2" in done.stderr
    done = codegate(installed, "run", str(suite.folder), "--candidate", "shout:shout-1.2", "--out", str(tmp_path / "r"))
    assert done.returncode == 2
    assert "SHOUT_API_KEY is not set" in done.stderr


@pytest.mark.bwrap
@pytest.mark.requirement("E1", "C12")
def test_a_package_adds_an_agent(installed: Path, suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, _turn, _request: Said(f"calc/{name}.py\n{source(name, fixed=True)}")
    model = f"openai:{MODEL}@{server.url}"
    config, out = tmp_path / "codegate.yml", str(tmp_path / "run")
    config.write_text(json.dumps({"candidates": [{"agent": "once", "version": "1", "model": model}]}))
    options = ["--config", str(config), "--sandbox", "bwrap", "--samples", "1", "--out", out, "--json"]
    done = codegate(installed, "run", str(suite.folder), *options, OPENAI_API_KEY="a-key")
    assert done.returncode == 0, done.stderr
    [candidate] = json.loads(done.stdout)["candidates"]
    assert candidate["pass_rate"]["value"] == 1.0
    with pytest.raises(UsageError, match="unknown agent 'once'"):
        load_config(config)  # here the package is not installed


@pytest.mark.bwrap
@pytest.mark.requirement("E1")
def test_a_package_adds_a_language(installed: Path, history: HistoryBuilder, tmp_path: Path) -> None:
    history.commit("Begin.", {"lib/add.sh": ADD % "-", "tests/add_test.sh": TEST, "run-tests.sh": RUN})
    history.commit(FIX, {"lib/add.sh": ADD % "+", "tests/add_test.sh": MORE})
    out = tmp_path / "suite"
    done = codegate(
        installed, "mine", str(history.folder), "--out", str(out), "--sandbox", "bwrap", "--fresh", "--rounds", "1"
    )
    assert done.returncode == 0, done.stderr
    (problem,) = (out / "problems").iterdir()
    assert "language: shell" in (problem / "problem.yml").read_text()
    with pytest.raises(UsageError, match="no language is called 'shell'"):
        load_suite(out)  # here the package is not installed


def test_a_missing_plugin_is_named() -> None:
    with pytest.raises(UsageError, match="no installed package adds 'nowhere' to"):
        load_plugin("codegate.reports", "nowhere")
