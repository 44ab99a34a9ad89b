from datetime import date

import pytest

from codegate.durable import sha256
from codegate.errors import InfrastructureError
from codegate.mining.declarations import Declarations
from codegate.mining.environment import EnvironmentResolver, bounds, rungs

DECLARED = Declarations("attrs", ("pluggy",), ("six==1.15.0", "pytest"))


def test_the_bound_is_the_commits_quarter_then_its_day_and_never_before_the_interpreter() -> None:
    assert bounds(date(2024, 5, 17), "3.11") == [date(2024, 4, 1), date(2024, 5, 18)]
    assert bounds(date(2024, 4, 1), "3.11") == [date(2024, 4, 1), date(2024, 4, 2)]
    assert bounds(date(2015, 5, 17), "3.11") == [date(2023, 10, 1)]
    assert bounds(date(2023, 11, 5), "3.11") == [date(2023, 10, 1), date(2023, 11, 6)]


def test_the_ladder_goes_from_everything_declared_to_the_test_runner_alone() -> None:
    assert rungs(DECLARED) == [
        ("declared", ("pluggy", "pytest", "six==1.15.0")),
        ("declared", ("pluggy", "pytest", "six")),
        ("runtime", ("pluggy", "pytest")),
        ("minimal", ("pytest",)),
    ]
    assert rungs(Declarations("", (), ())) == [("declared", ("pytest",))]


def test_environments_are_of_their_time_locked_by_hash_and_named_by_content() -> None:
    resolver = EnvironmentResolver("3.11")
    found = list(resolver.ladder(DECLARED, date(2024, 5, 17)))

    assert [entry.manifest.rung for entry in found] == ["declared", "declared", "runtime"]
    first = found[0]
    assert "six==1.15.0 \\\n    --hash=sha256:" in first.lock
    assert "pytest==8.1.1 " in first.lock  # 8.2.0 came on 2024-04-27
    assert "://" not in first.lock
    assert first.manifest.exclude_newer == date(2024, 4, 1)
    assert first.manifest.lock_sha256 == sha256(first.lock.encode())
    assert first.manifest.id == f"py311-{first.manifest.lock_sha256[:8]}"
    assert first.manifest.lock == f"environments/{first.manifest.id}/requirements.lock"
    again = next(resolver.ladder(DECLARED, date(2024, 6, 30)))
    assert again == first


def test_the_project_itself_is_not_installed_even_when_a_dependency_wants_it() -> None:
    found = next(EnvironmentResolver("3.11").ladder(Declarations("pluggy", (), ()), date(2024, 5, 17)))
    assert "pytest==" in found.lock
    assert "pluggy==" not in found.lock


def test_what_cannot_be_resolved_is_left_to_the_next_rung() -> None:
    declared = Declarations("x", (), ("codegate-no-such-package-4711",))
    assert [entry.manifest.rung for entry in EnvironmentResolver("3.11").ladder(declared, date(2024, 5, 17))] == [
        "runtime"
    ]


def test_an_index_that_does_not_answer_is_infrastructure_not_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_CACHE_DIR", "/nonexistent-cache")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(InfrastructureError, match="package index"):
        next(EnvironmentResolver("3.11").ladder(DECLARED, date(2024, 5, 17)))
