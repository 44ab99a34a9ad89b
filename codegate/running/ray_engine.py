"""Run tasks on the nodes of a Ray cluster.

Model calls, budgets and the journal stay in this process. A task takes one CPU of a node and the memory of its
problem's limit, and opens its sandboxes on the node. If the cluster can grow, waiting tasks make it start nodes. A task
whose node is lost fails with a SandboxError and is retried by the fault table, never by Ray.

Ray's documentation of tasks: https://docs.ray.io/en/latest/ray-core/tasks.html.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ray
from ray.exceptions import RayError, RaySystemError, RayTaskError, TaskCancelledError

from codegate import __version__
from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.grading import Sandboxes, base_images
from codegate.running.attempt import Result, SandboxTask
from codegate.sandbox import SandboxClosed, SandboxError, SandboxUnavailable, select_backend
from codegate.suite import Base, Environment, Problem, Suite, Tree, load_tree

_MOST_SENT: Final = 64
"""Most problems whose trees stay in the cluster's memory. A tree that was dropped is sent again."""
_REMEDY: Final = "Set RAY_ADDRESS to HOST:6379, the address of its head node."
_REACH_SECONDS: Final = 5.0


def connect_cluster() -> int:
    """Connect to the Ray cluster; return its number of CPUs.

    The variable RAY_ADDRESS has the cluster's address. Without it, Ray finds a cluster, or starts one on this machine.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _check_reachable(os.environ.get("RAY_ADDRESS", ""))
    try:
        ray.init(log_to_driver=False, logging_level="error", include_dashboard=False, ignore_reinit_error=True)
    except (RayError, OSError, RuntimeError, ValueError) as error:
        raise InfrastructureError(f"no Ray cluster answers: {_words(error)}.", _REMEDY) from error
    cpus = int(ray.cluster_resources().get("CPU", 0))
    if cpus < 1:
        raise InfrastructureError("the Ray cluster has no CPU.", "Start a node with `ray start --address HOST:6379`.")
    return cpus


def _check_reachable(address: str) -> None:
    # Checked first, because Ray itself would try for more than three minutes.
    host, _, port = address.rpartition(":")
    if not host or "/" in address or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InfrastructureError(f"no Ray cluster answers at {address}: {reason}.", _REMEDY) from error


@dataclass(frozen=True)
class _Plan:
    version: str
    run: str
    sandbox: str
    environments: Mapping[str, Environment]
    images: Mapping[str, str]
    trees: Mapping[Base, Any]


class RayCluster:
    """Runs tasks on the cluster of ``connect_cluster``; an ``Engine``."""

    def __init__(
        self, suite: Suite, run: str, sandbox: str, images: Mapping[str, str], repository: Path | None = None
    ) -> None:
        bases = {environment.manifest.base for environment in suite.environments.values()}
        trees = {base: ray.put(load_tree(suite, base, repository)) for base in bases if base is not None}
        plan = _Plan(__version__, run, sandbox, dict(suite.environments), dict(images), trees)
        self._plan = ray.put(plan)
        self._on_node = ray.remote(num_cpus=1, max_retries=0)(_on_node)
        self._sent: dict[str, Any] = {}
        self._under_way: set[Any] = set()
        self._stopped = False
        self._words: dict[str, None] = {}
        self._lock = threading.Lock()

    @property
    def words(self) -> str | None:
        """Describe the nodes' sandboxes and their verified isolation, or None."""
        with self._lock:
            return "; ".join(self._words)[:1000] or None

    def run(self, task: SandboxTask[Result], problem: Problem, base: Callable[[str], Tree]) -> Result:
        """Run ``task`` on a cluster node; return its result."""
        memory = _memory(problem)
        with self._lock:
            if self._stopped:
                raise SandboxClosed("the run was interrupted.")
            if problem.id not in self._sent:
                while len(self._sent) >= _MOST_SENT:  # running tasks keep their trees
                    del self._sent[next(iter(self._sent))]
                self._sent[problem.id] = ray.put((problem, base(problem.id)))
            running = self._on_node.options(memory=memory).remote(self._plan, self._sent[problem.id], task)
            self._under_way.add(running)
        try:
            result, words = ray.get(running)
        except TaskCancelledError as error:
            raise SandboxClosed("the run was interrupted.") from error
        except RayTaskError as error:
            if isinstance(error.cause, CodegateError):
                raise error.cause from error
            if _is_of_loading(error.cause):
                raise UsageError(
                    f"a Ray node cannot load codegate {__version__}: {str(error.cause).strip().splitlines()[-1]}.",
                    f"Install codegate-ci[ray]=={__version__} on every node.",
                ) from error
            raise
        except RayError as error:
            if self._stopped:
                raise SandboxClosed("the run was interrupted.") from error
            raise SandboxError(f"the cluster lost a task: {_words(error)}.", "Look at the node's memory.") from error
        finally:
            with self._lock:
                self._under_way.discard(running)
        with self._lock:
            self._words |= dict.fromkeys(filter(None, [words]))
        return result  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Kill all running tasks and their sandboxes."""
        with self._lock:
            self._stopped = True
            running = list(self._under_way)
        for task in running:
            ray.cancel(task, force=True)


def _memory(problem: Problem) -> int:
    # Limited to the largest node's memory, because a task that asks for more would wait forever.
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    largest = max((int(node.get("memory", 0)) for node in nodes if "CPU" in node), default=None)
    wanted = problem.manifest.limits.memory_mb << 20
    return wanted if largest is None else min(wanted, largest)


def _is_of_loading(cause: object) -> bool:
    # The task's function (RuntimeError) or its arguments (RaySystemError) could not be loaded.
    return isinstance(cause, ImportError | RaySystemError) or "remote function failed to import" in str(cause)


def _words(error: Exception) -> str:
    # Shortened, because Ray's messages can fill pages.
    return " ".join(str(error).split())[:300].rstrip(".")


_SANDBOXES: Final[dict[str, Sandboxes]] = {}
"""Sandboxes of this node process, by run. A process serves many tasks, one after the other."""


def _on_node(plan: _Plan, work: tuple[Problem, Tree], task: SandboxTask[Result]) -> tuple[Result, str | None]:
    # This runs on a node.
    if plan.run not in _SANDBOXES:
        _SANDBOXES[plan.run] = _opened(plan)
    sandboxes = _SANDBOXES[plan.run]
    return task(*work, sandboxes=sandboxes), sandboxes.words


def _opened(plan: _Plan) -> Sandboxes:
    node = ray.util.get_node_ip_address()
    if plan.version != __version__:
        raise UsageError(
            f"the Ray node {node} has codegate {__version__}, and the run is of {plan.version}.",
            f"Install codegate-ci[ray]=={plan.version} on every node.",
        )
    try:
        backend = select_backend(plan.sandbox, plan.run)
    except SandboxUnavailable as error:  # no retry would help
        raise UsageError(f"the Ray node {node} has no sandbox that works: {error.cause}", error.remedy) from error
    try:
        backend.sweep()
        images = base_images(backend, plan.environments.values(), plan.images)
        if images != plan.images:
            raise UsageError(
                f"the Ray node {node} has other base images: {', '.join(sorted(images.values()))}.",
                f"Load these there: {', '.join(sorted(plan.images.values()))}.",
            )
    except BaseException:
        backend.close()
        raise
    return Sandboxes(backend, plan.environments, 0, lambda base: ray.get(plan.trees[base]))
