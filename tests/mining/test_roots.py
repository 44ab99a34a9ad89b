"""Which folders a project's own modules are imported from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.mining.roots import import_roots
from codegate.suite import Subtree, Tree, TreeFile


def _files(files: dict[str, str]) -> Tree:
    return Tree({name: TreeFile(text.encode()) for name, text in files.items()})


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


@given(st.sampled_from(["pyproject.toml", "setup.cfg"]), st.text())
def test_no_file_stops_it(name: str, text: str) -> None:
    assert "" in import_roots(Tree({name: TreeFile(text.encode("utf-8", "surrogatepass"))}))


def test_a_part_is_followed_by_the_repositorys_other_projects_and_its_root() -> None:
    names = ("api/pyproject.toml", "libs/common/pyproject.toml", "tests/data/pack/pyproject.toml")
    part = Subtree.of(_files(dict.fromkeys(names, "")), "api")
    assert import_roots(part) == ("api", "api/src", "libs/common", "libs/common/src", "")
