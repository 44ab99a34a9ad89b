"""What a suite may not have on this machine unless its user allows it, and what a machine does not have."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.running import readiness
from codegate.running.readiness import check_images, check_installed
from codegate.sandbox import NotInstalled
from codegate.suite import Base, Environment, Suite, Tree, TreeFile, write_suite
from tests.kit import problem as kit
from tests.suite.builders import problem


def suite_with(folder: Path, recipe: str) -> Suite:
    environment = kit.environment_with("six 1\n", "recorded", recipe=recipe)
    problems = [problem(environment=environment.manifest)]
    return write_suite(folder, name="demo", repository=None, environments=[environment], problems=problems)


def test_a_suites_recipe_gets_only_the_secrets_that_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_with(tmp_path / "suite", "setup: [make]\nsecrets: [INDEX_TOKEN, MODEL_KEY]\n")
    monkeypatch.setenv("CODEGATE_SECRETS", "INDEX_TOKEN")
    with pytest.raises(UsageError, match=r"environment recorded: recipe.yml asks for the secrets MODEL_KEY, which"):
        check_images(suite)
    monkeypatch.setenv("CODEGATE_SECRETS", "MODEL_KEY INDEX_TOKEN")
    check_images(suite)
    monkeypatch.delenv("CODEGATE_SECRETS")
    check_images(suite_with(tmp_path / "suite", "setup: [make]\n"))


def test_a_suites_recipe_is_built_on_an_image_only_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_with(tmp_path / "suite", "setup: [make]\nimage: registry.example/any:1\n")
    with pytest.raises(UsageError, match=r"recipe.yml uses the image registry.example/any:1, which is not allowed"):
        check_images(suite)
    monkeypatch.setenv("CODEGATE_IMAGES", "registry.example/any:1")
    check_images(suite)


def mined(name: str, recipe: str) -> Environment:
    return kit.environment_with("", name, recipe=recipe, base=Base(folder="bases/tree"), inputs="0" * 64)


@pytest.mark.parametrize(
    ("old", "new", "lacking", "words"),
    [
        (mined("old", "tools: {ruby: '1.0'}\n"), mined("new", "setup: [make]\n"), 1, None),
        (mined("old", "tools: {ruby: '1.0'}\n"), mined("new", "setup: [make]\n"), 2, "2 of 4 problems"),
        (mined("old", "tools: {ruby: '1.0'}\n"), mined("new", "tools: {ruby: '1.1'}\n"), 1, "4 of 4 problems"),
        (
            kit.environment_with("", "old", recipe="tools: {ruby: '1.0'}\n"),
            mined("new", "setup: [make]\n"),
            1,
            "1 of 4",
        ),
    ],
)
def test_a_missing_tool_costs_the_problems_of_an_old_change_and_else_ends_the_run_at_once(
    old: Environment, new: Environment, lacking: int, words: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(recipe: Recipe, *_: object) -> str:
        if "ruby" in recipe.tools:
            raise NotInstalled(f"this machine has no ruby {recipe.tools['ruby']}.", "Install it.")
        return ""

    monkeypatch.setattr(readiness, "inputs_of", look)
    tree = {"bases/tree": Tree({"Makefile": TreeFile(b"all:\n")})}
    environments = [old] * lacking + [new] * (4 - lacking)
    problems = [problem(f"p-{n}", environment=one.manifest) for n, one in enumerate(environments)]
    suite = write_suite(
        tmp_path / "s", name="demo", repository=None, environments=[old, new], problems=problems, bases=tree
    )
    backend: Any = None
    with pytest.raises(UsageError, match=rf"{words}.*old/recipe.yml\): .*no ruby") if words else nullcontext():
        check_installed(suite, suite.problems, 4, backend, None)
