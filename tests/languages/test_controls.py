"""Units of test files and the flips in them: what is changed, and that nothing tells which text was the first."""

import ast

import pytest

from codegate.languages.controls import BLOCK, EditableTest, Site
from tests.languages.kit import changes, units_of

TEXT = '''\
import contextlib
import pytest
from shop import total

class TestPrices:
    """Prices."""

    def test_total(self):
        """What it is about."""
        prices = [10, 250]
        if prices:
            assert total(prices) == 260
        assert total([]) == 0; assert total([1.5]) == 1.50
        return prices

def test_texts():
    assert "tea" in total("green tea").split(), "never"
    with contextlib.suppress(ValueError):
        assert total("gone") == "lost"
    assert total("Tea") == "Pie"
    assert total("x-1") is not True
    with pytest.raises(KeyError, match="no tea"):
        total(None)

@pytest.mark.parametrize("word, wanted", [("one", 1), ("two", 2)])
def test_rows(word, wanted=5):
    assert total(word) == wanted

def test_hidden(): assert 1
def test_hidden(): assert 2
'''


def units(text: str = TEXT) -> dict[str, EditableTest]:
    return units_of("test_it.py", text, "pytest")


def test_tests_are_found_with_their_classes_and_without_those_that_another_one_hides() -> None:
    assert list(units()) == ["TestPrices::test_total", "test_texts", "test_rows"]


def test_marks_stand_behind_statements_up_to_the_first_that_may_leave() -> None:
    unit = units()["TestPrices::test_total"]
    text = TEXT
    for end, mark in sorted(unit.marks, reverse=True):
        text = text[:end] + mark.replace("$mark$", "m").replace("$token$", "t") + text[end:]
    ast.parse(text)
    assert len(unit.marks) == 5
    assert '260\n        m("t")\n' in text
    assert 'assert total([]) == 0; m("t"); assert total([1.5]) == 1.50; m("t")' in text


def test_numbers_are_as_round_as_the_first() -> None:
    found = changes(units()["TestPrices::test_total"], TEXT)
    assert found["10"] == tuple(str(10 * number) for number in (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17))
    assert found["0"][:2] == ("1", "2")
    assert found["0"][9:11] == ("11", "12")
    assert "1.60" in found["1.50"]
    assert all(one.endswith("0") for one in found["1.50"])


def test_texts_become_other_words_of_the_file_and_letters_where_a_part_is_enough() -> None:
    found = changes(units()["test_texts"], TEXT)
    assert set(found) == {'"tea"', '"green tea"', '"never"', '"Tea"', '"Pie"', '"x-1"', "True", '"no tea"'}
    assert {"Tea", "Two", "One"} <= {ast.literal_eval(one) for one in found['"Pie"']}
    assert {ast.literal_eval(one)[:-1] for one in (*found['"tea"'], *found['"no tea"'])} == {"te", "no te"}
    assert found["True"] == ("False",)
    assert '"lost"' not in found, "what a block may swallow"


def test_rows_are_flipped_but_not_the_names_of_parameters() -> None:
    assert set(changes(units()["test_rows"], TEXT)) == {'"one"', "1", '"two"', "2"}


def test_what_is_asserted_of_something_is_a_weak_flip() -> None:
    found = changes(units()["test_texts"], TEXT, strong=False)
    assert found["is not"] == ("is",)
    assert "ZeroDivisionError" in found["KeyError"]
    assert not {"KeyError", "TypeError", "LookupError"} & set(found["KeyError"])


LITERALS = [
    *map(str, [*range(40), 100, 170, 190, 2024, 65536]), "0.0", "0.5", "3.14", "10.0", "0.05", "99.99",
    *(f'"{one}"' for one in ("a", "k", "n", "Z", "x9", "abc1", "one", "two")), "True", "False",
]  # fmt: skip


@pytest.mark.parametrize("literal", LITERALS)
def test_every_member_of_a_class_has_the_same_class(literal: str) -> None:
    def members(text: str) -> frozenset[str]:
        program = f"WORDS = 'one', 'two', 'six'\ndef test_it(): f({text})\n"
        (unit,) = units(program).values()
        (site,) = unit.sites
        return frozenset((text, *site.texts))

    found = members(literal)
    assert 1 < len(found) <= BLOCK
    assert {members(one) for one in found} == {found}


def test_a_site_has_a_name_of_its_own_in_every_reading() -> None:
    def names() -> list[str]:
        return [site.name for unit in units().values() for site in unit.sites]

    assert names() == names()
    assert len(set(names())) == len(names())


def test_one_test_has_no_more_sites_than_a_run_can_try() -> None:
    (unit,) = units(f"def test_it():\n    assert f() == [{', '.join(map(str, range(1000)))}]\n").values()
    assert len(unit.sites) < 500
    assert all(isinstance(site, Site) for site in unit.sites)


GO = """\
package shop

func TestTotal(t *testing.T) {
	var rows = [2]struct{ name, err string; want rune }{{"tea", "no tea", 'a'}, {"a\\npie", `b`, 'z'}}
	for _, row := range rows {
		if got := Total(map[string]int{"key": 12}, row.name); got != 7 || !known(got) {
			t.Fatal(got)
		}
		assert.Equal(t, row.want, Last(1.5, true)); t.Error()
		switch row.name {
		case "x1":
			assert.ErrorContains(t, Fails(), "sorry tea")
		}
	}
	if len(rows) < 2 {
		return
	}
	check(t)
}

func (s *ShopSuite) TestMethod() { s.Equal(1, 2) }
func (s *other) TestNothing() { s.Equal(1, 2) }
func TestShop(t *testing.T) { suite.Run(t, new(ShopSuite)) }
func TestMain(m *testing.M) { m.Run() }
func Testify(t *testing.T) { m.Run() }
func TestEmpty(t *testing.T) {}

func TestPanic(t *testing.T) {
	defer func() { recover() }()
	panic(1)
}

func ExampleTotal() {
	print(1) // no 2
	// Output: 3
}
"""


def test_tests_of_go_are_functions_and_the_methods_of_a_suite_that_one_runs() -> None:
    names = ["TestTotal", "TestShop/TestMethod", "TestShop", "TestPanic", "ExampleTotal"]
    assert list(units_of("it_test.go", GO, "go")) == names


def test_marks_of_go_stand_up_to_what_may_leave_or_recover() -> None:
    marks = {name: len(unit.marks) for name, unit in units_of("it_test.go", GO, "go").items()}
    assert marks == {"TestTotal": 2, "TestShop/TestMethod": 1, "TestShop": 1, "TestPanic": 0, "ExampleTotal": 1}


def test_literals_of_go_are_flipped_but_not_what_has_to_differ_from_others() -> None:
    unit = units_of("it_test.go", GO, "go")["TestTotal"]
    found = changes(unit, GO)
    assert {'"tea"', '"no tea"', "'a'", '"a\\npie"', "`b`", "12", "7", "1.5", "true", '"sorry tea"'} <= set(found)
    assert not {'"key"', '"x1"'} & set(found)
    assert GO.encode()[unit.sites[0].start : unit.sites[0].end] == b'"tea"', "and not the length of an array"
    assert found["'a'"][:2] == ("'b'", "'c'")
    assert {one[-5:] for one in found['"sorry tea"']} > {' teb"', ' tec"'}, "another word of the file may be in it, too"
    assert {one[:6] for one in found['"no tea"']} == {'"no te'}, "what is in a table may be looked for as well"
    weak = changes(unit, GO, strong=False)
    assert weak["!="] == ("==",)
    assert weak["!known(got)"] == ("known(got)",)
    assert weak["Equal"] == ("NotEqual",)
    assert "Error" not in weak, "a method of what runs the tests"


def test_what_is_in_a_loop_is_in_every_row() -> None:
    unit = units_of("it_test.go", GO, "go")["TestTotal"]
    rows = {GO.encode()[site.start : site.end].decode(): site.row for site in unit.sites}
    assert (rows['"tea"'], rows["'z'"], rows["7"], rows["!="]) == (True, True, False, False)


def test_an_example_is_flipped_in_what_it_prints() -> None:
    found = changes(units_of("it_test.go", GO, "go")["ExampleTotal"], GO)
    assert found["// Output: 3"][:2] == ("// Output: 0", "// Output: 1")
