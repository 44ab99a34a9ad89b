"""Where sandboxes run: here, or on a Ray cluster."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import Field

from codegate.errors import UsageError
from codegate.grading import Sandboxes
from codegate.suite import Problem, Suite, Tree
from codegate.wording import count_of

EngineName = Annotated[
    Literal["local", "ray"],
    Field(
        description="Where sandboxes are: on this machine, or on the nodes of the Ray cluster at RAY_ADDRESS "
        "(docs/scale.md); default local."
    ),
]
Result = TypeVar("Result")
Made_co = TypeVar("Made_co", covariant=True)


class SandboxTask(Protocol[Made_co]):
    """Work that needs sandboxes.

    A function of a module, or a ``partial`` of one, so that it can be sent to a node.
    """

    def __call__(self, problem: Problem, base: Tree, *, sandboxes: Sandboxes) -> Made_co:
        """Do the work."""
        ...


class Engine(Protocol):
    """Runs tasks. Thread-safe."""

    @property
    def words(self) -> str | None:
        """Return the sandboxes' assurances; None before the first one."""
        ...

    def run(self, task: SandboxTask[Result], problem: Problem, base: Callable[[str], Tree]) -> Result:
        """Return the result of ``task`` on ``problem``.

        Raises:
            SandboxError: a fault of a sandbox, a daemon or the cluster.
            SandboxClosed: ``stop`` was called.
            CodegateError: the task's own.
        """
        ...

    def stop(self) -> None:
        """End the tasks under way, and refuse new ones."""
        ...


class ThisMachine:
    """An ``Engine`` that runs tasks in the calling thread."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    @property
    def words(self) -> str | None:
        """Return the sandboxes' assurances, or None."""
        return self._sandboxes.words

    def run(self, task: SandboxTask[Result], problem: Problem, base: Callable[[str], Tree]) -> Result:
        """See ``Engine``."""
        return task(problem, base(problem.id), sandboxes=self._sandboxes)

    def stop(self) -> None:
        """Do nothing: the owner of the backend closes its sandboxes."""


EngineFactory = Callable[[Suite, str, str, Mapping[str, str], Path | None], Engine]
"""Makes an engine for a suite, a run's id, the name of its kind of sandbox, its base images, and the repository."""


def connect_engine(name: EngineName, sandboxes: int, announce: Callable[[str], None]) -> EngineFactory | None:
    """Connect to the cluster; return its engine factory.

    None if tasks run on this machine. Ray handles SIGTERM from then on, so connect before signals are caught.

    Raises:
        UsageError: Ray is not installed.
        InfrastructureError: no cluster answers.
    """
    if name == "local":
        return None
    try:
        from codegate.running import ray_engine  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError("engine ray needs Ray, which is not installed.", "Install codegate-ci[ray].") from error
    cpus = ray_engine.connect_cluster()
    more = f" (--jobs {cpus} uses every CPU)" if sandboxes < cpus else ""
    announce(f"Ray cluster with {count_of(cpus, 'CPU')}; up to {sandboxes} sandboxes at once{more}")
    return ray_engine.RayCluster
