"""After the job: what its steps left behind is removed, and that step never fails one."""

import pytest

from codegate.errors import ExitCode
from codegate.github import reap_action


def test_the_step_after_the_job_never_fails_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    job = dict.fromkeys(("GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"), "x")
    assert reap_action({**job, "RUNNER_NAME": "one"}) == ExitCode.PASS
    assert "no Docker daemon answers" in capsys.readouterr().out
    assert reap_action({}) == ExitCode.PASS
    assert "no sandbox was left over" in capsys.readouterr().out
