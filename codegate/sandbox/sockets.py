"""Connections to a supervisor over a socket."""

import contextlib
import selectors
import socket
import struct
import threading
import time
from typing import Any, Final, TypeAlias

_PART: Final = 1 << 20
_CHANNEL: Final = struct.Struct(">BxxxI")
_STANDARD_OUTPUT: Final = 1
_ERROR_BYTES: Final = 1 << 14


Ready: TypeAlias = list[tuple[selectors.SelectorKey, int]]


class SocketConnection:
    """A byte stream to a supervisor, in both directions.

    Any thread may call ``close``, which ends a blocked call.
    """

    def __init__(self, raw: socket.socket) -> None:
        self._raw = raw
        self._busy = threading.Lock()  # keeps ``close`` from closing a descriptor that a call waits on

    def send(self, data: bytes, deadline: float) -> None:
        """Send ``data`` before the monotonic time ``deadline``, or raise OSError."""
        with self._busy:
            self._raw.settimeout(_remaining(deadline))
            self._raw.sendall(data)

    def receive(self, count: int, deadline: float) -> bytes:
        """Return exactly ``count`` bytes.

        Raises:
            OSError: the stream ended, or ``deadline`` passed.
        """
        parts = []
        while count:
            with self._busy:
                self._raw.settimeout(_remaining(deadline))
                part = self._raw.recv(min(count, _PART))
            if not part:
                raise ConnectionError("it ended")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def wait(self, selector: selectors.BaseSelector, deadline: float) -> Ready:
        """Wait for a socket of ``selector``; return the ready ones.

        ``selector`` has to include this connection.

        Raises:
            OSError: none was ready before ``deadline``.
        """
        with self._busy:
            if self.fileno() < 0:
                raise ConnectionError("it was closed")
            read_ahead = _read_ahead(self._raw)
            found = selector.select(0 if read_ahead else _remaining(deadline))
        if read_ahead:
            return [(selector.get_key(self.fileno()), selectors.EVENT_READ)]
        if not found:
            raise TimeoutError("no answer in time")
        return found

    def fileno(self) -> int:
        """Return the descriptor, which is readable when data arrives."""
        return self._raw.fileno()

    def close(self, *around: Any) -> None:
        """Close the connection and its wrappers ``around``; idempotent."""
        with contextlib.suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)
        with self._busy:
            for part in (*around, self._raw):
                with contextlib.suppress(OSError, ValueError):  # a file closed before its buffer raises
                    part.close()


class AttachedConnection(SocketConnection):
    """The byte stream to a supervisor in a Docker container.

    Input is plain bytes. Output comes in the frames of ``POST /containers/{id}/attach`` in the Docker Engine API: a
    byte for the channel, three zero bytes, a big-endian length. The first bytes of the error channel are kept for
    messages.
    """

    def __init__(self, attached: Any) -> None:
        super().__init__(getattr(attached, "_sock", attached))
        self._attached = attached  # keeps the response, and with it the socket, alive
        self._buffer = bytearray()
        self.errors = b""

    def receive(self, count: int, deadline: float) -> bytes:
        """Return exactly ``count`` bytes of standard output."""
        while len(self._buffer) < count:
            channel, length = _CHANNEL.unpack(super().receive(_CHANNEL.size, deadline))
            data = super().receive(length, deadline)
            if channel == _STANDARD_OUTPUT:
                self._buffer += data
            elif len(self.errors) < _ERROR_BYTES:
                self.errors += data[:_ERROR_BYTES]
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def wait(self, selector: selectors.BaseSelector, deadline: float) -> Ready:
        """Wait for a socket of ``selector``; return the ready ones.

        This connection counts as ready if it has buffered output.
        """
        if self._buffer:
            return [(selector.get_key(self.fileno()), selectors.EVENT_READ)]
        return super().wait(selector, deadline)

    def close(self, *around: Any) -> None:
        """Close the connection and its HTTP response."""
        own = (getattr(self._attached, "_response", None), self._attached)
        super().close(*(part for part in (*around, *own) if part is not None))


def _read_ahead(raw: Any) -> int:
    """Return how many decrypted bytes TLS holds back.

    These bytes do not make the descriptor readable.
    """
    return int(raw.pending()) if hasattr(raw, "pending") else 0


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("no answer in time")
    return remaining
