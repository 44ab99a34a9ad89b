"""Go as mining sees it: what fails by chance is set aside, and what does not compile before a change is left out."""

from contextlib import closing
from datetime import date
from functools import partial

import pytest

from codegate.languages.go import LANGUAGE
from codegate.languages.go.environments import GoSupport
from codegate.mining.cut import Cut
from codegate.mining.languages import RunnerSettings
from codegate.mining.proving.validation import Trial, ValidatedChange, try_cut
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import ProblemLimits, Tree, TreeFile
from tests.kit.environment import MODULE, WITH_GO, sandboxes_of
from tests.mining.statement_world import validate_cut

DAY = date(2024, 5, 1)


def tree(**files: str) -> Tree:
    """Return a Go repository, each file by its path with ``__`` for ``/`` and ``_`` for ``.`` at its end."""
    named = {path.replace("__", "/"): text for path, text in files.items()}
    return Tree().overlay({_dotted(path): TreeFile(text.encode()) for path, text in named.items()})


def _dotted(path: str) -> str:
    stem, _, suffix = path.rpartition("_")
    return f"{stem}.{suffix}"


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


@pytest.mark.full  # test_flakes.py has it of Python
@pytest.mark.bwrap
def test_what_fails_by_chance_is_set_aside(bwrap_backend: BubblewrapBackend) -> None:
    def source(number: int) -> str:
        return f"package shop\n\nfunc Answer() int {{ return {number} }}\n"

    base = tree(go_mod=MODULE, shop_go=source(41))
    fix, hidden = tree(shop_go=source(42)), tree(shop_test_go=RANDOM)
    fixed = base.overlay(fix).overlay(hidden)
    parts = Cut(base, dict(hidden), dict(fix), fixed, ("shop_test.go",), (), 1)
    with closing(sandboxes_of(bwrap_backend, WITH_GO)) as sandboxes:
        found = validate_cut(parts, partial(sandboxes.open, WITH_GO.manifest), 3, support=GoSupport(LANGUAGE))

    assert isinstance(found, ValidatedChange), found
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
    base = tree(go_mod=MODULE, shop_go=wrong)
    fix = tree(shop_go=f'{right}\nfunc Name() string {{ return "SHOP" }}\n')
    hidden = tree(shop_test_go="\n".join((head, helper, new, asked)))
    parts = Cut(base, hidden, fix, base.overlay(fix), ("shop_test.go",), (), 1)
    go, settings = GoSupport(LANGUAGE), RunnerSettings("go")
    limits = ProblemLimits(seconds=240, memory_mb=2048, pids=512, disk_mb=1024)
    with closing(sandboxes_of(bwrap_backend, WITH_GO)) as sandboxes:
        opened = partial(sandboxes.open, WITH_GO.manifest)
        tried = try_cut(parts, opened, DAY, False, settings, limits, go.narrowed)
    assert isinstance(tried, Trial)
    assert tried.seen.outcomes.fail_to_pass == ("shop_test.go::TestTwice",)
    kept = tried.cut.hidden["shop_test.go"]
    assert kept is not None
    assert b"Name" not in kept.data
    assert b"strings" not in kept.data


def test_only_the_file_that_the_compiler_names_is_narrowed() -> None:
    test = TreeFile(b"package shop\n\nfunc TestName(t *testing.T) {\n\tName()\n}\n")
    tests = {"x_test.go": test, "sub/x_test.go": test}
    assert list(GoSupport(LANGUAGE).narrowed(tests, "./x_test.go:4:2: undefined: Name")) == ["x_test.go"]
    assert list(GoSupport(LANGUAGE).narrowed(tests, "sub/x_test.go:4:2: undefined: Name")) == ["sub/x_test.go"]
