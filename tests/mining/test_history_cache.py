import json
from collections.abc import Callable
from pathlib import Path

import pytest

from codegate.durable import sha256
from codegate.mining.sources import changes
from codegate.mining.sources.history import read_units
from tests.mining.history_builder import HistoryBuilder


@pytest.fixture
def kept(history: HistoryBuilder, tmp_path: Path) -> Path:
    """The cache of a small history."""
    history.commit("begin", {"a.py": "1\n"})
    history.commit("Fix a", {"a.py": "2\n3\n", "b.bin": b"\0"})
    history.commit("Fix more", {"a.py": "4\n"})
    read_units(history.folder, cache=tmp_path / "cache")
    (file,) = (tmp_path / "cache").glob("*/linecounts")
    return file


def _forbid_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*_: object) -> object:
        raise AssertionError("lines were counted")

    monkeypatch.setattr(changes, "_count", count)


def test_a_warm_scan_is_a_cold_scan_without_counting(
    history: HistoryBuilder, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = read_units(history.folder)
    _forbid_counting(monkeypatch)

    assert read_units(history.folder, cache=tmp_path / "cache") == cold


def test_new_and_rewritten_commits_are_counted(history: HistoryBuilder, tmp_path: Path, kept: Path) -> None:
    history.git("-c", "user.name=A", "-c", "user.email=a@b", "reset", "--quiet", "--hard", "HEAD~1")
    history.commit("Fix otherwise", {"a.py": "1\n2\n3\n4\n5\n"})
    history.commit("Fix on", {"c.py": "1\n"})

    assert read_units(history.folder, cache=tmp_path / "cache") == read_units(history.folder)


@pytest.mark.parametrize("damage", [b"", b"codegate.linecounts/1 0\n{}", b"\xff" * 100, b"[" * 100_000, None])
def test_a_damaged_cache_is_made_anew(
    history: HistoryBuilder, tmp_path: Path, kept: Path, damage: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = kept.read_bytes()
    kept.write_bytes(good[:-1] if damage is None else damage)

    assert read_units(history.folder, cache=tmp_path / "cache") == read_units(history.folder)
    assert kept.read_bytes() == good


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: {name: [] for name in rows},
        lambda rows: {name: [[1, 1]] * 99 for name in rows},
        lambda rows: {name: [[True, 1]] * len(row) for name, row in rows.items()},
        lambda rows: {name: [[-1, 1]] * len(row) for name, row in rows.items()},
        lambda rows: {name: [[1, 1, 1]] * len(row) for name, row in rows.items()},
        lambda rows: {name: ["ab"] * len(row) for name, row in rows.items()},
        lambda rows: dict.fromkeys(rows, 7),
        lambda rows: {"HEAD HEAD~1": [[1, 1]], **rows, "x": 1},
        list,
    ],
)  # fmt: skip
def test_a_planted_cache_neither_misleads_nor_breaks(
    history: HistoryBuilder, tmp_path: Path, kept: Path, spoil: Callable[[dict[str, list[object]]], object]
) -> None:
    data = json.dumps(spoil(json.loads(kept.read_bytes().partition(b"\n")[2]))).encode()
    kept.write_bytes(f"codegate.linecounts/1 {sha256(data)}\n".encode() + data)

    assert read_units(history.folder, cache=tmp_path / "cache") == read_units(history.folder)


def test_a_cache_that_cannot_be_written_costs_nothing_else(history: HistoryBuilder, tmp_path: Path) -> None:
    history.commit("begin", {"a.py": "1\n"})
    history.commit("Fix a", {"a.py": "2\n"})
    (tmp_path / "file").write_text("")

    assert len(read_units(history.folder, cache=tmp_path / "file")) == 1
