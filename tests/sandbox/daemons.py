"""A Docker daemon behind a relay on TCP, which may change what is asked of it: a remote one, or one that forgets."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Change = Callable[[dict[str, Any]], None]
"""Changes the body of a request to make a container."""


def daemon_socket() -> str:
    """Return the path of the daemon's socket."""
    return (os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock").removeprefix("unix://")


@contextmanager
def relay(change: Change | None = None) -> Iterator[str]:
    """Give the address (``tcp://…``) under which the daemon is reached for the length of a ``with`` block."""
    path = daemon_socket()
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    every: list[socket.socket] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = listener.accept()
                daemon = socket.socket(socket.AF_UNIX)
                every.extend((ours, daemon))
                daemon.connect(path)
                threading.Thread(target=_requests, args=(ours, daemon, change), daemon=True).start()
                threading.Thread(target=_copy, args=(daemon, ours), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # Closing alone would leave the thread in accept(), where it would answer whoever gets this port next.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        accepting.join(10)
        listener.close()
        for one in every:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def _requests(ours: socket.socket, daemon: socket.socket, change: Change | None) -> None:
    """Pass requests on, those to make a container changed, until a stream takes the connection over."""
    with contextlib.suppress(OSError), ours.makefile("rb") as reader:
        while change is not None and (line := reader.readline()):
            head = [line]
            while (header := reader.readline()) not in {b"\r\n", b""}:
                head.append(header)
            fields = {name.strip().lower(): value.strip() for name, _, value in (one.partition(b":") for one in head)}
            body = reader.read(int(fields.get(b"content-length", b"0")))
            if b"/containers/create" in line:
                document = json.loads(body)
                change(document)
                body = json.dumps(document).encode()
                head = [one for one in head if not one.lower().startswith(b"content-length:")]
                head.append(b"Content-Length: %d\r\n" % len(body))
            daemon.sendall(b"".join(head) + b"\r\n" + body)
            if b"/attach" in line or b"chunked" in fields.get(b"transfer-encoding", b""):
                break
        while data := reader.read1(1 << 16):
            daemon.sendall(data)
    with contextlib.suppress(OSError):
        daemon.shutdown(socket.SHUT_WR)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
