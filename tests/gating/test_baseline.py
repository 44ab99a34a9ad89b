import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline, Download, Origin, Sample, load_lock, load_pinned, pin
from codegate.gating.baseline import PooledRun, missing_samples, write_baseline, write_lock
from tests.gating.sampling import NOON, SPEC, load_baseline, part, side, uniform

TWICE = (Sample(index=0, passed=True),) * 2


def pinned(n: int = 20, k: int = 2) -> Baseline:
    origin = Origin("somebody", "c" * 40, NOON)
    return pin([part(uniform(n, n // 2, k))], origin=origin, min_samples=1)


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


def test_a_lock_may_say_where_else_the_bytes_are(tmp_path: Path, locked: Path) -> None:
    assert load_lock(locked).transport is None
    said = Download(artifact="codegate-baseline", release="v1", asset="b.json")
    written = write_lock(locked, tmp_path / "gate" / "baseline.json", said)
    assert load_lock(locked) == written
    assert load_lock(locked).transport == said
    assert load_pinned(locked) == pinned()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transport", {"artifact": ""}),
        ("transport", {"workflow": "codegate.yml"}),
        ("transport", {"workflow": ".github/workflows/../../x.yml"}),
        ("transport", {"url": "https://example.org"}),
        ("environments", {"../x": "a" * 64}),
        ("environments", {"a" * 64: "A" * 64}),
        ("environments", {"a" * 64: None}),
    ],
)
def test_a_place_or_an_archive_that_is_none_is_refused(locked: Path, key: str, value: dict[str, Any]) -> None:
    locked.write_text(json.dumps({**json.loads(locked.read_text()), key: value}))
    with pytest.raises(UsageError, match=f"broken at {key}"):
        load_lock(locked)


def test_equal_baselines_are_equal_bytes(tmp_path: Path) -> None:
    write_baseline(tmp_path / "a", pinned())
    write_baseline(tmp_path / "b", load_baseline(tmp_path / "a"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_digest_covers_every_field() -> None:
    baseline = pinned()
    changes: dict[str, Any] = {
        "created": "2030-01-01T00:00:00+00:00",
        "codegate": "9",
        "spec": SPEC.model_copy(update={"name": "other"}),
        "runs": (PooledRun(id="other", finished="2025-06-01T00:00:00+00:00", samples=2),),
        "suite_digest": "e",
        "complete": False,
        "samples": side(uniform(20, 11, 2)),
        "provenance": (baseline.provenance[0].model_copy(update={"who": "else"}),),
    }
    assert changes.keys() == Baseline.model_fields.keys() - {"digest", "baseline_schema"}
    for name, value in changes.items():
        assert baseline.model_copy(update={name: value}).computed_digest() != baseline.digest, name


@pytest.mark.parametrize(
    ("days", "state"),
    [(-10, "future"), (-1, "fresh"), (0, "fresh"), (59, "fresh"), (60, "old"), (89, "old"), (90, "expired")],
)
def test_the_age_is_that_of_the_newest_samples(days: int, state: str) -> None:
    baseline = pinned()
    older = PooledRun(id="r-0", finished="2020-01-01T00:00:00+00:00", samples=1)
    age = baseline.model_copy(update={"runs": (older, *baseline.runs)}).age(NOON + timedelta(days=days))
    assert age.state == state
    assert age.days == (None if state == "future" else max(days, 0))
    assert bool(age.words()) == (state != "fresh")


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
    assert caught.value.remedy.startswith("Check its name")


@pytest.mark.parametrize(
    ("transport", "command"),
    [
        (Download(artifact="nights"), "gh run download --name nights"),
        (Download(release="v1", asset="b.json"), "gh release download v1 --pattern b.json"),
    ],
)
def test_a_baseline_that_the_lock_has_elsewhere_is_downloaded_and_not_pinned_anew(
    tmp_path: Path, locked: Path, transport: Download, command: str
) -> None:
    path = tmp_path / "gate" / "baseline.json"
    write_lock(locked, path, transport)
    path.write_bytes(b"of an earlier pin")
    for cause in ("not the one that", "does not exist"):
        with pytest.raises(UsageError, match=cause) as caught:
            load_pinned(locked)
        assert f"`{command}`, and put the baseline at {path}." in caught.value.remedy
        path.unlink(missing_ok=True)


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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"complete": False}, "incomplete"),
        ({"samples": side({"a": [None]})}, "incomplete"),
        ({"samples": side({})}, "incomplete"),
        ({"runs": (PooledRun(id="r", finished="2025-06-01T00:00:00+00:00", samples=3),)}, "contradicts itself"),
        ({"runs": (PooledRun(id="r", finished="2025-06-01T00:00:00+00:00", samples=1),) * 2}, "contradicts itself"),
        ({"spec": SPEC.model_copy(update={"model": "other.jsonl"})}, "contradicts itself"),
        ({"samples": side({"p000": [True]}).model_copy(update={"samples": {"p000": TWICE}})}, "more than once"),
    ],
)
def test_a_signed_baseline_that_cannot_be_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    forged = pinned().model_copy(update=changes)
    write_baseline(tmp_path / "b.json", forged.model_copy(update={"digest": forged.computed_digest()}))
    with pytest.raises(UsageError, match=words):
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


BROKEN = {
    "no JSON": "schema: codegate.baseline/1",
    "other schema": _baseline_text().replace("codegate.baseline/4", "codegate.baseline/5"),
    "unknown key": _baseline_text().replace('"runs"', '"trust_me": true, "runs"', 1),
    "passed as text": _baseline_text().replace('"passed": true', '"passed": "true"', 1),
    "no zone": _baseline_text().replace("+00:00", ""),
    "no year": _baseline_text().replace("2025-06-01T12:00:00+00:00", "0001-01-01T00:00:00+23:00"),
    "a base URL of its own": _baseline_text().replace('"base_url": null', '"base_url": "http://u:p@h/"'),
    "negative index": _baseline_text().replace('"index": 0', '"index": -1', 1),
    "too large": _baseline_text() + " " * (16 * 1024 * 1024),
}


def test_a_baseline_of_an_older_form_is_refused_with_the_command_that_makes_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(_baseline_text().replace("codegate.baseline/4", "codegate.baseline/3"))
    with pytest.raises(UsageError, match=r"is of an older form \(codegate.baseline/3\)") as caught:
        load_baseline(path)
    assert "`codegate baseline pin RUN`" in str(caught.value.remedy)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_baseline_is_one_clear_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(BROKEN[name])
    with pytest.raises(UsageError) as caught:
        load_baseline(path)
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
