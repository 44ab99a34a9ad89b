"""On a mined suite the reference fix solves everything and no change solves nothing, in every sandbox."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from tests.e2e.conftest import Demo, codegate

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

SUBSET = 6


def rates(suite: Path, sandbox: str, home: Path) -> tuple[float, float, int]:
    """Return the pass rates of reference and empty, and on how many problems."""
    candidates = ("--candidate", "reference", "--candidate", "empty")
    done = codegate("run", str(suite), *candidates, "--sandbox", sandbox, "--json", "--out", "run", cwd=home)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    by_name = {entry["label"]: entry["pass_rate"] for entry in report["candidates"]}
    assert by_name["reference"]["n"] == by_name["empty"]["n"]
    return by_name["reference"]["value"], by_name["empty"]["value"], by_name["reference"]["n"]


@pytest.mark.bwrap
def test_on_bubblewrap(demo: Demo, bwrap_backend: BubblewrapBackend, tmp_path: Path) -> None:
    reference, empty, n = rates(demo.folder / "suite", "bwrap", tmp_path)
    assert n >= 24
    assert (reference, empty) == (1.0, 0.0)


@pytest.mark.docker
def test_on_docker(demo: Demo, docker_backend: DockerBackend, tmp_path: Path) -> None:
    subset = demo.folder / "subset"  # beside the suite, since the repository is named from there
    shutil.copytree(demo.folder / "suite", subset)
    manifest = yaml.safe_load((subset / "suite.yml").read_text())
    step = len(manifest["problems"]) // SUBSET
    manifest["problems"] = manifest["problems"][::step][:SUBSET]
    (subset / "suite.yml").write_text(yaml.safe_dump(manifest))
    assert rates(subset, "docker", tmp_path) == (1.0, 0.0, SUBSET)
