"""E2B as its SDK meets it: the API for templates and sandboxes, and in each sandbox envd's files and processes.

The real SDK speaks to it over HTTP; processes are Connect's protocol with JSON (https://connectrpc.com/docs/protocol).
"""

import base64
import contextlib
import json
import os
import selectors
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.machine import Machine, Ordered

KEY = "e2b_" + "0123456789abcdef" * 2 + "01234567"
_ENVD = "0.6.5"
_END = 2  # flag of the last envelope


class E2BService:
    """Answers the SDK.

    Attributes:
        orders: what each sandbox was asked for, by its id.
        machines: those that live, by id.
        templates: what was built, by name.
        refusal: status and message of the answer to the next orders; None: they are served.
    """

    name, title, tier = "e2b", "E2B", "firecracker"
    weakness = "only bubblewrap keeps code away from it"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = Server(self._respond)
        self.orders: dict[str, dict[str, Any]] = {}
        self.machines: dict[str, Machine] = {}
        self.templates: dict[str, dict[str, Any]] = {}
        self.refusal: tuple[int, str] | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """Return what tells the SDK to come here."""
        return {"E2B_API_URL": self._server.url, "E2B_SANDBOX_URL": self._server.url, "E2B_API_KEY": KEY}

    def ordered(self, name: str) -> Ordered:
        order = self.orders[name]
        template = self.templates[order["templateID"]]
        return Ordered(
            network=order["allow_internet_access"],
            seconds=order["timeout"],
            memory_mb=template["memoryMB"],
            runtime=self.tier,  # there is no other
            image=str(template["steps"]),
            labels=order["metadata"],
        )

    def close(self) -> None:
        for machine in self.machines.values():
            machine.kill()
        self._server.close()

    def _respond(self, request: Request) -> Reply | None:
        parts = [part for part in urlsplit(request.path).path.split("/") if part]
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        if parts[0] == "process.Process" or parts[0] == "files":
            machine = self.machines.get(request.headers.get("e2b-sandbox-id", ""))
            if machine is None:
                return as_json({"code": "not_found", "message": "no such sandbox"}, 404)
            return _files(machine, request, query) if parts[0] == "files" else _process(machine, parts[1], request)
        if request.headers.get("x-api-key") != KEY:
            return as_json({"code": 401, "message": "Invalid API key"}, 401)
        match request.method, *parts:
            case "POST", "v2", "sandboxes":
                return self._create(request.body)
            case "DELETE", "sandboxes", identity:
                machine = self.machines.pop(identity, None)
                if machine is None:
                    return as_json({"code": 404, "message": "not found"}, 404)
                machine.kill()
                return Reply(status=204)
            case "GET", "v2", "sandboxes":
                return as_json([_listed(name, self.orders[name]) for name in self.machines])
            case "GET", "templates", "aliases", name:
                known = name in self.templates
                return as_json({"templateID": name, "public": False} if known else {"code": 404, "message": "no"},
                               200 if known else 404)  # fmt: skip
            case "POST", "v3", "templates":
                name = request.body.get("name") or request.body["alias"]
                self.templates[name] = request.body
                made = {"templateID": name, "buildID": "build-1", "public": False, "aliases": [name], "names": [name]}
                return as_json({**made, "tags": []}, 202)
            case "POST", "v2", "templates", name, "builds", _:
                self.templates[name] = {**self.templates[name], "steps": request.body}
                return Reply(status=202)
            case "GET", "templates", name, "builds", build, "status":
                told = {"templateID": name, "buildID": build, "status": "ready", "logs": [], "logEntries": []}
                return as_json(told)
        return as_json({"code": 404, "message": f"not played: {request.method} {request.path}"}, 404)

    def _create(self, order: dict[str, Any]) -> Reply:
        if self.refusal is not None:
            return as_json({"code": self.refusal[0], "message": self.refusal[1]}, self.refusal[0])
        name = f"i{len(self.orders):04d}"
        self.orders[name] = order
        self.machines[name] = Machine(self._folder / name)
        made = {"sandboxID": name, "templateID": order["templateID"], "clientID": "c", "envdVersion": _ENVD}
        return as_json({**made, "envdAccessToken": "token", "domain": None}, 201)


def _listed(name: str, order: dict[str, Any]) -> dict[str, Any]:
    times = {"startedAt": "2026-01-01T00:00:00Z", "endAt": "2026-01-01T01:00:00Z"}
    size = {"cpuCount": 1, "memoryMB": 1024, "diskSizeMB": 1024, "envdVersion": _ENVD, "state": "running"}
    ids = {"sandboxID": name, "templateID": order["templateID"], "clientID": "c"}
    return {**ids, **times, **size, "metadata": order["metadata"]}


def _files(machine: Machine, request: Request, query: Mapping[str, str]) -> Reply:
    machine.write(query["path"], request.raw)
    return as_json([{"name": Path(query["path"]).name, "type": "file", "path": query["path"]}])


def _process(machine: Machine, call: str, request: Request) -> Reply:
    if call == "Start":
        wanted = json.loads(request.raw[5:])["process"]
        user = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        assert user == "root:"
        return Reply(raw=_running(machine, [wanted["cmd"], *wanted["args"]]))
    body = request.body
    process = machine.processes[body["process"]["pid"] - 1]
    try:
        if call == "SendInput" and process.stdin is not None:
            process.stdin.write(base64.b64decode(body["input"]["stdin"]))
            process.stdin.flush()
    except (OSError, ValueError):  # it has ended
        return as_json({"code": "not_found", "message": "process not found"}, 404)
    return as_json({})


def _running(machine: Machine, argv: list[str]) -> Callable[[Any], None]:
    """Return what writes the events of a process, from its start to its end."""

    def write(file: Any) -> None:
        def send(flag: int, document: object) -> None:
            data = json.dumps(document).encode()
            file.write(struct.pack(">BI", flag, len(data)) + data)
            file.flush()

        file.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nConnection: close\r\n\r\n")
        process = machine.start(argv)
        send(0, {"event": {"start": {"pid": len(machine.processes)}}})
        with selectors.DefaultSelector() as selector:
            for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, name)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 15)
                    if data:
                        send(0, {"event": {"data": {key.data: base64.b64encode(data).decode()}}})
                    else:
                        selector.unregister(key.fileobj)
        code = process.wait()
        for end in (process.stdin, process.stdout, process.stderr):
            if end is not None:
                with contextlib.suppress(OSError):
                    end.close()
        send(0, {"event": {"end": {"exitCode": max(code, 0), "exited": code >= 0, "status": f"exit status {code}"}}})
        send(_END, {})

    return write
