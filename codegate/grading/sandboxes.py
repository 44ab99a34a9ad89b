"""Sandboxes for a suite's environments: prepared once, opened as often as needed."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from codegate.durable import digest
from codegate.environments import obtain, recipe_of
from codegate.environments.services import Served, servers_of
from codegate.errors import UsageError
from codegate.grading.controls.copies import Texts
from codegate.grading.once import Once
from codegate.sandbox import (
    AgentRecipe,
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

AGENT_LIMITS: Final = SandboxLimits(memory_bytes=3 << 30, cpus=2.0, pids=512, disk_bytes=1 << 30, open_files=4096)
"""What an agent may use: the largest takes 0.7 GiB and 34 threads, beside the tests that it runs."""
_GRACE_SECONDS: Final = 120.0
_MOST_SEARCHED: Final = 32


@dataclass
class RunCount:
    """How many sandboxes were started, how often tests were run in them, and their processor time, in seconds."""

    sandboxes: int = 0
    runs: int = 0
    cpu_seconds: float = 0.0


_counting: ContextVar[RunCount | None] = ContextVar("_counting", default=None)


@contextmanager
def counted_runs(into: RunCount) -> Iterator[None]:
    """Add what this thread does inside the block ``into`` a count; that of the innermost block."""
    token = _counting.set(into)
    try:
        yield
    finally:
        _counting.reset(token)


def count(sandboxes: int = 0, runs: int = 0, cpu_seconds: float = 0.0) -> None:
    """Add to the count of the innermost block of ``counted_runs``, if there is one."""
    into = _counting.get()
    if into is not None:
        into.sandboxes += sandboxes
        into.runs += runs
        into.cpu_seconds += cpu_seconds


class Sandboxes:
    """Opens sandboxes for environment manifests. Thread-safe.

    Args:
        backend: where they run.
        environments: those that are known, by id.
        ahead: how many sandboxes are started before they are asked for.
        tree: returns the tree that an environment is built from; None: all are built from an empty one.

    Attributes:
        texts: the hidden tests of the last problems with their units; ``controls/flips.py`` fills it.
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
        self._recipes: Once[tuple[str, ...], EnvironmentRecipe] = Once()
        self._prepared: Once[tuple[str, ...], PreparedEnvironment] = Once()
        self._pythons: Once[tuple[str, ...], str] = Once()
        self.texts: Once[tuple[str, ...], Texts] = Once(_MOST_SEARCHED)
        self._checking = threading.Lock()
        self._assurances: dict[tuple[object, ...], Assurance] = {}

    @classmethod
    def of(cls, suite: Suite, backend: Backend, repository: Path | None, ahead: int = 0) -> Self:
        """Return sandboxes for the environments of ``suite``; its base trees are as in ``load_tree``."""
        return cls(backend, suite.environments, ahead, lambda base: load_tree(suite, base, repository))

    def add(self, environment: Environment, built: EnvironmentRecipe | None = None) -> EnvironmentRecipe:
        """Make another environment's texts known, and return what it is made from; raises as ``prepare``.

        ``built`` is what a recorded build just gave.
        """
        self.learn(environment)
        if built is not None:
            self._recipes.get(environment_key(environment.manifest), lambda: built)
        return self._recipe(environment.manifest)

    def python(self, environment: EnvironmentManifest) -> str:
        """Return the minor version of the Python beside the environment's own, which agents run on; raises as ``open``.

        A recipe does not say it: it is that of the image, or the one that bubblewrap shows of this machine.
        """
        return self._pythons.get(environment_key(environment), lambda: self._ask_python(environment))

    def _ask_python(self, environment: EnvironmentManifest) -> str:
        program = "import sys; print('%d.%d' % sys.version_info[:2])"
        with self.open(environment, ProblemLimits()) as sandbox:
            done = sandbox.run(Command(("{python}", "-I", "-S", "-c", program)))
        if not done.ok:
            raise SandboxError(f"environment {environment.id} does not say which Python agents run on.")
        return done.stdout.decode().strip()

    def learn(self, environment: Environment) -> None:
        """Make another environment's texts known; it is built when it is needed."""
        self._environments[environment.id] = environment

    def prepare(self, environment: EnvironmentManifest) -> PreparedEnvironment:
        """Build the environment, or return the one that was built before; wait when it is being built.

        Raises:
            SandboxError: it cannot be built, or a probe in it found the sandbox weaker than promised; the next
                call tries again.
        """
        return self._prepared.get(environment_key(environment), lambda: self._build(environment))

    def _build(self, environment: EnvironmentManifest) -> PreparedEnvironment:
        recipe = self._recipe(environment)
        prepared = self.backend.prepare(recipe)
        # Before anything untrusted runs, through the same code path as everything else.
        # Environments of one base have the same walls: what is in them is not what makes them.
        kind = (recipe.python, recipe.image)
        with self._checking:
            if kind not in self._assurances:
                self._assurances[kind] = preflight(self.backend, prepared)
        return prepared

    @property
    def assurances(self) -> tuple[Assurance, ...]:
        """Return what was found of the sandboxes so far, one for each kind of environment that was prepared."""
        with self._checking:
            return tuple(self._assurances.values())

    @property
    def words(self) -> str | None:
        """Return the same in a few words, for people; None when no environment was prepared."""
        return "; ".join(dict.fromkeys(assurance.words for assurance in self.assurances))[:1000] or None

    def _recipe(self, environment: EnvironmentManifest) -> EnvironmentRecipe:
        return self._recipes.get(environment_key(environment), lambda: self._obtain(environment))

    def _obtain(self, manifest: EnvironmentManifest) -> EnvironmentRecipe:
        """Return a build from the cache, or build it anew with the versions that it had."""
        environment = self._environments[manifest.id]
        if manifest.base is None:
            tree = Tree()
        elif self._tree is None:
            raise UsageError(f"environment {manifest.id} is built from a tree, and there is no repository.")
        else:
            tree = self._tree(manifest.base)
        recipe, resolved = recipe_of(environment), environment.resolved
        return obtain(recipe, tree, self.backend, day=manifest.day, resolved=resolved).environment

    def _beside(self, environment: EnvironmentManifest, sandbox: Sandbox) -> Sandbox:
        """Return the sandbox with the services of the environment's recipe beside each command."""
        servers = servers_of(recipe_of(self._environments[environment.id]))
        return Served(sandbox, servers) if servers else sandbox

    @contextmanager
    def open(self, environment: EnvironmentManifest, limits: ProblemLimits) -> Iterator[Sandbox]:
        """Give a fresh sandbox and close it afterwards.

        Raises:
            SandboxError: it cannot be started.
        """
        prepared = self.prepare(environment)
        with self._pool.acquire(prepared, sandbox_limits(limits)) as sandbox:
            count(sandboxes=1)
            yield self._beside(environment, sandbox)

    def lease(self, environment: EnvironmentManifest, limits: ProblemLimits) -> AbstractContextManager[Lease]:
        """Give a sandbox that may serve several times, for work that runs nothing untrusted; raises as ``open``."""
        return self._pool.lease(self.prepare(environment), sandbox_limits(limits))

    @contextmanager
    def open_for_agent(
        self, environment: EnvironmentManifest, agent: AgentRecipe | None, seconds: float
    ) -> Iterator[Sandbox]:
        """Give a fresh sandbox of ``environment`` with an agent in it, that lives for ``seconds``; close it afterwards.

        Raises:
            SandboxError: it cannot be built or started.
        """
        self.prepare(environment)  # its walls are tried once, whatever is installed
        recipe = replace(self._recipe(environment), agent=agent)
        key = (*environment_key(environment), "" if agent is None else digest([agent.lock, agent.packages]))
        prepared = self._prepared.get(key, lambda: self.backend.prepare(recipe))
        limits = replace(AGENT_LIMITS, lifetime_seconds=seconds + _GRACE_SECONDS)
        with closing(self.backend.open(prepared, limits)) as sandbox:
            yield self._beside(environment, sandbox)

    def stop(self) -> None:
        """Close every sandbox, also those in use, and refuse new ones with ``SandboxClosed``; the backend stays."""
        self._pool.stop()

    def close(self) -> None:
        """Close every sandbox that was started ahead; the backend stays the caller's."""
        self._pool.close()


def base_images(
    backend: Backend, environments: Iterable[Environment], wanted: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Choose what environments stand on whose identity names no image: images by content, by version of Python.

    Args:
        backend: where code is to run.
        environments: of a suite.
        wanted: what earlier samples were made on; it is taken where it can be had.

    Raises:
        SandboxError: one is neither here nor to be had.
    """
    recipes = (recipe_of(environment) for environment in environments if environment.manifest.inputs is None)
    versions = sorted({recipe.python for recipe in recipes if recipe.image is None})
    found = {python: backend.base_image(python, (wanted or {}).get(python)) for python in versions}
    return {python: name for python, name in found.items() if name is not None}


def environment_key(environment: EnvironmentManifest) -> tuple[str, ...]:
    """Return the key of an environment within a suite."""
    return environment.id, environment.recipe, environment.resolved


def sandbox_limits(limits: ProblemLimits) -> SandboxLimits:
    """Return a problem's limits in the sandbox's units.

    Half of the lifetime may pass while a sandbox waits in the pool; the other half is for the tests, and for
    set-up and inspection around them.
    """
    return SandboxLimits(
        lifetime_seconds=2 * (limits.seconds + _GRACE_SECONDS),
        memory_bytes=limits.memory_mb << 20,
        cpus=limits.cpus,
        pids=limits.pids,
        disk_bytes=limits.disk_mb << 20,
    )
