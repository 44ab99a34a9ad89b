"""Closing a backend while sandboxes are being started: no error but ours, and nothing outlives it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from codegate.sandbox import Backend, Command, EnvironmentRecipe, SandboxClosed, SandboxLimits, select_backend
from codegate.sandbox.docker import DockerBackend
from tests.sandbox.conftest import containers


def _close_during_starts(backend: Backend, empty: EnvironmentRecipe, delay: float) -> list[BaseException]:
    environment = backend.prepare(empty)
    raised: list[BaseException] = []

    def start() -> None:
        try:
            backend.open(environment, SandboxLimits(lifetime_seconds=60))
        except BaseException as error:
            raised.append(error)

    starts = [threading.Thread(target=start) for _ in range(2)]
    for thread in starts:
        thread.start()
    time.sleep(delay)
    backend.close()
    for thread in starts:
        thread.join()
    return raised


def test_closing_the_backend_ends_runs_under_way(backend: Backend, empty: EnvironmentRecipe) -> None:
    fresh = select_backend(backend.name, "closing")
    environment = fresh.prepare(empty)
    sandboxes = [fresh.open(environment, SandboxLimits()) for _ in range(3)]
    forever = Command(("sleep", "600"), timeout_seconds=600)
    with ThreadPoolExecutor(3) as pool:
        ends = [pool.submit(sandbox.run, forever) for sandbox in sandboxes]
        time.sleep(0.3)
        fresh.close()
    assert [type(end.exception()) for end in ends] == [SandboxClosed] * 3
    with pytest.raises(SandboxClosed):
        fresh.open(environment, SandboxLimits())


def test_closing_during_a_start_is_no_error_of_ours_and_no_container_outlives_it(
    backend: Backend, empty: EnvironmentRecipe, request: pytest.FixtureRequest
) -> None:
    run_id = f"closing-{time.monotonic_ns()}"
    for delay in (0.0, 0.03, 0.06, 0.1):
        raised = _close_during_starts(select_backend(backend.name, run_id), empty, delay)
        assert [type(error) for error in raised] == [SandboxClosed] * len(raised)
        if isinstance(backend, DockerBackend):
            assert containers(request.getfixturevalue("client"), run_id) == []
