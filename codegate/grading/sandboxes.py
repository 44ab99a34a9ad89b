"""Prepare each environment once, and open sandboxes of it."""

import logging
import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Generic, Self, TypeVar

from codegate.durable import digest
from codegate.environments import BuildFailed, Built, obtain_build, recipe_of
from codegate.environments.services import SandboxWithServers, servers_of
from codegate.errors import UsageError
from codegate.grading.controls.copies import OriginalTests
from codegate.sandbox import (
    Assurance,
    Backend,
    Command,
    EnvironmentRecipe,
    Lease,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
    SandboxPool,
    preflight,
)
from codegate.suite import (
    Base,
    Environment,
    EnvironmentManifest,
    ProblemLimits,
    Suite,
    Tree,
    load_tree,
)

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

_LOG: Final = logging.getLogger(__name__)
AGENT_LIMITS: Final = SandboxLimits(memory_bytes=3 << 30, cpus=2.0, pids=512, disk_bytes=1 << 30, open_files=4096)
"""Limits of an agent's sandbox. The largest agent uses 0.7 GiB and 34 threads, without the tests that it runs."""
_GRACE_SECONDS: Final = 120.0
_MOST_SEARCHED: Final = 32


@dataclass
class RunCount:
    """Numbers of started sandboxes and test runs, and processor seconds."""

    sandboxes: int = 0
    runs: int = 0
    cpu_seconds: float = 0.0


_counting: ContextVar[RunCount | None] = ContextVar("_counting", default=None)


@contextmanager
def counted_runs(into: RunCount) -> Iterator[None]:
    """During the block, count this thread's runs only in ``into``."""
    token = _counting.set(into)
    try:
        yield
    finally:
        _counting.reset(token)


def add_to_count(sandboxes: int = 0, runs: int = 0, cpu_seconds: float = 0.0) -> None:
    """Add to the count of the innermost ``counted_runs`` block."""
    into = _counting.get()
    if into is not None:
        into.sandboxes += sandboxes
        into.runs += runs
        into.cpu_seconds += cpu_seconds


class SharedCache(Generic[_Key, _Value]):
    """Caches values by key; concurrent callers wait for one computation.

    An error of the computation reaches each caller that waits, and is not cached. Only the ``most`` values used last
    are kept.
    """

    def __init__(self, most: float = math.inf) -> None:
        self._most = most
        self._kept: dict[_Key, Future[_Value]] = {}  # least recently used first
        self._lock = threading.Lock()

    def get(self, key: _Key, make: Callable[[], _Value]) -> _Value:
        """Return the value of ``key``, made by ``make`` if missing."""
        with self._lock:
            known = self._kept.pop(key, None)
            future = self._kept[key] = known or Future()
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        if known is None:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._kept.get(key) is future:
                        del self._kept[key]
                future.set_exception(error)
                raise
        return future.result()


class Sandboxes:
    """Builds environments, and opens sandboxes of them. Thread-safe.

    Attributes:
        originals: cache of hidden test files, for ``controls/flips.py``; it keeps the problems used last.

    Args:
        ahead: number of sandboxes to start before they are needed.
        tree: returns the tree that an environment is built from; None: only environments without a base can be built.
    """

    def __init__(
        self,
        backend: Backend,
        environments: Mapping[str, Environment] | None = None,
        ahead: int = 0,
        tree: Callable[[Base], Tree] | None = None,
    ) -> None:
        self.backend = backend
        self._environments = dict(environments or {})
        self._tree = tree
        self._pool = SandboxPool(backend, ahead)
        self._recipes: SharedCache[tuple[str, ...], EnvironmentRecipe] = SharedCache()
        self._prepared: SharedCache[tuple[str, ...], PreparedEnvironment] = SharedCache()
        self._packages: SharedCache[tuple[str, ...], Built | None] = SharedCache()
        self._pythons: SharedCache[tuple[str, ...], str] = SharedCache()
        self.originals: SharedCache[tuple[str, ...], OriginalTests] = SharedCache(_MOST_SEARCHED)
        self._checking = threading.Lock()
        self._assurances: dict[tuple[object, ...], Assurance] = {}

    @classmethod
    def of(cls, suite: Suite, backend: Backend, repository: Path | None, ahead: int = 0) -> Self:
        """Return sandboxes for the environments of ``suite``.

        ``repository`` has the suite's base commits; None: the suite names their repository. ``ahead`` sandboxes are
        started before they are needed.
        """
        return cls(backend, suite.environments, ahead, lambda base: load_tree(suite, base, repository))

    def add(self, environment: Environment, built: EnvironmentRecipe | None = None) -> EnvironmentRecipe:
        """Register an environment and return its recipe.

        ``built`` is the recipe of a build that was just made. Raises SandboxError if the build failed.
        """
        self.register(environment)
        if built is not None:
            self._recipes.get(manifest_key(environment.manifest), lambda: built)
        return self._recipe(environment.manifest)

    def agent_python(self, environment: EnvironmentManifest) -> str:
        """Return the minor version of the Python that runs agents.

        Agents do not use the environment's own Python, but the image's or, under bubblewrap, this machine's. No recipe
        names its version. Raises SandboxError if no sandbox can be started.
        """
        return self._pythons.get(manifest_key(environment), lambda: self._ask_python(environment))

    def _ask_python(self, environment: EnvironmentManifest) -> str:
        program = "import sys; print('%d.%d' % sys.version_info[:2])"
        with self.open(environment, ProblemLimits()) as sandbox:
            done = sandbox.run(Command(("{python}", "-I", "-S", "-c", program)))
        if not done.ok:
            raise SandboxError(f"environment {environment.id} does not say which Python agents run on.")
        return done.stdout.decode().strip()

    def register(self, environment: Environment) -> None:
        """Register an environment, to be built when it is needed."""
        self._environments[environment.id] = environment

    def prepare(self, environment: EnvironmentManifest) -> PreparedEnvironment:
        """Return the built environment; build it if necessary.

        Waits if another thread is building it.

        Raises:
            SandboxError: the environment cannot be built, or a probe found its sandbox weaker than promised. The next
                call tries again.
        """
        return self._prepared.get(manifest_key(environment), lambda: self._build(environment))

    def _build(self, environment: EnvironmentManifest) -> PreparedEnvironment:
        recipe = self._recipe(environment)
        prepared = self.backend.prepare(recipe)
        # The isolation is tested before anything untrusted runs, by the same code path.
        # Environments of one base image have the same isolation, whatever is installed in them.
        kind = (recipe.python, recipe.image)
        with self._checking:
            if kind not in self._assurances:
                self._assurances[kind] = preflight(self.backend, prepared)
        return prepared

    @property
    def assurances(self) -> tuple[Assurance, ...]:
        """Return how strongly each kind of sandbox in use isolates."""
        with self._checking:
            return tuple(self._assurances.values())

    @property
    def words(self) -> str | None:
        """Describe all environments' isolation; None before the first build."""
        return "; ".join(dict.fromkeys(assurance.words for assurance in self.assurances))[:1000] or None

    def _recipe(self, environment: EnvironmentManifest) -> EnvironmentRecipe:
        return self._recipes.get(
            manifest_key(environment), lambda: self._obtain(self._environments[environment.id]).environment
        )

    def _obtain(self, environment: Environment) -> Built:
        manifest = environment.manifest
        if manifest.base is None:
            tree = Tree()
        elif self._tree is None:
            raise UsageError(f"environment {manifest.id} is built from a tree, and there is no repository.")
        else:
            tree = self._tree(manifest.base)
        recipe, resolved = recipe_of(environment), environment.resolved
        return obtain_build(recipe, tree, self.backend, day=manifest.day, resolved=resolved)

    def _with_services(self, environment: EnvironmentManifest, sandbox: Sandbox) -> Sandbox:
        servers = servers_of(recipe_of(self._environments[environment.id]))
        return SandboxWithServers(sandbox, servers) if servers else sandbox

    @contextmanager
    def open(self, environment: EnvironmentManifest, limits: ProblemLimits) -> Iterator[Sandbox]:
        """Yield a fresh sandbox, and close it afterwards.

        Raises:
            SandboxError: the sandbox cannot be started.
        """
        prepared = self.prepare(environment)
        with self._pool.acquire(prepared, sandbox_limits(limits)) as sandbox:
            add_to_count(sandboxes=1)
            yield self._with_services(environment, sandbox)

    def lease(self, environment: EnvironmentManifest, limits: ProblemLimits) -> AbstractContextManager[Lease]:
        """Return a sandbox for repeated use by trusted code.

        Raises SandboxError if the sandbox cannot be started.
        """
        return self._pool.lease(self.prepare(environment), sandbox_limits(limits))

    @contextmanager
    def open_for_agent(
        self, environment: EnvironmentManifest, packages: Sequence[Environment], seconds: float
    ) -> Iterator[tuple[Sandbox, str | None]]:
        """Yield a sandbox with an agent's packages, and their digest.

        The digest is of all installed versions; None if nothing was installed. The ids of ``packages`` are the names of
        their folders. An MCP server that cannot be installed is left out until these sandboxes are closed. The sandbox
        lives a little longer than ``seconds``, and is closed afterwards.

        Raises:
            UsageError: the agent cannot be installed.
            SandboxError: an index cannot be reached, or the sandbox cannot be started.
        """
        self.prepare(environment)  # tests the isolation once, whatever is installed
        found = (
            (one.id, self._packages.get(manifest_key(one.manifest), partial(self._install, one))) for one in packages
        )
        installed = {name: built for name, built in found if built is not None}
        beside = tuple((name, built.layer) for name, built in installed.items())
        versions = digest({name: built.resolved for name, built in installed.items()})
        recipe = replace(self._recipe(environment), beside=beside)
        key = (*manifest_key(environment), *(f"{name} {layer.sha256}" for name, layer in beside))
        prepared = self._prepared.get(key, lambda: self.backend.prepare(recipe))
        limits = replace(AGENT_LIMITS, lifetime_seconds=seconds + _GRACE_SECONDS)
        with closing(self.backend.open(prepared, limits)) as sandbox:
            yield self._with_services(environment, sandbox), versions if installed else None

    def _install(self, environment: Environment) -> Built | None:
        """Return the build of an agent or MCP server.

        Returns None for an MCP server that cannot be installed. Raises UsageError if an agent cannot be installed, and
        BuildFailed if a package index cannot be reached.
        """
        try:
            return self._obtain(environment)
        except BuildFailed as error:
            if error.unreachable:
                raise
            if environment.id == "agent":
                raise UsageError(f"the agent cannot be installed: {error.cause}", "Check its version.") from error
            _LOG.warning("an MCP server is left out: %s", error.cause)
            return None

    def stop(self) -> None:
        """Close all sandboxes and refuse new ones with ``SandboxClosed``."""
        self._pool.stop()

    def close(self) -> None:
        """Close unused sandboxes that were started ahead; keep the backend."""
        self._pool.close()


def base_images(
    backend: Backend, environments: Iterable[Environment], wanted: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the base images of environments, by version of Python.

    Environments that name an image themselves are left out. The names identify the images' content. ``wanted`` are the
    images of earlier samples, which are used if available.

    Raises:
        SandboxError: an image is not on this machine and cannot be pulled.
    """
    recipes = (recipe_of(environment) for environment in environments if environment.manifest.inputs is None)
    versions = sorted({recipe.python for recipe in recipes if recipe.image is None})
    found = {python: backend.base_image(python, (wanted or {}).get(python)) for python in versions}
    return {python: name for python, name in found.items() if name is not None}


def manifest_key(environment: EnvironmentManifest) -> tuple[str, ...]:
    """Return id, recipe and versions, which identify an environment."""
    return environment.id, environment.recipe, environment.resolved


def sandbox_limits(limits: ProblemLimits) -> SandboxLimits:
    """Return a problem's limits in the sandbox's units.

    Half of the lifetime may pass while a started sandbox waits for its use. The second half is for set-up, tests and
    inspection.
    """
    return SandboxLimits(
        lifetime_seconds=2 * (limits.seconds + _GRACE_SECONDS),
        memory_bytes=limits.memory_mb << 20,
        cpus=limits.cpus,
        pids=limits.pids,
        disk_bytes=limits.disk_mb << 20,
    )
