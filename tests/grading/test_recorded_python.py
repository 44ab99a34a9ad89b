"""Python's tests in a recorded build: by the project's own interpreter, with its options, plugins and settings."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codegate.sandbox import Sandbox, Toolchain
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.supervisor_host import MESSAGE_BYTES
from tests.grading.worlds import Files, Room, statuses
from tests.kit.layer import make_layer, opener

pytestmark = pytest.mark.bwrap

PLUGINS = (
    "pytest", "pytest-asyncio", "pytest-benchmark", "pytest-cov", "pytest-randomly", "pytest-rerunfailures",
    "pytest-xdist", "django>=5,<6",
)  # fmt: skip
FILE = "tests/test_it.py"


def _room(backend: BubblewrapBackend, folder: Path, *packages: str) -> Room:
    """Return a room with a virtual environment of this machine's interpreter."""
    version = "{}.{}".format(*sys.version_info)
    layer = make_layer(
        folder, sys.executable, packages, "/workspace/api", PYTHONPATH="lib", OWN="7", TZ="Asia/Tokyo"
    )  # fmt: skip
    return Room(opener(backend, layer, Toolchain("python", version)))


@pytest.fixture(scope="module")
def plugins(bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory) -> Room:
    """Pytest, plugins and Django."""
    return _room(bwrap_backend, tmp_path_factory.mktemp("plugins"), *PLUGINS)


@pytest.fixture(scope="module")
def plain(bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory) -> Room:
    """Pytest alone, which starts in half the time."""
    return _room(bwrap_backend, tmp_path_factory.mktemp("plain"), "pytest")


OPTIONS = """\
[pytest]
addopts = -n 2 --cov=shop --reruns 3 --strict-markers -x --benchmark-only --asyncio-mode=auto -p own_plugin
xfail_strict = true
filterwarnings = error
asyncio_default_fixture_loop_scope = function
"""
TESTS = """\
import pytest, sys

count = 0

def test_fails_first(): assert not "a failure ends nothing"

async def test_without_a_marker(): pass

@pytest.mark.flaky(reruns=2)
def test_passes_when_it_is_run_again():
    global count
    count += 1
    assert count > 1

def test_measures(benchmark): assert benchmark(lambda: 2) == 2

@pytest.mark.xfail
def test_passes_unexpectedly(): pass

def test_has_the_fixture(own): assert own == 7

def test_runs_in_one_process(request): assert not hasattr(request.config, "workerinput")

def test_is_not_traced(): assert sys.gettrace() is None
"""
PLUGIN = "import os, pytest\n\n@pytest.fixture\ndef own(): return int(os.environ['OWN'])\n"


def test_the_projects_options_and_plugins_count_but_for_what_disturbs(plugins: Room) -> None:
    content = {"pytest.ini": OPTIONS, "lib/own_plugin.py": PLUGIN, FILE: TESTS}
    report = plugins.run(content, FILE, command=("pytest", "-q", "tests"))
    assert report.proven, report
    assert {test.rpartition("::")[2]: status for test, status in statuses(report).items()} == {
        "test_fails_first": "failed",
        "test_without_a_marker": "passed",
        "test_passes_when_it_is_run_again": "failed",
        "test_measures": "passed",
        "test_passes_unexpectedly": "failed",
        "test_has_the_fixture": "passed",
        "test_runs_in_one_process": "passed",
        "test_is_not_traced": "passed",
    }
    for name in (
        "numprocesses: 2 is now 0",
        "maxfail: 1 is now 0",
        "reruns: 3 is now 0",
        "cov_source: ['shop'] is now []",
    ):
        assert f"pytest's {name}" in report.output


STRICT = "[pytest]\nstrict_config = true\nunheard_of = 1\n"
UNMARKED = "import pytest\n\n@pytest.mark.unheard_of\ndef test_it(): pass\n"


@pytest.mark.parametrize(
    ("content", "command"),
    [
        pytest.param({"pytest.ini": STRICT, FILE: "def test_it(): pass\n"}, "", marks=pytest.mark.full),
        ({FILE: UNMARKED}, "pytest --strict-markers"),
    ],
)
def test_strictness_stays(plain: Room, content: Files, command: str) -> None:
    assert plain.run(content, FILE, command=tuple(command.split())).results == {}


ANYWHERE = """\
import importlib.util, os, sys, warnings, pytest

def test_the_zone_is_the_command_s_or_the_project_s():
    assert os.environ["TZ"] == "{zone}"

def test_the_working_folder_is_an_import_root_as_the_command_has_it():
    assert (importlib.util.find_spec("shop") is not None) is {found}

def test_no_start_up_file_of_an_import_root_ran():
    assert "/workspace/api" in sys.path and "sitecustomize" not in sys.modules
"""
OWN_OPTIONS = """\

def test_the_interpreter_s_own_options_count():
    assert sys.flags.dev_mode and "error::RuntimeWarning" in sys.warnoptions
    with pytest.raises(RuntimeWarning):
        warnings.warn("old", RuntimeWarning)
"""


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("pytest", ANYWHERE.format(zone="Asia/Tokyo", found=False)),
        ("", ANYWHERE.format(zone="Asia/Tokyo", found=True)),
        (
            "TZ=Europe/Berlin uv run python -X dev -W error::RuntimeWarning -m pytest {files}",
            ANYWHERE.format(zone="Europe/Berlin", found=True) + OWN_OPTIONS,
        ),
        (
            "TZ=Europe/Berlin python -Xdev -Werror::RuntimeWarning -um pytest {files}",
            ANYWHERE.format(zone="Europe/Berlin", found=True) + OWN_OPTIONS,
        ),
    ],
    ids=["pytest", "no command", "python -m pytest", "python -um pytest"],
)
def test_the_command_counts_and_no_file_takes_the_place_of_another_s_module(
    plain: Room, command: str, text: str
) -> None:
    """The test file has the name of a module of the standard library, the others those of what is imported first."""
    hostile = ("pytest.py", "json.py", "site.py", "lib/_pytest.py", "lib/os.py", "xdist.py", "api/sitecustomize.py")
    content = {"tests/test.py": text, "shop.py": "", **dict.fromkeys(hostile, "0/0\n")}
    zone = "Asia/Kolkata" if "TZ=" in command else "UTC"
    found = plain.statuses(content, "tests/test.py", command=tuple(command.split()), timezone=zone)
    assert set(found.values()) == {"passed"}, found
    assert len(found) == text.count("def test_")


def test_each_file_has_an_environment_of_its_own_and_one_that_takes_all_memory_keeps_no_other_from_running(
    plain: Room,
) -> None:
    text = """\
import pathlib, sys

def test_it():
    place = pathlib.Path(sys.prefix, "left")
    assert not place.exists()
    place.touch()
"""
    count = 0

    @contextmanager
    def counted() -> Iterator[Sandbox]:
        nonlocal count
        count += 1
        with plain.opened() as sandbox:
            yield sandbox

    content = {"test_a.py": f"{text}    'x' * (2 << 30)\n", "test_b.py": text}
    report = Room(counted).run(content, *content)
    assert (report.passes("test_a.py::test_it"), report.passes("test_b.py::test_it"), count) == (False, True, 2)


MANAGE = """\
import os, sys
from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conf.settings")
execute_from_command_line(sys.argv)
"""
SETTINGS = """\
import os

SECRET_KEY = "usual"
INSTALLED_APPS = ["app"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db", "TEST": {"NAME": "own.sqlite3"}}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
TEST_RUNNER = "conf.runner.Own"
"""
RUNNER = """\
from django.test.runner import DiscoverRunner

given = []

class Own(DiscoverRunner):
    def __init__(self, *args, own=None, **options):
        super().__init__(*args, **options)
        given.append(own)

    @classmethod
    def add_arguments(cls, parser):
        super().add_arguments(parser)
        parser.add_argument("--own")
"""
CASE = """\
import os
from django.conf import settings
from django.db import connection
from django.test import TestCase, tag
from app.models import Thing
from conf import runner

class It(TestCase):
    def test_database(self):
        Thing.objects.create(name="x")
        self.assertEqual(os.path.basename(str(connection.settings_dict["NAME"])), "own.sqlite3")

    def test_settings(self):
        self.assertEqual(settings.SECRET_KEY, "other")

    def test_runner(self):
        self.assertEqual(runner.given, ["7"])

    def test_fails(self):
        self.assertEqual(1, 2)

    @tag("slow")
    def test_slow(self):
        pass
"""
PROJECT: Files = {
    "site/manage.py": MANAGE,
    "site/conf/__init__.py": "",
    "site/conf/settings.py": SETTINGS,
    "site/conf/other.py": SETTINGS.replace("usual", "other"),
    "site/conf/runner.py": RUNNER,
    "site/app/__init__.py": "",
    "site/app/models.py": "from django.db import models\n\nclass Thing(models.Model):\n    name = models.TextField()\n",
    "site/app/tests/__init__.py": "",
    "site/app/tests/test_it.py": CASE,
    "site/app/tests/test_broken.py": "import nothing_of_this_name\n",
}
COMMAND = (
    "python", "-Wd", "site/manage.py", "test", "--settings", "conf.other", "--own", "7", "--parallel", "2",
    "--failfast", "--exclude-tag", "slow", "app",
)  # fmt: skip


def test_djangos_tests_run_by_the_projects_own_command(plugins: Room) -> None:
    found = plugins.statuses(PROJECT, "site/app/tests/test_it.py", runner="django", command=COMMAND)
    passing = ("test_database", "test_settings", "test_runner")
    assert found == {**dict.fromkeys(passing, "passed"), "test_fails": "failed"}


def test_a_file_of_djangos_tests_that_cannot_be_imported_says_why(plugins: Room) -> None:
    report = plugins.run(PROJECT, "site/app/tests/test_broken.py", runner="django", command=COMMAND)
    (error,) = report.collection_errors
    assert error.crash is not None
    assert (error.crash.exception, error.crash.dependency) == ("ModuleNotFoundError", "nothing_of_this_name")


def test_unittests_run_in_the_projects_environment(plugins: Room) -> None:
    text = "import unittest, django, own_plugin\n\nclass It(unittest.TestCase):\n    def test_it(self): pass\n"
    content = {FILE: text, "lib/own_plugin.py": PLUGIN}
    command = ("python", "-m", "unittest", "discover")
    assert plugins.statuses(content, FILE, runner="unittest", command=command) == {"test_it": "passed"}


@pytest.mark.parametrize(
    ("before", "what"),
    [
        pytest.param(
            "printf '#!/bin/sh\\n' > python && chmod +x python && mv python /opt/env/venv/bin/",
            "changed the environment: ",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "echo home = /workspace > /opt/env/venv/pyvenv.cfg",
            "changed the environment: '/opt/env/venv/pyvenv.cfg'",
            marks=pytest.mark.full,
        ),
        (
            "mkdir -p ~/.local/bin; touch ~/.local/bin/own ~/.local/bin/env; chmod +x ~/.local/bin/*",
            "changed the environment: 'env' '/opt/env/home/.local/bin'",
        ),
        ("cd /opt/env/venv/lib/python3*/site-packages; touch sitecustomize.py", "sitecustomize.py'"),
        (
            "cd /opt/env/venv/lib/python3*/site-packages/_pytest; touch -r main.py then; sed -i s/1/2/ main.py;"
            " touch -r then main.py; rm then",
            "/site-packages/_pytest/main.py'",
        ),
        ("echo 'def test_it(): pass' > tests/test_it.py", "the run rewrote tests/test_it.py"),
    ],
)
def test_commands_before_the_tests_that_touch_these_are_tampering(plain: Room, before: str, what: str) -> None:
    report = plain.run({FILE: "def test_it(): assert 0\n"}, FILE, before=(before,))
    assert what in report.tampering
    assert report.results == {}
    assert not report.proven


def test_watched_files_larger_than_a_message_are_compared_in_parts(plain: Room) -> None:
    large, file = MESSAGE_BYTES + (1 << 20), "a/test_it.py"
    content = {"conftest.py": "#" * large + "\n", "a/conftest.py": "#" * (1 << 20) + "\n"}
    text = f"def test_it():\n    with open('conftest.py', 'r+') as file:\n        file.seek({large - 9})\n"
    assert plain.run({**content, file: "def test_it(): pass\n"}, file).proven
    rewritten = plain.run({**content, file: f"{text}        file.write('x')\n"}, file)
    assert rewritten.tampering == "the run rewrote conftest.py"


@pytest.mark.full
def test_a_varied_zone_replaces_the_projects(plain: Room) -> None:
    text = "import os\n\ndef test_it(): assert os.environ['TZ'] == 'Asia/Kolkata'\n"
    assert plain.statuses({FILE: text}, FILE, command=("pytest",), timezone="Asia/Kolkata") == {"test_it": "passed"}
