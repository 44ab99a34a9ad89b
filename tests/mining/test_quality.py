from collections.abc import Sequence
from dataclasses import replace

import pytest

from codegate.languages.lines import Line
from codegate.mining.examples.example import Example, FoundExample, choose_examples, public_text
from codegate.mining.examples.search import find_examples
from codegate.mining.proving.outcomes import without_undisclosed
from codegate.mining.proving.parts import partial_fixes
from codegate.mining.proving.quality import (
    MAX_CHANGES,
    PartialRun,
    examples_to_show,
    has_example_of,
    measure_quality,
    required_texts,
    run_partial_fixes,
    undisclosed_tests,
)
from codegate.mining.proving.validation import OpenSandbox, ValidatedChange
from codegate.suite import Tree, TreeFile
from tests.mining.statement_world import cut_of, failing, validate_cut

GAP = "".join(f"# line {number}\n" for number in range(12))
OLD = f"def double(n):\n    return n\n\n{GAP}\ndef half(n):\n    return n\n\n{GAP}\ndef square(n):\n    return n\n"
NEW = OLD.replace("return n\n", "return 2 * n\n", 1)[::-1].replace("return n\n"[::-1], "return n * n\n"[::-1], 1)[::-1]
NEW = NEW.replace("def half(n):\n    return n\n", "def half(n):\n    return n // 2\n")
TESTS = """\
import calc

def test_double():
    assert calc.double(3) == 6

def test_square():
    assert calc.square(3) == 9
"""


def parts(old: str, new: str, changes: int = 6, path: str = "calc.py", statements: int = 6) -> list[str]:
    """Return what partial fixes make of one file."""
    base = Tree({path: TreeFile(old.encode())})
    found = partial_fixes(base, {path: TreeFile(new.encode())}, changes, statements)
    return [file.data.decode() for changes in found for file in changes.values() if file is not None]


class TestPartialFixes:
    def test_each_change_is_left_out_once(self) -> None:
        assert parts(OLD, NEW) == [
            NEW.replace("return 2 * n", "return n"),
            NEW.replace("return n // 2", "return n"),
            NEW.replace("return n * n", "return n"),
        ]

    def test_each_added_statement_is_left_out_once(self) -> None:
        old = "def take(box, n):\n    return box[n]\n"
        head = "    # Boxes\n    if not box:\n        raise ValueError\n"
        new = old.replace("    return", f"{head}    n = n % len(box)\n    if n > 9:\n        n = 0\n    return")
        assert parts(old, new) == [
            new.replace("raise ValueError", "pass"),
            new.replace("    n = n % len(box)\n", ""),
            new.replace("n = 0", "pass"),
        ]
        assert parts(old, new, statements=0) == []

    def test_a_line_of_a_table_is_a_statement_and_one_of_go_is_too(self) -> None:
        assert parts("names = (\n    'a',\n)\n", "names = (\n    'a',\n    'b',\n    'c',\n)\n") == [
            "names = (\n    'a',\n    'c',\n)\n",
            "names = (\n    'a',\n    'b',\n)\n",
        ]
        old = "package a\n\nfunc f(m M) error {\n\treturn nil\n}\n"
        new = old.replace("\treturn", "\tif m == nil {\n\t\treturn wrong\n\t}\n\tm.clear()\n\treturn")
        assert parts(old, new, path="a.go") == [new.replace("\t\treturn wrong\n", ""), new.replace("\tm.clear()\n", "")]

    def test_nothing_is_left_out_that_does_nothing_or_that_nothing_runs_without(self) -> None:
        old = "def f(a):\n    return a\n"
        new = "import re\n\n\ndef g(a):\n    return re.sub(a)\n\n\ndef f(a):\n    # Half\n    b = 3\n"
        new += "    return g(a) + b\n"
        assert parts(old, new) == [new.replace("    # Half\n    b = 3\n    return g(a) + b\n", "    return a\n")]

    def test_files_are_changes_and_the_whole_fix_is_no_part_of_itself(self) -> None:
        base = Tree({"old.py": TreeFile(b"x = 1\n"), "kept.py": TreeFile(b"y = 1\n")})
        added, gone = {"new.py": TreeFile(b"z = 1\n")}, {"old.py": None}
        assert list(partial_fixes(base, added, 3, 3)) == []
        assert next(partial_fixes(base, {**added, **gone}, 3, 3)) == added

    def test_of_many_changes_some_are_left_out_from_begin_to_end(self) -> None:
        lines = [f"line {number}\n" for number in range(400)]
        new = [line.replace("line", "word") if number % 20 == 0 else line for number, line in enumerate(lines)]
        found = parts("".join(lines), "".join(new), MAX_CHANGES, "a.txt")
        assert len(found) == MAX_CHANGES
        left = [
            number for text in found for number, line in enumerate(text.splitlines())
            if number % 20 == 0 and line.startswith("line")
        ]  # fmt: skip
        assert left == [0, 40, 100, 140, 200, 240, 300, 340]

    def test_a_file_that_is_deeply_nested_has_parts_too(self) -> None:
        old = f"n = {'+'.join(['1'] * 900)}\n\n\ndef f(a):\n    return a\n"
        new = old.replace("    return", "    a.x()\n    a.y()\n    return")
        assert parts(old, new) == [new.replace("    a.x()\n", ""), new.replace("    a.y()\n", "")]

    def test_no_newline_at_the_end_and_odd_bytes_are_kept(self) -> None:
        old, new = f"one\n{GAP}é two", f"ONE\n{GAP}é TWO"
        assert parts(old, new, path="a") == [f"one\n{GAP}é TWO", f"ONE\n{GAP}é two"]


class TestTold:
    FOUND = tuple(
        FoundExample(
            "t.py::test_a",
            (number,),
            "",
            Example("", f"f({number})", "1", "2"),
            ("2",),
            ("1",),
            Line("test_a", ()),
            (("", ""), ("", "")),
        )
        for number in range(4)
    )

    def run(self, tests: str, *examples: int) -> PartialRun:
        return PartialRun({}, frozenset(tests), frozenset(self.FOUND[number].example for number in examples))

    def test_an_example_is_added_that_notices_what_no_other_does(self) -> None:
        runs = [self.run("a", 0, 2), self.run("a", 2, 3)]
        examples, left = examples_to_show(self.FOUND, runs, list)
        assert [each.expression for each in examples] == ["f(0)", "f(2)"]
        assert left == []

    def test_a_test_asks_for_more_where_it_fails_and_every_example_gives_what_it_should(self) -> None:
        runs = [self.run("ab"), self.run("bc", 0)]
        examples, left = examples_to_show(self.FOUND, runs, list)
        assert (len(examples), left) == (1, runs[:1])

    def test_only_what_would_be_shown_is_confirmed_and_the_next_best_replaces_what_is_not_steady(self) -> None:
        asked = []

        def steady(found: Sequence[FoundExample]) -> list[FoundExample]:
            asked.append([each.example.expression for each in found])
            return [each for each in found if each is not self.FOUND[2]]

        examples, left = examples_to_show(self.FOUND, [self.run("a", 2, 3)], steady)
        assert asked == [["f(0)", "f(2)"], ["f(0)", "f(3)"]]
        assert ([each.expression for each in examples], left) == (["f(0)", "f(3)"], [])

    def test_a_part_that_no_test_notices_needs_no_example(self) -> None:
        examples, untold = examples_to_show(self.FOUND, [self.run("", 1)], list)
        assert (len(examples), len(untold)) == (1, 0)

    def test_of_the_graded_tests_one_is_of_an_example(self) -> None:
        example = replace(self.FOUND[0].example, tests=("t.py::test_a",))
        assert has_example_of({"t.py::test_a[1]", "t.py::test_b"}, [example])
        assert not has_example_of({"t.py::test_b"}, [example])

    def test_a_test_that_asks_for_more_is_not_graded(self) -> None:
        outcomes = without_undisclosed(failing(("a", "b")), {"b"})
        assert (outcomes.fail_to_pass, [each.id for each in outcomes.quarantined]) == (("a",), ["b"])
        assert outcomes.quarantined[0].quarantine.reason == "untold"
        assert set(outcomes.kinds) == {"a"}


@pytest.mark.sandbox
class TestRuns:
    def test_the_tests_see_so_much_of_the_fix(self, unboxed: OpenSandbox) -> None:
        cut = cut_of({"calc.py": OLD}, {"calc.py": NEW}, {"test_calc.py": TESTS})
        validated = validate_cut(cut, unboxed)
        assert isinstance(validated, ValidatedChange)
        runs = run_partial_fixes(cut, validated, [])
        assert [len(run.tests) for run in runs] == [1, 0, 1]
        quality = measure_quality(validated, runs, exact_texts=2, statement_words=30)
        assert (quality.hunk_coverage, quality.hunks) == (0.6667, 3)  # no test asks for half
        assert (quality.exact_texts, quality.statement_words, quality.command_clean) == (2, 30, True)
        assert quality.validation_seconds is not None

    def test_a_text_that_no_test_compares_with_anything_is_not_disclosed(self, unboxed: OpenSandbox) -> None:
        old = "def number(text):\n    return ''\n"
        new = "import re\n\ndef number(text):\n    return re.match(r'[-+]?\\d+', text)[0] + ' pieces'\n"
        tests = (
            "import re\nimport pytest\nfrom calc import number\n\n"
            "def test_number():\n    assert number('12.5') == '12 pieces'\n\n"
            "def faster():\n    return re.match(r'[-+]?\\d+', '1')\n\n"
            "@pytest.mark.parametrize('n', [pytest.param('7', id='small pieces')])\ndef test_small(n):\n"
            "    assert len(number(n)) == 8\n\n"
            "@pytest.mark.parametrize('text', ['3 pieces'])\ndef test_text(text):\n    assert number('3') == text\n"
        )
        cut = cut_of({"calc.py": old}, {"calc.py": new}, {"test_calc.py": tests})
        validated = validate_cut(cut, unboxed)
        assert isinstance(validated, ValidatedChange)
        texts = ("[-+]?\\d+", "12 pieces", "small pieces", "3 pieces", "elsewhere")
        assert required_texts(cut, validated, texts) == ("12 pieces", "3 pieces", "elsewhere")

    @pytest.mark.full
    def test_a_part_that_names_what_is_no_more_asks_for_no_example(self, unboxed: OpenSandbox) -> None:
        old = (
            "def size(n):\n    m = n\n    if abs(n) > 50:\n        # Large\n        return f'{m} large'\n"
            "    # Small\n    return f'{m} small'\n"
        )
        new = old.replace("m = n", "k = abs(n)").replace("{m}", "{k}")
        tests = (
            "from calc import size\n\ndef test_small():\n    assert size(-7) == '7 small'\n\n"
            "def test_large():\n    assert size(-77) == '77 large'\n"
        )
        cut = cut_of({"calc.py": old}, {"calc.py": new}, {"test_calc.py": tests})
        validated = validate_cut(cut, unboxed)
        assert isinstance(validated, ValidatedChange)
        found = find_examples(cut, validated, public_text(cut), "seed").examples
        small = [each for each in found if each.example.expected.endswith("small'")]
        examples, untold = examples_to_show(small, run_partial_fixes(cut, validated, small), list)
        assert (len(examples), len(untold)) == (1, 0)

    def test_an_example_of_each_thing_that_one_test_asks_for_is_shown(self, unboxed: OpenSandbox) -> None:
        old = "BAD = (\n    'file:',\n)\n\n\ndef link(url):\n    return '#' if url.startswith(BAD) else url\n"
        new = old.replace("    'file:',\n", "    'file:',\n    'walnut:',\n    'quince:',\n")
        tests = (
            "from calc import link\n\ndef test_link():\n    for url in ['walnut:one/apple', 'quince:two']:\n"
            "        assert link(url) == '#'\n"
        )
        cut = cut_of({"calc.py": old}, {"calc.py": new}, {"test_calc.py": tests})
        validated = validate_cut(cut, unboxed)
        assert isinstance(validated, ValidatedChange)
        found = find_examples(cut, validated, public_text(cut), "seed").examples
        first = choose_examples(found)
        examples, untold = examples_to_show(found, run_partial_fixes(cut, validated, found), list)
        assert (len(first), len(examples), len(untold)) == (1, 2, 0)
        alone = [each for each in found if replace(first[0], tests=()) == each.example][:1]
        left = examples_to_show(alone, run_partial_fixes(cut, validated, alone), list)[1]
        assert undisclosed_tests(cut, validated, left, ()) == {"test_calc.py::test_link"}
        # What a test of the base notices is what works today.
        older = replace(cut, base=cut.base.overlay({"test_calc.py": TreeFile(tests.encode())}))
        assert len(undisclosed_tests(older, validated, left, ())) == 0
        assert len(undisclosed_tests(older, validated, left, ("test_calc.py::test_link",))) == 1
