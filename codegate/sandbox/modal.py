"""Machines of Modal, a gVisor container each: extra ``[modal]``, ``MODAL_TOKEN_ID`` and ``MODAL_TOKEN_SECRET``.

https://modal.com/docs/guide/sandbox
"""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codegate.sandbox.contract import Backend
from codegate.sandbox.remote import Order, Provider, RemoteBackend, check_rental
from codegate.sandbox.remote_carrier import Machine

if TYPE_CHECKING:
    from modal import Sandbox
    from modal.container_process import ContainerProcess

_APP: Final = "codegate"
_PART: Final = 1 << 20


def backend(run_id: str, option: str | None) -> Backend:
    """Return the backend; see ``selection.Factory``.

    Raises:
        UsageError: the SDK or the key is missing.
    """
    check_rental("modal", "Modal", ("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"), option)
    return RemoteBackend(run_id, _Provider())


class _Provider(Provider):
    """See ``remote.Provider``."""

    name = "modal"
    title = "Modal"
    tier = "gvisor"
    totals = False
    process_limit = False
    weaknesses = (
        "memory is limited for each process, and in total only by the machine's size",
        "the number of files is not limited",
        "too many processes end the sandbox as out of memory instead of being refused",
        "what a killed run left behind ends by its time limit only",
    )

    def __init__(self) -> None:
        from modal.exception import AuthError  # noqa: PLC0415 - an extra, and slow to import

        self.engine = f"modal {version('modal')}"
        self.refusals = (AuthError,)

    def rent(self, order: Order) -> Machine:
        """See ``remote.Provider``."""
        import modal  # noqa: PLC0415 - as above

        memory = order.memory_gib << 10
        return _Machine(
            modal.Sandbox.create(
                "sleep",
                str(order.seconds),
                app=modal.App.lookup(_APP, create_if_missing=True),
                image=modal.Image.from_registry(order.image).apt_install(*order.packages),
                timeout=order.seconds,
                cpu=(float(order.cpus), float(order.cpus)),
                memory=(memory, memory),
                block_network=True,
            )
        )

    def rented(self) -> Iterator[tuple[str, str]]:
        """See ``remote.Provider``: Modal's tags are too short for an owner."""
        return iter(())

    def destroy(self, identity: str) -> None:
        """See ``remote.Provider``."""
        import modal  # noqa: PLC0415 - as above

        modal.Sandbox.from_id(identity).terminate()


class _Machine:
    """See ``remote.Machine``."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._process: ContainerProcess[str] | None = None

    @property
    def identity(self) -> str:
        """See ``remote.Machine``."""
        return str(self._sandbox.object_id)

    def upload(self, file: Path, target: str) -> None:
        """See ``remote.Machine``."""
        process = self._sandbox.exec("sh", "-c", f"cat > {target}", text=False)
        with file.open("rb") as data:
            while part := data.read(_PART):
                process.stdin.write(part)
                process.stdin.drain()
        process.stdin.write_eof()
        process.stdin.drain()
        code = process.wait()
        if code != 0:
            raise OSError(f"writing {target} ended with {code}")

    def start(self, command: str) -> Iterator[str]:
        """See ``remote.Machine``."""
        process = self._sandbox.exec("sh", "-c", f"exec 2>&1; {command}", text=True)
        self._process = process
        yield from process.stdout

    def send(self, text: str) -> None:
        """See ``remote.Machine``."""
        if self._process is not None:
            self._process.stdin.write(text.encode("ascii"))
            self._process.stdin.drain()
