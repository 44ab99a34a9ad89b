"""Sandboxes as containers of a Docker daemon.

An environment is an image made of a base image and two folders; no build step runs anything. Files and commands go over
one attached stream, and only the daemon's API is used: no host path is mounted, so the daemon may be another machine's,
or codegate itself may run in a container that has the daemon's socket.
"""

import contextlib
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final

from typing_extensions import override

from codegate.durable import digest
from codegate.sandbox import images, layer_images
from codegate.sandbox.contract import (
    Backend,
    BuildSandbox,
    Description,
    EnvironmentRecipe,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from codegate.sandbox.daemon import connect, explain_docker_errors, read_daemon
from codegate.sandbox.docker_container import (
    DEADLINE_LABEL,
    JOB_LABEL,
    OWNER_LABEL,
    DockerEnvironment,
    command_limits,
    container_configuration,
    container_folders,
    container_labels,
)
from codegate.sandbox.fleet import Fleet, Member
from codegate.sandbox.layers import Entry, tar_blocks
from codegate.sandbox.ownership import is_dead_owner
from codegate.sandbox.session import SandboxSession, scope_of
from codegate.sandbox.sockets import AttachedConnection
from codegate.sandbox.tools import Tools, tools_for, uv_program
from codegate.sandbox.watched import WatchedBuild, WatchedSandbox

_CONTROL_SECONDS: Final = 60
_REMOVE_SECONDS: Final = 20
_BUILD_SECONDS: Final = 900
_LAY_SECONDS: Final = 4 * _BUILD_SECONDS  # age from which other runs remove a container that is being filled
_PING_SECONDS: Final = 3
_EVENT_SECONDS: Final = 5
_CLOSE_SECONDS: Final = 15.0
_DEADLINE_SLACK: Final = 120.0
_WATCHED: Final = (
    "the daemon's disk has no quota: what recorded builds write to it is measured once a second, without open files "
    "that were removed and without the number of files",
)


class DockerBackend(Backend):
    """Runs sandboxes as containers of the docker command's daemon.

    ``runtime`` is one of the daemon's container runtimes, such as ``runsc``; None: the daemon's default.

    Raises:
        SandboxUnavailable: no daemon answers within three seconds.
        UsageError: the daemon has no such runtime.
    """

    def __init__(self, run_id: str, runtime: str | None = None) -> None:
        self.run_id = run_id
        self.runtime = runtime
        connect(_PING_SECONDS).close()
        self._control = connect(_CONTROL_SECONDS)
        self._builder = connect(_BUILD_SECONDS)
        # Removals have their own client, because a half-read stream can block other calls of the same client.
        self._undertaker = connect(_REMOVE_SECONDS)
        self._bases: dict[str, str] = {}
        self._has_quota: bool | None = None  # whether the daemon has disk quotas; None: unknown
        self._building = threading.Lock()
        self._fleet = Fleet("codegate-docker-remove", removers=4)
        try:
            self._description = read_daemon(self._control, runtime)
            with explain_docker_errors("say what it is"):
                self._processors = float(self._control.info().get("NCPU") or 1)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Return ``docker``; ``docker:RUNTIME`` for a runtime with its own kernel."""
        return self._description.name

    @override
    def describe(self) -> Description:
        weaknesses = self._description.weaknesses + (_WATCHED if self._has_quota is False else ())
        return replace(self._description, weaknesses=weaknesses)

    @override
    def base_image(self, python: str, wanted: str | None = None) -> str:
        with self._building, explain_docker_errors("look up the base image"):
            found = wanted is not None and images.is_available(self._builder, wanted)
            name = wanted if wanted is not None and found else images.base_image_name(python)
            self._bases[python] = images.pin_image(self._builder, name)
        return self._bases[python]

    @override
    def prepare(self, recipe: EnvironmentRecipe) -> DockerEnvironment:
        layer = recipe.required_layer
        bare, tools = self._without_layers(recipe)
        labels = container_labels(self.run_id, _LAY_SECONDS)
        with self._building, explain_docker_errors("prepare the environment"):
            image = bare.image
            for name, other in recipe.beside:
                image = layer_images.image_with_other_build(self._builder, image, name, other, labels)
            image = layer_images.layered_image(self._builder, tools, image, layer, labels)
        return replace(bare, image=image, identity=f"sha256:{digest([bare.identity, layer.sha256])}", layer=layer)

    def _without_layers(self, recipe: EnvironmentRecipe) -> tuple[DockerEnvironment, Tools]:
        tools = tools_for(self._machine())
        python = next((one.version for one in recipe.toolchains if one.name == "python"), recipe.python)
        minor = ".".join(python.split(".")[:2])
        with self._building, explain_docker_errors("prepare the environment"):
            base = images.base_image(self._builder, minor, recipe.image or self._bases.get(minor))
            image = layer_images.system_image(self._builder, base, recipe.system)
            variables = tuple(sorted(images.image_variables(self._builder, image).items()))
        # The image's id is not used: it covers the time when packages were installed, so it differs from daemon to
        # daemon.
        identity = digest([images.LAYOUT, tools.content, base, sorted(set(recipe.system))])
        return DockerEnvironment(image, identity, toolchains=variables), tools

    def _machine(self) -> str:
        with explain_docker_errors("prepare the environment"):
            return images.machine_of(str(self._builder.version().get("Arch", "")))

    def pin_image(self, name: str) -> str:
        """Return the image ``name``'s current digest, pulled if absent."""
        with self._building, explain_docker_errors("look up the image"):
            return images.pin_image(self._builder, name)

    @override
    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        if not isinstance(environment, DockerEnvironment):
            message = "the environment was prepared by another backend"
            raise TypeError(message)
        container, session = self._open(environment, limits)
        return WatchedSandbox(session, limits.disk_bytes, partial(self._written, container))

    @override
    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        environment, tools = self._without_layers(recipe)
        if recipe.layer is not None:
            environment = replace(self.prepare(recipe), layer=None)  # the layer's variables are only for tests
        given = layer_images.machine_entries(tools, uv_program(self._machine()))
        container, session = self._open(environment, limits, given)
        written, built = partial(self._written, container), partial(container_folders, container)
        return WatchedBuild(session, limits.disk_bytes, written, built)

    def _open(
        self, environment: DockerEnvironment, limits: SandboxLimits, given: Iterable[Entry] | None = None
    ) -> tuple[str, SandboxSession]:
        """Start a container; return its id and session.

        The entries ``given`` are unpacked into the container before its start.
        """
        with self._fleet.starting():
            with explain_docker_errors("start a sandbox"):
                container, connection = self._start(environment, limits, given)
            scope = scope_of(environment, command_limits(limits, self._description))
            return container.id, self._fleet.open(container, connection, scope, limits)

    def _written(self, container: str) -> int:
        with explain_docker_errors("say how much a sandbox has written"):
            found = self._control.containers(size=True, filters={"id": container})
        return int(found[0].get("SizeRw") or 0) if found else 0

    @override
    def close(self) -> None:
        self._fleet.close(_CLOSE_SECONDS)
        for client in (self._control, self._builder, self._undertaker):
            client.close()

    @override
    def sweep(self) -> int:
        count = 0
        with explain_docker_errors("look for left-over sandboxes"):
            found = self._undertaker.containers(all=True, filters={"label": OWNER_LABEL})
            for container in found:
                if _abandoned(container.get("Labels") or {}):
                    count += self.remove(str(container["Id"]))
        return count

    def reap(self, job: str) -> int:
        """Remove a workflow job's sandboxes; return their number."""
        with explain_docker_errors("look for the job's sandboxes"):
            found = self._undertaker.containers(all=True, filters={"label": f"{JOB_LABEL}={job}"})
            return sum(self.remove(str(container["Id"])) for container in found)

    def _start(
        self, environment: DockerEnvironment, limits: SandboxLimits, given: Iterable[Entry] | None
    ) -> "tuple[_Container, AttachedConnection]":
        container = _Container(self._create(environment, limits), self, self._fleet)
        try:
            if given is not None:
                self._control.put_archive(container.id, "/", tar_blocks(given))
            attached = self._control.attach_socket(
                container.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            connection = AttachedConnection(attached)
            container.connection = connection
            self._run(container.id)
        except BaseException:
            container.destroy()
            raise
        return container, connection

    def _create(self, environment: DockerEnvironment, limits: SandboxLimits) -> str:
        from docker.errors import APIError  # noqa: PLC0415 - docker takes 0.2 s to import

        quota = self._has_quota is not False
        limits = replace(limits, cpus=min(limits.cpus, self._processors))  # the daemon refuses more CPUs than it has
        configuration = container_configuration(
            self._control,
            environment,
            limits,
            container_labels(self.run_id, limits.lifetime_seconds),
            self.runtime,
            self._description,
            quota=quota,
        )
        try:
            created = self._control.create_container_from_config(configuration)  # type: ignore[no-untyped-call]
        except APIError as error:
            if not quota or "storage" not in str(error.explanation):
                raise
            self._has_quota = False
            return self._create(environment, limits)
        self._has_quota = self._has_quota or quota
        return str(created["Id"])

    def _run(self, container: str) -> None:
        from docker.errors import APIError  # noqa: PLC0415 - docker takes 0.2 s to import

        try:
            self._control.start(container)
        except APIError as error:
            if "python3" not in str(error.explanation):
                raise
            raise SandboxError(
                "the base image has no python3, which the sandbox's supervisor needs.",
                "Take an image that has it, or name python3 in `packages` of the recipe.",
            ) from error

    def remove(self, container: str) -> bool:
        """Kill and remove a container; return whether it is gone.

        Removal is tried twice, because the daemon can be busy.
        """
        from docker.errors import APIError, NotFound  # noqa: PLC0415 - docker takes 0.2 s to import
        from requests.exceptions import RequestException  # noqa: PLC0415

        for _ in range(2):
            try:
                try:
                    self._undertaker.remove_container(container, v=True, force=True)
                except APIError as error:
                    if error.status_code != HTTPStatus.CONFLICT:
                        raise
                    # Conflict: the container has ended and the daemon is removing it already (``auto_remove``).
                    self._undertaker.wait(container, timeout=_REMOVE_SECONDS, condition="removed")
            except NotFound:
                return True
            except (APIError, RequestException, OSError):
                continue
            return True
        return False

    def out_of_memory(self, container: str) -> bool:
        """Return whether the daemon saw an out-of-memory kill.

        The call waits a moment, because on a busy machine the daemon learns of a kill after the end of the stream.
        """
        now = int(time.time())
        with contextlib.suppress(Exception):  # the events are only evidence; without them the end stays unexplained
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
    def __init__(self, container: str, backend: DockerBackend, fleet: Fleet) -> None:
        self.id = container
        self.connection: AttachedConnection | None = None
        self._backend = backend
        super().__init__(fleet)

    def kill(self) -> None:
        # The supervisor ends when its connection is closed.
        if self.connection is not None:
            self.connection.close()

    def remove(self) -> None:
        self._backend.remove(self.id)

    def died_of_memory(self) -> bool:
        return self._backend.out_of_memory(self.id)

    def post_mortem(self) -> str:
        said = self.connection.errors.decode("utf-8", "replace").strip() if self.connection else ""
        return f"It said: {said[-1000:]}" if said else "The container or the Docker daemon went away."


def _abandoned(labels: dict[str, str]) -> bool:
    if is_dead_owner(labels.get(OWNER_LABEL, "")):
        return True
    try:
        return float(labels.get(DEADLINE_LABEL, "inf")) + _DEADLINE_SLACK < time.time()
    except ValueError:
        return False
