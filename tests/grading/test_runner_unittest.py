"""unittest's and Django's tests as they come out, by their own loading protocols."""

import pytest

from codegate.grading import Sandboxes
from codegate.languages.python.environments import choose_python_runner, django_project
from tests.grading.worlds import Files, room_of, statuses, tree

CASES = """\
import unittest

class Cart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(1 + 1, 2)
    def test_wrong(self):
        self.assertEqual(1 + 1, 3, "sums")
    def test_broken(self):
        {}["none"]
    @unittest.skip("not now")
    def test_later(self): ...
    @unittest.expectedFailure
    def test_known(self):
        self.fail()
    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertNotEqual(part, 1)
    def test_whole(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertLess(part, 3)

class Fixture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError(111, "no server")
    def test_server(self): ...
"""
LOADED = """\
import unittest

class Made(unittest.TestCase):
    def __init__(self, number):
        super().__init__("check")
        self.number = number
    def check(self):
        self.assertLess(self.number, 5)

def load_tests(loader, tests, pattern):
    return unittest.TestSuite([Made(1), Made(2)])


"""
PROJECT: Files = {
    "site/manage.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n# django\n",
    "site/shop/__init__.py": "",
    "site/shop/settings.py": (
        "SECRET_KEY = 'x'\nINSTALLED_APPS = ['shop']\nUSE_TZ = True\n"
        "DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.postgresql', 'NAME': 'shop', 'HOST': 'db'}}\n"
    ),
    "site/shop/tests.py": "from django.test import TestCase\n\nclass It(TestCase):\n    def test_it(self): ...\n",
}


@pytest.mark.bwrap
def test_cases_subtests_and_fixtures_are_told_apart(sandboxes: Sandboxes) -> None:
    content = {"pkg/__init__.py": "", "pkg/checks/__init__.py": "", "pkg/checks/cart.py": CASES}
    report = room_of(sandboxes).run(content, "pkg/checks/cart.py", runner="unittest")
    assert statuses(report, "pkg/checks/cart.py") == {
        "Cart::test_total": "passed", "Cart::test_whole": "passed", "Cart::test_wrong": "failed",
        "Cart::test_broken": "failed", "Cart::test_parts": "failed", "Cart::test_later": "skipped",
        "Cart::test_known": "skipped",
    }  # fmt: skip
    assert (report.exit_code, report.proven) == (1, True)
    assert [(error.id, error.exception) for error in report.collection_errors] == [
        ("pkg/checks/cart.py::Fixture", "ConnectionRefusedError")
    ]
    assert "sums" in report.results["pkg/checks/cart.py::Cart::test_wrong"].message
    assert report.crashes["pkg/checks/cart.py::Cart::test_wrong"].parents[0] == "AssertionError"


@pytest.mark.bwrap
def test_a_module_loads_its_tests_itself_or_says_why_not(sandboxes: Sandboxes) -> None:
    content = {
        "loaded.py": LOADED, "mixed.py": LOADED.replace("Made(2)", "Made(7)"), "broken.py": "import nowhere\n",
        "gone.py": "raise SystemExit(0)\n",
    }  # fmt: skip
    report = room_of(sandboxes).run(content, *content, runner="unittest", order="reversed")
    assert statuses(report) == {"loaded.py::Made::check": "passed", "mixed.py::Made::check": "failed"}
    assert [(error.id, error.exception) for error in report.collection_errors] == [
        ("broken.py", "ModuleNotFoundError"),
        ("gone.py", "SystemExit"),
    ]
    assert report.collection_errors[0].crash is not None
    assert report.collection_errors[0].crash.dependency == "nowhere"


@pytest.mark.parametrize(
    ("content", "runner"),
    [
        ({"tests/test_a.py": CASES}, "pytest"),
        ({"tests/test_a.py": LOADED}, "unittest"),
        ({"tests/test_a.py": LOADED, "tox.ini": "[testenv]\ndeps = pytest\n"}, "pytest"),
        ({"tests/test_a.py": LOADED, "tests/test_b.py": "def test_it(): ...\n"}, "pytest"),
        (PROJECT, "django"),
        ({**PROJECT, "site/shop/tests.py": None, "tests/test_a.py": CASES}, "pytest"),
        ({**PROJECT, "requirements/test.txt": "pytest-django==4.8\n"}, "pytest"),
        ({"django/__init__.py": "", "tests/runtests.py": ""}, "django"),
    ],
)
def test_the_tree_says_which_runner_its_tests_are_for(content: Files, runner: str) -> None:
    assert choose_python_runner(tree(content)) == runner


def test_the_project_is_where_its_manage_py_is() -> None:
    assert django_project(tree(PROJECT)) == "site"
    assert django_project(tree({"manage.py": "from flask import cli\n"})) is None
