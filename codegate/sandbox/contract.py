"""The interface of sandboxes. Every backend passes ``codegate.sandbox.conformance``.

A sandbox is a throw-away machine with no network, no secrets, no file of the user's and hard limits on time,
memory, processes, disk and output. (Bubblewrap shows it the system's ``/usr`` and the interpreter, read-only.)
Inside it a supervisor runs as PID 1, takes files and commands over one stream and answers over it. Files go in and
are never fetched out; only what the supervisor itself observed comes back.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from codegate.errors import InfrastructureError
from codegate.sandbox import supervisor_files
from codegate.sandbox.relay import Relay


class SandboxError(InfrastructureError):
    """The sandbox, its daemon or its supervisor failed: never the fault of the code inside."""


class SandboxUnavailable(SandboxError):
    """No backend can run here; the remedy says how to get one."""


class NotInstalled(SandboxError):
    """A toolchain, package or image that an environment asks for is not there; the remedy says how to get it."""


class SandboxClosed(SandboxError):
    """The sandbox was closed (by an interrupt or by its owner) while a call was under way."""


class FilesRefused(SandboxError):
    """The files given cannot be put; the fault is in them, and the sandbox lives on.

    A path or a link leaves the workspace, one file is in another's way, or the disk is too small.
    """


@dataclass(frozen=True)
class SandboxLimits:
    """Hard limits of one sandbox, from its start to its end.

    Attributes:
        lifetime_seconds: the supervisor ends itself and everything in it after this long.
        memory_bytes: all processes together where a control group is available, else each process.
        cpus: share of the machine's processors.
        pids: processes and threads.
        disk_bytes: size of the writable tmpfs.
        open_files: descriptors per process.
    """

    lifetime_seconds: float = 900.0
    memory_bytes: int = 1 << 30
    cpus: float = 1.0
    pids: int = 128
    disk_bytes: int = 256 << 20
    open_files: int = 512


@dataclass(frozen=True)
class SandboxFile:
    """A file to put: path relative to the workspace, bytes, and git's mode (link: the target as bytes)."""

    path: str
    data: bytes
    mode: Literal["100644", "100755", "120000"] = "100644"

    @property
    def leads_out(self) -> bool:
        """Return whether it is a link out of the workspace, which sandboxes refuse."""
        try:
            supervisor_files.check_link(self.path.encode("utf-8", "surrogateescape"), self.data)
        except supervisor_files.FilesRefused:
            return self.mode == "120000"
        return False


@dataclass(frozen=True)
class Command:
    """A command to run in the workspace.

    Attributes:
        argv: program and arguments; no shell is involved. ``{python}`` (the supervisor's interpreter),
            ``{interpreter}`` (the project's own where a recorded build has one, else the same), ``{tools}`` (folder
            with ``ruff``) and ``{workspace}``, each as a whole argument, are replaced by the sandbox's own paths.
        stdin: bytes given to the program; its end follows them.
        environment: variables on top of the sandbox's fixed, minimal environment.
        timeout_seconds: wall clock; at its end the whole process tree is killed.
        output_bytes: cap for standard output and for standard error, each.
        records: open a pipe to the supervisor whose descriptor number replaces the argument ``{records}``;
            what the program writes to it comes back as ``Completed.records``.
        relay: answers what the command connects to at the relay's ports of 127.0.0.1; None: nothing listens there.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float = 60.0
    output_bytes: int = 1 << 20
    records: bool = False
    relay: Relay | None = None


@dataclass(frozen=True)
class Completed:
    """What the supervisor saw of a command.

    Attributes:
        exit_code: the exit status, or None when a signal ended it.
        signal: the number of that signal, or None.
        timed_out: the limit ``timeout_seconds`` was hit.
        memory_exceeded: the memory limit was hit by some process of the command.
        stdout: the first ``output_bytes`` bytes.
        stderr: likewise.
        truncated: output, of either stream, went over the cap and the rest was thrown away.
        records: bytes written to the records pipe, up to 16 MiB.
        records_truncated: more than that was written.
        wall_seconds: monotonic time from start to end.
        cpu_seconds: user plus system time of the command and its descendants that were waited for.
        peak_memory_bytes: the largest resident size of a single process among them.
        unreachable: packets to addresses that no route led to, by the kernel's count; None where it does not say.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    memory_exceeded: bool
    stdout: bytes
    stderr: bytes
    truncated: bool
    records: bytes
    records_truncated: bool
    wall_seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    unreachable: int | None = None

    @property
    def ok(self) -> bool:
        """Return whether the command ended by itself with exit status 0."""
        return self.exit_code == 0 and not self.timed_out


@dataclass(frozen=True)
class Toolchain:
    """A tool that set-up and tests need, such as an interpreter or a compiler.

    Attributes:
        name: as recipes have it: ``python``, ``node``, ``go``, ``java``, ``rust``, …
        version: of it, as precise as the recipe says: ``3.13``, ``1.26.2``.
    """

    name: str
    version: str


@dataclass(frozen=True)
class Layer:
    """What a recorded build left. Each sandbox gets it writable and afresh: nothing that a run writes stays.

    Attributes:
        sha256: of the archive.
        archive: tar file on the host; its folder ``env`` is ``/opt/env`` in sandboxes, and what its folder ``tree`` has
            lies in the workspace, beside the files that are put there.
        variables: environment of every command, ``PATH`` among it; those of the command itself win.
        python: the project's own interpreter, as a path in the sandbox; empty: it has none.
    """

    sha256: str
    archive: Path
    variables: tuple[tuple[str, str], ...] = ()
    python: str = ""


@dataclass(frozen=True)
class EnvironmentRecipe:
    """What a prepared environment is made from; equal recipes give interchangeable environments.

    Attributes:
        python: minor version of the interpreter, for example ``3.11``.
        image: base image by digest; None for the usual one.
        beside: what other recorded builds left, by the names of their folders below ``/opt/codegate``: read-only, and
            apart from all that code under test may import. It is the same environment otherwise.
        layer: what a recorded build left; None: one is to be made.
        toolchains: what the machine (or the image) has to show; a recorded build names them.
        system: packages of the system, likewise.
    """

    python: str
    image: str | None = None
    beside: tuple[tuple[str, Layer], ...] = ()
    layer: Layer | None = None
    toolchains: tuple[Toolchain, ...] = ()
    system: tuple[str, ...] = ()

    @property
    def left(self) -> Layer:
        """Return the layer of the recorded build; raise ValueError if there is none."""
        if self.layer is None:
            message = "a sandbox is laid from a recorded build, and none was made"
            raise ValueError(message)
        return self.layer


class PreparedEnvironment(Protocol):
    """An environment that a backend has ready: an image, or a folder."""

    @property
    def identity(self) -> str:
        """Return the SHA-256 of the environment's content, its base image included."""
        ...

    @property
    def layer(self) -> Layer | None:
        """Return the recorded build, or None for the environment of a new build."""
        ...

    @property
    def toolchains(self) -> tuple[tuple[str, str], ...]:
        """Return variables that find the toolchains of a build, in addition to the layer's."""
        ...


@dataclass(frozen=True)
class Description:
    """A backend's parts and what they enforce.

    Attributes:
        name: see ``Backend.name``.
        tier: what contains the code: ``runc``, ``runsc``, ``kata`` or another container runtime, or ``bubblewrap``.
        engine: what manages the sandboxes, with its version.
        runtime: what makes their walls, with its version where that is known.
        kernel: release of the kernel below; a tier with a kernel of its own shows another one inside.
        totals: whether memory and processes are limited in total, and not only each process.
        process_limit: whether processes have a limit of their own, which is an error to whoever runs into it; else
            too many of them take the memory, and end the sandbox.
        inode_limit: likewise for the number of files.
        weaknesses: what it does not promise, a clause each.
    """

    name: str
    tier: str
    engine: str
    runtime: str
    kernel: str
    totals: bool = True
    process_limit: bool = True
    inode_limit: bool = True
    weaknesses: tuple[str, ...] = ()

    @property
    def own_kernel(self) -> bool:
        """Return whether the tier promises that the code inside never talks to the machine's kernel."""
        return self.tier in {"runsc", "kata"}


class Sandbox(Protocol):
    """One live sandbox. Not thread-safe: one caller at a time (``close`` may come from any thread)."""

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        """Write ``files`` below the workspace, replacing what is there.

        Raises:
            FilesRefused: the files themselves are at fault; some may have been written.
            SandboxError: the stream broke.
        """
        ...

    def run(self, command: Command) -> Completed:
        """Run ``command`` to its end or its limit, then kill whatever it left behind.

        Raises:
            SandboxError: the supervisor could not run it (an unknown program is an exit code 127, not this).
        """
        ...

    def close(self) -> None:
        """Kill and remove the sandbox; idempotent, does not wait for the removal."""
        ...


class BuildSandbox(Sandbox, Protocol):
    """A sandbox for a recorded build: a plain user, ``/opt/env`` and the workspace writable, on disk.

    It has no network either: what its commands reach goes through their ``Command.relay``.
    """

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """Write the built files to ``archive`` (see ``Layer.archive``); return its SHA-256.

        Args:
            tracked: paths of the files that were put: they and what was written over them are left out; empty folders
                that were made are not.
            archive: where to; the file must not exist.

        Raises:
            SandboxError: the stream broke, or the disk refused.
        """
        ...


class Backend(Protocol):
    """A kind of sandbox. Thread-safe."""

    @property
    def name(self) -> str:
        """Return the choice that selects it: ``docker``, ``bwrap``, or ``docker:RUNTIME``.

        The last is for runtimes that may give other results, with a kernel of their own. Outcomes from backends of
        different names are not comparable.
        """
        ...

    def describe(self) -> Description:
        """Return a description of the backend's parts.

        Raises:
            SandboxError: the daemon does not say.
        """
        ...

    def base_image(self, python: str, wanted: str | None = None) -> str | None:
        """Choose the base image for a version of Python; return it by digest. None: no image.

        Args:
            python: minor version.
            wanted: an image by content, as this returned it before; it is taken where it can be had, so that a tag
                that has moved since changes nothing.

        Raises:
            SandboxError: there is an image, and it is neither here nor to be had.
        """
        ...

    def prepare(self, recipe: EnvironmentRecipe) -> PreparedEnvironment:
        """Build the environment or find it in the cache; may use the network, as ``open_build`` may.

        Raises:
            SandboxError: it cannot be built; the message holds the tool's last lines.
        """
        ...

    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        """Start a fresh sandbox.

        Raises:
            SandboxError: the daemon or the kernel refused.
        """
        ...

    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        """Start a sandbox for a recorded build.

        Args:
            recipe: its image, toolchains and packages of the system; its layer, if any, is what the build begins with.
            limits: of it; ``disk_bytes`` bounds all that it writes.

        Raises:
            NotInstalled: a toolchain, package or image is not to be had; the remedy names it.
            SandboxError: the daemon or the kernel refused.
        """
        ...

    def close(self) -> None:
        """Kill and remove every sandbox of this backend and wait until they are gone; idempotent."""
        ...

    def sweep(self) -> int:
        """Remove what dead runs left behind and return how many were removed; live runs are untouched."""
        ...
