"""Every backend keeps the whole contract."""

from pathlib import Path

import pytest

from codegate.sandbox import Backend, EnvironmentRecipe, PreparedEnvironment
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.conformance import BUILD_CHECKS, CHECKS, Check, Subject
from tests.kit.kept import own_cache


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.requirement("S2")
def test_backend_conforms(
    check: Check, backend: Backend, environment: PreparedEnvironment, empty: EnvironmentRecipe
) -> None:
    totals = not isinstance(backend, BubblewrapBackend) or backend.has_control_groups
    check(Subject(backend, environment, empty, totals))


@pytest.mark.usefixtures("layers_removed")
@pytest.mark.parametrize("check", BUILD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.requirement("S2")
def test_backend_conforms_in_recorded_builds(
    check: Check,
    backend: Backend,
    environment: PreparedEnvironment,
    empty: EnvironmentRecipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", own_cache(tmp_path))  # the checks' layers go with it
    totals = not isinstance(backend, BubblewrapBackend) or backend.has_control_groups
    check(Subject(backend, environment, empty, totals))
