"""Which paths of a patch reach the sandbox; the hostile ones are graded in ``test_failures``."""

import pytest

from codegate.grading import Sandboxes
from codegate.grading.policy import SortedPatch, sort_patch
from codegate.sandbox import EnvironmentRecipe
from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.grading.worlds import SOURCE, Files, World, files

pytestmark = pytest.mark.bwrap

BASE: Files = {
    "json/__init__.py": "",
    "src/shop/x.py": "",
    "fast.so": b"\0",
    "setup.py": "",
    "sitecustomize.py": "",
    "tools/build.py": "",
}


@pytest.fixture(scope="module")
def world(bwrap_backend: BubblewrapBackend) -> World:
    """A repository with odd files of its own. Nothing is run."""
    recipe = EnvironmentRecipe("3.11", "")
    return World(Sandboxes(bwrap_backend, {}), recipe, base=BASE, fix={SOURCE: "", "shop/egg-info/x.egg-info": ""})


def _sort(world: World, *paths: str, data: str | None = "x = 1\n") -> SortedPatch:
    return sort_patch(world.problem, world.base, files(dict.fromkeys(paths, data)))


@pytest.mark.parametrize(
    "path",
    [
        SOURCE,
        "shop/new.py",
        "shop/json.py",
        "shop/pytest.py",
        "shop/data/table.csv",
        "newpkg/__init__.py",
        "src/shop/types.py",
        "json/more.py",
        "json/__init__.py",
        "fast.so",
        "sitecustomize.py",
        "shop/egg-info/x.egg-info",
        "tools/site.html",
    ],
)
def test_sources_are_applied(world: World, path: str) -> None:
    found = _sort(world, path)
    assert (list(found.applied), found.dropped, found.hostile) == ([path], (), ())


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_new.py",
        "test/test_new.py",
        "test/__init__.py",
        "shop/tests/test_x.py",
        "conftest.py",
        "shop/conftest.py",
        "pytest.ini",
        "shop/.pytest.toml",
        "pyproject.toml",
        "setup.py",
        "tox.ini",
        "README.md",
        ".github/workflows/ci.yml",
        "requirements.txt",
        "docs/conf.py",
    ],
)
def test_tests_and_settings_are_dropped_without_an_accusation(world: World, path: str) -> None:
    found = _sort(world, path)
    assert (found.applied, found.dropped, found.hostile) == ({}, (path,), ())


@pytest.mark.parametrize(
    "path",
    [
        "pkg/fast.syso",
        ".codegate-go/cache/00/x",
        "usercustomize.py",
        "tests/sitecustomize.py",
        "SITECUSTOMIZE.PY",
        "sitecustomize/__init__.py",
        "src/usercustomize/more.py",
        "tests/SiteCustomize/__init__.py",
        "pyvenv.cfg",
        "a.PTH",
        "tests/a.pth",
        "x-1.0.dist-info/METADATA",
        "src/x.egg-info/PKG-INFO",
        "x.egg-link",
        "shop/__pycache__/a.cpython-311.pyc",
        "shop/a.abi3.so",
        "lib.so.1",
        "ast.py",
        "src/re/__init__.py",
        "_pytest/assertion.py",
        "src/pluggy.py",
    ],
)
def test_what_could_only_fool_is_hostile(world: World, path: str) -> None:
    found = _sort(world, path, SOURCE)
    assert list(found.applied) == [SOURCE]
    assert len(found.hostile) == 1
    assert found.hostile[0].startswith(f"{path}: ")


def test_settings_that_the_fix_changes_too_are_the_fixs(bwrap_backend: BubblewrapBackend) -> None:
    recipe = EnvironmentRecipe("3.11", "")
    world = World(Sandboxes(bwrap_backend, {}), recipe, fix={SOURCE: "", "pyproject.toml": "[project]\n"})
    found = _sort(world, SOURCE, "pyproject.toml", data="[tool.pytest.ini_options]\npython_files = 'none'\n")
    assert found.applied["pyproject.toml"] == world.problem.fix["pyproject.toml"]
    assert found.applied[SOURCE] != world.problem.fix[SOURCE]


def test_deleting_is_never_hostile(world: World) -> None:
    found = _sort(world, "sitecustomize.py", "fast.so", "tests/test_price.py", data=None)
    assert (sorted(found.applied), found.dropped) == (["fast.so", "sitecustomize.py"], ("tests/test_price.py",))


def test_new_modules_are_named(world: World) -> None:
    found = _sort(world, "new.py", "src/other/__init__.py", "space/inner.py", "shop/more.py", "json/x.py", "a.txt")
    assert found.new_modules == {"new", "other"}
