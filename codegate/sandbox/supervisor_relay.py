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


class Carried:
    """A connection from inside, with unsent bytes of the host."""

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
        self.by_descriptor: dict[int, Carried] = {}
        self.by_number: dict[int, Carried] = {}
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
        carried = self.by_descriptor.get(descriptor)
        if carried is None:
            return
        if event & select.POLLOUT:
            self._write(carried)
        if event & (select.POLLIN | select.POLLHUP | select.POLLERR) and descriptor in self.by_descriptor:
            self._read(carried)

    def take(self, header: dict[str, Any], data: memoryview) -> None:
        """Deliver a message of the host to its connection."""
        carried = self.by_number.get(header["relay"])
        if carried is None:
            return
        carried.unsent += data
        carried.host_closed = carried.host_closed or bool(header.get("closed"))
        if len(carried.unsent) > UNSENT_BYTES:
            self._drop(carried)
        else:
            self._write(carried)

    def close(self) -> None:
        """Close the ports and all connections."""
        for carried in list(self.by_number.values()):
            self._drop(carried)
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
        carried = Carried(self.opened, end)
        self.opened += 1
        self.by_descriptor[end.fileno()] = self.by_number[carried.number] = carried
        self.poll.register(end.fileno(), carried.events)
        if len(self.by_number) == CONNECTIONS:
            for waiting in self.listeners:
                self.poll.unregister(waiting)
        self.host.send({"relay": carried.number, "port": listener.getsockname()[1]})

    def _read(self, carried: Carried) -> None:
        try:
            data = carried.end.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._drop(carried)
            return
        if data:
            self.host.send({"relay": carried.number}, data)
        elif carried.reads:
            carried.reads = False
            self.host.send({"relay": carried.number, "closed": True})
            self._wait_for_more(carried)
        else:
            self._drop(carried)

    def _write(self, carried: Carried) -> None:
        try:
            while carried.unsent:
                sent = carried.end.send(carried.unsent[:PIECE])
                del carried.unsent[:sent]
                carried.taken += sent
        except BlockingIOError:
            pass
        except OSError:
            self._drop(carried)
            return
        if carried.taken >= TAKEN_BYTES:
            self.host.send({"relay": carried.number, "taken": carried.taken})
            carried.taken = 0
        self._wait_for_more(carried)

    def _wait_for_more(self, carried: Carried) -> None:
        if carried.host_closed and not carried.unsent:
            self._drop(carried)
        else:
            self.poll.modify(carried.end.fileno(), carried.events)

    def _drop(self, carried: Carried) -> None:
        if len(self.by_number) == CONNECTIONS:
            for listener in self.listeners:
                self.poll.register(listener, select.POLLIN)
        descriptor = carried.end.fileno()
        self.poll.unregister(descriptor)
        del self.by_descriptor[descriptor], self.by_number[carried.number]
        carried.end.close()
        if not carried.host_closed:
            self.host.send({"relay": carried.number, "closed": True, "gone": True})
