"""An HTTP server on this machine; a function says what it answers."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme


@dataclass(frozen=True)
class Request:
    """A request as it arrived; the names of its headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else {}

    @property
    def host(self) -> str:
        return self.headers.get("host", "").partition(":")[0]


@dataclass
class Reply:
    """What the server answers: a body with a status, or bytes that ``raw`` writes itself.

    ``upgraded`` speaks another protocol on the connection. ``cut``: it hangs up after so many bytes of the body.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    raw: Callable[[Any], None] | None = None
    upgraded: Callable[[socket.socket], None] | None = None
    cut: int | None = None


def as_json(document: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps(document).encode(), status, {"Content-Type": "application/json", **named})


def tls_context(authority: trustme.CA, host: str) -> ssl.SSLContext:
    """Return what ends TLS as ``host``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context


class Server:
    """Answers each request in a thread of its own with what ``respond`` returns; None closes the connection."""

    def __init__(self, respond: Callable[[Request], Reply | None], host: str = "127.0.0.1") -> None:
        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        raw += self.rfile.read(size)
                        self.rfile.readline()
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = respond(Request(self.command, self.path, headers, raw))
                if reply is None:
                    return
                with contextlib.suppress(OSError):  # the client has heard enough
                    if reply.raw is not None:
                        reply.raw(self.wfile)
                        return
                    if reply.upgraded is not None:
                        reply.upgraded(self.connection)
                        self.close_connection = True
                        return
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(reply.body[: reply.cut])

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_CONNECT = _answer  # noqa: N815

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{self._server.server_address[0]!s}:{self._server.server_port}"

    def encrypt(self, authority: trustme.CA) -> str:
        """Speak TLS from now on; returns the address."""
        context = tls_context(authority, str(self._server.server_address[0]))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        return self.url.replace("http://", "https://")

    def serve(self, connection: socket.socket) -> None:
        """Answer the requests of another connection, to its end."""
        with contextlib.suppress(OSError):
            self._server.RequestHandlerClass(connection, connection.getpeername(), self._server)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
