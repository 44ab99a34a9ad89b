"""Machines of E2B, a Firecracker virtual machine each: extra ``[e2b]``, key in ``E2B_API_KEY``.

Its SDK decodes output as text, and input is a request each. https://e2b.dev/docs
"""

import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from codegate.durable import digest
from codegate.sandbox.contract import Backend
from codegate.sandbox.remote import OWNER_LABEL, Order, Provider, RemoteBackend, check_rental
from codegate.sandbox.remote_builds import upload_seconds
from codegate.sandbox.remote_carrier import Machine

if TYPE_CHECKING:
    from e2b import Sandbox


def backend(run_id: str, option: str | None) -> Backend:
    """Return the backend; see ``selection.Factory``.

    Raises:
        UsageError: the SDK or the key is missing.
    """
    check_rental("e2b", "E2B", ("E2B_API_KEY",), option)
    return RemoteBackend(run_id, _Provider())


class _Provider(Provider):
    """See ``remote.Provider``."""

    name = "e2b"
    title = "E2B"
    tier = "firecracker"
    totals = True
    process_limit = True
    weaknesses = ("E2B's own service (envd) runs beside the sandbox; only bubblewrap keeps code away from it",)

    def __init__(self) -> None:
        from e2b import AuthenticationException  # noqa: PLC0415 - an extra, and slow to import

        self.engine = f"e2b {version('e2b')}"
        self.refusals = (AuthenticationException,)
        self._building = threading.Lock()
        self._templates: set[str] = set()

    def rent(self, order: Order) -> Machine:
        """See ``remote.Provider``."""
        from e2b import Sandbox  # noqa: PLC0415 - as above

        template = self._template(order)
        return _Machine(
            Sandbox.create(
                template,
                timeout=order.seconds,
                metadata=dict(order.labels),
                allow_internet_access=False,
                lifecycle={"on_timeout": "kill"},
            )
        )

    def rented(self) -> Iterator[tuple[str, str]]:
        """See ``remote.Provider``."""
        from e2b import Sandbox  # noqa: PLC0415 - as above

        pages = Sandbox.list()
        while pages.has_next:
            for found in pages.next_items():
                if OWNER_LABEL in found.metadata:
                    yield found.sandbox_id, found.metadata[OWNER_LABEL]

    def destroy(self, identity: str) -> None:
        """See ``remote.Provider``."""
        from e2b import Sandbox  # noqa: PLC0415 - as above

        Sandbox.kill(identity)

    def _template(self, order: Order) -> str:
        """Return the name of the template for such machines; E2B builds it once for an account, in a minute or so."""
        from e2b import Template  # noqa: PLC0415 - as above

        base = digest([order.image, order.packages])[:16]
        name = f"codegate-{base}-{order.memory_gib}g-{order.cpus}"
        with self._building:
            if name not in self._templates and not Template.exists(name):
                made = Template().from_image(order.image).apt_install(list(order.packages), no_install_recommends=True)
                Template.build(made, name, cpu_count=order.cpus, memory_mb=order.memory_gib << 10)
            self._templates.add(name)
        return name


class _Machine:
    """See ``remote.Machine``."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._process = 0

    @property
    def identity(self) -> str:
        """See ``remote.Machine``."""
        return str(self._sandbox.sandbox_id)

    def upload(self, file: Path, target: str) -> None:
        """See ``remote.Machine``."""
        with file.open("rb") as data:
            self._sandbox.files.write(target, data, user="root", request_timeout=upload_seconds(file))

    def start(self, command: str) -> Iterator[str]:
        """See ``remote.Machine``."""
        handle = self._sandbox.commands.run(command, background=True, user="root", stdin=True, timeout=0)
        self._process = handle.pid
        for output, errors, _ in handle:
            yield output or errors or ""

    def send(self, text: str) -> None:
        """See ``remote.Machine``."""
        self._sandbox.commands.send_stdin(self._process, text)
