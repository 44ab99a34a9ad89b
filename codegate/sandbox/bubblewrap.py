"""Sandboxes as bubblewrap processes: the backend for machines where no Docker daemon answers.

The sandbox sees the system's ``/usr`` and the interpreter read-only, two folders of the environment, and two
tmpfs of its own; it has its own user, process, network, mount, IPC and host name namespaces and no
capabilities. Memory and process totals need a control group; where none can be made, limits per process apply.
"""

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Final

from codegate.sandbox import control_group
from codegate.sandbox.bubblewrap_layers import (
    BuildFolder,
    DiskWatch,
    copied,
    copy_layer,
    copying,
    has_overlay,
    machine,
    overlay,
    sweep_builds,
    unpacked,
    writable,
)
from codegate.sandbox.bubblewrap_program import (
    bubblewrap_version,
    command_scope,
    contents,
    find_bubblewrap,
    group_parents,
    isolation,
    system_links,
)
from codegate.sandbox.contract import (
    BuildSandbox,
    Command,
    Completed,
    Description,
    EnvironmentRecipe,
    Layer,
    PreparedEnvironment,
    Sandbox,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
)
from codegate.sandbox.environment import EnvironmentFolder, build_environment
from codegate.sandbox.fleet import Fleet, Member
from codegate.sandbox.interpreter import Interpreter, find_interpreter
from codegate.sandbox.remote_link import JOIN
from codegate.sandbox.session import AGENT, LIBRARIES, PYTHON, SandboxSession
from codegate.sandbox.sizes import workspace_bytes
from codegate.sandbox.sockets import SocketConnection
from codegate.sandbox.system_files import binds, hidden, masked, shown
from codegate.sandbox.toolchains import check_system, machine_toolchains, toolchain_variables

_CLOSE_SECONDS: Final = 10.0


@dataclass(frozen=True)
class BubblewrapEnvironment:
    """An environment's folders with the interpreter that reads them, and the arguments that show and hide files.

    Attributes:
        agent: the folder of the agent that works there, if one does.
        recorded: the environment is a recorded build, or is for one: the interpreter is shown at its own place.
        layer: what a recorded build left.
        lower: where it is unpacked; None: it is copied into each sandbox.
        toolchains: variables that find the machine's toolchains; those of the layer win.
    """

    folder: EnvironmentFolder
    interpreter: Interpreter
    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    agent: EnvironmentFolder | None = None
    recorded: bool = False
    layer: Layer | None = None
    lower: Path | None = None
    toolchains: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        """Return the SHA-256 of what is in the folders, or of the recorded build."""
        return self.folder.content if self.layer is None else self.layer.sha256


class BubblewrapBackend:
    """Sandboxes by ``bwrap``.

    Args:
        run_id: names the run that the sandboxes belong to.

    Raises:
        SandboxUnavailable: bubblewrap is absent, too old, or not allowed to make namespaces here.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._program = find_bubblewrap()
        self._parents = group_parents()
        # The kernel ties a sandbox's life to the *thread* that started it: one thread starts them all and
        # lives as long as the backend.
        self._starter = ThreadPoolExecutor(1, "codegate-bwrap-start")
        self._fleet = Fleet("codegate-bwrap-remove", removers=4)

    @property
    def name(self) -> str:
        """Return ``bwrap``."""
        return "bwrap"

    def describe(self) -> Description:
        """See ``Backend.describe``."""
        version = bubblewrap_version(self._program)
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
            totals=self.has_control_groups,
            inode_limit=False,  # of their own: bubblewrap cannot give one to a tmpfs; the files take memory
            weaknesses=() if self.has_control_groups else weaknesses,
        )

    @property
    def has_control_groups(self) -> bool:
        """Return whether memory and process totals are enforced, not only limits per process."""
        return self._parents is not None

    def base_image(self, python: str, wanted: str | None = None) -> None:
        """See ``Backend.base_image``."""

    def prepare(self, recipe: EnvironmentRecipe) -> BubblewrapEnvironment:
        """See ``Backend.prepare``."""
        interpreter = _interpreter(recipe)
        agent = None if recipe.agent is None else build_environment(recipe.agent)
        if recipe.layer is not None:
            environment = _recorded(recipe, interpreter)
            lower = unpacked(recipe.layer, self._program) if self._has_overlay else None
            return replace(environment, agent=agent, layer=recipe.layer, lower=lower)
        masks: list[str] = []
        for place in hidden(interpreter).values():
            masks += ["--size", "4096", "--tmpfs", place, "--remount-ro", place]
        return BubblewrapEnvironment(
            build_environment(recipe), interpreter, tuple(binds(shown(interpreter))), tuple(masks), agent
        )

    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        """See ``Backend.open``."""
        if not isinstance(environment, BubblewrapEnvironment):
            message = "the environment was prepared by another backend"
            raise TypeError(message)
        with self._fleet.starting():
            return self._open(environment, limits)

    def _open(self, environment: BubblewrapEnvironment, limits: SandboxLimits) -> Sandbox:
        layer, size = environment.layer, workspace_bytes(limits)
        if layer is None:
            return self._session(environment, limits, 0)
        if environment.lower is not None:
            before, place = overlay(environment.lower, size)
            return self._session(environment, limits, size, writable(place), before, environment.lower)
        more = copied(layer)
        roomy = replace(limits, memory_bytes=limits.memory_bytes + more)
        session = self._session(environment, roomy, size + more, copying(layer, size + more))
        try:
            copy_layer(session)
        except BaseException:
            session.close()
            raise
        return session

    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        """See ``Backend.open_build``."""
        with self._fleet.starting():
            environment = _recorded(recipe, _interpreter(recipe))
            folder = BuildFolder(recipe.layer, self._program)
            size = limits.disk_bytes
            session = self._session(environment, limits, size, writable(folder.path), build=folder)
            return _Build(session, folder, size)

    def _session(
        self,
        environment: BubblewrapEnvironment,
        limits: SandboxLimits,
        file_bytes: int,
        places: Sequence[str] = (),
        before: Sequence[str] = (),
        current: Path = Path("/"),
        build: BuildFolder | None = None,
    ) -> SandboxSession:
        """Start a sandbox.

        Args:
            environment: what it shows.
            limits: of it.
            file_bytes: size of its largest file.
            places: bubblewrap's arguments for what can be written there; none: the usual.
            before: the command line that bubblewrap's follows.
            current: its current folder.
            build: the folder that is removed with the sandbox, or at once where it does not start.
        """
        group: control_group.ControlGroup | None = None
        try:
            if self._parents is not None:
                group = control_group.ControlGroup(self._parents, limits)
            argv = [*before, self._program, *_arguments(environment, limits, places)]
            enclosure, connection = self._start(argv, group, current, build)
        except BaseException:
            if group is not None:
                group.remove()
            if build is not None:
                build.remove()
            raise
        layer = environment.layer
        if environment.recorded:
            variables = dict((*environment.toolchains, *(layer.variables if layer else ())))
        else:
            variables = {} if environment.interpreter.prefix.is_relative_to("/usr") else dict(LIBRARIES)
        scope = command_scope(
            variables,
            limits,
            grouped=group is not None,
            file_bytes=file_bytes,
            interpreter="" if layer is None else layer.python,
        )
        python = "" if environment.recorded else environment.folder.python
        return self._fleet.open(enclosure, connection, scope, limits, python)

    def close(self) -> None:
        """See ``Backend.close``."""
        self._fleet.close(_CLOSE_SECONDS)
        self._starter.shutdown()

    def sweep(self) -> int:
        """See ``Backend.sweep``; without control groups the kernel itself leaves nothing behind."""
        return sweep_builds() + (0 if self._parents is None else control_group.sweep(self._parents))

    @cached_property
    def _has_overlay(self) -> bool:
        return has_overlay()

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


class _Build:
    """A ``BuildSandbox``: a session, and the folder on disk that it writes in."""

    def __init__(self, session: SandboxSession, folder: BuildFolder, limit: int) -> None:
        self._session, self._folder, self._limit = session, folder, limit

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        """See ``Sandbox.put``."""
        self._session.put(files)

    def run(self, command: Command) -> Completed:
        """See ``Sandbox.run``."""
        watch = DiskWatch(self._folder.path, self._limit, self._session.close)
        try:
            with watch:
                done = self._session.run(command)
        except SandboxClosed:
            if not watch.exceeded:
                raise
        if watch.exceeded:
            self.close()
            raise SandboxError(
                f"the build takes more than {self._limit / (1 << 30):.1f} GiB on disk, and was ended.",
                "Let set-up download and build less.",
            )
        return done

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """See ``BuildSandbox.freeze``."""
        return self._folder.freeze(tracked, archive)

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._session.close()


class _Process(Member):
    """One ``bwrap`` process and its control group."""

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
        """See ``Member.kill``."""
        self._process.kill()

    def remove(self) -> None:
        """See ``Member.remove``."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_SECONDS)
        if self._group is not None:
            self._group.remove()
        if self._build is not None:
            self._build.remove()
        self._errors.close()

    def out_of_memory_kills(self) -> int:
        """See ``session.Enclosure``."""
        self._kills = 0 if self._group is None else self._group.out_of_memory_kills()
        return self._kills

    def died_of_memory(self) -> bool:
        """See ``session.Enclosure``."""
        return self._kills < self.out_of_memory_kills()

    def post_mortem(self) -> str:
        """See ``session.Enclosure``."""
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


def _interpreter(recipe: EnvironmentRecipe) -> Interpreter:
    if recipe.image is not None:
        raise SandboxError(
            f"the environment needs the image {recipe.image}; bubblewrap has none.", "Use Docker: --sandbox docker."
        )
    interpreter = find_interpreter(recipe.python)
    if interpreter is None:
        raise SandboxError(
            f"there is no Python {recipe.python} on this machine for bubblewrap sandboxes.",
            f"Install it (for example `uv python install {recipe.python}`), or use Docker.",
        )
    return interpreter


def _recorded(recipe: EnvironmentRecipe, interpreter: Interpreter) -> BubblewrapEnvironment:
    """Return what a recorded build and its sandboxes see of this machine."""
    check_system(recipe.system)
    toolchains = machine_toolchains(recipe.toolchains)
    seen, masks = machine(interpreter, toolchains)
    return BubblewrapEnvironment(
        build_environment(recipe),
        interpreter,
        tuple(seen),
        tuple(masks),
        recorded=True,
        toolchains=tuple(toolchain_variables(toolchains).items()),
    )


def _arguments(environment: BubblewrapEnvironment, limits: SandboxLimits, places: Sequence[str]) -> list[str]:
    interpreter, folder = environment.interpreter, environment.folder
    arguments = [*isolation(), *environment.shown, *system_links()]
    if not environment.recorded:
        for name in ("ld.so.cache", "alternatives"):
            if Path("/etc", name).exists():
                arguments += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    for file in sorted(folder.etc.iterdir()):
        arguments += ["--ro-bind", str(file), f"/etc/{file.name}"]
    prefix, executable = interpreter.prefix, interpreter.executable
    if not environment.recorded and not prefix.is_relative_to("/usr"):
        arguments += ["--ro-bind", str(prefix), PYTHON]
        executable = Path(PYTHON) / executable.relative_to(prefix)
        arguments += [part for name, value in LIBRARIES.items() for part in ("--setenv", name, value)]
    arguments += environment.hidden
    if environment.agent is not None:
        for part in (environment.agent.site, environment.agent.packages):
            arguments += ["--ro-bind", str(part), f"{AGENT}/{part.name}"]
    return arguments + contents(folder.site.parent, str(executable), masked(), limits, places)
