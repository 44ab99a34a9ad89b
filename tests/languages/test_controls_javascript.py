"""Tests of JavaScript as they are written: their titles, where marks and words go, and what is flipped."""

import time

from codegate.languages.controls import HOLE, EditableTest
from tests.languages.kit import changes, units_of

TEXT = """\
it('has no semicolons', () => {
  expect(f(1)).toBe(2) // and a comment
  expect(f('x\\n1')).toEqual({ a: -1.5, 'b': `c` })
})
it('is one expression', async () => assert.equal(await f(true), 12)).timeout(5)
describe('group', function () {
  it(name, (done) => { f(done); return g(5) /* of it */; });
  it('of ' + name, function () { f(); if (a) return; g() });
  describe.each([[1, 'x']])('in %s', (a) => {
    test.each`a | b
      ${1} | ${'two'}`('row $a', ({ a }) => { assert.throws(() => f('the'), TypeError) });
    for (const x of [1, 2]) it(`is ${x}`, () => { expect(f(x)).not.toBe(3); try { f('one') } catch {} });
  });
});
const helper = () => { it('helped', () => { expect(f()).toMatchSnapshot() }) }
it('twin', () => f(1))
it('twin', () => f(1))
it.fails('is the other way round', () => { throw 1 })
it('also', { fails: true }, () => { throw 1 })
describe('short', () => it('has no place for copies', () => f(1)))
"""


def units(text: str = TEXT) -> dict[str, EditableTest]:
    return units_of("a.test.js", text, "node")


def marked(unit: EditableTest) -> str:
    """Return a test with its word and its marks."""
    edits = [(at, number, text) for number, (at, text) in enumerate([unit.word, *unit.marks], start=-1)]
    data = TEXT.encode()
    end = len(data) - unit.span[1]
    for at, number, text in sorted(edits, reverse=True):
        shown = text.replace("$word$", "w").replace("$mark$", "m").replace("$token$", str(number))
        data = data[:at] + shown.encode() + data[at:]
    return data[unit.span[0] : len(data) - end].decode()


def test_titles_are_names_with_holes_for_what_a_run_completes() -> None:
    assert list(units()) == [
        "has no semicolons", "is one expression", f"group > {HOLE}", f"group > of {HOLE}",
        f"group > in {HOLE} > row {HOLE}", f"group > in {HOLE} > is {HOLE}", f"{HOLE}helped",
    ]  # fmt: skip
    row = units()[f"group > in {HOLE} > row {HOLE}"]
    assert row.may_be("group > in x > row 1")
    assert row.may_be("group > in x > row 1 > a part of it")
    assert not row.may_be("group > in x > is 1")


def test_a_title_of_many_holes_takes_no_time() -> None:
    unit = units()[f"{HOLE}helped"].model_copy(update={"name": f"{HOLE}x" * 20_000})
    started = time.process_time()
    assert unit.may_be("yx" * 20_000)
    assert not unit.may_be("y")
    assert time.process_time() - started < 1, "as a regular expression it takes two seconds and more"


def test_the_first_mark_is_where_a_test_begins_and_others_stand_behind_its_statements() -> None:
    found = units()
    assert marked(found["has no semicolons"]).splitlines() == [
        """it('_whas no semicolons', () => { m("0");""",
        """  expect(f(1)).toBe(2); m("1"); // and a comment""",
        """  expect(f('x\\n1')).toEqual({ a: -1.5, 'b': `c` }); m("2");""",
        "})",
    ]
    assert 'f();; m("1"); if (a) return; g() }' in marked(found[f"group > of {HOLE}"])


def test_what_a_test_gives_back_is_marked_once_it_is_there() -> None:
    found = units()
    expression = """it('_wis one expression', async () => m("0", async () => (assert.equal(await f(true), 12)))("1"))"""
    assert marked(found["is one expression"]) == f"{expression}.timeout(5)"
    returned = (
        """it("_w" + name, (done) => { m("0"); f(done);; m("1"); return m("2", () => (g(5)))("3") /* of it */; });"""
    )
    assert marked(found[f"group > {HOLE}"]) == returned


def test_a_loop_belongs_to_its_only_test() -> None:
    assert marked(units()[f"group > in {HOLE} > is {HOLE}"]).startswith("for (const x of [1, 2]) it(`_wis ${x}`")


def test_values_are_flipped_wherever_they_are_but_in_titles_and_where_errors_are_swallowed() -> None:
    found = units()
    assert set(changes(found["has no semicolons"], TEXT)) == {"1", "2", r"'x\n1'", "1.5", "'b'", "`c`"}
    assert changes(found["is one expression"], TEXT)["true"] == ("false",)
    row = changes(found[f"group > in {HOLE} > row {HOLE}"], TEXT)
    assert set(row) == {"1", "'two'", "'the'"}
    assert "'the'" in row["'two'"]
    assert set(changes(found[f"group > in {HOLE} > is {HOLE}"], TEXT)) == {"1", "2", "3"}


def test_what_is_asserted_of_something_is_a_weak_flip() -> None:
    found = units()
    assert changes(found["has no semicolons"], TEXT, strong=False)["toEqual"] == ("not.toEqual",)
    assert changes(found["is one expression"], TEXT, strong=False) == {"equal": ("notEqual",)}
    row = changes(found[f"group > in {HOLE} > row {HOLE}"], TEXT, strong=False)
    assert row == {"throws": ("doesNotThrow",), "TypeError": ("EvalError", "URIError")}
    assert changes(found[f"group > in {HOLE} > is {HOLE}"], TEXT, strong=False) == {
        "expect(f(x)).not": ("expect(f(x))",)
    }
    text = "it('a', () => { assert.ok(f(1)); assert(a !== b, 'c') })"
    weak = changes(units(text)["a"], text, strong=False)
    assert weak == {"f(1)": ("!(f(1))",), "a !== b": ("!(a !== b)",), "!==": ("===",)}


def test_a_test_whose_snapshot_is_under_its_title_has_no_copies() -> None:
    found = units()
    assert [name for name, unit in found.items() if unit.alone] == [f"{HOLE}helped"]
    text = "it('a', () => { expect(f()).toMatchInlineSnapshot(`'b'`) })"
    assert not units(text)["a"].alone
