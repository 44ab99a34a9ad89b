"""A baseline of one kind of sandbox and a run in another can be compared once the suite is proved in both."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.images import BASE_IMAGE
from codegate.suite import Suite
from tests.conftest import PYTHON
from tests.running.world import codegate

pytestmark = [pytest.mark.bwrap, pytest.mark.docker, pytest.mark.full]
BASE = f"environment base image (Python {PYTHON})"
TAG = "codegate-tests/base:moving"


def docker(*words: str, stdin: str = "") -> str:
    done = subprocess.run(["docker", *words], input=stdin, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def moved(docker_backend: DockerBackend) -> Iterator[str]:
    """A tag for a base image that is not the usual one, though the same is in it."""
    usual = docker_backend.base_image(PYTHON)
    docker("build", "--tag", TAG, "-", stdin=f"FROM {BASE_IMAGE.format(python=PYTHON)}\nLABEL moved=yes\n")
    identity = docker("image", "inspect", "--format", "{{.Id}}", TAG)
    assert identity != usual
    yield identity
    docker("image", "rm", TAG)


def pinned(suite: Suite, home: Path, sandbox: str) -> None:
    command = ("run", suite.folder, "--candidate", "reference", "--samples", "5", "--no-gate", "--sandbox", sandbox)
    assert codegate(*command, "--out", home / "pinned", cwd=home).code == 0
    assert codegate("baseline", "pin", "pinned", cwd=home).code == 0


def verdict(suite: Suite, home: Path, name: str, sandbox: str, **environment: str) -> dict[str, Any]:
    command = ("run", suite.folder, "--candidate", "reference", "--sandbox", sandbox, "--out", home / name, "--json")
    document = codegate(*command, cwd=home, environment=environment).document
    [found] = document["verdicts"]
    assert isinstance(found, dict)
    return found


def changed(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["field"]: (one["baseline"], one["candidate"]) for one in found["changes"]}


def test_a_baseline_of_bubblewrap_and_a_run_in_docker_compare_once_the_suite_is_proved_in_both(
    own_suite: Suite, tmp_path: Path
) -> None:
    # The first validation adds the controls, which are part of the suite; its proof is forgotten again.
    assert codegate("validate", own_suite.folder, "--rounds", "1", "--sandbox", "bwrap", cwd=tmp_path).code == 0
    (own_suite.folder / "proved.json").unlink()
    pinned(own_suite, tmp_path, "bwrap")
    validations = [f"codegate validate SUITE --sandbox {name}" for name in ("bwrap", "docker")]

    before = verdict(own_suite, tmp_path, "before", "docker")
    assert before["kind"] == "incomparable"
    assert [one["field"] for one in before["mismatches"]] == ["sandbox"]
    assert all(command in before["reason"] for command in validations)
    assert len((tmp_path / "before" / "run.json").read_text()) > 0
    assert not (tmp_path / "before" / "outcomes.jsonl").exists(), "nothing is spent on what cannot be compared"

    assert codegate("validate", own_suite.folder, "--rounds", "1", "--sandbox", "bwrap", cwd=tmp_path).code == 0
    half = verdict(own_suite, tmp_path, "half", "docker")
    assert half["kind"] == "incomparable"
    assert [command in half["reason"] for command in validations] == [False, True]

    done = codegate("validate", own_suite.folder, "--rounds", "1", "--sandbox", "docker", "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.document["comparable"] == [{"sandbox": "bwrap"}]
    assert "runs there and in bwrap can be compared" in done.stderr
    proved = verdict(own_suite, tmp_path, "proved", "docker")
    assert (proved["kind"] != "incomparable", proved["mismatches"]) == (True, [])
    assert changed(proved)["sandbox"] == ("bwrap", "docker")

    # The proof is of these packages: with others the two are not alike any more.
    path = own_suite.folder / "proved.json"
    data = json.loads(path.read_text())
    data["places"][0]["environments"]["tests"]["packages"] = "0" * 64
    path.write_text(json.dumps(data))
    assert verdict(own_suite, tmp_path, "unlike", "docker")["kind"] == "incomparable"


def test_a_baseline_from_before_the_first_validation_names_the_controls_and_the_way_on(
    own_suite: Suite, tmp_path: Path
) -> None:
    pinned(own_suite, tmp_path, "bwrap")
    assert codegate("validate", own_suite.folder, "--rounds", "1", "--sandbox", "bwrap", cwd=tmp_path).code == 0
    found = verdict(own_suite, tmp_path, "controlled", "bwrap")
    assert found["kind"] == "incomparable"
    assert not (tmp_path / "controlled" / "outcomes.jsonl").exists(), "nothing is spent on what cannot be compared"
    cause, remedy = "`codegate validate` has added controls to ", "`codegate baseline pin runs/controlled --replace`"
    assert cause in found["reason"]
    assert remedy in found["reason"]
    assert found["reason"].startswith("The pinned baseline is of the suite without its controls. ")


def test_a_base_image_whose_tag_has_moved_is_named(own_suite: Suite, tmp_path: Path, moved: str) -> None:
    pinned(own_suite, tmp_path, "docker")
    baseline = json.loads((tmp_path / "baseline.json").read_text())["samples"]["conditions"][BASE]
    found = verdict(own_suite, tmp_path, "moved", "docker", CODEGATE_BASE_IMAGE=TAG)
    assert found["kind"] == "incomparable"
    [one] = found["mismatches"]
    assert (one["field"], one["baseline"], one["candidate"]) == (BASE, baseline, moved)
    assert f"{BASE} differs" in found["reason"]
    assert f"`CODEGATE_BASE_IMAGE={baseline} codegate validate SUITE --sandbox docker`" in found["reason"]

    (tmp_path / "other").mkdir()
    moved_tag = {"CODEGATE_BASE_IMAGE": TAG}
    older = ("run", own_suite.folder, "--candidate", "reference", "--samples", "5", "--no-gate", "--sandbox", "docker")
    assert codegate(*older, "--out", "older", cwd=tmp_path / "other", environment=moved_tag).code == 0
    assert codegate("baseline", "pin", "older", cwd=tmp_path / "other").code == 0
    same = verdict(own_suite, tmp_path / "other", "same", "docker")
    assert (same["mismatches"], same["changes"]) == ([], []), "the image of the baseline is still here, and is used"

    started = ("run", own_suite.folder, "--candidate", "empty", "--samples", "1", "--no-gate", "--sandbox", "docker")
    assert codegate(*started, "--out", "run", cwd=tmp_path).code == 0
    resumed = codegate(
        "run", own_suite.folder, "--resume", "run", cwd=tmp_path, environment={"CODEGATE_BASE_IMAGE": TAG}
    )
    assert resumed.code == 2
    assert f"Set CODEGATE_BASE_IMAGE={baseline}" in resumed.stderr
