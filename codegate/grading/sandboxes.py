"""Fresh sandboxes for a suite's environments: prepared once, opened as often as needed."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from codegate.sandbox import (
    Backend,
    EnvironmentRecipe,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
    SandboxPool,
    preflight,
)
from codegate.suite import EnvironmentManifest, ProblemLimits

_GRACE_SECONDS = 120.0


class Sandboxes:
    """Opens sandboxes for environment manifests. Thread-safe.

    Args:
        backend: where they run.
        locks: text of each environment's lock, by environment id.
        ahead: how many sandboxes are started before they are asked for.
    """

    def __init__(self, backend: Backend, locks: Mapping[str, str], ahead: int = 0) -> None:
        self.backend = backend
        self._locks = dict(locks)
        self._pool = SandboxPool(backend, ahead)
        self._prepared: dict[tuple[str, str], PreparedEnvironment] = {}
        self._lock = threading.Lock()

    def add_lock(self, environment: str, lock: str) -> None:
        """Make another environment's lock known."""
        self._locks[environment] = lock

    def prepare(self, environment: EnvironmentManifest) -> PreparedEnvironment:
        """Build the environment, or return the one that was built before.

        Raises:
            SandboxError: it cannot be built, or a probe in it found the sandbox weaker than promised.
        """
        key = (environment.id, environment.lock_sha256)
        with self._lock:
            if key not in self._prepared:
                recipe = EnvironmentRecipe(environment.python, self._locks[environment.id])
                prepared = self.backend.prepare(recipe)
                if not self._prepared:
                    self._check(prepared)
                self._prepared[key] = prepared
            return self._prepared[key]

    def _check(self, prepared: PreparedEnvironment) -> None:
        """Probe a first sandbox, through the same code path as all others, before anything untrusted runs."""
        broken = [finding for finding in preflight(self.backend, prepared) if not finding.held]
        if broken:
            shown = "; ".join(f"{finding.check} ({finding.evidence[:80]})" for finding in broken)
            raise SandboxError(f"the {self.backend.name} sandbox does not hold what it promises: {shown}.")

    @contextmanager
    def open(self, environment: EnvironmentManifest, limits: ProblemLimits) -> Iterator[Sandbox]:
        """Give a fresh sandbox and close it afterwards.

        Raises:
            SandboxError: it cannot be started.
        """
        prepared = self.prepare(environment)
        with self._pool.acquire(prepared, sandbox_limits(limits)) as sandbox:
            yield sandbox

    def close(self) -> None:
        """Close every sandbox that was started ahead; the backend stays the caller's."""
        self._pool.close()


def sandbox_limits(limits: ProblemLimits) -> SandboxLimits:
    """Return a problem's limits in the sandbox's units; the lifetime leaves room for set-up and inspection."""
    return SandboxLimits(
        lifetime_seconds=limits.seconds * 2 + _GRACE_SECONDS,
        memory_bytes=limits.memory_mb << 20,
        cpus=limits.cpus,
        pids=limits.pids,
        disk_bytes=limits.disk_mb << 20,
    )
