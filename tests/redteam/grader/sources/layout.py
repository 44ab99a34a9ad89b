"""A package below ``src`` with data, settings of pytest, fixtures in a conftest file, and tests in two files."""

from tests.redteam.grader.sources import replaced

SOURCE = "src/fables/render.py"
TARGETS = ("render", "outline", "Catalogue.find", "Catalogue.count")

BUG = '''\
"""Fables as text."""

from importlib import resources


def render(template, values):
    """Return the template with each {name} replaced by its value; raises KeyError for a name without one."""
    for name, value in values.items():
        template = template.replace(name, str(value))
    return template


def outline(text):
    """Return the headings of a text by their depth."""
    return {line: 1 for line in text.splitlines() if line.startswith("#")}


class Catalogue:
    """The fables that come with the package."""

    def __init__(self):
        text = resources.files("fables").joinpath("data/fables.txt").read_text("utf-8")
        self.titles = [line.strip() for line in text.splitlines() if line.strip()]

    def find(self, word):
        """Return the titles with a word in them, whatever its case, in alphabetical order."""
        return [title for title in self.titles if word in title]

    def count(self):
        """Return how many titles there are for each first letter."""
        return {title[0]: 1 for title in self.titles}
'''

FIX = replaced(
    BUG,
    ("from importlib import resources\n",
     "import re\nfrom collections import Counter\nfrom importlib import resources\n"),
    ("""\
    for name, value in values.items():
        template = template.replace(name, str(value))
    return template
""", """\
    return re.sub(r"\\{(\\w+)\\}", lambda found: str(values[found.group(1)]), template)
"""),
    ("""\
    return {line: 1 for line in text.splitlines() if line.startswith("#")}
""", """\
    lines = [line for line in text.splitlines() if line.startswith("#")]
    return {line.lstrip("#").strip(): len(line) - len(line.lstrip("#")) for line in lines}
"""),
    ("[title for title in self.titles if word in title]",
     "sorted(title for title in self.titles if word.casefold() in title.casefold())"),
    ("{title[0]: 1 for title in self.titles}", "dict(Counter(title[0] for title in self.titles))"),
)  # fmt: skip

_CONFTEST = """\
import pytest

from fables import Catalogue


@pytest.fixture
def catalogue():
    return Catalogue()
"""
BASE = {
    "src/fables/__init__.py": '"""Fables."""\n\nfrom fables.render import Catalogue, outline, render\n'
    "\n__all__ = ['Catalogue', 'outline', 'render']\n",
    "src/fables/data/fables.txt": "The Wolf and the Crane\nThe Ant and the Grasshopper\nBelling the Cat\n"
    "The Dog and the Wolf\n",
    "pyproject.toml": """\
[project]
name = "fables"
version = "2.1.0"

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "-ra --strict-markers"
markers = ["shelf: needs the catalogue"]
""",
    "docs/index.md": "# Fables\n",
    "tests/conftest.py": _CONFTEST,
    "tests/test_render.py": """\
from fables import render


def test_plain():
    assert render("nothing", {}) == "nothing"
""",
}

HIDDEN = {
    "tests/conftest.py": _CONFTEST
    + """

@pytest.fixture
def moral(tmp_path):
    path = tmp_path / "moral.txt"
    path.write_text("Look, {who}, before you {verb}")
    return path
""",
    "tests/test_render.py": """\
import pytest

from fables import outline, render


def test_plain():
    assert render("nothing", {}) == "nothing"


def test_values(moral):
    assert render(moral.read_text(), {"who": "fox", "verb": 2}) == "Look, fox, before you 2"


def test_a_value_is_no_template():
    assert render("{a}{b}", {"a": "{b}", "b": "x"}) == "{b}x"


def test_missing():
    with pytest.raises(KeyError) as caught:
        render("{who}", {})
    assert caught.value.args == ("who",)


def test_outline():
    assert outline("# One\\ntext\\n## Two") == {"One": 1, "Two": 2}
""",
    "tests/unit/test_catalogue.py": """\
import pytest

pytestmark = pytest.mark.shelf


def test_titles(catalogue):
    assert len(catalogue.titles) == 4


@pytest.mark.parametrize("word", ["wolf", "WOLF"])
def test_find(catalogue, word):
    assert catalogue.find(word) == ["The Dog and the Wolf", "The Wolf and the Crane"]


def test_count(catalogue, capsys):
    print(catalogue.count())
    assert capsys.readouterr().out.splitlines()[-1] == "{'T': 3, 'B': 1}"


class TestNothing:
    def test_find(self, catalogue):
        assert catalogue.find("fox") == []
""",
}

_RENDER, _CATALOGUE = "tests/test_render.py::", "tests/unit/test_catalogue.py::"
FAIL_TO_PASS = (
    _RENDER + "test_values",
    _RENDER + "test_a_value_is_no_template",
    _RENDER + "test_missing",
    _RENDER + "test_outline",
    _CATALOGUE + "test_find[wolf]",
    _CATALOGUE + "test_find[WOLF]",
    _CATALOGUE + "test_count",
)
PASS_TO_PASS = (_RENDER + "test_plain", _CATALOGUE + "test_titles", _CATALOGUE + "TestNothing::test_find")
