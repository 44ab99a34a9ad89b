"""The Docker backend's containers: configuration, labels and build folders."""

import contextlib
import os
import posixpath
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codegate.sandbox.contract import Description, Layer, SandboxLimits
from codegate.sandbox.daemon import connect, explain_docker_errors
from codegate.sandbox.layers import BUILT, BlockStream, Source
from codegate.sandbox.ownership import current_owner, workflow_job
from codegate.sandbox.session import USER_ID, WORKSPACE, inodes, shared_memory_bytes
from codegate.sandbox.stream import BOOTSTRAP

if TYPE_CHECKING:
    from docker import APIClient

RUN_LABEL: Final = "codegate.run"
OWNER_LABEL: Final = "codegate.owner"
DEADLINE_LABEL: Final = "codegate.deadline"
JOB_LABEL: Final = "codegate.job"
_FREEZE_SECONDS: Final = 900
_KERNEL_THREADS: Final = 512  # threads of gVisor's kernel, which count as processes of the container


@dataclass(frozen=True)
class DockerEnvironment:
    """The image that an environment's containers are made from.

    Attributes:
        image: id of the image, ``sha256:…``; containers are made from it and not from a tag that can move.
        identity: SHA-256 of what the image was made from, with the base image's digest. (The image's id covers the time
            of its build, so it differs from daemon to daemon.)
        layer: the recorded build that is in the image; None: the environment of a new build.
        toolchains: the image's variables, which locate its toolchains; only commands get them.
    """

    image: str
    identity: str
    layer: Layer | None = None
    toolchains: tuple[tuple[str, str], ...] = ()


def container_labels(run_id: str, seconds: float) -> dict[str, str]:
    """Return the labels of a container that lives ``seconds``."""
    return {
        RUN_LABEL: run_id,
        OWNER_LABEL: str(current_owner()),
        DEADLINE_LABEL: f"{time.time() + seconds:.0f}",
        JOB_LABEL: workflow_job(os.environ),
    }


def command_limits(limits: SandboxLimits, description: Description) -> dict[str, int]:
    """Return the resource limits of a container's commands."""
    resource_limits = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.disk_bytes,
        "RLIMIT_NOFILE": limits.open_files,
    }
    if description.tier != "runsc":  # gVisor's kernel has neither message queues nor this limit
        resource_limits["RLIMIT_MSGQUEUE"] = 0
    return resource_limits


def container_configuration(
    client: "APIClient",
    environment: DockerEnvironment,
    limits: SandboxLimits,
    labels: dict[str, str],
    runtime: str | None,
    description: Description,
    *,
    quota: bool,
) -> dict[str, Any]:
    """Return the request that creates a container, for Docker's API.

    With ``quota`` the storage driver limits the disk usage. ``runtime`` is the container runtime; None: the daemon's
    default.
    """
    from docker.types import Healthcheck, LogConfig, Ulimit  # noqa: PLC0415 - docker takes 0.2 s to import

    disk, shared = limits.disk_bytes, shared_memory_bytes(limits)
    options = f"rw,nosuid,nodev,noexec,size={shared},nr_inodes={inodes(shared)},mode=1777"
    host = client.create_host_config(
        runtime=runtime,
        auto_remove=True,  # also removes a sandbox whose owner was killed, at the end of its lifetime
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        network_mode="none",
        extra_hosts={"sandbox": "127.0.0.1"},
        dns=["127.0.0.1"],  # else the sandbox could read the addresses of the machine's name servers
        ipc_mode="private",
        tmpfs={"/dev/shm": options},  # noqa: S108 - the sandbox's own; all else is the image's
        storage_opt={"size": str(disk)} if quota else None,
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,
        nano_cpus=int(limits.cpus * 1_000_000_000),
        pids_limit=limits.pids + (1 if description.process_limit else _KERNEL_THREADS),  # 1 for the supervisor
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            Ulimit(name="fsize", soft=disk, hard=disk),
        ],
        log_config=LogConfig(type="none"),
    )
    configuration = client.create_container_config(
        environment.image,
        command=[],
        entrypoint=["python3", "-I", "-S", "-B", "-c", BOOTSTRAP],
        hostname="sandbox",
        # A name without a value removes the image's variable.
        environment=[*(name for name, _ in environment.toolchains if name != "PATH"), *_search_path(environment)],
        user=f"{USER_ID}:{USER_ID}",
        working_dir=WORKSPACE,
        stdin_open=True,
        tty=False,
        detach=False,
        healthcheck=Healthcheck(test=["NONE"]),
        labels=labels,
        host_config=host,
    )
    # The daemon closes the input when the only client leaves, so the supervisor ends if codegate dies.
    configuration["StdinOnce"] = True
    return dict(configuration)


def _search_path(environment: DockerEnvironment) -> tuple[str, ...]:
    """Return the supervisor's ``PATH`` variable, without a build's folders."""
    path = dict(environment.toolchains).get("PATH")
    if path is None:
        return ()  # the daemon sets a default PATH
    written = (f"{BUILT}/", f"{WORKSPACE}/", "/tmp/")  # noqa: S108 - in the sandbox
    places = [place for place in path.split(":") if place.startswith("/")]
    kept = [place for place in places if not f"{posixpath.normpath(place)}/".startswith(written)]
    return (f"PATH={':'.join(kept)}",)


@contextlib.contextmanager
def container_folders(container: str) -> Iterator[tuple[Source, Source]]:
    """Yield tars of ``/opt/env`` and the workspace, in this order."""
    client = connect(_FREEZE_SECONDS)  # a client of its own: see DockerBackend.__init__

    def folder(place: str) -> Iterator[bytes]:
        yield from client.get_archive(container, place)[0]

    try:
        with explain_docker_errors("read what was built"):
            yield BlockStream(folder(BUILT)), BlockStream(folder(WORKSPACE))
    finally:
        client.close()
