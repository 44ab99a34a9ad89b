"""Sandboxes on rented machines, by the real SDKs against providers that this machine plays."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.sandbox import (
    Command,
    EnvironmentRecipe,
    Layer,
    PreparedEnvironment,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
    select_backend,
)
from codegate.sandbox.conformance import BUILD_CHECKS, CHECKS, Check, Subject, lifecycle
from codegate.sandbox.contract import Backend
from codegate.sandbox.ownership import current_owner
from codegate.sandbox.remote.backend import OWNER_LABEL, Order, RemoteBackend
from tests.kit.e2b_service import E2BService
from tests.kit.machine import PYTHON
from tests.kit.modal_service import ModalService

pytestmark = pytest.mark.bwrap

Service = E2BService | ModalService

LIMITS = SandboxLimits(lifetime_seconds=60, memory_bytes=256 << 20, disk_bytes=8 << 20)

# What is run with every change; the others are in the nightly tests.
ALWAYS = {"no_secrets", "time_limit", "closing", "preflight_on_layer"}


# What is run at Modal with every change, too.
AT_MODAL = {
    "test_a_machine_that_is_gone_is_destroyed_without_an_error",
    "test_a_sweep_destroys_the_machines_of_dead_runs_alone",
    "test_a_machine_has_no_network_and_a_time_limit_and_is_destroyed_with_its_sandbox",
    "test_a_provider_that_refuses_is_infrastructure_and_a_key_that_it_refuses_is_usage",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "service" in metafunc.fixturenames:
        name = metafunc.function.__name__
        modal = pytest.param(ModalService, marks=() if name in AT_MODAL else pytest.mark.full)
        metafunc.parametrize("service", [E2BService, modal], indirect=True, scope="module", ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    if os.geteuid() != 0:
        pytest.skip("a rented machine is played by root")
    kind = request.param
    with closing(kind(tmp_path_factory.mktemp(kind.name))) as found, pytest.MonkeyPatch.context() as patch:
        for name, value in found.variables.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(scope="module")
def rented(service: Service) -> Iterator[Backend]:
    with closing(select_backend(service.name, "tests")) as backend:
        yield backend


@pytest.fixture(scope="module")
def there(empty_layer: Layer) -> EnvironmentRecipe:
    """The environment of the tests, for the interpreter that the machines have."""
    question = [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip()
    return EnvironmentRecipe(version, layer=empty_layer)


@pytest.fixture(scope="module")
def prepared(rented: Backend, there: EnvironmentRecipe) -> PreparedEnvironment:
    return rented.prepare(there)


def chosen(checks: tuple[Check, ...]) -> list[object]:
    return [
        pytest.param(check, marks=() if check.__name__ in ALWAYS else (pytest.mark.full,), id=check.__name__)
        for check in checks
        if check is not lifecycle.killed_codegate  # a machine outlives its renter, until the next start or its limit
    ]


@pytest.mark.parametrize("check", chosen((*CHECKS, *BUILD_CHECKS)))
@pytest.mark.requirement("S3")
def test_a_rented_machine_conforms(check: Check, rented: Backend, there: EnvironmentRecipe) -> None:
    check(Subject(rented, there))


@pytest.mark.requirement("S3")
def test_a_machine_has_no_network_and_a_time_limit_and_is_destroyed_with_its_sandbox(
    service: Service, rented: Backend, prepared: PreparedEnvironment
) -> None:
    before, data = set(service.orders), bytes(range(256)) * 8000
    with closing(rented.open(prepared, LIMITS)) as sandbox:
        sandbox.put((SandboxFile("a", data),))
        assert sandbox.run(Command(("cat", "a"), output_bytes=4 << 20)).stdout == data
        (name,) = set(service.orders) - before
        order = service.ordered(name)
        assert not order.network
        assert LIMITS.lifetime_seconds < order.seconds <= LIMITS.lifetime_seconds + 300
        assert order.memory_mb == 1024
        assert order.runtime == rented.describe().tier
        assert "tests" in order.labels.values()
        assert "secret" not in str(service.orders[name]).lower()
    until_gone(service, name)


def until_gone(service: Service, name: str) -> None:
    limit = time.monotonic() + 15
    while name in service.machines:
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.requirement("S3")
def test_closing_the_backend_destroys_every_machine(service: Service, there: EnvironmentRecipe) -> None:
    before = set(service.machines)
    backend = select_backend(service.name, "tests")
    environment = backend.prepare(there)
    sandboxes = [backend.open(environment, LIMITS) for _ in range(2)]
    assert len(set(service.machines) - before) == 2  # one from before may end meanwhile
    backend.close()
    assert set(service.machines) <= before
    with pytest.raises(SandboxClosed):
        sandboxes[0].run(Command(("true",)))
    with pytest.raises(SandboxClosed):
        backend.open(environment, LIMITS)


def test_a_sweep_destroys_the_machines_of_dead_runs_alone(service: Service, rented: Backend) -> None:
    here = str(current_owner()).split(":")
    dead = ":".join((here[0], here[1], "999999999", "1"))
    labels: list[dict[str, str]] = [{OWNER_LABEL: one} for one in (dead, str(current_owner()), "elsewhere:1:1:1")]
    assert isinstance(rented, RemoteBackend)
    provider = rented._provider
    orders = [Order("debian", ("bubblewrap",), 1, 1, 60, of) for of in (*labels, {})]
    left, *others = [provider.rent(order).identity for order in orders]
    assert rented.sweep() == 1
    assert left not in service.machines
    assert set(others) <= set(service.machines)
    for name in others:
        provider.destroy(name)


def test_a_machine_that_is_gone_is_destroyed_without_an_error(rented: Backend) -> None:
    assert isinstance(rented, RemoteBackend)
    rented._provider.destroy("gone")


def test_a_machine_that_goes_away_is_nobodys_fault(
    service: Service, rented: Backend, prepared: PreparedEnvironment
) -> None:
    before = set(service.machines)
    sandbox = rented.open(prepared, LIMITS)
    (name,) = set(service.machines) - before
    service.machines[name].kill()
    with pytest.raises(SandboxError, match="machine went away"):
        sandbox.run(Command(("true",)))


@pytest.mark.requirement("S3")
def test_a_provider_that_refuses_is_infrastructure_and_a_key_that_it_refuses_is_usage(
    service: Service, rented: Backend, prepared: PreparedEnvironment
) -> None:
    for status, kind, words in (
        (429, InfrastructureError, f"cannot start a machine at {service.title}"),
        (500, InfrastructureError, f"cannot start a machine at {service.title}"),
        (401, UsageError, f"{service.title} does not accept the key"),
    ):
        service.refusal = (status, "no more sandboxes for you")
        try:
            with pytest.raises(kind, match=words):
                rented.open(prepared, LIMITS)
        finally:
            service.refusal = None


@pytest.mark.parametrize(("name", "variable"), [("e2b", "E2B_API_KEY"), ("modal", "MODAL_TOKEN_ID")])
def test_a_missing_key_and_a_missing_sdk_are_named(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=variable):
        select_backend(name, "tests")
    with pytest.raises(UsageError, match="takes no option"):
        select_backend(f"{name}:fast", "tests")
    for one in (variable, "MODAL_TOKEN_SECRET"):
        monkeypatch.setenv(one, "a key")
    monkeypatch.setattr("codegate.sandbox.remote.backend.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="need its SDK") as raised:
        select_backend(name, "tests")
    assert raised.value.exit_code == ExitCode.USAGE
    assert raised.value.remedy == f'pip install "codegate-ci[{name}]"'


def test_a_recipes_image_and_system_packages_make_the_machine(
    service: Service, rented: Backend, there: EnvironmentRecipe
) -> None:
    image = "debian@sha256:" + "0" * 64
    recipe = replace(there, image=image, system=("zip", "jq"))
    before = set(service.orders)
    rented.open(rented.prepare(recipe), LIMITS).close()
    (name,) = set(service.orders) - before
    made = service.ordered(name).image
    assert image in made
    assert "bubblewrap jq zip" in made
    assert service.name != "modal" or made.endswith("ENTRYPOINT []")  # the image's own may run something else
    with pytest.raises(UsageError, match="is on a Docker daemon alone"):
        rented.prepare(replace(recipe, image="sha256:" + "0" * 64))
    with pytest.raises(UsageError, match="no name of a system package"):
        rented.prepare(replace(recipe, system=("jq; reboot",)))


def test_what_it_does_not_promise_is_stated(service: Service, rented: Backend) -> None:
    description = rented.describe()
    assert (description.name, description.tier) == (service.name, service.tier)
    assert f"it was never tried at {service.title} itself" in description.weaknesses
    assert any(service.weakness in words for words in description.weaknesses)
