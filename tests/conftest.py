"""Real backends for every room's tests: made once, closed at the end, skipped loudly where the machine has none."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docker import APIClient
from docker.utils import kwargs_from_env
from hypothesis import HealthCheck, settings

from codegate.sandbox import Backend, EnvironmentRecipe, Layer, PreparedEnvironment, SandboxUnavailable, cache_folder
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.images import BASE_IMAGE, find_image
from tests.kit.kept import keep_finished, own_cache, take_kept
from tests.kit.layer import make_layer
from tests.kit.remembered import FOUND

# A shell starts what runs in its background with this signal ignored, and everything that it starts likewise.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Images of containers set this variable. Every worker and every command under test would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Rooms whose tests take longest, the longest first: no worker is to be left with one of them at the end.
_FIRST = ("e2e", "solving", "mining", "redteam", "running", "github", "cli", "grading", "sandbox", "golden")

# How fast a shared machine happens to be is not what a property is about. `make test-all` takes the other profile.
_UNHURRIED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)  # fmt: skip
settings.register_profile("quick", _UNHURRIED, max_examples=20)
settings.register_profile("thorough", _UNHURRIED, max_examples=100)
settings.load_profile("quick")

PYTHON = "3.11"
PYTEST = "pytest==8.3.4"


_KEPT_BUILDS = "builds-of-tests"
_OWN_CACHE = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests, in all workers, a cache of their own: recorded builds under test are made anew in each run."""
    if FOUND in os.environ:
        return
    folder = config.stash[_OWN_CACHE] = Path(tempfile.mkdtemp(prefix="codegate-tests-"))
    os.environ[FOUND] = str(folder / "found")
    (folder / "found").mkdir()
    if "CODEGATE_CACHE" in os.environ:
        return
    own_cache(folder)
    take_kept(cache_folder() / _KEPT_BUILDS, folder / "layers")
    os.environ["CODEGATE_CACHE"] = str(folder)
    os.environ.setdefault("CODEGATE_CACHE_GB", "40")  # with the agents of a day


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it again."""
    if (folder := config.stash.get(_OWN_CACHE, None)) is not None:
        del os.environ[FOUND]
        if os.environ["CODEGATE_CACHE"] == str(folder):
            del os.environ["CODEGATE_CACHE"]
            keep_finished(folder / "layers", cache_folder() / _KEPT_BUILDS)
        # Builds leave folders that may not be written to.
        subprocess.run(["chmod", "-R", "u+rwX", folder], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


# What a test of the fast tier neither asks for nor says that it needs.
_SANDBOX_MARKERS = {"bwrap", "docker"}
_SANDBOX_FIXTURES = {"backend", "bwrap_backend", "docker_backend"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that needs a sandbox, and begin with the rooms that take longest."""
    home = Path(__file__).parent
    for item in items:
        markers = {marker.name for marker in item.iter_markers()}
        fixtures = set(getattr(item, "fixturenames", ()))
        if markers & _SANDBOX_MARKERS or fixtures & _SANDBOX_FIXTURES:
            item.add_marker("sandbox")
        # That both sandboxes do the same is what their own room shows; agents are tried in both as well.
        room = item.path.relative_to(home).parts[0]
        chosen = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if chosen.get("backend") == "docker" and room not in {"sandbox", "solving"}:
            item.add_marker("full")
    ranks = {room: rank for rank, room in enumerate(_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(home).parts[0], len(ranks)))


@pytest.fixture(scope="session")
def _without_bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a ``bwrap`` that fails."""
    folder = tmp_path_factory.mktemp("fast")
    (folder / "bwrap").write_text("#!/bin/sh\necho This test needs the marker sandbox. >&2\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def _fast_tests_reach_no_sandbox(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _without_bubblewrap: Path
) -> None:
    """Let a test that needs a sandbox fail when its marker is missing."""
    if {marker.name for marker in request.node.iter_markers()} & {"sandbox", "full"}:
        return
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("PATH", f"{_without_bubblewrap}{os.pathsep}{os.environ['PATH']}")


def unavailable(backend: str, reason: str) -> None:
    """Skip, or fail where the environment says that the backend has to be here."""
    variable = f"CODEGATE_REQUIRE_{backend}"
    if os.environ.get(variable) == "1":
        pytest.fail(f"{variable}=1, but {reason}")
    pytest.skip(reason)


def _has_image(name: str) -> bool:
    with closing(APIClient(**kwargs_from_env())) as client:
        return find_image(client, name) is not None


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
def empty_layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    """What a recorded build leaves that does nothing."""
    return make_layer(tmp_path_factory.mktemp("layer"))


@pytest.fixture(scope="session")
def empty(empty_layer: Layer) -> EnvironmentRecipe:
    """A recipe of an environment with nothing in it."""
    return EnvironmentRecipe(PYTHON, layer=empty_layer)


@pytest.fixture(scope="session")
def environment(backend: Backend, empty: EnvironmentRecipe) -> PreparedEnvironment:
    """An environment with nothing in it, prepared by ``backend``."""
    return backend.prepare(empty)
