"""Machines of E2B, each a Firecracker virtual machine.

Its SDK decodes output as text and sends each input as a request. https://e2b.dev/docs
"""

import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from e2b import AuthenticationException, Sandbox, Template

from codegate.durable import digest
from codegate.sandbox.remote.backend import OWNER_LABEL, MachineProvider, Order
from codegate.sandbox.remote.builds import upload_seconds
from codegate.sandbox.remote.carrier import Machine


class _E2B(MachineProvider):
    name, title, tier, engine = "e2b", "E2B", "firecracker", f"e2b {version('e2b')}"
    totals = process_limit = True
    weaknesses = ("E2B's own service (envd) runs beside the sandbox; only bubblewrap keeps code away from it",)
    refusals = (AuthenticationException,)

    def __init__(self) -> None:
        self._building = threading.Lock()
        self._templates: set[str] = set()

    def rent(self, order: Order) -> Machine:
        sandbox = Sandbox.create(
            self._template(order),
            timeout=order.seconds,
            metadata=dict(order.labels),
            allow_internet_access=False,
            lifecycle={"on_timeout": "kill"},
        )
        return _Machine(sandbox)

    def rented(self) -> Iterator[tuple[str, str]]:
        pages = Sandbox.list()
        while pages.has_next:
            for sandbox in pages.next_items():
                if OWNER_LABEL in sandbox.metadata:
                    yield sandbox.sandbox_id, sandbox.metadata[OWNER_LABEL]

    def destroy(self, identity: str) -> None:
        Sandbox.kill(identity)

    def _template(self, order: Order) -> str:
        base = digest([order.image, order.packages])[:16]
        name = f"codegate-{base}-{order.memory_gib}g-{order.cpus}"
        with self._building:
            if name not in self._templates and not Template.exists(name):
                made = Template().from_image(order.image).apt_install(list(order.packages), no_install_recommends=True)
                Template.build(made, name, cpu_count=order.cpus, memory_mb=order.memory_gib << 10)
            self._templates.add(name)
        return name


class _Machine(Machine):
    def __init__(self, sandbox: Sandbox) -> None:
        self.identity = str(sandbox.sandbox_id)
        self._sandbox = sandbox
        self._process = 0

    def upload(self, file: Path, target: str) -> None:
        with file.open("rb") as data:
            self._sandbox.files.write(target, data, user="root", request_timeout=upload_seconds(file))

    def start(self, command: str) -> Iterator[str]:
        handle = self._sandbox.commands.run(command, background=True, user="root", stdin=True, timeout=0)
        self._process = handle.pid
        for output, errors, _ in handle:
            yield output or errors or ""

    def send(self, text: str) -> None:
        self._sandbox.commands.send_stdin(self._process, text)


PROVIDER = _E2B
