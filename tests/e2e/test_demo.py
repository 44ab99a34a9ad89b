"""``codegate demo``: the first thing that anybody runs."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from codegate.sandbox.docker import DockerBackend
from tests.e2e.conftest import Demo, codegate

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]

SUBSET = 6


def test_the_demo_does_what_it_says(demo: Demo) -> None:
    assert demo.code == 0, demo.errors + demo.out
    assert len(re.findall(r"^good .*: PASS\.", demo.out, re.MULTILINE)) == 1
    assert len(re.findall(r"^worse .*: REGRESSED\.", demo.out, re.MULTILINE)) == 1
    assert "handwritten" in demo.out
    assert "Traceback" not in demo.errors


def test_it_says_how_far_it_is(demo: Demo) -> None:
    steps = re.findall(r"^\[(\d+)/(\d+)\]", demo.errors, re.MULTILINE)
    assert len(steps) >= 4
    assert all(int(done) <= int(total) for done, total in steps)


@pytest.mark.full
def test_a_second_demo_remembers_what_the_first_one_proved(demo: Demo) -> None:
    again = codegate("demo", "--out", "demo", "--sandbox", "bwrap", cwd=demo.folder.parent)
    assert again.returncode == 0, again.stderr + again.stdout
    assert re.search(r"remembered from earlier: \d\d \(--fresh looks again\)", again.stdout)
    assert (demo.folder / "suite" / "suite.yml").exists()


def test_it_leaves_the_reports_that_it_names(demo: Demo) -> None:
    named = dict(re.findall(r"^(html|junit|json) +(\S+)$", demo.out, re.MULTILINE))
    reports = demo.folder / "reports"
    assert {name: path.rpartition("/")[2] for name, path in named.items()} == {
        "html": "report.html",
        "junit": "junit.xml",
        "json": "report.json",
    }
    report = json.loads((reports / "report.json").read_text())
    assert [verdict["kind"] for verdict in report["verdicts"]] == ["pass", "regressed"]
    assert 24 <= len(report["problems"]) <= 30
    counts = [one["measures"][f"{side}_tokens"]["n"] for one in report["candidates"] for side in ("input", "output")]
    assert counts == [0] * 4, "no model wrote these answers, so no token was counted"
    classes = (reports / "report.md").read_text().partition("### Failure classes")[2].partition("###")[0]
    assert "logic error" in classes
    assert "| — | — | — |" not in classes, "beside the baseline's"
    suites = ET.parse(reports / "junit.xml").getroot()
    assert sum(1 for _ in suites.iter("testcase")) >= len(report["problems"])


@pytest.fixture(scope="module")
def subset(demo: Demo) -> Path:
    """Some of the demo's problems; that all of them hold on its own sandbox is what mining has shown."""
    folder = demo.folder / "subset"  # beside the suite, since the repository is named from there
    shutil.copytree(demo.folder / "suite", folder)
    manifest = yaml.safe_load((folder / "suite.yml").read_text())
    step = len(manifest["problems"]) // SUBSET
    manifest["problems"] = manifest["problems"][::step][:SUBSET]
    (folder / "suite.yml").write_text(yaml.safe_dump(manifest))
    return folder


@pytest.mark.full
@pytest.mark.docker
def test_its_suite_on_docker(subset: Path, docker_backend: DockerBackend, tmp_path: Path) -> None:
    candidates = ("--candidate", "reference", "--candidate", "empty")
    done = codegate("run", str(subset), *candidates, "--sandbox", "docker", "--json", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rates = {entry["label"]: entry["pass_rate"] for entry in json.loads(done.stdout)["candidates"]}
    found = [(rates[name]["value"], rates[name]["n"]) for name in ("reference", "empty")]
    assert found == [(1.0, SUBSET), (0.0, SUBSET)]
