from pathlib import Path

import pytest

from tests.mining.history_builder import HistoryBuilder


@pytest.fixture
def history(tmp_path: Path) -> HistoryBuilder:
    return HistoryBuilder(tmp_path / "repository")
