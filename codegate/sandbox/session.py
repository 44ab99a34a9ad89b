"""Control a sandbox of any backend over its supervisor's stream."""

import contextlib
import json
import logging
import posixpath
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from typing_extensions import override

from codegate.sandbox.contract import (
    Command,
    Completed,
    FilesRefused,
    PreparedEnvironment,
    Sandbox,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
)
from codegate.sandbox.seccomp import filters
from codegate.sandbox.stream import Reply, StreamBroken, SupervisorStream
from codegate.strict import printable

_LOG: Final = logging.getLogger(__name__)

WORKSPACE: Final = "/workspace"
TOOLS: Final = "/opt/codegate/tools"
BESIDE: Final = "/opt/codegate"
"""Path in sandboxes of a recipe's further builds. Each build has a folder with its name, which holds ``env`` and
``tree``."""
USER_ID: Final = 10001
RECORDS_BYTES: Final = 16 << 20

_LEAST_PYTHON: Final = (3, 9)
_START_SECONDS: Final = 60.0
_PUT_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 30.0  # added to a command's limit for killing and reaping on a busy machine
_CHUNK_BYTES: Final = 4 << 20
_CHUNK_FILES: Final = 2000
_LONG_PART: Final = 80  # the log leaves out longer arguments, such as a program's text

ENVIRONMENT: Final[Mapping[str, str]] = {
    "HOME": "/tmp/home",  # noqa: S108 - a path inside the sandbox
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "CI": "true",
    "OMP_NUM_THREADS": "1",
}
"""The fixed environment of every command, next to PATH. No variable of the host is passed on."""


# Folders in memory count against the memory limit. Together they get at most two thirds of it, so files alone never
# use up the memory, which would end the supervisor.


def workspace_bytes(limits: SandboxLimits) -> int:
    """Return the byte limit of the workspace and its files."""
    return min(limits.disk_bytes, limits.memory_bytes // 2)


def shared_memory_bytes(limits: SandboxLimits) -> int:
    """Return the size of ``/dev/shm`` in bytes."""
    return min(16 << 20, limits.memory_bytes // 16)


def inodes(size: int) -> int:
    """Return the inode limit of a tmpfs of ``size`` bytes."""
    return max(4096, (size >> 20) * 64)


class _OutOfMemory(StreamBroken):
    """The kernel killed the supervisor because memory ran out."""


class Enclosure(ABC):
    """The process, container or machine around a supervisor."""

    @abstractmethod
    def destroy(self) -> None:
        """Kill and remove the sandbox in the background; idempotent."""

    def out_of_memory_kills(self) -> int:
        """Return the number of out-of-memory kills; 0 if unknown."""
        return 0

    @abstractmethod
    def died_of_memory(self) -> bool:
        """Return whether the stream broke because memory ran out."""

    @abstractmethod
    def post_mortem(self) -> str:
        """Return why the supervisor ended; "" if unknown."""


@dataclass(frozen=True)
class Scope:
    """The limits and variables of a backend's commands.

    Attributes:
        resource_limits: names of ``resource.RLIMIT_*`` to values, set for every command.
        environment: variables of every command, on top of ``ENVIRONMENT``.
        near_limit: bytes at which a failed command counts as out of memory; None: only the kernel's reports count.
        interpreter: the project's own Python; empty: the supervisor's.
    """

    resource_limits: Mapping[str, int]
    environment: Mapping[str, str] = field(default_factory=dict)
    near_limit: int | None = None
    interpreter: str = ""


def variables_of(environment: PreparedEnvironment) -> dict[str, str]:
    """Return the variables of a build and its toolchains."""
    layer = environment.layer
    return dict((*environment.toolchains, *(layer.variables if layer else ())))


def scope_of(
    environment: PreparedEnvironment, resource_limits: Mapping[str, int], near_limit: int | None = None
) -> Scope:
    """Return the limits and variables of commands in ``environment``."""
    layer = environment.layer
    return Scope(resource_limits, variables_of(environment), near_limit, layer.python if layer else "")


class SandboxSession(Sandbox):
    """A ``Sandbox`` driven over the stream to its supervisor.

    Raises:
        SandboxError: the supervisor did not start, or its Python is too old.
    """

    def __init__(
        self,
        stream: SupervisorStream,
        enclosure: Enclosure,
        scope: Scope,
        limits: SandboxLimits,
    ) -> None:
        self._stream = stream
        self._enclosure = enclosure
        self._scope = scope
        self._closed = False
        self._closing = threading.Lock()
        hello = {
            "lifetime": limits.lifetime_seconds,
            "limits": dict(scope.resource_limits),
            "filters": filters(),
        }
        with self._watched():
            header = self._stream.start(hello, _START_SECONDS).header
        unarmed = [name for name in ("undumpable", "no_new_privileges", "seccomp") if not header[name]]
        if unarmed:
            self.close()
            raise SandboxError(f"the kernel refused the sandbox's supervisor its protection ({', '.join(unarmed)}).")
        if tuple(header["version"]) < _LEAST_PYTHON:
            self.close()
            version = ".".join(str(part) for part in header["version"][:2])
            raise SandboxError(
                f"the sandbox's python3 is {version}; its supervisor needs 3.9 or newer.",
                "Take an image that has it, or name python3 in `packages` of the recipe.",
            )
        self._python = str(header["python"])

    @override
    def put(self, files: tuple[SandboxFile, ...]) -> None:
        for entries, blob in _chunks(files):
            with self._watched():
                reply = self._stream.request({"op": "put", "files": entries}, blob, reply_bytes=0, timeout=_PUT_SECONDS)
            self._check(reply)

    @override
    def run(self, command: Command) -> Completed:
        request = self._request(command)
        kills, began = self._enclosure.out_of_memory_kills(), time.monotonic()
        try:
            with self._watched():
                reply = self._stream.request(
                    request,
                    command.stdin,
                    reply_bytes=2 * command.output_bytes + RECORDS_BYTES,
                    timeout=command.timeout_seconds + _GRACE_SECONDS,
                    relay=command.relay,
                )
        except _OutOfMemory:
            return replace(KILLED, memory_exceeded=True, wall_seconds=time.monotonic() - began)
        self._check(reply)
        words = printable(" ".join(part if len(part) < _LONG_PART else "…" for part in command.argv))
        _LOG.debug("%s: exit %s, %.2f s", words, reply.header["exit_code"], time.monotonic() - began)
        return self._completed(reply, self._enclosure.out_of_memory_kills() - kills)

    @override
    def close(self) -> None:
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._stream.close()
        self._enclosure.destroy()

    def _request(self, command: Command) -> dict[str, Any]:
        places = {
            "{python}": self._python,
            "{interpreter}": self._scope.interpreter or self._python,
            "{tools}": TOOLS,
            "{workspace}": WORKSPACE,
        }
        if command.records:
            places["{records}"] = "3"
        folder = posixpath.dirname(self._python)
        path = ":".join(dict.fromkeys((folder, "/usr/local/bin", "/usr/bin", "/bin")))
        variables = {"PATH": path, **ENVIRONMENT, **self._scope.environment, **command.environment}
        if not command.argv or any("\0" in text for text in (*command.argv, *variables, *variables.values())):
            message = "a command needs a program, and no NUL in its arguments and variables"
            raise ValueError(message)
        return {
            "op": "run",
            "argv": [places.get(part, part) for part in command.argv],
            "environment": variables,
            "timeout": command.timeout_seconds,
            "output_bytes": command.output_bytes,
            "records": command.records,
            "relay": command.relay.ports if command.relay else [],
        }

    def _completed(self, reply: Reply, kills_seen_outside: int) -> Completed:
        header, sizes = reply.header, reply.header["sizes"]
        stdout, stderr = reply.blob[: sizes[0]], reply.blob[sizes[0] : sizes[0] + sizes[1]]
        ended_badly = header["exit_code"] != 0
        near = self._scope.near_limit
        return Completed(
            exit_code=header["exit_code"],
            signal=header["signal"],
            timed_out=header["timed_out"],
            memory_exceeded=header["out_of_memory_kills"] > 0
            or kills_seen_outside > 0
            or (near is not None and ended_badly and header["peak"] >= near),
            stdout=stdout,
            stderr=stderr,
            truncated=header["truncated"],
            records=reply.blob[sizes[0] + sizes[1] :],
            records_truncated=header["records_truncated"],
            wall_seconds=header["wall"],
            cpu_seconds=header["cpu"],
            peak_memory_bytes=header["peak"],
            unreachable=header["unreachable"],
        )

    def _check(self, reply: Reply) -> None:
        if reply.header.get("ok") is True:
            return
        text = json.dumps(reply.header.get("error", "unknown error"))[:500]
        if reply.header.get("refused"):
            raise FilesRefused(f"the sandbox refused the files: {text}.")
        self.close()
        raise SandboxError(f"the sandbox's supervisor failed: {text}.")

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Close the session if the block fails; explain broken streams."""
        if self._closed:
            raise SandboxClosed("the sandbox was closed.")
        try:
            yield
        except StreamBroken as error:
            if self._closed:
                raise SandboxClosed("the sandbox was closed while a call was under way.") from error
            if self._enclosure.died_of_memory():
                self.close()
                raise _OutOfMemory("the sandbox ran out of memory and is gone.") from error
            reason = self._enclosure.post_mortem()
            self.close()
            raise StreamBroken(f"{error.cause} {reason}".rstrip(), error.remedy) from error
        except BaseException:
            self.close()
            raise


KILLED: Final = Completed(
    exit_code=None,
    signal=9,
    timed_out=False,
    memory_exceeded=False,
    stdout=b"",
    stderr=b"",
    truncated=True,
    records=b"",
    records_truncated=True,
    wall_seconds=0.0,
    cpu_seconds=0.0,
    peak_memory_bytes=0,
)
"""Result of a command for which the kernel or a limit killed the supervisor itself. Only its duration is known, and set
later."""


def _chunks(files: tuple[SandboxFile, ...]) -> Iterator[tuple[list[list[object]], bytes]]:
    """Split ``files`` into messages of at most four megabytes.

    A message is a list of entries [path, mode, size, append], and the bytes of all entries.
    """
    entries: list[list[object]] = []
    parts: list[bytes] = []
    size = 0
    for file in files:
        for start in range(0, max(len(file.data), 1), _CHUNK_BYTES):
            part = file.data[start : start + _CHUNK_BYTES]
            if entries and (size + len(part) > _CHUNK_BYTES or len(entries) >= _CHUNK_FILES):
                yield entries, b"".join(parts)
                entries, parts, size = [], [], 0
            entries.append([file.path, file.mode, len(part), start > 0])
            parts.append(part)
            size += len(part)
    if entries:
        yield entries, b"".join(parts)
