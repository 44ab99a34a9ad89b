"""Which files of a repository, of a Python project above all, are tests, support, configuration and source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.languages import PathClassifier
from codegate.languages.python.files import PythonFiles
from codegate.suite import Tree, TreeFile
from tests.languages.kit import check, classifier


def test_names_and_segments_not_substrings() -> None:
    check(
        {"pkg/__init__.py": "", "news/__init__.py": ""},
        {
            "source": (
                "pkg/core.py contest/latest.py src/attestation/protest.py pkg/testing.py pkg/latest_testing.py "
                "pkg/templates/page.html pkg/py.typed pkg/history.py pkg/changes.py pkg/news.py pkg/notice.py "
                "pkg/todo.py pkg/license.py news/feed.py pkg/azure-pipelines.yml pkg/requirements.py "
                "pkg/setup.py app/tasks.py pkg/vendors.py pkg/templates/todo.html "
                "pkg/data/history.json pkg/vendor/who.py pkg/testing/tool.py"
            ),
            "test": (
                "tests/test_core.py tests/unit/core_test.py pkg/test_core.py Tests/test_image.py tests.py "
                "pkg/core_tests.py polls/tests.py polls/test.py .github/test_x.py"
            ),
            "test_support": (
                "Tests/images/a.png tests/__init__.py tests/helpers.py tests/data/x.json tests/README.md "
                "tests/requirements.txt pkg/tests/data/x.json testdata/x.json pkg/__snapshots__/x.ambr "
                "conftest.py pkg/conftest.py tests/conftest.py"
            ),
            "docs": (
                "docs/conf.py docs/index.rst doc/x.txt README.md CHANGES.rst CHANGES CHANGELOG.txt HISTORY "
                "LICENSE LICENSE-MIT changes/123.bugfix changelog.d/9.txt releasenotes/notes/fix-crash-0a1b.yaml "
                "examples/demo.py pkg/guide.md pkg/LICENSE pkg/notice.txt NEWS.html"
            ),
            "ci": ".github/workflows/ci.yml .gitlab-ci.yml .pre-commit-config.yaml",
            "dependencies": (
                "requirements.txt requirements-dev.txt dev-requirements.txt requirements/dev.txt constraints.txt "
                "poetry.lock uv.lock"
            ),
            "configuration": (
                "setup.py libs/core/setup.py setup.cfg pyproject.toml tox.ini pytest.ini noxfile.py tasks.py Makefile"
            ),
            "generated": "pkg/_vendor/six.py vendor/six.py node_modules/x.js api/x_pb2.py",
        },
    )


def test_pytest_s_own_layout() -> None:
    check(
        {
            "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["testing"]\n'
            'python_files = ["test_*.py", "*_test.py", "testing/python/*.py"]',
            "src/_pytest/python.py": "from _pytest.pytester import x\n",
            "src/pytest/__init__.py": "from _pytest.python import y\n",
            "testing/conftest.py": "",
            "testing/test_main.py": "",
            "testing/example_scripts/x.py": "",
        },
        {
            "source": (
                "src/_pytest/python.py src/_pytest/pytester.py src/_pytest/_code/code.py src/pytest/__init__.py"
            ),
            "test": "testing/test_main.py testing/python/collect.py",
            "test_support": "testing/conftest.py testing/example_scripts/x.py testing/freeze/runtests_script.py",
            "docs": "changelog/1.bugfix.rst",
        },
    )


@pytest.mark.parametrize(
    "statement",
    [
        "from pkg.test_helpers import x",
        "from pkg.test_helpers.deep import x",
        "import pkg.test_helpers",
        "import os, pkg.test_helpers as th  # comment",
        "    import pkg.test_helpers",
        "from pkg import test_helpers",
        "from pkg import a, test_helpers as th",
        "from pkg import (\n    a,  # one\n    test_helpers,\n)",
        "from . import test_helpers",
        "from .test_helpers import (x)",
        "from .test_helpers import *",
    ],
)
def test_a_module_that_source_imports_is_source_however_it_is_imported(statement: str) -> None:
    for root in ("", "src/", "lib/python/"):
        files = {f"{root}pkg/__init__.py": "", f"{root}pkg/test_helpers.py": "", f"{root}pkg/core.py": f"{statement}\n"}
        check(files, {"source": f"{root}pkg/test_helpers.py"})
        by_a_test = {**files, f"{root}pkg/core.py": "", f"{root}pkg/test_core.py": f"{statement}\n"}
        check(by_a_test, {"test": f"{root}pkg/test_helpers.py"})
        elsewhere = {**files, f"{root}pkg/core.py": "", "scripts/run.py": f"{statement}\n"}
        check(elsewhere, {"test": f"{root}pkg/test_helpers.py"})


def test_relative_imports_climb_by_their_dots() -> None:
    check(
        {
            "src/pkg/__init__.py": "",
            "src/pkg/sub/deep/mod.py": "from ...test import tool\nfrom ..tests import x\nfrom ........test import y\n",
            "src/pkg/test/__init__.py": "",
            "src/pkg/sub/tests/__init__.py": "",
            "src/pkg/sub/deep/tests/__init__.py": "",
            "src/jinja/tests.py": "",
            "src/jinja/defaults.py": "from .tests import TESTS\n",
        },
        {
            "source": "src/pkg/test/tool.py src/pkg/sub/tests/x.py src/jinja/tests.py",
            "test_support": "src/pkg/sub/deep/tests/x.py",
        },
    )


@given(st.text(st.sampled_from("from imprt.()*,\\\n\tas ab#;"), max_size=80))
def test_no_source_breaks_the_scan(code: str) -> None:
    assert classifier({"a/__init__.py": "", "a/b.py": code}).classify("a/c.py") == "source"


OPTIONS = "python_files = check_*.py *_spec.py\ntestpaths = checks qa_tests\n"
TABLE = 'python_files = ["check_*.py", "*_spec.py"]\ntestpaths = ["checks", "qa_tests", 7]'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\npython_files = check_*.py *_spec.py\ntestpaths =\n    ./checks/\n    qa_tests\n"),
        ("pytest.ini", "[pytest]\n; comment\npython_files: check_*.py\n   *_spec.py\ntestpaths = checks qa_tests\n"),
        (".pytest.ini", f"[pytest]\n{OPTIONS}"),
        ("tox.ini", f"[tox]\nx = 1\n[pytest]\n{OPTIONS}"),
        ("setup.cfg", f"[tool:pytest]\n{OPTIONS}"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\npython_files='check_*.py *_spec.py'\ntestpaths='checks qa_tests'",
        ),
        ("pyproject.toml", f"[tool.pytest.ini_options]\n{TABLE}"),
        ("pyproject.toml", f"[tool.pytest]\n{TABLE}"),
        ("pytest.toml", f"[pytest]\n{TABLE}"),
    ],
)
def test_the_runner_s_configuration_is_read_where_pytest_reads_it(name: str, text: str) -> None:
    check(
        {name: text},
        {
            "test": "checks/check_a.py pkg/a_spec.py",
            "test_support": "tests/test_a.py qa_tests/data.json",
            "source": "pkg/test_a.py qa_tests_not/data.json checks/data.json",
        },
    )


def test_the_first_file_in_pytest_s_order_wins() -> None:
    files = {
        "pytest.ini": "[pytest]\npython_files = one_*.py\n",
        "pyproject.toml": '[tool.pytest.ini_options]\npython_files = "two_*.py"',
        "tox.ini": "[pytest]\npython_files = three_*.py\n",
        "setup.cfg": "[tool:pytest]\npython_files = four_*.py\n",
    }
    for name, word in zip(list(files), ("one", "two", "three", "four"), strict=True):
        check(files, {"test": f"{word}_a.py", "source": "test_a.py"})
        del files[name]
    check({"setup.cfg": "[pytest]\npython_files = x.py\n"}, {"test": "test_a.py a_test.py", "source": "x.py"})


def test_a_package_as_testpath_does_not_make_its_source_tests() -> None:
    check(
        {"pytest.ini": "[pytest]\ntestpaths = pkg docs .\npython_files = *.py\n", "pkg/__init__.py": ""},
        {
            "source": "pkg/core.py",
            "test": "pkg/test_core.py tests/any.py",
            "test_support": "tests/conftest.py",
        },
    )
    check(
        {
            "pytest.ini": "[pytest]\ntestpaths = pkg/testing\n",
            "pkg/testing/__init__.py": "",
            "pkg/a.py": "from .testing import x\n",
        },
        {"source": "pkg/testing/tool.py", "test": "pkg/testing/test_tool.py"},
    )


def configures_nothing(file: TreeFile, name: str) -> bool:
    tree = Tree({name: file})
    test = PathClassifier.of(tree).classify("tests/test_a.py") == "test"
    return test and PythonFiles(tree).patterns == PythonFiles(Tree({})).patterns


@pytest.mark.parametrize("name", ["pytest.ini", "pyproject.toml", "setup.cfg"])
@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff\xfe\0", b"[pytest", b"key\n  more\n", b"[pytest]\npython_files\n", b"[tool]\npytest = 3\n",
        b"tool = [1]\n",
        b"[tool.pytest]\nini_options = 3\n", b"[tool.pytest.ini_options]\npython_files = 3\ntestpaths = {a = 1}\n",
        b"[pytest]\npython_files = \n", b"a = " + b"[" * 5000, b"[DEFAULT]\npython_files = x\n",
        b"[pytest]\n%(a)s = %(b)s\n",
        b"[tool:pytest]\na = 1\na = 2\n[tool:pytest]\n", b"x" * (2 << 20),
    ],
)  # fmt: skip
def test_a_broken_configuration_configures_nothing(name: str, data: bytes) -> None:
    assert configures_nothing(TreeFile(data), name)


def test_a_link_configures_nothing() -> None:
    assert configures_nothing(TreeFile(b"[pytest]\npython_files = x.py\n", "120000"), "pytest.ini")


def test_a_file_made_to_stall_the_scan_does_not() -> None:
    room = classifier({"pkg/a.py": "from x import (\n" * 20_000, "pkg/test_x.py": ""})
    assert room.classify("pkg/test_x.py") == "test"
