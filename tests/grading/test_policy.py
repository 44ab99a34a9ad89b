"""Which paths of a patch reach the sandbox; the hostile ones are graded in ``test_failures``."""

import importlib
import sys
import tempfile
import time
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading.policy import ClassifiedPatch, classify_patch, suspicious_signs
from codegate.suite import TreeFile
from tests.grading.worlds import BUG, FIX, SOURCE, Files, World, tree
from tests.kit.problem import changes

BASE: Files = {
    "json/__init__.py": "",
    "src/shop/x.py": "",
    "fast.so": b"\0",
    "setup.py": "",
    "sitecustomize.py": "",
    "tools/build.py": "",
}


NOWHERE: Any = None
"""Nothing is run."""


@pytest.fixture(scope="module")
def world() -> World:
    """A repository with odd files of its own."""
    return World(NOWHERE, base=BASE, fix={SOURCE: "", "shop/egg-info/x.egg-info": ""})


def _sort(world: World, *paths: str, data: str | None = "x = 1\n") -> ClassifiedPatch:
    return classify_patch(world.problem, world.base, changes(dict.fromkeys(paths, data)))


#: Paths that a patch adds or changes, by what becomes of them.
PATHS: dict[str, tuple[str, ...]] = {
    "applied": (
        SOURCE, "shop/new.py", "shop/json.py", "shop/pytest.py", "shop/data/table.csv", "newpkg/__init__.py",
        "src/shop/types.py", "json/more.py", "json/__init__.py", "fast.so", "sitecustomize.py",
        "shop/egg-info/x.egg-info", "tools/site.html", "packaging/debian.py", "code/x.py", "platform/linux/y.py",
        "site/pages/index.py", "resource/strings.py", "_pytest/assertion.py", "data/model.pth",
        "pkg/sitecustomize.py", "src/usercustomize/more.py", "fixtures/venv/pyvenv.cfg",
        "fixtures/x-1.0.dist-info/METADATA", ".codegate-notes", ".codegate-notes/x.py", "tools/ast.py",
    ),
    "dropped": (
        "tests/test_new.py", "test/test_new.py", "test/__init__.py", "shop/tests/test_x.py", "conftest.py",
        "shop/conftest.py", "pytest.ini", "shop/.pytest.toml", "pyproject.toml", "setup.py", "tox.ini", "README.md",
        ".github/workflows/ci.yml", "requirements.txt", "docs/conf.py", "tests/sitecustomize.py",
        "tests/data/model.pth", "pkg/fast.syso", "shop/__pycache__/a.cpython-311.pyc", "shop/a.abi3.so", "lib.so.1",
    ),
    "hostile": (
        ".codegate-go/cache/00/x", "usercustomize.py", "SITECUSTOMIZE.PY", "sitecustomize/__init__.py",
        "src/SiteCustomize/__init__.py", "pyvenv.cfg", "a.PTH", "src/a.pth", "env/lib/python3.11/site-packages/a.pth",
        "env/lib/python3.11/Dist-Packages/usercustomize.py", "env/site-packages/x-1.0.dist-info/METADATA",
        "x-1.0.dist-info/METADATA", "src/x.egg-info/PKG-INFO", "x.egg-link", "ast.py", "src/re/__init__.py",
        "_pytest/__init__.py", "src/pluggy.py",
    ),
}  # fmt: skip


def _ends(found: ClassifiedPatch) -> dict[str, list[str]]:
    hostile = [line.partition(":")[0] for line in found.hostile]
    return {"applied": [*found.applied], "dropped": [*found.dropped], "hostile": hostile}


@pytest.mark.parametrize(("end", "path"), [(end, path) for end, paths in PATHS.items() for path in paths])
def test_a_path_is_applied_or_dropped_without_an_accusation_or_hostile(world: World, end: str, path: str) -> None:
    assert _ends(_sort(world, path)) == {
        each: [path] if each == end else [] for each in ("applied", "dropped", "hostile")
    }


@pytest.mark.parametrize(
    ("path", "target", "end"),
    [
        ("bin/price.py", "../shop/price.py", "applied"),
        ("bin/all", "../shop", "applied"),
        (SOURCE, "other.py", "applied"),
        ("bin/passwd", "/etc/passwd", "dropped"),
        ("bin/up", "../../x", "dropped"),
        (SOURCE, "../../x", "dropped"),
        ("shop/tests", "../lib", "dropped"),
        ("node_modules", "shop", "dropped"),
        ("shop/fast.so", "data.bin", "dropped"),
        ("src", "shop", "hostile"),
        ("tests", "shop", "hostile"),
        ("ast", "shop", "hostile"),
        ("src/pluggy", "../shop", "hostile"),
        ("usercustomize", "shop", "hostile"),
        ("x-1.0.dist-info", "shop", "hostile"),
        ("env/site-packages", "../shop", "hostile"),
    ],
)
def test_a_link_is_taken_for_all_that_it_may_lead_to(world: World, path: str, target: str, end: str) -> None:
    found = classify_patch(world.problem, world.base, {path: TreeFile(target.encode(), "120000")})
    assert _ends(found) == {each: [path] if each == end else [] for each in ("applied", "dropped", "hostile")}


def test_settings_that_the_fix_changes_too_are_the_fixs() -> None:
    world = World(NOWHERE, fix={SOURCE: "", "pyproject.toml": "[project]\n"})
    found = _sort(world, SOURCE, "pyproject.toml", data="[tool.pytest.ini_options]\npython_files = 'none'\n")
    assert found.applied["pyproject.toml"] == world.problem.fix["pyproject.toml"]
    assert found.applied[SOURCE] != world.problem.fix[SOURCE]


def test_a_file_below_one_that_comes_from_the_fix_does_not_apply() -> None:
    world = World(NOWHERE, base={"setup.cfg": ""}, fix={SOURCE: FIX, "setup.cfg": "[metadata]\n"})
    grade = world.grade({SOURCE: FIX, "setup.cfg": None, "setup.cfg/x.py": ""})
    assert (grade.failure, grade.detail) == ("patch_does_not_apply", "path 'setup.cfg' is a file and a folder at once.")


def test_no_test_or_setting_is_replaced_by_a_folder_or_a_file_of_its_name(world: World) -> None:
    gone = dict.fromkeys(("pyproject.toml", "tests/test_price.py", "tools/build.py"))
    new = dict.fromkeys(("pyproject.toml/deep/x.py", "tests", "tools", SOURCE), "x = 1\n")
    found = classify_patch(world.problem, world.base, changes({**gone, **new}))
    assert sorted(found.applied) == [SOURCE, "tools", "tools/build.py"]
    assert sorted(found.dropped) == ["pyproject.toml", "pyproject.toml/deep/x.py", "tests", "tests/test_price.py"]


def test_deleting_is_never_hostile(world: World) -> None:
    found = _sort(world, "sitecustomize.py", "fast.so", "tests/test_price.py", data=None)
    assert (sorted(found.applied), found.dropped) == (["fast.so", "sitecustomize.py"], ("tests/test_price.py",))


def test_new_modules_are_named(world: World) -> None:
    found = _sort(world, "new.py", "src/other/__init__.py", "space/inner.py", "shop/more.py", "json/x.py", "a.txt")
    assert found.new_modules == {"new", "other"}


def test_the_folder_of_a_test_is_on_the_path_behind_the_standard_library() -> None:
    test = "checks/deep/test_price.py"
    world = World(
        NOWHERE, base={"checks/deep/__init__.py": ""},
        fix={SOURCE: ""}, hidden={test: "def test_price() -> None: ...\n"}, expected=(f"{test}::test_price",),
    )  # fmt: skip
    assert not _sort(world, "checks/ast.py", "checks/deep/pygments.py").hostile
    assert _sort(world, "checks/pygments.py").hostile == ("checks/pygments.py: takes the place of the module pygments",)


_NAMES = sorted(
    {*sys.stdlib_module_names, "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"} - {"json"}
)  # the repository has one
_FORMS = ("{}.py", "{}/__init__.py", "{}/more.py", "{}/deep/__init__.py", "pkg/{}.py", "pkg/{}/__init__.py", "{}.txt")


@given(st.sampled_from(_NAMES), st.sampled_from(_FORMS))
def test_what_changes_an_import_is_hostile_and_nothing_else(world: World, name: str, form: str) -> None:
    """The interpreter itself is asked, as one that a test starts: the import root comes before everything else."""
    path = form.format(name)
    with tempfile.TemporaryDirectory() as folder:
        before = PathFinder.find_spec(name, sys.path)
        file = Path(folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        importlib.invalidate_caches()
        after = PathFinder.find_spec(name, [folder, *sys.path])
    first = BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name)
    changed = after is not None and after.origin is not None and str(after.origin).startswith(folder)
    hostile = bool(_sort(world, path).hostile)
    if first is None and before is not None:
        assert hostile == changed
    elif hostile:  # what is built in, or is of another system: of that name all the same
        assert form in {"{}.py", "{}/__init__.py"}


def test_signs_are_those_that_the_patch_adds() -> None:
    base = tree({SOURCE: BUG, "shop/own.py": "import ctypes\n"})
    honest = changes({SOURCE: FIX, "shop/own.py": "import ctypes\nctypes.CDLL(None)\n"})
    assert suspicious_signs(base, honest, {}) == ()
    cheating = changes({SOURCE: BUG + "import sys\nsys._getframe(1)\n"})
    assert [sign.partition(" touches ")[0] for sign in suspicious_signs(base, cheating, {})] == [SOURCE]
    assert suspicious_signs(base, cheating, cheating) == ()
    began = time.monotonic()
    long = changes({SOURCE: f"{BUG}x = '{'test_' * 40_000}'; sys._getframe(1)\n"})
    assert suspicious_signs(base, long, {})
    assert time.monotonic() - began < 10
