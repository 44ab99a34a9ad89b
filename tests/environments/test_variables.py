"""What set-up and tests find in their environment."""

import os
import ssl
from datetime import date

import pytest

from codegate.environments import Recipe
from codegate.environments.secrets import secret_values
from codegate.environments.variables import (
    HOME,
    authorities,
    index_addresses,
    index_variables,
    set_up_variables,
    version_variables,
)
from codegate.environments.variables import test_variables as variables_of_tests
from codegate.errors import UsageError

DAY = date(2024, 2, 29)
END = "2024-03-01T00:00:00Z"
PLAIN = Recipe()


@pytest.fixture(autouse=True)
def _no_index_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if any(part in name.upper() for part in ("INDEX", "REGISTRY", "GOPROXY")):
            monkeypatch.delenv(name)


def of_set_up(
    recipe: Recipe = PLAIN, names: tuple[str, ...] = (), python: str = "3.9.1", **indexes: str
) -> dict[str, str]:
    return set_up_variables(recipe, "/usr/bin", names, DAY, indexes, python)


def test_indexes_answer_as_of_the_day_where_no_lock_says_the_versions() -> None:
    undated, locked = of_set_up(), of_set_up(names=("uv.lock", "web/pnpm-lock.yaml"))
    assert (undated["UV_EXCLUDE_NEWER"], undated["PIP_UPLOADED_PRIOR_TO"], undated["npm_config_before"]) == (END,) * 3
    assert "UV_FROZEN" not in undated
    assert locked["UV_FROZEN"] == "1"
    assert not {"UV_EXCLUDE_NEWER", "npm_config_before"} & locked.keys()


def test_packages_of_an_interpreters_first_year_count_for_older_trees_too() -> None:
    newer = of_set_up(python="3.13.0")
    assert newer["UV_EXCLUDE_NEWER"] == newer["PIP_UPLOADED_PRIOR_TO"] == "2025-10-02T00:00:00Z"
    assert newer["npm_config_before"] == END
    assert of_set_up(python="3.12.4")["UV_EXCLUDE_NEWER"] == END  # the tree is younger: its authors had no later ones


def test_a_lock_counts_for_the_recipes_folder_and_those_below_it() -> None:
    assert of_set_up(Recipe(folder="services/shop"), ("services/uv.lock",))["UV_FROZEN"] == "1"
    assert "UV_FROZEN" not in of_set_up(Recipe(folder="services/shop"), ("examples/uv.lock",))


def test_the_recipes_variables_win_in_set_up_and_in_tests() -> None:
    recipe = Recipe(env={"UV_FROZEN": "0", "HOME": "/workspace"})
    for variables in (of_set_up(recipe, ("uv.lock",)), variables_of_tests(recipe, "/usr/bin", python=True)):
        assert (variables["UV_FROZEN"], variables["HOME"]) == ("0", "/workspace")


def test_maven_and_gradle_keep_what_they_load_in_the_environment_whatever_options_the_recipe_has() -> None:
    recipe = Recipe(env={"MAVEN_OPTS": "-Xmx1g"})
    for variables in (of_set_up(recipe), variables_of_tests(recipe, "/usr/bin", python=False)):
        assert variables["MAVEN_OPTS"] == f"-Duser.home={HOME} -Xmx1g"
        assert variables["GRADLE_USER_HOME"] == f"{HOME}/.gradle"


def test_tests_know_no_index_and_no_way_out() -> None:
    variables = variables_of_tests(Recipe(), "/usr/bin", python=True)
    assert not {name for name in variables if "proxy" in name.lower() and name != "GOPROXY"}
    assert (variables["GOPROXY"], variables["UV_OFFLINE"]) == ("off", "1")
    assert variables["VIRTUAL_ENV"] == of_set_up()["VIRTUAL_ENV"]
    assert "VIRTUAL_ENV" not in variables_of_tests(Recipe(), "/usr/bin", python=False)


def test_loopback_is_reached_without_the_way_out_unless_an_index_is_there() -> None:
    assert of_set_up()["NO_PROXY"] == of_set_up()["no_proxy"] == "localhost,127.0.0.1,::1"
    assert of_set_up(PIP_INDEX_URL="http://127.0.0.1:8080/simple")["NO_PROXY"] == "localhost,::1"


def test_an_index_of_one_tool_is_given_to_the_other_and_no_credentials_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://ada:sesame@wheels.acme.test/simple")
    monkeypatch.setenv("UV_INDEX", "acme=https://ada:sesame@own.acme.test/simple https://b.acme.test/")
    monkeypatch.setenv("npm_config_registry", "https://npm.acme.test/")
    found = index_variables({})
    assert found == {
        "PIP_INDEX_URL": "https://wheels.acme.test/simple",
        "UV_DEFAULT_INDEX": "https://wheels.acme.test/simple",
        "UV_INDEX": "acme=https://own.acme.test/simple https://b.acme.test/",
        "PIP_EXTRA_INDEX_URL": "https://own.acme.test/simple https://b.acme.test/",
        "npm_config_registry": "https://npm.acme.test/",
    }
    assert "https://own.acme.test/simple" in index_addresses(found)


def test_credentials_of_an_index_that_is_a_secret_are_given_to_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://ada:sesame@wheels.acme.test/simple"
    monkeypatch.setenv("PIP_INDEX_URL", address)
    secrets = secret_values(Recipe(secrets=("PIP_INDEX_URL",)))
    assert secrets == {"PIP_INDEX_URL": address}
    assert index_variables(secrets)["UV_DEFAULT_INDEX"] == address


def test_a_secret_that_is_not_set_is_named() -> None:
    with pytest.raises(UsageError, match=r"environment\.secrets: ACME_TOKEN not set"):
        secret_values(Recipe(secrets=("ACME_TOKEN", "PATH")))


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ('name = "My.Shop-Api"\n[build-system]\nrequires = ["setuptools_scm"]', "_FOR_MY_SHOP_API"),
        ('name = "shop"\n[build-system]\nrequires = ["hatch-vcs"]', ""),
        ('name = "shop"\n[build-system]\nrequires = ["setuptools"]', None),
    ],
)
def test_a_version_from_git_has_a_stand_in_without_git(written: str, name: str | None) -> None:
    wanted = {} if name is None else {f"SETUPTOOLS_SCM_PRETEND_VERSION{name}": "0.1.dev0"}
    assert version_variables(f"[project]\n{written}\n".encode()) == wanted


def test_the_authorities_of_this_machine_are_certificates() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authorities().decode())
    assert context.cert_store_stats()["x509_ca"] > 0
