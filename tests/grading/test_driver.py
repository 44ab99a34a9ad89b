"""What a repository's own way of testing comes out as: layouts, settings, plugins, pytest old and new."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from codegate.grading import Sandboxes, TestReport, TestSelection, run_tests
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.docker import DockerBackend
from codegate.suite import Environment, ProblemLimits
from tests.grading.worlds import BASE, EXPECTED, FIX, SOURCE, TEST, TESTS, Files, World, tree
from tests.kit.environment import PLAIN, PYTEST, sandboxes_of, with_packages

pytestmark = pytest.mark.bwrap

LIMITS = ProblemLimits(seconds=60, memory_mb=512)
PLUGINS = ("hypothesis", "pytest-asyncio", "pytest-mock", "pytest-timeout", "six")
WATCHERS = ("pytest-xdist", "pytest-cov", "pytest-randomly", "pytest-rerunfailures", "pytest-html")


class Room:
    """One environment, and runs in it."""

    def __init__(self, sandboxes: Sandboxes, environment: Environment = PLAIN) -> None:
        self.sandboxes = sandboxes
        self.environment = environment

    def run(self, content: Files, *test_files: str, selection: TestSelection | None = None) -> TestReport:
        chosen = replace(selection or TestSelection(()), files=test_files)
        return run_tests(partial(self.sandboxes.open, self.environment.manifest, LIMITS), tree(content), chosen)

    def statuses(self, content: Files, *test_files: str, selection: TestSelection | None = None) -> dict[str, str]:
        report = self.run(content, *test_files, selection=selection)
        assert report.proven, report
        assert report.collection_errors == ()
        return {test.rpartition("::")[2]: result.status for test, result in report.results.items()}


@pytest.fixture(scope="module")
def plain(sandboxes: Sandboxes) -> Room:
    """Pytest alone."""
    return Room(sandboxes)


def _room(backend: BubblewrapBackend, environment: Environment) -> Iterator[Room]:
    with closing(sandboxes_of(backend, environment)) as sandboxes:
        yield Room(sandboxes, environment)


@pytest.fixture(scope="module")
def plugins(bwrap_backend: BubblewrapBackend) -> Iterator[Room]:
    """The newest pytest with plugins that tests need, and with plugins that would get in the way."""
    yield from _room(bwrap_backend, with_packages("plugins", PYTEST, *PLUGINS, *WATCHERS))


@pytest.fixture(scope="module")
def old(bwrap_backend: BubblewrapBackend) -> Iterator[Room]:
    """A pytest of 2021."""
    yield from _room(bwrap_backend, with_packages("old", "pytest==6.2.5"))


ONE_PLACE = ("plugins", "test_it.py")

_MIXED = """\
import unittest
import pytest

def test_passes(): pass

def test_fails(): assert 1 == 2, "one is \\ud800 two"

def test_raises(): raise KeyError("x")

def test_skips(): pytest.skip()

@pytest.mark.xfail
def test_xfails(): assert 0

@pytest.mark.parametrize("value", ["a b", "ü", "[x]", "two\\nlines", "::", "/", "", "y" * 3000])
def test_values(value): pass

class TestClass:
    def test_method(self): pass

    class TestInner:
        def test_inner(self): pass

class Case(unittest.TestCase):
    def test_case(self): self.assertEqual(1, 1)

    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

@pytest.fixture
def bad(): raise OSError(13, "no")

def test_setup(bad): pass

@pytest.fixture
def late():
    yield
    raise ValueError

def test_teardown(late): pass

if __name__ == "__main__":
    raise SystemExit
"""


@pytest.mark.parametrize("room", ["plain", "plugins", "old"])
def test_every_pytest_reports_the_same(room: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(room).run({"test_it.py": _MIXED}, "test_it.py")
    assert report.proven, report
    statuses = {test.removeprefix("test_it.py::"): result.status for test, result in report.results.items()}
    values = [name for name in statuses if name.startswith("test_values[")]
    assert len(values) == 8
    assert {statuses.pop(name) for name in values} == {"passed"}
    assert statuses == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_raises": "failed",
        "test_skips": "skipped",
        "test_xfails": "skipped",
        "TestClass::test_method": "passed",
        "TestClass::TestInner::test_inner": "passed",
        "Case::test_case": "passed",
        "Case::test_parts": "failed",
        "test_setup": "error",
        "test_teardown": "error",
    }
    assert report.results["test_it.py::test_raises"].exception == "KeyError"
    assert report.crashes["test_it.py::test_raises"].parents[:2] == ("KeyError", "LookupError")
    assert report.crashes["test_it.py::test_raises"].place == ("test_it.py", "test_raises")
    assert report.crashes["test_it.py::test_setup"].errno == 13
    assert "one is \\ud800 two" in report.results["test_it.py::test_fails"].message
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("room", "place"),
    [
        pytest.param(room, place, marks=() if room == "old" or (room, place) == ONE_PLACE else pytest.mark.full)
        for room in ("plain", "plugins", "old")
        for place in ("test_it.py", "conftest.py", "__init__.py")
    ],
)
def test_every_pytest_names_what_cannot_be_imported(room: str, place: str, request: pytest.FixtureRequest) -> None:
    found: Room = request.getfixturevalue(room)
    cases = {
        "import numpy.linalg": "ModuleNotFoundError",
        "from pluggy import nothing": "ImportError",
        "def": "SyntaxError",
        "{}['x']": "KeyError",
    }
    for source, exception in cases.items():
        if (room, place) != ("plain", "test_it.py") and exception in {"ImportError", "KeyError"}:
            continue
        content = {"t/__init__.py": "", "t/test_it.py": "def test_it(): pass\n", f"t/{place}": source + "\n"}
        report = found.run(content, "t/test_it.py")
        errors = report.collection_errors
        assert [error.exception for error in errors][:1] == [exception], (source, report)
        assert errors[0].id == "t/test_it.py"
        assert errors[0].crash is not None
        dependency = {"import numpy.linalg": "numpy", "from pluggy import nothing": "pluggy"}.get(source)
        assert errors[0].crash.dependency == dependency
        assert report.results == {}
        assert report.complete


def test_a_module_of_the_environment_gives_way_to_the_repository_but_not_to_a_patch(plugins: Room) -> None:
    text = TEST + "\ndef test_six():\n    import six\n    assert six.ours\n"
    options = {"hidden": {TESTS: text}, "expected": [f"{TESTS}::test_six"], "environment": plugins.environment}
    ours = World(plugins.sandboxes, base={"six.py": "ours = 1\n"}, **options)  # type: ignore[arg-type]
    assert ours.grade({SOURCE: FIX, "six.py": "ours = 2\n"}).resolved
    theirs = World(plugins.sandboxes, **options)  # type: ignore[arg-type]
    grade = theirs.grade({SOURCE: FIX, "six.py": "ours = 1\n"})
    assert (grade.failure, grade.detail) == ("tampering", "takes the place of the installed module six")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pytest.ini", "[pytest]\npython_functions = check_*\naddopts = -x\n"),
        ("tox.ini", "[pytest]\npython_functions = check_*\n"),
        ("setup.cfg", "[tool:pytest]\npython_functions = check_*\nunknown = 1\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\npython_functions = 'check_*'\n"),
    ],
)
def test_the_repository_s_settings_count(plain: Room, name: str, settings: str) -> None:
    content = {name: settings, "test_it.py": "def check_it(): pass\ndef test_not(): pass\n"}
    assert plain.statuses(content, "test_it.py") == {"check_it": "passed"}


LAYOUTS: dict[str, tuple[Files, str]] = {
    "flat": ({"pkg/__init__.py": "x = 1\n", "tests/test_it.py": "import pkg\ndef test_it(): assert pkg.x\n"}, ""),
    "src": ({"src/pkg/__init__.py": "x = 1\n", "tests/test_it.py": "import pkg\ndef test_it(): assert pkg.x\n"}, ""),
    "namespace": (
        {"src/space/pkg/__init__.py": "x = 1\n", "tests/test_it.py": "import space.pkg\ndef test_it(): pass\n"},
        "",
    ),
    "tests as a package": (
        {
            "tests/__init__.py": "",
            "tests/helpers.py": "x = 1\n",
            "tests/test_it.py": "from tests.helpers import x\nfrom .helpers import x as y\ndef test_it(): assert x\n",
        },
        "",
    ),
    "tests as a folder": (
        {
            "tests/helpers.py": "x = 1\n",
            "tests/test_it.py": "import helpers\nfrom tests.helpers import x\ndef test_it(): assert helpers.x\n",
        },
        "",
    ),
    "conftests": (
        {
            "conftest.py": "import pytest\n@pytest.fixture\ndef one(): return 1\n",
            "tests/conftest.py": "import pytest\n@pytest.fixture\ndef two(one): return one + 1\n",
            "tests/sub/conftest.py": "import pytest\n@pytest.fixture\ndef three(two): return two + 1\n",
            "tests/sub/test_it.py": "def test_it(three): assert three == 3\n",
        },
        "tests/sub/test_it.py",
    ),
    "tests in the package": (
        {
            "pkg/__init__.py": "x = 1\n",
            "pkg/tests/__init__.py": "",
            "pkg/tests/test_it.py": "from .. import x\ndef test_it(): assert x\n",
        },
        "pkg/tests/test_it.py",
    ),
    "two of a name": (
        {"tests/a/test_it.py": "raise SystemExit\n", "tests/b/test_it.py": "def test_it(): pass\n"},
        "tests/b/test_it.py",
    ),
    "a name like a module of Python": (
        {"test/types.py": "", "test/__init__.py": "", "test/test_it.py": "from . import types\ndef test_it(): pass\n"},
        "test/test_it.py",
    ),
    "a name that pytest does not look for": ({"checks/verify.py": "def test_it(): pass\n"}, "checks/verify.py"),
    "a name in another script": ({"tests/test_größe.py": "def test_it(): pass\n"}, "tests/test_größe.py"),
    "the interpreter started again": (
        {
            "pkg/__main__.py": "import pytest\nprint('ours')\n",
            "tests/test_it.py": "import subprocess, sys\ndef test_it():\n"
            "    assert subprocess.check_output([sys.executable, '-m', 'pkg']) == b'ours\\n'\n",
        },
        "",
    ),
    "exit as a word": (
        {"tests/test_it.py": "import pytest\ndef test_it():\n    with pytest.raises(SystemExit): exit(1)\n"},
        "",
    ),
}


@pytest.mark.parametrize(("content", "file"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts(plain: Room, content: Files, file: str) -> None:
    assert plain.statuses(content, file or "tests/test_it.py") == {"test_it": "passed"}


@pytest.mark.docker
def test_a_module_named_test_is_run_where_python_has_a_package_of_that_name(docker_backend: DockerBackend) -> None:
    sandboxes = sandboxes_of(docker_backend, PLAIN)
    room = Room(sandboxes)
    assert room.statuses({"test.py": "def test_it(): pass\n"}, "test.py") == {"test_it": "passed"}
    sandboxes.close()


def test_order_and_hash_seed(plain: Room) -> None:
    content = {"test_it.py": "import os\n" + "".join(f"def test_{n}(): print(hash('x'))\n" for n in range(4))}
    natural = plain.run(content, "test_it.py")
    backward = plain.run(content, "test_it.py", selection=TestSelection((), order="reversed", hash_seed=7))
    assert list(natural.results) == list(backward.results)[::-1] == [f"test_it.py::test_{n}" for n in range(4)]
    seeds = {"test_it.py": "import os\ndef test_seed(): assert os.environ['PYTHONHASHSEED'] == '7'\n"}
    assert plain.statuses(seeds, "test_it.py", selection=TestSelection((), hash_seed=7)) == {"test_seed": "passed"}


def test_each_file_has_an_interpreter_of_its_own(plain: Room) -> None:
    text = "import sys\ndef test_{0}():\n    assert not hasattr(sys, 'seen')\n    sys.seen = 1\n"
    content = {f"tests/test_{name}.py": text.format(name) for name in "abc"}
    assert plain.statuses(content, *content) == dict.fromkeys(("test_a", "test_b", "test_c"), "passed")


@pytest.mark.full
def test_the_time_is_for_all_files_together(plain: Room) -> None:
    content = {f"tests/test_{n}.py": f"import time\ndef test_{n}(): time.sleep({n})\n" for n in (2, 30)}
    report = plain.run(content, *content, selection=TestSelection((), timeout_seconds=6))
    assert (report.timed_out, report.complete, report.proven) == (True, False, False)
    assert [result.status for result in report.results.values() if result.status == "passed"] == ["passed"]
    assert 5 < report.seconds < 20


def test_tests_that_replace_what_the_driver_uses(plain: Room) -> None:
    text = """\
import json, os, sys, time

def test_replaced(monkeypatch):
    monkeypatch.setattr(os, "write", None)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(json, "dumps", None)
    monkeypatch.setattr("_pytest.timing.perf_counter", lambda: float("nan"))
    monkeypatch.setattr(time, "time", lambda: -1e300)

class Odd(Exception):
    errno = property(lambda self: 1 / 0)

    def __str__(self):
        raise ValueError

def test_odd(): raise Odd

def test_fork():
    if os.fork() == 0:
        return
    os.wait()
"""
    at_the_end = "import sys\ndef pytest_unconfigure():\n    sys.stdout = None\n"
    assert plain.statuses({"conftest.py": at_the_end, "test_it.py": text}, "test_it.py") == {
        "test_replaced": "passed",
        "test_odd": "failed",
        "test_fork": "passed",
    }


def test_output_is_capped_and_the_cut_is_seen(plain: Room) -> None:
    text = "def test_loud():\n    for n in range(3000): print('line', n, 'x' * 80)\n    assert 0\n"
    short = plain.run({"test_it.py": "def test_it(): pass\n"}, "test_it.py")
    assert "[output truncated]" not in short.output
    long = plain.run({"test_it.py": text}, "test_it.py")
    assert long.output.startswith("[output truncated]\n")
    assert len(long.output) < 70_000
    capped = plain.run({"test_it.py": text}, "test_it.py", selection=TestSelection((), output_bytes=20_000))
    assert capped.output.endswith("\n[output truncated]")
    assert "test_it.py::test_loud" in capped.results


def test_a_long_message_is_cut(plain: Room) -> None:
    report = plain.run({"test_it.py": "def test_it(): assert 0, 'ü' * 50_000\n"}, "test_it.py")
    assert 3900 < len(report.results["test_it.py::test_it"].message) <= 4000


def test_nothing_comes_before_the_standard_library(plain: Room) -> None:
    content = {
        "lib/conftest.py": "import sys\nsys.path.insert(0, 'lib')\nimport pkg\n",
        "lib/pkg.py": "import colorsys, wave\n",
        "lib/colorsys.py": "ours = 1\n",
        "wave.py": "ours = 1\n",
        "lib/test_it.py": "import colorsys, wave\n"
        "def test_it(): assert not hasattr(wave, 'ours') and colorsys.ONE_THIRD\n",
    }
    assert plain.statuses(content, "lib/test_it.py") == {"test_it": "passed"}


def test_base_and_hidden_come_together(plain: Room) -> None:
    content = {**BASE, TESTS: TEST, SOURCE: FIX}
    report = plain.run(content, TESTS)
    assert tuple(report.results) == EXPECTED
