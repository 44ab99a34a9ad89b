"""Asserting helpers of a Python test that stand in other files."""

from collections import Counter
from collections.abc import Mapping

import pytest

from codegate.languages import syntax
from codegate.languages.lines import dialect_of
from codegate.languages.python import imported
from codegate.suite import Tree, TreeFile

TEST = "tests/unit/test_price.py"
CASE = "class Case(TestCase):\n    def check(self, given, found):\n        assert price(given) == found\n"
CHECK = "def check(given, found):\n    assert price(given) == found\n"
USES = "def test_price():\n    check(3, 'three')\n"
USES_METHOD = "    def test_price(self):\n        self.check(3, 'three')\n"


def read(test: str, others: Mapping[str, str]) -> str:
    """Return the test's file as it is read."""
    dialect = dialect_of(TEST)
    assert dialect is not None
    return dialect.source(TEST, Tree({path: TreeFile(text.encode()) for path, text in {TEST: test, **others}.items()}))


def checked(test: str, others: Mapping[str, str]) -> set[str]:
    """Return the expressions that the lines of ``test_price`` check."""
    dialect = dialect_of(TEST)
    assert dialect is not None
    lines = dialect.lines(read(test, others), ["test_price", "TestPrice::test_price"], "")
    return {text for line in lines for step in line.steps for text in step.checked}


@pytest.mark.parametrize(
    ("test", "others"),
    [
        (f"from .case import check\n\n{USES}", {"tests/unit/case.py": CHECK}),
        (f"from tests.case import check\n\n{USES}", {"tests/case.py": CHECK, "case.py": "def check(): pass\n"}),
        (
            f"from tests import check\n\n{USES}",
            {"tests/__init__.py": "from tests.case import check\n", "tests/case.py": CHECK},
        ),
        (f"from ..case import Case\n\nclass TestPrice(Case):\n{USES_METHOD}", {"tests/case.py": CASE}),
        (f"from tests import case\n\nclass TestPrice(case.Case):\n{USES_METHOD}", {"tests/case.py": CASE}),
        (f"{CASE}\n\nclass TestPrice(Case):\n{USES_METHOD}", {}),
        (
            f"from tests.more import More\n\nclass TestPrice(More):\n{USES_METHOD}",
            {"tests/more.py": "from tests.case import Case\n\nclass More(Case): pass\n", "tests/case.py": CASE},
        ),
    ],
    ids=["function", "from_the_root", "exported_again", "method", "of_a_module", "same_file", "two_classes_above"],
)  # fmt: skip
def test_what_a_helper_checks_is_read(test: str, others: Mapping[str, str]) -> None:
    assert checked(test, others) == {"price(given)", "found"}


def test_what_an_assertion_is_given_is_read_too() -> None:
    case = "class Case(TestCase):\n    def assertPrice(self, given, found):\n        assert strip(given) == found\n"
    test = "from case import Case\n\nclass TestPrice(Case):\n    def test_price(self):\n"
    test += "        self.assertPrice(price(3), 'three')\n"
    assert checked(test, {"tests/unit/case.py": case}) == {"price(3)", "strip(given)", "found"}


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("from prices import price", "from prices import price"),
        ("from .prices import price", "from case import price"),
        ("def price(given):\n    return given", "from case import price"),
        ("from prices import *", "from prices import *"),
    ],
    ids=["import", "relative_import", "definition", "star"],
)
def test_what_a_helper_needs_is_imported(head: str, shown: str) -> None:
    others = {"tests/unit/case.py": f"{head}\n\n{CHECK}"}
    assert read(f"from case import check\n\n{USES}", others).startswith(f"from case import check\n{shown}\n\n")
    own = "from other import price\nfrom case import check\n\n"
    assert read(f"{own}{USES}", others) == f"{own}{USES}\n\n{CHECK.rstrip()}"


@pytest.mark.parametrize(
    "test",
    [
        f"from case import check\n\n{USES}",
        f"from .case import Case\n\nclass TestPrice(Case):\n    def check(self, given, found): pass\n{USES_METHOD}",
        f"class TestPrice(TestPrice):\n{USES_METHOD}",
    ],
    ids=["decorated", "overridden", "its_own_base"],
)
def test_what_may_be_something_else_is_not_read(test: str) -> None:
    helper = f"@contextmanager\n{CHECK}\n\n{CASE}"
    assert checked(test, {"tests/unit/case.py": helper}) == set()


def test_helpers_stand_in_one_order_in_every_process() -> None:
    names = [f"check{number}" for number in range(9)]
    helpers = "".join(CHECK.replace("check", name) for name in names)
    uses = "".join(f"    {name}(3, 'three')\n" for name in names)
    text = read(f"from case import {', '.join(names)}\n\ndef test_price():\n{uses}", {"case.py": helpers})
    assert [name for name in text.split() if name.startswith("check")][-9:] == [f"{name}(given," for name in names]


def test_a_module_is_parsed_once_for_all_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, parse = Counter[str](), syntax.parse
    monkeypatch.setattr(imported, "parse", lambda text, grammar: (parsed.update([text]), parse(text, grammar))[1])
    names = [f"check{number}" for number in range(40)]
    module = "".join(f"def {name}(given):\n    pass\n" for name in names)
    read(f"from case import {', '.join(names)}\n\n{USES}", {"case.py": module})
    assert parsed[module] == 1


def test_a_base_class_that_many_classes_share_is_read_once_for_each_class() -> None:
    levels = [[f"C{level}_{number}" for number in range(12)] for level in range(4)]
    bases = {name: above for above, level in zip([[], *levels], levels, strict=False) for name in level}
    text = "".join(f"class {name}({', '.join(above)}):\n    x = 1\n" for name, above in bases.items())
    text = text.replace("class C0_0():\n", CASE.replace("Case(TestCase)", "C0_0()"))
    assert checked(f"{text}class TestPrice(C3_0):\n{USES_METHOD}", {}) == {"price(given)", "found"}


def test_a_file_with_too_many_base_classes_comes_to_an_end() -> None:
    names = [f"C{number}" for number in range(100)]
    text = "".join(f"class {name}({', '.join(names[:50])}):\n    x = 1\n" for name in names)
    assert read(text, {}) == text
