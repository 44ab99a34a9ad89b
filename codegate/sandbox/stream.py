"""The host's end of a supervisor's stream.

``supervisor_host.py`` describes the wire format. Code in the sandbox can forge messages, so each signature is
checked.
"""

import contextlib
import hmac
import importlib.util
import json
import marshal
import secrets
import selectors
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from codegate.sandbox.contract import SandboxError
from codegate.sandbox.relay import Relay, carry_connections
from codegate.sandbox.sockets import Ready, SocketConnection

BOOTSTRAP: Final = """\
import marshal, os
import _frozen_importlib_external as loader
def take(n):
    b = b""
    while len(b) < n:
        c = os.read(0, n - len(b))
        if not c:
            os._exit(0)
        b += c
    return b
code, text = [take(int.from_bytes(take(8), "big")) for _ in range(2)]
same = code[:4] == loader.MAGIC_NUMBER
exec(marshal.loads(code[4:]) if same else compile(text, "supervisor", "exec"), {"__name__": "__main__"})
"""
"""Program for ``python3 -I -S -B -c``. It reads the supervisor's byte code and source from standard input and runs it.

A Python of another version than the host's compiles the source, which doubles its start time.
"""

HEADER_BYTES: Final = 1 << 16
MAC_BYTES: Final = 32

_FRAME = struct.Struct(">QQ")
_LENGTH = struct.Struct(">I")


class StreamBroken(SandboxError):
    """The stream ended, timed out, or carried a forged message."""


@cache
def supervisor_source() -> bytes:
    """Return the supervisor's source files, joined to one program."""
    folder = resources.files("codegate.sandbox")
    names = ("supervisor_files.py", "supervisor_host.py", "supervisor_relay.py", "supervisor.py")
    first, *rest = (folder.joinpath(name).read_bytes() for name in names)
    return b"\n\n".join((first, *(text.replace(b"from __future__ import annotations\n", b"", 1) for text in rest)))


@cache
def supervisor_program() -> bytes:
    """Return the supervisor's byte code and source, which ``BOOTSTRAP`` reads."""
    source = supervisor_source()
    code = marshal.dumps(compile(source, "supervisor", "exec", dont_inherit=True))
    parts = (importlib.util.MAGIC_NUMBER + code, source)
    return b"".join(struct.pack(">Q", len(part)) + part for part in parts)


@dataclass(frozen=True)
class Reply:
    """A reply of the supervisor, its signature checked."""

    header: dict[str, Any]
    blob: bytes


class SupervisorStream:
    """Sends requests to a supervisor and checks its signed replies."""

    def __init__(self, connection: SocketConnection) -> None:
        self._connection = connection
        self._key = secrets.token_bytes(32)
        self._sequence = 0

    def start(self, hello: dict[str, Any], timeout: float) -> Reply:
        """Send the supervisor its program and settings; return its reply.

        ``hello`` are the settings.

        Raises:
            StreamBroken: the supervisor did not start in ``timeout`` seconds.
        """
        first = _message({**hello, "key": self._key.hex()}, b"")
        deadline = time.monotonic() + timeout
        with _explained("the sandbox's supervisor could not be started"):
            self._connection.send(supervisor_program() + first, deadline)
        return self.receive(HEADER_BYTES, deadline)

    def request(
        self, header: dict[str, Any], blob: bytes, *, reply_bytes: int, timeout: float, relay: Relay | None = None
    ) -> Reply:
        """Send a request; return the reply of at most ``reply_bytes``.

        ``blob`` is the request's raw bytes. Sending and waiting may take ``timeout`` seconds together. Meanwhile
        ``relay`` serves the command's connections.

        Raises:
            StreamBroken: the stream ended, or a message has a wrong signature or number.
        """
        deadline = time.monotonic() + timeout
        self.send(header, blob, deadline)
        limit = reply_bytes + HEADER_BYTES
        if relay is None:
            return self.receive(limit, deadline)
        try:
            return carry_connections(self, relay, limit, deadline)
        except (OSError, RuntimeError) as error:  # no descriptor or thread was left for a connection
            raise StreamBroken(f"the sandbox's connections cannot be carried: {error}.") from error

    def close(self) -> None:
        """Close the stream, which ends the supervisor and its processes."""
        self._connection.close()

    def fileno(self) -> int:
        """Return the descriptor, which is readable when data arrives."""
        return self._connection.fileno()

    def wait(self, selector: selectors.BaseSelector, deadline: float) -> Ready:
        """Return the sockets of ``selector`` that are ready.

        ``selector`` has to include this stream.

        Raises:
            StreamBroken: no socket was ready before ``deadline``.
        """
        with _explained():
            return self._connection.wait(selector, deadline)

    def send(self, header: dict[str, Any], blob: bytes, deadline: float) -> None:
        """Send a message: its header and raw bytes.

        Raises:
            StreamBroken: the message could not be sent before ``deadline``.
        """
        with _explained():
            self._connection.send(_message(header, blob), deadline)

    def receive(self, limit: int, deadline: float) -> Reply:
        """Return the supervisor's next message, of at most ``limit`` bytes.

        Raises:
            StreamBroken: the stream ended, or the message is too long or has a wrong signature or number.
        """
        with _explained():
            prefix = self._connection.receive(_FRAME.size, deadline)
            sequence, length = _FRAME.unpack(prefix)
            if sequence != self._sequence or not _LENGTH.size <= length <= limit:
                raise StreamBroken("the sandbox's stream carried a message out of order or over its limit.")
            mac = self._connection.receive(MAC_BYTES, deadline)
            body = self._connection.receive(length, deadline)
        if not hmac.compare_digest(mac, hmac.digest(self._key, prefix + body, "sha256")):
            raise StreamBroken("the sandbox's stream carried a message with a wrong signature.")
        self._sequence += 1
        (size,) = _LENGTH.unpack_from(body)
        return Reply(json.loads(body[_LENGTH.size : _LENGTH.size + size]), body[_LENGTH.size + size :])


def _message(header: dict[str, Any], blob: bytes) -> bytes:
    text = marshal.dumps(header, 2)  # the format of all versions
    return b"".join((struct.pack(">QI", _LENGTH.size + len(text) + len(blob), len(text)), text, blob))


@contextlib.contextmanager
def _explained(what: str = "the sandbox's stream broke") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        late = isinstance(error, TimeoutError)
        reason = "no answer in time" if late else error.strerror or str(error) or "it ended"
        raise StreamBroken(f"{what}: {reason}.") from error
