"""Probes: test functions with other literals, run by the real runner before the fix and after it."""

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from codegate.grading import RunCount, Sandboxes, counted_runs
from codegate.mining.cut import Cut
from codegate.mining.probes.example import Example, Found, chosen, overturned_tests, public_text
from codegate.mining.probes.finding import find_examples
from codegate.mining.probes.fixtures import fixture_modules, made_by_fixtures, with_bases
from codegate.mining.probes.literals import Replacer, asserted_literals, hidden_literals, is_free, shows
from codegate.mining.probes.methods import classes_of, standalone
from codegate.mining.probes.python_probe import HELPERS, probe_module
from codegate.mining.probes.records import MARK, records
from codegate.mining.probes.reduction import shortest
from codegate.mining.probes.tables import failing_rows, with_constants
from codegate.mining.probes.variants import variants
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.sandbox import Sandbox
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import ProblemLimits
from tests.kit.environment import PLAIN, sandboxes_of
from tests.mining.statement_world import cut_of, files, validate_cut

WRONG = "def join(words, last='and'):\n    return ', '.join(words[:-1]) + words[-1]\n"
RIGHT = (
    "def join(words, last='and'):\n    if not words:\n        raise ValueError('no words')\n"
    "    return ', '.join(words[:-1]) + f' {last} ' + words[-1]\n"
)
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


def parts(tests: str = TESTS) -> Cut:
    return cut_of({"lists.py": WRONG}, {"lists.py": RIGHT}, {"test_lists.py": tests})


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    found = sandboxes_of(bwrap_backend, PLAIN)
    yield found
    found.close()


def examples(cut: Cut, sandboxes: Sandboxes) -> list[Example]:
    validated, opened = proved(cut, sandboxes)
    return chosen(find_examples(cut, validated, opened, public_text(cut), "seed"))


def proved(cut: Cut, sandboxes: Sandboxes) -> tuple[Validated, OpenSandbox]:
    manifest = PLAIN.manifest

    def opened(limits: ProblemLimits) -> AbstractContextManager[Sandbox]:
        return sandboxes.open(manifest, limits)

    validated = validate_cut(cut, opened)
    assert isinstance(validated, Validated)
    return validated, opened


@pytest.mark.bwrap
class TestExamples:
    def test_each_failing_test_gives_an_example_without_its_values(self, sandboxes: Sandboxes) -> None:
        found = examples(parts(), sandboxes)
        assert sorted(each.expression.partition("(")[0] for each in found) == ["found", "join"]
        for each in found:
            shown = f"{each.code}{each.observed}{each.expected}"
            assert not any(word in shown for word in ("apple", "pear", "one", "milk", "bread", "eggs"))
            assert " and " not in each.observed
            assert each.code.startswith("from lists import join")
        assert any(" and " in each.expected for each in found)

    def test_a_module_beside_the_test_is_named_as_from_the_root(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from .near import joined\n\ndef test_join():\n    assert joined(['milk', 'bread']) == 'milk and bread'\n"
        )
        near = {"unit/__init__.py": "", "unit/near.py": "from lists import join as joined\n"}
        cut = cut_of({"lists.py": WRONG, **near}, {"lists.py": RIGHT, **near}, {"unit/test_lists.py": tests})
        [found] = examples(cut, sandboxes)
        assert found.code == "from unit.near import joined"

    def test_a_fixture_that_only_the_hidden_tests_have_is_not_shown(self, sandboxes: Sandboxes) -> None:
        fixture = "import pytest\n\n@pytest.fixture\ndef last(request):\n    yield 'or'\n    print('done')\n"
        tests = (
            "from lists import join\n\ndef test_join(last):\n    assert join(['tea', 'rum'], last) == 'tea or rum'\n"
        )
        hidden = {"test_lists.py": tests, "conftest.py": fixture}
        assert examples(cut_of({"lists.py": WRONG}, {"lists.py": RIGHT}, hidden), sandboxes) == []
        old = {"conftest.py": fixture}
        [found] = examples(cut_of({"lists.py": WRONG, **old}, {"lists.py": RIGHT, **old}, hidden), sandboxes)
        assert found.fixtures == ("last",)

    def test_a_condition_with_nothing_left_to_do_is_not_shown(self, sandboxes: Sandboxes) -> None:
        tests = (
            "import contextlib\nfrom lists import join\n\ndef test_join():\n    with contextlib.suppress(KeyError):\n"
            "        found = join(['tea', 'rum'])\n        if found:\n            assert found == 'tea and rum'\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert "if " not in found.code

    def test_only_what_the_value_depends_on_is_shown(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    one = 'tea'\n    assert join([one, one]).count(one) == 2\n"
            "    words = ['milk', 'bread']\n    text = sorted(words)\n    if one:\n        assert text\n"
            "    assert text == ['bread', 'milk']\n    words = ['eggs', 'pear']\n    words.append('plum')\n"
            "    text = join(words)\n    assert text == 'eggs, pear and plum'\n"
        )
        [found] = examples(parts(tests), sandboxes)
        lines = found.code.splitlines()
        assert [line.partition("(")[0].partition(" = ")[0] for line in lines[1:]] == ["words", "words.append"]
        assert found.expression == "join(words)"

    def test_a_value_that_tells_something_is_shown_first(self, sandboxes: Sandboxes) -> None:
        tests = (
            'from lists import join\n\ndef also(words):\n    """Join them."""\n    return join(words)\n\n'
            "def test_join():\n    words = ['milk', 'bread']\n    assert also(words).islower() is True\n"
            "    assert also(words) == 'milk and bread'\n"
        )
        right = RIGHT.replace("words[-1]\n", "words[-1] + 'X'\n")
        cut = cut_of({"lists.py": right}, {"lists.py": RIGHT}, {"test_lists.py": tests})
        [found] = examples(cut, sandboxes)
        assert found.expression.startswith("also([")
        assert "Join them" not in found.code

    def test_what_was_done_to_another_value_before_is_not_shown(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    import json\n    words = ['milk', 'bread']\n"
            "    words.reverse()\n    assert join(words) == 'bread and milk'\n    words = ['eggs', 'pear']\n"
            "    assert join(words) == 'eggs and pear'\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert found.code.count("\n") <= 2
        assert "json" not in found.code

    def test_two_examples_that_differ_in_data_are_one(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_two():\n    import json\n"
            "    assert join(['milk', 'tea']) == 'milk and tea'\n"
            "def test_three():\n    assert join(['oil', 'jam', 'rice']) == 'oil, jam and rice'\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert sorted(found.tests) == ["test_lists.py::test_three", "test_lists.py::test_two"]

    def test_code_that_gives_another_value_by_itself_is_no_example(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\njoin.__defaults__ = ('or',)\n\ndef test_join():\n"
            "    assert join(['milk', 'eggs']) == 'milk or eggs'\n"
        )
        assert examples(parts(tests), sandboxes) == []

    def test_a_case_of_the_test_is_not_hidden_by_words_without_effect(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    words = ['walnut', 'quince']\n"
            "    assert join(words, last='plum') is True\n"
        )
        right = "def join(words, last='and'):\n    return words == ['walnut', 'quince'] or [][1]\n"
        wrong = "def join(words, last='and'):\n    return [][1]\n"
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests})
        assert examples(cut, sandboxes) == []
        last = (
            "from lists import join\n\ndef test_join():\n    assert join(['milk', 'tea'])\n"
            "    assert join(['walnut', 'quince'])\n"
        )
        right = "def join(words, last='and'):\n    return last\n"
        wrong = "def join(words, last='and'):\n    return last + ' !' * (words[0][1:] == 'alnut')\n"
        plum = tests.replace("'plum') is True", "'plum') == 'plum'")
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": plum})
        assert examples(cut, sandboxes) == []  # the word is in both values, not in what differs
        right = "def join(words, last='and'):\n    return bool(words)\n"
        wrong = right.replace("bool(words)", "words[0][1:] != 'alnut'")
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": last})
        assert examples(cut, sandboxes) == []

    def test_another_error_for_other_data_is_an_example(self, sandboxes: Sandboxes) -> None:
        tests = (
            "import pytest\n\nfrom lists import join\n\ndef test_join():\n"
            "    with pytest.raises(IndexError):\n        join('walnut', 5)\n"
        )
        wrong = "def join(words, last):\n    raise ValueError\n"
        cut = cut_of({"lists.py": wrong}, {"lists.py": wrong.replace("Value", "Index")}, {"test_lists.py": tests})
        [found] = examples(cut, sandboxes)
        assert "walnut" not in found.expression
        assert (found.observed, found.expected) == ("raises ValueError", "raises IndexError")

    def test_other_data_in_calls_without_effect_hides_no_case(self, sandboxes: Sandboxes) -> None:
        wrong = "def single(word):\n    return word.removesuffix('s')\n"
        right = wrong.replace("word.re", "word if word.endswith('ss') else word.re")
        tests = (
            "import lists\nfrom lists import single\n\ndef test_single():\n    assert lists.single('ducks') == 'duck'\n"
            "    assert single('class') == 'class'\n"
        )
        assert examples(cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests}), sandboxes) == []

    def test_a_word_that_the_code_knows_stays_where_another_is_another_case(self, sandboxes: Sandboxes) -> None:
        wrong = (
            "def render(text):\n    kind, body = text.split(':')\n"
            "    return f'<b>{body}</b>' if kind == 'note' else f'?{kind}!'\n"
        )
        right = wrong.replace("    return", "    if body[0] != ' ':\n        return text\n    return")
        tests = "from lists import render\n\ndef test_render():\n    assert render('note:walnut') == 'note:walnut'\n"
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests})
        [found] = examples(cut, sandboxes)
        assert found.expected.startswith("'note:")
        assert "walnut" not in found.expected

    def test_a_comparison_that_other_data_turned_false_is_no_example(self, sandboxes: Sandboxes) -> None:
        wrong = "def area(side):\n    return side[0] ** 2\n"
        right = "def area(side):\n    return side ** 2\n"
        tests = "from lists import area\n\ndef test_area():\n    assert area(5) == area(5) == 25\n"
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests})
        assert [each.expected for each in examples(cut, sandboxes) if each.expected == "False"] == []

    def test_tests_of_the_base_that_the_fix_breaks_are_found(self, sandboxes: Sandboxes) -> None:
        old = TESTS.replace('"milk, bread or eggs"', '"milk, breadeggs"').replace("ValueError", "IndexError")
        base = {"lists.py": WRONG, "test_lists.py": old}
        cut = cut_of(base, {"lists.py": RIGHT}, {"test_lists.py": TESTS})
        assert overturned_tests(cut, *proved(cut, sandboxes)) == {
            "test_lists.py::test_last",
            "test_lists.py::test_nothing",
        }
        assert overturned_tests(parts(), *proved(parts(), sandboxes)) == set()

    def test_no_test_is_run_to_find_those_that_a_fix_breaks_where_tests_were_only_added(
        self, sandboxes: Sandboxes
    ) -> None:
        old = "from lists import join\n\ndef test_one():\n    assert join(['tea']) == 'tea'\n"
        new = f"{old}\ndef test_two():\n    assert join(['tea', 'milk']) == 'tea and milk'\n"
        right = WRONG.replace("+ words", "+ (f' {last} ' if words[1:] else '') + words")
        cut = cut_of({"lists.py": WRONG, "test_lists.py": old}, {"lists.py": right}, {"test_lists.py": new})
        validated, opened = proved(cut, sandboxes)
        count = RunCount()
        with counted_runs(count):
            assert overturned_tests(cut, validated, opened) == set()
        assert count.runs == 0

    def test_another_order_of_the_same_values_is_no_difference(self, sandboxes: Sandboxes) -> None:
        wrong, right = (f"def sizes(a, b):\n    return {{{text}}}\n" for text in ("'a': a, 'b': b", "'b': b, 'a': a"))
        tests = (
            "from lists import sizes\n\ndef test_sizes():\n    found = sizes(7, 8)\n    assert found\n"
            "    assert list(found) == ['b', 'a']\n"
        )
        cut = cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests})
        [found] = examples(cut, sandboxes)
        assert found.expression.startswith("list(sizes(")
        assert found.also == ()

    def test_many_long_values_are_all_brought_back(self, sandboxes: Sandboxes) -> None:
        words = ["milk", "bread", "butter", "eggs", "plum", "pear", "tea", "rum"]
        tests = "from lists import join\n\ndef test_join():\n" + "".join(
            f"    words = {words[:number] * 4}\n"
            f"    assert join(words) == ', '.join(words[:-1]) + ' and {words[number - 1]}'\n"
            for number in (5, 6, 7, 8)
        )
        [found] = examples(parts(tests), sandboxes)
        assert " and " in found.expected

    def test_what_makes_no_difference_is_not_shown(self, sandboxes: Sandboxes) -> None:
        tests = (
            "import contextlib\nimport io\nfrom lists import join\n\ndef test_join():\n"
            "    stream = io.StringIO('milk')\n    stream.seek(0)\n    with contextlib.suppress(KeyError):\n"
            "        words = [*stream.read().split(), str(b'bread', encoding='ascii')]\n"
            "        found = join(words, last='and')\n    assert found == 'milk and bread'\n"
        )
        right = RIGHT.replace("def join(words)", "def join(words, last='and')")
        wrong = WRONG.replace("def join(words)", "def join(words, last='and')")
        [found] = examples(cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests}), sandboxes)
        assert found.code.startswith("import io\nfrom lists import join\n")
        assert "encoding='ascii'" in found.code + found.expression
        for idle in ("contextlib", "seek", "last="):
            assert idle not in found.code + found.expression

    def test_what_only_an_idle_part_uses_goes_with_it(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    options = {'last': 'and', 'odd': 1}\n"
            "    options.pop('odd')\n    text = 'milk\\nbread\\n'\n    words = text.split()\n    words.sort()\n"
            "    found = join(words, **options)\n    assert found == 'bread and milk'\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert "options" not in found.code + found.expression
        assert found.code.count('"""') == 2

    def test_blocks_whose_statements_go_stay_whole(self, sandboxes: Sandboxes) -> None:
        wrong = (
            "class Box:\n    def __init__(self, word):\n        self.words = [word]\n    def add(self, word):\n"
            "        self.words.append(word)\n        if len(word) > 8:\n            raise ValueError(word)\n"
            "    def join(self):\n        return ', '.join(self.words)\n"
        )
        tests = (
            "import pytest\nfrom lists import Box\n\ndef test_join():\n    box = Box('milk')\n    try:\n"
            "        box.join()\n    finally:\n        box.join()\n    with pytest.raises(ValueError):\n"
            "        box.add('butterscotch')\n    assert box.join() == 'milk and butterscotch'\n"
        )
        right = wrong.replace("', '.join", "' and '.join")
        [found] = examples(cut_of({"lists.py": wrong}, {"lists.py": right}, {"test_lists.py": tests}), sandboxes)
        assert "except Exception:\n    pass" in found.code
        assert "finally" not in found.code

    def test_what_another_example_prepared_is_shown_with_it(self, sandboxes: Sandboxes) -> None:
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
        cut = cut_of({"lists.py": wrong, "test_lists.py": old}, {"lists.py": right}, {"test_lists.py": tests})
        found = [f"{each.code}\n{each.expression}" for each in examples(cut, sandboxes)]
        assert found
        assert all("register(" in text for text in found if "render(" in text)

    def test_what_hangs_without_a_part_is_shown_with_it(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    words = ['milk']\n    while len(words) < 2:\n"
            "        words.append('bread')\n    assert join(words) == 'milk and bread'\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert "words.append" in found.code

    def test_a_table_of_the_module_is_varied_and_hidden(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\nCASES = [(['apple', 'peach'], 'apple and peach')]\n\ndef test_join():\n"
            "    for words, text in CASES:\n        assert join(words) == text\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert "join(" in found.expression
        assert "peach" not in f"{found.code}{found.observed}{found.expected}"

    def test_what_else_differs_is_told_with_it(self, sandboxes: Sandboxes) -> None:
        tests = (
            "from lists import join\n\ndef test_join():\n    text = join(['milk', 'eggs'])\n"
            "    assert text.find(' ') == 4\n    assert text.split() == ['milk', 'and', 'eggs']\n"
        )
        [found] = examples(parts(tests), sandboxes)
        assert (found.expression, found.observed, found.expected) == ("text.find(' ')", "-1", "4")
        [(what, observed, expected)] = found.also
        assert what == "text.split()"
        assert len(observed.split(",")) == 1
        assert len(expected.split(",")) == 3

    def test_what_differs_from_run_to_run_is_no_example(self, sandboxes: Sandboxes) -> None:
        tests = (
            "import os\n\nfrom lists import join\n\ndef test_join():\n    words = [os.urandom(8).hex(), 'pear']\n"
            "    assert ' and ' in join(words)\n"
        )
        assert examples(parts(tests), sandboxes) == []

    def test_the_same_seed_gives_the_same_examples(self, sandboxes: Sandboxes) -> None:
        assert examples(parts(), sandboxes) == examples(parts(), sandboxes)


class TestExample:
    def test_what_the_clock_decides_is_not_shown(self) -> None:
        example = Example("import datetime as dt\nday = dt.datetime.now()", "weekday(day)", "1", "2")
        assert not example.may_be_shown([])
        assert replace(example, code="day = 3").may_be_shown([])

    def test_a_private_field_of_go_is_not_shown(self) -> None:
        example = Example('codes := reflect.ValueOf(code).Elem().FieldByName("codes")', "codes.Len()", "1", "2")
        assert not example.may_be_shown([])
        assert replace(example, code=example.code.replace("codes", "Codes")).may_be_shown([])

    @pytest.mark.parametrize("expression", ["len(f(1))", "page(1).text.count('a')", "page.rows.length"])
    def test_a_number_of_things_is_not_shown(self, expression: str) -> None:
        assert not Example("page = 1", expression, "1", "2").may_be_shown([])
        assert Example("page = 1", expression, "raises OverflowError: too large", "2").may_be_shown([])

    def test_a_text_that_the_tests_forbid_may_be_what_happens_today(self) -> None:
        assert Example("page = 1", "f(page)", "'a walnut'", "'a'").may_be_shown(["walnut"])
        assert not Example("page = 1", "f(page)", "'a'", "'a walnut'").may_be_shown(["walnut"])
        assert not Example("page = 1", "f(page)", '""', r'"<a b=\"c\">"').may_be_shown(['<a b="c">'])

    def test_values_that_differ_where_no_reader_sees_it_are_not_shown(self) -> None:
        assert not Example("", "f(1)", f"'{'a' * 400}b'", f"'{'a' * 400}c'").may_be_shown([])

    def test_what_is_left_after_an_error_is_a_poor_example(self) -> None:
        assert Example("try:\n    f(1)\nexcept Exception:\n    pass", "page", "1", "2").poor

    def test_a_value_that_says_nothing_is_shown_only_where_there_is_no_other(self) -> None:
        telling, poor = Example("", "f(1)", "1", "2"), Example("", "'a' in f(1)", "raises TypeError: x", "False")
        found = [
            Found("a", poor.rank(1, ("", ""), {}), "a", poor),
            Found("b", telling.rank(1, ("", ""), {}), "b", telling),
        ]
        assert chosen(found) == [replace(telling, tests=("b",))]
        assert chosen(found[:1]) == [replace(poor, tests=("a",))]

    def test_one_that_shows_that_no_error_is_left_is_followed_by_a_value(self) -> None:
        silent, value = Example("", "check(1)", "wrong", "<nil>"), Example("check(1)", "box", "1", "2")
        found = [Found("a", (0,), "a", silent), Found("a", (1,), "b", value), Found("a", (2,), "c", value)]
        assert chosen(found) == [replace(silent, tests=("a",)), replace(value, tests=("a",))]
        assert chosen(found[:1]) == [replace(silent, tests=("a",))]

    def test_a_value_that_says_something_comes_first(self) -> None:
        told = Example("", "f(1)", "'a'", "'b'")
        assert told.rank(1, ("", ""), {}) < replace(told, expected="None").rank(1, ("", ""), {})
        assert told.rank(1, ("", ""), {}) < replace(told, expression="type(x)").rank(1, ("", ""), {})


class TestModule:
    def test_assertions_become_records_and_other_tests_go(self) -> None:
        text, probes = probe_module(ast.parse(TESTS), {"test_join": [], "TestLast.test_last": []}, frozenset(), "seed")
        assert {probe.function for probe in probes.values()} == {"test_join", "test_last"}
        assert "assert " not in text
        assert "test_nothing" not in text
        compile(text, "probes.py", "exec")

    def test_of_assertions_that_the_base_has_too_only_the_calls_run(self) -> None:
        text = "def test_join():\n    box = Box('milk')\n    assert box.take() == 'milk'\n    assert box\n"
        old, new = ast.parse(text), ast.parse(f"{text}    assert box.size == 'eggs'\n")
        module, _ = probe_module(new, {"test_join": [""]}, frozenset(), "seed", old)
        assert "'box.take()'" not in module
        assert "        box.take()\n" in module
        assert "'box.size'" in module

    def test_a_comparison_of_plain_names_is_recorded_itself(self) -> None:
        source = ast.parse(
            "def test_join():\n    a = join('milk')\n    assert a != 'milks'\n    assert a < tail('tea')\n"
        )
        module, _ = probe_module(source, {"test_join": [""]}, frozenset({"milk", "milks", "tea"}), "seed")
        recorded = [line.partition("lambda: ")[2] for line in module.splitlines() if "lambda: " in line]
        assert {"a)", "a != 'milks')"} <= set(recorded)
        assert any(text.startswith("a < tail(") for text in recorded)

    def test_what_is_expected_may_come_first(self) -> None:
        source = ast.parse(
            "def test_join(self):\n    want, got = read('milk'), join('tea')\n    self.assertEqual(dedent(want), got)\n"
            "    assert want.strip() == got\n"
        )
        module, _ = probe_module(source, {"test_join": [""]}, frozenset(), "seed")
        assert module.count("lambda: got)") >= 2

    def test_what_is_counted_or_searched_is_recorded_too(self) -> None:
        source = ast.parse(
            "def test_join():\n    text = join('milk')\n    assert 'tea' in text\n    assert len(split(text)) == 2\n"
        )
        module, _ = probe_module(source, {"test_join": [""]}, frozenset({"milk", "tea"}), "seed")
        recorded = [line.partition("lambda: ")[2] for line in module.splitlines() if "lambda: " in line]
        assert {"text)", "'tea' in text)", "split(text))", "len(split(text)))"} <= set(recorded)

    def test_functions_of_a_test_are_named_as_they_are_shown(self) -> None:
        message = f"{MARK}" + json.dumps(
            [[1, "f()", "raises TypeError: TestCodegateShown.test_codegate_shown_0.<locals>.f() \x1b[4mx\x1b[0m"]]
        )
        assert records(message) == [(1, "f()", "raises TypeError: f() x")]

    def test_many_records_are_cut_at_a_whole_one(self) -> None:
        scope: dict[str, Any] = {}
        exec(HELPERS, scope)
        with pytest.raises(AssertionError) as caught:
            scope["_codegate_end"]([[number, "x", "v" * 500] for number in range(20)])
        kept = records(str(caught.value))
        assert kept is not None
        assert 5 <= len(kept) < 20

    def test_an_error_whose_message_fails_is_itself_and_one_without_a_message_has_no_colon(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise AttributeError

        scope: dict[str, Any] = {}
        exec(HELPERS, scope)
        assert scope["_codegate_error"](Mute()) == ("raises Mute: (without a message: its str() raises AttributeError)")
        assert scope["_codegate_error"](StopIteration()) == "raises StopIteration"

    def test_a_message_that_is_no_probes_has_no_records(self) -> None:
        assert records("assert 1 == 2") is None
        assert records('codegate-probe:[[1, "x", "<A object at 0x7f00aa11>"]]') == [(1, "x", "<A object>")]
        assert records("codegate-probe:{broken") is None

    def test_calls_of_earlier_assertions_are_shown(self) -> None:
        tests = (
            "def test_pauses():\n    pauses = []\n    assert first(pauses, 'milk') == 1\n"
            "    with pytest.raises(ValueError):\n        second(pauses, 77)\n    assert pauses == [0.5]\n"
        )
        _, probes = probe_module(ast.parse(tests), {"test_pauses": []}, frozenset(), "seed")
        probe = probes["test_codegate_probe_1"]
        assert probe.own == "test_codegate_probe_0"
        lines = probe.code(line=probe.body[-1].lineno).splitlines()
        assert lines[0] == "pauses = []"
        assert lines[1].startswith("first(pauses, '")
        assert lines[2:] == ["try:", "    second(pauses, 78)", "except Exception:", "    pass"]

    def test_an_import_that_warns_is_shown_as_an_import(self) -> None:
        tests = (
            "class TestOld(TestCase):\n    def test_old(self):\n        with self.assertWarns(DeprecationWarning):\n"
            "            from lists import Old\n        self.assertEqual(tail(Old, 77), 1)\n"
        )
        _, probes = probe_module(ast.parse(tests), {"TestOld.test_old": []}, frozenset(), "seed")
        assert next(iter(probes.values())).code(9).splitlines()[0] == "from lists import Old"

    def test_items_of_a_dictionary_are_rows_of_a_table(self) -> None:
        tests = (
            "def test_join():\n    cases = {'milk': 3, 'eggs': 5}\n    for text, count in cases.items():\n"
            "        assert join(text) == count\n"
        )
        text, probes = probe_module(ast.parse(tests), {"test_join": []}, frozenset(), "seed")
        assert "for " not in text
        codes = [probe.code(9) for probe in probes.values()]
        assert any("text = 'eggs'\ncount = 5" in code for code in codes)

    def test_a_loop_over_a_table_is_one_probe_a_row(self) -> None:
        tests = (
            "class TestJoin(TestCase):\n    def test_join(self):\n"
            "        for words, text in [(['milk', 'eggs'], 'x'), ([], '')]:\n"
            "            with self.subTest(words=words):\n                self.assertEqual(join(words), text)\n"
        )
        text, probes = probe_module(ast.parse(tests), {"TestJoin.test_join": []}, frozenset(), "seed")
        assert "subTest" not in text
        assert "for " not in text
        codes = [probe.code(9) for probe in probes.values()]
        assert any(code.startswith("words = ['") and "milk" not in code for code in codes)

    def test_rows_that_the_base_lacks_come_first(self) -> None:
        head = "@pytest.mark.parametrize('n', {rows})\ndef test_tail(n):\n    assert tail(n) == 1\n"
        old = ast.parse(head.format(rows=list(range(100, 150))))
        new = ast.parse(head.format(rows=[*range(100, 150), -3]))
        _, probes = probe_module(new, {"test_tail": []}, frozenset(), "seed", old)
        assert next(iter(probes.values())).code(9).startswith("n = -")

    def test_rows_that_fail_come_first(self) -> None:
        [test] = ast.parse(
            "@pytest.mark.parametrize('given, text', [([7], 'a b'), (7.5, None), ('x', True)])\n"
            "def test_x(given, text):\n    assert f(given) == text\n"
        ).body
        assert isinstance(test, ast.FunctionDef)
        assert failing_rows(test, ["given0-a b", "x-True"]) == {0, 2}
        assert failing_rows(test, ["7.5-None", ""]) == {1}
        _, probes = probe_module(ast.Module([test], []), {"test_x": ["7.5-None"]}, frozenset(), "seed")
        assert list(probes.values())[1].code(9).startswith("given = 8.5")


class TestMethods:
    MODULE = """
class Base(TestCase):
    parse = make(escape=False)
    limit = 3

    def check(self, text, times=1):
        \"\"\"Say what is checked.\"\"\"
        self.assertEqual(self.read(text), self.box.get(text) * times)

    def read(self, text):
        return self.parse(text).strip()

class TestBox(Base):
    def setUp(self):
        super().setUp()
        self.box = Box(self.limit)

    def test_it(self):
        for text in ("a", "b"):
            self.check(text, times=2)
"""

    def test_what_a_class_gives_its_tests_is_written_out(self) -> None:
        module = ast.parse(self.MODULE)
        [_, node] = module.body
        assert isinstance(node, ast.ClassDef)
        test = node.body[-1]
        assert isinstance(test, ast.FunctionDef)
        written = standalone(test, classes_of(module, node))
        assert ast.unparse(written).splitlines()[1:] == [
            "    parse = make(escape=False)",
            "    limit = 3",
            "    box = Box(limit)",
            "    for text in ('a', 'b'):",
            "        times = 2",
            "        self.assertEqual(parse(text).strip(), box.get(text) * times)",
        ]
        assert "self.check" in ast.unparse(test), "the test itself stays as it is"

    def test_a_helper_that_returns_on_its_way_stays_a_call(self) -> None:
        source = self.MODULE.replace("self.assertEqual(", "if not text:\n            return\n        self.assertEqual(")
        module = ast.parse(source)
        node = module.body[1]
        assert isinstance(node, ast.ClassDef)
        test = node.body[-1]
        assert isinstance(test, ast.FunctionDef)
        assert "self.check(text, times=2)" in ast.unparse(standalone(test, classes_of(module, node)))

    def test_options_of_a_helper_that_are_off_do_nothing(self) -> None:
        source = self.MODULE.replace(
            "    def read(self, text):\n        return self.parse(text).strip()\n",
            "    def same(self, text, *parts, other=None, slow=False, **options):\n"
            "        if slow:\n            self.wait()\n"
            "        if options.get('raw'):\n            options.pop('raw')\n"
            "        for part in parts:\n            self.assertIn(part, text)\n"
            "        self.assertEqual(other or text, self.read(text, **options))\n        return text\n",
        ).replace("self.check(text, times=2)", "self.same(text)\n            self.same('a', 'b', other='c', raw=True)")
        module = ast.parse(source)
        node = module.body[1]
        assert isinstance(node, ast.ClassDef)
        test = node.body[-1]
        assert isinstance(test, ast.FunctionDef)
        lines = ast.unparse(standalone(test, classes_of(module, node))).splitlines()
        assert lines[lines.index("    for text in ('a', 'b'):") + 1 :] == [
            "        options = {}",
            "        self.assertEqual(text, self.read(text, **options))",
            "        text = 'a'",
            "        other = 'c'",
            "        parts = ('b',)",
            "        options = {'raw': True}",
            "        if options.get('raw'):",
            "            options.pop('raw')",
            "        for part in parts:",
            "            self.assertIn(part, text)",
            "        self.assertEqual(other, self.read(text, **options))",
        ]

    def test_what_a_helper_goes_through_is_left_out_only_where_it_is_nothing(self) -> None:
        module = ast.parse(
            "class TestBox(Case):\n    def check(self, text, parts=()):\n        for each in ','.join(['a', text]):\n"
            "            use(each)\n        for each in text.split(','):\n            use(each)\n"
            "        for each in parts:\n            use(each)\n        try:\n            use(text)\n"
            "        except ValueError:\n            if parts:\n                raise\n"
            "        self.assertEqual(f(text), 1)\n"
            "    def swap(self, a, b):\n        self.assertEqual(a, b)\n"
            "    def test_it(self):\n        self.check('')\n        self.swap(b, a)\n"
        )
        [node] = module.body
        assert isinstance(node, ast.ClassDef)
        test = node.body[-1]
        assert isinstance(test, ast.FunctionDef)
        text = ast.unparse(standalone(test, classes_of(module, node)))
        assert text.count("for each in") == 2
        assert "except ValueError:\n        pass" in text
        assert "self.swap(b, a)" in text, "names that stand for each other are assigned at once"

    def test_calls_that_the_test_had_before_are_left_out(self) -> None:
        module = ast.parse(self.MODULE.replace('for text in ("a", "b"):\n            ', 'self.check("a")\n        '))
        node = module.body[1]
        assert isinstance(node, ast.ClassDef)
        test = node.body[-1]
        assert isinstance(test, ast.FunctionDef)
        text = ast.unparse(standalone(test, classes_of(module, node), ["self.check('a')"]))
        assert "'a'" not in text
        assert "box.get(text) * times" in text
        every = ["self.check('a')", "self.check(text, times=2)"]
        assert "'a'" in ast.unparse(standalone(test, classes_of(module, node), every))

    def test_the_class_of_another_test_module_is_written_out(self) -> None:
        tree = files({
            "tests/__init__.py": "",
            "tests/harness.py": "import json as j\nimport os\nLIMIT = 2\n\nclass Case:\n"
            "    def check(self, text):\n        self.assertEqual(j.loads(text), LIMIT)\n",
            "tests/test_box.py": "",
        })  # fmt: skip
        for line in ("from tests.harness import Case, LIMIT", "from .harness import Case, LIMIT"):
            module = ast.parse(f"{line}\n\nclass TestBox(Case):\n    def test_it(self):\n        self.check('1')\n")
            found = ast.unparse(with_bases(module, "tests/test_box.py", tree)).splitlines()
            assert found[:3] == ["from tests.harness import LIMIT", "import json as j", "LIMIT = 2"]
            assert found[4] == "class Case:"
        gone = ast.parse("from tests.nothing import Case\n\nclass TestBox(Case):\n    pass\n")
        assert ast.unparse(with_bases(gone, "tests/test_box.py", tree)) == ast.unparse(gone)


class TestFixtures:
    CONFTEST = "import pytest\nfrom box import Box\n\n@pytest.fixture\ndef box(request):\n    return Box(3)\n"

    def test_a_fixture_that_only_makes_a_value_is_shown_as_code(self) -> None:
        test = ast.parse("@pytest.fixture\ndef lid():\n    yield 1\n    clean()\n")
        tree = cut_of({"tests/conftest.py": self.CONFTEST, "conftest.py": "x = 1\n"}, {}, {}).base
        modules = fixture_modules(tree, "tests/unit/test_box.py", test)
        code, others = made_by_fixtures(["box", "lid", "tmp_path"], modules)
        assert (code, others) == (["from box import Box\nbox = Box(3)"], ("lid", "tmp_path"))

    def test_a_fixture_that_uses_another_is_no_code(self) -> None:
        module = ast.parse("@pytest.fixture\ndef box(size):\n    return Box(size)\n")
        assert made_by_fixtures(["box"], [module]) == ([], ("box",))


def test_a_clear_example_differs_where_the_test_differs() -> None:
    own = ("a < b </br>", "a &lt; b")
    whole, part = Example("", "f(1)", "c < d </br>", "c &lt; d"), Example("", "f(1)", "cd </br>", "cd")
    assert whole.rank(1, own, {}) < part.rank(2, own, {})


class TestLiterals:
    def test_grammar_alone_is_nothing_hidden(self) -> None:
        test = ast.parse("assert f('one big apple\\n  end;\\n') == 'end;'")
        assert hidden_literals([test], "") == {"one big apple", "end;"}
        assert hidden_literals([ast.parse("f('one big apple\\n  end;\\n')")], "") == {"one big apple"}

    def test_what_a_lambda_calls_is_recorded_without_it(self) -> None:
        test = ast.parse("def test_x():\n    pytest.raises(ValueError, lambda: join([], 'pear'))\n")
        text, _ = probe_module(test, {"test_x": [""]}, frozenset(), "seed")
        assert """"join([], 'pear')", lambda: join([], 'pear'))""" in text

    def test_the_data_of_constants_is_written_out_in_tests(self) -> None:
        text = "CASES = [('a', 1), ('b', 2)]\nSIZE = len(CASES)\n"
        test = "@parametrize('x', CASES)\ndef test_x(x):\n    f(SIZE)\n\ndef test_y(CASES):\n    f(CASES)\n"
        found = ast.unparse(with_constants(ast.parse(f"{text}\n{test}")))
        assert "@parametrize('x', [('a', 1), ('b', 2)])" in found
        assert "f(SIZE)" in found
        assert "f(CASES)" in found

    def test_one_word_of_a_text_is_replaced_at_a_time(self) -> None:
        [test] = ast.parse("def test_x():\n    assert parse('SELECT apple FROM pear')\n").body
        assert isinstance(test, ast.FunctionDef)
        texts = [ast.unparse(way.visit(source)) for way, source in variants(test, frozenset(), frozenset(), "seed")]
        assert any("'SELECT " in text and " FROM pear'" in text and "apple" not in text for text in texts)

    def test_only_what_an_assertion_compares_is_required(self) -> None:
        test = ast.parse(
            "given = 'some input'\nassert f(given) == 'one text'\nself.assertEqual(f(given), 'two texts')\n"
            "with raises(ValueError, match='a message'):\n    f('')\n"
        )
        assert asserted_literals([test]) >= {"one text", "two texts", "a message"}
        assert "some input" not in asserted_literals([test])

    def test_words_keep_length_and_case_and_the_same_becomes_the_same(self) -> None:
        tree = ast.parse("f('Apple pie', 'APPLE', 12, 0, 2.5, True, b'apple', encoding='ascii')")
        changed = ast.unparse(Replacer(Random(1), lambda word: word.lower() == "apple", numbers=True).visit(tree))
        other = changed[3:8]
        assert other.istitle()
        assert other != "Apple"
        assert changed == (
            f"f('{other} pie', '{other.upper()}', 13, 0, 3.5, True, b'{other.lower()}', encoding='ascii')"
        )

    def test_names_of_the_tests_own_are_renamed_with_the_words(self) -> None:
        tree = ast.parse("def cmd(flag):\n    g('--flag', flag)")
        changed = ast.unparse(Replacer(Random(1), lambda _: True, True, frozenset({"flag"})).visit(tree))
        name = changed.partition("(")[2].partition(")")[0]
        assert name != "flag"
        assert f"'--{name}', {name})" in changed

    def test_words_that_a_language_knows_stay(self) -> None:
        text = "<style>GET</style> <!ENTITY #text $ref #/apple %s &amp; \\d <em class=pear>utf-8 string"
        shown = Replacer(Random(1), is_free, numbers=False).text(text)
        kept = [word for word in text.split() if "apple" not in word and "pear" not in word]
        assert [word for word in shown.split() if word in text.split()] == kept
        assert "apple" not in shown

    def test_codes_of_a_terminal_stay(self) -> None:
        shown = Replacer(Random(1), lambda _: True, numbers=True).text("\x1b[1mapple: \x1b[38;5;140mpear\x1b[0m")
        assert re.findall(r"\x1b\[[\d;]*m", shown) == ["\x1b[1m", "\x1b[38;5;140m", "\x1b[0m"]
        assert "apple" not in shown
        assert "pear" not in shown

    def test_numbers_of_characters_stay(self) -> None:
        text = r"http://apple/%2C%3a%20 \x1b[0m \u00e9 &#39;&#x2F; 0x1F"
        shown = Replacer(Random(1), lambda _: True, numbers=True).text(text)
        assert "apple" not in shown
        assert [
            piece for piece in (r"%2C%3a%20", r"\x1b", r"\u00e9", "&#39;&#x2F;", "0x1F") if piece not in shown
        ] == []

    def test_a_docstring_is_nothing_hidden(self) -> None:
        [test] = ast.parse('def test_x():\n    """Totals are zero."""\n    assert total("walrus") == 0\n').body
        assert hidden_literals([test], "") == {"walrus"}

    def test_hidden_is_what_the_base_does_not_have(self) -> None:
        tests = [ast.parse("f('public text', 'hidden text', 'ab', 123, 12)")]
        assert hidden_literals(tests, "a public text") == {"hidden text", "123"}

    @pytest.mark.parametrize(
        ("text", "found"), [("a hidden text.", "hidden text"), ("hidden texts", ""), ("1234", ""), ("of 123", "123")]
    )
    def test_a_hidden_literal_is_found_as_a_whole(self, text: str, found: str) -> None:
        assert shows(text, {"hidden text", "123"}) == found


class TestShortest:
    """The search itself, with the code run here: an example holds while ``keep`` and ``f`` are called."""

    EXAMPLE = Example("options = {1: 2}\noptions.pop(1)\nkeep(7)\nx = f(9, **options)", "x", "1", "2")

    def run(self, *, own: bool = True) -> tuple[Example, int]:
        runs: list[int] = []

        def again(examples: Sequence[Example]) -> dict[int, Example]:
            runs.append(len(examples))
            found: dict[int, Example] = {}
            for number, each in enumerate(examples):
                called: list[int] = []
                with contextlib.suppress(Exception):
                    exec(f"{each.code}\n{each.expression}", {"keep": called.append, "f": called.append})
                found |= {number: each} if called == [7, 9] else {}
            return found

        return shortest([self.EXAMPLE], [0], lambda _place, _example: own, again)[0], len(runs)

    def test_what_only_an_idle_part_uses_goes_in_the_second_round(self) -> None:
        found, runs = self.run()
        assert (found.code, found.expression) == ("keep(7)", "f(9)")
        assert runs == 3

    def test_a_shorter_one_that_is_the_tests_own_is_not_taken(self) -> None:
        found, runs = self.run(own=False)
        assert found == self.EXAMPLE
        assert runs == 1
