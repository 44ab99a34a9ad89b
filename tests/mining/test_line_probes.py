"""Probes of JavaScript, TypeScript and Go: what is read of a test, and what real runners give on both trees."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from random import Random
from textwrap import dedent

import pytest

from codegate.grading import Sandboxes, TestSelection
from codegate.languages.go.tests import DIALECTS as OF_GO
from codegate.languages.javascript.statements import title_pattern
from codegate.languages.javascript.tests import DIALECTS
from codegate.languages.lines import Dialect, Line, Step, literals_of
from codegate.languages.python.tests import DIALECTS as OF_PYTHON
from codegate.languages.syntax import parse
from codegate.mining.cut import Cut
from codegate.mining.examples.example import Example, FoundExample
from codegate.mining.examples.literals import LiteralReplacer, failing_literals, hidden_texts, literals_to_hide
from codegate.mining.examples.search import find_examples
from codegate.mining.examples.steady import changed_examples, files_with_examples, steady_examples
from codegate.mining.examples.variants import probes_of, shape_of, slices, unneeded_steps, without_steps
from codegate.mining.proving.quality import examples_to_show
from codegate.mining.proving.validation import ValidatedChange
from codegate.mining.statements.interface import NO_INTERFACE
from codegate.mining.statements.leak_rules import leak_rules_of
from codegate.mining.statements.statement import write_statement
from codegate.sandbox import Sandbox
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import EnvironmentManifest, ProblemLimits, RunnerName, Tree
from tests.kit.environment import MODULE, WITH_GO, WITH_NODE, sandboxes_of
from tests.mining.statement_world import BODY, cut_of, failing, unit_of

LIMITS = ProblemLimits(seconds=120, memory_mb=2048, pids=256, disk_mb=512)
GO = OF_GO[".go"]
JAVASCRIPT = DIALECTS[".js"]


def read(dialect: Dialect, source: str, *tests: str, base: str = "") -> list[Line]:
    return list(dialect.lines(dedent(source), tests, base))


def checked(line: Line) -> tuple[str, ...]:
    return tuple(text for step in line.steps for text in step.checked)


class TestJavaScript:
    def test_each_way_of_asserting_gives_what_it_checks(self) -> None:
        source = """
            describe('sums', () => {
              it('adds', async () => {
                assert.deepEqual(add(1, 2), 3);
                assert(isSum(3));
                expect(await later(4)).not.toBe(5);
                total(6).should.equal(7);
                assert.throws(() => add('x'), /wrong/);
                return expect(add(8)).to.be.true;
              });
              it('adds nothing', () => { expect(add()).toBe(0); });
            });
        """
        [line] = read(JAVASCRIPT, source, "sums > adds")
        found = ("add(1, 2)", "isSum(3)", "await later(4)", "total(6)", "add('x')", "add(8)")
        assert checked(line) == found
        assert [step.raises for step in line.steps] == [False, False, False, False, True, False]

    def test_rows_of_a_table_are_lines_of_their_own_with_their_values_in_place(self) -> None:
        source = """
            const tests = [{ given: 'milk', wanted: 'M' }, { given: 'eggs', wanted: 'E' }];
            describe('first', () => {
              for (const t of tests) {
                test(`of ${t.given}`, () => { expect(first(t.given)).toBe(t.wanted); });
              }
            });
            it.each([['a', 1], ['b', 2]])('code of %s', (text, code) => { expect(codeOf(text)).toBe(code); });
        """
        assert list(map(checked, read(JAVASCRIPT, source, "first > of milk"))) == [("first('milk')",)]
        lines = read(JAVASCRIPT, source, "code of a")
        assert [line.code.splitlines()[-2:] for line in lines] == [
            ["const text = 'a';", "const code = 1;"], ["const text = 'b';", "const code = 2;"]
        ]  # fmt: skip

    def test_functions_that_assert_are_written_out(self) -> None:
        source = """
            function same(given, wanted) { const found = parse(given); assert.equal(found, wanted); }
            it('parses', () => { same('x=1', 1); same('y=2', 2); });
        """
        lines = read(JAVASCRIPT, source, "parses", base="it('parses', () => { same('x=1', 1); });")
        assert ["const given = 'y=2';" in line.code for line in lines] == [True]
        assert checked(lines[0]) == ("found", "wanted")

    def test_what_is_set_up_before_each_test_comes_first(self) -> None:
        source = """
            describe('list', () => {
              let list;
              beforeEach(() => { list = new List(); });
              it('grows', () => { list.add(1); assert.equal(list.size, 1); });
            });
        """
        [line] = read(JAVASCRIPT, source, "list > grows")
        assert line.code.splitlines() == ["let list;", "list = new List();", "list.add(1);"]

    def test_only_the_body_of_a_try_is_read_and_its_layout_is_kept(self) -> None:
        source = """
            it('tidies', () => {
              try {
                const list = fill({
                  size: 1,
                });
                expect(list.size).toBe(1);
              } finally {
                clear();
              }
            });
        """
        [line] = read(JAVASCRIPT, source, "tidies")
        assert line.code == "const list = fill({\n  size: 1,\n});"

    def test_a_request_gives_what_of_its_response_was_expected(self) -> None:
        source = """
            it('answers', function (done) {
              const app = express()
              app.use(handler)
              request(app)
                .get('/items')
                .set('Accept', 'text/html')
                .expect('Content-Type', 'text/html')
                .expect(200, /items/, done)
            })
            it('refuses', async () => {
              const first = await request(app).get('/').expect(401);
              await request(app).post('/login').send({ name: 'a' }).expect('no').expect(({ body }) => check(body));
              return request(app).get('/').expect(200).end();
            })
        """
        lines = {line.test: line for line in read(JAVASCRIPT, source, "answers", "refuses")}
        assert checked(lines["answers"]) == ("response.headers['content-type']", "response.status", "response.text")
        request = "const response = await request(app)\n    .get('/items')\n    .set('Accept', 'text/html');"
        assert lines["answers"].code.splitlines()[2:] == request.splitlines()
        assert lines["refuses"].code.splitlines() == [
            "const first = await request(app).get('/');",
            "const response = await request(app).post('/login').send({ name: 'a' });",
            "const response1 = await request(app).get('/');",
        ]
        assert checked(lines["refuses"]) == ("first.status", "response.text", "response1.status")

    def test_what_is_run_alone_has_its_environment_and_imports_and_nothing_else(self) -> None:
        head = "/** @jest-environment jsdom */\nimport { it } from '@jest/globals';\nimport { area } from './area';\n"
        source = f"{head}area.unit = 'm';\nit('one', () => {{ expect(area(3)).toBe(9); }});\n"
        [line] = JAVASCRIPT.lines(source, ["one"], "")
        [text] = JAVASCRIPT.files_with_only("a.test.js", source, "", {"0": line}).values()
        assert text.startswith(f"{head}\nconst __codegate")
        assert "unit" not in text

    def test_tests_with_a_callback_or_mocked_modules_are_not_read(self) -> None:
        source = "it('ends', (done) => { assert(f()); done(); });\nit('starts', () => { assert(g()); });\n"
        assert [checked(line) for line in read(JAVASCRIPT, source, "ends", "starts")] == [("g()",)]
        assert read(JAVASCRIPT, f"vi.mock('./f');\n{source}", "starts") == []

    def test_imports_are_narrowed_and_named_from_the_root(self) -> None:
        source = "import { parse, print } from '../src';\nimport { it } from 'vitest';\nconst limit = 7;\n"
        assert JAVASCRIPT.context(source, frozenset({"parse"})) == ["import { parse } from '../src';"]
        assert JAVASCRIPT.context(source, frozenset({"unknown"})) is None
        setting_up = (
            "import day from '../src';\nimport week from '../week';\nimport zone from '../zone';\nday.extend(week);\n"
            "zone.start();\ndescribe('day', () => {});\n"
        )
        assert JAVASCRIPT.context(setting_up, frozenset({"day"})) == [
            "import day from '../src';", "import week from '../week';", "day.extend(week);"
        ]  # fmt: skip
        loading = "if (typeof require !== 'undefined') {\n  ms = require('../ms');\n}"
        source = f"{loading}\nlet unit = 1;\nif (unit) unit = 2;\ndescribe('ms', () => {{ late = 1; }});\n"
        assert JAVASCRIPT.context(source, frozenset({"ms"})) == [loading]
        assert JAVASCRIPT.context(source, frozenset({"unit"})) == ["let unit = 1;"]
        assert JAVASCRIPT.context(source, frozenset({"late"})) is None
        code = "import { parse } from '../src';\nconst own = require('./kit');"
        example = JAVASCRIPT.render_example("test/a.js", code, (), "parse(1)", ("v", "1"), ("x", "Error: no"))
        assert example.code == "import { parse } from './src';\nconst own = require('./test/kit');"
        assert example.expected == "throws Error: no"


class TestGo:
    TABLE = """
        package sums

        func TestParse(t *testing.T) {
            tests := []struct {
                name    string
                in      string
                size    int64
                wantErr bool
            }{
                {"plain", "milk", 4, false},
                {name: "odd", in: "eggs"},
            }
            for _, tt := range tests {
                t.Run(tt.name, func(t *testing.T) {
                    got, err := Parse(tt.in, tt.size)
                    if (err != nil) != tt.wantErr {
                        t.Fatalf("error: %v", err)
                    }
                    if !reflect.DeepEqual(got.Parts, tt.size) {
                        t.Errorf("got %v", got)
                    }
                })
            }
        }
    """

    def test_a_row_of_a_table_has_its_fields_in_place(self) -> None:
        lines = read(GO, self.TABLE, "TestParse")
        assert [line.steps[-3].text for line in lines] == [
            'got, err := Parse("milk", int64(4))', 'got, err := Parse("eggs", int64(0))'
        ]  # fmt: skip
        assert set(checked(lines[0])) == {"err", "got.Parts", "got"}
        assert ["eggs" in line.code for line in lines] == [False, True]

    def test_what_a_row_points_to_is_the_same_for_all_who_use_it(self) -> None:
        source = """
            package sums

            func TestFill(t *testing.T) {
                for _, tt := range []struct{ in string; target interface{} }{{"milk", &map[string]int{}}} {
                    if err := Fill(tt.in, tt.target); err != nil || !reflect.DeepEqual(tt.target, wanted) {
                        t.Fatal(err)
                    }
                }
            }
        """
        [line] = read(GO, source, "TestFill")
        assert line.steps[-2].text == "target := interface{}(&map[string]int{})"
        assert line.steps[-1].text == 'err := Fill("milk", target)'
        assert "target" in checked(line)

    def test_what_a_call_of_an_assertion_fills_is_shown_with_that_call(self) -> None:
        source = """
            package sums

            func TestParse(t *testing.T) {
                var box Box
                require.NoError(t, Parse(&box))
                require.Equal(t, "milk", box.First)
            }
        """
        [line] = read(GO, source, "TestParse")
        codes = [each.code for each in slices(GO, line, len(line.steps) - 1, "box.First")]
        assert codes == ["var box Box", "var box Box\nParse(&box)"]

    def test_only_failing_subtests_and_new_rows_are_read(self) -> None:
        assert len(read(GO, self.TABLE, "TestParse", "TestParse/odd")) == 1
        lines = read(GO, self.TABLE, "TestParse", base='{ "plain",   "milk", 4, false },\n{"plain", "milk", 4, false}')
        assert ['"eggs"' in line.code for line in lines] == [True]

    def test_conditions_and_testify_give_what_they_check(self) -> None:
        source = """
            package sums

            func TestSum(t *testing.T) {
                if got := Sum(1, 2); got != 3 {
                    t.Errorf("wrong")
                }
                _, err := Read("x")
                if err == nil {
                    t.Fatal("no error")
                }
                require.Equal(t, 4, Sum(5))
                var found *Wrong
                if !errors.As(err, &found) {
                    t.Fatal(err)
                }
            }
        """
        [line] = read(GO, source, "TestSum")
        assert [(step.text, step.checked, step.raises) for step in line.steps] == [
            ("got := Sum(1, 2)", ("got",), False),
            ('_, err := Read("x")', (), False),
            ("", ("err",), True),
            ("", ("Sum(5)",), False),
            ("var found *Wrong", (), False),
            ("errors.As(err, &found)", ("err", "&found"), True),
        ]

    def test_functions_that_assert_are_written_out(self) -> None:
        source = """
            package sums

            func same(t *testing.T, in string, size int64, want int) {
                got := Parse(in, size)
                if got != want {
                    t.Errorf("got %d", got)
                }
            }

            func TestSame(t *testing.T) {
                for _, in := range []string{"milk", "eggs"} {
                    if in == "" {
                        continue
                    }
                    same(t, in, 5, 7)
                }
            }
        """
        milk, eggs = read(GO, source, "TestSame")
        assert milk.code.splitlines()[-1] == "got := Parse(in, size)"
        assert {'in := "milk"', "var size int64 = 5", "want := 7"} <= set(milk.code.splitlines())
        assert "continue" not in milk.code
        assert 'in := "eggs"' in eggs.code
        probe = GO.files("a_test.go", "package sums\n", {"0": milk})["a_test.go"]
        assert not GO.parse(probe).has_error

    def test_a_helper_of_another_file_goes_through_its_table(self) -> None:
        source = """
            package a

            func TestBold(t *testing.T) {
                tests := []row{{"**a**", "<b>a</b>"}, {"**b", "**b"}}
                doTests(t, tests, Params{})
            }
        """
        beside = """
            package a

            type Params struct{ Flags int }
            type row struct{ given, wanted string }

            func doTests(t *testing.T, tests []row, params Params) {
                params.Flags |= 2
                compare(t, tests, params)
            }

            func compare(t *testing.T, tests []row, params Params) {
                for _, test := range tests {
                    got := render(test.given, params)
                    if got != test.wanted {
                        t.Errorf("got %q, want %q", got, test.wanted)
                    }
                }
            }
        """
        base = 'doTests(t, tests, Params{})\n{"**a**", "<b>a</b>"}\n'
        [line] = GO.lines(dedent(source), ["TestBold"], base, [dedent(beside)])
        assert [step.text for step in line.steps if step.text] == [
            "var params Params = Params{}",
            "params.Flags |= 2",
            'got := render("**b", params)',
        ]
        assert checked(line) == ("got",)

    def test_rows_that_run_side_by_side_are_read_in_turn(self) -> None:
        source = """
            package a

            type pair struct{ in, want string }

            func TestBold(t *testing.T) {
                tests := []pair{{in: "a", want: "b"}}
                wg := sync.WaitGroup{}
                wg.Add(len(tests))
                for i, tt := range tests {
                    go func(i int, tt pair) {
                        defer wg.Done()
                        if got := render(tt.in); got != tt.want {
                            t.Errorf("%d: %s", i, got)
                        }
                    }(i, tt)
                }
                wg.Wait()
            }
        """
        [line] = read(GO, source, "TestBold")
        assert line.code.splitlines()[-1] == 'got := render("a")'
        assert "tests" not in line.code
        assert "got" in checked(line)

    def test_variables_that_nothing_uses_are_not_named(self) -> None:
        steps = (Step("a, err := One()"), Step("b, err := Two(a)"))
        assert [step.text for step in GO.tidy(steps, "b")] == ["a, _ := One()", "b, _ := Two(a)"]

    def test_an_error_that_was_declared_before_is_assigned(self) -> None:
        unread = (Step("err := One()"), Step("err = Two()"), Step("c := Three()"))
        assert [step.text for step in GO.tidy(unread, "c")] == ["_ = One()", "_ = Two()", "c := Three()"]
        steps = (Step("a, err := One()"), Step("b, err := Two(a)"))
        assert [step.text for step in GO.tidy(steps, "err")] == ["a, err := One()", "_, err = Two(a)"]
        inner = (steps[0], Step("b, err := Two(a)", depth=1))
        assert GO.tidy(inner, "err")[1].text == "_, err := Two(a)"

    def test_probes_that_do_not_compile_are_known_by_their_lines(self) -> None:
        line = Line("TestSum", (Step("x := Sum(1)", ("x",)),))
        source = GO.files("a/sums_test.go", "package sums\n", {"0": line, "7": line})["a/sums_test.go"]
        number = source[: source.index("TestCodegateProbe7")].count("\n") + 3
        assert GO.rejected_probes("a/sums_test.go", source, f"./sums_test.go:{number}:2: undefined: Sum") == {"7"}
        assert GO.rejected_probes("a/sums_test.go", source, f"./other_test.go:{number}:2: undefined: Sum") == set()

    def test_texts_are_printed_so_that_they_can_be_read(self) -> None:
        quoted = GO.render_example("a_test.go", "", (), "got", ("s", "a b"), ("s", ""))
        assert (quoted.expression, quoted.observed, quoted.expected) == ('fmt.Printf("%q\\n", got)', '"a b"', '""')
        assert GO.render_example("a_test.go", "", (), "got", ("s", "a\nb"), ("s", "")).observed == "a\nb"
        assert GO.render_example("a_test.go", "", (), "got", ("s", "a \nb"), ("s", "")).observed == '"a \\nb"'
        assert GO.render_example("a_test.go", "", (), "got", ("s", "a\n"), ("s", "a")).observed == '"a\\n"'
        assert (
            GO.render_example("a_test.go", "", (), "err", ("e", "no"), ("v", "<nil>")).expression == "fmt.Println(err)"
        )


class TestLines:
    def test_the_short_slice_has_what_the_value_needs_alone(self) -> None:
        steps = (
            Step("const other = open('x');"), Step("const list = new List();"), Step("list.add(1);"),
            Step("", ("list.pop()",)), Step("", ("list.size",)),
        )  # fmt: skip
        short, long = slices(JAVASCRIPT, Line("t", steps), 4, "list.size")
        assert short.code == "const list = new List();\nlist.add(1);"
        assert long.code == "const list = new List();\nlist.add(1);\nlist.pop()"

    def test_what_is_left_out_takes_the_names_along_that_are_for_it_alone(self) -> None:
        texts = ("const own = {loud: true};", "const bell = open();", "bell.set(own);", "const all = [bell];")
        line = Line("rings", (*map(Step, texts), Step("", ("bell.ring()",))))
        assert unneeded_steps(JAVASCRIPT, line) == [3, 2]
        assert [step.text for step in without_steps(JAVASCRIPT, line, [2]).steps] == [texts[1], texts[3], ""]
        assert [step.text for step in without_steps(JAVASCRIPT, line, [3]).steps] == [*texts[:3], ""]
        assert [step.text for step in without_steps(JAVASCRIPT, line, [2, 3]).steps] == [texts[1], ""]

    def test_the_same_literal_becomes_the_same_other_one_in_all_steps(self) -> None:
        given = Line("t", (Step("const cart = fill('milk', 12);"), Step("", ("cart.has('milk')",))))
        own, first, *others = found = probes_of(JAVASCRIPT, [given], frozenset(), frozenset(), "seed")
        assert probes_of(JAVASCRIPT, [given], frozenset(), frozenset(), "seed") == found
        assert own == replace(given, own=given.steps)
        word = first.steps[1].checked[0].partition("'")[2].partition("'")[0]
        assert word != "milk"
        assert first.steps[0].text == f"const cart = fill('{word}', 13);"
        assert given.steps not in [line.steps for line in others]

    @pytest.mark.parametrize(
        ("dialect", "public", "call", "other"),
        [
            (
                JAVASCRIPT,
                "at.in('Asia/Tokyo').show('utc');",
                "at.in('Europe/Paris').show()",
                "at.in('Asia/Tokyo').show()",
            ),
            (JAVASCRIPT, "show({zone: 'Asia/Tokyo'});", "list({zone: 'utc'})", "list({zone: 'Asia/Tokyo'})"),
            (OF_PYTHON[".py"], "show(1, zone='Asia/Tokyo')", "show(2, zone='utc')", "show(2, zone='Asia/Tokyo')"),
            (GO, 'show(1, "Asia/Tokyo")', 'x.show(2, "utc")', 'x.show(2, "Asia/Tokyo")'),
        ],
    )
    def test_an_argument_becomes_one_that_public_tests_give(
        self, dialect: Dialect, public: str, call: str, other: str
    ) -> None:
        """No random word is a time zone."""
        lines = probes_of(dialect, [Line("t", (Step("", (call,)),))], frozenset(), frozenset(), "seed", public)
        assert other in [line.steps[0].checked[0] for line in lines]

    def test_names_of_modules_and_words_of_the_source_stay(self) -> None:
        given = Line("t", (Step("const kit = require('./kitchen');"), Step("", ("kit.cook('simmer')",))))
        lines = probes_of(JAVASCRIPT, [given], frozenset({"simmer"}), frozenset(), "seed")
        assert all("'./kitchen'" in line.steps[0].text for line in lines)

    @pytest.mark.parametrize(
        ("number", "other"),
        [("12", "13"), ("9.5", "8.5"), ("1", "1"), ("0x1f", "0x1f"), ("1e3", "1e4"), ("1e-05", "1e-06"),
         ("0.00001", "0.00002"), ("1.29", "1.21"), ("1.0", "1.0"), ("7_000", "7001"), ("4u64", "5u64"),
         ("2.5f", "3.5f"), ("1_200L", "1201L"), ("1n", "1n"), ("0b11", "0b11")],
    )  # fmt: skip
    def test_decimal_numbers_alone_are_others(self, number: str, other: str) -> None:
        assert LiteralReplacer(Random(1), lambda _: True, numbers=True).number(number) == other

    def test_the_first_digit_of_a_number_is_another_one_too(self) -> None:
        """The next number is often another case: of 111, 112 and 113 none may stand for another of them."""
        given = Line("t", (Step("", ("ordinal(111)", "ordinal(112)")),))
        lines = probes_of(JAVASCRIPT, [given], frozenset(), frozenset(), "seed")
        assert ("ordinal(211)", "ordinal(212)") in [line.steps[0].checked for line in lines]

    def test_a_probe_that_is_no_program_costs_no_other(self) -> None:
        lines = {"0": Line("t", (Step("", ("sum(1)",)),)), "1": Line("t", (Step("", ("sum(1",)),))}
        text = JAVASCRIPT.files("a.test.js", "test('t', () => {});\n", lines)["a.test.js"]
        assert ("codegate probe 0;" in text, "codegate probe 1;" in text) == (True, False)

    def test_texts_of_several_lines_have_the_shape_of_one(self) -> None:
        assert shape_of(JAVASCRIPT, "parse('a: 1\\nb: 2\\n')") == shape_of(JAVASCRIPT, "parse('c')")

    def test_what_is_declared_anew_needs_nothing_from_before(self) -> None:
        steps = ("const $ = load(fruits);", "let found;", "const $ = load('<b>');", "found = $('b');")
        line = Line("t", (*map(Step, steps), Step("", ("found.size",))))
        short, _ = slices(JAVASCRIPT, line, 4, "found.size")
        assert short.code.splitlines() == list(steps[1:])

    def test_numbers_that_are_not_decimal_stay(self) -> None:
        given = Line("t", (Step("", ("total(0b11, 0xff, 'milk')",)),))
        lines = probes_of(JAVASCRIPT, [given], frozenset(), frozenset(), "seed")
        assert lines
        assert all(line.steps[0].checked[0].startswith("total(0b11, 0xff, '") for line in lines)

    def test_what_is_used_together_with_a_needed_name_leads_to_it_too(self) -> None:
        steps = ("w := &strings.Builder{}", 'k := New("walnut")', "k.Out = w", "_, err := k.Parse(1)", 'x := "quince"')
        line = Line("a", (*map(Step, steps), Step(checked=("w.String()",))))
        short, long = slices(GO, line, len(steps), "w.String()")
        assert [step.text for step in short.steps[:-1]] == [steps[0]]
        assert [step.text for step in long.steps[:-1]] == [*steps[:3], "_, _ = k.Parse(1)"]

    def test_what_a_helper_is_given_is_checked_where_it_is_a_result(self) -> None:
        helper = "func isNoErr(t *testing.T, err error) {\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"
        test = 'func TestA(t *testing.T) {\n\tisNoErr(t, Parse("walnut", &cfg))\n\tisNoErr(t, cfg.Err)\n}\n'
        source = f"package a\n\n{helper}\n{test}"
        base = source.replace('"walnut", ', "")
        [line] = read(GO, source, "TestA", base=f"{base}\nisNoErr(t, cfg.Err)")
        assert checked(line) == ('Parse("walnut", &cfg)', "cfg.Err")

    def test_assertions_are_methods_too(self) -> None:
        source = """
            package a

            func TestA(t *testing.T) {
                r := require.New(t)
                r.NoError(box.Open("walnut"))
                for _, tt := range []struct{ name string }{{"quince"}} {
                    r.Equal("q", box.First(tt.name))
                }
                box.Equal("plum")
            }
        """
        lines = read(GO, source, "TestA")
        assert [text for line in lines[1:] for text in checked(line)] == ['box.Open("walnut")', 'box.First("quince")']

    def test_what_asserts_a_panic_runs_the_function(self) -> None:
        source = """
            package a

            func TestA(t *testing.T) {
                assert.Panics(t, func() { box.Close("walnut") })
                assert.Equal(t, 1, box.Size())
            }
        """
        [line] = read(GO, source, "TestA")
        assert line.steps[0].text == 'func() {\n\tdefer func() { _ = recover() }()\n\tbox.Close("walnut")\n}()'

    def test_words_of_a_text_are_replaced_one_by_one_too(self) -> None:
        given = Line("a", (Step(checked=('parse(\'name="shelf" sort="up"\')',)),))
        lines = probes_of(JAVASCRIPT, [given], frozenset({"shelf"}), frozenset(), "seed")
        texts = [line.steps[0].checked[0] for line in lines]
        assert any("name=" in text and "sort=" in text and "shelf" not in text for text in texts)

    def test_keys_of_a_go_tag_stay(self) -> None:
        pieces = LiteralReplacer(Random(3), lambda _: True, numbers=True)
        assert pieces.text('env:"WALNUT" envDefault:"plum"').split('"')[::2] == ["env:", " envDefault:", ""]

    def test_a_word_that_programs_know_is_replaced_alone(self) -> None:
        given = Line("a", (Step(checked=("width('auto', 'walnut')",)),))
        texts = [line.steps[0].checked[0] for line in probes_of(JAVASCRIPT, [given], frozenset(), frozenset(), "seed")]
        assert [text for text in texts if "auto" not in text and "walnut" in text]
        assert not [text for text in texts if "auto" not in text and "walnut" not in text]

    def test_two_short_words_do_not_become_one(self) -> None:
        pieces = LiteralReplacer(Random(3), lambda _: True, numbers=True)
        assert len({pieces.text(letter) for letter in "abcdefgh"}) == 8


class TestGates:
    HIDDEN = "it('greets', () => { expect(greet('a stranger')).toBe('welcome, a stranger'); });\n"

    def test_sentences_may_not_show_literals_of_the_failing_file(self) -> None:
        cut = cut_of({"greet.js": "x"}, {"greet.js": "y"}, {"greet.test.js": self.HIDDEN})
        tests = ("greet.test.js::greets",)
        assert failing_literals(cut, tests, "greets") == {"a stranger", "welcome, a stranger"}
        rules = leak_rules_of(cut, failing(tests), NO_INTERFACE, "")
        assert rules.reason("It should say welcome, a stranger.")

    def test_the_tag_of_a_go_field_counts_by_its_values(self) -> None:
        source = 'package a\n\nfunc TestA(t *testing.T) {\n\tvar c struct{ A int `env:"MAP" help:"A plum."` }\n}\n'
        assert literals_to_hide(cut_of({}, {}, {"a_test.go": source}), hidden_texts(literals_of(GO, source), "")) == {
            "A plum."
        }

    def test_what_names_or_explains_a_failure_is_no_hidden_literal(self) -> None:
        script = (
            "describe('all greetings', () => { it('is polite', () => { expect(greet('a stranger')).toBe(1); }); });"
        )
        text = (
            "package a\n\nfunc TestA(t *testing.T) {\n"
            '\tif Greet("a stranger") == 1 {\n\t\tt.Errorf("is rude")\n\t}\n}\n'
        )
        cut = cut_of({}, {}, {"a.test.js": script, "a_test.go": text})
        assert failing_literals(cut, ("a.test.js::all greetings > is polite",), "") == {"a stranger"}
        assert failing_literals(cut, ("a_test.go::TestA",), "") == {"a stranger"}

    def test_a_literal_that_the_fix_has_may_be_shown(self) -> None:
        tests = 'package a\n\nfunc TestA(t *testing.T) {\n\tcheck(t, "odd input", "is not comparable", "reserved")\n}\n'
        fix = 'package a\n\nvar errKey = "the key is not comparable"\nvar words = []string{"reserved"}\n'
        cut = cut_of({"a.go": "package a\n"}, {"a.go": fix}, {"a_test.go": tests})
        assert literals_to_hide(cut, hidden_texts(literals_of(GO, tests), "")) == {"odd input"}

    def test_texts_that_fix_and_failing_tests_share_are_told(self) -> None:
        fix = "exports.greet = (name) => 'welcome, a stranger';\n"
        cut = cut_of({"greet.js": "exports.greet = () => '';\n"}, {"greet.js": fix}, {"greet.test.js": self.HIDDEN})
        unit = unit_of(f"Fix greetings being empty{BODY}")
        found = write_statement(unit, cut, failing(("greet.test.js::greets",)))
        assert not isinstance(found, str)
        assert "These texts are expected exactly:\n\n- `welcome, a stranger`\n" in found.text

    def test_an_example_is_marked_with_its_language(self) -> None:
        cut = cut_of({"greet.js": "x"}, {"greet.js": "y"}, {"greet.test.js": self.HIDDEN})
        example = Example("", "greet('you')", "''", "'hi'", fence="js")
        found = write_statement(
            unit_of("Fix greetings being empty"), cut, failing(("greet.test.js::greets",)), examples=[example]
        )
        assert not isinstance(found, str)
        assert "```js\ngreet('you')\n```" in found.text


Opened = AbstractContextManager[Sandbox]


def examples(
    cut: Cut,
    sandboxes: Sandboxes,
    manifest: EnvironmentManifest,
    runner: RunnerName,
    *tests: str,
    beside: bool = True,
) -> list[Example]:
    """Return what is shown of tests; ``beside``: all that is found runs beside the tests too."""

    def opened(limits: ProblemLimits) -> Opened:
        return sandboxes.open(manifest, limits)

    selection = TestSelection(tuple({test.partition("::")[0] for test in tests}), runner=runner)
    validated = ValidatedChange(failing(tests), LIMITS, selection, True, 0.0, opened)
    public = "".join(file.data.decode() for file in cut.base.values())
    found = find_examples(cut, validated, public, "seed").examples
    if beside:
        assert unlike(cut, found, cut.base.overlay(cut.fix), validated) == set()
        assert unlike(cut, found, cut.base, validated) == {each.example for each in found}
    return examples_to_show(found, (), partial(steady_examples, cut, validated))[0]


def unlike(cut: Cut, found: list[FoundExample], tree: Tree, validated: ValidatedChange) -> frozenset[Example]:
    """Run the examples ``found`` beside the tests; return which give other values than after the fix."""
    report = validated.run(tree.overlay(cut.hidden).overlay(files_with_examples(cut, found, beside=True)))
    assert all(test in report.results for test in validated.outcomes.fail_to_pass)
    return changed_examples(found, report)


@pytest.fixture(scope="module")
def world(bwrap_backend: BubblewrapBackend) -> Iterator[tuple[Sandboxes, EnvironmentManifest]]:
    """An environment with Node alone."""
    sandboxes = sandboxes_of(bwrap_backend, WITH_NODE)
    yield sandboxes, WITH_NODE.manifest
    sandboxes.close()


@pytest.mark.bwrap
class TestRealJavaScript:
    WRONG = (
        "exports.join = (words, last = 'and') => words.slice(0, -1).join(', ') + words.at(-1);\n"
        "exports.first = (words) => words[0];\nexports.size = (n) => n;\n"
    )
    RIGHT = (
        "exports.join = (words, last = 'and') => `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;\n"
        "exports.first = (words) => { if (!words.length) throw new RangeError('no words'); return words[0]; };\n"
        "exports.size = (n) => { if (n !== 12) throw new RangeError('too large'); return n + 1; };\n"
    )
    TESTS = (
        "const { test } = require('node:test');\nconst assert = require('node:assert');\n"
        "const { first, join, size } = require('../lists');\n\n"
        "test('joins', () => {\n  const unused = 1;\n  const bread = 'pears';\n"
        "  assert.equal(join(['apples', bread]), 'apples and pears');\n});\n"
        "test('nothing', () => { assert.throws(() => first([], 77)); });\n"
        "test('file', () => {\n  const text = require('node:fs').readFileSync('package.json', 'utf8');\n"
        "  assert.match(join([text, 'plums']), / and /);\n});\n"
        "test('kit', () => {\n  const kit = require('./kit');\n"
        "  assert.match(join(kit.fruit('plums')), / and /);\n});\n"
        "test('size', () => { assert.equal(size(12), 13); });\n"
        "test('moment', () => { assert.match(join([String(process.hrtime()), 'plums']), / and /); });\n"
    )

    def test_what_is_shown_was_executed_and_has_other_values(
        self, world: tuple[Sandboxes, EnvironmentManifest]
    ) -> None:
        base = {"lists.js": self.WRONG, "package.json": "{}"}
        kit = "exports.fruit = (first) => [first, 'cherries'];\n"
        cut = cut_of(base, {"lists.js": self.RIGHT}, {"test/a.test.js": self.TESTS, "test/kit.js": kit})
        titles = ("joins", "nothing", "moment", "file", "kit", "size")
        every = examples(cut, *world, "node", *(f"test/a.test.js::{title}" for title in titles))
        # No example is what differs from run to run, what comes from a file or from a module that no reader has, or
        # what the fix raises for other values where the test asks for no error, as of ``size``.
        assert len(every) == 2
        found = {each.expression.partition("(")[0]: each for each in every}
        assert set(found) == {"join", "first"}
        joined = found["join"]
        assert joined.code.splitlines()[0] == "const { join } = require('./lists');"
        assert "unused" not in joined.code
        assert " and " not in joined.observed
        assert " and " in joined.expected
        assert not any(word in f"{joined.code}{joined.expression}" for word in ("apples", "pears"))
        assert (found["first"].observed, found["first"].expected) == ("undefined", "throws RangeError: no words")

    def test_a_name_that_has_another_value_in_a_block_is_not_shown(
        self, world: tuple[Sandboxes, EnvironmentManifest]
    ) -> None:
        body = "  const n = 30;\n  const m = n + 1;\n  for (const row of [[7], [9]]) {\n    const n = m + row[0];\n"
        test = f"test('block', () => {{\n{body}    assert.equal(size(n), n + 1);\n  }}\n}});\n"
        tests = {"test/a.test.js": self.TESTS[: self.TESTS.index("test('joins'")] + test}
        right = self.RIGHT.replace("if (n !== 12) throw new RangeError('too large'); ", "")
        cut = cut_of({"lists.js": self.WRONG, "package.json": "{}"}, {"lists.js": right}, tests)
        assert examples(cut, *world, "node", "test/a.test.js::block", beside=False) == []

    def test_long_functions_that_a_reader_has_are_named_and_not_repeated(
        self, world: tuple[Sandboxes, EnvironmentManifest]
    ) -> None:
        lines = "".join(f"  words.push('word {number}');\n" for number in range(12))
        head = "const last = 'figs';\nfunction basket(first) {\n  const words = [first, last];\n"
        basket = f"{head}{lines}  return words;\n}}\n"
        tests = "test('basket', () => { assert.match(join(basket('plums')), / and /); });\n"
        head = self.TESTS[: self.TESTS.index("test('joins'")] + basket
        base = {"lists.js": self.WRONG, "package.json": "{}", "test/a.test.js": head}
        cut = cut_of(base, {"lists.js": self.RIGHT}, {"test/a.test.js": head + tests})
        [found] = examples(cut, *world, "node", "test/a.test.js::basket", beside=False)
        assert found.code.splitlines() == [
            "const { join } = require('./lists');",
            "// basket, last: see test/a.test.js",
        ]


@pytest.mark.bwrap
class TestRealGo:
    WRONG = (
        'package shop\n\nimport (\n\t"errors"\n\t"strings"\n)\n\nfunc Join(words []string, last string) string {\n'
        '\treturn strings.Join(words, ", ")\n}\n\n'
        "func None(err error) bool {\n\treturn err == nil\n}\n\n"
        'func Allow(word string) error {\n\tif strings.HasSuffix(word, "--") {\n\t\treturn errors.New("no")\n\t}\n'
        "\treturn nil\n}\n\n"
        'func Check(word string) error {\n\tif word != "x" {\n\t\treturn errors.New("y")\n\t}\n\treturn nil\n}\n'
    )
    RIGHT = (
        WRONG.replace('", "', '" "+last+" "')
        .replace('!= "x"', '== "quince"')
        .replace('"y"', '"bad"')
        .replace('"--"', '"-"')
    )
    TESTS = (
        'package shop\n\nimport "testing"\n\nfunc TestJoin(t *testing.T) {\n'
        "\ttests := map[string]struct {\n\t\twords []string\n\t\twant  string\n\t}{\n"
        '\t\t"two": {[]string{"apples", "pears"}, "apples and pears"},\n\t}\n'
        "\tfor name, tt := range tests {\n\t\tt.Run(name, func(t *testing.T) {\n"
        '\t\t\tif got := Join(tt.words, "and"); got != tt.want {\n\t\t\t\tt.Errorf("got %q", got)\n\t\t\t}\n'
        "\t\t})\n\t}\n}\n\n"
        'func TestBytes(t *testing.T) {\n\tlimit := byte(255)\n\tif got := Join([]string{"a", "b"}, string(limit)); '
        'got != "x" {\n\t\tt.Error(got)\n\t}\n}\n\n'
        'func TestAllow(t *testing.T) {\n\terr := Allow("kale-")\n\tif None(err) {\n\t\tt.Fatal(err)\n\t}\n}\n\n'
        'func TestBad(t *testing.T) {\n\tif err := Check("quince"); err.Error() != "bad" {\n\t\tt.Error(err)\n\t}\n}\n'
    )

    def test_rows_are_run_and_what_does_not_compile_is_left_out(self, bwrap_backend: BubblewrapBackend) -> None:
        sandboxes = sandboxes_of(bwrap_backend, WITH_GO)
        base = {"shop.go": self.WRONG, "go.mod": MODULE}
        helper = "func cutLast(words []string) []string {\n\treturn words[:len(words)-1]\n}\n"
        helped = 'func TestHelped(t *testing.T) {\n\tif got := Join(cutLast([]string{"figs", "plums", "kale"}), "or"); '
        helped += 'got != "figs or plums" {\n\t\tt.Error(got)\n\t}\n}\n'
        hidden = {"shop_test.go": self.TESTS + helped, "helper_test.go": f"package shop\n\n{helper}"}
        cut = cut_of(base, {"shop.go": self.RIGHT}, hidden)
        tests = ("TestJoin/two", "TestAllow", "TestBytes", "TestBad", "TestHelped")
        found = examples(cut, sandboxes, WITH_GO.manifest, "go", *(f"shop_test.go::{test}" for test in tests))
        sandboxes.close()
        # With other words the fix gives ``TestBad`` no error, and its assertion panics.
        [joined, allowed] = sorted(found, key=lambda each: not each.code.startswith("got"))
        assert (allowed.observed, allowed.expected) == ("<nil>", "no")
        assert joined.code.startswith('got := Join([]string{"')
        assert joined.expression == 'fmt.Printf("%q\\n", got)'
        assert (", " in joined.observed, ", " in joined.expected) == (True, False)
        assert not any(word in f"{joined.code}{joined.expected}" for word in ("apples", "pears"))


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("calls $get($query) with %s", "calls $get(a) with 3"),
        ("$name.first (in $#%)", "Ada (in 2%)"),
        ("client.$ws() keeps $value", "client.$ws() keeps undefined"),
    ],
)
def test_the_title_of_a_table_is_a_pattern_of_the_names_of_its_rows(title: str, names: str) -> None:
    call = parse(f"test.each(rows)('{title}', f)", "javascript").named_children[0].named_children[0]
    assert re.fullmatch(title_pattern(call), names)
