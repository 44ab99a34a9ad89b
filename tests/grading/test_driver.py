"""What a repository's own way of testing comes out as: layouts, settings, plugins, pytest old and new."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from codegate.grading import Sandboxes
from codegate.grading.drivers import driver_command
from codegate.sandbox import Toolchain
from codegate.sandbox.toolchains import find_toolchain
from tests.grading.conftest import SandboxesWith
from tests.grading.worlds import FIX, SOURCE, TEST, TESTS, Files, Room, World, room_of, statuses
from tests.kit.environment import PYTEST, with_packages

pytestmark = pytest.mark.bwrap

PLUGINS = ("hypothesis", "pytest-asyncio", "pytest-mock", "pytest-timeout", "six")
WATCHERS = ("pytest-xdist", "pytest-cov", "pytest-randomly", "pytest-rerunfailures", "pytest-html")


WITH_PLUGINS, OLD = with_packages("plugins", PYTEST, *PLUGINS, *WATCHERS), with_packages("old", "pytest==6.2.5")


@pytest.fixture(scope="module")
def plain(sandboxes: Sandboxes) -> Room:
    """Pytest alone."""
    return room_of(sandboxes)


@pytest.fixture(scope="module")
def plugins(sandboxes_with: SandboxesWith) -> Sandboxes:
    """The newest pytest with plugins that tests need, and with plugins that would get in the way."""
    return sandboxes_with(WITH_PLUGINS)


@pytest.fixture(scope="module")
def rooms(plain: Room, plugins: Sandboxes, sandboxes_with: SandboxesWith) -> dict[str, Room]:
    """Pytest alone, with plugins, and one of 2021."""
    return {"plain": plain, "plugins": room_of(plugins, WITH_PLUGINS), "old": room_of(sandboxes_with(OLD), OLD)}


PLACES = {("plain", "test_it.py"), ("old", "conftest.py")}

_MIXED = """\
import unittest
import pytest

def test_passes(): pass

def test_fails(): assert 1 == 2, "one is \\ud800 two"

def test_raises(): raise KeyError("x")

def test_skips(): pytest.skip()

@pytest.mark.skip
def test_is_marked(): pass

@pytest.mark.xfail
def test_xfails(): assert 0

@pytest.mark.xfail
def test_xpasses(): pass

@pytest.mark.xfail(strict=True)
def test_strictly_xpasses(): pass

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

    def test_good_parts(self):
        with self.subTest(number=1):
            self.assertEqual(1, 1)

    @unittest.expectedFailure
    def test_unexpected(self): pass

    @unittest.expectedFailure
    def test_expected(self): assert 0

    @unittest.skip("x")
    def test_left(self): pass

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
def test_every_pytest_reports_the_same(rooms: dict[str, Room], room: str) -> None:
    report = rooms[room].run({"test_it.py": _MIXED}, "test_it.py")
    assert report.proven, report
    found = statuses(report, "test_it.py")
    values = [name for name in found if name.startswith("test_values[")]
    assert len(values) == 8
    assert {found.pop(name) for name in values} == {"passed"}
    wanted = {
        "passed": "test_passes TestClass::test_method TestClass::TestInner::test_inner Case::test_case "
        "Case::test_good_parts",
        "failed": "test_fails test_raises test_strictly_xpasses Case::test_parts Case::test_unexpected",
        "skipped": "test_skips test_is_marked test_xfails test_xpasses Case::test_expected Case::test_left",
        "error": "test_setup test_teardown",
    }
    assert found == {name: status for status, names in wanted.items() for name in names.split()}
    assert report.results["test_it.py::test_raises"].exception == "KeyError"
    assert report.crashes["test_it.py::test_raises"].parents[:2] == ("KeyError", "LookupError")
    assert report.crashes["test_it.py::test_raises"].place == ("test_it.py", "test_raises")
    assert report.crashes["test_it.py::test_setup"].errno == 13
    assert "one is \\ud800 two" in report.results["test_it.py::test_fails"].message
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("room", "place"),
    [
        pytest.param(room, place, marks=() if (room, place) in PLACES else pytest.mark.full)
        for room in ("plain", "plugins", "old")
        for place in ("test_it.py", "conftest.py", "__init__.py")
    ],
)
def test_every_pytest_names_what_cannot_be_imported(rooms: dict[str, Room], room: str, place: str) -> None:
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
        report = rooms[room].run(content, "t/test_it.py")
        errors = report.collection_errors
        assert [error.exception for error in errors][:1] == [exception], (source, report)
        assert errors[0].id == "t/test_it.py"
        assert errors[0].crash is not None
        dependency = {"import numpy.linalg": "numpy", "from pluggy import nothing": "pluggy"}.get(source)
        assert errors[0].crash.dependency == dependency
        assert report.results == {}
        assert report.complete


def test_a_module_of_the_environment_gives_way_to_the_repository_but_not_to_a_patch(plugins: Sandboxes) -> None:
    text = TEST + "\ndef test_six():\n    import six\n    assert six.ours\n"
    make = partial(World, plugins, hidden={TESTS: text}, expected=[f"{TESTS}::test_six"], environment=WITH_PLUGINS)
    assert make(base={"six.py": "ours = 1\n"}).grade({SOURCE: FIX, "six.py": "ours = 2\n"}).resolved
    grade = make().grade({SOURCE: FIX, "six.py": "ours = 1\n"})
    assert (grade.failure, grade.detail) == ("tampering", "takes the place of the installed module six")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pytest.ini", "[pytest]\npython_functions = check_*\naddopts = -x\n"),
        pytest.param("tox.ini", "[pytest]\npython_functions = check_*\n", marks=pytest.mark.full),
        ("setup.cfg", "[tool:pytest]\npython_functions = check_*\nunknown = 1\n"),
        pytest.param(
            "pyproject.toml", "[tool.pytest.ini_options]\npython_functions = 'check_*'\n", marks=pytest.mark.full
        ),
    ],
)
def test_the_repository_s_settings_count(plain: Room, name: str, settings: str) -> None:
    content = {name: settings, "test_it.py": "def check_it(): pass\ndef test_not(): pass\n"}
    assert plain.statuses(content, "test_it.py") == {"check_it": "passed"}


#: Trees in which one test file meets everything that does not get in each other's way, and that file.
LAYOUTS: dict[str, tuple[Files, str]] = {
    "packages, src, namespaces, conftests and helpers beside the tests, whose name is in another script": (
        {
            "pkg/__init__.py": "x = 1\n",
            "pkg/__main__.py": "import pytest\nprint('ours')\n",
            "src/other/__init__.py": "x = 1\n",
            "src/space/pkg/__init__.py": "x = 1\n",
            "conftest.py": "import pytest\n@pytest.fixture\ndef one(): return 1\n",
            "tests/conftest.py": "import pytest\n@pytest.fixture\ndef two(one): return one + 1\n",
            "tests/sub/conftest.py": "import pytest\n@pytest.fixture\ndef three(two): return two + 1\n",
            "tests/sub/helpers.py": "x = 1\n",
            "tests/sub/test_größe.py": """\
import subprocess, sys
import helpers, other, pkg, pytest, space.pkg
from tests.sub.helpers import x

def test_imports(): assert x == helpers.x == other.x == pkg.x == space.pkg.x == 1

def test_conftests(three): assert three == 3

def test_the_interpreter_started_again():
    assert subprocess.check_output([sys.executable, "-m", "pkg"]) == b"ours\\n"

def test_exit_is_a_word():
    with pytest.raises(SystemExit): exit(1)
""",
        },
        "tests/sub/test_größe.py",
    ),
    "tests in the package, which are one, beside one of the same name": (
        {
            "pkg/__init__.py": "x = 1\n",
            "pkg/tests/__init__.py": "",
            "pkg/tests/helpers.py": "y = 1\n",
            "pkg/tests/test_it.py": "from pkg.tests.helpers import y\nfrom .helpers import y as z\nfrom .. import x\n"
            "def test_it(): assert x == y == z\n",
            "pkg/a/test_it.py": "raise SystemExit\n",
        },
        "pkg/tests/test_it.py",
    ),
    "a name like a module of Python": (
        {"test/types.py": "", "test/__init__.py": "", "test/test_it.py": "from . import types\ndef test_it(): pass\n"},
        "test/test_it.py",
    ),
    "a name that pytest does not look for": ({"checks/verify.py": "def test_it(): pass\n"}, "checks/verify.py"),
}


@pytest.mark.parametrize(("content", "file"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts(plain: Room, content: Files, file: str) -> None:
    assert plain.statuses(content, file) == dict.fromkeys(
        re.findall(r"^def (test_\w+)", str(content[file]), re.MULTILINE), "passed"
    )


@pytest.mark.docker
def test_a_module_named_test_is_run_where_python_has_a_package_of_that_name(docker_sandboxes: Sandboxes) -> None:
    content = {"test.py": "def test_it(): pass\n"}
    assert room_of(docker_sandboxes).statuses(content, "test.py") == {"test_it": "passed"}


def test_order_and_hash_seed(plain: Room) -> None:
    def hashes(seed: int) -> str:
        program = "print(hash('plum'))"
        environment = {"PYTHONHASHSEED": str(seed)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        return done.stdout.decode().strip()

    for seed in (0, 7):
        tests = "".join(f"def test_{n}(): assert hash('plum') == {hashes(seed)}\n" for n in range(4))
        found = plain.statuses({"test_it.py": tests}, "test_it.py", order="reversed", hash_seed=seed)
        assert list(found.items()) == [(f"test_{n}", "passed") for n in (3, 2, 1, 0)]


def interpreters() -> Iterator[str]:
    """Yield this interpreter and those of other versions on this machine."""
    yield sys.executable
    for minor in range(8, 16):
        found = find_toolchain(Toolchain("python", f"3.{minor}"))
        if found is not None:
            yield str(found.programs / f"python3.{minor}")


@pytest.mark.parametrize("flags", [(), ("-E",), ("-I", "-X", "dev")])
def test_no_module_of_the_tree_runs_before_a_driver_with_a_hash_seed(tmp_path: Path, flags: tuple[str, ...]) -> None:
    for name in (*sys.stdlib_module_names, "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the tree ran')\n")
    argv = driver_command("inspect_driver", {}, interpreter=flags, seeded=True).argv
    before = argv[: argv.index("{records}") - 1]
    program = "import sys; print(hash('plum'), sys.argv, [path for path in sys.path if not path])"
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    for interpreter in [sys.executable] if flags else interpreters():
        environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": str(tmp_path)}
        done = run([interpreter, *before, program, "1", "b"], cwd=tmp_path, env=environment)
        expected = run([interpreter, "-c", "print(hash('plum'))"], cwd="/", env={"PYTHONHASHSEED": "7"})
        assert done.stdout == f"{expected.stdout.strip()} ['-c', '1', 'b'] []\n", interpreter


def test_variables_of_python_reach_the_tests_and_nothing_of_the_tree_runs_before_the_driver(plain: Room) -> None:
    trap = "raise SystemExit('a module of the tree ran')\n"
    tests = "import os\ndef test_it(): assert os.environ['PYTHONPATH'] == 'src' and 'CODEGATE' not in str(os.environ)\n"
    names = ("encodings/__init__", "os", "json", "sitecustomize", "usercustomize")
    content = {f"{folder}{name}.py": trap for folder in ("", "src/") for name in names}
    content["tests/test_it.py"] = tests
    assert plain.statuses(content, "tests/test_it.py", command=("PYTHONPATH=src", "pytest")) == {"test_it": "passed"}


def test_each_file_has_an_interpreter_of_its_own(plain: Room) -> None:
    text = "import sys\ndef test_{0}():\n    assert not hasattr(sys, 'seen')\n    sys.seen = 1\n"
    content = {f"tests/test_{name}.py": text.format(name) for name in "ab"}
    assert plain.statuses(content, *content) == dict.fromkeys(("test_a", "test_b"), "passed")


@pytest.mark.full
def test_the_time_is_for_all_files_together(plain: Room) -> None:
    content = {f"tests/test_{n}.py": f"import time\ndef test_{n}(): time.sleep({n})\n" for n in (2, 30)}
    report = plain.run(content, *content, timeout_seconds=6)
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


def test_output_and_messages_are_capped_and_the_cut_of_output_is_seen(plain: Room) -> None:
    text = "def test_loud():\n    for n in range(3000): print('line', n, 'x' * 80)\n    assert 0, 'ü' * 50_000\n"
    long = plain.run({"test_it.py": text}, "test_it.py")
    assert long.output.startswith("[output truncated]\n")
    assert len(long.output) < 70_000
    assert 3900 < len(long.results["test_it.py::test_loud"].message) <= 4000
    capped = plain.run({"test_it.py": text}, "test_it.py", output_bytes=20_000)
    assert capped.output.endswith("\n[output truncated]")
    assert "test_it.py::test_loud" in capped.results


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


HELP = """\
import argparse, io, os

def test_help_has_the_width_that_it_has_in_ci():
    parser = argparse.ArgumentParser(prog="total")
    parser.add_argument("--prices", help="a long text " * 8)
    written = io.StringIO()
    parser.print_help(written)
    assert max(map(len, written.getvalue().splitlines())) < 80

def test_colours_are_the_programs_choice():
    assert "NO_COLOR" not in os.environ and os.environ["CI"] == "true"
"""


def test_width_and_colour_are_those_of_a_ci_job(plain: Room) -> None:
    assert set(plain.statuses({"test_help.py": HELP}, "test_help.py").values()) == {"passed"}
