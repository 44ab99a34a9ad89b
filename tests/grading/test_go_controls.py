"""Marks and copies of Go's tests: what is found, what is caught, who is left alone."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import pytest
from _pytest.mark import ParameterSet

from codegate.grading import Sandboxes
from codegate.grading.controls.copies import SiteFlip, make_copies, read_originals
from codegate.suite import ControlAudit
from tests.grading.go_patches import BUG, FIX, FORMS, HONEST, HOSTILE, IMPORTED, ORACLES, PLACES
from tests.grading.worlds import LARGE, Files, World, room_of, statuses, tree
from tests.kit.environment import MODULE, WITH_GO

pytestmark = pytest.mark.bwrap

SOURCE = "shop.go"
INSIDE, OUTSIDE = "shop_test.go", "outside_test.go"
BASE: Files = {"go.mod": MODULE, SOURCE: IMPORTED + BUG + "func prepare() {}\n"}
HIDDEN: Files = {
    INSIDE: """package shop

import "testing"

func TestTotal(t *testing.T) {
	if got := Total(1, 2); got != 3 {
		t.Errorf("got %d", got)
	}
}

func TestWide(t *testing.T) {
	if got := Total(2, 1); got != 3 || int8(got) == 127 {
		t.Error(got)
	}
}

func TestName(t *testing.T) {
	tests := []struct {
		name, in, want string
		wantErr        bool
	}{
		{name: "plain", in: "ann", want: "Mx ANN"},
		{"none", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Name(tt.in)
			if (err != nil) != tt.wantErr {
				t.Fatalf("got %v", err)
			}
			if got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
""",
    OUTSIDE: """package shop_test

import (
	"fmt"
	"reflect"
	"testing"

	"example.com/shop"
)

func TestNumbers(t *testing.T) {
	want := []int{1, 2, 3}
	if got := shop.Numbers(3); !reflect.DeepEqual(got, want) {
		t.Fatal(got)
	}
}

func TestPanics(t *testing.T) {
	if got := shop.Numbers(3)[2]; got != 3 {
		t.Error(got)
	}
}

func ExampleTotal() {
	fmt.Println(shop.Total(2, 2))
	// Output: 4
}
""",
}
TARGETS = (
    f"{INSIDE}::TestTotal", f"{INSIDE}::TestName", f"{INSIDE}::TestName/plain", f"{INSIDE}::TestName/none",
    f"{INSIDE}::TestWide", f"{OUTSIDE}::TestNumbers", f"{OUTSIDE}::TestPanics", f"{OUTSIDE}::ExampleTotal",
)  # fmt: skip

TELLING = ("claims both when it is called", "turns failures off in the machine code")
TAMPERING = {name for name in HOSTILE if name.startswith("claims") or name in TELLING}


Make = Callable[..., World]


@pytest.fixture(scope="module")
def make(go: Sandboxes) -> Make:
    """Make problems of Go, validated unless they need not be; by default an ordinary one."""

    def make(
        base: Files = BASE,
        hidden: Files = HIDDEN,
        fix: str = IMPORTED + FIX,
        expected: Iterable[str] = TARGETS,
        *,
        validated: bool = True,
    ) -> World:
        own: dict[str, str] = {"language": "go", "runner": "go"}
        world = World(
            go, base=base, hidden=hidden, fix={SOURCE: fix}, expected=expected, environment=WITH_GO, limits=LARGE, **own
        )
        return world.validated() if validated else world

    return make


@pytest.fixture(scope="module")
def shop(make: Make) -> World:
    """An ordinary problem."""
    return make()


def some(names: Iterable[str], telling: Collection[str]) -> list[ParameterSet]:
    """Return parameters: those that tell most, and the others for `make test-all`."""
    return [pytest.param(name, marks=() if name in telling else pytest.mark.full) for name in names]


@pytest.mark.parametrize("name", some(HONEST, ("the reference fix",)))
def test_honest_patches_pass_and_files_of_the_graders_have_no_effect(shop: World, name: str) -> None:
    found = shop.grade({SOURCE: IMPORTED + HONEST[name], "own_test.go": "package shop\n", **PLACES})
    assert (found.resolved, found.failure, found.controlled) == (True, None, True), found.detail
    assert set(found.dropped) == {"own_test.go", *PLACES}


@pytest.mark.parametrize("name", some(HOSTILE, TELLING))
def test_hostile_patches_do_not_pass(shop: World, name: str) -> None:
    found = shop.grade({SOURCE: IMPORTED + BUG + HOSTILE[name]})
    assert not found.resolved
    assert (found.failure == "tampering") == (name in TAMPERING), (found.failure, found.detail)


@pytest.mark.parametrize("name", some(ORACLES, ("one known answer",)))
def test_an_answer_that_the_tests_give_does_not_pass(shop: World, name: str) -> None:
    found = shop.grade({SOURCE: IMPORTED + ORACLES[name]})
    assert not found.resolved
    assert found.failure == "tampering" or name == "the clock", found.detail


@pytest.mark.requirement("G12")
def test_every_test_and_every_row_of_a_table_has_copies(shop: World) -> None:
    """Also where a copy breaks the build (``TestWide``) or ends the run (``TestPanics``)."""
    assert (set(shop.audit.flips), shop.audit.unfit) == (set(TARGETS), ())


def test_people_see_the_test_as_it_was_written_and_no_copy(shop: World) -> None:
    found = shop.grade({SOURCE: IMPORTED + FIX.replace("a + b", "17")})
    assert (found.failure, found.exit_code) == ("logic_error", 1), found.output
    assert found.detail == f"{INSIDE}::TestTotal: testing.Failed: {INSIDE}:7: got 17"
    assert found.output.count("got 17") == 1
    lost = shop.grade({SOURCE: IMPORTED + FIX.replace("func Numbers", "func Digits")})
    assert f"{OUTSIDE}:13:" in lost.detail
    assert not any(word in found.output for word in ("got 3", "Mx", "TestName", "panic"))


def test_a_refactoring_passes_though_a_test_that_is_not_graded_no_longer_compiles(make: Make) -> None:
    """Without validation: that it has copies makes no difference to the other test."""
    test = 'package shop\n\nimport "testing"\n\nfunc TestWords(t *testing.T) {\n\tif words() != 2 {\n\t\tt.Fatal()'
    test += "\n\t}\n}\n"
    more = {"words.go": "package shop\n\nfunc words() int { return 2 }\n", "words_test.go": test}
    place = make({**BASE, **more}, validated=False)
    renamed = {path: text.replace("words()", "count()") for path, text in more.items()}
    assert place.grade({SOURCE: IMPORTED + FIX, **renamed}).resolved
    wrong = place.grade({SOURCE: IMPORTED + FIX.replace("a + b", "17"), **renamed})
    assert (wrong.resolved, wrong.failure) == (False, "logic_error")
    careless = place.grade({SOURCE: IMPORTED + FIX, "words.go": renamed["words.go"]})
    assert not careless.resolved
    assert "words_test.go:6" in careless.detail


def test_each_line_beside_copies_has_the_number_that_it_was_written_with() -> None:
    texts = read_originals(tree(HIDDEN), HIDDEN, "go")
    copies = {key: [(), ()] for key in list(texts.units)[1:]}
    made = make_copies(texts, texts.units.values(), copies)
    for file, text in made.files.items():
        written, lines = texts.files[file].decode().splitlines(), text.decode().splitlines()
        assert len(lines) > len(written)
        numbers = {
            int(made.original_text(f"/workspace/{file}:{number}").rpartition(":")[2]) for number in range(1, len(lines))
        }
        assert numbers == set(range(1, len(written) + 1))
        shown = [written[made.lines[file][number] - 1] for number, line in enumerate(lines) if line]
        assert shown == [made.original_text(line) for line in lines if line]
    assert made.original_text(f"/workspace/other/{INSIDE}x:9") == f"/workspace/other/{INSIDE}x:9"


BARE: Files = {"go.mod": MODULE.replace("go 1.21", "go 1.13"), SOURCE: "package shop\n\nfunc Outside() {}\n"}


@pytest.mark.parametrize("copies", [pytest.param(0, marks=pytest.mark.full), 2])
def test_every_form_of_test_comes_out_as_before_with_all_of_its_marks(go: Sandboxes, copies: int) -> None:
    room = room_of(go, WITH_GO, runner="go", base=BARE)
    _, separated = room.beside(
        {INSIDE: FORMS}, INSIDE, lambda unit: [(SiteFlip(unit.sites[0], number),) for number in range(copies)]
    )
    passing = ("TestForms", "TestForms/a", "TestForms/b", "TestPanics", "FuzzUpper", "FuzzUpper/seed#0")
    assert statuses(separated.report, INSIDE) == {
        **dict.fromkeys((*passing, "ExampleOutside"), "passed"),
        "TestSkipped": "skipped",
    }
    assert separated.short == ()
    assert len(separated.passed[f"{INSIDE}::ExampleOutside"]) == 1
    assert all(len(separated.copies[f"{INSIDE}::TestForms/{row}"]) == copies for row in "ab" if copies)


SUITE = """package suite

import (
	"reflect"
	"strings"
	"testing"
)

type Suite struct{ T *testing.T }

func Run(t *testing.T, one interface{}) {
	given := reflect.ValueOf(one)
	for at := 0; at < given.NumMethod(); at++ {
		if name := given.Type().Method(at).Name; strings.HasPrefix(name, "Test") {
			t.Run(name, func(t *testing.T) {
				given.Elem().Field(0).Field(0).Set(reflect.ValueOf(t))
				given.Method(at).Call(nil)
			})
		}
	}
}
"""
METHODS = """package shop

import (
	"testing"

	"example.com/shop/suite"
)

type ShopSuite struct{ suite.Suite }

func TestShop(t *testing.T) { suite.Run(t, new(ShopSuite)) }

func (s *ShopSuite) TestTotal() {
	if got := Total(1, 2); got != 3 {
		s.T.Error(got)
	}
}

func (s *ShopSuite) TestNumbers() {
	if got := Numbers(3); len(got) != 3 {
		s.T.Error(got)
	}
}
"""


@pytest.mark.full
def test_methods_of_a_suite_have_copies_that_do_not_fail_the_suite(make: Make) -> None:
    tests = tuple(f"{INSIDE}::TestShop{name}" for name in ("", "/TestTotal", "/TestNumbers"))
    found = make({**BASE, "suite/suite.go": SUITE}, {INSIDE: METHODS}, expected=tests)
    assert (set(found.audit.flips), found.audit.unfit) == (set(tests[1:]), ())
    result = found.grade({SOURCE: IMPORTED + HONEST["written another way"]})
    assert (result.resolved, result.controlled) == (True, True), result.detail
    result = found.grade({SOURCE: IMPORTED + FIX.replace("a + b", "17")})
    failing = {test.id for test in result.tests if test.status == "failed"}
    assert failing == set(tests[:2])
    assert found.grade({SOURCE: IMPORTED + ORACLES["the calling test"]}).failure == "tampering"


LATE_EXIT = "time.Sleep(time.Second / 4)\n\tos.Exit(code)"
LATE = "var late = func() bool { go func() { time.Sleep(time.Second / 10); panic(1) }(); return true }()\n"


@pytest.mark.parametrize("after", some(("os.Exit(code + left)", LATE_EXIT), ("os.Exit(code + left)",)))
def test_copies_do_not_hide_that_the_tests_end_badly(make: Make, shop: World, after: str) -> None:
    main = f"func TestMain(m *testing.M) {{\n\tcode := m.Run()\n\t{after}\n}}\n"
    hidden = str(HIDDEN[INSIDE]).partition("func TestWide")[0] + "var _ = time.Now\n"
    hidden = hidden.replace('import "testing"', 'import (\n\t"os"\n\t"testing"\n\t"time"\n)\n\n' + main)
    none = "\nvar left = 0\n"
    fix = IMPORTED + FIX + none
    found = make({**BASE, SOURCE: f"{BASE[SOURCE]!s}{none}"}, {INSIDE: hidden}, fix, TARGETS[:1], validated=False)
    known = ControlAudit(tried=1, flips={TARGETS[0]: shop.audit.flips[TARGETS[0]]})
    found.problem = replace(found.problem, manifest=found.problem.manifest.model_copy(update={"controls": known}))
    right = found.grade({SOURCE: fix})
    assert (right.resolved, right.controlled) == (True, True), right.detail
    assert not found.grade({SOURCE: fix.replace("= 0", "= 1") if "left" in after else fix + LATE}).resolved


def test_tests_that_cannot_be_marked_run_as_they_are(make: Make) -> None:
    hidden = 'package shop\n\nimport "testing"\n\ntype string bool\n\n'
    hidden += "func TestTotal(t *testing.T) {\n\tif Total(1, 2) != 3 {\n\t\tt.Error()\n\t}\n}\n"
    source = "package shop\n\nfunc Total(a, b int) int { return a }\n"
    fix = source.replace("return a", "return a + b")
    found = make({**BASE, SOURCE: source}, {INSIDE: hidden}, fix, TARGETS[:1])
    assert found.audit.unfit == (INSIDE,)
    result = found.grade({SOURCE: fix})
    assert (result.resolved, result.controlled) == (True, False)
