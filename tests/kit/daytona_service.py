"""Daytona as its SDK meets it: the API for sandboxes, and in each sandbox the toolbox's files and terminals.

The real SDK speaks to it over HTTP; a terminal is a WebSocket (RFC 6455). It has no Socket.IO for events: the SDK does
without where sandboxes are started at once.
"""

import base64
import contextlib
import hashlib
import json
import os
import pty
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wsproto.frame_protocol import FrameProtocol, Opcode

from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.machine import Machine

KEY = "dtn_" + "0123456789abcdef" * 4
_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


class DaytonaService:
    """Answers the SDK.

    Attributes:
        orders: what each sandbox was asked for, by its id.
        machines: those that live, by id.
        refusal: status and message of the answer to the next orders; None: they are served.
    """

    name, title, tier = "daytona", "Daytona", "container"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = Server(self._respond)
        self.orders: dict[str, dict[str, Any]] = {}
        self.machines: dict[str, Machine] = {}
        self.refusal: tuple[int, str] | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """Return what tells the SDK to come here."""
        return {"DAYTONA_API_URL": f"{self._server.url}/api", "DAYTONA_API_KEY": KEY}

    def labels(self, name: str) -> dict[str, str]:
        """Return the labels of a sandbox that codegate set."""
        return {key: value for key, value in self.orders[name]["labels"].items() if key.startswith("codegate-")}

    def place(self, labels: dict[str, str]) -> None:
        """Start a sandbox that nobody here ordered."""
        self._create({"labels": labels, "networkBlockAll": True})

    def close(self) -> None:
        for machine in self.machines.values():
            machine.kill()
        self._server.close()

    def _respond(self, request: Request) -> Reply | None:
        parts = [part for part in urlsplit(request.path).path.split("/") if part]
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return as_json({"statusCode": 401, "message": "Invalid credentials"}, 401)
        match request.method, *parts:
            case "POST", "api", "sandbox":
                return self._create(request.body)
            case "GET", "api", "sandbox":
                return as_json({"items": [self._sandbox(name) for name in self.machines], "nextCursor": None})
            case method, "api", "sandbox", name if name in self.machines:
                found = self._sandbox(name)
                if method == "DELETE":
                    self.machines.pop(name).kill()
                    found["state"] = "destroyed"
                return as_json(found)
            case "POST", "toolbox", name, "files", "bulk-upload" if name in self.machines:
                fields = _fields(request)
                self.machines[name].write(fields["files[0].path"].decode(), fields["files[0].file"])
                return as_json({})
            case "GET", "toolbox", name, "process", "pty", "create-connect" if name in self.machines:
                return Reply(upgraded=_terminal(self.machines[name], request.headers["sec-websocket-key"]))
        return as_json({"statusCode": 404, "message": f"not found: {request.method} {request.path}"}, 404)

    def _create(self, order: dict[str, Any]) -> Reply:
        if self.refusal is not None:
            return as_json({"statusCode": self.refusal[0], "message": self.refusal[1]}, self.refusal[0])
        name = f"d{len(self.orders):04d}"
        self.orders[name] = order
        self.machines[name] = Machine(self._folder / name)
        return as_json(self._sandbox(name))

    def _sandbox(self, name: str) -> dict[str, Any]:
        order = self.orders[name]
        size = {"cpu": order.get("cpu", 1), "gpu": 0, "memory": order.get("memory", 1), "disk": order.get("disk", 3)}
        of = {"id": name, "organizationId": "o", "name": name, "user": "root", "target": "us", "state": "started"}
        flags = {"public": False, "networkBlockAll": order["networkBlockAll"], "kvm": False, "env": {}}
        return {**of, **size, **flags, "labels": order["labels"], "toolboxProxyUrl": f"{self._server.url}/toolbox"}


def _fields(request: Request) -> dict[str, bytes]:
    """Return the fields of a form (RFC 7578) by name."""
    boundary = request.headers["content-type"].partition("boundary=")[2].encode()
    found = {}
    for part in request.raw.split(b"--" + boundary)[1:-1]:
        head, _, body = part.partition(b"\r\n\r\n")
        found[head.partition(b'name="')[2].partition(b'"')[0].decode()] = body[:-2]
    return found


def _terminal(machine: Machine, key: str) -> Callable[[socket.socket], None]:
    """Return what carries a shell's terminal over a WebSocket to its end."""

    def carry(connection: socket.socket) -> None:
        accept = base64.b64encode(hashlib.sha1(key.encode() + _ACCEPT, usedforsecurity=False).digest())
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        frames, sending = FrameProtocol(client=False, extensions=[]), threading.Lock()
        ours, theirs = pty.openpty()
        process = machine.start(["/bin/bash", "-i"], theirs)
        os.close(theirs)

        def send(data: bytes | str) -> None:
            with sending:
                connection.sendall(frames.send_data(data))

        def bring() -> None:
            with contextlib.suppress(OSError):  # the end of the terminal, or of the connection
                while data := os.read(ours, 4096):
                    send(data)
            reason = json.dumps({"exitCode": process.wait()})
            with contextlib.suppress(OSError), sending:
                connection.sendall(frames.close(1000, reason))
                connection.shutdown(socket.SHUT_RDWR)

        send(json.dumps({"type": "control", "status": "connected"}))
        bringing = threading.Thread(target=bring, daemon=True)
        bringing.start()
        with contextlib.suppress(OSError):
            _take(connection, frames, ours)
        bringing.join()
        os.close(ours)

    return carry


def _take(connection: socket.socket, frames: FrameProtocol, terminal: int) -> None:
    while received := connection.recv(1 << 16):
        frames.receive_bytes(received)
        for frame in frames.received_frames():
            if frame.opcode is Opcode.CLOSE:
                return
            data = bytes(frame.payload) if frame.opcode is Opcode.BINARY else b""
            while data:
                data = data[os.write(terminal, data) :]
