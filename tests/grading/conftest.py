"""Where the grading room's tests run: one environment with pytest alone, one with plugins."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial

import pytest

from codegate.grading import Sandboxes
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from tests.grading.worlds import World
from tests.kit.environment import PLAIN, WITH_GO, sandboxes_of
from tests.kit.remembered import remember
from tests.kit.unboxed import Unboxed, UnboxedSandboxes

MakeWorld = Callable[..., World]
SandboxesWith = Callable[..., Sandboxes]


@pytest.fixture(scope="package", autouse=True)
def _one_look() -> Iterator[None]:
    """Look once in a session at what each of these sandboxes holds; ``test_sandboxes`` looks each time."""
    with pytest.MonkeyPatch.context() as patch:
        remember(patch.setattr)
        yield


@pytest.fixture(scope="module")
def sandboxes_with(bwrap_backend: BubblewrapBackend) -> Iterator[SandboxesWith]:
    """Make bubblewrap sandboxes of environments, which live as long as the module's tests."""
    with ExitStack() as stack:
        yield lambda *made: stack.enter_context(closing(sandboxes_of(bwrap_backend, *made)))


@pytest.fixture(scope="session")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    """Bubblewrap sandboxes with pytest, one of them started ahead."""
    with closing(sandboxes_of(bwrap_backend, PLAIN, ahead=1)) as found:
        yield found


@pytest.fixture(scope="session")
def unboxed() -> Iterator[Sandboxes]:
    """Folders in place of sandboxes, for tests of everything but the walls: they take a quarter of the time."""
    own = Unboxed()
    yield UnboxedSandboxes(own)
    own.close()


@pytest.fixture(scope="session")
def docker_sandboxes(docker_backend: DockerBackend) -> Iterator[Sandboxes]:
    """Docker sandboxes with pytest."""
    with closing(sandboxes_of(docker_backend, PLAIN)) as found:
        yield found


@pytest.fixture(scope="session")
def go(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    """Sandboxes with Go."""
    with closing(sandboxes_of(bwrap_backend, WITH_GO)) as found:
        yield found


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
