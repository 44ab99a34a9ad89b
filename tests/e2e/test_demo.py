"""``codegate demo``: the first thing that anybody runs."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from codegate.candidates import CandidateSpec
from codegate.gating import GatePolicy
from codegate.operations.baselines import pin, samples_of
from codegate.operations.runs import gate
from codegate.running import Gate, Journal
from codegate.sandbox.docker import DockerBackend
from tests.e2e.conftest import Demo, codegate
from tests.kit.runs import manifest, outcome

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1800)]

SUBSET = 6
PROBLEMS = 1  # of the shorter demo
# What the answers written by hand solve of the demo's problems, in the order of their ids.
SOLVED = {
    "pinned": "111111111110110111011100111111",
    "good": "111111111111111111111101111111",
    "worse": "110100001010001000101000111100",
}


@pytest.mark.full
def test_the_demo_does_what_it_says(whole_demo: Demo) -> None:
    assert whole_demo.code == 0, whole_demo.errors + whole_demo.out
    assert len(re.findall(r"^good .*: PASS\.", whole_demo.out, re.MULTILINE)) == 1
    assert len(re.findall(r"^worse .*: REGRESSED\.", whole_demo.out, re.MULTILINE)) == 1
    assert "Traceback" not in whole_demo.errors
    problems = json.loads((whole_demo.folder / "reports" / "report.json").read_text())["problems"]
    cells = [problem["cells"] for problem in sorted(problems, key=lambda problem: str(problem["id"]))]
    for number, name in enumerate(("good", "worse")):
        assert "".join("01"[each[number]["status"] == "passed"] for each in cells) == SOLVED[name], name


def run_of(folder: Path, *names: str) -> Journal:
    """Return the finished run of these answers."""
    specs = tuple(CandidateSpec(provider="replay", model=f"{name}.jsonl", name=name) for name in names)
    digests = {f"p-{number}": f"digest-{number}" for number in range(len(SOLVED["pinned"]))}
    now, prompts = datetime.now(UTC).isoformat(), {spec.key(): "replay" for spec in specs}
    journal = Journal.create(folder, manifest(1, specs, problems=digests, prompts=prompts, created=now))
    with journal.writing():
        for name, spec in zip(names, specs, strict=True):
            for mark, (problem, digest) in zip(SOLVED[name], digests.items(), strict=True):
                journal.append(outcome(mark == "1", problem, spec=spec, problem_digest=digest))
    return journal


def test_what_its_answers_solve_is_a_pass_and_a_regression(tmp_path: Path) -> None:
    pinned = samples_of(run_of(tmp_path / "pinned", "pinned").load())
    baseline, _ = pin([pinned], tmp_path / "baseline.json", tmp_path / "codegate.lock", min_samples=1)
    report = gate(run_of(tmp_path / "upgrade", "good", "worse"), Gate(baseline, GatePolicy()))
    assert [verdict.kind for verdict in report.verdicts] == ["pass", "regressed"]


def test_a_shorter_demo_runs_to_its_end_and_decides_nothing(demo: Demo) -> None:
    assert demo.code == 3, demo.errors + demo.out
    assert len(re.findall(r"^(?:good|worse) .*: INCONCLUSIVE", demo.out, re.MULTILINE)) == 2, demo.out
    assert "handwritten" in demo.out
    assert demo.out.rstrip().endswith("codegate init"), "it ends with what to do next"
    assert len(demo.out.splitlines()) <= 40, "a first minute is no page of tables; the reports have them"
    assert "Traceback" not in demo.errors


@pytest.mark.full
def test_a_demo_of_an_agent_gates_its_instructions(tmp_path: Path) -> None:
    done = codegate("demo", "--agent", "--out", "demo", "--sandbox", "bwrap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert re.findall(r"^(worse|good) AGENTS.md .*: (REGRESSED|PASS)\.", done.stdout, re.MULTILINE) == [
        ("worse", "REGRESSED"), ("good", "PASS"),
    ]  # fmt: skip
    worse, good = ((tmp_path / "demo" / "reports" / name / "report.md").read_text() for name in ("worse", "good"))
    assert worse.count("also changed: harness: AGENTS.md") == good.count("also changed: harness: AGENTS.md") == 1
    assert worse.count("Harness: 1 of 1 part used") == good.count("Harness: 1 of 1 part used") == 1
    assert "+Keep every change to a single line." in worse


def test_it_says_how_far_it_is(demo: Demo) -> None:
    steps = re.findall(r"^\[(\d+)/(\d+)\]", demo.errors, re.MULTILINE)
    assert len(steps) >= 4
    assert all(int(done) <= int(total) for done, total in steps)


@pytest.mark.full
def test_a_second_demo_remembers_what_the_first_one_proved(whole_demo: Demo) -> None:
    again = codegate("demo", "--out", "demo", "--sandbox", "bwrap", cwd=whole_demo.folder.parent)
    assert again.returncode == 0, again.stderr + again.stdout
    assert re.search(r"remembered from earlier: \d\d \(--fresh looks again\)", again.stdout)
    assert (whole_demo.folder / "suite" / "suite.yml").exists()


def test_it_leaves_the_reports_that_it_names(demo: Demo) -> None:
    named = dict(re.findall(r"^(html|junit|json) +(\S+)$", demo.out, re.MULTILINE))
    reports = demo.folder / "reports"
    assert {name: path.rpartition("/")[2] for name, path in named.items()} == {
        "html": "report.html",
        "junit": "junit.xml",
        "json": "report.json",
    }
    report = json.loads((reports / "report.json").read_text())
    assert [verdict["kind"] for verdict in report["verdicts"]] == ["inconclusive", "inconclusive"]
    assert len(report["problems"]) == PROBLEMS
    counts = [one["measures"][f"{side}_tokens"]["n"] for one in report["candidates"] for side in ("input", "output")]
    assert counts == [0] * 4, "no model wrote these answers, so no token was counted"
    classes = (reports / "report.md").read_text().partition("### Failure classes")[2].partition("###")[0]
    assert "logic error" in classes
    assert "| — | — | — |" not in classes, "beside the baseline's"
    suites = ET.parse(reports / "junit.xml").getroot()
    assert sum(1 for _ in suites.iter("testcase")) >= len(report["problems"])


@pytest.fixture(scope="module")
def subset(whole_demo: Demo) -> Path:
    """Some of the demo's problems; that all of them hold on its own sandbox is what mining has shown."""
    folder = whole_demo.folder / "subset"  # beside the suite, since the repository is named from there
    shutil.copytree(whole_demo.folder / "suite", folder)
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
