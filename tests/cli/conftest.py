"""The command line is tested with the running room's suite and server, and with one finished run."""

from pathlib import Path

import pytest

from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Suite
from tests.kit.command import Done
from tests.running.conftest import one_look, own_suite, running_server, server, suite
from tests.running.world import codegate

__all__ = ["one_look", "own_suite", "running_server", "server", "suite"]


@pytest.fixture(scope="session")
def made(suite: Suite, tmp_path_factory: pytest.TempPathFactory, bwrap_backend: BubblewrapBackend) -> tuple[Done, Path]:
    """How a run of ``reference`` and ``empty`` ended, and its folder; nobody writes to it."""
    home = tmp_path_factory.mktemp("finished")
    command = ("run", suite.folder, "--candidate", "reference", "--candidate", "empty", "--sandbox", "bwrap", "--json")
    done = codegate(*command, "--out", home / "run", cwd=home)
    assert done.code == 0, done.stderr
    return done, home / "run"


@pytest.fixture(scope="session")
def finished(made: tuple[Done, Path]) -> Path:
    """The folder of that run."""
    return made[1]
