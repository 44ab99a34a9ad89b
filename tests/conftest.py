"""Real backends for every room's tests: made once, closed at the end, skipped loudly where the machine has none."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docker import APIClient
from docker.utils import kwargs_from_env
from uv import find_uv_bin

from codegate.sandbox import Backend, EnvironmentRecipe, PreparedEnvironment, SandboxUnavailable
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.images import BASE_IMAGE, find
from codegate.sandbox.interpreter import index_environment

# A shell starts what runs in its background with this signal ignored, and everything that it starts likewise.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Rooms whose tests take longest, the longest first: no worker is to be left with one of them at the end.
_FIRST = ("e2e", "mining", "redteam", "running", "cli", "github", "grading", "sandbox")

PYTHON = "3.11"
PYTEST = "pytest==8.3.4"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the rooms that take longest; within a room the order is as it was."""
    home = Path(__file__).parent
    ranks = {room: rank for rank, room in enumerate(_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(home).parts[0], len(ranks)))


def unavailable(backend: str, reason: str) -> None:
    """Skip, or fail where the environment says that the backend has to be here."""
    variable = f"CODEGATE_REQUIRE_{backend}"
    if os.environ.get(variable) == "1":
        pytest.fail(f"{variable}=1, but {reason}")
    pytest.skip(reason)


def _has_image(name: str) -> bool:
    with closing(APIClient(**kwargs_from_env())) as client:
        return find(client, name) is not None


@pytest.fixture(scope="session")
def docker_backend() -> Iterator[DockerBackend]:
    """The Docker backend of the daemon here."""
    try:
        backend = DockerBackend("tests")
    except SandboxUnavailable as error:
        unavailable("DOCKER", str(error))
        raise
    image = os.environ.get("CODEGATE_BASE_IMAGE") or BASE_IMAGE.format(python=PYTHON)
    if not _has_image(image):
        backend.close()
        unavailable("DOCKER", f"the daemon has no image {image}")
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def bwrap_backend() -> Iterator[BubblewrapBackend]:
    """The bubblewrap backend."""
    try:
        backend = BubblewrapBackend("tests")
    except SandboxUnavailable as error:
        unavailable("BWRAP", str(error))
        raise
    yield backend
    backend.close()


@pytest.fixture(
    scope="session",
    params=[pytest.param("docker", marks=pytest.mark.docker), pytest.param("bwrap", marks=pytest.mark.bwrap)],
)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn."""
    found: Backend = request.getfixturevalue(f"{request.param}_backend")
    return found


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> EnvironmentRecipe:
    """A locked environment with pytest: the only use of the network in these fixtures."""
    folder = tmp_path_factory.mktemp("recipe")
    (folder / "requirements.in").write_text(f"{PYTEST}\n")
    lock = folder / "requirements.lock"
    subprocess.run(
        [
            find_uv_bin(), "pip", "compile", "--no-config", "--quiet", "--generate-hashes", "--universal",
            "--python-version", PYTHON, "--no-annotate", "--no-header", "-o", str(lock), "requirements.in",
        ],
        cwd=folder,
        env=index_environment(),
        check=True,
    )  # fmt: skip
    return EnvironmentRecipe(PYTHON, Path(lock).read_text())


@pytest.fixture(scope="session")
def environment(backend: Backend, recipe: EnvironmentRecipe) -> PreparedEnvironment:
    """The locked environment, prepared by ``backend``."""
    return backend.prepare(recipe)
