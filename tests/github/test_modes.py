"""What the action's modes do on a GitHub: a pull request, a night, a baseline, a run that a matrix shares."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.durable import sha256
from codegate.environments import export_built
from codegate.errors import ExitCode, Interrupted
from codegate.gating import load_lock
from codegate.github.posts import BOT, marker
from codegate.mining import MineRequest
from codegate.operations import baselines, suites
from codegate.sandbox.docker import DockerBackend
from tests.cli.run_folders import write_run
from tests.environments.test_travel import built
from tests.gating.sampling import load_baseline
from tests.github.runner import Step, event_variables, outputs, run_step, variables
from tests.github.test_event import FORK, HEAD, pull_payload, run_payload
from tests.github.workspace import FLOORS, LENIENT, PROBLEMS, write_suite, write_transcripts
from tests.kit import http
from tests.kit.command import ROOT
from tests.kit.github import FakeGitHub, Fault, Reply, Token, fake_github
from tests.kit.github.artifacts import Artifacts, Run, zipped
from tests.kit.github.content import Content
from tests.kit.github.rest import HOME, Rest
from tests.kit.http import Request
from tests.kit.model_server import GREETING, as_json, chat_answer, wire_server
from tests.kit.repository import commit_all, run_git
from tests.kit.scripted_model import Say
from tests.kit.stand_in import StandIn
from tests.running.world import wait_until

TOKEN = "ghs_workflow"
NIGHTLY = ".github/workflows/codegate-nightly.yml"
BEDROCK = "{provider: bedrock, model: global.anthropic.claude-sonnet-4-5-20250929-v1:0}"
STEP = """
from codegate.cli.main import run
from tests.github.conftest import use_quick_sandboxes
from tests.kit.remembered import remember
remember()
use_quick_sandboxes()
run(["action"])
"""


@dataclass
class World:
    """A workspace on a runner, and the GitHub that it belongs to."""

    github: FakeGitHub
    folder: Path
    capsys: pytest.CaptureFixture[str]
    runtime: dict[str, str] = field(default_factory=dict)
    steps: int = 0

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def configure(self, candidates: str, more: str = "") -> Path:
        """Write the suite and a configuration with these candidates; return the configuration."""
        write_suite(self.workspace / "suite")
        path = self.workspace / "codegate.yml"
        path.write_text(f"suite: suite\ncandidates: [{candidates}]\n{more}")
        return path

    def commit(self) -> str:
        """Commit what is there, tell the GitHub, and return the commit."""
        commit = commit_all(self.workspace)
        files = {name: (self.workspace / name).read_bytes() for name in run_git(self.workspace, "ls-files").split()}
        self.github.store(Content).commits[commit] = files
        return commit

    def given(self, event: str, payload: dict[str, Any], token: str = TOKEN, **inputs: str) -> dict[str, str]:
        """Return the variables that the runner sets for one more step; its reports have a folder of their own."""
        self.steps += 1
        given = {
            "CI": "true", "GITHUB_API_URL": self.github.api_url, "GITHUB_WORKFLOW": "codegate", "GITHUB_JOB": "gate",
            "GITHUB_WORKFLOW_REF": f"acme/demo/{NIGHTLY}@refs/heads/main", **self.runtime,
            **variables({"github_token": token, "report_path": f"report-{self.steps}", **inputs}),
        }  # fmt: skip
        return event_variables(self.folder, event, payload, **given)

    def step(self, event: str, payload: dict[str, Any], token: str = TOKEN, **inputs: str) -> Step:
        """Run one step."""
        step = run_step(self.folder, self.capsys, self.given(event, payload, token, **inputs), {})
        assert TOKEN not in step.log
        return step

    def start(self, event: str, payload: dict[str, Any], **inputs: str) -> "subprocess.Popen[str]":
        """Start one step as a process; ``files`` are those that the runner reads."""
        given = self.given(event, payload, **inputs) | {"GITHUB_WORKSPACE": str(self.workspace)}
        for name, path in self.files.items():
            path.write_bytes(b"")
            given[name] = str(path)
        return subprocess.Popen(
            [sys.executable, "-c", STEP],
            env={**os.environ, "PYTHONPATH": str(ROOT), **given},
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def files(self) -> dict[str, Path]:
        return {name: self.folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}

    def keep(self, path: str, run: Run, **more: bytes) -> None:
        """Upload a folder of the workspace as the artifact of a run, as the shipped workflows do."""
        top = self.workspace / path
        files = {str(file.relative_to(top)): file.read_bytes() for file in top.rglob("*") if file.is_file()}
        self.github.store(Artifacts).put("codegate-run", zipped(files | more), run)

    def comments(self) -> list[str]:
        return [entry["body"] for entry in self.github.store(Rest).comments.get(7, [])]


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[World]:
    may = frozenset({"contents: read", "actions: read", "pull-requests: write", "issues: write", "checks: write"})
    tokens = {TOKEN: Token(may), "ghs_reader": Token(frozenset({"contents: read"}))}
    (tmp_path / "workspace").mkdir()
    with fake_github("", tokens) as github:
        yield World(github, tmp_path, capsys)


def pull(base: str, head: object = None) -> dict[str, Any]:
    payload = pull_payload(head) if head is not None else pull_payload()
    payload["pull_request"]["base"]["sha"] = base
    return payload


def pushed() -> dict[str, Any]:
    return {"repository": {"id": 1000, "full_name": "acme/demo", "default_branch": "main"}}


def test_a_fork_whose_model_needs_a_key_is_skipped(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    world.configure("'openai:m-2025-01-01'", FLOORS)
    base = world.commit()
    step = world.step("pull_request", pull(base, FORK), token="ghs_reader")
    assert (step.code, step.outputs["verdict"]) == (ExitCode.PASS, "skipped"), step.log
    assert "not gated: openai:m-2025-01-01 needs a key, and pull requests from forks" in step.summary
    assert step.annotations == [("warning", "codegate: skipped")]
    assert not world.github.asked("GET", ".*comments")
    merged = world.step("pull_request", pull(base, FORK), token="ghs_reader", mode="merge", run_id="r")
    assert merged.outputs["verdict"] == "skipped", "in the matrix too, where nothing was planned"

    files = {path.name: path.read_bytes() for path in (world.workspace / step.outputs["report-path"]).iterdir()}
    files["not-gated.txt"] += b"Visit evil.example"
    files["report.json"] = b"of the stranger's checkout"
    world.github.store(Artifacts).put("codegate-report", zipped(files), Run(55, event="pull_request"))
    world.github.store(Rest).add_pull(7, HEAD)
    told = world.step("workflow_run", run_payload(FORK, head_branch="patch"), mode="report")
    assert (told.code, told.outputs["verdict"]) == (ExitCode.PASS, "ungated"), told.log
    (said,) = world.comments()
    assert "codegate: skipped" in said
    assert "not gated: pull requests from forks" in said
    assert "evil" not in said
    world.github.store(Rest).comments.clear()

    world.runtime["GITHUB_ACTOR"] = "dependabot[bot]"
    world.step("pull_request", pull(base))
    (said,) = world.comments()
    assert "not gated: openai:m-2025-01-01 needs a key" in said, "its own run may comment where the token may"
    del world.runtime["GITHUB_ACTOR"]
    ours = world.step("pull_request", pull(base))
    assert (ours.code, ours.outputs["verdict"]) == (ExitCode.USAGE, "error"), "here a missing key is a mistake"
    for event, payload in (("pull_request_target", pull(base, FORK)), ("issue_comment", pushed())):
        refused = world.step(event, payload)
        assert (refused.code, refused.outputs["verdict"]) == (ExitCode.USAGE, "error")
        assert "holds this repository's secrets" in refused.log


def test_only_a_pull_request_whose_key_is_not_there_is_skipped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    world.configure("'openai:m-2025-01-01'")
    base = world.commit()
    queue = {"repository": pushed()["repository"], "merge_group": {"base_sha": base, "head_sha": HEAD}}
    for actor, proposal in (("dependabot[bot]", pull(base)), ("mallory", pull(base, FORK))):
        world.runtime = {"GITHUB_ACTOR": actor}
        skipped = world.step("pull_request", proposal, baseline="no.lock")
        assert skipped.outputs["verdict"] == "skipped", skipped.log
        for event, payload in (("merge_group", queue), ("push", pushed())):
            last = world.step(event, payload, baseline="no.lock")
            assert last.outputs["verdict"] == "no baseline", "nothing has gated this commit before"
        with monkeypatch.context() as there:
            there.setenv("OPENAI_API_KEY", "sk-of-dependabots-secrets")
            gated = world.step("pull_request", proposal, baseline="no.lock")
            assert gated.outputs["verdict"] == "no baseline", "past the look for a key"


@pytest.mark.parametrize(
    ("candidate", "variables", "verdict"),
    [
        ("{provider: openai, model: m-2025-01-01, api_key_command: [echo, sk-of-a-vault]}", {}, "no baseline"),
        ("{provider: openai, model: m-2025-01-01, api_key_command: ['false']}", {}, "skipped"),
        (BEDROCK, {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "of-a-role"}, "no baseline"),
        (BEDROCK, {"AWS_ACCESS_KEY_ID": "AKIA1"}, "skipped"),
        (BEDROCK, {"AWS_REGION": ""}, "skipped"),
        ("{provider: vertex, model: m@20250101}", {"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere"}, "skipped"),
    ],
)
def test_a_key_may_come_from_all_that_a_provider_takes(
    world: World, monkeypatch: pytest.MonkeyPatch, candidate: str, variables: dict[str, str], verdict: str
) -> None:
    for name in ("OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    world.configure(candidate)
    base = world.commit()
    world.runtime = {"GITHUB_ACTOR": "dependabot[bot]"}
    step = world.step("pull_request", pull(base), baseline="no.lock")
    assert step.outputs["verdict"] == verdict, step.log


def test_a_fork_does_not_choose_which_server_of_a_private_network_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_suite(world.workspace / "suite")
    config = world.workspace / "codegate.yml"

    def candidate(url: str, **more: object) -> str:
        spec = {"provider": "openai", "model": "m-2025-01-01", "base_url": url, "allow_http": True, **more}
        return json.dumps({"suite": "suite", "candidates": [spec]})

    config.write_text(candidate("http://10.255.255.1:9/v1"))
    base = world.commit()
    for text in (
        candidate("http://10.255.255.2:9/v1"),
        candidate("http://10.255.255.1:9/admin"),
        candidate("http://10.255.255.1:9/v1", api_key_env="HOME"),
    ):
        config.write_text(text)
        theirs = world.step("pull_request", pull(base, FORK), token="ghs_reader")
        assert "has the same `base_url`" in theirs.log
    config.write_text(candidate("http://10.255.255.1:9/v1", name="theirs"))
    named = world.step("pull_request", pull(base, FORK), token="ghs_reader", baseline="no.lock")
    assert named.outputs["verdict"] == "no baseline", "the base commit names this server"


def test_a_pinned_baseline_that_is_gone_passes_nothing(world: World) -> None:
    world.configure("reference")
    lock = {
        "schema": "codegate.lock/1", "baseline": "baseline.json", "sha256": "1" * 64, "digest": "2" * 64,
        "suite_digest": "3" * 64, "model": "m",
    }  # fmt: skip
    (world.workspace / "codegate.lock").write_text(json.dumps(lock))
    base = world.commit()
    (world.workspace / "codegate.lock").unlink()
    world.github.store(Rest).add_pull(7, HEAD, head=HOME)
    step = world.step("pull_request", pull(base), on_inconclusive="pass")
    assert (step.code, step.outputs["verdict"]) == (ExitCode.USAGE, "no baseline"), step.log
    (said,) = world.comments()
    assert "no baseline" in said


def test_the_rules_are_those_of_the_commit_that_github_merged_into(world: World) -> None:
    """The event's base has no suite yet, which would be green."""
    (world.workspace / "README.md").write_text("x")
    old = world.commit()
    world.configure("reference", "baseline: codegate.lock\n")
    tip = world.commit()
    run_git(world.workspace, "update-ref", "refs/remotes/origin/main", tip)
    run_git(world.workspace, "checkout", "--quiet", "-b", "change", old)
    (world.workspace / "README.md").write_text("y")
    head = world.commit()
    run_git(world.workspace, "checkout", "--quiet", "--detach", tip)
    run_git(world.workspace, "merge", "--quiet", "--no-ff", "-m", "merge", head)
    payload = pull(old)
    payload["pull_request"]["head"]["sha"] = head
    world.runtime = {"GITHUB_SHA": run_git(world.workspace, "rev-parse", "HEAD"), "GITHUB_REF": "refs/pull/7/merge"}
    step = world.step("pull_request", payload)
    assert (step.code, step.outputs["verdict"]) == (ExitCode.USAGE, "error"), step.log
    assert "codegate.lock, which `baseline` in the configuration names" in step.log
    assert f"the base commit is {tip}, which GitHub merged into" in step.log


def test_a_pull_request_whose_base_pins_nothing_calls_no_model(world: World) -> None:
    """It may be the one that pins the first baseline; nothing could be compared."""
    world.configure("reference")
    base = world.commit()
    world.github.store(Rest).add_pull(7, HEAD, head=HOME)
    (world.workspace / "codegate.lock").write_text("{}")
    world.commit()
    queue = {"repository": pushed()["repository"], "merge_group": {"base_sha": base, "head_sha": HEAD}}
    for more in ({}, {"mode": "plan", "shards": "2"}, {"mode": "merge", "run_id": "r"}):
        for event, payload in (("pull_request", pull(base)), ("merge_group", queue)):
            step = world.step(event, payload, **more)
            assert (step.code, step.outputs["verdict"]) == (ExitCode.PASS, "ungated"), step.log
            assert (step.outputs["run-path"], step.outputs["matrix"]) == ("", "")
            assert step.annotations == [("notice", "codegate: ungated")]
    (said,) = world.comments()
    assert f"**codegate: ungated at `{HEAD[:12]}`**" in said
    assert "no model was called" in said
    assert "from the merge of a codegate.lock on" in said
    after = world.step("push", pushed(), baseline="")
    assert after.outputs["verdict"] == "no baseline", "without a base commit what is checked out counts"


@pytest.mark.requirement("F3")
def test_answers_in_the_checkout_are_not_reused(world: World) -> None:
    world.configure("reference")
    (world.workspace / "kept" / "answers").mkdir(parents=True)
    (world.workspace / "kept" / "answers" / "x.json").write_text("{}")
    world.commit()
    for name in ("kept/answers", "kept", "kept/answers/x.json"):
        step = world.step("push", pushed(), cache=name)
        assert (step.code, "is part of the checkout" in step.log) == (ExitCode.USAGE, True), step.log


def test_the_action_runs_on_its_runner_whatever_engine_is_configured(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    world.configure("reference", "engine: ray\n")
    world.commit()
    step = world.step("push", pushed())
    assert "no Docker daemon answers" in step.log, "as far as a test without a sandbox gets"
    assert "Ray" not in step.log


def test_a_run_that_is_planned_again_has_the_id_of_its_earlier_shards(world: World) -> None:
    config = world.configure("empty")
    world.commit()

    def planned(number: str, attempt: str) -> str:
        world.runtime = {"GITHUB_RUN_ID": number, "GITHUB_RUN_ATTEMPT": attempt}
        step = world.step("push", pushed(), mode="plan", shards="2")
        assert step.code == ExitCode.PASS, step.log
        return step.outputs["run-id"]

    first = planned("123", "1")
    assert first.startswith("github-123-")
    assert planned("123", "2") == first
    assert planned("124", "1") not in {first, planned("", "1")}, "another workflow run is another run"
    config.write_text(config.read_text() + "samples: 2\n")
    assert planned("123", "3") != first


@pytest.mark.parametrize(
    ("event", "head", "words"),
    [
        ("push", None, "GitHub lists no artifact codegate-run of an earlier attempt: this is a new run"),
        ("pull_request", FORK, "a fork's run is not resumed: this is a new run, which pays for every answer"),
    ],
)
def test_an_attempt_without_a_kept_run_warns_before_it_pays(world: World, event: str, head: object, words: str) -> None:
    world.configure("reference", FLOORS)
    base = world.commit()
    payload = pull(base, head) if head else pushed()
    assert words not in world.step(event, payload, resume="auto").log
    world.runtime = {"GITHUB_RUN_ATTEMPT": "2"}
    again = world.step(event, payload, resume="auto")
    assert f"::warning title=codegate::{words}" in again.log
    assert head or 'choose "Re-run failed jobs".' in again.log


GONE = {"provider": "openai", "model": "m-2025-01-01", "base_url": "http://127.0.0.1:1/v1"}
"""A model that nothing serves."""


def pin_by_hand(world: World, spec: dict[str, Any] = GONE, candidate: str = json.dumps(GONE), more: str = "") -> None:
    """Configure a candidate, and pin a baseline of ``spec``."""
    world.configure(candidate, more)
    run = write_run(world.folder / "run", {"p-1": [True, False]}, spec=CandidateSpec.model_validate(spec))
    baseline, lock = world.workspace / "baseline.json", world.workspace / "codegate.lock"
    baselines.pin(baselines.read_runs([run], None), baseline, lock, min_samples=2)
    world.commit()


@pytest.mark.requirement("F3")
def test_an_environment_is_taken_only_as_the_base_commits_lock_names_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, name = world.github.store(Artifacts), "codegate-environments"
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / "of the baseline"))
    built()
    ((key, digest),) = export_built(tmp_path / "moved").items()
    kept = {path.name: path.read_bytes() for path in (tmp_path / "moved").iterdir()}
    pin_by_hand(world)
    lock = world.workspace / "codegate.lock"
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"environments": {key: digest}}))
    base = world.commit()

    def taken(number: int, files: dict[str, bytes], **run: object) -> str:
        monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / f"of victim {number}"))
        store.put(name, zipped(files), Run(number, path=NIGHTLY, **run))  # type: ignore[arg-type]
        return world.step("pull_request", pull(base), environments=name).log

    first = "1 environment taken from artifact 'codegate-environments'"
    assert first in taken(77, kept)
    assert first in taken(78, {}, head_repository_id=2000), "a fork's is not looked at"
    other = kept | {f"{key}.tar": b"poisoned"}
    lock.write_text(lock.read_text().replace(digest, sha256(b"poisoned")))
    assert "does not have the recorded SHA-256; the environment is built anew" in taken(79, other)


def test_a_night_and_a_baseline_say_that_their_workflow_is_not_known(world: World) -> None:
    pin_by_hand(world)
    world.runtime = {"GITHUB_WORKFLOW_REF": "acme/others/.github/workflows/codegate.yml@refs/heads/main"}
    for mode, words in (("nightly", "no earlier night is looked for"), ("baseline", "the lock will name no artifact")):
        step = world.step("schedule", pushed(), mode=mode, candidates="m-2025-01-01" if mode == "baseline" else "")
        assert f"::warning title=codegate::{words}: GITHUB_WORKFLOW_REF names no workflow file" in step.log, step.log


def test_a_history_is_found_behind_nights_that_have_none(world: World) -> None:
    pin_by_hand(world)
    nights = world.github.store(Artifacts)
    ended = Run(70, event="schedule", path=NIGHTLY)
    nights.put("codegate-nightly", zipped({"history.jsonl": b"of three nights"}), ended)
    for number in range(71, 79):
        nights.put(
            "codegate-nightly", zipped({"history.jsonl": b""}), replace(ended, id=number, conclusion="cancelled")
        )
    nights.put("codegate-nightly", zipped({"run/run.json": b""}), replace(ended, id=79, conclusion="failure"))
    nights.put("codegate-nightly", b"<html>", replace(ended, id=80))
    night = {"mode": "nightly", "artifact_name": "codegate-nightly"}
    step = world.step("schedule", pushed(), **night)
    assert "no Docker daemon answers" in step.log, "as far as a test without a sandbox gets"
    found = world.workspace / step.outputs["report-path"] / "history.jsonl"
    assert found.read_bytes() == b"of three nights", step.log
    assert "(9011) is no usable archive: it does not end as a zip does." in step.log
    assert "the watch begins" not in step.log
    del nights.stored[9001]
    lost = world.step("schedule", pushed(), **night)
    assert not (world.workspace / lost.outputs["report-path"] / "history.jsonl").exists()
    assert "::warning title=codegate::the watch begins with this night: of 10 earlier nights none has" in lost.log


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (b"<html>", "is no usable archive: it does not end as a zip does."),
        (zipped({"outcomes.jsonl": b""}), "holds no run: it has no run.json."),
        (zipped({"run.json": b"{}"}), "/run.json"),
        (None, "outcomes.jsonl"),
    ],
)
def test_an_attempt_begins_anew_where_the_kept_run_is_broken(world: World, kept: bytes | None, reason: str) -> None:
    world.configure("reference")
    world.commit()
    if kept is None:
        run = write_run(world.folder / "run", {"p-1": [True, False]})
        kept = zipped({"run.json": (run / "run.json").read_bytes(), "outcomes.jsonl": b"{}\n"})
    world.github.store(Artifacts).put("codegate-run", kept, Run(123, conclusion=None))
    world.runtime = {"GITHUB_RUN_ATTEMPT": "2"}
    step = world.step("push", pushed(), resume="auto")
    assert "::warning title=codegate::this is a new run, because the earlier attempt's cannot be" in step.log, step.log
    assert reason in step.log
    assert "no Docker daemon answers" in step.log, "as far as a test without a sandbox gets"
    world.github.store(Artifacts).put("codegate-run", kept, Run(77, path=NIGHTLY, conclusion="failure"))
    named = world.step("push", pushed(), resume="77")
    assert named.code == ExitCode.USAGE, "it was to be that run"
    assert "this is a new run" not in named.log


@pytest.mark.parametrize(
    ("theirs", "changes", "reason"),
    [
        (b"<html>", {}, "it does not end as a zip does."),
        (zipped({"report.json": b"{}"}), {}, "is no codegate.report/"),
        (zipped({"report.json": b"[" * 5000}), {}, "report.json"),
        (zipped({"report.json": b"{}"}), {"digest": "sha256:0"}, "its digest does not match."),
        (zipped({}), {"expires_at": datetime.now(UTC) - timedelta(days=1)}, "has expired."),
    ],
)
def test_the_junk_of_a_stranger_makes_no_step_red(
    world: World, theirs: bytes, changes: dict[str, Any], reason: str
) -> None:
    run = Run(55, event="pull_request", head_repository_id=2000)
    world.github.store(Artifacts).put("codegate-report", theirs, run, **changes)
    world.github.store(Rest).add_pull(7, HEAD)
    step = world.step("workflow_run", run_payload(FORK, head_branch="patch"), mode="report")
    assert (step.code, step.outputs["verdict"]) == (ExitCode.PASS, "skipped"), step.log
    assert "::warning title=codegate%3A skipped::run 55 reported nothing that can be shown: " in step.log
    assert reason in step.summary
    assert world.comments() == []


@pytest.mark.docker
class TestRuns:
    """With a suite of three problems, really run."""

    def pinned(self, world: World, candidates: str, **inputs: str) -> None:
        """Make a baseline in the action and commit its lock, with the baseline as an artifact."""
        world.configure(candidates, LENIENT)
        done = world.step(
            "workflow_dispatch", pushed(), mode="baseline", candidates=candidates, samples="5",
            artifact_name="codegate-baseline", **inputs,
        )  # fmt: skip
        assert (done.code, done.outputs["verdict"]) == (ExitCode.PASS, "pass"), done.log
        made = world.workspace / done.outputs["report-path"]
        assert "codegate.lock" in done.summary
        assert load_lock(made / "codegate.lock").sha256 in done.summary
        (world.workspace / "codegate.lock").write_bytes((made / "codegate.lock").read_bytes())
        run = Run(77, path=NIGHTLY)
        archive = zipped({"baseline.json": (made / "baseline.json").read_bytes()})
        world.github.store(Artifacts).put("codegate-baseline", archive, run)

    def test_a_pull_request_is_told_in_one_comment(self, world: World, quick_sandboxes: None) -> None:
        self.pinned(world, "reference")
        base = world.commit()
        world.github.store(Rest).add_pull(7, HEAD, head=HOME)
        config = world.workspace / "codegate.yml"
        config.write_text(config.read_text().replace("[reference]", "[empty]").replace("alpha: 0.2", "alpha: 0.001"))
        (world.workspace / "codegate.lock").unlink()
        (world.workspace / "suite/problems/words/statement.md").write_text("Easy.")
        commit_all(world.workspace)
        worse = world.step("pull_request", pull(base), check="true")
        assert (worse.code, worse.outputs["verdict"]) == (ExitCode.REGRESSED, "regressed"), worse.log
        assert "This change edits codegate.lock" in worse.summary
        (said,) = world.comments()
        assert said.startswith("<!-- codegate:v1:codegate-gate -->")
        assert "codegate: regressed" in said
        assert "- This change edits suite and codegate.yml (gate);" in said
        assert "- This change edits codegate.lock" in said
        assert worse.outputs["comment-url"].endswith("#issuecomment")
        (check,) = world.github.store(Rest).checks.values()
        assert (check["head_sha"], check["conclusion"]) == (HEAD, "failure")
        config.write_text(config.read_text().replace("[empty]", "[reference]"))
        better = world.step("pull_request", pull(base), comment="never")
        assert (better.code, better.outputs["verdict"]) == (ExitCode.PASS, "pass"), better.log
        (said,) = world.comments()
        assert "codegate: pass" in said, "what is there is kept up to date"
        denied = world.step("pull_request", pull(base), token="ghs_reader", candidates="empty")
        assert (denied.code, denied.outputs["verdict"]) == (ExitCode.USAGE, "no baseline"), denied.log
        assert "pull-requests: write" in denied.log, "and what the token lacks is named"

    def test_the_lock_of_a_part_belongs_beside_its_configuration(self, world: World, quick_sandboxes: None) -> None:
        (world.workspace / "api").mkdir()
        world.configure("reference", LENIENT).rename(world.workspace / "api" / "codegate.yml")
        given = {"candidates": "reference", "samples": "5", "config": "api/codegate.yml", "suite": "suite"}
        done = world.step("workflow_dispatch", pushed(), mode="baseline", **given)
        assert "Commit this as api/codegate.lock to pin it:" in done.summary, done.log

    def test_samples_of_the_pinned_model_are_added_to_those_that_are_pinned(
        self, world: World, quick_sandboxes: None
    ) -> None:
        self.pinned(world, "reference")
        world.commit()
        step = {"mode": "baseline", "artifact_name": "codegate-baseline"}
        more = world.step("workflow_dispatch", pushed(), candidates="reference", samples="1", **step)
        assert more.code == ExitCode.PASS, more.log
        assert "6 samples per problem, of 2 runs." in more.summary
        assert re.search(r"It passes 100\.0% \[.*\] n=3 problems; the pinned baseline, 100\.0% \[", more.summary)
        made = load_baseline(world.workspace / more.outputs["report-path"] / "baseline.json")
        assert [run.samples for run in made.runs] == [5, 1]
        other = world.step("workflow_dispatch", pushed(), candidates="empty", samples="5", **step)
        assert "5 samples per problem, of 1 run." in other.summary, "another model begins anew"
        (world.workspace / "codegate.lock").write_text("{}")
        lost = world.step("workflow_dispatch", pushed(), candidates="reference", samples="1", **step)
        assert lost.code == ExitCode.USAGE
        assert "the new baseline does not have the pinned one's samples: no baseline: the codegate.lock of" in lost.log

    @pytest.mark.full
    def test_a_night_is_compared_with_the_nights_before(self, world: World, quick_sandboxes: None) -> None:
        answers = {problem.name: problem.fixed for problem in PROBLEMS}
        write_transcripts(world.workspace / "answers.jsonl", answers)
        self.pinned(world, "replay:answers.jsonl")
        world.commit()
        first = world.step("schedule", pushed(), mode="nightly", artifact_name="codegate-nightly", samples="4")
        assert (first.code, first.outputs["verdict"]) == (ExitCode.PASS, "pass"), first.log
        assert "the watch begins with this one" in first.log
        assert first.summary.startswith("## codegate: nightly, pass\n"), "LENIENT asks for two problems"
        night = world.workspace / first.outputs["report-path"] / "history.jsonl"
        archive = zipped({"history.jsonl": night.read_bytes(), "report.html": b""})
        nights = world.github.store(Artifacts)
        config = world.workspace / "codegate.yml"
        config.write_text(config.read_text().replace("min_problems: 2, ", ""))
        few = world.step("schedule", pushed(), mode="nightly", artifact_name="codegate-none", samples="4")
        headline = "nightly, pass on too few problems: 3, and a gate's pass takes at least 10"
        assert few.summary.startswith(f"## codegate: {headline}\n")
        assert ("warning", "codegate") in few.annotations
        nights.put("codegate-nightly", archive, Run(78, event="schedule", path=NIGHTLY, conclusion="failure"))
        for number in range(79, 86):
            poison = zipped({"history.jsonl": b"{}"})
            nights.put("codegate-nightly", poison, Run(number, head_repository_id=2000, path=NIGHTLY))
        assert "<circle" in night.with_name("dashboard").joinpath("index.html").read_text()
        told: list[str] = []

        def chat(request: http.Request) -> http.Reply:
            told.append(request.body["text"])
            return http.Reply(b"", 500)

        world.runtime["CODEGATE_WEBHOOK"] = http.Server(chat).url
        transcripts = world.workspace / "answers.jsonl"
        transcripts.write_text(transcripts.read_text().replace("model-2025-01-01", "model-2025-02-02"))
        worse = world.step("schedule", pushed(), mode="nightly", artifact_name="codegate-nightly", samples="4")
        assert (worse.code, worse.outputs["verdict"]) == (ExitCode.REGRESSED, "regressed"), worse.log
        assert len((world.workspace / worse.outputs["report-path"] / "history.jsonl").read_text().splitlines()) == 2
        assert "the webhook answered 500" in worse.log
        assert ["model-2025-02-02 answered" in text for text in told] == [True]
        (issue,) = world.github.store(Rest).issues.values()
        assert issue["state"] == "open"
        assert "regressed" in issue["title"]
        transcripts.write_text(transcripts.read_text().replace("model-2025-02-02", "model-2025-01-01"))
        better = world.step("schedule", pushed(), mode="nightly", artifact_name="codegate-nightly", samples="1")
        assert better.outputs["verdict"] == "pass", better.log
        (after,) = world.github.store(Rest).issues.values()
        assert after["state"] == "closed"
        world.github.fail(Fault("GET", r".*/actions/runs/78", Reply({}, 503), times=4))
        out = world.step("schedule", pushed(), mode="nightly", artifact_name="codegate-nightly", samples="1")
        assert (out.code, out.outputs["verdict"]) == (ExitCode.INFRASTRUCTURE, "infrastructure"), "not begun anew"
        assert "model-2025-02-02" in issue["body"]

    @pytest.mark.requirement("L1")
    @pytest.mark.full
    def test_a_night_names_the_day_on_which_its_model_ends(
        self, world: World, quick_sandboxes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        words = "openai:gpt-5-2025-08-07: its provider shuts this model down on 2999-12-11"
        with StandIn(lambda turn: Say("OK"), tmp_path) as stand_in:
            for name, value in stand_in.environment.items():
                monkeypatch.setenv(name, value)
            stand_in.models["gpt-5-2025-08-07"] = "2999-12-11"
            self.pinned(world, "openai:gpt-5-2025-08-07")
            world.commit()
            night = world.step("schedule", pushed(), mode="nightly", samples="4")
            assert (night.code, night.outputs["verdict"]) == (ExitCode.PASS, "pass"), night.log
            assert f"::warning title=codegate::{words}" in night.log
            assert words in night.summary
            assert "## codegate: nightly, pass" in night.summary
            soon = (datetime.now(UTC).date() + timedelta(days=29)).isoformat()
            stand_in.models["gpt-5-2025-08-07"] = soon
            last = world.step("schedule", pushed(), mode="nightly", samples="4")
            wanted = f"## codegate: {words.replace('2999-12-11', soon)}; nightly, pass"
            assert last.summary.startswith(wanted), last.summary
            assert "Pin its successor while both answer" in last.summary
            stand_in.models["gpt-5-2025-08-07"] = "2020-12-11"
            gone = world.step("schedule", pushed(), mode="nightly", samples="4")
        assert gone.code == ExitCode.USAGE, gone.log
        assert "its provider has shut this model down on 2020-12-11" in gone.log
        assert "does not exist or was retired" in gone.log

    @pytest.mark.full
    def test_a_night_with_one_lost_sample_is_compared_and_one_without_most_is_not(
        self, world: World, quick_sandboxes: None
    ) -> None:
        answer, refused = as_json(chat_answer()), as_json({"error": {"message": "no"}}, status=400)
        with wire_server(answer) as wire:
            self.pinned(world, f"openai:local-model@{wire.url}/v1")
            world.commit()
            wire.replies[:0] = [answer, refused]
            night = world.step("schedule", pushed(), mode="nightly", samples="4")
            assert (night.code, night.outputs["verdict"]) == (ExitCode.PASS, "pass"), night.log
            history = world.workspace / night.outputs["report-path"] / "history.jsonl"
            assert json.loads(history.read_text())["lost"] == 1
            wire.replies[:0] = [answer, refused] * 3
            down = world.step("schedule", pushed(), mode="nightly", samples="4")
        assert (down.code, down.outputs["verdict"]) == (ExitCode.INFRASTRUCTURE, "infrastructure"), down.log
        assert "3 of 12 samples were lost to infrastructure faults" in down.summary

    def test_a_night_of_another_suite_is_incomparable_also_after_a_drop(
        self, world: World, quick_sandboxes: None
    ) -> None:
        self.pinned(world, "reference")
        world.commit()
        step = {"mode": "nightly", "artifact_name": "codegate-nightly", "samples": "4"}
        night = world.step("schedule", pushed(), **step)
        entry = json.loads((world.workspace / night.outputs["report-path"] / "history.jsonl").read_text())
        entry |= {"run": "worse", "pass_rate": 0.0, "counts": {name: [0, 4] for name in entry["counts"]}}
        archive = zipped({"history.jsonl": json.dumps(entry).encode() + b"\n"})
        world.github.store(Artifacts).put("codegate-nightly", archive, Run(78, event="schedule", path=NIGHTLY))
        write_suite(world.workspace / "suite", PROBLEMS[:2])
        world.commit()
        out = world.step("schedule", pushed(), **step)
        assert "has become worse in the last night" in out.summary, "and that was reported then"
        assert (out.code, out.outputs["verdict"]) == (ExitCode.INCONCLUSIVE, "incomparable"), out.log

    def test_a_gate_reuses_the_answers_that_were_kept_for_it(self, world: World, quick_sandboxes: None) -> None:
        replies = [as_json(chat_answer(message={"content": f"I do not know, {number}."})) for number in range(21)]
        with wire_server(*replies) as wire:
            world.configure(f"openai:local-model@{wire.url}/v1", FLOORS)
            base = world.commit()
            for _ in range(2):
                done = world.step("push", pushed(), cache="answers")
                assert done.code == ExitCode.PASS, done.log
            assert len(wire.received) == 3
            assert "3 of 3 answers are reused" in done.log
            fresh = world.step(
                "workflow_dispatch", pushed(), cache="answers", mode="baseline", candidates="local-model", samples="5"
            )
            assert (fresh.code, len(wire.received)) == (ExitCode.PASS, 3 + 15), fresh.log
            assert len(wire.greeted) == 2, "none where the answers are kept"
            proposal = world.step("pull_request", pull(base), cache="answers")
            assert (proposal.code, len(wire.received)) == (ExitCode.PASS, 3 + 15 + 3), "it could bring its own answers"

    @pytest.mark.full
    def test_a_step_that_stopped_at_a_limit_is_resumed_and_asks_nothing_twice(
        self, world: World, docker_backend: DockerBackend
    ) -> None:
        replies = [as_json(chat_answer(message={"content": f"I do not know, {number}."})) for number in range(15)]
        with wire_server(*replies) as wire:
            world.configure(f"openai:local-model@{wire.url}/v1")
            world.commit()
            making = {"mode": "baseline", "candidates": "local-model", "samples": "5"}
            stopped = world.step("workflow_dispatch", pushed(), max_model_calls="4", **making)
            assert (stopped.code, stopped.outputs["resumable"]) == (ExitCode.USAGE, "true"), stopped.log
            assert "the limit of 4 model calls is reached after 4 of 15 outcomes" in stopped.summary
            assert "or start this workflow on the default branch with `resume: 123`" in stopped.summary
            assert "codegate run" not in stopped.summary, "there is no such folder on anybody's machine"
            kept = stopped.outputs["run-path"]
            for run in (Run(78, path=NIGHTLY, head_repository_id=2000), Run(79, path=".github/workflows/x.yml")):
                world.keep(kept, run)
                refused = world.step("workflow_dispatch", pushed(), resume=str(run.id), **making)
                assert (refused.code, refused.outputs["verdict"]) == (ExitCode.USAGE, "error"), refused.log
                assert refused.outputs["run-path"] == ""
            none = world.step("workflow_dispatch", pushed(), resume="80", **making)
            assert "workflow run 80 has no artifact codegate-run" in none.log
            world.keep(kept, Run(77, path=NIGHTLY, conclusion="failure"), **{"reports/x.html": b""})
            other = world.step("workflow_dispatch", pushed(), resume="77", **making | {"samples": "6"})
            assert "was planned otherwise: samples" in other.log
            assert len(wire.received) == 4
            done = world.step("workflow_dispatch", pushed(), resume="77", max_model_calls="15", **making)
            assert (done.code, done.outputs["verdict"], done.outputs["resumable"]) == (0, "pass", ""), done.log
            assert len(wire.received) == 15
            assert (world.workspace / done.outputs["report-path"] / "codegate.lock").exists()

    def test_a_red_gate_that_is_run_again_is_red_and_asks_nothing(self, world: World, quick_sandboxes: None) -> None:
        self.pinned(world, "reference")
        right = {problem.name: problem.fixed for problem in PROBLEMS}
        asked: list[bytes] = []

        def reply(request: Request) -> http.Reply:
            if request.method == "POST":
                asked.append(request.raw)
            return as_json(chat_answer(message={"content": words(request.raw)}))

        def words(raw: bytes) -> str:
            name = next((name for name in right if f"{name}.py".encode() in raw), "")
            solved = f"{name}.py\n<<<<<<< SEARCH\n=======\n{right.get(name)}>>>>>>> REPLACE\n"
            return solved if lucky and name else f"I do not know, {len(asked)}."

        lucky = False
        server = http.Server(reply)
        config = world.workspace / "codegate.yml"
        config.write_text(config.read_text().replace("[reference]", f"['openai:local-model@{server.url}/v1']"))
        base = world.commit()
        world.github.store(Rest).add_pull(7, HEAD, head=HOME)
        red = world.step("pull_request", pull(base), resume="auto")
        assert (red.code, red.outputs["verdict"], red.outputs["resumable"]) == (ExitCode.REGRESSED, "regressed", "")
        world.keep(red.outputs["run-path"], Run(123, conclusion=None))
        world.runtime, lucky, before = {"GITHUB_RUN_ATTEMPT": "2"}, True, len(asked)
        again = world.step("pull_request", pull(base), resume="auto")
        server.close()
        assert (again.code, again.outputs["verdict"]) == (ExitCode.REGRESSED, "regressed"), again.log
        assert again.outputs["cost-usd"] == red.outputs["cost-usd"]
        assert len(asked) == before, "no answer is paid for, and none is drawn again"
        (said,) = world.comments()
        assert "codegate: regressed" in said

    @pytest.mark.parametrize(
        ("number", "code"),
        [pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.full), (signal.SIGTERM, 130)],
    )
    def test_a_killed_step_is_continued_by_the_next_attempt_and_asks_nothing_twice(
        self, world: World, quick_sandboxes: None, number: signal.Signals, code: int
    ) -> None:
        asked: list[bytes] = []
        go_on = threading.Event()

        def reply(request: Request) -> http.Reply | None:
            if GREETING not in request.raw and request.method == "POST":
                asked.append(request.raw)
                if len(asked) == 3:  # the call under way when the step is killed
                    go_on.wait(600)
            return as_json(chat_answer(message={"content": f"I do not know, {len(asked)}."}))

        server = http.Server(reply)
        world.configure(f"openai:local-model@{server.url}/v1", FLOORS)
        base = world.commit()
        world.github.store(Rest).add_pull(7, HEAD, head=HOME)
        mark = marker("codegate-gate")
        world.github.store(Rest).add_comment(7, BOT, f"{mark}\n✓ codegate: pass at another commit")
        given = {"samples": "2", "max_concurrency": "1", "resume": "auto"}
        kept = world.workspace / "report-1" / "run"
        with world.start("pull_request", pull(base), **given) as step:
            wait_until(lambda: len(asked) == 3 and len(list(kept.glob("transcripts/*/*.json"))) == 2)
            step.send_signal(number)
            assert step.wait(120) == code  # the model's answer does not come
        go_on.set()
        (said,) = world.comments()
        stopped = f"{mark}\n> [!CAUTION]\n> **codegate: interrupted at `{HEAD[:12]}`**\n"
        assert said.startswith(stopped) == (code == 130)
        assert "start this workflow" not in said, "a pull request's run is not continued elsewhere"
        left = outputs(world.files["GITHUB_OUTPUT"].read_bytes())
        assert (left["run-path"], left["resumable"]) == ("report-1/run", "true")
        world.keep(left["run-path"], Run(123, conclusion=None))
        world.runtime = {"GITHUB_RUN_ATTEMPT": "2"}
        done = world.step("pull_request", pull(base), **given)
        end = (done.code, done.outputs["verdict"], done.outputs["resumable"])
        assert end == (ExitCode.PASS, "inconclusive", ""), done.log
        assert len(asked) == 6 + 1, "six samples, one of which was under way"
        other = world.step("pull_request", pull(base), **{**given, "samples": "1"}, max_model_calls="1")
        assert "this is a new run, because the earlier attempt's cannot be continued" in other.log
        server.close()

    def test_the_report_of_a_stranger_is_shown_and_decides_nothing(self, world: World, quick_sandboxes: None) -> None:
        world.configure("empty")
        world.commit()
        run = Run(55, event="pull_request", head_repository_id=2000)
        ours = world.step("push", pushed(), check="true")
        (check,) = world.github.store(Rest).checks.values()
        assert check["output"]["summary"].count("There is no baseline") == 1
        theirs = world.workspace / ours.outputs["report-path"]
        kept = {"report.json": (theirs / "report.json").read_bytes()}
        world.github.store(Artifacts).put("codegate-report", zipped(kept), run)
        world.github.store(Rest).add_pull(7, HEAD)
        step = world.step("workflow_run", run_payload(FORK, head_branch="patch"), mode="report")
        assert (step.code, step.outputs["verdict"]) == (ExitCode.PASS, "ungated"), step.log
        (said,) = world.comments()
        assert "the proposed commit itself controlled" in said
        for given in ({"workflow_id": 8}, {"workflow_id": 8}, {"workflow_id": 9}):
            world.step("workflow_run", run_payload(FORK, head_branch="patch", **given), mode="report")
        assert len(world.comments()) == 3, "each gate's workflow has its own comment"
        gone = world.step("workflow_run", run_payload(FORK, head_sha="d" * 40), mode="report")
        assert gone.outputs["verdict"] == "skipped"


def test_mining_keeps_to_a_part_a_time_and_a_configuration(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a whole monorepo without a limit, a runner that is stopped after six hours keeps nothing."""
    world.configure("reference").rename(world.workspace / "api.yml")
    world.commit()
    seen: list[MineRequest] = []

    def mine(repository: Path, out: Path, request: MineRequest, *_: object) -> None:
        seen.append(request)
        raise Interrupted("stopped.")

    monkeypatch.setattr(suites, "mine", mine)
    given = {"path": "services/api", "max_minutes": "300", "config": "api.yml"}
    for inputs in (given, {}):
        step = world.step("workflow_dispatch", pushed(), mode="mine", **inputs)
        assert step.outputs["verdict"] == "interrupted", step.log
    part, whole = seen
    assert (part.path, part.budget_minutes, part.config) == ("services/api", 300, world.workspace / "api.yml")
    assert (whole.path, whole.budget_minutes, whole.config) == ("", None, None)


@pytest.mark.parametrize(("problems", "verdict"), [(("p-1",), "pass"), ((), "error")])
def test_mining_ends_with_the_place_of_the_suite(
    world: World, monkeypatch: pytest.MonkeyPatch, problems: tuple[str, ...], verdict: str
) -> None:
    monkeypatch.setattr(suites, "mine", lambda *_: SimpleNamespace(problems=problems))
    monkeypatch.setattr(suites, "mining_words", lambda _: ["mined."])
    for inputs, place in (({}, "report-1/suite"), ({"suite": "suites/mine"}, "suites/mine")):
        step = world.step("workflow_dispatch", pushed(), mode="mine", **inputs)
        assert (step.outputs["verdict"], step.outputs["suite-path"]) == (verdict, place), step.log
        assert step.code == (ExitCode.PASS if problems else ExitCode.INCONCLUSIVE)


def test_there_is_no_night_for_answers_from_a_file(world: World) -> None:
    pin_by_hand(world, {"provider": "predictions", "model": "ours@sha256:0", "name": "ours"}, "reference")
    step = world.step("schedule", pushed(), mode="nightly")
    assert (step.code, step.outputs["verdict"]) == (ExitCode.PASS, "skipped"), step.log
    assert "the answers of ours came from a file" in step.log


@pytest.mark.bwrap
def test_a_night_takes_the_price_of_the_configured_candidate(world: World, quick_sandboxes: None) -> None:
    priced = json.dumps(GONE | {"prices": {"input": 3, "output": 4}})
    pin_by_hand(world, candidate=priced, more="budget_usd: 1\n")
    step = world.step("schedule", pushed(), mode="nightly")
    assert step.code == ExitCode.INFRASTRUCTURE, step.log
    assert "nothing listens at http://127.0.0.1:1/v1" in step.log


def test_the_pinned_baseline_is_kept_from_expiring(world: World) -> None:
    world.configure("reference")
    world.commit()
    for mode in ("baseline", "nightly"):
        step = world.step("schedule", pushed(), mode=mode)
        assert (step.code, step.outputs["verdict"]) == (ExitCode.PASS, "skipped")
        assert "no baseline is pinned" in step.log
    few = world.step("workflow_dispatch", pushed(), mode="baseline", candidates="reference", samples="2")
    assert few.code == ExitCode.USAGE
    assert "5 samples" in few.log
