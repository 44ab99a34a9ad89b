from pathlib import Path

import pytest

from tests.kit.repository import HistoryBuilder


@pytest.fixture
def history(tmp_path: Path) -> HistoryBuilder:
    return HistoryBuilder(tmp_path / "repository")
