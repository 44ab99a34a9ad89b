"""Before any model is asked: the reference passes and no change fails, or the problem is quarantined for the run."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import ExitCode, InfrastructureError
from codegate.gating import QUARANTINED
from codegate.running import candidate_samples, load_run, readiness, run_exit_code, scheduler
from codegate.running.outcome import Fault
from codegate.sandbox import SandboxError
from codegate.suite import Problem, Suite, load_suite
from tests.running.world import NAMES, ModelServer, run_here

pytestmark = pytest.mark.bwrap


def break_fix(suite: Suite, name: str) -> None:
    (suite.folder / f"problems/calc-{name}/fix/calc/{name}.py").write_text(f"def {name}(n):\n    return None\n")


def test_a_problem_that_the_fix_does_not_solve_here_is_asked_of_nobody(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    break_fix(own_suite, "half")
    out = tmp_path / "r"
    run = run_here(load_suite(own_suite.folder), out, server.spec(), precheck=True)
    assert sorted(server.asked) == ["double", "square"]
    reason = run.manifest.excluded["calc-half"]
    assert reason.startswith(f"{QUARANTINED}the reference fix does not pass here (logic_error, 0/1 tests)")
    assert sorted(run.manifest.problems) == ["calc-double", "calc-square"]
    samples = candidate_samples(load_run(out), server.spec())
    assert set(samples.samples) == {"calc-double", "calc-square"}
    assert samples.excluded == {"calc-half": reason}


@pytest.mark.full
def test_a_problem_that_needs_no_fix_is_none(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    hidden = own_suite.folder / "problems/calc-half/hidden/tests/test_half.py"
    hidden.write_text("def test_half():\n    assert 1 + 1 == 2\n")
    run = run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec(), precheck=True)
    assert "half" not in server.asked
    assert run.manifest.excluded["calc-half"].endswith("tests/test_half.py::test_half passes here without any fix")


def test_nobody_is_asked_when_the_environment_is_broken(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    for name in NAMES[:2]:
        break_fix(own_suite, name)
    suite = load_suite(own_suite.folder)
    with pytest.raises(InfrastructureError, match="2 of 3 problems are not sound here, too many to continue"):
        run_here(suite, tmp_path / "r", server.spec(), precheck=True)
    assert not server.asked
    assert not (tmp_path / "r" / "soundness.json").exists(), "the next try looks again"


def test_a_run_that_goes_on_later_checks_again_what_is_left(
    own_suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r"
    run_here(own_suite, out, server.spec(), precheck=True)
    (out / "outcomes.jsonl").write_bytes((out / "outcomes.jsonl").read_bytes().splitlines(keepends=True)[0])
    record = json.loads((out / "soundness.json").read_bytes())
    (out / "soundness.json").write_text(json.dumps({**record, "checked": "2026-01-01T00:00:00Z"}))
    expired = "the reference fix does not pass here"  # as of a test with a certificate
    monkeypatch.setattr(readiness, "_check", lambda *_, **_more: expired)
    monkeypatch.setattr(scheduler, "MOST_FIRST", 1)  # the others are checked after the first one
    with pytest.raises(InfrastructureError, match="2 of 3 problems are not sound here"):
        run_here(own_suite, out, precheck=True)


def break_sandbox(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the sandbox of these problems fail whenever the precheck uses it."""

    check = readiness._check  # tests remember that a problem is sound, and do not look again

    def failing(problem: Problem, *arguments: Any, **more: Any) -> str | None:
        if problem.id.removeprefix("calc-") in names:
            raise SandboxError("the daemon is gone.")
        return check(problem, *arguments, **more)

    monkeypatch.setattr(readiness, "_check", failing)


@pytest.mark.full
def test_a_problem_that_could_not_be_run_is_lost_and_checked_again_on_resume(
    own_suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_sandbox(monkeypatch, "half")
    run = run_here(own_suite, tmp_path / "r", server.spec(), precheck=True)
    assert sorted(server.asked) == ["double", "square"]
    assert run.manifest.excluded == {}, "a fault is no quarantine"
    (lost,) = [outcome for outcome in run.outcomes if outcome.problem == "calc-half"]
    assert lost.fault == Fault(cause="could_not_run_here", message="sandbox: the daemon is gone.", retries=2)
    assert run_exit_code(run, ()) == ExitCode.INFRASTRUCTURE

    monkeypatch.undo()
    run = run_here(own_suite, tmp_path / "r", precheck=True)
    assert sorted(server.asked) == ["double", "half", "square"]
    assert run_exit_code(run, ()) == ExitCode.PASS


@pytest.mark.parametrize(("faulted", "refused"), [(4, False), (5, True)])
def test_as_many_problems_may_fail_to_run_as_a_gate_may_lose(faulted: int, refused: bool) -> None:
    fault = Fault(cause="could_not_run_here", message="sandbox: gone.", retries=2)
    found = {f"p-{i}": fault if i < faulted else None for i in range(40)}
    with pytest.raises(InfrastructureError) if refused else nullcontext():
        readiness.refuse_unsound(found, 40)
