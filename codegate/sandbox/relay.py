"""The host's end of a command's relay.

A sandbox has no network. Programs in it connect to the relay's ports on the sandbox's loopback. The supervisor's stream
carries the bytes of each connection to a function on the host.
"""

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codegate.sandbox.supervisor_relay import AHEAD_BYTES, PIECE, UNSENT_BYTES

if TYPE_CHECKING:
    from codegate.sandbox.stream import Reply, SupervisorStream

RELAY_PORT: Final = 4180
"""The port of an agent's gateway."""
_STREAM: Final = "stream"
_END: Final = "end"


class Relay:
    """Serves one command's connections to ports of 127.0.0.1.

    Args:
        answers: by port, the function that serves a connection. The function runs in its own thread with a blocking
            socket, and the connection ends when it returns.
    """

    def __init__(self, answers: Mapping[int, Callable[[socket.socket], object]]) -> None:
        self._answers = dict(answers)
        self.ports = list(self._answers)
        self._ender, self.ended = socket.socketpair()

    def end(self) -> None:
        """Kill the command's processes now; callable from any thread, repeatedly."""
        with contextlib.suppress(OSError):
            self._ender.send(b"\0")

    def close(self) -> None:
        """Close the relay's own sockets; connections end with their command."""
        self._ender.close()
        self.ended.close()

    def connect(self, port: int) -> socket.socket:
        """Serve a new connection to ``port``; return the relay's socket."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        given = theirs, self._answers[port]
        threading.Thread(target=self._serve, args=given, name="codegate-relay", daemon=True).start()
        return ours

    @staticmethod
    def _serve(connection: socket.socket, answer: Callable[[socket.socket], object]) -> None:
        with connection, contextlib.suppress(OSError):  # the other end can close the connection at any time
            answer(connection)


@dataclass
class _Connection:
    """A connection between the sandbox and a host function.

    Attributes:
        number: the supervisor's number of the connection.
        end: the relay's socket, which the host function's socket is connected to.
        unread: bytes from the sandbox that are not yet written to ``end``.
        closed_inside: whether the sandbox sends no more bytes.
        ahead: how many bytes were sent that the program inside has not read.
    """

    number: int
    end: socket.socket
    unread: bytearray = field(default_factory=bytearray)
    closed_inside: bool = False
    ahead: int = 0

    @property
    def events(self) -> int:
        reads = selectors.EVENT_READ if self.ahead < AHEAD_BYTES else 0
        return reads | (selectors.EVENT_WRITE if self.unread else 0)


def carry_connections(stream: "SupervisorStream", relay: Relay, limit: int, deadline: float) -> "Reply":
    """Carry a command's connections to its end; return its reply.

    The reply has at most ``limit`` bytes and must come before the monotonic time ``deadline``.

    Raises:
        StreamBroken: the stream ended, or a message has a wrong signature or number.
    """
    with selectors.DefaultSelector() as selector:
        pump = _Pump(stream, relay, selector, deadline)
        try:
            return pump.run(limit)
        finally:
            pump.close()


class _Pump:
    def __init__(
        self, stream: "SupervisorStream", relay: Relay, selector: selectors.BaseSelector, deadline: float
    ) -> None:
        self._stream, self._relay, self._selector, self._deadline = stream, relay, selector, deadline
        self._open: dict[int, _Connection] = {}
        self._newest = -1
        selector.register(stream, selectors.EVENT_READ, _STREAM)
        selector.register(relay.ended, selectors.EVENT_READ, _END)

    def run(self, limit: int) -> "Reply":
        while True:
            for key, events in self._stream.wait(self._selector, self._deadline):
                if key.data == _STREAM:
                    reply = self._stream.receive(limit, self._deadline)
                    if "relay" not in reply.header:
                        return reply
                    self._from_inside(reply)
                elif key.data == _END:
                    self._selector.unregister(self._relay.ended)
                    self._send({"end": True})
                elif key.data.number in self._open:
                    self._from_here(key.data, events)

    def close(self) -> None:
        for connection in self._open.values():
            connection.end.close()

    def _send(self, header: dict[str, Any], data: bytes = b"") -> None:
        self._stream.send({"op": "relay", **header}, data, self._deadline)

    def _from_inside(self, reply: "Reply") -> None:
        number = reply.header["relay"]
        connection = self._open.get(number)
        if connection is None:
            if number <= self._newest:
                return  # a late message for a connection that the host has closed
            self._newest = number
            connection = self._open[number] = _Connection(number, self._relay.connect(reply.header["port"]))
        connection.ahead -= reply.header.get("taken", 0)
        connection.unread += reply.blob
        connection.closed_inside = connection.closed_inside or bool(reply.header.get("closed"))
        if reply.header.get("gone") or len(connection.unread) > UNSENT_BYTES:
            self._drop(connection, notify=not reply.header.get("gone"))
        else:
            self._pass_on(connection)

    def _from_here(self, connection: _Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._pass_on(connection)
        if events & selectors.EVENT_READ and connection.number in self._open:
            try:
                data = connection.end.recv(PIECE)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                connection.ahead += len(data)
                self._send({"relay": connection.number}, data)
                if connection.ahead >= AHEAD_BYTES:
                    self._watch(connection)
            else:
                self._drop(connection, notify=True)

    def _pass_on(self, connection: _Connection) -> None:
        try:
            while connection.unread:
                del connection.unread[: connection.end.send(connection.unread[:PIECE])]
        except BlockingIOError:
            pass
        except OSError:
            connection.unread.clear()
        if connection.closed_inside and not connection.unread:
            with contextlib.suppress(OSError):
                connection.end.shutdown(socket.SHUT_WR)
        self._watch(connection)

    def _watch(self, connection: _Connection) -> None:
        if connection.end in self._selector.get_map():
            self._selector.unregister(connection.end)
        if connection.events:
            self._selector.register(connection.end, connection.events, connection)

    def _drop(self, connection: _Connection, *, notify: bool) -> None:
        if connection.end in self._selector.get_map():
            self._selector.unregister(connection.end)
        del self._open[connection.number]
        connection.end.close()
        if notify:
            self._send({"relay": connection.number, "closed": True})
