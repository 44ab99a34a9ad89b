"""Modal as its SDK meets it: the control plane, and the command router of each sandbox, which runs processes.

The real SDK speaks gRPC to both, and ships their generated classes; calls that are not played end as unimplemented.
"""

import asyncio
import base64
import contextlib
import json
import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grpclib import GRPCError, Status
from grpclib.server import Server
from modal_proto import api_pb2 as api
from modal_proto import task_command_router_pb2 as router
from modal_proto.api_grpc import ModalClientBase
from modal_proto.task_command_router_grpc import TaskCommandRouterBase

from tests.kit.machine import Machine, Ordered

KEY = {"x-modal-token-id": "ak-0123456789", "x-modal-token-secret": "as-0123456789"}
_PASS = {"authorization": "Bearer pass"}
_APP = "ap-0123456789"
_TOKEN = f"e30.{base64.urlsafe_b64encode(json.dumps({'exp': 4102444800}).encode()).decode()}.e30"  # a JWT
_STATUS = {401: Status.UNAUTHENTICATED, 429: Status.RESOURCE_EXHAUSTED, 500: Status.INTERNAL}
_TAG = re.compile(r"[A-Za-z0-9._-]{1,63}")  # what Modal takes
_WRITER = "/__modal/.bin/modal-sandbox-fs-tools"


class ModalService:
    """Answers the SDK.

    Attributes:
        orders: what each sandbox was asked for, by its id.
        machines: those that live, by id.
        refusal: HTTP status and message of the answer to the next orders; None: they are served.
    """

    name, title, tier = "modal", "Modal", "gvisor"
    weakness = "in total only by the machine's size"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.orders: dict[str, Any] = {}
        self.machines: dict[str, Machine] = {}
        self.refusal: tuple[int, str] | None = None
        self._images: dict[str, list[str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._threads = ThreadPoolExecutor(100)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        listener = socket.create_server(("127.0.0.1", 0))
        self._url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._server = asyncio.run_coroutine_threadsafe(self._start(listener), self._loop).result()

    @property
    def variables(self) -> Mapping[str, str]:
        """Return what tells the SDK to come here."""
        identity, secret = KEY.values()
        return {"MODAL_SERVER_URL": self._url, "MODAL_TOKEN_ID": identity, "MODAL_TOKEN_SECRET": secret}

    def ordered(self, name: str) -> Ordered:
        wanted = self.orders[name].definition
        return Ordered(
            network=wanted.network_access.network_access_type != api.NetworkAccess.BLOCKED,
            seconds=wanted.timeout_secs,
            memory_mb=wanted.resources.memory_mb,
            runtime=wanted.runtime,
            image="\n".join(self._images[wanted.image_id]),
            labels={tag.tag_name: tag.tag_value for tag in self.orders[name].tags},
        )

    def close(self) -> None:
        for machine in self.machines.values():
            machine.kill()
        for process in self._processes.values():
            for pipe in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):  # what it did not read
                    if pipe is not None:
                        pipe.close()
        self._loop.call_soon_threadsafe(self._server.close)

    async def _start(self, listener: socket.socket) -> Any:
        done = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)
        settings = api.EnvironmentSettings(image_builder_version="2025.06")
        environment = api.EnvironmentGetOrCreateResponse(
            environment_id="en-1", metadata=api.EnvironmentMetadata(name="main", settings=settings)
        )
        control: dict[str, Callable[[Any], Any]] = {
            "AppGetOrCreate": lambda _: api.AppGetOrCreateResponse(app_id=_APP),
            "AuthTokenGet": lambda _: api.AuthTokenGetResponse(token=_TOKEN),
            "EnvironmentGetOrCreate": lambda _: environment,
            "ImageGetOrCreate": lambda asked: api.ImageGetOrCreateResponse(image_id=self._image(asked), result=done),
            "SandboxCreateV2": self._create,
            "SandboxListV2": self._list,
            "SandboxTagsGetV2": lambda asked: api.SandboxTagsGetResponse(tags=self._known(asked).tags),
            "SandboxTerminateV2": self._terminate,
            "SandboxWaitV2": lambda asked: self._known(asked) and api.SandboxWaitResponse(),
        }
        commands: dict[str, Callable[[Any], Any]] = {
            "TaskExecStart": self._exec,
            "TaskExecStdinWrite": self._stdin,
            "TaskExecWait": self._wait,
        }
        streams = {"TaskExecStdinWriteStream": self._stdin_stream, "TaskExecStdioRead": self._output}
        server = Server(
            [
                _Played(ModalClientBase, {name: self._unary(call, KEY) for name, call in control.items()}),
                _Played(
                    TaskCommandRouterBase, {name: self._unary(call, _PASS) for name, call in commands.items()} | streams
                ),
            ]
        )
        await server.start(sock=listener)
        return server

    def _unary(self, call: Callable[[Any], Any], key: Mapping[str, str]) -> Callable[[Any], Any]:
        async def answer(stream: Any) -> None:
            request = await stream.recv_message()
            if any(stream.metadata.get(name) != value for name, value in key.items()):
                raise GRPCError(Status.UNAUTHENTICATED, "Token validation failed")
            await stream.send_message(await self._blocking(call, request))

        return answer

    async def _blocking(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await self._loop.run_in_executor(self._threads, call, *arguments)

    def _known(self, asked: Any) -> Any:
        if asked.sandbox_id not in self.orders:
            raise GRPCError(Status.NOT_FOUND, f"Sandbox {asked.sandbox_id} not found")
        return self.orders[asked.sandbox_id]

    def _image(self, asked: Any) -> str:
        name = f"im-{len(self._images)}"
        below = [line for base in asked.image.base_images for line in self._images[base.image_id]]
        self._images[name] = [*below, *asked.image.dockerfile_commands]
        return name

    def _create(self, order: Any) -> Any:
        if self.refusal is not None:
            raise GRPCError(_STATUS[self.refusal[0]], self.refusal[1])
        for tag in order.tags:
            if not _TAG.fullmatch(tag.tag_name) or not _TAG.fullmatch(tag.tag_value):
                raise GRPCError(Status.INVALID_ARGUMENT, f"invalid tag {tag.tag_name}")
        name = f"sb-{len(self.orders):04d}"
        self.orders[name] = order
        self.machines[name] = Machine(self._folder / name)
        access = api.CommandRouterAccess(url=self._url, jwt=_PASS["authorization"].removeprefix("Bearer "))
        return api.SandboxCreateV2Response(sandbox_id=name, task_id=f"ta-{name}", command_router_access=access)

    def _list(self, asked: Any) -> Any:
        """Return the newest two of those that are older than what was listed already."""
        assert asked.app_id == _APP
        ages = {name: float(age) for age, name in enumerate(self.orders, 1) if name in self.machines}
        older = [name for name, age in ages.items() if age < (asked.before_timestamp or float("inf"))]
        found = [api.SandboxInfo(id=name, created_at=ages[name]) for name in reversed(older[-2:])]
        return api.SandboxListResponse(sandboxes=found)

    def _terminate(self, asked: Any) -> Any:
        self._known(asked)
        machine = self.machines.pop(asked.sandbox_id, None)
        if machine is not None:
            machine.kill()
        return api.SandboxTerminateResponse()

    def _exec(self, asked: Any) -> Any:
        machine = self.machines.get(asked.task_id.removeprefix("ta-"))
        if machine is None:
            raise GRPCError(Status.NOT_FOUND, f"Task {asked.task_id} not found")
        argv = list(asked.command_args)
        if argv[0] == _WRITER:
            argv = ["sh", "-c", 'exec cat > "$0"', json.loads(argv[1])["WriteFile"]["path"]]
        self._processes[asked.exec_id] = machine.start(argv)
        return router.TaskExecStartResponse()

    def _stdin(self, asked: Any) -> Any:
        pipe = self._processes[asked.exec_id].stdin
        try:
            if pipe is not None:
                pipe.write(asked.data)
                pipe.flush()
                if asked.eof:
                    pipe.close()
        except (OSError, ValueError) as error:
            raise GRPCError(Status.FAILED_PRECONDITION, "the process has ended") from error
        return router.TaskExecStdinWriteResponse()

    async def _stdin_stream(self, stream: Any) -> None:
        start = (await stream.recv_message()).start
        async for part in stream:
            await self._blocking(
                self._stdin,
                router.TaskExecStdinWriteRequest(exec_id=start.exec_id, data=part.data, eof=part.HasField("end")),
            )
        await stream.send_message(router.TaskExecStdinWriteStreamResponse())

    async def _output(self, stream: Any) -> None:
        asked = await stream.recv_message()
        process = self._processes[asked.exec_id]
        stdout = asked.file_descriptor == router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT
        pipe = process.stdout if stdout else process.stderr
        assert pipe is not None
        while data := await self._blocking(os.read, pipe.fileno(), 1 << 15):
            await stream.send_message(router.TaskExecStdioReadResponse(data=data))

    def _wait(self, asked: Any) -> Any:
        code = self._processes[asked.exec_id].wait()
        return router.TaskExecWaitResponse(code=code) if code >= 0 else router.TaskExecWaitResponse(signal=-code)


class _Played:
    """The part of a generated service that is played."""

    def __init__(self, service: Any, calls: Mapping[str, Any]) -> None:
        self._service = service
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return self._calls.get(name)

    def __mapping__(self) -> dict[str, Any]:
        return {path: call for path, call in self._service.__mapping__(self).items() if call.func is not None}
