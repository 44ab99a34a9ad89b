import time

import pytest

from codegate.mining.statements.interface import Interface, interface_of
from tests.mining.statement_world import cut_of

OLD = """\
import os

LIMIT = 3

def total(items, start=None):
    return sum(items)

class Sum:
    def __init__(self, items):
        self.items = items

    def add(self, item):
        self.items.append(item)
"""


def python(new: str, test: str, *, old: str = OLD, old_test: str = "", path: str = "src/pkg/sums.py") -> Interface:
    base = {path: old, "tests/test_sums.py": old_test} if old else {"tests/test_sums.py": old_test}
    return interface_of(cut_of(base, {path: old + new}, {"tests/test_sums.py": old_test + test}))


class TestPython:
    @pytest.mark.parametrize(
        ("new", "test", "signature"),
        [
            ("def mean(items, /, *, of: int = len(X), empty=None) -> float:\n    return secret\n", "pkg.mean([])",
             "pkg.sums.mean(items, /, *, of: int = ..., empty=None) -> float"),
            ("async def fetch(): pass\n", "fetch()", "async pkg.sums.fetch()"),
            ("class Mean(Sum):\n    def __init__(self, of=secret()): pass\n", "from pkg.sums import Mean",
             "class pkg.sums.Mean(Sum): __init__(self, of=...)"),
            ("@dataclass\nclass Point:\n    x: int = secret\n    y: str = ''\n", "Point(1)",
             "class pkg.sums.Point: x: int, y: str"),
            ("    def mean(self, of=1): pass\n", "Sum([]).mean()", "pkg.sums.Sum.mean(self, of=...)"),
            ("    @property\n    def size(self) -> int: pass\n", "x.size", "property pkg.sums.Sum.size -> int"),
            ("    @property\n    def size(self): pass\n    @size.setter\n    def size(self, n): pass\n", "x.size = 1",
             "property pkg.sums.Sum.size"),
            ("class Mean:\n    at: int = 1\n", "build(at=2)", "pkg.sums.Mean.at: int"),
            ("    @classmethod\n    def of(cls, *items, **more): pass\n", "Sum.of()",
             "classmethod pkg.sums.Sum.of(cls, *items, **more)"),
            ("    def _m(self):\n        self.mean = secret\n", "x.mean", "pkg.sums.Sum.mean"),
            ("MOST = secret\n", "from pkg.sums import MOST", "pkg.sums.MOST"),
            ("most: int = secret\n", "sums.most", "pkg.sums.most: int"),
            ("if os:\n    def inner(): pass\n", "inner()", "pkg.sums.inner()"),
            ("def mean(): pass\n", "mock.patch('pkg.sums.mean')", "pkg.sums.mean()"),
            ("def wide(x: '" + "y" * 100 + "'): pass\n", "wide()", "pkg.sums.wide(x: ...)"),
            ("def tick(`): pass\n".replace("`", "x='`'"), "tick()", "pkg.sums.tick(x=...)"),
            ("parser.add_argument('--dry-run', help=secret)\n", "run(['--dry-run'])", "command-line option --dry-run"),
            ("x = os.environ.get('SUMS_MODE')\n", "monkeypatch.setenv('SUMS_MODE', '1')",
             "environment variable SUMS_MODE"),
            ("total.most_of = secret\n", "total.most_of", "attribute most_of"),
            ("setattr(total, 'most_of', secret)\n", "total.most_of", "attribute most_of"),
            ("def f(**options):\n    options.pop('at_most')\n", "total(at_most=3)", "keyword argument at_most"),
        ],
    )  # fmt: skip
    def test_a_new_name_that_the_tests_use_is_given_without_its_body(self, new: str, test: str, signature: str) -> None:
        found = python(new, f"def test_x():\n    {test}\n")
        assert found.signatures == (signature,)
        assert found.unresolvable == ()
        assert "secret" not in found.block()

    def test_a_new_parameter_brings_the_whole_signature(self) -> None:
        base, test = {"pkg/a.py": "def total(items): pass\nclass A:\n    def __init__(self): pass\n"}, "tests/test_a.py"
        fix = {"pkg/a.py": "def total(items, start=secret): pass\nclass A:\n    def __init__(self, of=1): pass\n"}
        named = interface_of(cut_of(base, fix, {test: "total([], start=3)\n"}))
        assert named.signatures == ("pkg.a.total(items, start=...)",)
        assert named.names == {"total", "start"}
        assert interface_of(cut_of(base, fix, {test: "A(3)\n"})).signatures == (
            "class pkg.a.A: __init__(self, of=...)",
        )
        assert interface_of(cut_of(base, fix, {test: "x = 3\n"})).signatures == ()

    def test_a_new_parameter_of_a_private_function_is_not_given(self) -> None:
        old = "def _sum(items):\n    pass\n\ndef total(items, **options):\n    _sum(items, **options)\n"
        cut = cut_of(
            {"src/pkg/sums.py": old, "tests/test_sums.py": ""},
            {"src/pkg/sums.py": old.replace("_sum(items):", "_sum(items, start=0):")},
            {"tests/test_sums.py": "def test_x():\n    total([], start=1)\n"},
        )
        assert interface_of(cut).signatures == ()

    def test_another_name_of_a_parameter_is_not_given(self) -> None:
        old = "def mean(items, of):\n    pass\n"
        found = python(old.replace("of", "by"), "def test_x():\n    mean([], 1)\n", old=old)
        assert found == Interface()

    def test_parameters_of_overloads_are_known(self) -> None:
        overloads = "@overload\ndef total(items, start): pass\n@overload\ndef total(items, stop): pass\n"
        last = "def total(*given, **more): pass\n"
        found = python("", "def test_x():\n    total([], start=1)\n", old=overloads + last)
        assert found == Interface()
        base, fix = {"a.py": overloads + last}, {"a.py": overloads.replace("stop", "stop, step=1") + last}
        found = interface_of(cut_of(base, fix, {"tests/test_a.py": "total([], step=2)\n"}))
        assert found.signatures == ("a.total(items, stop, step=...)",)

    def test_an_attribute_is_not_told_when_only_the_parameter_is_used(self) -> None:
        base = {"a.py": "class A:\n    def __init__(self): pass\n"}
        fix = {"a.py": "class A:\n    def __init__(self, at=1):\n        self.at = at\n    def __len__(self): pass\n"}
        found = interface_of(cut_of(base, fix, {"tests/test_a.py": "A(at=2).__len__()\n"}))
        assert found.signatures == ("class a.A: __init__(self, at=...)",)

    def test_a_name_that_a_package_hands_on_is_given_with_its_place(self) -> None:
        fix = {"pkg/a.py": "def mean(items): pass\n", "pkg/__init__.py": "from pkg.a import mean\n"}
        found = interface_of(cut_of({"pkg/__init__.py": ""}, fix, {"tests/test_a.py": "from pkg import mean\n"}))
        assert found.signatures == ("from pkg import mean", "pkg.a.mean(items)")
        fix = {"pkg/__init__.py": "from decimal import Decimal\n"}
        found = interface_of(cut_of({"pkg/__init__.py": ""}, fix, {"tests/test_a.py": "from decimal import Decimal\n"}))
        assert found.signatures == ()

    @pytest.mark.parametrize(
        ("new", "test", "old_test"),
        [
            ("def mean(): pass\n", "def test_x():\n    total([])\n", ""),  # new, but no test uses it
            ("def mean(): pass\n", "", "def test_x():\n    x.mean()\n"),  # used by a test that was there already
            ("x = os.environ.get('HOME_OF_SUMS')\n", "def test_x(): pass\n", ""),
            ("x = os.environ.get('SUMS_SIZE')\n", "def test_x():\n    set('SUMS_SIZE')\n", "SIZE = 'SUMS_SIZE'\n"),
            ("from packaging import InvalidVersion\nInvalidVersion\n", "from packaging import InvalidVersion\n", ""),
            ("'at_most'\n", "at_most = 3\nprint(at_most)\n", ""),  # the test's own name
        ],
    )
    def test_what_the_tests_do_not_need_is_not_told(self, new: str, test: str, old_test: str) -> None:
        assert python(new, test, old_test=old_test) == Interface()

    def test_a_name_that_comes_about_at_run_time_cannot_be_told(self) -> None:
        found = python("Most = namedtuple('Most', 'at_most at_least')\n", "def test_x():\n    m.at_most\n")
        assert found.signatures == ()
        assert found.unresolvable == ("at_most",)
        assert found.undisclosed("Ask `at_most` for it.") == ()
        assert found.undisclosed("Ask `at_mosts` for it.") == ("at_most",)

    def test_names_of_a_file_that_cannot_be_read_cannot_be_told(self) -> None:
        test = "from pkg.fast import at_most\n"
        found = interface_of(cut_of({}, {"pkg/fast.pyx": "def at_most(int x): pass\n"}, {"tests/test_x.py": test}))
        assert found == Interface(unresolvable=("at_most",))

    def test_other_versions_of_python_are_read_and_so_is_what_is_whole_in_a_broken_file(self) -> None:
        test = "def test_x():\n    print 'x'\n    mean(3)\n\ndef test_y(:\n"
        found = python("def mean(items):\n    exec 'x' in {}\n\nclass (:\n", test)
        assert found.signatures == ("pkg.sums.mean(items)",)


class TestJavaScript:
    @pytest.mark.parametrize(
        ("new", "test", "signature"),
        [
            ("export function mean(items, of = secret(1, [2])) { return 1 }", "mean([])",
             "export function mean(items, of = ...)"),
            ("export async function mean({ a, b = secret } = {}) {}", "mean()",
             "export async function mean({ a, b = ... } = ...)"),
            ("export function mean(items: number[], of?: number): number | null {}", "mean([])",
             "export function mean(items: number[], of?: number): number | null"),
            ("export const mean = async (a, f = (x) => secret) => secret", "mean()", "export const mean(a, f = ...)"),
            ("export const most = secret;", "most", "export const most"),
            ("export class Mean extends Sum {\n  constructor(x) {}\n}", "new Mean()",
             "export class Mean: constructor(x)"),
            ("export default class Mean {}", "Mean", "export default class Mean"),
            ("export interface Mean {}", "let x: Mean", "export interface Mean"),
            ("function mean(a, b) {}\nmodule.exports = { total, mean }", "mean()", "export mean(a, b)"),
            ("exports.mean = function (a) {}", "sums.mean()", "exports.mean(a)"),
            ("function mean(a) {}\nexport { mean as average }", "average()", "export average(a)"),
            ("class A {\n  async meanOf(a, b = secret) {\n    return secret\n  }\n}", "x.meanOf()",
             "async meanOf(a, b = ...)"),
            ("Sum.prototype.meanOf = function (a) {}", "x.meanOf()", "meanOf(a)"),
            ("this.atMost = this.secret()", "x.atMost", "property atMost"),
            ("const mean = require('./mean')\nmodule.exports = { mean }", "mean()", "export mean"),
            ("if (options.atMost > secret) {}", "total([], { atMost: 3 })", "property atMost"),
        ],
    )  # fmt: skip
    def test_a_new_name_that_the_tests_use_is_given_without_its_body(self, new: str, test: str, signature: str) -> None:
        old = "export function total() {}\n"
        cut = cut_of(
            {"lib/sums.ts": old}, {"lib/sums.ts": old + new}, {"test/sums.test.ts": f"it('x', () => {{\n{test}\n}})"}
        )
        found = interface_of(cut)
        assert found.signatures == (signature,)
        assert "secret" not in found.block()

    def test_a_new_file_is_given_with_its_path(self) -> None:
        fix = {
            "functions/mean.js": "const mean = (items, of = secret) => secret\nmodule.exports = mean\n",
            "index.js": "const mean = require('./functions/mean')\nmodule.exports = { mean }\n",
        }
        found = interface_of(cut_of({"index.js": ""}, fix, {"test/mean.js": "const mean = require('..')\nmean()\n"}))
        assert found.signatures == ("export mean", "functions/mean.js: module.exports = mean(items, of = ...)")

    def test_what_is_only_in_a_text_or_a_comment_is_not_used(self) -> None:
        test = "it('mean of nothing', () => {})  // mean\n"
        assert interface_of(cut_of({}, {"a.js": "export const mean = 1"}, {"a.test.js": test})) == Interface()


class TestGo:
    @pytest.mark.parametrize(
        ("new", "test", "signature"),
        [
            ("func Mean(items []int) (float64, error) {\n\treturn secret\n}", "Mean(nil)",
             "func Mean(items []int) (float64, error)"),
            ("func (s *Sum) mean() int {}", "s.mean()", "func (s *Sum) mean() int"),
            ("type Mean struct {\n\tsecret int\n}", "Mean{}", "type Mean struct"),
            ("var ErrEmpty = errors.New(secret)", "sums.ErrEmpty", "var ErrEmpty"),
            ("const (\n\tMost = secret\n\tLeast\n)", "Least", "const Least"),
            ("const Most = secret", "map[string]int{Most: 1}", "const Most"),
            ("type options struct {\n\tAtMost  map[string]int // secret\n}", "options{AtMost: nil}",
             "field AtMost map[string]int"),
        ],
    )  # fmt: skip
    def test_a_new_name_that_the_tests_use_is_given_without_its_body(self, new: str, test: str, signature: str) -> None:
        old = "package sums\n\ntype options struct {\n}\n"
        cut = cut_of({"sums.go": old}, {"sums.go": old + new}, {"sums_test.go": f"func TestX(t *T) {{\n\t{test}\n}}\n"})
        assert interface_of(cut).signatures == (signature,)

    def test_a_method_of_a_new_type_that_no_test_names_is_not_given(self) -> None:
        new = "type netError struct {\n}\n\nfunc (e *netError) Error() string {\n\treturn secret\n}\n"
        base = {"a.go": "", "b.go": "func of(err error) string {\n\treturn err.Error()\n}\n"}
        cut = cut_of(base, {"a.go": new}, {"a_test.go": "func TestX(t *T) {\n\terr.Error()\n}\n"})
        assert interface_of(cut) == Interface()

    def test_a_changed_signature_is_given(self) -> None:
        old, new = "func (s *Sum) Mean(a int) {}\n", "func (s *Sum) Mean(a, b int) {}\n"
        base = {"a.go": old, "sum.go": "type Sum struct {}\n"}
        cut = cut_of(base, {"a.go": new}, {"a_test.go": "var x = of().Mean(1, 2)\n"})
        assert interface_of(cut).signatures == ("func (s *Sum) Mean(a, b int)",)

    def test_another_name_of_a_parameter_is_not_given(self) -> None:
        base = {"a.go": "func Mean(a int) int {}\n"}
        cut = cut_of(base, {"a.go": "func Mean(of int) int {}\n"}, {"a_test.go": "var x = Mean(1)\n"})
        assert interface_of(cut) == Interface()

    def test_a_member_that_the_fix_does_not_declare_is_another_packages(self) -> None:
        body = "(x lib.T) {\n\tx.AtMost()\n}\n"
        cut = cut_of({"a.go": ""}, {"a.go": f"func F{body}"}, {"a_test.go": f"func TestX{body}"})
        assert interface_of(cut) == Interface()


@pytest.mark.parametrize(
    ("suffix", "piece"),
    [
        ("py", "a.b(x="),
        ("ts", "export {a,"),
        ("go", "func ("),
        *(
            pytest.param(suffix, piece, marks=pytest.mark.full)
            for suffix, pieces in {
                "ts": ("export function a(", "a = (", "'", "/*"),
                "py": ("x\\\n",),
                "go": ("const (\n", "type a["),
            }.items()
            for piece in pieces
        ),
    ],
)
def test_hostile_sources_take_no_time(suffix: str, piece: str) -> None:
    check_time(suffix, piece, 100_000)


@pytest.mark.parametrize(("suffix", "piece"), [("ts", ".aB = "), ("ts", "a<b,")])
def test_what_is_nested_without_end_takes_time_by_the_square_of_its_size(suffix: str, piece: str) -> None:
    check_time(suffix, piece, 5_000)  # the one step of tree-sitter's error recovery that nothing interrupts


def check_time(suffix: str, piece: str, size: int) -> None:
    text = piece * (size // len(piece))
    started = time.process_time()
    interface_of(cut_of({}, {f"a.{suffix}": text}, {f"a_test.{suffix}": text}))
    assert time.process_time() - started < 15, "without the bound it takes minutes"
