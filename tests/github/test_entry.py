"""The action's entry point, in this process, with real sandboxes: whatever happens is said, and only that."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.errors import ExitCode
from codegate.gating import Baseline, GatePolicy
from codegate.github import reap_action, run_action
from codegate.github.step import OUTPUTS
from codegate.running import Gate, load_run
from codegate.running.shards import plan_parts
from tests.github.runner import Step, commands, outputs, run_step
from tests.github.workspace import LENIENT, PROBLEMS, write_suite, write_transcripts
from tests.kit.model_server import Reply, WireServer, as_json, chat_answer
from tests.kit.repository import commit_all
from tests.kit.runs import pinned, write_pinned
from tests.running.sharded import plan, write, write_shards
from tests.running.world import codegate

CANARY = "sk-canary-5b7d0a9c1e3f2468"


FIGURES = OUTPUTS[:4]

Act = Callable[..., Step]


@pytest.fixture
def act(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Act:
    """Run one step in ``tmp_path/workspace``."""
    (tmp_path / "workspace").mkdir(exist_ok=True)

    def run(environment: dict[str, str] | None = None, **inputs: str) -> Step:
        step = run_step(tmp_path, capsys, environment or {}, inputs)
        assert not step.outputs or tuple(step.outputs) == OUTPUTS
        return step

    return run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir(exist_ok=True)
    return tmp_path / "workspace"


def test_nothing_to_run(act: Act) -> None:
    step = act()
    assert step.code == ExitCode.USAGE
    assert step.outputs["verdict"] == "error"
    assert step.outputs["exit-code"] == "2"
    assert step.annotations == [("error", "codegate: error")]
    assert "no candidate was given" in step.log
    assert "no candidate was given" in step.summary


@pytest.mark.parametrize(
    ("inputs", "cause"),
    [
        ({"candidates": "reference"}, "no suite was given"),
        ({"candidates": "reference", "suite": "none"}, "is not a suite"),
        ({"candidates": "openai:gpt-5", "suite": "s"}, "input `candidates`"),
        ({"candidates": "##[add-mask]x\u2028::debug::y", "suite": "s"}, "unknown provider"),
        ({"suite": "../s"}, "leaves the workspace"),
        ({"config": "codegate.yml"}, "does not exist"),
        ({"candidates": "reference", "suite": "s", "baseline": "codegate.lock"}, "codegate.lock"),
    ],
)
def test_wrong_inputs_are_explained(act: Act, inputs: dict[str, str], cause: str) -> None:
    step = act(**inputs)
    verdict = "no baseline" if "baseline" in inputs else "error"
    assert (step.code, step.outputs["verdict"]) == (ExitCode.USAGE, verdict)
    assert step.annotations == [("error", f"codegate: {verdict}")]
    assert cause in step.log
    assert step.outputs["report-path"] == step.outputs["run-path"] == ""
    assert "Traceback" not in step.log


@pytest.mark.parametrize("key", ["suite", "repository", "baseline"])
def test_the_configuration_cannot_lead_out_of_the_workspace(act: Act, workspace: Path, key: str) -> None:
    (workspace / "codegate.yml").write_text(f"candidates: [reference]\n{key}: ../../etc\n")
    step = act(**{} if key == "suite" else {"suite": "s"})
    assert step.code == ExitCode.USAGE
    assert "in the configuration leaves the workspace" in step.log


@pytest.mark.parametrize("baseline", ["baseline: codegate.lock\n", ""], ids=["named", "dangling"])
def test_a_missing_baseline_is_not_a_run_without_one(act: Act, workspace: Path, baseline: str) -> None:
    (workspace / "codegate.yml").write_text(f"candidates: [reference]\nsuite: s\n{baseline}")
    if not baseline:
        (workspace / "codegate.lock").symlink_to("nowhere")
    step = act()
    assert step.code == ExitCode.USAGE
    assert "codegate.lock, which `baseline`" in step.log if baseline else "nowhere" in step.log


def test_a_run_folder_that_came_with_the_checkout_is_not_written_to(act: Act, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / "codegate-report").mkdir()
    (workspace / "codegate-report" / "run").symlink_to("../../elsewhere")
    step = act(suite="s", candidates="reference")
    assert step.code == ExitCode.USAGE
    assert "codegate-report/run exists already" in step.log
    assert list((tmp_path / "elsewhere").iterdir()) == []


class Broken(dict[str, str]):
    """An environment that fails in a way that nobody expects."""

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        if key == "GITHUB_WORKSPACE":
            raise RuntimeError(f"\n::set-output name=verdict::pass\r##[add-mask]{self['PROVIDER_TOKEN']}")
        return super().get(key, default)


def test_a_bug_says_that_it_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, summary = tmp_path / "output", tmp_path / "summary"
    broken = Broken(GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary), PROVIDER_TOKEN=CANARY)
    assert run_action(broken) == ExitCode.INFRASTRUCTURE
    log = capsys.readouterr()
    assert log.err == ""
    assert "Traceback (most recent call last)" in log.out
    (command,) = commands(log.out)
    assert (command.name, command.properties["title"]) == ("error", "codegate: error")
    assert "a bug in codegate" in command.data
    assert outputs(output.read_bytes())["verdict"] == "error"
    assert "a bug in codegate" in summary.read_text()
    assert CANARY not in log.out


def test_a_file_of_the_runner_that_cannot_be_written(act: Act, tmp_path: Path) -> None:
    step = act({"GITHUB_STEP_SUMMARY": str(tmp_path)}, suite="s")
    assert step.code == ExitCode.INFRASTRUCTURE
    assert (step.outputs["verdict"], step.outputs["exit-code"]) == ("infrastructure", "4")
    step = act({"GITHUB_OUTPUT": str(tmp_path)}, suite="s")
    assert step.code == ExitCode.INFRASTRUCTURE
    assert step.annotations == [("error", "codegate: infrastructure")]


def test_without_a_daemon_it_is_infrastructure(act: Act, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_suite(workspace / "suite")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    step = act(suite="suite", candidates="reference")
    assert step.code == ExitCode.INFRASTRUCTURE
    assert step.outputs["verdict"] == "infrastructure"
    assert step.annotations == [("error", "codegate: infrastructure")]
    assert "no Docker daemon answers" in step.summary


def test_the_step_after_the_job_never_fails_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    job = dict.fromkeys(("GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"), "x")
    assert reap_action({**job, "RUNNER_NAME": "one"}) == ExitCode.PASS
    assert "no Docker daemon answers" in capsys.readouterr().out
    assert reap_action({}) == ExitCode.PASS
    assert "no sandbox was left over" in capsys.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's files have to be given back")
def test_what_a_killed_step_wrote_is_given_back_after_the_job(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {"report-path": "reports", "cache": "answers", "suite": "suites/mined"}
    monkeypatch.setenv("CODEGATE_CACHE", str(workspace / "kept"))
    for place in (*folders.values(), "kept", "source"):
        (workspace / place).mkdir(parents=True)
        (workspace / place / "file").touch()
    (workspace / "reports" / "link").symlink_to(tmp_path)
    os.chown(workspace, 12345, 12346)
    given = {f"INPUT_{name.upper()}": value for name, value in folders.items()}
    assert reap_action({"GITHUB_WORKSPACE": str(workspace), "INPUT_MODE": "mine", **given}) == ExitCode.PASS
    made = [
        path for place in (*folders.values(), "kept") for path in (workspace / place, *(workspace / place).iterdir())
    ]
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in made} == {(12345, 12346)}
    assert {path.stat().st_uid for path in (workspace / "source" / "file", tmp_path)} == {0}


def test_what_is_missing_is_made_by_a_workflow(act: Act, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = act(candidates="reference", suite="none")
    assert "is not a suite: there is no such folder. Run codegate-mine" in step.log
    assert "codegate mine" not in step.log, "its folder is in a container"
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_suite(workspace / "suite")
    step = act(candidates="openai:m-2025-01-01", suite="suite")
    assert "Set OPENAI_API_KEY" in step.log
    assert "As a secret of the repository, and in `env` of the step: OPENAI_API_KEY" in step.log


def test_on_inconclusive(act: Act, workspace: Path) -> None:
    """A run of two problems decides nothing, and is merged from a shard written by hand: no sandbox is needed."""
    spec = CandidateSpec(provider="empty")
    gate = Gate(pinned_by_hand(workspace, spec), GatePolicy(max_samples=1))
    whole = plan(2, 1, (spec,), gated_by=gate.digest)
    write_shards(workspace / "shards", whole, 1)
    merge = {"suite": "s", "mode": "merge", "run_id": plan_parts(whole, 1).run_id, "shards_path": "shards"}
    config = workspace / "codegate.yml"
    config.write_text("candidates: [empty]\ngate: {max_samples: 1}\n")
    for choice, code, level in (("neutral", 0, "warning"), ("pass", 0, "notice"), ("fail", 3, "error")):
        step = act(**merge, report_path=choice, on_inconclusive=choice)
        assert step.code == code, step.log
        assert (step.outputs["verdict"], step.outputs["exit-code"]) == ("inconclusive", "3")
        assert step.annotations == [(level, "codegate: inconclusive")]
    config.write_text("candidates: [empty]\ngate: {max_samples: 1, on_inconclusive: fail}\n")
    assert act(**merge, report_path="policy").code == ExitCode.INCONCLUSIVE
    assert act(**merge, report_path="input", on_inconclusive="pass").code == ExitCode.PASS


def test_a_shard_that_stopped_is_finished_by_the_job_that_made_it(act: Act, workspace: Path) -> None:
    spec = CandidateSpec(provider="empty")
    gate = Gate(pinned_by_hand(workspace, spec), GatePolicy(max_samples=1))
    whole = plan(2, 1, (spec,), gated_by=gate.digest)
    folder, _ = write_shards(workspace / "shards", whole, 2)
    (folder / "outcomes.jsonl").write_text("")
    (workspace / "codegate.yml").write_text("candidates: [empty]\ngate: {max_samples: 1}\n")
    step = act(suite="s", mode="merge", run_id=plan_parts(whole, 2).run_id, shards_path="shards")
    assert (step.code, step.outputs["verdict"]) == (ExitCode.USAGE, "error")
    assert "is unfinished: 0 of 1 outcome" in step.log
    assert "Re-run failed jobs" in step.log
    assert "--resume" not in step.log + step.summary, "that folder is gone with its container"


@pytest.mark.bwrap
class TestRuns:
    """A suite of three problems, really run."""

    @pytest.fixture(autouse=True)
    def _suite(self, workspace: Path, quick_sandboxes: None) -> None:
        write_suite(workspace / "suite")

    def test_from_a_baseline_to_a_verdict(self, act: Act, workspace: Path) -> None:
        config = workspace / "codegate.yml"
        config.write_text(f"suite: suite\ncandidates: [reference]\n{LENIENT}")

        first = act(report_path="out/first", samples="3")
        assert first.code == ExitCode.PASS
        assert first.annotations == [("notice", "codegate: ungated")]
        assert {name: value for name, value in first.outputs.items() if value or name in FIGURES} == {
            "pass-rate": "1.0000",
            "baseline-pass-rate": "",
            "difference": "",
            "problems": "3",
            "report-path": "out/first",
            "run-path": "out/first/run",
            "exit-code": "0",
            "verdict": "ungated",
        }
        assert {path.name for path in (workspace / "out/first").iterdir()} >= {"report.html", "junit.xml", "run"}
        pin_reference(workspace, "out/first/run")

        second = act(report_path="out/second")
        assert (second.code, second.outputs["verdict"]) == (ExitCode.PASS, "pass")
        assert (second.outputs["baseline-pass-rate"], second.outputs["difference"]) == ("1.0000", "0.0000")
        assert second.annotations == []
        assert "codegate: pass" in second.summary

        # Of several candidates the worst decides, and the figures are its own.
        third = act(report_path="out/third", candidates="reference\nempty", baseline="codegate.lock")
        assert (third.code, third.outputs["verdict"]) == (ExitCode.REGRESSED, "regressed")
        assert (third.outputs["pass-rate"], third.outputs["difference"]) == ("0.0000", "-1.0000")
        assert third.annotations == [("error", "codegate: regressed")]

        again = act(report_path="out/third")
        assert again.code == ExitCode.USAGE
        assert again.outputs["run-path"] == ""

    @pytest.mark.requirement("D5")
    def test_floors_alone_decide_without_a_baseline(self, act: Act, workspace: Path) -> None:
        floors = "gate: {alpha: 0.2, cohorts: {all: {floor: 0.6, tier: critical}}}\n"
        (workspace / "codegate.yml").write_text(f"suite: suite\ncandidates: [reference]\n{floors}")
        for candidates, code, kind, rate in (
            ("reference", ExitCode.PASS, "pass", "1.0000"),
            ("reference\nempty", ExitCode.REGRESSED, "regressed", "0.0000"),
        ):
            step = act(report_path=f"out/{kind}", candidates=candidates)
            assert (step.code, step.outputs["verdict"], step.outputs["pass-rate"]) == (code, kind, rate), step.log
            assert (step.outputs["baseline-pass-rate"], step.outputs["difference"]) == ("", "")
            assert "the floor is 60.0%" in step.summary

    def test_hostile_answers_and_tests_give_no_command(self, act: Act, workspace: Path) -> None:
        write_transcripts(workspace / "answers.jsonl", {p.name: p.broken + f"# {p.name}\n" for p in PROBLEMS})
        (workspace / "ci").mkdir()
        (workspace / "ci" / "codegate.yml").write_text("candidates: [reference]\n")
        # A path in an input is the workspace's, wherever the configuration is.
        step = act(suite="suite", candidates="replay:answers.jsonl", config="ci/codegate.yml")
        assert step.code == ExitCode.PASS
        assert step.outputs["pass-rate"] == "0.0000"
        assert step.annotations == [("notice", "codegate: ungated")]

    def test_a_key_appears_nowhere(
        self, act: Act, workspace: Path, wire: WireServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        wire.replies = [Reply(f'{{"error": {{"message": "bad key {CANARY}"}}}}'.encode(), 401)]
        step = act({"OPENAI_API_KEY": CANARY}, suite="suite", candidates=f"openai:model-2025-01-01@{wire.url}/v1")
        assert CANARY in str(wire.received[0].headers)
        assert (step.code, step.outputs["verdict"]) == (ExitCode.USAGE, "error")
        assert "Check the key in OPENAI_API_KEY" in step.log
        written = [path.read_bytes() for path in workspace.rglob("*") if path.is_file()]
        said = "".join([step.log, step.summary, *step.outputs.values()]).encode()
        assert not [data for data in (*written, said) if CANARY.encode() in data]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root's files have to be given back")
    def test_what_was_written_belongs_to_the_owner_of_the_workspace(
        self, act: Act, workspace: Path, wire: WireServer
    ) -> None:
        commit_all(workspace)
        os.chown(workspace, 12345, 12346)
        wire.replies = [as_json(chat_answer())]
        candidate = f"openai:model-2025-01-01@{wire.url}/v1"
        done = act(suite="suite", candidates=candidate, report_path="deep/er/report", cache="deep/answers")
        made = [workspace / "deep", *(workspace / "deep").rglob("*")]
        assert len(made) > 8
        assert len(list((workspace / "deep" / "answers").glob("*/*.json"))) == len(PROBLEMS), done.log
        assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(12345, 12346)}
        assert (workspace / "suite").stat().st_uid == 0


@pytest.fixture
def wire() -> Iterator[WireServer]:
    server = WireServer()
    yield server
    server.close()


def pinned_by_hand(workspace: Path, spec: CandidateSpec) -> Baseline:
    """Pin a run of two problems that no sandbox has seen."""
    baseline = pinned(load_run(write(workspace / "pinned", plan(2, 1, (spec,)))), spec)
    write_pinned(workspace, baseline)
    return baseline


def pin_reference(workspace: Path, run: str) -> None:
    """Pin a run with the command, as the README says; the reference is always right."""
    pin = ("baseline", "pin", run, "--candidate", "reference", "--min-samples", "1")
    assert codegate(*pin, cwd=workspace).code == 0
