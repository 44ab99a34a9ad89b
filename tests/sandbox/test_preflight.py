"""The preflight: every wall is looked at, every limit is run into, and what does not hold ends the run."""

import dataclasses
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import UsageError
from codegate.sandbox import (
    Command,
    Description,
    EnvironmentRecipe,
    SandboxError,
    SandboxFile,
    SandboxLimits,
    preflight,
    select_backend,
)
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.conformance import Subject, lifecycle, resources
from codegate.sandbox.conformance.preflight import _held, limit_findings, wall_findings
from codegate.sandbox.conformance.probe import CALLS, FAMILIES
from codegate.sandbox.docker import DockerBackend
from tests.sandbox.daemons import relay

DESCRIBED = Description("docker", "runc", "Docker 28.0.0", "runc 1.3.5", "6.1.0")
WALLS: dict[str, Any] = {
    "uid": [10001, 10001, 10001, 10001],
    "capabilities": ["0000000000000000"] * 5,
    "no_new_privileges": 1,
    "seccomp": 2,
    "routes": [],
    "interfaces": [],
    "connect": ["ENETUNREACH", "ENETUNREACH"],
    "families": {"address family 40": "EAFNOSUPPORT"},
    "calls": {"keyctl": "EPERM"},
    "system": {"/codegate": "EROFS"},
    "writable": ["/dev/shm", "/tmp", "/workspace"],
    "kernel": "EROFS",
    "supervisor": "EACCES",
    "sockets": [],
    "variables": ["PATH", "HOME"],
    "files": 4,
    "cores": 0,
    "host": "sandbox",
    "release": "6.1.0",
}
TAKEN: dict[str, Any] = {
    "processes": [23, "EAGAIN"],
    "descriptors": [60, "EMFILE"],
    "disk": {"/workspace": [4 << 20, "ENOSPC"]},
    "inodes": {"/dev/shm": [4000, "ENOSPC"]},
    "file": "EFBIG",
}


@pytest.mark.parametrize(
    ("key", "value", "check"),
    [
        ("uid", [10001, 0, 10001, 10001], "not root"),
        ("capabilities", ["0000000000000000"] * 4 + ["00000000a80425fb"], "no capabilities"),
        ("capabilities", [], "no capabilities"),
        ("no_new_privileges", 0, "no new privileges"),
        ("seccomp", 0, "system call filter"),
        ("families", {"address family 40": ""}, "system call filter"),
        ("calls", {"keyctl": ""}, "system call filter"),
        ("routes", ["eth0 ..."], "no network route"),
        ("interfaces", ["eth0"], "no network route"),
        ("connect", ["ENETUNREACH", ""], "no connection"),
        ("system", {"/codegate": "EROFS", "/etc/codegate": ""}, "read-only system"),
        ("writable", ["/data", "/tmp"], "nothing else writable"),
        ("kernel", "", "kernel settings closed"),
        ("supervisor", "", "supervisor closed"),
        ("sockets", ["/var/run/docker.sock"], "no container socket"),
        ("variables", ["PATH", "OPENAI_API_KEY"], "no inherited variables"),
        ("files", 5, "no inherited descriptors"),
        ("cores", 1, "no core files"),
        ("host", "build-17", "no name of the machine"),
    ],
)
def test_each_wall_that_falls_is_seen(key: str, value: object, check: str) -> None:
    assert all(finding.held for finding in wall_findings(WALLS, DESCRIBED))
    assert [one.check for one in wall_findings({**WALLS, key: value}, DESCRIBED) if not one.held] == [check]


def test_a_recorded_build_has_the_variables_that_it_names_and_no_others() -> None:
    def strange(*variables: str) -> list[str]:
        seen = {**WALLS, "variables": ["PATH", *variables]}
        return [one.check for one in wall_findings(seen, DESCRIBED, {"APP_SETTINGS"}) if not one.held]

    assert strange("APP_SETTINGS") == []
    assert strange("APP_SETTINGS", "OPENAI_API_KEY") == ["no inherited variables"]


@pytest.mark.parametrize(
    ("key", "value", "check"),
    [
        ("processes", [48, ""], "process limit"),
        ("processes", [30, "EAGAIN"], "process limit"),
        ("processes", [10, "ENOMEM"], "process limit"),
        ("descriptors", [128, ""], "descriptor limit"),
        ("disk", {"/workspace": [5 << 20, ""]}, "size of shared memory"),
        ("inodes", {"/dev/shm": [4196, ""]}, "file limit"),
        ("file", "", "file size limit"),
    ],
)
def test_each_limit_that_does_not_bite_is_seen(key: str, value: object, check: str) -> None:
    assert all(finding.held for finding in limit_findings(TAKEN, DESCRIBED))
    assert [one.check for one in limit_findings({**TAKEN, key: value}, DESCRIBED) if not one.held] == [check]


def test_the_refusal_names_the_system_calls_and_families_that_got_through() -> None:
    families = {f"address family {family}": "" if family == 40 else "EAFNOSUPPORT" for family in FAMILIES}
    seen = {**WALLS, "families": families, "calls": {**dict.fromkeys(CALLS, "EPERM"), "bpf": ""}}
    with pytest.raises(SandboxError, match=r'here: system call filter \(\[2, "bpf", "address family 40"\]\)\.'):
        _held("docker", wall_findings(seen, DESCRIBED))


def test_a_kernel_that_was_promised_and_is_the_machines_is_seen() -> None:
    own = dataclasses.replace(DESCRIBED, tier="runsc")
    assert [one.check for one in wall_findings(WALLS, own) if not one.held] == ["own kernel"]
    assert all(one.held for one in wall_findings({**WALLS, "release": "4.19.0-gvisor"}, own))


SHARED_NETWORK = """#!/bin/sh
for one; do
    shift
    case "$one" in
    --unshare-all) set -- "$@" --unshare-user --unshare-pid --unshare-ipc --unshare-uts ;;
    *) set -- "$@" "$one" ;;
    esac
done
exec {} "$@"
"""


@pytest.mark.bwrap
def test_a_wall_that_is_down_stops_the_run(
    bwrap_backend: BubblewrapBackend, tmp_path: Path, empty: EnvironmentRecipe
) -> None:
    if not [name for _, name in socket.if_nameindex() if name != "lo"]:
        pytest.skip("this machine has no network to leak")
    wrapper = tmp_path / "bwrap"
    wrapper.write_text(SHARED_NETWORK.format(shutil.which("bwrap")))
    wrapper.chmod(0o755)
    leaky = BubblewrapBackend("test")
    leaky._program = str(wrapper)
    with pytest.raises(SandboxError, match=r"bwrap sandbox does not hold here: no network route .*Nothing is run"):
        preflight(leaky, leaky.prepare(empty))
    leaky.close()


@pytest.mark.bwrap
def test_without_a_control_group_the_report_says_what_is_missing(
    bwrap_backend: BubblewrapBackend, empty: EnvironmentRecipe
) -> None:
    if Path("/proc/self/uid_map").read_text().split()[:2] == ["0", "0"]:
        pytest.skip("the kernel does not hold root to RLIMIT_NPROC")
    own = BubblewrapBackend("test")
    own._parents = None  # as on a machine that delegates none
    found = preflight(own, own.prepare(empty))
    own.close()
    assert "memory is limited for each process and not in total" in " ".join(found.weaknesses)


class Boastful(BubblewrapBackend):
    """Promises totals that nothing keeps."""

    def describe(self) -> Description:
        return dataclasses.replace(super().describe(), totals=True)


@pytest.mark.bwrap
def test_a_total_that_is_only_promised_stops_the_run(
    bwrap_backend: BubblewrapBackend, empty: EnvironmentRecipe
) -> None:
    boastful = Boastful("test")
    boastful._parents = None
    with pytest.raises(SandboxError, match=r"process limit|memory limit in total"):
        preflight(boastful, boastful.prepare(empty))
    boastful.close()


def _no_limits(body: dict[str, Any]) -> None:
    body["HostConfig"].update(PidsLimit=0, Memory=0, MemorySwap=0)
    places = body["HostConfig"]["Tmpfs"]
    for place, options in places.items():
        kept = [one for one in options.split(",") if not one.startswith(("size=", "nr_inodes="))]
        places[place] = ",".join([*kept, "size=64m"])


def _open_walls(body: dict[str, Any]) -> None:
    body["HostConfig"].update(CapDrop=None, NetworkMode="bridge")
    body["User"] = "0:0"


@pytest.mark.docker
@pytest.mark.parametrize(
    ("change", "checks"),
    [
        (_no_limits, ["process limit", "memory limit in total", "size of shared memory", "file limit"]),
        (_open_walls, ["not root", "no capabilities", "no network route", "read-only system", "nothing else writable"]),
    ],
)
def test_a_daemon_that_takes_a_limit_and_forgets_it_is_refused(
    own: DockerBackend,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[dict[str, Any]], None],
    checks: list[str],
    empty: EnvironmentRecipe,
) -> None:
    create = own._control.create_container_from_config

    def forgetful(body: dict[str, Any]) -> Any:
        change(body)
        return create(body)  # type: ignore[no-untyped-call]  # untyped in types-docker

    monkeypatch.setattr(own._control, "create_container_from_config", forgetful)
    with pytest.raises(SandboxError) as raised:
        preflight(own, own.prepare(empty))
    assert all(f"{check} (" in raised.value.cause for check in checks), raised.value.cause
    if change is not _open_walls:
        assert "does not enforce it" in raised.value.remedy


@pytest.mark.docker
def test_a_daemon_behind_tcp_holds_as_well(
    docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch, empty: EnvironmentRecipe
) -> None:
    with relay() as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        backend = DockerBackend("remote")
        environment = backend.prepare(empty)
        found = preflight(backend, environment)
        assert found.words == f"verified (docker, {backend.describe().runtime})"
        assert {"process limit", "memory limit in total", "disk limit", "file limit", "output limit", "time limit"} <= {
            finding.check for finding in found.checks if finding.held
        }
        assert (found.kernel, found.environment) == (os.uname().release, environment.identity)
        assert type(found).model_validate_json(found.model_dump_json()) == found
        sandbox = backend.open(environment, SandboxLimits())
        sandbox.put((SandboxFile("big", bytes(5 << 20)),))
        assert sandbox.run(Command(("wc", "-c", "big"))).stdout == b"5242880 big\n"
        sandbox.close()
        for check in (resources.memory_of_one, lifecycle.closing):
            check(Subject(backend, empty))
        backend.close()
    assert environment == docker_backend.prepare(empty)


@pytest.mark.docker
def test_a_runtime_is_chosen_by_name_and_an_unknown_one_refused(
    docker_backend: DockerBackend, empty: EnvironmentRecipe
) -> None:
    with pytest.raises(UsageError, match=r"no runtime 'no-such'; it has .*runc.*`runtimes` in its daemon\.json"):
        select_backend("docker:no-such", "test")
    usual = docker_backend.describe().tier
    chosen = select_backend(f"docker:{usual}", "test")
    assert isinstance(chosen, DockerBackend)
    assert (chosen.name, chosen.runtime) == ("docker", usual), "the same kernel, comparable results"
    sandbox = chosen.open(chosen.prepare(empty), SandboxLimits())
    assert sandbox.run(Command(("true",))).ok
    chosen.close()


@pytest.mark.parametrize("text", ["", "podman", "docker:", "docker:../x", "docker:a b", "bwrap:runsc", "auto\n", "-x"])
def test_what_is_no_choice_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no sandbox\. Choose auto, docker, docker:RUNTIME"):
        select_backend(text, "test")
