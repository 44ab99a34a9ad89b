"""Probes: test functions with other literals, run by the real runner before the fix and after it."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from codegate.grading import RunCount, TestSelection, counted_runs, run_tests
from codegate.languages.lines import MARK, Line, dialect_of, literals_of
from codegate.languages.python.tests import DIALECTS
from codegate.mining.cut import Cut
from codegate.mining.examples import steady
from codegate.mining.examples.example import (
    BaseTests,
    Example,
    FoundExample,
    add_other_rules,
    base_tests,
    choose_examples,
    function_of,
    public_text,
)
from codegate.mining.examples.literals import LiteralReplacer, hidden_literal_in, hidden_texts, is_replaceable
from codegate.mining.examples.search import find_examples
from codegate.mining.examples.steady import steady_examples
from codegate.mining.languages import RunnerSettings
from codegate.mining.proving.quality import examples_to_show
from codegate.mining.proving.validation import OpenSandbox, ValidatedChange, graded_selection
from codegate.suite import ProblemLimits, Tree, TreeFile
from tests.mining.conftest import TIMES
from tests.mining.statement_world import cut_of, failing, validate_cut

AREA = "def area(side):\n    return side * 2\n"
SQUARED = AREA.replace("side * 2", "side * side")
WRONG = "def join(words, last='and'):\n    return ', '.join(words[:-1]) + words[-1]\n"
RIGHT = (
    "def join(words, last='and'):\n    if not words:\n        raise ValueError('no words')\n"
    "    return ', '.join(words[:-1]) + f' {last} ' + words[-1]\n"
)
LIMITS = ProblemLimits(seconds=20)
TESTS = """\
import unittest

import pytest

from lists import join

@pytest.mark.parametrize(("words", "text"), [(["apple", "pear"], "apple and pear"), (["one", "two"], "one and two")])
def test_join(words, text):
    assert join(words) == text

def test_nothing():
    with pytest.raises(ValueError):
        join([])

class TestLast(unittest.TestCase):
    def test_last(self):
        found = join(["milk", "bread", "eggs"], last="or")
        self.assertEqual(found, "milk, bread or eggs")
"""


Shown = Callable[..., list[Example]]


def parts() -> Cut:
    return cut_of({"lists.py": WRONG}, {"lists.py": RIGHT}, {"test_lists.py": TESTS})


@pytest.fixture
def shown(unboxed: OpenSandbox) -> Shown:
    """Return what searches for the examples of a change of ``lists.py``.

    Every hidden test counts as one that fails before the fix: that is not run again here. Nor do examples run once
    more in processes of their own, unless ``steady`` ones are asked for.
    """

    def search_examples(
        wrong: str,
        right: str,
        tests: str | Mapping[str, str],
        old: Mapping[str, str] | None = None,
        *,
        steady: bool = False,
    ) -> list[Example]:
        hidden = {"test_lists.py": tests} if isinstance(tests, str) else tests
        failing_tests = tuple(
            "::".join((path, *inside, part.name))
            for path, text in hidden.items()
            for node in ast.parse(text).body
            for inside, parts in [((node.name,), node.body) if isinstance(node, ast.ClassDef) else ((), [node])]
            for part in parts
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name.startswith("test")
        )
        cut = cut_of({"lists.py": wrong, **(old or {})}, {"lists.py": right}, hidden)
        selection = graded_selection(cut.test_files, LIMITS, RunnerSettings("pytest"))
        validated = ValidatedChange(failing(failing_tests), LIMITS, selection, True, 1.0, unboxed)
        return found_in(cut, validated, steady=steady)

    return search_examples


def found_in(cut: Cut, validated: ValidatedChange, *, steady: bool = True) -> list[Example]:
    found = find_examples(cut, validated, public_text(cut), "seed").examples
    return examples_to_show(found, (), partial(steady_examples, cut, validated) if steady else list)[0]


def proved(cut: Cut, unboxed: OpenSandbox) -> ValidatedChange:
    validated = validate_cut(cut, unboxed)
    assert isinstance(validated, ValidatedChange)
    return validated


@pytest.mark.parametrize(
    ("decorators", "given"),
    [
        ("@patch.object(os.path, 'join')", {"one": "a mock for `os.path.join`", "two": "a pytest fixture"}),
        ("@pytest.mark.parametrize('two', [3])\n@patch('os.join')", {"one": "a mock for `os.join`"}),
        ("@patch('os.join')\n@patch('os.sep')", {"one": "a mock for `os.sep`", "two": "a mock for `os.join`"}),
        ("@patch('os.join', return_value=73519)", None),
        ("@patch.dict(os.environ, LIMIT='7')", None),
        ("@freeze_time('2031-05-17')", None),
        ("@given(one=integers(73519))", None),
    ],
)
def test_of_decorators_only_a_plain_mock_is_told(decorators: str, given: dict[str, str] | None) -> None:
    source = f"{decorators}\ndef test_a(one, two):\n    assert one(two) == 1\n"
    [line] = DIALECTS[".py"].lines(source, ["test_a"], "", ())
    assert DIALECTS[".py"].describe_fixtures(source, line) == given


def test_a_fixture_of_a_class_is_named_with_it() -> None:
    fixture = "@pytest.fixture\ndef one():\n    return str.upper\n"
    own = "".join(f"    {line}\n" for line in fixture.splitlines())
    test = "    def test_a(self, one, two):\n        assert one(two) == 1\n"
    source = f"import pytest\n\n{fixture}\nclass TestA:\n{own}\n{test}"
    [line] = DIALECTS[".py"].lines(source, ["TestA::test_a"], "", ())
    given = DIALECTS[".py"].describe_fixtures(source, line)
    assert given is not None
    assert (given["one"], given["two"]) == ("a pytest fixture of `TestA`", "a pytest fixture")


def test_a_decorator_of_a_class_may_give_its_tests_anything() -> None:
    source = "@patch('os.sep')\nclass TestA:\n    def test_a(self, one):\n        assert one() == 1\n"
    [line] = DIALECTS[".py"].lines(source, ["TestA::test_a"], "", ())
    assert DIALECTS[".py"].describe_fixtures(source, line) is None


@pytest.mark.parametrize(
    "test",
    [
        "@pytest.mark.parametrize('text', [pytest.param(\n    'one\\n'\n    'two',\n    id='both')])\n"
        "def test_a(text):\n    assert found(text) == 2\n",
        "def test_a():\n    for text, size in [(\n        'one\\n'\n        'two',\n        2,\n    )]:\n"
        "        assert found(text) == size\n",
        "def check(text):\n    assert found(text) == 2\n\n"
        "def test_a():\n    check(\n        'one\\n'\n        'two',\n    )\n",
    ],
    ids=["a row", "a loop", "a helper"],
)
def test_a_text_of_several_lines_is_assigned_as_a_whole(test: str) -> None:
    [line, *_] = DIALECTS[".py"].lines(f"import pytest\n\n{test}", ["test_a"], "", ())
    namespace: dict[str, str] = {}
    exec(line.steps[0].text, namespace)
    assert namespace["text"] == "one\ntwo"


@pytest.mark.sandbox
class TestExamples:
    def test_each_failing_test_gives_an_example_without_its_values(self, unboxed: OpenSandbox) -> None:
        validated = proved(parts(), unboxed)
        found = found_in(parts(), validated)
        assert [each.expression.partition("(")[0] for each in found] == ["join", "found", "join"]
        assert found[2].expression == "join([])", "which has no values, comes last"
        for each in found:
            shown = f"{each.code}{each.observed}{each.expected}"
            assert not any(word in shown for word in ("apple", "pear", "one", "milk", "bread", "eggs"))
            assert " and " not in each.observed
            assert each.code.startswith("from lists import join")
        assert any(" and " in each.expected for each in found)

    def test_a_call_without_data_is_shown_where_no_other_shows_the_change(self, shown: Shown) -> None:
        wrong = "def join(words, last=None):\n    return words[0]\n"
        right = "def join(words, last=None):\n    return words[0] if words else RESULT\n"
        test = "from lists import join\n\ndef test_join():\n    assert join([], last=None) == RESULT\n"

        def found(result: str) -> list[tuple[str, str, str]]:
            examples = shown(wrong, right.replace("RESULT", result), test.replace("RESULT", result))
            return [(each.expression, each.observed, each.expected) for each in examples]

        assert found("[None]") == [("join([], last=None)", "raises IndexError: list index out of range", "[None]")]
        assert found("25") == found("'tea'") == found("['tea', 1]") == [], "a solution could return just this"

    def test_each_assertion_behind_an_exception_gives_an_example(self, unboxed: OpenSandbox) -> None:
        wrong = (
            "class Rows:\n    names = None\n\n    def __init__(self, rows):\n        self.rows = rows\n\n"
            "    def beside(self, other):\n        list(self.names)\n"
            "        return Rows([one + two for one, two in zip(self.rows, other.rows)])\n"
        )
        tests = (
            "from lists import Rows\n\ndef test_beside():\n    both = Rows([['milk']]).beside(Rows([['bread']]))\n"
            "    assert both.names is None\n    assert both.rows == [['milk', 'bread']]\n"
        )
        right = wrong.replace("        list(self.names)\n", "")
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests})
        validated = proved(cut, unboxed)
        found = find_examples(cut, validated, public_text(cut), "seed").examples
        assert {"both.names", "both.rows"} <= {each.example.expression for each in found}

    def test_the_error_that_a_test_expects_is_known_without_an_example(self, unboxed: OpenSandbox) -> None:
        wrong = "def read(path):\n    return open(path).read().missing\n"
        right = "def read(path):\n    raise KeyError('name')\n"
        call = "def test_read():\n    with pytest.raises(KeyError):\n        read(__file__)\n"
        tests = f"import pytest\nfrom lists import read\n\n{call}"
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests})
        found = find_examples(cut, proved(cut, unboxed), public_text(cut), "seed")
        assert (found.examples, found.errors) == ([], {"test_lists.py::test_read": "KeyError"})

    @pytest.mark.full
    def test_a_module_beside_the_test_is_named_as_from_the_root(self, shown: Shown) -> None:
        tests = (
            "from .near import joined\n\ndef test_join():\n    assert joined(['milk', 'bread']) == 'milk and bread'\n"
        )
        near = {"unit/__init__.py": "", "unit/near.py": "from lists import join as joined\n"}
        [found] = shown(WRONG, RIGHT, {"unit/test_lists.py": tests}, near)
        assert found.code == "from unit.near import joined"

    def test_a_fixture_that_only_the_hidden_tests_have_is_not_shown(self, shown: Shown) -> None:
        fixture = "import pytest\n\n@pytest.fixture\ndef last(request):\n    yield 'or'\n    print('done')\n"
        tests = (
            "from lists import join\n\ndef test_join(last):\n    assert join(['tea', 'rum'], last) == 'tea or rum'\n"
        )
        hidden = {"test_lists.py": tests, "conftest.py": fixture}
        assert shown(WRONG, RIGHT, hidden) == []
        fixtures = (
            "@pytest.fixture\ndef word():\n    return 'or'\n\n@pytest.fixture\ndef last(word):\n    return word\n"
        )
        beside = {"test_lists.py": f"import pytest\n\n{fixtures}\n{tests}"}
        [found] = shown(WRONG, RIGHT, beside)
        assert "def last(word):" in found.code
        assert "def word():" in found.code
        old = {"conftest.py": fixture}
        [found] = shown(WRONG, RIGHT, hidden, old)
        assert found.given == (("last", "a pytest fixture"),)

    @pytest.mark.parametrize(
        ("test", "before", "after"),
        [
            (
                "@pytest.mark.parametrize('given, found', [(3, 3)ROW])\ndef test_size(given, found):\n"
                "    assert size(given) == found\n",
                "ROW",
                ", (None, 5)",
            ),
            ("@pytest.mark.xfail\ndef test_size():\n    assert size(None) == 5\n", "@pytest.mark.xfail\n", ""),
        ],
        ids=["a row", "an expected failure"],
    )
    def test_a_case_of_a_test_that_the_base_has_is_not_shown(
        self, shown: Shown, test: str, before: str, after: str
    ) -> None:
        wrong = "def size(given):\n    return 3\n"
        right = "def size(given):\n    return 5 if given is None else 3\n"
        old, new = (
            {"test_lists.py": f"import pytest\nfrom lists import size\n\n{text}"}
            for text in (test.replace("ROW", ""), test.replace(before, after))
        )
        assert shown(wrong, right, new, old) == []

    def test_a_word_that_comes_back_in_another_is_no_other_case(self, shown: Shown) -> None:
        wrong = right = ""
        tests = "import lists\n\n"
        for number, (value, word, found) in enumerate((
            ("{days // 7} {name}s", "walnut", "3 walnuts"),
            ("{days // 7}{name.title()}", "oak", "3Oak"),
            ("{days // 7} of {int(name):,}", "1007", "3 of 1,007"),
        )):  # fmt: skip
            weeks = f"def weeks_{number}(days, name):\n    return 'odd ' + name\n\n"
            wrong += weeks
            right += weeks.replace("'odd ' + name", f"f'{value}' if days % 7 == 0 else 'odd ' + name")
            tests += f"def test_{number}():\n    assert lists.weeks_{number}(21, {word!r}) == {found!r}\n\n"
        assert shown(wrong, right, tests) == []

    def test_a_word_that_comes_back_before_the_fix_alone_is_no_other_case(self, shown: Shown) -> None:
        wrong = "class Shelf:\n    def __init__(self, name):\n        self.name = name\n\n    def size(self):\n"
        wrong += "        return {}[self.name]\n"
        test = "from lists import Shelf\n\ndef test_size():\n    shelf = Shelf('walnut')\n    shelf.size\n"
        hidden = {"test_lists.py": f"{test}    assert shelf.size() == 43\n"}
        assert shown(wrong, wrong.replace("{}[self.name]", "43"), hidden) == []

    def test_numbers_in_texts_stay_where_other_words_are_another_case(self, shown: Shown) -> None:
        wrong = "CODES = ['utf-8']\n\ndef flip(word, code, times):\n    return word * times + code\n"
        tests = "from lists import flip\n\ndef test_flip():\n"
        tests += "    assert flip('walnut', 'utf-8', 3) == 'tunlaw' * 3 + 'utf-8'\n"
        [found] = shown(wrong, wrong.replace("word *", "word[::-1] *"), tests)
        assert re.fullmatch(r"flip\('(?!walnut)\w+', 'utf-8', 3\)", found.expression)

    def test_a_comment_in_a_table_is_not_shown(self) -> None:
        source = (
            "@pytest.mark.parametrize('given', [\n    [  # must not raise\n        3]])\n"
            "def test_it(given):\n    for number in [\n        (  # gives 4\n            5)]:\n"
            "        assert add(given, number) == 8\n"
        )
        [line] = DIALECTS[".py"].lines(source, ["test_it"], "")
        assert "#" not in line.text

    def test_a_call_whose_expectation_is_corrected_is_not_shown(self, shown: Shown) -> None:
        wrong = "def mark(points):\n    return 'A' if points > 90 else 'B'\n"
        right = wrong.replace("> 90", ">= 90")
        tests = "from lists import mark\n\ndef test_edge():\n    assert mark(90) == 'A'\n"
        old = {"test_lists.py": tests.replace("'A'", "'B'")}
        assert shown(wrong, right, tests, old) == []

    def test_no_other_row_of_a_hidden_table_is_shown(self, shown: Shown) -> None:
        table = "@pytest.mark.parametrize(('side', 'found'), [(3, 9), (4, 16), (5, 25)])\n"
        test = "def test_area(side, found):\n    assert area(side) == found\n"
        tests = f"import pytest\nfrom lists import area\n\n{table}{test}"
        [found] = shown(AREA, SQUARED, tests)
        assert found.expected not in {"9", "16", "25"}

    def test_no_call_of_another_hidden_test_is_shown(self, shown: Shown) -> None:
        """All numbers of one digit are in hidden tests, in lines of their own and in a list."""
        head = "from lists import area\n\n"
        lines = "".join(f"def test_{n}():\n    assert area(\n        {n}\n    ) == {n * n}\n\n" for n in (3, 4, 5, 6))
        squares = "".join(f"        {n * n},\n" for n in (7, 8, 9))
        listed = f"def test_all():\n    assert [area(n) for n in (7, 8, 9)] == [\n{squares}    ]\n"
        found = shown(AREA, SQUARED, {"test_a.py": head + lines, "test_b.py": head + listed})
        assert {each.expected for each in found}.isdisjoint({str(n * n) for n in range(3, 10)})

    def test_no_hidden_call_is_shown_after_others_without_effect(self, shown: Shown) -> None:
        wrong = (
            "class Box(list):\n    moves = ()\n\n    def lid(self, opened):\n"
            "        self.moves = () if opened else ('shut',)\n"
        )
        steps = "    box = Box()\n    box.append('walnut')\n    box.lid(True)\n    box.lid(False)\n"
        tests = f"from lists import Box\n\ndef test_lid():\n{steps}    assert box.moves == ()\n"
        assert shown(wrong, wrong.replace("('shut',)", "()"), tests) == []

    def test_no_hidden_call_is_shown_with_another_word_that_has_no_effect(self, shown: Shown) -> None:
        wrong = "def weeks(days, label):\n    return 'odd'\n"
        tests = {
            "word": "def test_weeks():\n    assert weeks(21, 'walnut') == 3\n",
            "keyword": "def test_weeks():\n    assert weeks(21, label='the walnut') == 3\n",
            "fixture": "import pytest\n\n@pytest.fixture\ndef case():\n    return 21, 3\n\n"
            "def test_weeks(case):\n    days, found = case\n    assert weeks(days, 'walnut') == found\n",
        }
        hidden = {f"test_{name}.py": f"from lists import weeks\n\n{test}" for name, test in tests.items()}
        assert shown(wrong, wrong.replace("'odd'", "days // 7 if days % 7 == 0 else 'odd'"), hidden) == []

    TIDY = "import re\n\ndef tidy(code):\n    return re.sub(r'(sorted|min)\\(list\\(rows\\)\\)', r'\\1(rows)', code)\n"
    SPACED = TIDY.replace("list", "list *")

    def tidied(self, shown: Shown, right: str) -> list[Example]:
        rows = "('sorted(list(rows))', 'sorted(rows)'), ('min(list(rows))', 'min(rows)'),"
        head = "import pytest\nfrom lists import tidy\n\n@pytest.mark.parametrize(('code', 'found'), ["
        test = "])\ndef test_tidy(code, found):\n    assert tidy(code) == found\n"
        old = {"test_lists.py": f"{head}{rows}{test}"}
        return shown(self.TIDY, right, f"{head}{rows} ('sorted(list (rows))', 'sorted(rows)'){test}", old)

    def test_where_no_word_can_be_replaced_a_text_becomes_more_like_one_of_the_base(self, shown: Shown) -> None:
        [found] = self.tidied(shown, self.SPACED)
        assert "code = 'min(list (rows))'" in found.code
        assert (found.observed, found.expected) == ("'min(list (rows))'", "'min(rows)'")

    def test_what_the_fix_does_in_a_case_between_two_of_the_tests_has_to_follow(self, shown: Shown) -> None:
        assert self.tidied(shown, self.SPACED.replace(", code)", ", code).replace('min(r', 'max(r')")) == []

    def test_lines_that_the_base_has_are_no_case_of_the_base(self, shown: Shown) -> None:
        wrong = "def tidy(code, limit):\n    return code\n"
        right = wrong.replace("code\n", "'open' if code == 'close\\nopen' else code\n")
        row = "('open\\n'\n'close', 3, 'open\\nclose'),"
        head = "import pytest\nfrom lists import tidy\n\n@pytest.mark.parametrize(('code', 'limit', 'found'), ["
        test = "])\ndef test_tidy(code, limit, found):\n    assert tidy(code, limit) == found\n"
        old = {"test_lists.py": f"{head}{row} ('close\\n', 5, 'close\\n'), ('open', 6, 'open'){test}"}
        assert shown(wrong, right, f"{head}{row} ('close\\n'\n'open', 7, 'open'){test}", old) == []

    def test_a_word_that_only_comes_back_is_not_all_that_is_replaced(self, shown: Shown) -> None:
        wrong = "def area(side, unit):\n    return f'{side * 2} {unit}'\n"
        right = wrong.replace("side * 2", "side * side")
        test = "from lists import area\n\ndef test_area():\n    assert area(7, 'walnut') == '49 walnut'\n"
        [found] = shown(wrong, right, test)
        assert "49" not in found.expected
        helper = "def made(unit):\n    return area(7, unit)\n\n"
        helped = test.replace("area(7, 'walnut')", "made('walnut')").replace("def test", f"{helper}def test")
        assert shown(wrong, right, helped) == []

    def test_a_word_that_comes_back_from_a_call_without_values_is_another_case(self, shown: Shown) -> None:
        wrong = "class Shelf:\n    def __init__(self, name):\n        self.name = name\n\n    def label(self):\n"
        wrong += "        return f' ({self.name})'\n"
        test = "from lists import Shelf\n\ndef test_label():\n    shelf = Shelf('walnut')\n    shelf.label\n"
        [found] = shown(wrong, wrong.replace("' (", "'("), f"{test}    assert shelf.label() == '(walnut)'\n")
        assert found.expression == "shelf.label()"
        assert "walnut" not in f"{found.code}{found.expected}"

    def test_a_call_whose_expectation_changes_on_a_line_of_its_own_is_not_shown(self, shown: Shown) -> None:
        wrong = "def options():\n    return {'color': True}\n"
        tests = (
            "from lists import options\n\ndef test_it():\n    assert options() == {\n        'color': False,\n    }\n"
        )
        old = {"test_lists.py": tests.replace("False", "True")}
        assert shown(wrong, wrong.replace("True", "False"), tests, old) == []

    def test_an_import_of_one_example_decides_no_other(self, shown: Shown) -> None:
        wrong = (
            "LIMIT = 2\n\ndef order(count):\n    return f'{count * LIMIT}'\n\ndef pay(count):\n    return f'{count}'\n"
        )
        plugin = "import lists\nlists.LIMIT = 50\n\ndef more(n):\n    return n + 1\n"
        tests = "from lists import order, pay\nfrom plugin import more\n\n"
        tests += "def test_a():\n    assert order(44) == '2200 items'\n\n"
        tests += "def test_b():\n    assert pay(more(33)) == '34 items'\n"
        [found] = shown(wrong, wrong.replace("}'", "} items'"), tests, {"plugin.py": plugin}, steady=True)
        assert found.expression.startswith("pay(")

    def test_what_a_mark_sets_up_is_not_in_an_example(self, shown: Shown) -> None:
        wrong = "LIMIT = 2\n\ndef order(count):\n    return f'{count * LIMIT}'\n"
        fixture = "import lists, pytest\n\n@pytest.fixture(autouse=True)\ndef limit(request):\n"
        fixture += (
            "    mark = request.node.get_closest_marker('limit')\n    lists.LIMIT = mark.args[0] if mark else 2\n"
        )
        tests = "import pytest\nfrom lists import order\n\n@pytest.mark.limit(50)\ndef test_a():\n"
        tests += "    assert order(44) == '2200 items'\n"
        [found] = shown(wrong, wrong.replace("}'", "} items'"), tests, {"conftest.py": fixture})
        assert found.expected == f"'{2 * int(found.expression[len('order(') : -1])} items'"

    def test_what_surrounds_a_test_costs_no_example(self, shown: Shown) -> None:
        tests = {
            "base_class": "from unittest import TestCase\n\nclass Base(TestCase):\n    pass\n\n"
            "class TestArea(Base):\n    def test_area(self):\n        self.assertEqual(area(30), 900)\n",
            "fixture_of_a_fixture": "import pytest\n\n@pytest.fixture\ndef side(start):\n    yield start + 1\n\n"
            "@pytest.fixture\ndef start():\n    yield 29\n\n"
            "def test_area(side):\n    assert area(side + 70) == 10000\n",
            "loop": "def test_area():\n    assert area(30) == 900\n\ndef test_some():\n    for side in (40, 50):\n"
            "        if side == 41:\n            continue\n        assert area(side) == side * side\n",
        }
        hidden = {f"test_{name}.py": f"from lists import area\n{text}" for name, text in tests.items()}
        found = shown(AREA, SQUARED, hidden)
        assert {test.partition("::")[0] for each in found for test in each.tests} == hidden.keys()

    def test_a_comment_of_a_hidden_helper_is_not_shown(self, shown: Shown) -> None:
        helper = "def joined(words):\n    # The fix puts 'and' before the last.\n    return join(words)\n\n"
        test = "def test_join():\n    assert joined(['milk', 'bread']) == 'milk and bread'\n"
        [found] = shown(WRONG, RIGHT, f"from lists import join\n\n{helper}{test}")
        assert "def joined(words):\n    return join(words)" in found.code

    def test_no_value_is_named_as_of_the_base_that_is_another_there(self, shown: Shown) -> None:
        lines = "".join(f"    parts += [n + {number}]\n" for number in range(100, 112))
        helper = f"def cut(n):\n    parts = []\n{lines}    return parts[0] + LIMIT\n"
        head = "from lists import area\n\nLIMIT = {}\n\n\n" + helper
        hidden = {"test_lists.py": head.format(5) + "\n\ndef test_area():\n    assert area(cut(30)) == 18225\n"}
        assert shown(AREA, SQUARED, hidden, {"test_lists.py": head.format(50)}) == []

    def test_what_one_example_is_shown_with_decides_no_other(self, shown: Shown) -> None:
        wrong = "LIMIT = 2\n\ndef order(count):\n    return f'{count * LIMIT}'\n\npay = order\n"
        old = "import lists\nfrom lists import order\n\nlists.LIMIT = 50\n\ndef test_old():\n    assert order(0)\n"
        tests = "\ndef test_order():\n    assert order(44) == '2200 items'\n\n"
        tests += "def test_pay():\n    assert lists.pay(30) == '1500 items'\n"
        right = wrong.replace("}'", "} items'")
        for found in shown(wrong, right, old + tests, {"test_lists.py": old}, steady=True):
            number = found.expression.partition("(")[2].rstrip(")")
            assert found.observed == f"'{int(number) * (50 if 'LIMIT' in found.code else 2)}'"

    def test_a_table_of_what_tests_expect_is_not_shown(self, shown: Shown) -> None:
        test = "def test_area():\n    for side in WANTED:\n        assert area(side) == WANTED[side]\n"
        tests = f"from lists import area\n\nWANTED = {{3: 9, 4: 16}}\n\n{test}"
        assert shown(AREA, SQUARED, tests) == []

    def test_a_helper_does_not_read_what_a_line_gives_its_names(self, shown: Shown) -> None:
        helper = "def doubled(n):\n    return area(n + LIMIT)\n\n"
        test = "def test_area():\n    LIMIT = 12\n    assert doubled(LIMIT) == 600\n"
        old = {"test_lists.py": f"from lists import area\n\nLIMIT = 13\n\n{helper}"}
        assert shown(AREA, AREA.replace("side * 2", "side * side - 25"), old["test_lists.py"] + test, old) == []

    def test_a_method_that_only_the_hidden_test_case_has_is_not_shown(self, shown: Shown) -> None:
        base = "from unittest import TestCase\nfrom lists import join\n\nclass Joins(TestCase):\n    pass\n"
        helper = "    def of(self, *words):\n        found = join(list(words))\n        return found\n\n"
        test = "    def test_join(self):\n        self.assertEqual(self.of('milk', 'bread'), 'milk and bread')\n"
        old, hidden = {"test_lists.py": base}, {"test_lists.py": base.replace("    pass\n", helper + test)}
        assert shown(WRONG, RIGHT, hidden, old) == []
        mapped = test.replace("self.of('milk', 'bread')", "list(map(self.of, ['milk'], ['bread']))[0]")
        other = {"test_lists.py": base.replace("    pass\n", helper + mapped).replace("Joins", "Others")}
        assert shown(WRONG, RIGHT, other, old) == []
        old = {"test_lists.py": base.replace("    pass\n", helper)}
        [found] = shown(WRONG, RIGHT, hidden, old)
        assert found.expression.startswith("self.of(")

    @pytest.mark.parametrize(
        "place",
        [
            "@patch('lists.LIMIT', 50)\ndef test_pay():",
            "@patch('lists.LIMIT', 50)\nclass TestPay:\n    def test_pay(self):",
            "@pytest.fixture\ndef limit():\n    with patch('lists.LIMIT', 50):\n        yield\n\n"
            "@pytest.mark.usefixtures('limit')\ndef test_pay():",
            "@pytest.fixture(autouse=True)\ndef limit():\n    with patch('lists.LIMIT', 50):\n        yield\n\n"
            "def test_pay():",
            "lists.LIMIT = 50\n\ndef test_pay():",
            "limit = patch('lists.LIMIT', 50)\n\n@limit\ndef test_pay():",
        ],
        ids=["test", "class", "usefixtures", "autouse", "module", "alias"],
    )
    def test_what_a_reader_does_not_see_decides_no_example(self, shown: Shown, place: str) -> None:
        wrong = "LIMIT = 2\n\ndef order(count):\n    return f'{count * LIMIT}'\n"
        test = f"{place}\n        assert order(44) == '2200 items'\n"
        head = "import lists\nimport pytest\nfrom unittest.mock import patch\nfrom lists import order\n\n"
        found = shown(wrong, wrong.replace("}'", "} items'"), head + test)
        assert len(found) == (not place.startswith("lists."))
        for each in found:
            count = int(each.expression.removeprefix("order(").removesuffix(")"))
            assert (each.observed, each.expected) == (f"'{2 * count}'", f"'{2 * count} items'")

    def test_a_value_of_the_day_is_not_shown(self, shown: Shown) -> None:
        wrong = "from datetime import date\n\ndef stamp(word):\n    return f'{date.today():%Y}:{word}'\n"
        test = "def test_stamp():\n    assert stamp('milk') == f'{date.today():%Y}, milk'\n"
        tests = f"from datetime import date\nfrom lists import stamp\n\n{test}"
        assert shown(wrong, wrong.replace(":{word}", ", {word}"), tests, steady=True) == []

    def test_a_value_of_one_run_is_no_error_where_the_other_state_raises_one(self, shown: Shown) -> None:
        wrong = "import os\n\ndef place(name):\n    return os.path.abspath(name)\n"
        right = wrong.replace("    return", "    if '.' not in name:\n        raise ValueError(name)\n    return")
        raising = "import pytest\nfrom lists import place\n\ndef test_place():\n    with pytest.raises(ValueError):\n"
        [found] = shown(wrong, right, f"{raising}        place('walnut')\n", steady=True)
        assert "walnut" not in found.expression
        assert (found.observed, found.expected.partition(":")[0]) == ("no error", "raises ValueError")
        test = "from lists import place\n\ndef test_place():\n    assert place('walnut') == 'walnut'\n"
        assert shown(wrong, wrong.replace("os.path.abspath(name)", "name.upper()"), test, steady=True) == []
        assert shown(right.replace("'.'", "'x'"), wrong, test, steady=True) == [], "a test may compare the value"

    def test_a_mock_is_named_by_what_it_replaces(self, shown: Shown) -> None:
        wrong = "import time\n\ndef stamp(words):\n    time.sleep(0)\n    return f'{int(time.time())}:{words}'\n"
        right = wrong.replace("{words}'", '{" ".join(words)}\'')
        tests = (
            "from unittest import TestCase, mock\nfrom lists import stamp\n\nclass Stamps(TestCase):\n"
            "    @mock.patch('lists.time.sleep')\n    @mock.patch('lists.time.time')\n"
            "    def test_stamp(self, clock, pause):\n        clock.return_value = 7\n"
            "        self.assertEqual(stamp(['milk', 'bread']), '7:milk bread')\n        pause.assert_called_once()\n"
        )
        [found, *_] = shown(wrong, right, tests)
        assert found.given == (("clock", "a mock for `lists.time.time`"),)
        assert "clock.return_value = " in found.code
        assert found.expression.startswith("stamp([")

    @pytest.mark.full
    def test_a_condition_with_nothing_left_to_do_is_not_shown(self, shown: Shown) -> None:
        tests = (
            "import contextlib\nfrom lists import join\n\ndef test_join():\n    with contextlib.suppress(KeyError):\n"
            "        found = join(['tea', 'rum'])\n        if found:\n            assert found == 'tea and rum'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert "if " not in found.code

    def test_only_what_the_value_depends_on_is_shown(self, shown: Shown) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    one = 'tea'\n    assert join([one, one]).count(one) == 2\n"
            "    words = ['milk', 'bread']\n    text = sorted(words)\n    if one:\n        assert text\n"
            "    assert text == ['bread', 'milk']\n    words = ['eggs', 'pear']\n    words.append('plum')\n"
            "    text = join(words)\n    assert text == 'eggs, pear and plum'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        lines = found.code.splitlines()
        assert [line.partition("(")[0].partition(" = ")[0] for line in lines[1:]] == ["words", "words.append", "text"]
        assert found.expression == "text"

    def test_a_value_that_tells_something_is_shown_first(self, shown: Shown) -> None:
        tests = (
            'from lists import join\n\ndef also(words):\n    """Join them."""\n    return join(words)\n\n'
            "def test_join():\n    words = ['milk', 'bread']\n    assert also(words).islower() is True\n"
            "    assert also(words) == 'milk and bread'\n"
        )
        right = RIGHT.replace("words[-1]\n", "words[-1] + 'X'\n")
        [found] = shown(right, RIGHT, tests)
        assert found.expression.startswith("also(")
        assert "Join them" not in found.code

    @pytest.mark.full
    def test_what_was_done_to_another_value_before_is_not_shown(self, shown: Shown) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    import json\n    words = ['milk', 'bread']\n"
            "    words.reverse()\n    assert join(words) == 'bread and milk'\n    words = ['eggs', 'pear']\n"
            "    assert join(words) == 'eggs and pear'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert found.code.count("\n") <= 2
        assert "json" not in found.code

    @pytest.mark.full
    def test_two_examples_that_differ_in_data_are_one(self, shown: Shown) -> None:
        tests = (
            "from lists import join\n\ndef test_two():\n    import json\n"
            "    assert join(['milk', 'tea']) == 'milk and tea'\n"
            "def test_three():\n    assert join(['oil', 'jam', 'rice']) == 'oil, jam and rice'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert sorted(found.tests) == ["test_lists.py::test_three", "test_lists.py::test_two"]

    def test_a_call_of_the_base_with_other_data_is_no_hidden_case(self, shown: Shown) -> None:
        check = "    if key != 'secret' or one not in all:\n        raise ValueError\n"
        wrong = f"def admit(key, one, all):\n{check}    return one\n"
        right = wrong.replace("one not in all", "one != all")
        imports = "from lists import admit\nimport pytest\n\n"
        old = f"{imports}def test_whole():\n    one = all = 'urn:all'\n    assert CALL == one\n"
        raises = "    with pytest.raises(ValueError):\n        CALL\n"
        new = f"\ndef test_part():\n    one = 'urn:'\n    all = 'urn:expected'\n{raises}"
        old, new = (text.replace("CALL", "admit('secret', one, all)") for text in (old, new))
        (example,) = shown(wrong, right, f"{old}{new}", {"test_lists.py": old})
        assert (example.expression, example.expected) == ("admit('secret', one, all)", "raises ValueError")
        assert "'urn:'" not in example.code

    def test_a_row_of_short_values_is_another_case_with_one_of_them_replaced(self, shown: Shown) -> None:
        """Its values are names of the test, so that the call is the test's own, whatever they are."""
        check = "    if value.endswith('\"'):\n        raise ValueError(value)\n"
        wrong = f"def line(key, value, sign):\n{check}" + "    return f'{key}{sign}\"{value}\"'\n"
        right = wrong.replace("    return", "    value = value.replace('\"', '\\\\\"')\n    return")
        old = "from lists import line\n\ndef test_line():\n    assert line('a', 'b', '=') == 'a=\"b\"'\n"
        rows = """[('a', 'b', 'a="b"'), ('a', 'b"c', 'a="b\\\\"c"')]"""
        letters = "# e o u b c d f g k l m n p r s t v z\n"  # which leave one letter to draw
        new = (
            f"import pytest\n{old}\n{letters}@pytest.mark.parametrize(('key', 'value', 'wanted'), {rows})\n"
            "def test_quotes(key, value, wanted):\n    assert line(key, value, '=') == wanted\n"
        )
        [example] = shown(wrong, right, new, {"test_lists.py": old})
        assert example.expression == "line(key, value, '=')"
        assert 'b"c' not in example.code

    def test_a_hidden_row_is_no_other_case_with_another_year(self, shown: Shown) -> None:
        wrong = "def quarter(day):\n    return day.month // 3 + 1\n"
        right = wrong.replace("day.month", "(day.month - 1)")
        old = (
            "from datetime import date\nfrom lists import quarter\n\n"
            "def test_first():\n    assert quarter(date(2024, 4, 30)) == 3 - 1\n"
        )
        new = (
            f"import pytest\n{old}\n@pytest.mark.parametrize(('month', 'wanted'), [(3, 1), (12, 4)])\n"
            "def test_quarter(month, wanted):\n    assert quarter(date(2024, month, 30)) == wanted\n"
        )
        assert not shown(wrong, right, new, {"test_lists.py": old})

    def test_a_probe_that_python_cannot_read_is_known_by_its_line(self) -> None:
        dialect = dialect_of("tests/test_a.py")
        assert dialect is not None
        source = "def test_codegate_probe_3(self):\n    pass\n\ndef test_codegate_probe_4(self):\n    text = '\\*'\n"
        message = 'conftest.py:3: in load\nE     File "/workspace/tests/test_a.py", line 5\nE       text\n'
        assert dialect.rejected_probes("tests/test_a.py", source, message) == {"4"}
        assert not dialect.rejected_probes("tests/test_b.py", source, message)

    def test_an_error_that_the_other_literals_raise_themselves_is_not_shown(self, shown: Shown) -> None:
        wrong = (
            "def sizes(field, rows):\n    if field != 'size' and rows:\n        raise LookupError(field)\n"
            "    return [row[field] for row in rows]\n"
        )
        right = "def sizes(field, rows):\n    return [row[field] for row in rows if row]\n"
        tests = "from lists import sizes\n\ndef test_sizes():\n    assert sizes('size', [None, None]) == []\n"
        assert not shown(wrong, right, tests)

    def test_a_helper_of_the_base_is_followed_for_each_row_of_a_loop(self, shown: Shown) -> None:
        loop = "    def test_NAME(self):\n        for text in (ROWS,):\n            self.assert_same(text)\n"
        helper = "    def assert_same(self, text):\n        assert join([text, text]) == f'{text}, {text}'\n"
        first = loop.replace("NAME", "old").replace("ROWS", "'tea'")
        second = loop.replace("NAME", "new").replace("ROWS", "'milk and bread', 'eggs'")
        old, new = f"from lists import join\n\nclass TestJoin:\n{helper}\n{first}", f"\n{second}"
        wrong = "def join(words):\n    return ', '.join(word.partition(' ')[0] for word in words)\n"
        right = "def join(words):\n    return ', '.join(words)\n"
        [example] = shown(wrong, right, f"{old}{new}", {"test_lists.py": old})
        assert example.expression == "join([text, text])"

    def test_a_helper_of_the_base_is_named_and_not_repeated(self, shown: Shown) -> None:
        """It has names of its own, which nobody has to define, and a docstring, which is not shown."""
        lines = "".join(f"    parts += [text[{number}:] + ends]\n" for number in range(6))
        helper = (
            "from lists import join\n\nENDS = ''\n\n\ndef cut(text: str, ends: str = ENDS) -> list:\n"
            f'    """Give what join gets."""\n    parts = []\n{lines}    return [part for part in parts if part]\n'
        )
        test = "\n\ndef test_join():\n    assert join(cut('walnut'))[:3] == 'wal'\n"
        wrong, right = "def join(words):\n    return '!' + words[0]\n", "def join(words):\n    return words[0]\n"
        [found] = shown(wrong, right, helper + test, {"test_lists.py": helper})
        assert found.code == "from lists import join\n# ENDS, cut: see test_lists.py"
        assert found.expression.startswith("join(cut(")

    @pytest.mark.full
    def test_what_a_test_file_changes_is_shown(self, shown: Shown) -> None:
        old = "from lists import join\n\njoin.__defaults__ = ('or',)\n"
        tests = old + "\ndef test_join():\n    assert join(['milk', 'eggs']) == 'milk or eggs'\n"
        assert shown(WRONG, RIGHT, tests) == []  # a value that only the hidden file has
        [found] = shown(WRONG, RIGHT, tests, {"test_lists.py": old})
        assert found.code == "from lists import join\njoin.__defaults__ = ('or',)"

    def test_a_case_of_the_test_is_not_hidden_by_words_without_effect(self, shown: Shown) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    words = ['walnut', 'quince']\n"
            "    assert join(words, last='plum') is True\n"
        )
        right = "def join(words, last='and'):\n    return words == ['walnut', 'quince'] or [][1]\n"
        wrong = "def join(words, last='and'):\n    return [][1]\n"
        assert shown(wrong, right, tests) == []
        last = (
            "from lists import join\n\ndef test_join():\n    assert join(['milk', 'tea'])\n"
            "    assert join(['walnut', 'quince'])\n"
        )
        right = "def join(words, last='and'):\n    return last\n"
        wrong = "def join(words, last='and'):\n    return last + ' !' * (words[0][:-1] == 'walnu')\n"
        plum = tests.replace("'plum') is True", "'plum') == 'plum'")
        assert shown(wrong, right, plum) == []  # the word is in both values, not in what differs
        right = "def join(words, last='and'):\n    return bool(words)\n"
        wrong = right.replace("bool(words)", "words[0][:-1] != 'walnu'")
        assert shown(wrong, right, last) == []

    def test_another_error_for_other_data_is_an_example(self, shown: Shown) -> None:
        tests = (
            "import pytest\n\nfrom lists import join\n\ndef test_join():\n"
            "    with pytest.raises(IndexError):\n        join('walnut', 5)\n"
        )
        wrong = "def join(words, last):\n    raise ValueError\n"
        [found] = shown(wrong, wrong.replace("Value", "Index"), tests)
        assert "walnut" not in found.expression
        assert (found.observed, found.expected) == ("raises ValueError", "raises IndexError")

    def test_other_data_in_calls_without_effect_hides_no_case(self, shown: Shown) -> None:
        wrong = "def single(word):\n    return word.removesuffix('s')\n"
        right = wrong.replace("word.re", "word if word.endswith('ss') else word.re")
        tests = (
            "import lists\nfrom lists import single\n\ndef test_single():\n    assert lists.single('ducks') == 'duck'\n"
            "    assert single('class') == 'class'\n"
        )
        assert shown(wrong, right, tests) == []

    def test_a_word_that_the_code_knows_stays_where_another_is_another_case(self, shown: Shown) -> None:
        wrong = (
            "def render(text):\n    kind, body = text.split(':')\n"
            "    return f'<b>{body}</b>' if kind == 'note' else f'?{kind}!'\n"
        )
        right = wrong.replace("    return", "    if body[0] != ' ':\n        return text\n    return")
        tests = "from lists import render\n\ndef test_render():\n    assert render('note:walnut') == 'note:walnut'\n"
        [found] = shown(wrong, right, tests)
        assert found.expected.startswith("'note:")
        assert "walnut" not in found.expected

    def test_a_comparison_that_other_data_turned_false_is_no_example(self, shown: Shown) -> None:
        wrong = "def area(side):\n    return side[0] ** 2\n"
        right = "def area(side):\n    return side ** 2\n"
        tests = "from lists import area\n\ndef test_area():\n    assert area(5) == area(5) == 25\n"
        assert [each.expected for each in shown(wrong, right, tests) if each.expected == "False"] == []

    def test_an_example_knows_which_statement_raises_if_it_is_not_the_last(self, shown: Shown) -> None:
        wrong = "def split(text):\n    return text.divide()\n\ndef total(parts):\n    return len(parts)\n"
        right = wrong.replace("divide", "split")
        tests = (
            "from lists import split, total\n\ndef test_total():\n    parts = split('milk bread')\n"
            "    count = total(parts)\n    assert count + 1 == 3\n"
        )
        found = shown(wrong, right, tests)
        assert {each.raising.partition("(")[0] for each in found} == {"parts = split"}

    def test_tests_of_the_base_that_the_fix_breaks_are_found(self, unboxed: OpenSandbox) -> None:
        old = TESTS.replace('"milk, bread or eggs"', '"milk, breadeggs"').replace("ValueError", "IndexError")
        base = {"lists.py": WRONG, "test_lists.py": old}
        cut = cut_of(base, {"lists.py": RIGHT}, {"test_lists.py": TESTS})
        found = base_tests(cut, proved(cut, unboxed))
        assert set(map(function_of, found.overturned)) == {"test_lists.py::test_last", "test_lists.py::test_nothing"}
        assert found.failing == {
            "test_lists.py::test_join[words0-apple and pear]",
            "test_lists.py::test_join[words1-one and two]",
        }
        assert base_tests(parts(), proved(parts(), unboxed)) == BaseTests(frozenset(), frozenset())

    def test_tests_of_the_base_that_fail_until_the_fix_are_found(self, unboxed: OpenSandbox) -> None:
        cut = cut_of({"lists.py": WRONG, "test_lists.py": TESTS}, {"lists.py": RIGHT}, {"test_lists.py": f"{TESTS}\n"})
        validated = proved(cut, unboxed)
        assert base_tests(cut, validated) == BaseTests(frozenset(), frozenset(validated.outcomes.fail_to_pass))

    def test_no_test_is_run_to_find_those_that_a_fix_breaks_where_tests_were_only_added(
        self, unboxed: OpenSandbox
    ) -> None:
        old = "from lists import join\n\ndef test_one():\n    assert join(['tea']) == 'tea'\n"
        new = f"{old}\ndef test_two():\n    assert join(['tea', 'milk']) == 'tea and milk'\n"
        right = WRONG.replace("+ words", "+ (f' {last} ' if words[1:] else '') + words")
        cut = cut_of({"lists.py": WRONG, "test_lists.py": old}, {"lists.py": right}, {"test_lists.py": new})
        validated = proved(cut, unboxed)
        count = RunCount()
        with counted_runs(count):
            assert base_tests(cut, validated) == BaseTests(frozenset(), frozenset())
        assert count.runs == 0

    def test_each_rule_that_a_test_asks_for_is_shown(self, shown: Shown) -> None:
        wrong = "def plural(word):\n    return word + 's'\n"
        right = (
            "def plural(word):\n    if word.endswith('y'):\n        return word[:-1] + 'ies'\n"
            "    return word + ('es' if word.endswith(('s', 'sh')) else 's')\n"
        )
        rows = [("city", "cities"), ("bus", "buses"), ("dish", "dishes"), ("pony", "ponies")]
        checks = "".join(f"    assert plural('{one}') == '{many}'\n" for one, many in rows)
        hidden = {"test_lists.py": f"from lists import plural\n\ndef test_plural():\n{checks}"}
        found = shown(wrong, right, hidden)
        assert sorted(each.expected.strip("'")[-3:] for each in found) == ["ies", "ses"]

    @pytest.mark.full
    def test_another_order_of_the_same_values_is_no_difference(self, shown: Shown) -> None:
        wrong, right = (f"def sizes(a, b):\n    return {{{text}}}\n" for text in ("'a': a, 'b': b", "'b': b, 'a': a"))
        tests = (
            "from lists import sizes\n\ndef test_sizes():\n    found = sizes(7, 8)\n    assert found\n"
            "    assert list(found) == ['b', 'a']\n"
        )
        [found] = shown(wrong, right, tests)
        assert found.expression.startswith("list(")

    @pytest.mark.full
    def test_many_long_values_are_all_brought_back(self, shown: Shown) -> None:
        words = ["milk", "bread", "butter", "eggs", "plum", "pear", "tea", "rum"]
        tests = "from lists import join\n\ndef test_join():\n" + "".join(
            f"    words = {words[:number] * 4}\n"
            f"    assert join(words) == ', '.join(words[:-1]) + ' and {words[number - 1]}'\n"
            for number in (5, 6, 7, 8)
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert " and " in found.expected

    def test_what_makes_no_difference_is_not_shown(self, shown: Shown) -> None:
        tests = (
            "import io\nfrom lists import join\n\ndef test_join():\n    stream = io.StringIO('milk')\n"
            "    stream.seek(0)\n    words = [*stream.read().split(), str(b'bread', encoding='ascii')]\n"
            "    words.sort()\n    words.append('plum')\n    assert join(words) == 'bread, milk and plum'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert found.code.startswith("import io\nfrom lists import join\n")
        assert "encoding='ascii'" in found.code
        assert "seek" not in found.code

    @pytest.mark.full
    def test_what_another_example_prepared_is_shown_with_it(self, shown: Shown) -> None:
        wrong = (
            "KNOWN = {}\n\ndef register(name, make):\n    KNOWN[name] = make\n    return make\n\n"
            "def render(text, name):\n    return KNOWN[name](text) if name in KNOWN else text\n\n"
            "def first(made, text):\n    return made(text)\n"
        )
        right = wrong.replace("KNOWN[name](text) if", "'<' + KNOWN[name](text) + '>' if")
        right = right.replace("return made(text)", "return '<' + made(text) + '>'")
        old = "from lists import register, render, first\n\ndef test_render():\n    register('upper', str.upper)\n"
        tests = (
            f"{old}    assert render('milk and tea', 'upper') == '<MILK AND TEA>'\n\n"
            "def test_first():\n    found = first(register('upper', str.upper), 'bread')\n"
            "    assert found == '<BREAD>'\n"
        )
        found = [f"{each.code}\n{each.expression}" for each in shown(wrong, right, tests, {"test_lists.py": old})]
        assert found
        assert all("register(" in text for text in found if "render(" in text)

    def test_of_many_statements_the_last_few_that_matter_are_shown(self, shown: Shown) -> None:
        wrong = "class Basket(list):\n    def last(self):\n        return self[-1]\n"
        right = f"{wrong[:-1]} + ' twice' * (self[-1:] == self[-2:-1])\n"
        puts = "".join(f"    basket.append('{word}')\n" for word in ("tea", "rum", "ale", "figs", "milk", "milk"))
        test = f"def test_last():\n    basket = Basket()\n{puts}    assert basket.last() == 'milk twice'\n"
        tests = f"from lists import Basket\n\n{test}"
        [found] = shown(wrong, right, tests)
        assert found.code.count("append(") == 2

    def test_what_hangs_without_a_part_is_shown_with_it(self, shown: Shown) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    words = ['milk']\n    while len(words) < 2:\n"
            "        words.append('bread')\n    assert join(words) == 'milk and bread'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert "words.append" in found.code

    def test_a_table_of_the_module_is_varied_and_hidden(self, shown: Shown) -> None:
        tests = (
            "from lists import join\n\nCASES = [(['apple', 'peach'], 'apple and peach')]\n\ndef test_join():\n"
            "    for words, text in CASES:\n        assert join(words) == text\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert "join(" in found.expression
        assert "peach" not in f"{found.code}{found.observed}{found.expected}"

    def test_an_import_of_everything_may_have_any_name(self, shown: Shown) -> None:
        test = "def test_join():\n    assert join(['milk', 'bread']) == 'milk and bread'\n"
        [found] = shown(WRONG, RIGHT, f"from os.path import *\nfrom lists import *\n\n{test}")
        assert found.code == "from os.path import *\nfrom lists import *"

    def test_a_value_of_the_module_is_written_out_with_other_words(self, shown: Shown) -> None:
        wrong = 'def asks(output):\n    return "Use \'walk" in output\n'
        output = "output = (\n    'Error: no plum here.\\n'\n    'Use `walk plum`.'\n)\n\n"
        tests = f"from lists import asks\n\n{output}def test_asks():\n    assert asks(output)\n"
        right = wrong.replace("'walk", "`walk")
        [found] = shown(wrong, right, tests)
        assert "Use `walk " in found.code
        assert "plum" not in found.code
        fixture = "import pytest\n\n@pytest.fixture\ndef output():\n    return 'Use `walk plum`.'\n\n"
        given = f"from lists import asks\n\n{fixture}def test_asks(output):\n    assert asks(output)\n"
        [found] = shown(wrong, right, given)
        assert (found.given, found.code.count("output = 'Use `walk ")) == ((), 1)
        # A helper reads that of its module, and not one of the example.
        helper = "def answer():\n    return asks(output)\n\n"
        tests = tests.replace("def test", f"{helper}def test").replace("assert asks(output)", "assert answer()")
        assert shown(wrong, right, tests) == []

    def test_what_a_class_prepares_is_written_out_and_an_awaited_call_shown(self, shown: Shown) -> None:
        wrong = (
            "class App:\n    def __init__(self, name):\n        self.name = name\n"
            "    async def get(self, path):\n        return {'status': 500, 'text': path}\n"
        )
        right = wrong.replace("500", "200 if path.startswith('/') else 404").replace(": path", ": self.name + path")
        tests = (
            "import unittest\nfrom lists import App\n\nclass TestApp(unittest.IsolatedAsyncioTestCase):\n"
            "    unused = 3\n    def setUp(self):\n        super().setUp()\n        self.app = App('walnut')\n"
            "    async def test_get(self):\n        response = await self.app.get('/plum')\n"
            "        self.assertEqual(response['text'], 'walnut/plum')\n"
        )
        [found] = shown(wrong, right, tests)
        assert re.fullmatch(
            r"from lists import App\napp = App\('\w+'\)\nresponse = await app\.get\('/\w+'\)", found.code
        )
        assert (found.expression, found.given) == ("response['text']", ())

    def test_what_asserts_in_another_file_is_written_out(self, shown: Shown) -> None:
        case = (
            "import unittest\n\nimport lists\nfrom lists import split\n\nclass ListCase(unittest.TestCase):\n"
            "    last = 'and'\n\n    def check(self, text, **options):\n        for name, value in options.items():\n"
            "            assert name != value\n        found = lists.join(split(text), last=self.last)\n"
            "        self.assertEqual(found, options['wanted'])\n"
        )
        wrong, right = (f"def split(text):\n    return text.split()\n\n{text}" for text in (WRONG, RIGHT))
        tests = (
            "from case import ListCase\n\nclass TestJoin(ListCase):\n    def test_join(self):\n"
            "        self.check('walnut '\n                   'quince', wanted='walnut and quince')\n"
        )
        [found] = shown(wrong, right, tests, {"case.py": case})
        assert found.code.startswith("import lists\nfrom lists import split\ntext = (")
        assert found.code.endswith("found = lists.join(split(text), last=self.last)")
        assert (found.expression, found.given) == ("found", (("self", "a test case of `TestJoin(ListCase)`"),))
        assert " and " in found.expected

    def test_what_a_helper_asserts_before_it_returns_is_shown(self, shown: Shown) -> None:
        wrong = "def get(path):\n    return (200 if path == '/old' else 404), path.upper()\n"
        right = wrong.replace("== '/old'", "!= '/gone'")
        tests = (
            "from lists import get\n\ndef loaded(response):\n    assert response[0] == 200\n    return response[1]\n\n"
            "def test_get():\n    response = get('/walnut')\n    text = loaded(response)\n"
            "    assert text == '/WALNUT'\n"
        )
        found = {(each.expression, each.observed, each.expected) for each in shown(wrong, right, tests)}
        assert ("response[0]", "404", "200") in found

    def test_a_test_case_that_only_surrounds_the_code_has_no_name(self, shown: Shown) -> None:
        case = "import unittest\n\nclass ListCase(unittest.TestCase):\n    pass\n"
        tests = (
            "from case import ListCase\nfrom lists import join\n\nclass TestJoin(ListCase):\n"
            "    def test_join(self):\n        self.assertEqual(join(['walnut', 'quince']), 'walnut and quince')\n"
        )
        [found] = shown(WRONG, RIGHT, tests, {"case.py": case})
        assert found.given == (("", "a test case of `ListCase`"),)

    def test_what_asserts_in_another_file_has_what_its_annotations_name(self, shown: Shown) -> None:
        case = "import typing\n\ndef check(found: typing.Any, wanted: str) -> None:\n    assert found == wanted\n"
        tests = (
            '"""Joined words."""\nfrom case import check\nfrom lists import join\n\n'
            "def test_join():\n    check(join(['walnut', 'quince']), 'walnut and quince')\n"
        )
        [found] = shown(WRONG, RIGHT, tests, {"case.py": case})
        assert found.code.startswith("from lists import join\nfound = join(")

    @pytest.mark.full
    def test_what_a_base_class_gives_stands_as_it_is(self, shown: Shown) -> None:
        wrong = "OK = 200\n\ndef get(path):\n    return 500\n"
        case = (
            "import unittest\nimport lists\n\nclass ClientCase(unittest.TestCase):\n    def setUp(self):\n"
            "        self.client = lists\n"
        )
        tests = (
            "from case import ClientCase\n\nclass TestPing(ClientCase):\n    def check(self, path, status):\n"
            "        self.assertEqual(self.client.get(path), status)\n    def test_ping(self):\n"
            "        self.check('/plum', 200)\n"
        )
        old = {"case.py": case}
        [found] = shown(wrong, wrong.replace("500", "OK"), tests, old)
        assert found.expression == "self.client.get(path)"
        assert found.given == (("self", "a test case of `TestPing(ClientCase)`"),)
        assert (found.observed, found.expected) == ("500", "200")

    def test_an_expression_of_several_lines_is_indented_as_in_the_test(self) -> None:
        source = "def test_it():\n    assert 'plum' == join(\n        ['plum'],\n    )\n"
        [line] = DIALECTS[".py"].lines(source, ["test_it"], "")
        assert line.steps[0].checked == ("join(\n    ['plum'],\n)",)

    @pytest.mark.full
    def test_what_runs_in_a_block_is_shown_in_it(self, shown: Shown) -> None:
        tests = (
            "import io\nfrom lists import join\n\ndef test_join():\n    with io.StringIO('milk bread') as stream:\n"
            "        words = stream.read().split()\n        assert join(words) == 'milk and bread'\n"
        )
        [found] = shown(WRONG, RIGHT, tests)
        assert found.code.splitlines()[-1].startswith("    words = stream.read()")
        assert found.expression == "    join(words)"

    def test_pytest_reads_no_source_for_the_failure_of_a_probe(self, unboxed: OpenSandbox) -> None:
        """It would parse the whole file for each, which took most of the time of a run."""
        source = "def test_it():\n    assert int('3') == 4\n"
        [line] = DIALECTS[".py"].lines(source, ["test_it"], "")
        files = DIALECTS[".py"].files("test_it.py", source, {"0": line})
        tree = Tree({path: TreeFile(text.encode()) for path, text in files.items()})
        report = run_tests(partial(unboxed, LIMITS), tree, TestSelection(("test_it.py",)))
        assert MARK in report.output
        assert "_codegate.end()" not in report.output

    @pytest.mark.requirement("M11")
    def test_what_is_another_value_in_one_process_of_ten_is_no_example(
        self, shown: Shown, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(steady, "_TIMES", TIMES)
        source = (
            "import os\n\nMAIN = os.getpid()\n\ndef name(word):\n    with open('used', 'a') as used:\n"
            "        used.write('1' * (os.getpid() != MAIN))\n"
            "        return 'odd' if used.tell() == 4 else word\n"
        )
        tests = "from lists import name\n\ndef test_name():\n    assert name('pears') == 'pearss'\n"
        found = []
        for wrong in (source, source.replace("== 4", "< 0")):
            found.append(shown(wrong, wrong.replace("else word", "else word + 's'"), tests, steady=True))
        assert [len(each) for each in found] == [0, 1]

    def test_what_differs_from_run_to_run_is_no_example(self, shown: Shown) -> None:
        tests = (
            "import os\n\nfrom lists import join\n\ndef test_join():\n    words = [os.urandom(8).hex(), 'pear']\n"
            "    assert ' and ' in join(words)\n"
        )
        assert shown(WRONG, RIGHT, tests) == []


def found_of(test: str, rank: tuple[int, ...], shape: str, example: Example) -> FoundExample:
    return FoundExample(
        test, rank, shape, example, (example.expected,), (example.observed,), Line(test, ()), (("", ""), ("", ""))
    )


class TestExample:
    def test_what_the_clock_decides_is_not_shown(self) -> None:
        example = Example("import datetime as dt\nday = dt.datetime.now()", "weekday(day)", "1", "2")
        assert not example.may_be_shown([])
        assert replace(example, code="day = 3").may_be_shown([])

    def test_a_private_field_of_go_is_not_shown(self) -> None:
        example = Example('codes := reflect.ValueOf(code).Elem().FieldByName("codes")', "codes.Len()", "1", "2")
        assert not example.may_be_shown([])
        assert replace(example, code=example.code.replace("codes", "Codes")).may_be_shown([])

    @pytest.mark.parametrize(
        "expression", ["len(f(1))", "page(1).text.count('a')", "page.rows.length", "page.rows().size()"]
    )
    def test_a_number_of_things_is_a_poor_example(self, expression: str) -> None:
        assert Example("page = 1", expression, "1", "2").poor
        assert not Example("page = 1", expression, "raises OverflowError: too large", "2").poor

    def test_what_only_stands_behind_an_error_shows_no_other_rule(self) -> None:
        def seen(number: int, long: int) -> FoundExample:
            example = Example("", f"{'fgh'[number]}()", "raises KeyError: 'a'", f"{number}x")
            found = found_of("t.py::a", (long, number), "", example)
            return replace(found, own=(("v", str(number)), ("v", "")))

        behind = [seen(number, min(number, 1)) for number in range(3)]
        assert len(add_other_rules(behind, choose_examples(behind))) == 1
        needed = [seen(number, 0) for number in range(3)]
        assert len(add_other_rules(needed, choose_examples(needed))) == 3

    def test_the_echo_of_a_new_parameter_is_no_example(self) -> None:
        missed = "raises TypeError: Parser.__init__() got an unexpected keyword argument 'depth'"
        example = Example("parser = Parser(depth=8)", "parser.depth", missed, "8")
        assert example.echoes({"Parser", "depth"})
        assert not replace(example, expected="'<b>'").echoes({"depth"}), "what the new parameter does is an example"
        assert not replace(example, observed="raises ValueError: depth").echoes({"depth"})

    def test_a_text_that_the_tests_forbid_may_be_what_happens_today(self) -> None:
        assert Example("page = 1", "f(page)", "'a walnut'", "'a'").may_be_shown(["walnut"])
        assert not Example("page = 1", "f(page)", "'a'", "'a walnut'").may_be_shown(["walnut"])
        assert not Example("page = 1", "f(page)", '""', r'"<a b=\"c\">"').may_be_shown(['<a b="c">'])

    def test_values_that_differ_where_no_reader_sees_it_are_not_shown(self) -> None:
        assert not Example("", "f(1)", f"'{'a' * 400}b'", f"'{'a' * 400}c'").may_be_shown([])

    def test_a_value_that_says_nothing_is_shown_only_where_there_is_no_other(self) -> None:
        telling, poor = Example("", "f(1)", "1", "2"), Example("", "'a' in f(1)", "raises TypeError: x", "False")
        found = [
            found_of("a", poor.rank(1, ("", ""), {}), "a", poor),
            found_of("b", telling.rank(1, ("", ""), {}), "b", telling),
        ]
        assert choose_examples(found) == [replace(telling, tests=("b",))]
        assert choose_examples(found[:1]) == [replace(poor, tests=("a",))]

    def test_one_that_shows_that_no_error_is_left_is_followed_by_a_value(self) -> None:
        silent, value = Example("", "check(1)", "wrong", "<nil>"), Example("check(1)", "box", "1", "2")
        found = [found_of("a", (0,), "a", silent), found_of("a", (1,), "b", value), found_of("a", (2,), "c", value)]
        assert choose_examples(found) == [replace(silent, tests=("a",)), replace(value, tests=("a",))]
        assert choose_examples(found[:1]) == [replace(silent, tests=("a",))]

    def test_of_a_test_that_asks_for_an_error_too_both_are_shown(self) -> None:
        value = Example("", "f(1)", "2", "3")
        error = Example("", "f(0)", "raises ZeroDivisionError: no", "raises ValueError: no")
        found = [found_of("t.py::test_a", (number,), "f", each) for number, each in enumerate((value, value, error))]
        assert [each.expected for each in choose_examples(found)] == ["3", "raises ValueError: no"]

    def test_a_value_that_says_something_comes_first(self) -> None:
        told = Example("", "f(1)", "'a'", "'b'")
        assert told.rank(1, ("", ""), {}) < replace(told, expected="None").rank(1, ("", ""), {})
        assert told.rank(1, ("", ""), {}) < replace(told, expression="type(x)").rank(1, ("", ""), {})


def test_a_clear_example_differs_where_the_test_differs() -> None:
    own = ("a < b </br>", "a &lt; b")
    whole, part = Example("", "f(1)", "c < d </br>", "c &lt; d"), Example("", "f(1)", "cd </br>", "cd")
    assert whole.rank(1, own, {}) < part.rank(2, own, {})


class TestLiterals:
    def test_grammar_alone_is_nothing_hidden(self) -> None:
        assert hidden_texts(["one big apple\\n  end;\\n", "end;"], "") == {"one big apple", "end;"}
        assert hidden_texts(["one big apple\n  end;\n"], "") == {"one big apple"}

    @pytest.mark.parametrize(
        "call",
        [
            "assertRaises(ValueError, chunk, 'plum', -1)",
            "assertRaisesRegex(ValueError, 'at least', chunk, 'plum', -1)",
            "assertRaisesRegex(ValueError, 'at least', lambda: chunk('plum', -1))",
        ],
    )
    def test_what_a_call_asks_to_raise_is_what_is_called(self, call: str) -> None:
        source = f"class TestIt(TestCase):\n    def test_it(self):\n        self.{call}\n"
        [line] = DIALECTS[".py"].lines(source, ["TestIt::test_it"], "")
        [step] = line.steps
        assert (step.checked, step.raises) == (("chunk('plum', -1)",), True)

    @pytest.mark.parametrize(
        ("code", "read"),
        [
            ("def f(a: T = d, *args, **kw):\n    b = a + c\n    return [x for x in y if x + b]", {"T", "d", "c", "y"}),
            ("def f():\n    import os\n    with g(p) as h:\n        return os, h", {"g", "p"}),
            ("def f():\n    known.limit = 1\n    rows[0] = 2", {"known", "rows"}),
            ("def f():\n    def inner(n):\n        m = n\n        return m + one\n    return inner", {"one"}),
            ("class A(B):\n    k = k\n    def m(self):\n        return self.k + far", {"B", "k", "far"}),
            ("def f(a, rate=rate, *, user: user = lib.none):\n    return rate", {"rate", "user", "lib"}),
            ("def f():\n    nonlocal calls\n    calls += 1", {"calls"}),
            ("lambda q: q + z", {"z"}),
        ],
    )
    def test_names_of_a_function_come_from_nowhere_else(self, code: str, read: set[str]) -> None:
        assert DIALECTS[".py"].used(code) == read

    def test_names_of_parameters_and_docstrings_are_no_literals(self) -> None:
        source = (
            '@pytest.mark.parametrize("words, text", [("plum", 3)])\ndef test_it(words, text):\n'
            '    """Say it."""\n    assert f(words, "a plum", b"tea", f"{text} more") == 2.5\n'
        )
        assert literals_of(DIALECTS[".py"], source) == {"plum", "3", "a plum", "tea", " more", "2.5"}

    def test_words_keep_length_and_case_and_the_same_becomes_the_same(self) -> None:
        pieces = LiteralReplacer(Random(1), lambda word: word.lower() == "apple", numbers=True)
        other, loud, number = pieces.text("Apple pie"), pieces.text("APPLE"), pieces.number("12")
        assert other.endswith(" pie")
        assert other[:5].istitle()
        assert other[:5] != "Apple"
        assert loud == other[:5].upper()
        assert (number, pieces.number("0"), pieces.number("2.5")) == ("13", "0", "3.5")

    def test_different_numbers_stay_different(self) -> None:
        pieces = LiteralReplacer(Random(1), lambda _: False, numbers=True, avoid=frozenset("345678"))
        assert len({*re.findall(r"\d+", pieces.text("k3 k4 k5 k6"))}) == 4

    def test_a_phrase_of_which_no_word_is_replaced_gets_another_first_one(self) -> None:
        """Words that the code knows stay, and a text of these alone would be one that only the hidden tests have."""
        text = 'toml:"plum" comment:"Host to connect."\nHost to connect.\nplum\nport of a pear'
        tag, comment, alone, other = (
            LiteralReplacer(Random(1), lambda word: word == "pear", numbers=True, phrases=True).text(text).splitlines()
        )
        first = comment.partition(" ")[0]
        assert (tag, comment) == (f'toml:"plum" comment:"{first} to connect."', f"{first} to connect.")
        assert first != "Host"
        assert alone == "plum"
        assert other.startswith("port of a ")

    def test_words_that_a_language_knows_stay(self) -> None:
        text = "<style>GET</style> <!ENTITY #text $ref #/apple %s &amp; \\d <em class=pear>utf-8 string"
        shown = LiteralReplacer(Random(1), is_replaceable, numbers=False).text(text)
        kept = [word for word in text.split() if "apple" not in word and "pear" not in word]
        assert [word for word in shown.split() if word in text.split()] == kept
        assert "apple" not in shown

    def test_codes_of_a_terminal_stay(self) -> None:
        shown = LiteralReplacer(Random(1), lambda _: True, numbers=True).text("\x1b[1mapple: \x1b[38;5;140mpear\x1b[0m")
        assert re.findall(r"\x1b\[[\d;]*m", shown) == ["\x1b[1m", "\x1b[38;5;140m", "\x1b[0m"]
        written = LiteralReplacer(Random(1), lambda _: True, numbers=True).text(r"\033[31mapple\x1b[0mpear")
        assert re.findall(r"\\(?:033|x1b)\[\d+m(?=[a-z])", written) == [r"\033[31m", r"\x1b[0m"]
        assert "apple" not in written
        assert "apple" not in shown
        assert "pear" not in shown

    def test_numbers_of_characters_stay(self) -> None:
        text = r"http://apple/%2C%3a%20 \x1b[0m \u00e9 &#39;&#x2F; 0x1F"
        shown = LiteralReplacer(Random(1), lambda _: True, numbers=True).text(text)
        assert "apple" not in shown
        assert [
            piece for piece in (r"%2C%3a%20", r"\x1b", r"\u00e9", "&#39;&#x2F;", "0x1F") if piece not in shown
        ] == []

    def test_hidden_is_what_the_base_does_not_have(self) -> None:
        found = hidden_texts(["public text", "hidden text", "ab", "123", "12"], "a public text")
        assert found == {"hidden text", "123"}

    @pytest.mark.parametrize(
        ("text", "found"), [("a hidden text.", "hidden text"), ("hidden texts", ""), ("1234", ""), ("of 123", "123")]
    )
    def test_a_hidden_literal_is_found_as_a_whole(self, text: str, found: str) -> None:
        assert hidden_literal_in(text, {"hidden text", "123"}) == found
