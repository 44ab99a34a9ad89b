"""Sandboxes on rented machines, each sandbox on its own machine.

A provider's file rents machines (``MachineProvider``) and carries the stream by the provider's SDK. All else is the
same for all providers: the environment's folders, one small program that carries the stream (``link.py``), and
bubblewrap around the code, so that the code sees neither the provider's programs nor its network. No key enters a
machine.
"""

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from typing_extensions import override

from codegate.durable import digest
from codegate.errors import CodegateError, UsageError
from codegate.sandbox.bubblewrap_program import MASKED_FILES, command_scope, contents, isolation
from codegate.sandbox.contract import (
    Backend,
    BuildSandbox,
    Description,
    EnvironmentRecipe,
    Layer,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from codegate.sandbox.control_group import EXTRA_PROCESSES
from codegate.sandbox.fleet import Fleet, Member
from codegate.sandbox.images import BASE_IMAGE
from codegate.sandbox.layer_images import checked_packages
from codegate.sandbox.ownership import current_owner, is_dead_owner
from codegate.sandbox.remote.builds import PLACES, SYSTEM, built_folders, disk_meter, pack, upload_seconds
from codegate.sandbox.remote.carrier import ARCHIVE, FOLDER, Carrier, Machine, describe_error
from codegate.sandbox.remote.link import INTERPRETER, MASKED
from codegate.sandbox.session import BESIDE, USER_ID, SandboxSession
from codegate.sandbox.tools import tools_for, uv_program
from codegate.sandbox.watched import WatchedBuild, WatchedSandbox

RUN_LABEL: Final = "codegate-run"
OWNER_LABEL: Final = "codegate-owner"

_MACHINE: Final = "x86_64"  # processor type of both providers' machines
_SLACK_SECONDS: Final = 60  # beyond a sandbox's lifetime, after which the provider ends the machine
_SLACK_BYTES: Final = 512 << 20  # memory for the machine's own programs and the uploaded files
_GIBIBYTE: Final = 1 << 30
_CLOSE_SECONDS: Final = 15.0


@dataclass(frozen=True)
class Order:
    """The properties of a machine to rent.

    Attributes:
        image: name of the base image.
        packages: Debian packages to install in it, bubblewrap among them.
        memory_gib: least memory.
        cpus: least number of processors.
        seconds: time after which the provider ends the machine, even if codegate is gone.
        labels: labels that the provider stores with the machine.
    """

    image: str
    packages: tuple[str, ...]
    memory_gib: int
    cpus: int
    seconds: int
    labels: Mapping[str, str]


class MachineProvider(Protocol):
    """A provider that rents machines, by its own SDK.

    Thread-safe. The methods can raise any exception of the SDK.

    Attributes:
        name: the value of ``--sandbox`` that selects it.
        title: the provider's name in messages.
        tier: see ``Description.tier``.
        engine: the SDK with its version.
        totals: whether machines have control groups, which limit memory and processes in total.
        process_limit: whether machines have the kernel's limit for the processes of a user.
        weaknesses: guarantees that the provider does not give, a clause each.
        refusals: the SDK's exceptions for a key that the provider does not accept.
    """

    name: str
    title: str
    tier: str
    engine: str
    totals: bool
    process_limit: bool
    weaknesses: tuple[str, ...]
    refusals: tuple[type[Exception], ...]

    def rent(self, order: Order) -> Machine:
        """Start a machine without a network."""
        ...

    def rented(self) -> Iterator[tuple[str, str]]:
        """Yield id and owner of each machine that codegate rents.

        The owner is the value of the label ``OWNER_LABEL``.
        """
        ...

    def destroy(self, identity: str) -> None:
        """End the machine with this id, if it exists."""
        ...


@dataclass(frozen=True)
class RemoteEnvironment:
    """An environment's folders, packed for upload, and its base image.

    Attributes:
        identity: SHA-256 of its sources.
        archive: a tar file.
        beside: names of further recorded builds in the archive.
        image: name of the base image.
        packages: Debian packages to install in it.
        layer: the recorded build; None: the environment of a new build.
        toolchains: always empty; a machine's toolchains are found without variables.
    """

    identity: str
    archive: Path
    beside: tuple[str, ...]
    image: str
    packages: tuple[str, ...] = ()
    layer: Layer | None = None
    toolchains: tuple[tuple[str, str], ...] = ()


class RemoteBackend(Backend):
    """Runs each sandbox on a machine of ``provider``."""

    def __init__(self, run_id: str, provider: MachineProvider) -> None:
        self.run_id = run_id
        self._provider = provider
        self._archives = tempfile.TemporaryDirectory(prefix="codegate-remote-", ignore_cleanup_errors=True)
        self._packing = threading.Lock()
        self._fleet = Fleet(f"codegate-{provider.name}-remove", removers=8)

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self._provider.name

    @override
    def describe(self) -> Description:
        provider = self._provider
        return Description(
            name=provider.name,
            tier=provider.tier,
            engine=provider.engine,
            runtime=f"bubblewrap on {provider.title}",
            kernel=f"of {provider.title}",
            totals=provider.totals,
            process_limit=provider.process_limit,
            inode_limit=False,
            weaknesses=(
                f"it was never tried at {provider.title} itself",
                f"{provider.title} chooses the base image by its tag, and outcomes do not say which it was",
                *provider.weaknesses,
            ),
        )

    def base_image(self, python: str, wanted: str | None = None) -> str:
        """Return ``wanted``, else a base image's tag.

        ``python`` is the minor version that the image has.
        """
        return wanted or BASE_IMAGE.format(python=python)

    def pin_image(self, name: str) -> str:
        """Return ``name`` unchanged, because the provider resolves it.

        Raises:
            UsageError: ``name`` is the id of an image that only a Docker daemon here has.
        """
        if name.startswith("sha256:"):
            raise UsageError(
                f"the image {name} is on a Docker daemon alone; {self._provider.title} takes those of a registry.",
                "Push it, and name it as repository@sha256:….",
            )
        return name

    @override
    def prepare(self, recipe: EnvironmentRecipe) -> RemoteEnvironment:
        return self._prepare(recipe, recipe.required_layer, None)

    def _prepare(self, recipe: EnvironmentRecipe, layer: Layer | None, uv: Path | None) -> RemoteEnvironment:
        image = self.pin_image(recipe.image or BASE_IMAGE.format(python=recipe.python))
        packages = checked_packages(recipe.system)
        tools = tools_for(_MACHINE)
        identity = digest([tools.content, image, packages, layer.sha256 if layer else None])
        key = digest([identity, [(name, other.sha256) for name, other in recipe.beside], uv is not None])
        archive = Path(self._archives.name, f"{key}.tar.gz")
        with self._packing:
            if not archive.exists():
                pack(archive, tools, recipe.beside, layer, uv)
        return RemoteEnvironment(identity, archive, tuple(name for name, _ in recipe.beside), image, packages, layer)

    @override
    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        if not isinstance(environment, RemoteEnvironment):
            message = "the environment was prepared by another backend"
            raise TypeError(message)
        with self._fleet.starting():
            session, carrier = self._open(environment, limits)
            return WatchedSandbox(session, limits.disk_bytes, _watch(session, carrier))

    @override
    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        environment = replace(self._prepare(recipe, recipe.layer, uv_program(_MACHINE)), layer=None)
        with self._fleet.starting():
            session, carrier = self._open(environment, limits)
            return WatchedBuild(session, limits.disk_bytes, _watch(session, carrier), partial(built_folders, carrier))

    def _open(self, environment: RemoteEnvironment, limits: SandboxLimits) -> tuple[SandboxSession, Carrier]:
        with self._explained("start a machine"):
            machine = self._provider.rent(self._order(environment, limits))
        rented = _Rented(machine.identity, self._provider, self._fleet)
        try:
            with self._explained("copy the environment to a machine"):
                machine.upload(environment.archive, ARCHIVE)
            carrier = Carrier(machine, _link_settings(environment, limits, totals=self._provider.totals))
            rented.carrier = carrier
        except BaseException:
            rented.destroy()
            raise
        scope = command_scope(environment, limits, grouped=self._provider.totals, file_bytes=limits.disk_bytes)
        return self._fleet.open(rented, carrier.connection, scope, limits), carrier

    @override
    def close(self) -> None:
        self._fleet.close(_CLOSE_SECONDS)
        self._archives.cleanup()

    @override
    def sweep(self) -> int:
        count = 0
        with self._explained("look for left-over machines"):
            for identity, text in self._provider.rented():
                if is_dead_owner(text):
                    self._provider.destroy(identity)
                    count += 1
        return count

    def _order(self, environment: RemoteEnvironment, limits: SandboxLimits) -> Order:
        return Order(
            image=environment.image,
            packages=("bubblewrap", *environment.packages),
            memory_gib=-(-(limits.memory_bytes + _SLACK_BYTES) // _GIBIBYTE),
            cpus=max(1, -int(-limits.cpus // 1)),
            seconds=int(limits.lifetime_seconds) + _SLACK_SECONDS + upload_seconds(environment.archive),
            labels={RUN_LABEL: self.run_id, OWNER_LABEL: str(current_owner())},
        )

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Turn the SDK's errors into codegate's: "cannot ``what``"."""
        title = self._provider.title
        try:
            yield
        except CodegateError:
            raise
        except self._provider.refusals as error:
            raise UsageError(f"{title} does not accept the key: {describe_error(error)}.", "Check the key.") from error
        except Exception as error:
            raise SandboxError(
                f"cannot {what} at {title}: {describe_error(error)}.",
                f"Check the connection, and the account's limits and balance at {title}.",
            ) from error


class _Rented(Member):
    def __init__(self, identity: str, provider: MachineProvider, fleet: Fleet) -> None:
        self.carrier: Carrier | None = None
        self._identity = identity
        self._provider = provider
        super().__init__(fleet)

    def kill(self) -> None:
        if self.carrier is not None:
            self.carrier.connection.close()

    def remove(self) -> None:
        for _ in range(2):  # a second try, because the provider can be busy
            with contextlib.suppress(Exception):
                self._provider.destroy(self._identity)
                return

    def died_of_memory(self) -> bool:
        return self.carrier is not None and self.carrier.died_of_memory()

    def post_mortem(self) -> str:
        return self.carrier.post_mortem() if self.carrier is not None else ""


def e2b(run_id: str, option: str | None) -> RemoteBackend:
    """Return the backend for E2B, whose extra is ``[e2b]``.

    Raises UsageError if the SDK or its key is missing, or for an ``option``, as E2B has none.
    """
    return _backend(run_id, option, "e2b", "E2B", "E2B_API_KEY")


def modal(run_id: str, option: str | None) -> RemoteBackend:
    """Return the backend for Modal, whose extra is ``[modal]``.

    Raises UsageError if the SDK or its key is missing, or for an ``option``, as Modal has none.
    """
    return _backend(run_id, option, "modal", "Modal", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET")


def _backend(run_id: str, option: str | None, package: str, title: str, *variables: str) -> RemoteBackend:
    """Return the backend of the provider ``title``.

    ``package`` is the name of the SDK, the extra, the choice and the file in this folder. ``variables`` are the
    environment variables that hold the key.

    Raises:
        UsageError: the SDK or a variable is missing, or there is an ``option``.
    """
    if option is not None:
        raise UsageError(f"the sandbox {package} takes no option.", f"Choose {package}.")
    missing = [name for name in variables if not os.environ.get(name)]
    if missing:
        names = " and ".join(missing)
        raise UsageError(f"sandboxes at {title} need a key.", f"Set {names} from your account there.")
    if find_spec(package) is None:
        raise UsageError(f"sandboxes at {title} need its SDK.", f'pip install "codegate-ci[{package}]"')
    return RemoteBackend(run_id, import_module(f"codegate.sandbox.remote.{package}").PROVIDER())


def _link_settings(environment: RemoteEnvironment, limits: SandboxLimits, *, totals: bool) -> dict[str, object]:
    """Return the JSON object that ``link.py`` reads first.

    ``totals``: the machine can limit the memory of all processes together.
    """
    folder = PurePosixPath(FOLDER)
    argv = ["bwrap", *isolation(), "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib64", "sbin"):  # links to /usr, as on Debian
        argv += ["--symlink", f"usr/{name}", f"/{name}"]
    argv += SYSTEM
    for name in ("passwd", "group", "hosts", "nsswitch.conf"):
        argv += ["--ro-bind", f"{FOLDER}/etc/{name}", f"/etc/{name}"]
    for name in environment.beside:
        argv += ["--ro-bind", f"{FOLDER}{BESIDE}/{name}", f"{BESIDE}/{name}"]
    argv += contents(folder / "opt/codegate/tools", [INTERPRETER], [MASKED], limits, PLACES)
    return {
        "argv": argv,
        "hidden": MASKED_FILES,
        "user": USER_ID,
        "pids": limits.pids + EXTRA_PROCESSES,
        "memory": limits.memory_bytes if totals else None,
    }


def _watch(session: SandboxSession, carrier: Carrier) -> Callable[[], int]:
    try:
        return disk_meter(carrier)
    except BaseException:
        session.close()
        raise
