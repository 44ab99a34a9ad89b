import sys
from datetime import date
from pathlib import Path

import pytest

from codegate.durable import sha256
from codegate.errors import InfrastructureError, UsageError
from codegate.mining.environments.declarations import Declarations
from codegate.mining.environments.environment import (
    EnvironmentResolver,
    Plan,
    available_pythons,
    bounds,
    choose_python,
    plans,
)
from codegate.mining.environments.eras import Eras
from codegate.mining.environments.given import UserEnvironment, read_user_environment
from codegate.sandbox.resolution import Question, covers, resolve
from tests.kit.repository import HistoryBuilder

DECLARED = Declarations("attrs", ("pluggy",), ("six==1.15.0", "pytest"))
DAY = date(2024, 5, 17)


def test_the_bound_is_the_commits_year_then_its_quarter_then_its_day_and_never_before_the_interpreter() -> None:
    assert bounds(DAY, "3.11") == [date(2024, 1, 1), date(2024, 4, 1), date(2024, 5, 18)]
    assert bounds(date(2024, 1, 1), "3.11") == [date(2024, 1, 1), date(2024, 1, 2)]
    assert bounds(date(2015, 5, 17), "3.11") == [date(2023, 10, 1)]
    assert bounds(date(2023, 11, 5), "3.11") == [date(2023, 10, 1), date(2023, 11, 6)]


def test_a_tree_is_asked_for_its_lock_its_automation_all_it_declares_and_then_less() -> None:
    full = Declarations("x", ("pluggy",), ("six==1.15.0",), automation=("mock",), pins=("pluggy==1.4.0",))
    assert plans(full) == [
        Plan("lockfile", ("pluggy", "pytest", "six==1.15.0"), ("pluggy==1.4.0",)),
        Plan("ci", ("mock", "pluggy", "pytest", "six==1.15.0")),
        Plan("declared", ("pluggy", "pytest", "six==1.15.0"), persistent=True),
        Plan("declared", ("pluggy", "pytest", "six")),
        Plan("runtime", ("pluggy", "pytest")),
        Plan("minimal", ("pytest",)),
    ]
    assert plans(Declarations("", (), ())) == [Plan("declared", ("pytest",), persistent=True)]


@pytest.mark.requirement("M3")
def test_environments_are_of_their_time_locked_by_hash_and_named_by_content() -> None:
    resolver = EnvironmentResolver("3.11")
    found = list(resolver.ladder(DECLARED, DAY))

    assert [entry.manifest.rung for entry in found] == [*["declared"] * 4, "runtime"]
    first = found[0]
    assert "six==1.15.0 \\\n    --hash=sha256:" in first.lock
    assert "pytest==7.4.4 " in first.lock  # 8.0.0 came on 2024-01-27
    assert "pytest==8.2.0 " in found[2].lock
    assert "://" not in first.lock
    assert first.manifest.exclude_newer == date(2024, 1, 1)
    assert first.manifest.lock_sha256 == sha256(first.lock.encode())
    assert first.manifest.id == f"py311-{first.manifest.lock_sha256[:8]}"
    assert first.manifest.lock == f"environments/{first.manifest.id}/requirements.lock"
    again = next(resolver.ladder(DECLARED, date(2024, 11, 30)))
    assert again == first


def test_the_project_itself_is_not_installed_even_when_a_dependency_wants_it() -> None:
    found = next(EnvironmentResolver("3.11").ladder(Declarations("pluggy", (), ()), DAY))
    assert "pytest==" in found.lock
    assert "pluggy==" not in found.lock


def test_a_lock_file_pins_what_is_declared_and_nothing_else_of_it_is_installed() -> None:
    declared = Declarations("x", ("pluggy",), (), pins=("pluggy==1.3.0", "six==1.15.0"))
    found = next(EnvironmentResolver("3.11").ladder(declared, DAY))
    assert (found.manifest.rung, found.manifest.exclude_newer) == ("lockfile", date(2024, 5, 18))
    assert "pluggy==1.3.0 " in found.lock
    assert "six" not in found.lock


@pytest.mark.parametrize("package", ["codegate-no-such-package-4711", "docopt"], ids=["unknown", "no wheel"])
def test_what_has_no_wheel_is_done_without_where_only_tests_ask_for_it(package: str) -> None:
    resolver = EnvironmentResolver("3.11")
    tests = next(resolver.ladder(Declarations("x", (), (package, "six")), DAY))
    assert tests.manifest.rung == "declared"
    assert "six==" in tests.lock
    needed = Declarations("x", (package,), ("six",))
    assert [entry.manifest.rung for entry in resolver.ladder(needed, DAY)] == ["minimal"]
    assert package in resolver.unresolved(needed, DAY)
    assert resolver.unresolved(DECLARED, DAY) == ""


@pytest.mark.full
def test_an_index_that_does_not_answer_is_infrastructure_not_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_CACHE_DIR", "/nonexistent-cache")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(InfrastructureError, match="package index"):
        resolve(Question(("pytest",), (), "", "3.11", DAY))


def test_a_change_shares_the_environment_of_its_era_where_that_holds_what_it_declares(history: HistoryBuilder) -> None:
    def declare(runtime: str, tests: str) -> dict[str, str | bytes | None]:
        extras = f"optional-dependencies.test = [{tests}]"
        return {"pyproject.toml": f"[project]\nname = 'x'\ndependencies = [{runtime}]\n{extras}\n"}

    history.commit("old", declare("'six'", "'mock'"))
    tip = history.commit("new", declare("'six'", "'mock>=5'"))
    eras = Eras(history.folder, tip)
    newest = eras.newest()
    assert newest is not None
    assert newest.declared.test == ("mock>=5",)
    resolver = EnvironmentResolver("3.11", eras=eras)
    day = newest.day

    def first(runtime: tuple[str, ...], tests: tuple[str, ...]) -> str:
        return next(resolver.ladder(Declarations("x", runtime, tests), day)).manifest.id

    own = first(("six",), ("mock>=5",))
    assert (
        first(("six",), ("mock<6", "pytest-cov", "tomli==2.2.1")) == own
    )  # close enough: execution decides about the rest
    assert first((), ()) == own
    assert first(("six<1.10",), ()) != own
    assert first((), ("toml",)) != own


def test_what_the_newest_tree_needs_and_what_worked_nearby_come_before_the_test_runner_alone(
    history: HistoryBuilder,
) -> None:
    tip = history.commit("new", {"requirements.txt": "six\n"})
    resolver = EnvironmentResolver("3.11", eras=Eras(history.folder, tip))
    worked = next(EnvironmentResolver("3.11").ladder(Declarations("", ("toml",), ()), DAY))
    resolver.worked(worked, DAY)
    broken = Declarations("x", ("codegate-no-such-package-4711",), ())
    found = list(resolver.ladder(broken, DAY))
    assert [entry.manifest.rung for entry in found] == ["head", "declared", "minimal"]
    assert "six==" in found[0].lock
    assert found[1] == worked


def test_a_suites_own_environments_are_shared_with_what_is_added_to_it() -> None:
    known = next(EnvironmentResolver("3.11").ladder(DECLARED, date(2023, 1, 1)))
    resolver = EnvironmentResolver("3.11", known=((known, date(2023, 1, 1)),))
    assert next(resolver.ladder(Declarations("attrs", (), ("six",)), DAY)) == known
    assert next(resolver.ladder(Declarations("attrs", ("six>=1.16",), ()), DAY)) != known
    assert EnvironmentResolver("3.12", known=((known, DAY),)).known == ()


def test_what_the_user_gives_is_first_and_the_image_is_for_all(tmp_path: Path) -> None:
    image = f"python@sha256:{'0' * 64}"
    (tmp_path / "r.txt").write_text("six==1.15.0  # why\n")
    resolver = EnvironmentResolver("3.11", user=read_user_environment(tmp_path / "r.txt", image))
    found = list(resolver.ladder(Declarations("", ("toml",), ()), DAY))
    assert [entry.manifest.rung for entry in found[:2]] == ["user", "declared"]
    assert "six==1.15.0 " in found[0].lock
    assert {entry.manifest.image for entry in found} == {image}
    (tmp_path / "r.lock").write_text(found[0].lock)
    locked = EnvironmentResolver("3.11", user=read_user_environment(tmp_path / "r.lock"))
    again = next(locked.ladder(DECLARED, DAY))
    assert (again.lock, again.manifest.exclude_newer) == (found[0].lock, None)
    assert again.manifest.id != found[0].manifest.id  # another image is another environment
    (tmp_path / "poetry.lock").write_text('[[package]]\nname = "six"\nversion = "1.15.0"\n')
    assert read_user_environment(tmp_path / "poetry.lock").constraints == ("six==1.15.0",)
    assert read_user_environment(None) == UserEnvironment()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.txt", "six\n-r other.txt\n", "-r other.txt"),
        ("r.txt", "x @ https://example.org/x.whl\n", "no requirement of a package index"),
        ("r.txt", "six==1 --hash=sha256:0\n", "requirements lock"),
        ("uv.lock", "version = 1\n", "pins no package"),
        ("absent.txt", None, "cannot read"),
    ],
)
def test_what_the_user_gives_wrongly_is_said(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        read_user_environment(tmp_path / name)


def test_a_lock_covers_what_it_has_in_a_version_that_is_allowed() -> None:
    lock = "six==1.15.0 \\\n    --hash=sha256:00\nruamel-yaml==1.0\n"
    assert covers(lock, ("Six>=1.15", "ruamel.yaml", 'toml; python_version < "3"'), "3.11")
    assert not covers(lock, ("six>=1.16",), "3.11")
    assert not covers(lock, ("toml",), "3.11")


@pytest.mark.parametrize(
    ("requires", "named", "chosen"),
    [
        ("", (), "3.11"),
        ("", ("3.9", "3.10"), "3.10"),
        (">=3.12", (), "3.12"),
        ("<3.10", (), "3.9"),
        ("<3.10", ("3.12",), "3.9"),
        (">=3.14", (), None),
    ],
)
def test_the_interpreter_is_the_newest_that_the_tree_supports_and_that_was_not_new_then(
    requires: str, named: tuple[str, ...], chosen: str | None
) -> None:
    declared = Declarations("x", (), (), requires_python=requires, pythons=named)
    assert choose_python(declared, DAY, ("3.12", "3.9", "3.11", "3.10")) == chosen


def test_this_machine_has_the_interpreter_that_runs_the_tests() -> None:
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in available_pythons()
