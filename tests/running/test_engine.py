"""Where a run's sandboxes are. Runs on a real cluster: tests/cluster."""

import importlib.util
from pathlib import Path

import pytest

from codegate.suite import Suite
from tests.running.world import codegate


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_engine_ray_without_ray_names_the_extra_to_install(suite: Suite, tmp_path: Path) -> None:
    done = codegate("run", suite.folder, "--candidate", "reference:", "--engine", "ray", cwd=tmp_path)
    assert done.code == 2
    assert "Install codegate-ci[ray]" in done.stderr
    assert not (tmp_path / "runs").exists()
