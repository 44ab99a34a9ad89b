"""Sandboxes as containers of a Docker daemon, which may be another machine's: only its API is used.

An environment is an image made of a base image and two folders, without a build step that runs anything.
Files and commands go over one attached stream, so no host path is ever mounted and it works from inside a
container that has the daemon's socket.
"""

import contextlib
import os
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from codegate.sandbox import images
from codegate.sandbox.contract import (
    BuildSandbox,
    Description,
    EnvironmentRecipe,
    Layer,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from codegate.sandbox.daemon import connect, explained, read_daemon
from codegate.sandbox.environment import build_environment
from codegate.sandbox.fleet import Fleet, Member
from codegate.sandbox.ownership import current_owner, parse_owner, workflow_job
from codegate.sandbox.session import USER_ID, WORKSPACE, Scope
from codegate.sandbox.sizes import inodes, shared_memory_bytes, temporary_bytes, workspace_bytes
from codegate.sandbox.sockets import AttachedConnection
from codegate.sandbox.stream import BOOTSTRAP

if TYPE_CHECKING:
    from docker import APIClient

_CONTROL_SECONDS: Final = 60
_REMOVE_SECONDS: Final = 20
_BUILD_SECONDS: Final = 900
_PING_SECONDS: Final = 3
_EVENT_SECONDS: Final = 5
_CLOSE_SECONDS: Final = 15.0
_DEADLINE_SLACK: Final = 120.0
_KERNEL_THREADS: Final = 512  # of gVisor's kernel, which are processes of the machine like any other

RUN_LABEL: Final = "codegate.run"
OWNER_LABEL: Final = "codegate.owner"
DEADLINE_LABEL: Final = "codegate.deadline"
JOB_LABEL: Final = "codegate.job"


@dataclass(frozen=True)
class DockerEnvironment:
    """An environment's image.

    Attributes:
        image: id of the image, ``sha256:…``; containers are made from it and not from a tag that can move.
        identity: SHA-256 of what the image was made from, the base image's digest among it. The image's own id
            would differ from daemon to daemon, since it covers the time of the build.
        python: minor version of its interpreter.
        variables: names of what the base image would set, and what is taken out of every container.
    """

    image: str
    identity: str
    python: str
    variables: tuple[str, ...] = ()
    layer: Layer | None = None


class DockerBackend:
    """Sandboxes by a Docker daemon, found as the docker command finds it (``DOCKER_HOST`` or the local socket).

    Args:
        run_id: names the run that the containers belong to, in a label.
        runtime: the daemon's container runtime to use, for example ``runsc``; None: its usual one.

    Raises:
        SandboxUnavailable: no daemon answers within three seconds.
        UsageError: it has no such runtime.
    """

    def __init__(self, run_id: str, runtime: str | None = None) -> None:
        self.run_id = run_id
        self.runtime = runtime
        connect(_PING_SECONDS).close()
        self._control = connect(_CONTROL_SECONDS)
        self._builder = connect(_BUILD_SECONDS)
        # Its own client: a stream that is only half read can hold up other calls of the same one.
        self._undertaker = connect(_REMOVE_SECONDS)
        self._bases: dict[str, str] = {}
        self._building = threading.Lock()
        self._fleet = Fleet("codegate-docker-remove", removers=4)
        try:
            self._description = read_daemon(self._control, runtime)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Return ``docker``, or ``docker:RUNTIME`` where the runtime has a kernel of its own."""
        return self._description.name

    def describe(self) -> Description:
        """See ``Backend.describe``."""
        return self._description

    def base_image(self, python: str, wanted: str | None = None) -> str:
        """See ``Backend.base_image``."""
        with self._building, explained("look up the base image"):
            found = wanted is not None and images.can_be_had(self._builder, wanted)
            name = wanted if wanted is not None and found else images.base_image_name(python)
            self._bases[python] = images.pin_image(self._builder, name)
        return self._bases[python]

    def prepare(self, recipe: EnvironmentRecipe) -> DockerEnvironment:
        """See ``Backend.prepare``."""
        with explained("prepare the environment"):
            machine = images.machine_of(str(self._builder.version().get("Arch", "")))
        folder = build_environment(recipe, machine)
        agent = None if recipe.agent is None else build_environment(recipe.agent, machine)
        with self._building, explained("prepare the environment"):
            named = recipe.image or self._bases.get(recipe.python)
            base, variables = images.base_image(self._builder, recipe.python, named)
            if agent is not None:
                base = images.agent_image(self._builder, agent, base)
            image, identity = images.environment_image(self._builder, folder, base)
        return DockerEnvironment(image, f"sha256:{identity}", recipe.python, variables)

    def pin_image(self, name: str) -> str:
        """Return the digest that the image ``name`` has now, pulling it where it is absent; raises as ``prepare``."""
        with self._building, explained("look up the image"):
            return images.pin_image(self._builder, name)

    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        """See ``Backend.open``."""
        if not isinstance(environment, DockerEnvironment):
            message = "the environment was prepared by another backend"
            raise TypeError(message)
        with self._fleet.starting():
            with explained("start a sandbox"):
                container, connection = self._start(environment, limits)
            scope = _scope(limits, self._description)
            return self._fleet.open(container, connection, scope, limits, environment.python)

    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:  # noqa: ARG002
        """See ``Backend.open_build``."""
        raise SandboxError("this kind of sandbox cannot record builds yet.", "Use Docker or bubblewrap.")

    def close(self) -> None:
        """See ``Backend.close``."""
        self._fleet.close(_CLOSE_SECONDS)
        for client in (self._control, self._builder, self._undertaker):
            client.close()

    def sweep(self) -> int:
        """See ``Backend.sweep``."""
        count = 0
        with explained("look for left-over sandboxes"):
            found = self._undertaker.containers(all=True, filters={"label": OWNER_LABEL})
            for container in found:
                if _abandoned(container.get("Labels") or {}):
                    count += self.remove(str(container["Id"]))
        return count

    def reap(self, job: str) -> int:
        """Remove the sandboxes of all steps of the workflow job ``job``, and return how many there were."""
        with explained("look for the job's sandboxes"):
            found = self._undertaker.containers(all=True, filters={"label": f"{JOB_LABEL}={job}"})
            return sum(self.remove(str(container["Id"])) for container in found)

    def _start(self, environment: DockerEnvironment, limits: SandboxLimits) -> "tuple[_Container, AttachedConnection]":
        configuration = _configuration(self._control, environment, limits, self.run_id, self.runtime, self._description)
        created = self._control.create_container_from_config(configuration)  # type: ignore[no-untyped-call]
        container = _Container(str(created["Id"]), self, self._fleet)
        try:
            attached = self._control.attach_socket(
                container.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            connection = AttachedConnection(attached)
            container.connection = connection
            self._control.start(container.id)
        except BaseException:
            container.destroy()
            raise
        return container, connection

    def remove(self, container: str) -> bool:
        """Kill and remove a container; a second try covers a daemon that was busy. Return whether it is gone."""
        from docker.errors import APIError, NotFound  # noqa: PLC0415 - docker takes 0.2 s to import
        from requests.exceptions import RequestException  # noqa: PLC0415

        for _ in range(2):
            try:
                try:
                    self._undertaker.remove_container(container, v=True, force=True)
                except APIError as error:
                    if error.status_code != HTTPStatus.CONFLICT:
                        raise
                    # It removes itself at its end, and is at it.
                    self._undertaker.wait(container, timeout=_REMOVE_SECONDS, condition="removed")
            except NotFound:
                return True
            except (APIError, RequestException, OSError):
                continue
            return True
        return False

    def out_of_memory(self, container: str) -> bool:
        """Return whether the daemon saw the kernel kill in the container for memory.

        The daemon learns of it from the kernel, and on a busy machine later than the stream's end shows here.
        """
        now = int(time.time())
        with contextlib.suppress(Exception):  # only evidence: without it the death stays unexplained
            events = self._undertaker.events(
                since=now - 3600,
                until=now + _EVENT_SECONDS,
                filters={"container": container, "event": "oom"},
                decode=True,
            )
            try:
                return next(iter(events), None) is not None
            finally:
                with contextlib.suppress(Exception):
                    events.close()
        return False


class _Container(Member):
    """One container. Its supervisor counts the kernel's kills for memory from inside."""

    def __init__(self, container: str, backend: DockerBackend, fleet: Fleet) -> None:
        self.id = container
        self.connection: AttachedConnection | None = None
        self._backend = backend
        super().__init__(fleet)

    def kill(self) -> None:
        """See ``Member.kill``: a supervisor ends with its connection."""
        if self.connection is not None:
            self.connection.close()

    def remove(self) -> None:
        """See ``Member.remove``."""
        self._backend.remove(self.id)

    def died_of_memory(self) -> bool:
        """See ``session.Enclosure``."""
        return self._backend.out_of_memory(self.id)

    def post_mortem(self) -> str:
        """See ``session.Enclosure``."""
        said = self.connection.errors.decode("utf-8", "replace").strip() if self.connection else ""
        return f"It said: {said[-1000:]}" if said else "The container or the Docker daemon went away."


def _abandoned(labels: dict[str, str]) -> bool:
    owner = parse_owner(labels.get(OWNER_LABEL, ""))
    if owner is not None and owner.known_dead:
        return True
    try:
        return float(labels.get(DEADLINE_LABEL, "inf")) + _DEADLINE_SLACK < time.time()
    except ValueError:
        return False


def _scope(limits: SandboxLimits, description: Description) -> Scope:
    resource_limits = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": workspace_bytes(limits),
        "RLIMIT_NOFILE": limits.open_files,
    }
    if description.tier != "runsc":  # its kernel has no such limit, and no message queues that it were for
        resource_limits["RLIMIT_MSGQUEUE"] = 0
    return Scope(resource_limits)


def _configuration(
    client: "APIClient",
    environment: DockerEnvironment,
    limits: SandboxLimits,
    run_id: str,
    runtime: str | None,
    description: Description,
) -> dict[str, Any]:
    """Return the container's configuration; the supervisor is its first process and reaps, so no ``init``."""
    from docker.types import Healthcheck, LogConfig, Ulimit  # noqa: PLC0415 - docker takes 0.2 s to import

    disk = workspace_bytes(limits)
    host = client.create_host_config(
        runtime=runtime,
        auto_remove=True,  # a sandbox whose owner was killed goes when its supervisor's time is up
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        network_mode="none",
        extra_hosts={"sandbox": "127.0.0.1"},
        dns=["127.0.0.1"],  # otherwise the addresses of the machine's name servers are to be read inside
        ipc_mode="private",
        read_only=True,
        tmpfs={
            WORKSPACE: _tmpfs(disk, "exec", f"mode=0755,uid={USER_ID},gid={USER_ID}"),
            "/tmp": _tmpfs(temporary_bytes(limits), "noexec", "mode=1777"),  # noqa: S108 - the sandbox's own
            "/dev/shm": _tmpfs(shared_memory_bytes(limits), "noexec", "mode=1777"),  # noqa: S108
        },
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,
        nano_cpus=int(limits.cpus * 1_000_000_000),
        pids_limit=limits.pids + (1 if description.process_limit else _KERNEL_THREADS),  # 1: the supervisor
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
        environment=list(environment.variables),  # without a value: taken out
        user=f"{USER_ID}:{USER_ID}",
        working_dir=WORKSPACE,
        stdin_open=True,
        tty=False,
        detach=False,
        healthcheck=Healthcheck(test=["NONE"]),
        labels={
            RUN_LABEL: run_id,
            OWNER_LABEL: str(current_owner()),
            DEADLINE_LABEL: f"{time.time() + limits.lifetime_seconds:.0f}",
            JOB_LABEL: workflow_job(os.environ),
        },
        host_config=host,
    )
    # One client only: when the harness goes away the supervisor sees the end of its input.
    configuration["StdinOnce"] = True
    return dict(configuration)


def _tmpfs(size: int, execution: str, rest: str) -> str:
    return f"rw,nosuid,nodev,{execution},size={size},nr_inodes={inodes(size)},{rest}"
