"""The Docker backend against a real daemon: flags, images, sweeping, and every way in which it goes away."""

import contextlib
import os
import threading
import time
import uuid
from typing import Any

import pytest
from docker import APIClient

from codegate.errors import ExitCode
from codegate.sandbox import (
    Command,
    EnvironmentRecipe,
    SandboxClosed,
    SandboxError,
    SandboxLimits,
    SandboxUnavailable,
    reap_job,
)
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.docker_container import DEADLINE_LABEL, OWNER_LABEL, DockerEnvironment
from codegate.sandbox.images import BASE_IMAGE
from codegate.sandbox.ownership import current_owner
from tests.conftest import PYTHON
from tests.sandbox.conftest import containers

pytestmark = pytest.mark.docker

FOREVER = Command(("sleep", "600"), timeout_seconds=600)


@pytest.fixture(scope="module")
def plain(docker_backend: DockerBackend, empty: EnvironmentRecipe) -> DockerEnvironment:
    return docker_backend.prepare(empty)


@pytest.mark.requirement("S1")
def test_a_container_has_every_flag(own: DockerBackend, plain: DockerEnvironment, client: APIClient) -> None:
    own.open(plain, SandboxLimits(memory_bytes=128 << 20, cpus=0.5, pids=40))
    (container,) = containers(client, own)
    seen: Any = client.inspect_container(container["Id"])
    host, config = seen["HostConfig"], seen["Config"]
    assert host["NetworkMode"] == "none"
    assert host["Dns"] == ["127.0.0.1"]  # and not those of the machine
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] is None
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["Privileged"], host["ReadonlyRootfs"], host["AutoRemove"]) == (False, False, True)
    assert (host["Memory"], host["MemorySwap"]) == (128 << 20, 128 << 20)
    assert (host["NanoCpus"], host["PidsLimit"]) == (500_000_000, 41)
    assert host["LogConfig"]["Type"] == "none"
    assert (host["Binds"], host.get("Mounts"), host["Devices"] or None, seen["Mounts"]) == (None, None, None, [])
    assert host["IpcMode"] == "private"
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {
        "core": 0, "nofile": 512, "fsize": SandboxLimits().disk_bytes,
    }  # fmt: skip
    ((place, options),) = host["Tmpfs"].items()
    assert place == "/dev/shm"
    assert {"nosuid", "nodev", "noexec"} <= set(options.split(","))
    assert "size=" in options
    assert "nr_inodes=" in options
    assert (config["User"], config["Hostname"], config["Tty"]) == ("10001:10001", "sandbox", False)
    assert seen["Image"] == plain.image
    assert config["Labels"][OWNER_LABEL] == str(current_owner())
    assert float(config["Labels"][DEADLINE_LABEL]) > time.time()


def test_a_sandbox_may_use_more_processors_than_there_are(own: DockerBackend, plain: DockerEnvironment) -> None:
    assert own.open(plain, SandboxLimits(cpus=1000)).run(Command(("true",))).ok


def test_a_container_that_someone_removed_is_an_infrastructure_error(
    own: DockerBackend, plain: DockerEnvironment, client: APIClient
) -> None:
    sandbox = own.open(plain, SandboxLimits())
    (container,) = containers(client, own)
    threading.Timer(0.3, client.kill, (container["Id"],)).start()
    with pytest.raises(SandboxError, match="went away") as raised:
        sandbox.run(FOREVER)
    assert not isinstance(raised.value, SandboxClosed)
    assert raised.value.exit_code == ExitCode.INFRASTRUCTURE


def test_sweeping_takes_the_dead_and_leaves_the_living(
    docker_backend: DockerBackend, plain: DockerEnvironment, client: APIClient
) -> None:
    owner = str(current_owner())
    boot, namespace, _, _ = owner.split(":")
    later, earlier = f"{time.time() + 600:.0f}", f"{time.time() - 600:.0f}"
    labels = {
        "dead owner": {OWNER_LABEL: f"{boot}:{namespace}:999999999:1", DEADLINE_LABEL: later},
        "over time": {OWNER_LABEL: owner, DEADLINE_LABEL: earlier},
        "live": {OWNER_LABEL: owner, DEADLINE_LABEL: later},
        "another machine": {OWNER_LABEL: f"other-boot:{namespace}:999999999:1", DEADLINE_LABEL: later},
        "another namespace": {OWNER_LABEL: f"{boot}:1:999999999:1", DEADLINE_LABEL: later},
        "unreadable": {OWNER_LABEL: "nonsense", DEADLINE_LABEL: "never"},
        "not ours": {"something": "else"},
    }
    base = os.environ.get("CODEGATE_BASE_IMAGE") or BASE_IMAGE.format(python=PYTHON)
    made = {
        name: client.create_container(base, command=["sleep", "60"], labels=given)["Id"]
        for name, given in labels.items()
    }
    try:
        assert docker_backend.sweep() >= 2
        left = {container["Id"] for container in client.containers(all=True)}
        assert {name for name, one in made.items() if one not in left} == {"dead owner", "over time"}
    finally:
        for one in made.values():
            with contextlib.suppress(Exception):
                client.remove_container(one, force=True)


def test_a_jobs_sandboxes_are_removed_at_its_end_and_no_others(
    plain: DockerEnvironment, client: APIClient, own: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {
        "GITHUB_REPOSITORY": "acme/demo", "GITHUB_RUN_ID": uuid.uuid4().hex, "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_JOB": "gate", "RUNNER_NAME": "one",
    }  # fmt: skip
    other = own.open(plain, SandboxLimits())
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    left = own.open(plain, SandboxLimits())
    assert reap_job({**job, "RUNNER_NAME": "two"}) == 0, "the same job on another runner is at work"
    assert reap_job({name: value for name, value in job.items() if name != "GITHUB_JOB"}) == 0
    assert reap_job(job) == 1
    assert len(containers(client, own)) == 1
    other.close()
    left.close()


def test_an_environment_is_built_once_and_named_by_its_content(
    docker_backend: DockerBackend, plain: DockerEnvironment, empty: EnvironmentRecipe
) -> None:
    assert docker_backend.prepare(empty) == plain
    assert plain.image.startswith("sha256:")
    assert plain.identity.startswith("sha256:")


def test_a_base_image_that_cannot_be_had_says_which_and_how_to_supply_it(
    own: DockerBackend, empty: EnvironmentRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEGATE_BASE_IMAGE", "127.0.0.1:1/codegate/no-such-image:1")
    with pytest.raises(SandboxError, match=r"no-such-image:1 .*cannot be pulled.*CODEGATE_BASE_IMAGE"):
        own.prepare(empty)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "unix:///nonexistent/docker.sock", "nonsense://x"])
def test_no_daemon_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SandboxUnavailable, match="no Docker daemon answers") as raised:
        DockerBackend("test")
    assert "\n" not in str(raised.value)
