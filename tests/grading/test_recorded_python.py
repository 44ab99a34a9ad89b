"""Python's tests in a recorded build: by the project's own interpreter, with its options, plugins and settings."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from codegate.grading import TestReport, TestSelection, run_tests
from codegate.grading.controls.copies import Copies, make_copies, read_texts
from codegate.grading.inspection import inspect
from codegate.sandbox import Lease, Sandbox, SandboxLimits, Toolchain
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.supervisor_host import MESSAGE_BYTES
from codegate.suite import Tree
from tests.grading.worlds import Files, tree
from tests.kit.layer import make_layer, opener
from tests.kit.problem import changes

pytestmark = pytest.mark.bwrap

PLUGINS = (
    "pytest", "pytest-asyncio", "pytest-benchmark", "pytest-cov", "pytest-randomly", "pytest-rerunfailures",
    "pytest-xdist", "django>=5,<6",
)  # fmt: skip
FILE = "tests/test_it.py"

Opener = Callable[[], AbstractContextManager[Sandbox]]


def _opener(backend: BubblewrapBackend, folder: Path, *packages: str) -> Opener:
    """Return sandboxes with a virtual environment of this machine's interpreter."""
    version = "{}.{}".format(*sys.version_info)
    layer = make_layer(
        folder, sys.executable, packages, "/workspace/api", PYTHONPATH="lib", OWN="7", TZ="Asia/Tokyo"
    )  # fmt: skip
    return opener(backend, layer, Toolchain("python", version))


@pytest.fixture(scope="module")
def plugins(bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Sandboxes with pytest, plugins and Django."""
    return _opener(bwrap_backend, tmp_path_factory.mktemp("plugins"), *PLUGINS)


@pytest.fixture(scope="module")
def opened(bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Sandboxes with pytest alone, which starts in half the time."""
    return _opener(bwrap_backend, tmp_path_factory.mktemp("plain"), "pytest")


def run(opened: Opener, content: Files, command: str = "", *files: str, runner: str = "pytest") -> TestReport:
    selection = TestSelection(files or (FILE,), runner=runner, command=tuple(command.split()), timeout_seconds=100)
    return run_tests(opened, tree(content), selection)


def statuses(report: TestReport) -> dict[str, str]:
    assert report.collection_errors == ()
    assert report.proven, report
    return {test.rpartition("::")[2]: result.status for test, result in report.results.items()}


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


def test_the_projects_options_and_plugins_count_but_for_what_disturbs(plugins: Opener) -> None:
    report = run(plugins, {"pytest.ini": OPTIONS, "lib/own_plugin.py": PLUGIN, FILE: TESTS}, "pytest -q tests")
    assert statuses(report) == {
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
def test_strictness_stays(opened: Opener, content: Files, command: str) -> None:
    report = run(opened, content, command)
    assert report.results == {}


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
    opened: Opener, command: str, text: str
) -> None:
    """The test file has the name of a module of the standard library, the others those of what is imported first."""
    hostile = ("pytest.py", "json.py", "site.py", "lib/_pytest.py", "lib/os.py", "xdist.py", "api/sitecustomize.py")
    content = {"tests/test.py": text, "shop.py": "", **dict.fromkeys(hostile, "0/0\n")}
    zone = "Asia/Kolkata" if "TZ=" in command else "UTC"
    selection = TestSelection(("tests/test.py",), command=tuple(command.split()), timezone=zone, timeout_seconds=100)
    found = statuses(run_tests(opened, tree(content), selection))
    assert set(found.values()) == {"passed"}, found
    assert len(found) == text.count("def test_")


def test_each_file_has_an_environment_of_its_own_and_one_that_takes_all_memory_keeps_no_other_from_running(
    opened: Opener,
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
        with opened() as sandbox:
            yield sandbox

    report = run(
        counted, {"test_a.py": f"{text}    'x' * (2 << 30)\n", "test_b.py": text}, "", "test_a.py", "test_b.py"
    )
    assert (report.passes("test_a.py::test_it"), report.passes("test_b.py::test_it"), count) == (False, True, 2)


@pytest.mark.full
def test_a_process_that_a_test_starts_has_the_environment_too(plugins: Opener) -> None:
    text = """\
import subprocess, sys

def test_it():
    code = "import django, own_plugin, os; print(os.environ['OWN'])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "7\\n"
"""
    assert statuses(run(plugins, {FILE: text, "lib/own_plugin.py": PLUGIN})) == {"test_it": "passed"}


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
COMMAND = "python -Wd site/manage.py test --settings conf.other --own 7 --parallel 2 --failfast --exclude-tag slow app"


def test_djangos_tests_run_by_the_projects_own_command(plugins: Opener) -> None:
    report = run(plugins, PROJECT, COMMAND, "site/app/tests/test_it.py", runner="django")
    assert statuses(report) == {
        "test_database": "passed",
        "test_settings": "passed",
        "test_runner": "passed",
        "test_fails": "failed",
    }


def test_a_file_of_djangos_tests_that_cannot_be_imported_says_why(plugins: Opener) -> None:
    report = run(plugins, PROJECT, COMMAND, "site/app/tests/test_broken.py", runner="django")
    (error,) = report.collection_errors
    assert error.crash is not None
    assert (error.crash.exception, error.crash.dependency) == ("ModuleNotFoundError", "nothing_of_this_name")


def test_unittests_run_in_the_projects_environment(plugins: Opener) -> None:
    text = "import unittest, django, own_plugin\n\nclass It(unittest.TestCase):\n    def test_it(self): pass\n"
    content = {FILE: text, "lib/own_plugin.py": PLUGIN}
    assert statuses(run(plugins, content, "python -m unittest discover", runner="unittest")) == {"test_it": "passed"}


def test_commands_before_the_tests_run_in_the_environment(opened: Opener) -> None:
    text = "def test_it(): assert open('/opt/env/home/made').read() == 'pytest\\n'\n"
    selection = TestSelection((FILE,), before=("python -c 'import pytest; print(pytest.__name__)' > ~/made",))
    assert statuses(run_tests(opened, tree({FILE: text}), selection)) == {"test_it": "passed"}
    failing = replace(selection, before=("python -c 'import nothing_of_this_name'",))
    assert "nothing_of_this_name" in run_tests(opened, tree({FILE: text}), failing).unprepared


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
def test_commands_before_the_tests_that_touch_these_are_tampering(opened: Opener, before: str, what: str) -> None:
    selection = TestSelection((FILE,), before=(before,))
    report = run_tests(opened, tree({FILE: "def test_it(): assert 0\n"}), selection)
    assert what in report.tampering
    assert report.results == {}
    assert not report.proven


@pytest.mark.parametrize("mebibytes", [14, 70])
def test_watched_files_larger_than_a_message_are_compared_in_parts(opened: Opener, mebibytes: int) -> None:
    folders = ["", "a/", "a/b/", "a/b/c/", "a/b/c/d/"] if mebibytes < 64 else ["a/b/c/d/"]
    content = {f"{folder}conftest.py": "#" * (mebibytes << 20) + "\n" for folder in folders}
    file = "a/b/c/d/test_it.py"
    name, near = f"{folders[-1]}conftest.py", (mebibytes << 20) - 9
    text = (
        f"def test_it():\n    with open({name!r}, 'r+') as file:\n        file.seek({near})\n        file.write('x')\n"
    )
    assert sum(map(len, content.values())) > MESSAGE_BYTES
    assert run(opened, {**content, file: "def test_it(): pass\n"}, "", file).proven
    assert run(opened, {**content, file: text}, "", file).tampering == "the run rewrote a/b/c/d/conftest.py"


ASSERTING = """\
import datetime, os, pytest

def test_asserts():
    assert os.path.basename("a/b") == "b"

def test_raises():
    with pytest.raises(ValueError):
        int("x")

def test_year():
    assert datetime.date.today().year == 2001
"""


def test_marks_and_variations_work_there_too(opened: Opener) -> None:
    content = tree({FILE: ASSERTING})
    texts = read_texts(content, (FILE,), "pytest")
    used = make_copies(texts, texts.units.values(), {})
    assert used.marks
    selection = TestSelection((FILE,), copies=used, timeout_seconds=100)
    report = run_tests(opened, content, selection)
    assert statuses(report) == {"test_asserts": "passed", "test_raises": "passed", "test_year": "failed"}
    passed = {unit.name for unit in texts.units.values()} - {"test_year"}
    assert {test.rpartition("::")[2] for test, left in report.receipts.items() if left} == passed
    days = (date(2001, 7, 1) - datetime.now(UTC).date()).days
    alone = (f"{FILE}::test_raises", f"{FILE}::test_year")
    varied = replace(
        selection, copies=Copies(), clock_days=days, isolated=alone, repeat=2, busy=1, order="reversed", hash_seed=3
    )
    report = run_tests(opened, content, varied)
    assert statuses(report) == {"test_asserts": "passed", "test_raises": "passed", "test_year": "passed"}
    assert list(report.results)[:2] == [alone[1], alone[0]]


@pytest.mark.full
def test_a_varied_zone_replaces_the_projects(opened: Opener) -> None:
    text = "import os\n\ndef test_it(): assert os.environ['TZ'] == 'Asia/Kolkata'\n"
    selection = TestSelection((FILE,), command=("pytest",), timezone="Asia/Kolkata")
    assert statuses(run_tests(opened, tree({FILE: text}), selection)) == {"test_it": "passed"}


def test_what_code_tries_to_do_is_seen_there_too(opened: Opener) -> None:
    text = """\
import os, pathlib, sys

def test_it():
    assert os.listdir(os.path.dirname(os.__file__)) and os.listdir(sys.prefix)
    pathlib.Path(sys.prefix, 'pyvenv.cfg').write_text('')
"""
    report = run(opened, {FILE: text})
    assert statuses(report) == {"test_it": "passed"}
    assert "files" not in report.behaviour.counts
    assert report.behaviour.details["writes"] == ("write /opt/env/venv/pyvenv.cfg",)


def test_a_new_module_that_takes_the_place_of_an_installed_one_is_found(opened: Opener) -> None:
    added = changes({"pytest.py": "", "shop.py": "def f(:\n"})
    with opened() as sandbox:
        lease = Lease((None, SandboxLimits()), sandbox, 0.0)  # type: ignore[arg-type]  # of no pool
        found = inspect(lease, Tree(), added, frozenset({"pytest", "shop"}))
    assert found.shadowed == ("pytest",)
    assert list(found.errors) == ["shop.py"]
