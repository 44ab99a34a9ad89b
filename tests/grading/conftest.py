"""Where the grading room's tests run: one environment with pytest alone, one with plugins."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from uv import find_uv_bin

from codegate.grading import Sandboxes
from codegate.grading.controls.sites import Sites
from codegate.sandbox import EnvironmentRecipe
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.interpreter import index_environment
from codegate.suite import EnvironmentManifest
from tests.conftest import PYTHON
from tests.grading.control_texts import EVERY_TEST, EVERYTHING, FAILING, find
from tests.grading.worlds import TESTS, World
from tests.sandbox.go_world import go_environment, publish

MakeWorld = Callable[..., World]


def lock(folder: Path, *requirements: str) -> EnvironmentRecipe:
    """Lock ``requirements``, which takes the package index."""
    (folder / "requirements.in").write_text("\n".join(requirements))
    subprocess.run(
        [
            find_uv_bin(), "pip", "compile", "--no-config", "--quiet", "--generate-hashes", "--python-version", PYTHON,
            "--no-annotate", "--no-header", "-o", "requirements.lock", "requirements.in",
        ],
        cwd=folder,
        env=index_environment(),
        check=True,
    )  # fmt: skip
    return EnvironmentRecipe(PYTHON, (folder / "requirements.lock").read_text())


@pytest.fixture(scope="session")
def sandboxes(bwrap_backend: BubblewrapBackend, recipe: EnvironmentRecipe) -> Iterator[Sandboxes]:
    """Bubblewrap sandboxes with pytest, one of them started ahead."""
    found = Sandboxes(bwrap_backend, {"tests": recipe.lock}, ahead=1)
    yield found
    found.close()


@pytest.fixture(scope="session")
def docker_sandboxes(docker_backend: DockerBackend, recipe: EnvironmentRecipe) -> Iterator[Sandboxes]:
    """Docker sandboxes with pytest."""
    found = Sandboxes(docker_backend, {"tests": recipe.lock})
    yield found
    found.close()


@pytest.fixture(scope="session")
def go(
    bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Sandboxes, EnvironmentManifest]]:
    """Sandboxes with Go, and their environment."""
    environment = go_environment()
    found = Sandboxes(bwrap_backend, {})
    found.add(environment)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOPROXY", publish(tmp_path_factory.mktemp("proxy")))
        found.prepare(environment.manifest)
    yield found, environment.manifest
    found.close()


@pytest.fixture(scope="session")
def make_world(sandboxes: Sandboxes, recipe: EnvironmentRecipe) -> MakeWorld:
    """Make problems that are graded under bubblewrap."""

    def make(**options: object) -> World:
        return World(sandboxes, recipe, **options)  # type: ignore[arg-type]  # passed through

    return make


@pytest.fixture(scope="session")
def world(make_world: MakeWorld) -> World:
    """The problem as it is by default."""
    return make_world()


@pytest.fixture(scope="module")
def everything(make_world: MakeWorld) -> World:
    """A problem whose tests have everything that tests have."""
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    known = [test for test in tests if not test.endswith(FAILING)]
    return make_world(hidden={TESTS: EVERYTHING}, expected=tests, known=known)


@pytest.fixture(scope="module")
def sites(everything: World) -> Sites:
    """What was found in them."""
    return find(everything)
