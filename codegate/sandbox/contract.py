"""The interface of sandboxes, which every backend implements.

A sandbox is a throw-away machine without a network, secrets or the user's files, and with hard limits on time,
memory, processes, disk and output. (Bubblewrap shows it the system's ``/usr`` and the interpreter, read-only.)
Inside it a supervisor runs as PID 1: it takes files and commands over one stream and sends its replies over the same
stream. The host puts files in and never fetches any; only the supervisor's own observations come back.
``codegate.sandbox.conformance`` tests a backend.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from codegate.errors import InfrastructureError
from codegate.sandbox import supervisor_files
from codegate.sandbox.relay import Relay


class SandboxError(InfrastructureError):
    """The sandbox, daemon or supervisor failed, never the code inside."""


class SandboxUnavailable(SandboxError):
    """No backend works on this machine; the remedy suggests one."""


class NotInstalled(SandboxError):
    """A toolchain, package or image of an environment is missing."""


class Unreachable(SandboxError):
    """A package index or registry does not answer."""


class SandboxClosed(SandboxError):
    """The sandbox was closed before or during a call."""


class FilesRefused(SandboxError):
    """The sandbox refused files because of the files themselves.

    A path or a link leaves the workspace, a path is a file and a folder at once, or the disk is too small. The sandbox
    stays usable.
    """


@dataclass(frozen=True)
class SandboxLimits:
    """Hard limits of one sandbox.

    Attributes:
        lifetime_seconds: the supervisor ends the sandbox after this long.
        memory_bytes: limit of all processes together; without control groups, of each process.
        cpus: most seconds of processor time per second.
        pids: number of processes and threads.
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
    """A file to write into a sandbox.

    Attributes:
        path: relative to the workspace.
        data: content; of a link, the target.
        mode: git's mode.
    """

    path: str
    data: bytes
    mode: Literal["100644", "100755", "120000"] = "100644"

    @property
    def leads_out(self) -> bool:
        """Return whether the file links out of the workspace."""
        if self.mode == "120000":
            try:
                supervisor_files.check_link(self.path.encode("utf-8", "surrogateescape"), self.data)
            except supervisor_files.FilesRefused:
                return True
        return False


@dataclass(frozen=True)
class Command:
    """A command to run in the workspace.

    Attributes:
        argv: program and arguments; no shell is involved. Some arguments are replaced by a path in the sandbox:
            ``{python}`` (the supervisor's interpreter), ``{interpreter}`` (the project's own if a recorded build has
            one, else the supervisor's), ``{tools}`` (folder with ``ruff``), ``{workspace}``.
        stdin: the program's whole standard input.
        environment: variables on top of the sandbox's fixed, minimal environment.
        timeout_seconds: wall clock; at its end the whole process tree is killed.
        output_bytes: cap for standard output and for standard error, each.
        records: open a pipe to the supervisor whose descriptor number replaces the argument ``{records}``; what the
            program writes to it comes back as ``Completed.records``.
        relay: serves, on the host, the command's connections to some ports of 127.0.0.1; None: nothing listens there.
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
    """The supervisor's observations of one command.

    Attributes:
        exit_code: the exit status, or None when a signal ended it.
        signal: the number of that signal, or None.
        timed_out: whether the limit ``timeout_seconds`` was hit.
        memory_exceeded: whether a process of the command hit the memory limit.
        stdout: the first ``output_bytes`` bytes of standard output.
        stderr: the first ``output_bytes`` bytes of standard error.
        truncated: whether either output went over the cap; the rest was thrown away.
        records: bytes written to the records pipe, up to 16 MiB.
        records_truncated: whether more was written to it.
        wall_seconds: monotonic time from start to end.
        cpu_seconds: user plus system time of the command and its descendants that were waited for.
        peak_memory_bytes: the largest resident size of one of these processes.
        unreachable: packets to addresses without a route, by the kernel's count; None if the kernel does not count.
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
        """Return whether the command exited with 0 in time."""
        return self.exit_code == 0 and not self.timed_out


@dataclass(frozen=True)
class Toolchain:
    """A tool for set-up and tests, such as a compiler.

    Attributes:
        name: as in recipes: ``python``, ``node``, ``go``, ``java``, ``rust``, …
        version: as precise as the recipe gives it: ``3.13``, ``1.26.2``.
    """

    name: str
    version: str


@dataclass(frozen=True)
class Layer:
    """The files of a recorded build.

    Each sandbox gets its own writable copy of the files, so one run's writes never reach another run.

    Attributes:
        sha256: SHA-256 of the archive.
        archive: tar file on the host. Its folder ``env`` is ``/opt/env`` in sandboxes. The content of its folder
            ``tree`` lies in the workspace, beside the files that are put there.
        variables: environment of every command, with ``PATH``; the command's own variables override them.
        python: the project's own interpreter, as a path in the sandbox; empty: it has none.
    """

    sha256: str
    archive: Path
    variables: tuple[tuple[str, str], ...] = ()
    python: str = ""


@dataclass(frozen=True)
class EnvironmentRecipe:
    """Everything from which a backend prepares an environment.

    Environments of equal recipes are interchangeable.

    Attributes:
        python: minor version of the interpreter, for example ``3.11``.
        image: base image by digest; None: the backend's default.
        beside: layers of further recorded builds, by the names of their folders below ``/opt/codegate``. These layers
            are read-only, code under test cannot import from them, and they do not change the environment's identity.
        layer: the recorded build; None: a build is about to make it.
        toolchains: tools that the machine or the image must have.
        system: system packages that the machine or the image must have.
    """

    python: str
    image: str | None = None
    beside: tuple[tuple[str, Layer], ...] = ()
    layer: Layer | None = None
    toolchains: tuple[Toolchain, ...] = ()
    system: tuple[str, ...] = ()

    @property
    def required_layer(self) -> Layer:
        """Return the layer; raise ValueError without one."""
        if self.layer is None:
            message = "a sandbox is laid from a recorded build, and none was made"
            raise ValueError(message)
        return self.layer


class PreparedEnvironment(Protocol):
    """An environment that a backend can open sandboxes on."""

    @property
    def identity(self) -> str:
        """Return the SHA-256 of the content, base image included."""
        ...

    @property
    def layer(self) -> Layer | None:
        """Return the recorded build; None for a new build's environment."""
        ...

    @property
    def toolchains(self) -> tuple[tuple[str, str], ...]:
        """Return variables that locate the toolchains.

        The layer's own variables are not included.
        """
        ...


OWN_KERNEL: Final = ("runsc", "kata")
"""Tiers whose sandboxes have a kernel of their own."""


@dataclass(frozen=True)
class Description:
    """What runs a backend's sandboxes, and which limits it enforces.

    Attributes:
        name: see ``Backend.name``.
        tier: kind of isolation: ``runc``, ``runsc``, ``kata`` or another container runtime, or ``bubblewrap``.
        engine: what manages the sandboxes, with its version.
        runtime: what isolates them, with its version if known.
        kernel: release of the machine's kernel. In a tier with its own kernel, sandboxes show another release.
        totals: whether memory and processes are limited in total, and not only for each process.
        process_limit: whether the number of processes has a limit of its own. Without it, too many processes use up the
            memory and end the sandbox.
        inode_limit: whether the number of files has its own limit.
        weaknesses: guarantees that the backend does not give, a clause each.
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
        """Return whether sandboxes have a kernel apart from the machine's."""
        return self.tier in OWN_KERNEL


class Sandbox(Protocol):
    """One live sandbox.

    Not thread-safe: one caller at a time, except that any thread may call ``close``.
    """

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        """Write ``files`` below the workspace, over existing ones.

        Raises:
            FilesRefused: the files themselves are at fault; some may have been written.
            SandboxError: the stream broke.
        """
        ...

    def run(self, command: Command) -> Completed:
        """Run ``command`` to its end or limit; return the observations.

        Processes that it leaves behind are killed.

        Raises:
            SandboxError: the supervisor could not run it. (For an unknown program it returns exit code 127 instead.)
        """
        ...

    def close(self) -> None:
        """Kill the sandbox and remove it in the background; idempotent."""
        ...


class BuildSandbox(Sandbox, Protocol):
    """A sandbox that makes a recorded build.

    Its commands run as a plain user, with ``/opt/env`` and the workspace writable on disk. The sandbox has no network;
    commands reach hosts through their ``Command.relay``.
    """

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """Write the built files to ``archive``; return its SHA-256.

        ``Layer.archive`` describes the archive's form.

        Args:
            tracked: paths of the files that were put into the sandbox. They are left out, even if a command overwrote
                them. New empty folders are kept.
            archive: a file that does not exist yet.

        Raises:
            SandboxError: the stream broke, or the archive cannot be written.
        """
        ...


class Backend(Protocol):
    """Starts sandboxes of one kind. Thread-safe."""

    @property
    def name(self) -> str:
        """Return the value of ``--sandbox`` that selects the backend.

        Examples are ``docker``, ``bwrap``, and ``docker:RUNTIME`` for a runtime with its own kernel, which can give
        other results. Outcomes from backends of different names are not comparable.
        """
        ...

    def describe(self) -> Description:
        """Return the backend's engine, runtime and limits.

        Raises:
            SandboxError: the daemon does not answer.
        """
        ...

    def base_image(self, python: str, wanted: str | None = None) -> str | None:
        """Return the digest of a Python version's base image.

        None if this backend has no images.

        Args:
            python: minor version.
            wanted: a digest that an earlier call returned. That image is used if available, even if the tag has moved
                since.

        Raises:
            SandboxError: the image is not here and cannot be pulled.
        """
        ...

    def prepare(self, recipe: EnvironmentRecipe) -> PreparedEnvironment:
        """Return the environment, built now or found in the cache.

        This can use the network.

        Raises:
            SandboxError: the environment cannot be built; the message has the last lines of the tool that failed.
        """
        ...

    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        """Start a fresh sandbox.

        Raises:
            SandboxError: the sandbox could not be started.
        """
        ...

    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        """Start a sandbox for a recorded build.

        Args:
            recipe: image, toolchains and system packages of the sandbox. If the recipe has a layer, the build continues
                that layer.
            limits: the sandbox's; ``disk_bytes`` bounds all that the build writes.

        Raises:
            NotInstalled: a toolchain, package or image is not available; the remedy names it.
            SandboxError: the sandbox could not be started.
        """
        ...

    def close(self) -> None:
        """Remove every sandbox and wait until they are gone; idempotent."""
        ...

    def sweep(self) -> int:
        """Remove dead runs' sandboxes and files; return their number."""
        ...
