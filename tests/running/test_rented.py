"""A whole run on rented machines, by the real SDK against a provider that this machine plays."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.github.workspace import PROBLEMS, SLOW, write_suite
from tests.kit.e2b_service import E2BService
from tests.kit.modal_service import ModalService
from tests.running.world import codegate, lines, start, wait_until

pytestmark = [pytest.mark.bwrap, pytest.mark.full]


Service = E2BService | ModalService


@pytest.fixture(params=[E2BService, ModalService], ids=lambda kind: kind.name)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    if os.geteuid() != 0:
        pytest.skip("a rented machine is played by root")
    with closing(request.param(tmp_path / "machines")) as found:
        yield found


@pytest.mark.requirement("S3")
def test_a_run_on_rented_machines_has_outcomes_and_leaves_no_machine(service: Service, tmp_path: Path) -> None:
    write_suite(tmp_path / "suite")
    run = codegate(
        "run", "suite", "--candidate", "reference", "--sandbox", service.name, "--out", "run", cwd=tmp_path,
        environment=service.variables,
    )  # fmt: skip
    assert run.code == 0, run.stderr
    assert [line["grade"]["resolved"] for line in lines(tmp_path / "run")] == [True] * len(PROBLEMS)
    assert f"bubblewrap on {service.title}" in (tmp_path / "run" / "sandbox.json").read_text()
    assert service.orders
    assert not service.machines


@pytest.mark.requirement("S3")
def test_an_interrupt_destroys_every_machine(service: Service, tmp_path: Path) -> None:
    write_suite(tmp_path / "suite", (SLOW,))
    run = start(
        "run", "suite", "--candidate", "reference", "--sandbox", service.name, "--out", "run", cwd=tmp_path,
        environment=service.variables,
    )  # fmt: skip
    wait_until(lambda: len(service.orders) > 2 and len(service.machines) > 0, seconds=120)
    os.kill(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "Traceback" not in errors
    assert service.orders
    assert not service.machines


@pytest.mark.requirement("S3")
def test_a_wrong_key_ends_as_a_usage_error(service: Service, tmp_path: Path) -> None:
    write_suite(tmp_path / "suite")
    *_, key = service.variables
    run = codegate(
        "run", "suite", "--candidate", "reference", "--sandbox", service.name, "--out", "run", cwd=tmp_path,
        environment={**service.variables, key: "e2b_" + "f" * 40},
    )  # fmt: skip
    assert run.code == 2, run.stderr
    assert f"{service.title} does not accept the key" in run.stderr
    assert "Traceback" not in run.stderr
