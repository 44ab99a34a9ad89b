"""A Docker daemon that goes away in the middle of a run: what is between it and the run is cut."""

import contextlib
from pathlib import Path

import pytest

from codegate.sandbox.docker import DockerBackend
from codegate.suite import Suite
from tests.running.world import ModelServer, Said, answer, codegate, lines, results, start, wait_until
from tests.sandbox.daemons import relay

pytestmark = [pytest.mark.docker, pytest.mark.full]


def test_a_daemon_that_goes_away_is_a_fault_and_nothing_is_lost(
    suite: Suite, server: ModelServer, tmp_path: Path, docker_backend: DockerBackend
) -> None:
    server.script = lambda name, turn, request: Said(answer(name), seconds=0.3)
    out = tmp_path / "r"
    run = ("run", suite.folder, "--sandbox", "docker", "--models", "1", "--jobs", "1")
    new = (*run, "--candidate", server.candidate, "--samples", "3", "--out", out)
    between = contextlib.ExitStack()
    behind = {"DOCKER_HOST": between.enter_context(relay())}
    with between, start(*new, cwd=tmp_path, environment=behind) as process:
        wait_until(lambda: len(lines(out)) >= 1, 120)
        kept = lines(out)[:1]
        between.close()  # as with a daemon that was killed: nobody listens, and every connection is gone
        _, said = process.communicate(timeout=240)
    assert process.returncode == 4, said
    assert "Traceback" not in said
    faults = [line["fault"] for line in lines(out) if line["fault"]]
    assert faults
    assert {fault["cause"] for fault in faults} == {"sandbox"}
    assert "Docker" in faults[0]["message"]
    assert all(line["attempt"] for line in lines(out)), "the answers were paid for and are kept"
    asked = len(server.asked)
    assert asked == 9

    assert codegate(*run, "--resume", out, cwd=tmp_path).code == 0
    assert len(server.asked) == asked
    assert lines(out)[:1] == kept
    assert set(results(out).values()) == {True}
