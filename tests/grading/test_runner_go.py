"""Go's tests as they come out: statuses, subtests, what breaks a package, and what only looks like a result."""

import pytest

from codegate.grading import Sandboxes, TestReport
from tests.grading.worlds import Files, Room, room_of, statuses
from tests.kit.environment import MODULE, WITH_GO

pytestmark = pytest.mark.bwrap

SHOP = """package shop

func Total(a, b int) int { return a + b }
"""
PROJECT: Files = {"go.mod": MODULE, "shop.go": SHOP}


@pytest.fixture(scope="module")
def room(go: Sandboxes) -> Room:
    """A project in an environment with Go."""
    return room_of(go, WITH_GO, runner="go", base=PROJECT)


HEAD = 'package shop\n\nimport (\n\t"fmt"\n\t"testing"\n)\n\nvar _ = fmt.Sprint\n'


@pytest.fixture(scope="module")
def report(room: Room) -> TestReport:
    """One run of a package whose tests do what tests do, print results, and try to write them."""
    source = """package shop

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTotal(t *testing.T) { if Total(1, 2) != 3 { t.Fatal() } }
func TestWrong(t *testing.T) { fmt.Print("no line end"); t.Errorf("got %d", Total(1, 1)) }
func TestLater(t *testing.T) { t.Skip("not now") }
func TestTable(t *testing.T) {
	t.Run("a case", func(t *testing.T) { t.Parallel() })
	t.Run("b/c", func(t *testing.T) { t.Parallel(); t.Error("odd") })
}
func ExampleTotal() {
	fmt.Println(Total(2, 2))
	// Output: 4
}

// Since Go 1.26 ``t.Error("odd \\x1b[1m")`` is framed like this.
func TestOdd(t *testing.T) { fmt.Print("\\x0fodd \\x1b\\x1b[1m\\x0e\\n"); t.Fail() }

func TestPrints(t *testing.T) {
	fmt.Println("=== RUN   TestPrints/sub\\n--- PASS: TestPrints/sub (0.00s)\\nPASS\\nok")
	t.Log("\\x16--- PASS: TestPrints (0.00s)")
	t.Fail()
}

func TestWrites(t *testing.T) {
	parents, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, name := range parents {
		if file, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(file, "forged")
		}
	}
	for fd := 3; fd < 20; fd++ {
		os.NewFile(uintptr(fd), "").Write([]byte("forged\\n"))
	}
}

func TestAway(t *testing.T) {
	if c, err := net.DialTimeout("tcp", "192.0.2.1:80", time.Second); err == nil { c.Close() }
}
""".replace("\\", "\\")
    outside = 'package shop_test\n\nimport "testing"\n\nfunc TestOutside(t *testing.T) {}\n'
    other = 'package shop\n\nimport "testing"\n\nfunc TestNotAsked(t *testing.T) { t.Error() }\n'
    content = {"shop_test.go": source, "outside_test.go": outside, "other_test.go": other}
    return room.run(content, "shop_test.go", "outside_test.go")


def test_each_test_and_subtest_gets_its_own_result_whatever_it_prints(report: TestReport) -> None:
    passing = (
        "TestTotal",
        "TestTable/a_case",
        "ExampleTotal",
        "TestWrites",
        "TestAway",
        "outside_test.go::TestOutside",
    )
    failing = ("TestWrong", "TestTable", "TestTable/b/c", "TestOdd", "TestPrints")
    wanted = {**dict.fromkeys(passing, "passed"), **dict.fromkeys(failing, "failed"), "TestLater": "skipped"}
    assert statuses(report, "shop_test.go") == wanted
    assert (report.exit_code, report.proven, report.collection_errors) == (1, True, ())
    assert "got 2" in report.results["shop_test.go::TestWrong"].message
    assert report.crashes["shop_test.go::TestWrong"].parents == ("AssertionError",)

    assert report.results["shop_test.go::TestOdd"].message.splitlines()[0] == "odd \x1b[1m"
    assert "\x0f" not in report.output, "the framing has marks"


@pytest.mark.requirement("G6")
def test_an_attempt_to_reach_the_network_is_counted_without_a_hook(report: TestReport) -> None:
    assert not report.behaviour.watched
    assert report.behaviour.counts["network"] == 1


def test_a_test_that_takes_the_process_down_does_not_take_the_others_along(room: Room) -> None:
    source = HEAD + (
        "func TestBefore(t *testing.T) {}\n"
        "func TestPanic(t *testing.T) { var none map[string]int; none[fmt.Sprint(1)] = 1 }\n"
        'func TestElsewhere(t *testing.T) { done := make(chan int); go func() { panic("far away") }(); <-done }\n'
        "func TestAfter(t *testing.T) {}\n"
        "func TestGone(t *testing.T) {\n"
        '\tfmt.Println("--- PASS: TestGone (0.00s)")\n\tgo func() { panic("gone") }()\n\tselect {}\n}\n'
    )
    report = room.run({"deep/er/shop_test.go": source}, "deep/er/shop_test.go")
    assert statuses(report, "deep/er/shop_test.go") == {
        "TestBefore": "passed", "TestPanic": "failed", "TestElsewhere": "failed", "TestAfter": "passed",
        "TestGone": "failed",
    }  # fmt: skip
    assert report.proven
    assert "far away" in report.results["deep/er/shop_test.go::TestElsewhere"].message
    assert report.results["deep/er/shop_test.go::TestPanic"].exception == "panic"


def test_a_panic_fails_no_test_that_ran_in_parallel(room: Room) -> None:
    source = (
        'package shop\n\nimport (\n\t"testing"\n\t"time"\n)\n\nvar slow = make(chan bool)\n\n'
        "func TestSlow(t *testing.T) { t.Parallel(); close(slow); time.Sleep(time.Second) }\n"
        "func TestPanic(t *testing.T) {\n\tt.Parallel()\n"
        '\tselect {\n\tcase <-slow:\n\tcase <-time.After(2 * time.Second):\n\t}\n\tpanic("odd")\n}\n'
    )
    report = room.run({"shop_test.go": source}, "shop_test.go")
    assert statuses(report) == {"shop_test.go::TestSlow": "passed", "shop_test.go::TestPanic": "failed"}
    assert (report.proven, report.results["shop_test.go::TestPanic"].exception) == (True, "panic")


def test_a_package_that_does_not_compile_is_a_collection_error_of_its_files_alone(room: Room) -> None:
    broken = 'package shop\n\nimport "testing"\n\nfunc TestNew(t *testing.T) { Missing() }\n'
    fine = 'package fine\n\nimport "testing"\n\nfunc TestFine(t *testing.T) {}\n'
    content = {
        "a_test.go": broken, "fine/fine_test.go": fine,
        "odd/odd.go": "package odd\n\nfunc Odd() int { return true }\n",
        "odd/odd_test.go": fine.replace("package fine", "package odd"),
        "far/far.go": 'package far\n\nimport _ "example.com/nowhere"\n',
        "far/far_test.go": fine.replace("package fine", "package far"),
    }  # fmt: skip
    report = room.run(content, "a_test.go", "fine/fine_test.go", "odd/odd_test.go", "far/far_test.go")
    assert statuses(report) == {"fine/fine_test.go::TestFine": "passed"}
    crashes = {error.id: error.crash for error in report.collection_errors if error.crash is not None}
    assert {file: (crash.exception, crash.parents, crash.dependency) for file, crash in crashes.items()} == {
        "a_test.go": ("BuildFailed", (), None),
        "odd/odd_test.go": ("BuildFailed", ("SyntaxError",), None),
        "far/far_test.go": ("BuildFailed", (), "example.com/nowhere"),
    }
    assert "undefined: Missing" in crashes["a_test.go"].message


OLD = 'package shop\n\nimport "testing"\n\nfunc TestOld(t *testing.T) { old() }\n'
NEW = 'package shop\n\nimport "testing"\n\nfunc TestNew(t *testing.T) {}\n'


@pytest.mark.parametrize(
    ("more", "outdated"),
    [
        ({}, ()),
        ({"shop.go": "package shop\n\nfunc Odd() int { return true }\n"}, ("old_test.go", "shop.go")),
        ({"new_test.go": NEW + "\nfunc TestUses(t *testing.T) { TestOld(t) }\n"}, ("old_test.go",)),
        *(
            ({"old_test.go": OLD + text}, ("old_test.go",))
            for text in (
                "func TestMain(m *testing.M) {}\n",
                "func init() {}\n",
                "var hook = 1\n",
                'type T struct{}\n\nfunc (T) String() string { return "" }\n',
            )
        ),
        ({"old_test.go": OLD.replace("import", 'import _ "embed"\nimport')}, ("old_test.go",)),
    ],
)
def test_outdated_tests_that_do_not_compile_stay_if_others_may_need_them(
    room: Room, more: Files, outdated: tuple[str, ...]
) -> None:
    report = room.run({"old_test.go": OLD, "new_test.go": NEW, **more}, "new_test.go", outdated=outdated)
    assert report.results == {}
    (error,) = report.collection_errors
    assert error.crash is not None
    assert error.crash.exception == "BuildFailed"


def test_outdated_tests_that_do_not_compile_are_left_out(room: Room) -> None:
    content = {"old_test.go": OLD + "\nfunc help() {}\n", "new_test.go": NEW}
    report = room.run(content, "new_test.go", outdated=("old_test.go",))
    assert statuses(report) == {"new_test.go::TestNew": "passed"}
    assert report.proven


def test_an_early_exit_passes_nothing(room: Room) -> None:
    head = 'package shop\n\nimport (\n\t"os"\n\t"testing"\n)\n\n'
    source = head + "func TestQuit(t *testing.T) { os.Exit(0) }\n"
    main = head + "func TestMain(m *testing.M) { os.Exit(3) }\nfunc TestIt(t *testing.T) {}\n"
    content = {"shop_test.go": source, "quiet/q_test.go": main}
    for name, words in (("odd", 'panic("no prices")'), ("gone", "os.Exit(4)")):
        content[f"{name}/{name}.go"] = f'package shop\n\nimport "os"\n\nfunc init() {{ {words}; os.Getpid() }}\n'
        content[f"{name}/{name}_test.go"] = source
    report = room.run(content, *(file for file in content if file.endswith("_test.go")))
    assert statuses(report) == {"shop_test.go::TestQuit": "failed"}
    crashes = {error.id: error.crash for error in report.collection_errors if error.crash is not None}
    assert {file: (crash.exception, crash.message.splitlines()[0]) for file, crash in crashes.items()} == {
        "quiet/q_test.go": ("TestMainFailed", "the test process ended with status 3 before any test"),
        "odd/odd_test.go": ("panic", "panic: no prices"),
        "gone/gone_test.go": ("ProcessEnded", "the test process ended with status 4 before any test"),
    }


def test_order_and_company_can_be_varied(room: Room) -> None:
    source = HEAD + (
        "var seen []string\n"
        + "".join(
            f'func Test{name}(t *testing.T) {{ seen = append(seen, "{name}"); fmt.Println("SEEN", seen) }}\n'
            for name in "ABCDE"
        )
    )
    shuffled = room.run({"shop_test.go": source}, "shop_test.go", order="reversed", hash_seed=1)
    alone = room.run({"shop_test.go": source}, "shop_test.go", isolated=("shop_test.go::TestC",))
    assert "SEEN [A B C D E]" not in shuffled.output
    assert "SEEN [C]" in alone.output
    assert "SEEN [A B D E]" in alone.output
    assert statuses(shuffled) == statuses(alone) == {f"shop_test.go::Test{name}": "passed" for name in "ABCDE"}
