"""Sandboxes on rented machines, by the real SDK against a provider that this machine plays."""

import os
import pty
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.sandbox import (
    Command,
    EnvironmentRecipe,
    PreparedEnvironment,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
    select_backend,
)
from codegate.sandbox.conformance import CHECKS, Check, Subject, lifecycle
from codegate.sandbox.contract import Backend
from codegate.sandbox.daytona import PLAIN
from codegate.sandbox.ownership import current_owner
from codegate.sandbox.remote import OWNER_LABEL, RUN_LABEL, Order, Provider, RemoteBackend
from tests.kit.e2b_service import E2BService
from tests.kit.machine import PYTHON, Machine

pytestmark = pytest.mark.bwrap

LIMITS = SandboxLimits(lifetime_seconds=60, memory_bytes=256 << 20, disk_bytes=8 << 20)

# What is run with every change; the others are in the nightly tests.
ALWAYS = {"walls_and_limits", "no_secrets", "time_limit", "closing"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[E2BService]:
    if os.geteuid() != 0:
        pytest.skip("a rented machine is played by root")
    with closing(E2BService(tmp_path_factory.mktemp("e2b"))) as found, pytest.MonkeyPatch.context() as patch:
        for name, value in found.variables.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(scope="module")
def e2b(service: E2BService) -> Iterator[Backend]:
    with closing(select_backend("e2b", "tests")) as backend:
        yield backend


@pytest.fixture(scope="module")
def there(recipe: EnvironmentRecipe) -> EnvironmentRecipe:
    """The environment of the tests, for the interpreter that the machines have."""
    question = [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return replace(recipe, python=subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="module")
def prepared(e2b: Backend, there: EnvironmentRecipe) -> PreparedEnvironment:
    return e2b.prepare(there)


def checks() -> Iterator[object]:
    for check in CHECKS:
        if check is not lifecycle.killed_harness:  # a machine outlives its renter, until the next start or its limit
            marks = () if check.__name__ in ALWAYS else (pytest.mark.full,)
            yield pytest.param(check, marks=marks, id=check.__name__)


@pytest.mark.parametrize("check", list(checks()))
@pytest.mark.requirement("S3")
def test_a_rented_machine_conforms(
    check: Check, e2b: Backend, prepared: PreparedEnvironment, there: EnvironmentRecipe
) -> None:
    check(Subject(e2b, prepared, there, totals=True))


@pytest.mark.requirement("S3")
def test_a_machine_has_no_network_and_a_time_limit_and_is_destroyed_with_its_sandbox(
    service: E2BService, e2b: Backend, prepared: PreparedEnvironment
) -> None:
    before = set(service.orders)
    with closing(e2b.open(prepared, LIMITS)) as sandbox:
        sandbox.put((SandboxFile("a", bytes(range(256))),))
        assert sandbox.run(Command(("cat", "a"))).stdout == bytes(range(256))
        (name,) = set(service.orders) - before
        order = service.orders[name]
        assert order["allow_internet_access"] is False
        assert LIMITS.lifetime_seconds < order["timeout"] <= LIMITS.lifetime_seconds + 180
        assert order["metadata"] == {RUN_LABEL: "tests", OWNER_LABEL: str(current_owner())}
        assert service.templates[order["templateID"]]["memoryMB"] == 1024
        assert "secret" not in str(order).lower()
    until_gone(service, name)


def until_gone(service: E2BService, name: str) -> None:
    limit = time.monotonic() + 15
    while name in service.machines:
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.requirement("S3")
def test_closing_the_backend_destroys_every_machine(service: E2BService, there: EnvironmentRecipe) -> None:
    before = set(service.machines)
    backend = select_backend("e2b", "tests")
    environment = backend.prepare(there)
    sandboxes = [backend.open(environment, LIMITS) for _ in range(2)]
    assert len(service.machines) == len(before) + 2
    backend.close()
    assert set(service.machines) <= before
    with pytest.raises(SandboxClosed):
        sandboxes[0].run(Command(("true",)))
    with pytest.raises(SandboxClosed):
        backend.open(environment, LIMITS)


def test_a_sweep_destroys_the_machines_of_dead_runs_alone(service: E2BService, e2b: Backend) -> None:
    here = str(current_owner()).split(":")
    dead = ":".join((here[0], here[1], "999999999", "1"))
    for owner in (dead, str(current_owner()), "elsewhere:1:1:1", None):
        service._create({"templateID": "t", "metadata": {} if owner is None else {OWNER_LABEL: owner}})
    before = set(service.machines)
    assert e2b.sweep() == 1
    (gone,) = before - set(service.machines)
    assert service.orders[gone]["metadata"] == {OWNER_LABEL: dead}
    for name in before - {gone}:
        service.machines.pop(name).kill()


def test_a_machine_that_goes_away_is_nobodys_fault(
    service: E2BService, e2b: Backend, prepared: PreparedEnvironment
) -> None:
    before = set(service.machines)
    sandbox = e2b.open(prepared, LIMITS)
    (name,) = set(service.machines) - before
    service.machines[name].kill()
    with pytest.raises(SandboxError, match="machine went away"):
        sandbox.run(Command(("true",)))


@pytest.mark.requirement("S3")
def test_a_provider_that_refuses_is_infrastructure_and_a_key_that_it_refuses_is_usage(
    service: E2BService, e2b: Backend, prepared: PreparedEnvironment
) -> None:
    for status, kind, words in (
        (429, InfrastructureError, "cannot start a machine at E2B"),
        (500, InfrastructureError, "cannot start a machine at E2B"),
        (401, UsageError, "E2B does not accept the key"),
    ):
        service.refusal = (status, "no more sandboxes for you")
        try:
            with pytest.raises(kind, match=words):
                e2b.open(prepared, LIMITS)
        finally:
            service.refusal = None


@pytest.mark.parametrize(("name", "variable"), [("e2b", "E2B_API_KEY"), ("modal", "MODAL_TOKEN_ID"),
                                                ("daytona", "DAYTONA_API_KEY")])  # fmt: skip
def test_a_missing_key_and_a_missing_sdk_are_named(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=variable):
        select_backend(name, "tests")
    with pytest.raises(UsageError, match="takes no option"):
        select_backend(f"{name}:fast", "tests")
    for one in (variable, "MODAL_TOKEN_SECRET"):
        monkeypatch.setenv(one, "a key")
    monkeypatch.setattr("codegate.sandbox.remote.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="need its SDK") as raised:
        select_backend(name, "tests")
    assert raised.value.exit_code == ExitCode.USAGE
    assert raised.value.remedy == f'pip install "codegate-ci[{name}]"'


def test_an_environment_on_an_image_is_refused(e2b: Backend, there: EnvironmentRecipe) -> None:
    with pytest.raises(SandboxError, match="take none"):
        e2b.prepare(replace(there, image="python@sha256:" + "0" * 64))


def test_what_it_does_not_promise_is_stated(e2b: Backend) -> None:
    description = e2b.describe()
    assert (description.name, description.tier, description.totals) == ("e2b", "firecracker", True)
    assert any("envd" in words for words in description.weaknesses)


class Terminal:
    """A machine that has only a terminal, as Daytona's."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.identity = "terminal"
        self._ours, self._theirs = pty.openpty()

    def upload(self, file: Path, target: str) -> None:
        self.machine.write(target, file.read_bytes())

    def start(self, command: str) -> Iterator[str]:
        process = self.machine.start(["/bin/bash", "-i"], self._theirs)
        os.close(self._theirs)
        self.send(f"{PLAIN} && {command}\n")
        with suppress(OSError):  # the end of a terminal
            while True:
                yield os.read(self._ours, 4096).decode("ascii", "replace")
        process.wait()
        os.close(self._ours)

    def send(self, text: str) -> None:
        data = text.encode("ascii")
        while data:
            data = data[os.write(self._ours, data) :]


class Terminals(Provider):
    """Rents one machine with a terminal."""

    name = title = tier = engine = "terminals"
    totals = process_limit = True
    weaknesses = ()
    refusals = ()

    def __init__(self, folder: Path) -> None:
        self._machine = Terminal(Machine(folder / "terminal"))

    def rent(self, order: Order) -> Terminal:
        return self._machine

    def rented(self) -> Iterator[tuple[str, str]]:
        return iter(())

    def destroy(self, identity: str) -> None:
        self._machine.machine.kill()


def test_the_stream_survives_a_terminal(there: EnvironmentRecipe, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a rented machine is played by root")
    data = bytes(range(256)) * 8000
    with (
        closing(RemoteBackend("tests", Terminals(tmp_path))) as backend,
        closing(backend.open(backend.prepare(there), LIMITS)) as sandbox,
    ):
        sandbox.put((SandboxFile("a", data),))
        done = sandbox.run(Command(("cat", "a"), output_bytes=4 << 20))
    assert (done.exit_code, done.stdout == data) == (0, True)
