"""The part of the supervisor that carries connections.

It carries them from ports of the sandbox to the host, byte for byte, without parsing them, and holds no secret. Like
``supervisor_files.py`` it is sent ahead of ``supervisor.py``.
"""

from __future__ import annotations

import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from codegate.sandbox.supervisor_files import suppress  # noqa: TC004 - its text is above this one in the sandbox
    from codegate.sandbox.supervisor_host import Host

CONNECTIONS = 64  # more wait in the listeners' queues
PIECE = 1 << 16
UNSENT_BYTES = 32 << 20  # what one connection may leave unread before it is cut
AHEAD_BYTES = 8 << 20  # what the host sends on one connection before it waits for the reader inside
TAKEN_BYTES = 1 << 20  # what was read of it is reported so often


class RelayedConnection:
    """A connection from a program inside to the host."""

    def __init__(self, number: int, end: Any) -> None:
        self.number, self.end = number, end
        self.unsent = bytearray()
        self.taken = 0
        self.reads, self.host_closed = True, False

    @property
    def events(self) -> int:
        """Return the poll events to wait for."""
        return (select.POLLIN if self.reads else 0) | (select.POLLOUT if self.unsent else 0)


class RelayPorts:
    """Listening ports on the sandbox's loopback, and their connections.

    A message to the host is ``{"relay": NUMBER}`` with bytes. The first message of a connection opens it and names its
    ``"port"``; ``"closed": true`` means that no more bytes follow. Messages from the host have the same form.
    ``"taken"`` counts the host's bytes that were read since the last ``"taken"``.
    """

    def __init__(self, host: Host, ports: list[int]) -> None:
        import socket  # noqa: PLC0415 - only sandboxes with a relay pay for it

        self.host, self.poll = host, select.poll()
        self.listeners: dict[int, Any] = {}
        for port in ports:
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
            listener.setblocking(False)
            self.listeners[listener.fileno()] = listener
        self.no_delay = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.by_descriptor: dict[int, RelayedConnection] = {}
        self.by_number: dict[int, RelayedConnection] = {}
        self.opened = 0

    def attach(self, poll: Any) -> None:
        """Register the listeners, and later connections, with ``poll``."""
        self.poll = poll
        for listener in self.listeners:
            poll.register(listener, select.POLLIN)

    def serve(self, descriptor: int, event: int) -> None:
        """Handle a poll event of a listener or a connection."""
        if descriptor in self.listeners:
            if len(self.by_number) < CONNECTIONS:
                self._accept(self.listeners[descriptor])
            return
        connection = self.by_descriptor.get(descriptor)
        if connection is None:
            return
        if event & select.POLLOUT:
            self._write(connection)
        if event & (select.POLLIN | select.POLLHUP | select.POLLERR) and descriptor in self.by_descriptor:
            self._read(connection)

    def take(self, header: dict[str, Any], data: memoryview) -> None:
        """Deliver a message of the host to its connection."""
        connection = self.by_number.get(header["relay"])
        if connection is None:
            return
        connection.unsent += data
        connection.host_closed = connection.host_closed or bool(header.get("closed"))
        if len(connection.unsent) > UNSENT_BYTES:
            self._drop(connection)
        else:
            self._write(connection)

    def close(self) -> None:
        """Close the ports and all connections."""
        for connection in list(self.by_number.values()):
            self._drop(connection)
        for listener in self.listeners.values():
            listener.close()

    def _accept(self, listener: Any) -> None:
        try:
            end, _ = listener.accept()
        except OSError:
            return
        end.setblocking(False)
        with suppress(OSError):
            end.setsockopt(*self.no_delay)
        connection = RelayedConnection(self.opened, end)
        self.opened += 1
        self.by_descriptor[end.fileno()] = self.by_number[connection.number] = connection
        self.poll.register(end.fileno(), connection.events)
        if len(self.by_number) == CONNECTIONS:
            for waiting in self.listeners:
                self.poll.unregister(waiting)
        self.host.send({"relay": connection.number, "port": listener.getsockname()[1]})

    def _read(self, connection: RelayedConnection) -> None:
        try:
            data = connection.end.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)
            return
        if data:
            self.host.send({"relay": connection.number}, data)
        elif connection.reads:
            connection.reads = False
            self.host.send({"relay": connection.number, "closed": True})
            self._wait_for_more(connection)
        else:
            self._drop(connection)

    def _write(self, connection: RelayedConnection) -> None:
        try:
            while connection.unsent:
                sent = connection.end.send(connection.unsent[:PIECE])
                del connection.unsent[:sent]
                connection.taken += sent
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        if connection.taken >= TAKEN_BYTES:
            self.host.send({"relay": connection.number, "taken": connection.taken})
            connection.taken = 0
        self._wait_for_more(connection)

    def _wait_for_more(self, connection: RelayedConnection) -> None:
        if connection.host_closed and not connection.unsent:
            self._drop(connection)
        else:
            self.poll.modify(connection.end.fileno(), connection.events)

    def _drop(self, connection: RelayedConnection) -> None:
        if len(self.by_number) == CONNECTIONS:
            for listener in self.listeners:
                self.poll.register(listener, select.POLLIN)
        descriptor = connection.end.fileno()
        self.poll.unregister(descriptor)
        del self.by_descriptor[descriptor], self.by_number[connection.number]
        connection.end.close()
        if not connection.host_closed:
            self.host.send({"relay": connection.number, "closed": True, "gone": True})
