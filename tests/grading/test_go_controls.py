"""Receipts, hidden values and the control run of Go's tests: what is found, what is caught, who is left alone."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pytest
from _pytest.mark import ParameterSet

from codegate.grading import Grade, Sandboxes, TestReport, audit_controls, grade, run_tests
from codegate.grading.controls.control import controlled_tests, passes_mutant, unreceipted
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.search import find_sites
from codegate.grading.controls.sites import Mutant, Sites, mutants_of
from codegate.grading.testreport import TestSelection
from codegate.suite import EnvironmentManifest, Problem, ProblemLimits, make_patch
from tests.grading.go_patches import BUG, FIX, FORMS, HONEST, HOSTILE, IMPORTED, ORACLE, PLACES
from tests.grading.worlds import Files, tree
from tests.kit.environment import MODULE
from tests.kit.problem import changes, problem

pytestmark = pytest.mark.bwrap

LIMITS = ProblemLimits(seconds=120, memory_mb=2048, pids=256, disk_mb=512)
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

func ExampleTotal() {
	fmt.Println(shop.Total(2, 2))
	// Output: 4
}
""",
}
TARGETS = (
    f"{INSIDE}::TestTotal", f"{INSIDE}::TestName", f"{INSIDE}::TestName/plain", f"{INSIDE}::TestName/none",
    f"{OUTSIDE}::TestNumbers", f"{OUTSIDE}::ExampleTotal",
)  # fmt: skip

TELLING = ("claims both when it is called", "turns failures off in the machine code")
TAMPERING = {name for name in HOSTILE if name.startswith("claims") or name in TELLING}


@dataclass(frozen=True)
class Workshop:
    """Where Go is graded."""

    sandboxes: Sandboxes
    manifest: EnvironmentManifest

    def sites(self, content: Files, *test_files: str) -> Sites:
        return find_sites(tree(content), test_files, "go")

    def run(self, content: Files, *test_files: str, used: Instruments | None = None) -> TestReport:
        selection = TestSelection(test_files, runner="go", instruments=used)
        return run_tests(partial(self.sandboxes.open, self.manifest, LIMITS), tree(content), selection)

    def grade(self, change: Files) -> Grade:
        return grade(self.validated, tree(BASE), make_patch(tree(BASE), changes(change)), self.sandboxes)

    @cached_property
    def validated(self) -> Problem:
        """The problem, with the mutants that its fix fails."""
        audit = audit_controls(self.problem, tree(BASE), self.sandboxes, 2)
        manifest = self.problem.manifest.model_copy(update={"controls": audit})
        return replace(self.problem, manifest=manifest)

    @cached_property
    def problem(self) -> Problem:
        """What is graded."""
        return problem(
            "shop-1", self.manifest, hidden=changes(HIDDEN), fix=changes({SOURCE: IMPORTED + FIX}), wanted=TARGETS,
            language="go", runner="go", limits=LIMITS,
        )  # fmt: skip


@pytest.fixture(scope="module")
def workshop(go: tuple[Sandboxes, EnvironmentManifest]) -> Workshop:
    """An environment with Go."""
    return Workshop(*go)


def some(names: Iterable[str], telling: Collection[str]) -> list[ParameterSet]:
    """Return parameters: those that tell most, and the others for `make test-all`."""
    return [pytest.param(name, marks=() if name in telling else pytest.mark.full) for name in names]


@pytest.mark.parametrize("name", some(HONEST, ("the reference fix",)))
def test_honest_patches_pass_and_files_of_the_graders_have_no_effect(workshop: Workshop, name: str) -> None:
    found = workshop.grade({SOURCE: IMPORTED + HONEST[name], "own_test.go": "package shop\n", **PLACES})
    assert (found.resolved, found.failure, found.controlled) == (True, None, True), found.detail
    assert set(found.dropped) == {"own_test.go", *PLACES}


@pytest.mark.parametrize("name", some(HOSTILE, TELLING))
def test_hostile_patches_do_not_pass(workshop: Workshop, name: str) -> None:
    found = workshop.grade({SOURCE: IMPORTED + BUG + HOSTILE[name]})
    assert not found.resolved
    assert (found.failure == "tampering") == (name in TAMPERING), (found.failure, found.detail)


def test_an_answer_read_from_the_calling_test_does_not_pass(workshop: Workshop) -> None:
    found = workshop.grade({SOURCE: IMPORTED + ORACLE})
    assert (found.resolved, found.failure) == (False, "tampering"), found.detail


BARE: Files = {"go.mod": MODULE.replace("go 1.21", "go 1.13"), SOURCE: "package shop\n\nfunc Outside() {}\n"}


def statuses(report: TestReport) -> dict[str, str]:
    return {test: result.status for test, result in report.results.items()}


def test_instrumented_tests_come_out_as_before(workshop: Workshop) -> None:
    content = {**BARE, INSIDE: FORMS}
    sites = workshop.sites(content, INSIDE)
    used = instrument(sites)
    before, after = workshop.run(content, INSIDE), workshop.run(content, INSIDE, used=used)
    assert statuses(before) == statuses(after)
    assert {test.rpartition("::")[2] for test, status in statuses(after).items() if status == "passed"} == {
        "TestForms", "TestForms/a", "TestForms/b", "TestPanics", "FuzzUpper", "FuzzUpper/seed#0", "ExampleOutside",
    }  # fmt: skip
    assert set(before.receipts.values()) == {frozenset()}
    assert unreceipted(after, sites, used, list(after.results)) == []
    text = used.files[INSIDE].decode()
    assert text.count("\n") == FORMS.count("\n")
    assert "// Output:" in text


def test_right_code_fails_every_mutant(workshop: Workshop) -> None:
    content = {**BARE, INSIDE: FORMS}
    sites = workshop.sites(content, INSIDE)
    functions = {mutant.test: mutants_of(sites, (INSIDE, mutant.test)) for mutant in sites[INSIDE].mutants}
    assert set(functions) == {"TestForms", "TestPanics", "FuzzUpper", "ExampleOutside"}
    survivors: list[Mutant] = []
    for number in range(2):
        chosen = [mutants[-1 - number] for mutants in functions.values() if number < len(mutants)]
        used = instrument(sites, chosen)
        report = workshop.run(content, INSIDE, used=used)
        assert any(report.receipts.values())
        survivors += [each for each in chosen if statuses(report)[f"{INSIDE}::{each.test}"] == "passed"]
    assert survivors == []


def test_a_mutant_of_one_case_need_not_concern_the_others(workshop: Workshop) -> None:
    content = {**HIDDEN, "go.mod": MODULE, SOURCE: IMPORTED + FIX}
    sites = workshop.sites(content, INSIDE)
    of_the_table = mutants_of(sites, (INSIDE, "TestName"))[0]
    used = instrument(sites, [of_the_table])
    report = workshop.run(content, INSIDE, used=used)
    assert sorted(statuses(report).values()) == ["failed", "failed", "passed", "passed"]
    judged = controlled_tests(workshop.problem, sites)
    assert {f"{INSIDE}::TestName", f"{INSIDE}::TestName/none"}.intersection(judged) == {f"{INSIDE}::TestName"}
    assert not passes_mutant(f"{INSIDE}::TestName", report, report, sites, used)


def test_tests_that_cannot_be_instrumented_are_run_as_they_are(workshop: Workshop) -> None:
    source = (
        'package shop\n\nimport "testing"\n\ntype string bool\n\n'
        "func TestOdd(t *testing.T) {\n\tx := 5\n\tif x != 5 {\n\t\tt.Fatal()\n\t}\n}\n"
    )
    content = {**BARE, INSIDE: source}
    sites = workshop.sites(content, INSIDE)
    used = instrument(sites)
    report = workshop.run(content, INSIDE, used=used)
    assert statuses(report) == {f"{INSIDE}::TestOdd": "passed"}, report.output
    assert unreceipted(report, sites, used, list(report.results)) == [f"{INSIDE}::TestOdd"]
    assert report.proven
