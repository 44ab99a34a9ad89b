"""A server on this machine that speaks the two APIs' wire formats, faults included."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server says: a body with a status, or bytes written by hand."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    raw: Callable[[Any], None] | None = None


@dataclass
class Received:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def as_json(document: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps(document).encode(), status, {"Content-Type": "application/json", **named})


class WireServer:
    """Answers every POST with the next reply, the last one for ever."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.replies: list[Reply] = []
        self.received: list[Received] = []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                outer.received.append(Received(self.path, dict(self.headers), {}))
                self.send_error(404)

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length) or b"{}")
                outer.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                reply = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                with contextlib.suppress(OSError):
                    if reply.raw is not None:
                        reply.raw(self.wfile)
                        return
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{self._server.server_address[0]!s}:{self._server.server_port}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def wire_server(*replies: Reply, host: str = "127.0.0.1") -> Iterator[WireServer]:
    server = WireServer(host)
    server.replies = list(replies)
    try:
        yield server
    finally:
        server.close()


def chat_answer(**changes: Any) -> dict[str, Any]:
    """Return a Chat Completions answer; ``message``/``choice`` update the inner objects."""
    message = {"role": "assistant", "content": "Hello.", **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **changes.pop("choice", {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "local-model",
        "choices": [choice],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        **changes,
    }


def messages_answer(**changes: Any) -> dict[str, Any]:
    """Return a Messages API answer."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "local-model",
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 3},
        **changes,
    }
