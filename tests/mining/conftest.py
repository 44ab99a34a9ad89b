from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.grading import Sandboxes
from codegate.mining.examples import steady
from codegate.mining.proving.validation import OpenSandbox
from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.kit.environment import PLAIN, sandboxes_of
from tests.kit.remembered import remember
from tests.kit.repository import HistoryBuilder
from tests.kit.unboxed import Unboxed

TIMES = steady._TIMES


@pytest.fixture
def history(tmp_path: Path) -> HistoryBuilder:
    return HistoryBuilder(tmp_path / "repository")


@pytest.fixture(scope="package", autouse=True)
def _quick_mining() -> Iterator[None]:
    """Look at a sandbox once, and run what is shown two times in each state and not ten, each a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steady, "_TIMES", 2)
        remember(patch.setattr)
        yield


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    """The plain environment's."""
    found = sandboxes_of(bwrap_backend, PLAIN)
    yield found
    found.close()


@pytest.fixture(scope="session")
def unboxed() -> Iterator[OpenSandbox]:
    """What opens folders in place of sandboxes."""
    own = Unboxed()
    yield own.open
    own.close()
