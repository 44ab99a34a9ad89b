from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.mining.examples import search
from tests.kit.repository import HistoryBuilder
from tests.running.conftest import one_look

__all__ = ["one_look"]

TIMES = search._TIMES


@pytest.fixture
def history(tmp_path: Path) -> HistoryBuilder:
    return HistoryBuilder(tmp_path / "repository")


@pytest.fixture(scope="package", autouse=True)
def _two_times() -> Iterator[None]:
    """Run what is shown two times in each state and not ten, each a process: it takes most of the time of mining."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_TIMES", 2)
        yield
