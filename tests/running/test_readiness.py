"""What a suite may not have on this machine unless its user allows it."""

from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.running.readiness import check_images
from codegate.suite import Suite, write_suite
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
