"""Serve HTTP/1.1 on one connection from a sandbox.

An agent's gateway and fake services use it, on the host. h11 parses strictly; this module limits sizes and times.
"""

import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import h11

MAX_HEAD_BYTES: Final = 64 << 10
MAX_BODY_BYTES: Final = 24 << 20
_PIECE: Final = 1 << 16


@dataclass(frozen=True)
class HttpRequest:
    """A parsed HTTP request.

    Header names are in lower case; of a repeated header, only the last value is kept.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class BodyBudget:
    """A limit on the bytes of one sandbox's requests. Thread-safe.

    The bodies of all requests in progress count.
    """

    def __init__(self, most: int) -> None:
        self._left, self._lock = most, threading.Lock()

    def reserve(self, size: int) -> bool:
        """Reserve ``size`` bytes (negative: release); return whether they fit."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True


class HttpConnection:
    """The server's side of an HTTP connection."""

    def __init__(
        self, connection: socket.socket, max_body_bytes: int = MAX_BODY_BYTES, room: BodyBudget | None = None
    ) -> None:
        self._socket, self._max_body_bytes = connection, max_body_bytes
        self._room, self._held = room or BodyBudget(max_body_bytes), 0
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)

    def requests(self) -> Iterator[HttpRequest]:
        """Yield the requests until the client closes the connection.

        A malformed or too large request gets an error answer and is the last.
        """
        try:
            while (request := self._request()) is not None:
                yield request
                del request
                self._give_back()
                if self._http.our_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                self.reply(error.error_status_hint, b"", "text/plain", [("connection", "close")])
        finally:
            self._give_back()

    def reply(self, status: int, body: bytes, content_type: str, headers: Iterable[tuple[str, str]] = ()) -> None:
        """Send a complete answer to the current request."""
        self._send_head(status, content_type, [("content-length", str(len(body))), *headers])
        self._send(h11.Data(body))
        self._send(h11.EndOfMessage())

    def begin(self, content_type: str) -> None:
        """Begin an answer of unknown length: call ``send``, then ``finish``."""
        self._send_head(200, content_type, [("transfer-encoding", "chunked")])

    def send(self, data: bytes) -> None:
        """Send a piece of the answer."""
        self._send(h11.Data(data))

    def finish(self) -> None:
        """End the answer that ``begin`` began."""
        self._send(h11.EndOfMessage())

    def _give_back(self) -> None:
        self._room.reserve(-self._held)
        self._held = 0

    def _request(self) -> HttpRequest | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            match self._http.next_event():
                case h11.NEED_DATA:
                    if self._http.they_are_waiting_for_100_continue:
                        self._send(h11.InformationalResponse(status_code=100, headers=[]))
                    self._http.receive_data(self._socket.recv(_PIECE))
                case h11.Request() as head:
                    pass
                case h11.Data(data=data):
                    if not self._room.reserve(len(data)):
                        raise h11.RemoteProtocolError("the bodies under way are too large", error_status_hint=413)
                    self._held += len(data)
                    body += data
                    if len(body) > self._max_body_bytes:
                        raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
                case h11.EndOfMessage() if head is not None:
                    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
                    path, _, query = head.target.decode("latin-1").partition("?")
                    return HttpRequest(head.method.decode("latin-1"), path, query, headers, bytes(body))
                case _:
                    return None

    def _send_head(self, status: int, content_type: str, headers: list[tuple[str, str]]) -> None:
        self._send(h11.Response(status_code=status, headers=[("content-type", content_type), *headers]))

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._socket.sendall(data)
