"""Environments of suites without a repository: a recipe that needs no tree, and the versions that it installed."""

from contextlib import closing
from datetime import date

import pytest

from codegate.environments import Recipe, environment_of
from codegate.errors import CodegateError
from codegate.grading import Sandboxes
from codegate.sandbox import Command
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Environment, ProblemLimits
from tests.conftest import PYTHON

pytestmark = pytest.mark.bwrap


def by_hand(resolved: str = "", *setup: str, python: str = PYTHON) -> Environment:
    return environment_of("hand", Recipe(tools={"python": python}, setup=setup), resolved, day=date(2026, 1, 1))


def test_a_recipe_without_a_tree_is_built_with_the_versions_that_were_resolved(
    bwrap_backend: BubblewrapBackend,
) -> None:
    environment = by_hand("# uv pip freeze\niniconfig==2.0.0\n", "uv pip install iniconfig")
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.learn(environment)
        with sandboxes.open(environment.manifest, ProblemLimits()) as sandbox:
            show = "import importlib.metadata as m, sys; print(m.version('iniconfig'), sys.version[:4])"
            done = sandbox.run(Command(("{interpreter}", "-c", show)))
    assert done.stdout.decode() == f"2.0.0 {PYTHON}\n", done.stderr


def test_a_machine_without_the_interpreter_is_told_which_one_is_missing(bwrap_backend: BubblewrapBackend) -> None:
    environment = by_hand(python="3.99")
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.learn(environment)
        with pytest.raises(CodegateError, match=r"python 3\.99") as raised:
            sandboxes.prepare(environment.manifest)
    assert "3.99" in raised.value.remedy
