"""What a project's automation installs is read from its verbs; whatever a shell would expand is passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.mining.environments.recipes import Recipe, read_recipe
from codegate.suite import Tree, TreeFile


def _read(files: dict[str, str]) -> Recipe:
    return read_recipe(Tree({name: TreeFile(text.encode("utf-8", "surrogatepass")) for name, text in files.items()}))


WORKFLOW = """
name: Tests
on: [push]
jobs:
  lint:
    steps:
      - run: pip install pylint-of-the-linters
  tests:
    strategy:
      matrix:
        python-version: ["3.9", "3.10", pypy3.9, 3.11]
        include:
          - python-version: "3.12"
    steps:
      - uses: actions/checkout@v4
      - run: |
          python -m pip install --upgrade pip "six>=1.0" $EXTRA
          pip install -r requirements/ci.txt -c constraints.txt -e .[fast,slow] && echo done; curl x | sh
          pip install --index-url https://example.org/simple mock
          pip install git+https://example.org/x `whoami` ${{ matrix.x }}
      - run: pytest
"""


def test_workflows_that_test_are_read_and_others_are_not() -> None:
    found = _read({".github/workflows/tests.yml": WORKFLOW, ".github/workflows/broken.yaml": "jobs: [}"})
    assert found.requirements == ["pip", "six>=1.0", "mock"]
    assert found.files == ["requirements/ci.txt"]
    assert found.extras == ["fast", "slow"]
    assert found.pythons == ["3.9", "3.10", "3.11", "3.12"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("uv sync --locked --group tests --extra=x", Recipe(groups=["tests"], extras=["x"])),
        ("uv run --with six,mock --group dev pytest tests", Recipe(requirements=["six", "mock"], groups=["dev"])),
        ("poetry install --with test,docs -E x", Recipe(groups=["test", "docs"], extras=["x"])),
        ("pdm install -G test", Recipe(groups=["test"])),
        ("uv pip install -e '.[test]' -rreq.txt", Recipe(extras=["test"], files=["req.txt"])),
        ("FOO=1 python3.11 -m pip install six ../outside 'mock; python_version>\"3\"'",
         Recipe(requirements=["six", 'mock; python_version>"3"'])),
        ("sudo rm -rf / ; pip download six", Recipe()),
        ("pip install 'unclosed", Recipe()),
        ("pip install six > $(log)", Recipe(requirements=["six"])),
    ],
)  # fmt: skip
def test_every_verb(line: str, expected: Recipe) -> None:
    assert _read({"tox.ini": f"[testenv]\ncommands =\n  {line}\n  pytest\n"}) == expected


def test_tox_and_nox() -> None:
    tox = (
        "[tox]\nenvlist = py{39,310}, py311, lint\n[testenv]\nextras = a\n  b\ndependency_groups = tests\n"
        "commands = pip install mock -r {toxinidir}/t.txt\n"
    )
    found = _read({"tox.ini": tox})
    assert (found.requirements, found.files) == (["mock"], ["t.txt"])
    assert (found.extras, found.groups, found.pythons) == (["a", "b"], ["tests"], ["3.11"])
    nox = (
        "import os\nos.abort()\ndef tests(session):\n    session.install('-r', 'x.txt', name, '.[y]', 'six')\n"
        "    session.run('uv', 'sync', '--group', 'z')\ndef docs(session):\n    session.install('sphinx')\n"
    )
    assert _read({"noxfile.py": nox}) == Recipe(requirements=["six"], files=["x.txt"], extras=["y"], groups=["z"])


@given(st.text(max_size=300), st.sampled_from(["tox.ini", "noxfile.py", ".github/workflows/x.yml"]))
def test_nothing_that_a_file_holds_ends_the_reading(text: str, name: str) -> None:
    wrapped = {"tox.ini": f"[testenv]\ncommands = pip install {text}\nextras = {text}"}
    for content in (text, wrapped.get(name, text)):
        found = _read({name: content})
        assert all("\n" not in entry for entry in (*found.requirements, *found.files, *found.extras, *found.groups))
