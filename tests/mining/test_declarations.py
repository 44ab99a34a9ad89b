import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from codegate.mining.environments.declarations import import_roots, read_declarations
from codegate.suite import Tree, TreeFile


def _files(files: dict[str, str]) -> Tree:
    return Tree({name: TreeFile(text.encode()) for name, text in files.items()})


PYPROJECT = """
[project]
name = "Own_Name"
dependencies = ["attrs>=20", "other @ https://example.org/x.whl"]
[project.optional-dependencies]
test = ["pytest>=7", "own-name[extra]", "black"]
extra = ["pytz"]
docs = ["sphinx"]
[dependency-groups]
tests = ["hypothesis", {include-group = "loop"}]
loop = ["six", {include-group = "tests"}]
"""


def test_pep_621_and_735_with_the_projects_own_extras_and_groups() -> None:
    found = read_declarations(_files({"pyproject.toml": PYPROJECT}))
    assert found.name == "own-name"
    assert found.runtime == ("attrs>=20",)
    assert found.test == ("hypothesis", "pytest>=7", "pytz", "six")


@pytest.mark.parametrize(
    ("files", "runtime", "test"),
    [
        ({"setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n  attrs>=20 # why\n  six\n"
                       "[options.extras_require]\ntests =\n  pytest\n"}, ("attrs>=20", "six"), ("pytest",)),
        ({"setup.py": "from setuptools import setup\nREQ = ['attrs']\nsetup(name='x', install_requires=REQ, "
                      "extras_require={'dev': ['mock', 'x[tests]'], 'tests': ['pytz']}, tests_require='nose')\n"},
         ("attrs",), ("nose", "pytz")),
        ({"setup.py": "V = get()\nsetup(install_requires=['a', f'b=={V}'], "
                      "extras_require={'dev': ['c'], 'd': [f'e=={V}']})"},
         ("a",), ("c",)),
        ({"pkg/a.py": "import os\nfrom pkg_resources import parse_version\n", "setup.py": "import setuptools\n"},
         ("setuptools<81",), ()),
        ({"pkg/a.py": "import pkg_resources\n", "requirements.txt": "setuptools==82\n"}, ("setuptools==82",), ()),
        ({"setup.py": "import os\nos.abort()\nsetup(install_requires=open('x').read())\n",
          "requirements.txt": "a\\\n==1\n-r requirements/more.txt\n-e .\n./x\ngit+https://a/b\n# c\n"
                              "b==1 --hash=sha256:0\n",
          "requirements/more.txt": "c; python_version > '3'\n-r ../requirements.txt\n"},
         ("a==1", "b==1", 'c; python_version > "3"'), ()),
        ({"requirements-dev.txt": "mock\ntox\npytest-cov\n"}, (), ("mock", "pytest-cov")),
        ({"requirements-dev.txt": "mock\nmypy>=1; python_version > '3'\n"}, (), ("mock", "typing-extensions")),
        ({"Pipfile": '[packages]\nattrs = "==20.1"\n[dev-packages]\nmock = "*"\nx = {path = "."}\n'},
         ("attrs==20.1",), ("mock",)),
        ({"requirements/tests.txt": "-r ../base.txt\nmock\n", "base.txt": "six\n"}, (), ("mock", "six")),
        ({"test-requirements.txt": "mock\n", "requirements-dev.txt": "ipython\n"}, (), ("mock",)),
        ({"tox.ini": "[testenv]\ndeps =\n  pytest\n  py27: funcsigs\n  -r{toxinidir}/t.txt\n", "t.txt": "six\n"},
         (), ("pytest", "six")),
        ({"pyproject.toml": '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\npython = "^3.8"\nattrs = "^20.1"\n'
                            'small = "^0.2.3"\ntilde = "~1.2"\nany = "*"\nexact = "1.5"\n'
                            'opt = {version = "1", optional = true}\n'
                            '[tool.poetry.group.test.dependencies]\npytest = {version = ">=7", extras = ["x"]}\n'},
         ("any", "attrs<21,>=20.1", "exact==1.5", "small<0.3,>=0.2.3", "tilde<1.3,>=1.2"), ("pytest[x]>=7",)),
        ({"pyproject.toml": "broken [", "setup.cfg": "also broken", "setup.py": "def ("}, (), ()),
        ({}, (), ()),
    ],
)  # fmt: skip
def test_every_place_that_declares(files: dict[str, str], runtime: tuple[str, ...], test: tuple[str, ...]) -> None:
    found = read_declarations(_files(files))
    assert (found.runtime, found.test) == (runtime, test)


@given(
    st.text(max_size=300), st.sampled_from(["setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "requirements.txt"])
)
def test_whatever_the_files_hold_only_plain_requirements_come_out(text: str, name: str) -> None:
    found = read_declarations(Tree({name: TreeFile(text.encode("utf-8", "surrogatepass"))}))
    for entry in (*found.runtime, *found.test):
        assert Requirement(entry).url is None
        assert "\n" not in entry
    import_roots(Tree({name: TreeFile(text.encode("utf-8", "surrogatepass"))}))


def test_what_the_automation_installs_is_kept_apart_and_without_what_is_declared() -> None:
    files = {
        "pyproject.toml": '[project]\nname = "x"\noptional-dependencies = {test = ["mock"], crypto = ["pyopenssl"]}\n',
        "tox.ini": "[testenv]\nextras = crypto\ndeps = mock>=1\n  tox\n",
        "noxfile.py": 'def tests(session):\n    session.install(".[crypto]", "six", name)\n',
    }
    found = read_declarations(_files(files))
    assert found.test == ("mock", "mock>=1")
    assert found.automation == ("pyopenssl", "six")


@pytest.mark.parametrize(
    ("files", "requires", "pythons"),
    [
        ({"pyproject.toml": '[project]\nrequires-python = ">=3.9"\nclassifiers = ['
                            '"Programming Language :: Python :: 3.9", "Programming Language :: Python :: 3", '
                            '"Programming Language :: Python :: 3.10"]\n'},
         ">=3.9", ("3.9", "3.10")),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.8"\n'}, "<4,>=3.8", ()),
        ({"setup.py": "setup(python_requires='~=3.7', classifiers=['Programming Language :: Python :: 3.7'])"},
         "~=3.7", ("3.7",)),
        ({"setup.cfg": "[options]\npython_requires = nonsense\n"}, "", ()),
    ],
)  # fmt: skip
def test_the_pythons_that_a_tree_supports(files: dict[str, str], requires: str, pythons: tuple[str, ...]) -> None:
    found = read_declarations(_files(files))
    assert (found.requires_python, found.pythons) == (requires, pythons)


def test_a_poetry_file_with_tables_of_the_wrong_type_declares_nothing() -> None:
    text = 'project = 1\n[tool]\npoetry = ["x"]\npdm = 2\n[dependency-groups]\ntest = "x"\ndev = [1, {}]\n'
    assert read_declarations(_files({"pyproject.toml": text})).test == ()


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        ({}, ("", "src")),
        ({"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = [".", "./app", "../out", "/abs"]\n'},
         ("", "src", "app")),
        ({"pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["code"]\n'}, ("", "src", "code")),
        ({"setup.cfg": "[options.packages.find]\nwhere = pkgs\n", "lib/x.py": ""}, ("", "src", "pkgs", "lib")),
    ],
)  # fmt: skip
def test_import_roots_stay_inside_the_tree(files: dict[str, str], roots: tuple[str, ...]) -> None:
    assert import_roots(_files(files)) == roots


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "-r requirements.txt\n" * 30 + "six\n"},
        {"requirements.txt": "-r a.txt\n" * 30, "a.txt": "-r requirements.txt\n" * 30 + "six\n"},
    ],
    ids=["itself", "each other"],
)
def test_files_that_include_each_other_many_times_are_read_once(files: dict[str, str]) -> None:
    assert read_declarations(_files(files)).runtime == ("six",)


def test_groups_that_include_each_other_many_times_are_read_once() -> None:
    ring = ",".join(['{include-group = "ring"}'] * 30)
    text = f'[dependency-groups]\ntest = ["mock", {ring}]\nring = ["six", {ring}, {{include-group = "test"}}]\n'
    assert read_declarations(_files({"pyproject.toml": text})).test == ("mock", "six")


@pytest.mark.parametrize(
    "text",
    [
        '[tool.poetry.dependencies]\nx = "^' + "9" * 5000 + '"\nsix = "*"\n',
        '[tool.poetry.dependencies]\nx = {version = "~' + "9" * 5000 + '"}\nsix = "*"\n',
        '[project]\ndependencies = ["a; ' + "(" * 1500 + '", "six"]\n',
        '[project]\ndependencies = ["a; ' + "(" * 20000 + '", "six"]\n',
    ],
    ids=["long number", "long number in a table", "nesting", "deep nesting"],
)
def test_an_absurd_requirement_is_dropped_and_the_others_stay(text: str) -> None:
    assert read_declarations(_files({"pyproject.toml": text})).runtime == ("six",)
