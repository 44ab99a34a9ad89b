import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import ExitCode, UsageError
from codegate.gating import (
    Baseline,
    CandidateSamples,
    Sample,
    load_baseline,
    load_lock,
    load_pinned,
    missing_samples,
    pin,
    write_baseline,
    write_lock,
)
from tests.gating.sampling import side, uniform

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def pinned(n: int = 20, k: int = 2) -> Baseline:
    return pin(side(uniform(n, n // 2, k)), run="run-1", suite_digest="d" * 64, created=NOON)


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    write_baseline(tmp_path / "gate" / "baseline.json", pinned())
    lock = tmp_path / "codegate.lock"
    write_lock(lock, tmp_path / "gate" / "baseline.json")
    return lock


def test_what_is_pinned_is_read_back(locked: Path) -> None:
    assert load_pinned(locked) == pinned()
    lock = load_lock(locked)
    assert lock.baseline == "gate/baseline.json"
    assert (lock.model, lock.suite_digest, lock.digest) == ("model-x", "d" * 64, pinned().digest)


def test_equal_baselines_are_equal_bytes(tmp_path: Path) -> None:
    write_baseline(tmp_path / "a", pinned())
    write_baseline(tmp_path / "b", load_baseline(tmp_path / "a"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_digest_covers_every_field() -> None:
    baseline = pinned()
    changes: dict[str, Any] = {
        "created": "2030",
        "codegate": "9",
        "run": "other",
        "suite_digest": "e",
        "complete": False,
        "samples": side(uniform(20, 11, 2)),
    }
    assert changes.keys() == Baseline.model_fields.keys() - {"digest", "baseline_schema"}
    for name, value in changes.items():
        assert baseline.model_copy(update={name: value}).computed_digest() != baseline.digest, name


def test_the_time_is_kept_in_utc() -> None:
    assert pinned().created == "2025-06-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ({"a": [True, None], "b": [True, True]}, "a: sample 1 was lost to provider.timeout"),
        ({"a": [True, True], "b": []}, "b: no sample"),
        ({"a": [True, True], "b": [True]}, "b: sample 1 is missing"),
        ({}, "it has no problems"),
    ],
)
def test_an_incomplete_run_is_not_pinned(results: dict[str, list[bool | None]], told: str) -> None:
    with pytest.raises(UsageError, match="incomplete") as caught:
        pin(side(results), run="run-1", suite_digest="d")
    assert told in str(caught.value)


def test_the_list_of_what_is_missing_is_bounded() -> None:
    with pytest.raises(UsageError, match="and 90 more"):
        pin(side({f"p{i}": [None] for i in range(100)}), run="run-1", suite_digest="d")


def test_text_that_no_file_can_hold_is_not_pinned() -> None:
    with pytest.raises(UsageError, match="not Unicode"):
        pin(side(uniform(3, 3), label="\ud800"), run="run-1", suite_digest="d")


def test_a_huge_index_costs_nothing() -> None:
    good = side(uniform(3, 3, 1))
    odd = good.model_copy(update={"samples": {**good.samples, "p000": (Sample(index=10**15, passed=True),)}})
    assert missing_samples(odd) == ("p000: sample 0 is missing",)


def test_a_missing_lock_or_baseline_is_an_error_with_a_remedy(tmp_path: Path, locked: Path) -> None:
    with pytest.raises(UsageError, match=r"lock: .* does not exist") as caught:
        load_pinned(tmp_path / "elsewhere" / "codegate.lock")
    assert "codegate baseline pin" in caught.value.remedy
    (tmp_path / "gate" / "baseline.json").unlink()
    with pytest.raises(UsageError, match=r"baseline: .* does not exist") as caught:
        load_pinned(locked)
    assert caught.value.exit_code == ExitCode.USAGE


def test_another_baseline_than_the_pinned_one_is_refused(tmp_path: Path, locked: Path) -> None:
    write_baseline(tmp_path / "gate" / "baseline.json", pinned(21))
    with pytest.raises(UsageError, match="not the one that"):
        load_pinned(locked)


def test_one_changed_byte_is_refused(tmp_path: Path, locked: Path) -> None:
    path = tmp_path / "gate" / "baseline.json"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(UsageError, match="not the one that"):
        load_pinned(locked)
    assert load_baseline(path) == pinned()  # the same content all the same


def test_changed_content_is_refused_even_without_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(path, pinned())
    path.write_text(path.read_text().replace("false", "true", 1))
    with pytest.raises(UsageError, match="changed after it was pinned"):
        load_baseline(path)


def _resigned(**changes: Any) -> Baseline:
    forged = pinned().model_copy(update=changes)
    return forged.model_copy(update={"digest": forged.computed_digest()})


@pytest.mark.parametrize(
    "changes",
    [
        {"complete": False},
        {"samples": side({"a": [None]})},
        {"samples": side({})},
    ],
)
def test_an_incomplete_baseline_is_refused_whatever_it_says(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_baseline(tmp_path / "b.json", _resigned(**changes))
    with pytest.raises(UsageError, match="incomplete"):
        load_baseline(tmp_path / "b.json")


def test_contradicting_samples_in_a_baseline_are_refused(tmp_path: Path) -> None:
    twice = CandidateSamples.model_validate(
        {**side(uniform(1, 1)).model_dump(), "samples": {"p000": [Sample(index=0, passed=True)] * 2}}
    )
    write_baseline(tmp_path / "b.json", _resigned(samples=twice))
    with pytest.raises(UsageError, match="more than once"):
        load_baseline(tmp_path / "b.json")


@pytest.mark.parametrize("field", ["digest", "suite_digest", "model"])
def test_a_lock_that_lies_about_its_baseline_is_refused(locked: Path, field: str) -> None:
    value = json.loads(locked.read_text())
    value[field] = "0" * 64
    locked.write_text(json.dumps(value))
    with pytest.raises(UsageError, match="disagree"):
        load_pinned(locked)


@pytest.mark.parametrize("path", ["../outside.json", "gate/../../outside.json", "/etc/passwd", "", ".", "a\0b"])
def test_a_lock_cannot_point_outside_its_folder(tmp_path: Path, path: str) -> None:
    write_baseline(tmp_path / "outside.json", pinned())
    write_baseline(tmp_path / "repo" / "gate" / "baseline.json", pinned())
    lock = tmp_path / "repo" / "codegate.lock"
    write_lock(lock, tmp_path / "repo" / "gate" / "baseline.json")
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "baseline": path}))
    with pytest.raises(UsageError, match="not below its folder"):
        load_pinned(lock)


def test_a_baseline_outside_the_lock_folder_is_not_locked(tmp_path: Path) -> None:
    write_baseline(tmp_path / "baseline.json", pinned())
    with pytest.raises(UsageError, match="not below"):
        write_lock(tmp_path / "deep" / "codegate.lock", tmp_path / "baseline.json")


def _baseline_text() -> str:
    return json.dumps(pinned().model_dump(mode="json", by_alias=True))


BROKEN: dict[str, str | bytes] = {
    "empty": "",
    "no JSON": "schema: codegate.baseline/1",
    "no UTF-8": b"\xff\xfe{}",
    "list": "[]",
    "null": "null",
    "cut off": _baseline_text()[:-20],
    "other schema": _baseline_text().replace("codegate.baseline/1", "codegate.baseline/2"),
    "unknown key": _baseline_text().replace('"run"', '"trust_me": true, "run"'),
    "key twice": _baseline_text().replace('"complete": true', '"complete": false, "complete": true'),
    "wrong type": _baseline_text().replace('"complete": true', '"complete": "yes"'),
    "passed as text": _baseline_text().replace('"passed": true', '"passed": "true"', 1),
    "negative index": _baseline_text().replace('"index": 0', '"index": -1', 1),
    "not a number": _baseline_text().replace('"score": 100.0', '"score": NaN', 1),
    "infinity": _baseline_text().replace('"score": 100.0', '"score": 1e999', 1),
    "lone surrogate": _baseline_text().replace('"label": "x"', '"label": "\\ud800"'),
    "endless number": _baseline_text().replace('"index": 0', '"index": ' + "9" * 5000, 1),
    "deep": "[" * 200_000,
    "deep object": '{"a":' * 200_000,
    "too large": _baseline_text() + " " * (16 * 1024 * 1024),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_baseline_is_one_clear_line(tmp_path: Path, name: str) -> None:
    content = BROKEN[name]
    path = tmp_path / "baseline.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as caught:
        load_baseline(path)
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_pipe_or_folder_is_no_baseline(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(UsageError, match="is not a regular file"):
            load_baseline(path)


@given(st.binary(max_size=300))
def test_garbage_is_always_a_usage_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage.lock"
    path.write_bytes(data)
    with pytest.raises(UsageError):
        load_pinned(path)
