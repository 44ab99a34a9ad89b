"""A Docker daemon behind a relay on TCP, as a remote one is."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def relay() -> Iterator[str]:
    """Give the address (``tcp://…``) under which the daemon is reached for the length of a ``with`` block."""
    path = (os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock").removeprefix("unix://")
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    every: list[socket.socket] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = listener.accept()
                daemon = socket.socket(socket.AF_UNIX)
                every.extend((ours, daemon))
                daemon.connect(path)
                for ends in ((ours, daemon), (daemon, ours)):
                    threading.Thread(target=_copy, args=ends, daemon=True).start()

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


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
