"""The action as a runner uses it: its image built, run on a checked-out workspace, sandboxes beside it."""

import ipaddress
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import codegate
from tests.e2e.runner import Job, RunningStep
from tests.github.workspace import LENIENT, PROBLEMS, SLOW, write_suite, write_transcripts
from tests.kit.model_server import as_json, chat_answer, wire_server
from tests.kit.repository import commit_all

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

OWNER = 1001


@pytest.fixture(scope="module")
def job(image: str, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job whose checkout holds a suite, a configuration and a few traps."""
    job = Job(image, tmp_path_factory.mktemp("job"), {"PYTHONPATH": "/github/workspace"})
    write_suite(job.workspace / "suite")
    (job.workspace / "codegate.yml").write_text(f"suite: suite\ncandidates: [reference]\n{LENIENT}")
    write_transcripts(
        job.workspace / "answers.jsonl",
        {problem.name: problem.fixed if problem.name == "words" else problem.broken + "# \n" for problem in PROBLEMS},
    )
    # Neither the working folder nor PYTHONPATH may put modules in front of codegate's.
    for trap in ("codegate/__init__.py", "docker.py", "yaml.py", "sitecustomize.py"):
        (job.workspace / trap).parent.mkdir(exist_ok=True)
        (job.workspace / trap).write_text("raise SystemExit(99)\n")
    commit_all(job.workspace)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{OWNER}:{OWNER}", str(job.workspace)], check=True)
    return job


@contextmanager
def created_sandboxes() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Give a function that ends the watch and returns the sandboxes that the daemon made meanwhile."""
    watch = subprocess.Popen(
        ["docker", "events", "--filter", "event=create", "--filter", "label=codegate.run", "--format", "{{json .}}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(0.5)

    def end() -> list[dict[str, Any]]:
        time.sleep(0.5)
        watch.terminate()
        return [json.loads(line)["Actor"]["Attributes"] for line in watch.communicate()[0].splitlines()]

    try:
        yield end
    finally:
        if watch.poll() is None:
            watch.kill()
            watch.communicate()


def run_id(job: Job, report_path: str) -> str:
    return str(json.loads((job.workspace / report_path / "run" / "run.json").read_text())["id"])


def sandboxes_of(run: str) -> list[str]:
    listed = ["docker", "ps", "--all", "--quiet", "--filter", f"label=codegate.run={run}"]
    return subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()


def none_left(run: str) -> bool:
    """Whether the run's sandboxes are gone; the daemon may take a moment after it said so."""
    for _ in range(20):
        if not sandboxes_of(run):
            return True
        time.sleep(0.25)
    return False


@pytest.mark.full
@pytest.mark.requirement("M1", "M4", "M5")
def test_a_model_upgrade_from_baseline_to_verdict(job: Job) -> None:
    with created_sandboxes() as ended:
        first = job.step({"report-path": "first", "on-inconclusive": "neutral", "samples": "3"})
        made = ended()
    assert first.code == 0, first.log
    assert (first.outputs["verdict"], first.outputs["pass-rate"]) == ("ungated", "1.0000")
    assert first.outputs["run-path"] == "first/run"
    assert [command.name for command in first.commands] == ["notice"]
    run = run_id(job, "first")
    assert len([labels for labels in made if labels["codegate.run"] == run]) >= len(PROBLEMS)
    assert none_left(run)
    if os.geteuid() == 0:  # files of root's would break the next checkout
        owners = {path.lstat().st_uid for path in (job.workspace / "first", *(job.workspace / "first").rglob("*"))}
        assert owners == {OWNER}

    # The replayed answers and the tests they fail print commands at the runner; it must see only ours.
    spite = job.step({"candidates": "replay:answers.jsonl", "report-path": "spite", "on-inconclusive": "neutral"})
    assert (spite.code, spite.outputs["pass-rate"]) == (0, "0.3333"), spite.log
    assert [command.name for command in spite.commands] == ["notice"]
    assert "set-output" in (job.workspace / "spite" / "report.json").read_text()  # it was there to be read

    pinned = codegate("baseline", "pin", first.outputs["run-path"], "--min-samples", "1", cwd=job.workspace)
    assert pinned.returncode == 0, pinned.stderr

    same = job.step({"report-path": "same"})
    assert (same.code, same.outputs["verdict"]) == (0, "pass"), same.log
    assert (same.outputs["baseline-pass-rate"], same.outputs["difference"]) == ("1.0000", "0.0000")
    assert same.commands == []
    assert "codegate: pass" in same.summary

    worse = job.step({
        "candidates": "reference\nempty\nreplay:answers.jsonl", "baseline": "codegate.lock", "report-path": "worse",
    })  # fmt: skip
    assert worse.code == 1, worse.log
    assert {name: value for name, value in worse.outputs.items() if value} == {
        "verdict": "regressed",
        "pass-rate": "0.0000",
        "baseline-pass-rate": "1.0000",
        "difference": "-1.0000",
        "problems": "3",
        "report-path": "worse",
        "run-path": "worse/run",
        "exit-code": "1",
    }
    titles = [(command.name, command.properties["title"]) for command in worse.commands]
    assert titles == [("error", "codegate: regressed")] * 2
    assert "also changed: max_iterations" not in worse.log, "neither of them has turns"
    assert "also changed: prompt none → single_shot/" in worse.log, "reference is asked nothing, replay is"
    assert "codegate: regressed" in worse.summary
    report = json.loads((job.workspace / "worse" / "report.json").read_text())
    assert [entry["pass_rate"]["value"] for entry in report["candidates"]] == [1.0, 0.0, pytest.approx(1 / 3)]
    assert none_left(run_id(job, "worse"))


def test_a_script_has_the_command_line_of_the_image(job: Job) -> None:
    script = 'codegate affected HEAD HEAD --also src >>"$GITHUB_OUTPUT"; false | cat; echo "not so"'
    done = job.step({"run": script})
    assert (done.code, done.outputs) == (1, {"gate": "false"}), done.log
    assert "codegate.yml, src" in done.log
    assert "not so" not in done.log


@pytest.mark.full
def test_a_model_server_on_the_runner_is_reached_by_the_bridges_address(image: str, tmp_path: Path) -> None:
    show = ["docker", "network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}"]
    subnet = subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip()
    gateway = str(next(ipaddress.ip_network(subnet).hosts()))
    job = Job(image, tmp_path)
    write_suite(job.workspace / "suite", PROBLEMS[:1])
    with wire_server(as_json(chat_answer(model="mine-2025-01-01")), host=gateway) as server:
        candidate = {"provider": "openai", "model": "mine-2025-01-01", "base_url": f"{server.url}/v1"}
        config = {"suite": "suite", "candidates": [candidate | {"allow_http": True}]}
        (job.workspace / "codegate.yml").write_text(json.dumps(config))
        commit_all(job.workspace)
        step = job.step({"on-inconclusive": "neutral"})
    assert (step.code, step.outputs["verdict"], step.outputs["pass-rate"]) == (0, "ungated", "0.0000"), step.log
    assert [request.path for request in server.received] == ["/v1/chat/completions"]
    assert len(server.greeted) == 1, "it is asked first whether it answers"


def start_slow_step(job: Job) -> RunningStep:
    """Start a step whose problem takes a minute, and return it when its sandbox is there."""
    write_suite(job.workspace / "suite", (SLOW,))
    step = job.start({"suite": "suite", "candidates": "reference"})
    deadline = time.monotonic() + 120
    manifest = job.workspace / "codegate-report" / "run" / "run.json"
    while not (manifest.exists() and sandboxes_of(run_id(job, "codegate-report"))):
        assert step.process.poll() is None, step.finish().log
        assert time.monotonic() < deadline
        time.sleep(0.2)
    time.sleep(1)
    return step


@pytest.mark.full
def test_a_cancelled_step_says_so_and_leaves_no_sandbox(image: str, tmp_path: Path) -> None:
    slow = Job(image, tmp_path)
    step = start_slow_step(slow)
    run = run_id(slow, "codegate-report")  # of a run that has recorded nothing, the step removes the folder
    step.cancel()
    started = time.monotonic()
    done = step.finish(30)
    assert time.monotonic() - started < 7.5  # then the runner would send SIGTERM
    assert (done.code, done.outputs["verdict"]) == (130, "interrupted"), done.log
    assert "interrupted" in done.summary
    assert none_left(run)


@pytest.mark.full
def test_a_killed_step_leaves_its_run_to_later_steps_and_its_files_to_the_owner(image: str, tmp_path: Path) -> None:
    slow = Job(image, tmp_path)
    if os.geteuid() == 0:
        os.chown(slow.workspace, OWNER, OWNER)
    step = start_slow_step(slow)
    step.cancel("KILL")
    assert step.finish(30).outputs == {"run-path": "codegate-report/run", "resumable": "true"}
    slow.start({"suite": "suite"}, "/opt/codegate/reap").finish()
    kept = slow.workspace / "codegate-report"
    assert {path.lstat().st_uid for path in (kept, *kept.rglob("*"))} == {slow.workspace.stat().st_uid}
    assert none_left(run_id(slow, "codegate-report"))


def test_without_the_daemons_socket_it_is_infrastructure(image: str, tmp_path: Path) -> None:
    job = Job(image, tmp_path, socket=False)
    write_suite(job.workspace / "suite")
    step = job.step({"suite": "suite", "candidates": "reference"})
    assert (step.code, step.outputs["verdict"], step.outputs["exit-code"]) == (4, "infrastructure", "4")
    assert [command.name for command in step.commands] == ["error"]
    assert "no Docker daemon answers" in step.log
    assert "no Docker daemon answers" in step.summary
