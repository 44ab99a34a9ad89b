"""A whole run on rented machines, by the real SDK against a provider that this machine plays."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.github.workspace import PROBLEMS, SLOW, write_suite
from tests.kit.e2b_service import E2BService
from tests.running.world import codegate, lines, start, wait_until

pytestmark = [pytest.mark.bwrap, pytest.mark.full]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[E2BService]:
    if os.geteuid() != 0:
        pytest.skip("a rented machine is played by root")
    with closing(E2BService(tmp_path / "e2b")) as found:
        yield found


@pytest.mark.requirement("S3")
def test_a_run_on_rented_machines_has_outcomes_and_leaves_no_machine(service: E2BService, tmp_path: Path) -> None:
    write_suite(tmp_path / "suite")
    run = codegate(
        "run", "suite", "--candidate", "reference", "--sandbox", "e2b", "--out", "run", cwd=tmp_path,
        environment=service.variables,
    )  # fmt: skip
    assert run.code == 0, run.stderr
    assert [line["grade"]["resolved"] for line in lines(tmp_path / "run")] == [True] * len(PROBLEMS)
    assert "bubblewrap on E2B" in (tmp_path / "run" / "sandbox.json").read_text()
    assert service.orders
    assert not service.machines


@pytest.mark.requirement("S3")
def test_an_interrupt_destroys_every_machine(service: E2BService, tmp_path: Path) -> None:
    write_suite(tmp_path / "suite", (SLOW,))
    run = start(
        "run", "suite", "--candidate", "reference", "--sandbox", "e2b", "--out", "run", cwd=tmp_path,
        environment=service.variables,
    )  # fmt: skip
    wait_until(lambda: len(service.orders) > 2 and len(service.machines) > 0, seconds=120)
    os.kill(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "Traceback" not in errors
    assert service.orders
    assert not service.machines
