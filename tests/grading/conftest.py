"""Where the grading room's tests run: one environment with pytest alone, one with plugins."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from codegate.grading import Sandboxes
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from codegate.suite import EnvironmentManifest
from tests.grading.control_texts import EVERY_TEST, EVERYTHING, FAILING
from tests.grading.worlds import TESTS, World
from tests.kit.environment import PLAIN, WITH_GO, sandboxes_of
from tests.kit.unboxed import Unboxed, UnboxedSandboxes

MakeWorld = Callable[..., World]


@pytest.fixture(scope="session")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    """Bubblewrap sandboxes with pytest, one of them started ahead."""
    found = sandboxes_of(bwrap_backend, PLAIN, ahead=1)
    yield found
    found.close()


@pytest.fixture(scope="session")
def unboxed() -> Iterator[Sandboxes]:
    """Folders in place of sandboxes, for tests of everything but the walls: they take a quarter of the time."""
    own = Unboxed()
    yield UnboxedSandboxes(own)
    own.close()


@pytest.fixture(scope="session")
def docker_sandboxes(docker_backend: DockerBackend) -> Iterator[Sandboxes]:
    """Docker sandboxes with pytest."""
    found = sandboxes_of(docker_backend, PLAIN)
    yield found
    found.close()


@pytest.fixture(scope="session")
def go(bwrap_backend: BubblewrapBackend) -> Iterator[tuple[Sandboxes, EnvironmentManifest]]:
    """Sandboxes with Go, and their environment."""
    found = sandboxes_of(bwrap_backend, WITH_GO)
    yield found, WITH_GO.manifest
    found.close()


@pytest.fixture(scope="module")
def make_world(sandboxes: Sandboxes) -> MakeWorld:
    """Make problems that are graded under bubblewrap."""

    return partial(World, sandboxes)


@pytest.fixture(scope="module")
def make_unboxed(unboxed: Sandboxes) -> MakeWorld:
    """Make problems that are graded without walls."""
    return partial(World, unboxed)


@pytest.fixture(scope="module")
def unboxed_world(make_unboxed: MakeWorld) -> World:
    """The problem as it is by default, graded without walls."""
    return make_unboxed()


@pytest.fixture(scope="module")
def world(make_world: MakeWorld) -> World:
    """The problem as it is by default."""
    return make_world()


@pytest.fixture(scope="module")
def everything(make_unboxed: MakeWorld) -> World:
    """A problem whose tests have everything that tests have."""
    tests = [f"{TESTS}::{test}" for test in EVERY_TEST]
    known = [test for test in tests if not test.endswith(FAILING)]
    return make_unboxed(hidden={TESTS: EVERYTHING}, expected=tests, known=known)
