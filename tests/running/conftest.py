"""The suite and the model server that the tests of a running room share."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from codegate.running.faults import FAULTS
from codegate.suite import Suite, load_suite
from tests.kit.remembered import remember
from tests.running.world import Execute, ModelServer, make_suite, run_here, serving


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """Three bugs; nobody writes to it."""
    return make_suite(tmp_path_factory.mktemp("world"))


@pytest.fixture
def execute(suite: Suite, tmp_path: Path) -> Execute:
    """Carry out a run of the three bugs in the folder ``r``, or go on with it: ``run_here`` with these two."""
    return partial(run_here, suite, tmp_path / "r")


@pytest.fixture
def own_suite(tmp_path: Path) -> Suite:
    """The same three bugs, to break."""
    make_suite(tmp_path / "world")
    return load_suite(tmp_path / "world" / "suite")


@pytest.fixture(scope="session")
def running_server() -> Iterator[ModelServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running_server: ModelServer) -> Iterator[ModelServer]:
    """The model server; it knows every answer unless told otherwise."""
    running_server.reset()
    yield running_server
    running_server.reset()


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a twentieth of the usual time before a retry; the number of retries stays."""
    for cause, rule in FAULTS.items():
        monkeypatch.setitem(FAULTS, cause, replace(rule, wait=rule.wait / 20))


@pytest.fixture(autouse=True)
def one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look once in a session at what each of a hundred runs in this process would look at."""
    remember(monkeypatch.setattr)
