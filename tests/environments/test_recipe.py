"""What a recipe may say, and how a wrong one is told."""

from typing import Any

import pytest

from codegate.environments import Recipe, parse_recipe
from codegate.errors import UsageError

WRITTEN = {
    "tools": {"python": "3.13"},
    "setup": ["uv sync --frozen"],
    "env": {"APP_SECRET": "test"},
    "services": ["postgres", {"run": "memcached", "ready": "true"}],
    "before": ["python manage.py migrate"],
    "tests": "pytest -q {files}",
}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"steps": ["make"]}, "environment.steps"),
        ({"test": "pytest"}, "environment.test: there is no such key (did you mean `tests`?)"),
        ({"setup": {"make": 1}}, "environment.setup: it has to be a list"),
        ({"env": {"LEVEL": 1}}, "environment.env.LEVEL: Input should be a valid string (put it in quotes)"),
        ({"tests": "pytest 'open"}, "environment.tests: No closing quotation"),
        ({"env": {"A-B": "1"}}, "environment.env.A-B"),
        ({"env": {"TOKEN": "1"}, "secrets": ["TOKEN"]}, "TOKEN cannot be both in `env` and in `secrets`"),
        ({"tests": None, "report": ["out.xml"]}, "`report` is what the command `tests` writes"),
        ({"report": ["../out.xml"]}, "environment.report.0"),
        ({"hosts": ["https://pypi.example"]}, "environment.hosts.0"),
    ],
)
def test_a_wrong_recipe_is_told_by_its_key(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_recipe({**WRITTEN, **changed}, "codegate.yml")
    assert str(error.value).startswith("codegate.yml: environment")
    assert why in str(error.value)


def test_one_value_is_a_list_of_one() -> None:
    recipe = parse_recipe({"setup": "make", "services": "redis", "tests": "rake", "report": "out.xml"}, "codegate.yml")
    assert (recipe.setup, recipe.services, recipe.report) == (("make",), ("redis",), ("out.xml",))


def test_all_but_the_time_limit_makes_another_recipe() -> None:
    recipe = parse_recipe(WRITTEN, "codegate.yml")
    other: dict[str, Any] = {
        "image": "python:3.13", "tools": {}, "setup": (), "env": {}, "packages": ("git",), "services": (), "before": (),
        "tests": None, "report": ("a.xml",), "folder": "web", "hosts": ("a.example",), "secrets": ("KEY",),
    }  # fmt: skip
    assert other.keys() == Recipe.model_fields.keys() - {"seconds"}
    identities = {recipe.model_copy(update={key: value}).identity for key, value in other.items()}
    assert len(identities | {recipe.identity}) == len(other) + 1
    assert recipe.model_copy(update={"seconds": 1}).identity == recipe.identity
