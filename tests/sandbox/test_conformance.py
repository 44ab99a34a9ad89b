"""Every backend keeps the whole contract."""

import pytest

from codegate.sandbox import Backend, EnvironmentRecipe, PreparedEnvironment
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.conformance import CHECKS, Check, Subject


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.requirement("S2")
def test_backend_conforms(
    check: Check, backend: Backend, environment: PreparedEnvironment, recipe: EnvironmentRecipe
) -> None:
    totals = not isinstance(backend, BubblewrapBackend) or backend.has_control_groups
    check(Subject(backend, environment, recipe, totals))
