"""Sandboxes as bubblewrap processes, which need no daemon.

A sandbox sees the system's ``/usr``, the interpreter and toolchains read-only, and has a writable copy of a recorded
build. It has its own user, process, network, mount, IPC and host name namespaces and no capabilities. Total memory and
the number of processes are limited by a control group; where none can be made, limits per process apply.
"""

import contextlib
import os
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Final

from typing_extensions import override

from codegate.sandbox import control_group
from codegate.sandbox.bubblewrap_layers import (
    BuildFolder,
    MountableLayer,
    Overlays,
    WritableFolders,
    bind_mounts,
    builds_folder,
    find_overlays,
    machine_mounts,
    unpacked_folder,
)
from codegate.sandbox.bubblewrap_program import (
    MASKED_FILES,
    bubblewrap_version,
    command_scope,
    contents,
    find_bubblewrap,
    group_parents,
    isolation,
    system_links,
)
from codegate.sandbox.cache import layers_folder, sweep_folders
from codegate.sandbox.contract import (
    Backend,
    BuildSandbox,
    Description,
    EnvironmentRecipe,
    Layer,
    NotInstalled,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from codegate.sandbox.fleet import Fleet, Member
from codegate.sandbox.layers import PARTS
from codegate.sandbox.remote.link import JOIN, masks
from codegate.sandbox.session import BESIDE, SandboxSession
from codegate.sandbox.sockets import SocketConnection
from codegate.sandbox.toolchains import (
    Interpreter,
    check_system,
    find_interpreter,
    machine_toolchains,
    toolchain_variables,
)
from codegate.sandbox.tools import Tools, tools_for
from codegate.sandbox.watched import WatchedBuild

_CLOSE_SECONDS: Final = 10.0


@dataclass(frozen=True)
class BubblewrapEnvironment:
    """The host folders that a sandbox sees, with mount arguments.

    Attributes:
        mounts: arguments that mount files of the machine read-only.
        masks: arguments that mount something empty over some of these files.
        beside: folders of further recorded builds on the host, by their names below ``/opt/codegate``.
        mountable: the recorded build's files; None for the sandbox of a new build.
        toolchains: variables that locate the machine's toolchains; the build's own variables override them.
    """

    tools: Tools
    interpreter: Interpreter
    mounts: tuple[str, ...]
    masks: tuple[str, ...]
    beside: tuple[tuple[str, Path], ...] = ()
    mountable: MountableLayer | None = None
    toolchains: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        """Return the layer's SHA-256; without a layer, that of ``tools``."""
        if self.mountable is not None:
            return self.mountable.layer.sha256
        return self.tools.content

    @property
    def layer(self) -> Layer | None:
        """Return the recorded build; None for a new build's environment."""
        return None if self.mountable is None else self.mountable.layer


class BubblewrapBackend(Backend):
    """Runs each sandbox as a ``bwrap`` process.

    Raises:
        SandboxUnavailable: bubblewrap is absent, too old, or not allowed to make namespaces here.
    """

    name = "bwrap"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._program = find_bubblewrap()
        self._parents = group_parents()
        # The kernel ties a sandbox's life to the *thread* that started it: one thread starts them all and
        # lives as long as the backend.
        self._starter = ThreadPoolExecutor(1, "codegate-bwrap-start")
        self._fleet = Fleet("codegate-bwrap-remove", removers=4)

    @override
    def describe(self) -> Description:
        version = bubblewrap_version(self._program)
        grouped = self._parents is not None
        weaknesses = (
            "no control group can be made here: memory is limited for each process and not in total",
            "no control group can be made here: the number of files is not limited",
        )
        return Description(
            name=self.name,
            tier="bubblewrap",
            engine=version,
            runtime=version,
            kernel=os.uname().release,
            totals=grouped,
            inode_limit=False,  # bubblewrap cannot limit a tmpfs's inodes; files use up memory instead
            weaknesses=() if grouped else weaknesses,
        )

    @override
    def base_image(self, python: str, wanted: str | None = None) -> None:
        """Return None: bubblewrap uses this machine's interpreters."""

    @override
    def prepare(self, recipe: EnvironmentRecipe) -> BubblewrapEnvironment:
        environment = _machine(recipe)
        beside = tuple((name, unpacked_folder(layer, self._program)) for name, layer in recipe.beside)
        return replace(
            environment, beside=beside, mountable=MountableLayer(recipe.required_layer, self._program, self._overlays)
        )

    @override
    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        if not isinstance(environment, BubblewrapEnvironment) or environment.mountable is None:
            message = "the environment was prepared by another backend"
            raise TypeError(message)
        with self._fleet.starting():
            return self._open(environment, limits, environment.mountable.writable_folders(limits))

    @override
    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        with self._fleet.starting():
            environment = _machine(recipe)
            folder = BuildFolder(recipe.layer, self._program)
            writable = WritableFolders(bind_mounts(folder.path), file_bytes=limits.disk_bytes)
            session = self._open(environment, limits, writable, folder)
            return WatchedBuild(session, limits.disk_bytes, folder.written, folder.tars)

    def _open(
        self,
        environment: BubblewrapEnvironment,
        limits: SandboxLimits,
        writable: WritableFolders,
        build: BuildFolder | None = None,
    ) -> SandboxSession:
        """Start a sandbox that has the folders ``writable``.

        The folders of ``build`` are removed when the sandbox ends.
        """
        group: control_group.ControlGroup | None = None
        try:
            if self._parents is not None:
                whole = replace(limits, memory_bytes=limits.memory_bytes + writable.memory_bytes)
                group = control_group.ControlGroup(self._parents, whole)
            argv = [*writable.mount_overlays, self._program, *_arguments(environment, limits, writable)]
            enclosure, connection = self._start(argv, group, writable.current, build)
        except BaseException:
            if group is not None:
                group.remove()
            if build is not None:
                build.remove()
            raise
        scope = command_scope(environment, limits, grouped=group is not None, file_bytes=writable.file_bytes)
        return self._fleet.open(enclosure, connection, scope, limits)

    @override
    def close(self) -> None:
        self._fleet.close(_CLOSE_SECONDS)
        self._starter.shutdown()

    def sweep(self) -> int:
        """Remove dead runs' folders and control groups; return the count."""
        found = sweep_folders(builds_folder()) + sweep_folders(layers_folder())
        return found + (0 if self._parents is None else control_group.sweep(self._parents))

    @cached_property
    def _overlays(self) -> Overlays | None:
        return find_overlays()

    def _start(
        self, argv: list[str], group: control_group.ControlGroup | None, current: Path, build: BuildFolder | None
    ) -> "tuple[_Process, SocketConnection]":
        if group is not None:
            argv = ["/bin/sh", "-c", JOIN, "sh", *group.member_files, "--", *argv]
        ours, theirs = socket.socketpair()
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the sandbox
        try:
            process = self._starter.submit(_spawn, argv, theirs, errors, current).result()
        except BaseException as error:
            ours.close()
            errors.close()
            if isinstance(error, OSError):
                raise SandboxError(f"cannot start bubblewrap: {error}.") from error
            raise
        finally:
            theirs.close()
        return _Process(process, errors, group, build, self._fleet), SocketConnection(ours)


class _Process(Member):
    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        errors: IO[bytes],
        group: control_group.ControlGroup | None,
        build: BuildFolder | None,
        fleet: Fleet,
    ) -> None:
        self._process = process
        self._errors = errors
        self._group = group
        self._build = build
        self._kills = 0
        super().__init__(fleet)

    def kill(self) -> None:
        self._process.kill()

    def remove(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_SECONDS)
        if self._group is not None:
            self._group.remove()
        if self._build is not None:
            self._build.remove()
        self._errors.close()

    def out_of_memory_kills(self) -> int:
        self._kills = 0 if self._group is None else self._group.out_of_memory_kills()
        return self._kills

    def died_of_memory(self) -> bool:
        return self._kills < self.out_of_memory_kills()

    def post_mortem(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            text = self._errors.read(1 << 16).decode("utf-8", "replace").strip()
            if text:
                return f"bubblewrap says: {text[-1000:]}"
        return ""


def _spawn(argv: list[str], stream: socket.socket, errors: IO[bytes], current: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        argv, stdin=stream.fileno(), stdout=stream.fileno(), stderr=errors, env={}, cwd=current, start_new_session=True
    )


def _machine(recipe: EnvironmentRecipe) -> BubblewrapEnvironment:
    """Return an environment of this machine's files, without a layer."""
    if recipe.image is not None:
        raise NotInstalled(
            f"the environment needs the image {recipe.image}; bubblewrap has none.", "Use Docker: --sandbox docker."
        )
    interpreter = find_interpreter(recipe.python)
    if interpreter is None:
        raise NotInstalled(
            f"there is no Python {recipe.python} on this machine for bubblewrap sandboxes.",
            f"Install it (for example `uv python install {recipe.python}`), or use Docker.",
        )
    check_system(recipe.system)
    toolchains = machine_toolchains(recipe.toolchains)
    return BubblewrapEnvironment(
        tools_for(),
        interpreter,
        *machine_mounts(interpreter, toolchains),
        toolchains=tuple(toolchain_variables(toolchains).items()),
    )


def _arguments(environment: BubblewrapEnvironment, limits: SandboxLimits, writable: WritableFolders) -> list[str]:
    tools = environment.tools
    arguments = [*isolation(), *environment.mounts, *system_links()]
    for file in sorted(tools.etc.iterdir()):
        arguments += ["--ro-bind", str(file), f"/etc/{file.name}"]
    arguments += environment.masks
    for name, folder in environment.beside:
        for part in PARTS:
            arguments += ["--ro-bind", str(folder / part), f"{BESIDE}/{name}/{part}"]
    supervisor = [*writable.copy_layer, str(environment.interpreter.executable)]
    return arguments + contents(tools.programs, supervisor, [*masks(MASKED_FILES)], limits, writable.mounts)
