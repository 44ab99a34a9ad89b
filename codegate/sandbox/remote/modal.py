"""Machines of Modal, each a gVisor container.

https://modal.com/docs/guide/sandbox
"""

import contextlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import modal
from modal.exception import AuthError, NotFoundError

from codegate.sandbox.remote.backend import OWNER_LABEL, MachineProvider, Order
from codegate.sandbox.remote.carrier import Machine

_APP: Final = "codegate"


class _Modal(MachineProvider):
    name, title, tier, engine = "modal", "Modal", "gvisor", f"modal {version('modal')}"
    totals = process_limit = False
    weaknesses = (
        "memory is limited for each process, and in total only by the machine's size",
        "the number of files is not limited",
        "too many processes end the sandbox as out of memory instead of being refused",
    )
    refusals = (AuthError,)

    def rent(self, order: Order) -> Machine:
        memory = order.memory_gib << 10
        sandbox = modal.Sandbox.create(
            "sleep",
            str(order.seconds),
            app=_app(),
            tags=_tags(order.labels),
            image=modal.Image.from_registry(order.image).apt_install(*order.packages).entrypoint([]),
            timeout=order.seconds,
            cpu=(float(order.cpus), float(order.cpus)),
            memory=(memory, memory),
            runtime=self.tier,
            block_network=True,
        )
        return _Machine(sandbox)

    def rented(self) -> Iterator[tuple[str, str]]:
        for sandbox in modal.Sandbox.list(app_id=_app().app_id):
            with contextlib.suppress(NotFoundError):  # it ended meanwhile
                tags = sandbox.get_tags()
                yield str(sandbox.object_id), ":".join(tags.get(f"{OWNER_LABEL}-{n}", "") for n in range(4))

    def destroy(self, identity: str) -> None:
        with contextlib.suppress(NotFoundError):
            modal.Sandbox.from_id(identity).terminate()


def _app() -> modal.App:
    return modal.App.lookup(_APP, create_if_missing=True)


def _tags(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels split at colons, because Modal limits their characters."""
    return {f"{name}-{n}": part[:63] for name, text in labels.items() for n, part in enumerate(text.split(":"))}


class _Machine(Machine):
    def __init__(self, sandbox: modal.Sandbox) -> None:
        self.identity = str(sandbox.object_id)
        self._sandbox = sandbox

    def upload(self, file: Path, target: str) -> None:
        self._sandbox.filesystem.copy_from_local(file, target)

    def start(self, command: str) -> Iterator[str]:
        self._process = self._sandbox.exec("sh", "-c", f"exec 2>&1; {command}", text=True)
        yield from self._process.stdout

    def send(self, text: str) -> None:
        self._process.stdin.write(text.encode("ascii"))
        self._process.stdin.drain()


PROVIDER = _Modal
