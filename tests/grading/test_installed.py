"""A project's own version module, metadata and plugins are there in a test run, as if it were installed."""

from email.parser import Parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import Sandboxes
from codegate.grading.installed import installed_files
from codegate.suite import Tree, TreeFile, is_plain_path
from tests.grading.worlds import room_of, tree

PROJECT = """
[project]
name = "Own.Project"
dynamic = ["version"]
description = "What\\nit is"
dependencies = ["six>=1"]
requires-python = ">=3.8"
[project.entry-points.pytest11]
own = "own.plugin"
[project.scripts]
own = "own.main:run [extra]"
bad = "no entry; point"
[tool.hatch.build.hooks.vcs]
version-file = "src/own/_version.py"
"""


def _texts(files: dict[str, str]) -> dict[str, str]:
    return {path: file.data.decode() for path, file in installed_files(tree(files)).items()}


def test_a_version_module_and_metadata_come_from_what_is_declared() -> None:
    found = _texts({"pyproject.toml": PROJECT, "CHANGES.md": "# Changes\n\n## Unreleased\n\n## v4.2.1 (2024-01-01)\n"})
    assert sorted(found) == [
        "own_project-4.2.1.dist-info/METADATA",
        "own_project-4.2.1.dist-info/entry_points.txt",
        "src/own/_version.py",
    ]
    names: dict[str, object] = {}
    exec(found["src/own/_version.py"], names)
    assert (names["__version__"], names["version_tuple"]) == ("4.2.1", (4, 2, 1))
    fields = Parser().parsestr(found["own_project-4.2.1.dist-info/METADATA"])
    assert (fields["Name"], fields["Version"], fields["Summary"]) == ("Own.Project", "4.2.1", "What it is")
    assert fields.get_all("Requires-Dist") == ["six>=1"]
    entries = found["own_project-4.2.1.dist-info/entry_points.txt"]
    assert entries == "[console_scripts]\nown = own.main:run [extra]\n\n[pytest11]\nown = own.plugin\n"


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"pyproject.toml": '[project]\nname = "x"\nversion = "2.0"\n'}, "2.0"),
        ({"pyproject.toml": '[tool.poetry]\nname = "x"\nversion = "2.1"\n'}, "2.1"),
        ({"setup.cfg": "[metadata]\nname = x\nversion = attr: x.info.VERSION\n", "x/info.py": "VERSION = '2.2'\n"},
         "2.2"),
        ({"setup.cfg": "[metadata]\nname = x\nversion = 1.1\n"}, "1.1"),
        ({"setup.py": "setup(name='x', version='2.3')"}, "2.3"),
        ({"setup.py": "setup(name='x')", "src/x/__init__.py": '"""X."""\n__version__ = "2.4"\n'}, "2.4"),
        ({"pyproject.toml": '[project]\nname = "x"\n[tool.hatch.version]\npath = "y.py"\n',
          "y.py": "__version__ = '3'"},
         "3"),
        ({"setup.py": "setup(name='x')", "HISTORY.rst": "History\n=======\n\n0.9 (soon)\n"}, "0.9"),
        ({"setup.py": "setup(name='x')"}, "1.0.0"),
        ({"setup.py": "setup(name='x', version='../../etc')"}, "1.0.0"),
    ],
)  # fmt: skip
def test_the_version_is_the_one_that_the_tree_tells(files: dict[str, str], version: str) -> None:
    assert f"x-{version}.dist-info/METADATA" in _texts(files)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[tool.setuptools_scm]\nwrite_to = "a/_version.py"\n', "a/_version.py"),
        ('[tool.setuptools_scm]\nversion_file = "./a/v.txt"\n', "a/v.txt"),
        ('[tool.pdm.version]\nsource = "scm"\nwrite_to = "a/_version.py"\n', "a/_version.py"),
        ('[tool.versioningit.write]\nfile = "a/_v.py"\n', "a/_v.py"),
        ('[tool.setuptools_scm]\nwrite_to = "../a/_version.py"\n', None),
        ('[tool.setuptools_scm]\nwrite_to = "there.py"\n', None),
        ('[tool.setuptools_scm]\nwrite_to = "there.py/x.py"\n', None),
        ('[tool.setuptools_scm]\nwrite_to = "conftest"\n', None),
    ],
)
def test_version_files_are_written_where_the_tool_would_and_never_over_a_file(text: str, path: str | None) -> None:
    assert list(_texts({"pyproject.toml": text, "there.py": ""})) == ([path] if path else [])


@given(st.text(max_size=200), st.text(max_size=100), st.sampled_from(["pyproject.toml", "setup.cfg", "setup.py"]))
def test_whatever_is_declared_the_files_are_plain_and_one_field_stays_one_line(text: str, name: str, path: str) -> None:
    declared = {
        "pyproject.toml": f'[project]\nname = "x"\ndescription = {name!r}\nversion = {text!r}\n',
        "setup.cfg": f"[metadata]\nname = {name}\n{text}",
        "setup.py": f"setup(name={name!r}, entry_points={text!r}, version={text!r})",
    }
    files = installed_files(Tree({path: TreeFile(declared[path].encode("utf-8", "surrogatepass"))}))
    for place, file in files.items():
        assert is_plain_path(place)
        if place.endswith("METADATA"):
            lines = file.data.decode().splitlines()
            assert [line.partition(":")[0] for line in lines].count("Name") == 1


OWN = {
    "pyproject.toml": PROJECT,
    "src/own/__init__.py": "from own._version import version\n",
    "src/own/plugin.py": "import pytest\n\n\n@pytest.fixture\ndef answer():\n    return 42\n",
    "tests/test_own.py": (
        "import importlib.metadata\nimport subprocess\nimport sys\n\nimport own\n\n\n"
        "def test_version():\n    assert importlib.metadata.version('own-project') == own.version == '1.0.0'\n\n\n"
        "def test_child():\n    code = 'import importlib.metadata as m; m.version(\"own.project\")'\n"
        "    subprocess.run([sys.executable, '-c', code], check=True)\n\n\n"
        "def test_plugin(answer):\n    assert answer == 42\n"
    ),
}


@pytest.mark.bwrap
def test_a_project_finds_its_own_version_and_its_own_plugin(sandboxes: Sandboxes) -> None:
    found = room_of(sandboxes).statuses(OWN, "tests/test_own.py")
    assert found == dict.fromkeys(("test_version", "test_child", "test_plugin"), "passed")
