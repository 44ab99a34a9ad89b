"""Machines of Daytona, a container each: extra ``[daytona]``, key in ``DAYTONA_API_KEY``.

The only stream in both directions is a terminal's, by a WebSocket. https://www.daytona.io/docs
"""

import contextlib
import os
import uuid
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codegate.sandbox.contract import Backend
from codegate.sandbox.remote import OWNER_LABEL, Order, Provider, RemoteBackend, check_rental
from codegate.sandbox.remote_carrier import Machine

if TYPE_CHECKING:
    from daytona import Sandbox
    from daytona.handle.pty_handle import PtyHandle

_PLAIN: Final = "stty raw -echo"
"""From here on the terminal changes nothing: no echo, no line of limited length."""

_API: Final = "https://app.daytona.io/api"
_DISK_GIB: Final = 5
_START_SECONDS: Final = 600  # the first machine of a kind waits for its image
_INSTALL: Final = "apt-get update && apt-get install -y --no-install-recommends {} && rm -rf /var/lib/apt/lists/*"


def backend(run_id: str, option: str | None) -> Backend:
    """Return the backend; see ``selection.Factory``.

    Raises:
        UsageError: the SDK or the key is missing.
    """
    check_rental("daytona", "Daytona", ("DAYTONA_API_KEY",), option)
    return RemoteBackend(run_id, _Provider())


class _Provider(Provider):
    """See ``remote.Provider``."""

    name = "daytona"
    title = "Daytona"
    tier = "container"
    totals = True
    process_limit = True
    weaknesses = ("Daytona's own service runs beside the sandbox; only bubblewrap keeps code away from it",)

    def __init__(self) -> None:
        from daytona import Daytona, DaytonaAuthenticationError, DaytonaConfig  # noqa: PLC0415 - an extra, and slow

        self.engine = f"daytona {version('daytona')}"
        self.refusals = (DaytonaAuthenticationError,)
        # All of it is given: the SDK would look for the rest in a .env file of the working folder.
        self._client = Daytona(
            DaytonaConfig(
                api_key=os.environ["DAYTONA_API_KEY"],
                api_url=os.environ.get("DAYTONA_API_URL") or _API,
                target=os.environ.get("DAYTONA_TARGET") or "us",
            )
        )

    def rent(self, order: Order) -> Machine:
        """See ``remote.Provider``."""
        from daytona import CreateSandboxFromImageParams, Image, Resources  # noqa: PLC0415 - as above

        return _Machine(
            self._client.create(
                CreateSandboxFromImageParams(
                    image=Image.base(order.image).run_commands(_INSTALL.format(" ".join(order.packages))),
                    resources=Resources(cpu=order.cpus, memory=order.memory_gib, disk=_DISK_GIB),
                    labels=dict(order.labels),
                    network_block_all=True,
                    ttl_minutes=-(-order.seconds // 60),
                    auto_delete_interval=0,  # with its stop
                ),
                timeout=_START_SECONDS,
            )
        )

    def rented(self) -> Iterator[tuple[str, str]]:
        """See ``remote.Provider``."""
        for found in self._client.list():
            if OWNER_LABEL in found.labels:
                yield found.id, found.labels[OWNER_LABEL]

    def destroy(self, identity: str) -> None:
        """See ``remote.Provider``."""
        from daytona import DaytonaNotFoundError  # noqa: PLC0415 - as above

        with contextlib.suppress(DaytonaNotFoundError):
            self._client.get(identity).delete()


class _Machine:
    """See ``remote.Machine``."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._terminal: PtyHandle | None = None

    @property
    def identity(self) -> str:
        """See ``remote.Machine``."""
        return str(self._sandbox.id)

    def upload(self, file: Path, target: str) -> None:
        """See ``remote.Machine``."""
        self._sandbox.fs.upload_file(str(file), target)

    def start(self, command: str) -> Iterator[str]:
        """See ``remote.Machine``."""
        self._terminal = self._sandbox.process.create_pty_session(f"codegate-{uuid.uuid4()}")
        self._terminal.send_input(f"{_PLAIN} && {command}\n")
        for data in self._terminal:
            yield data.decode("ascii", "replace")

    def send(self, text: str) -> None:
        """See ``remote.Machine``."""
        if self._terminal is not None:
            self._terminal.send_input(text)
