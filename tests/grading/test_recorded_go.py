"""Go's tests in a recorded build: by the toolchain on PATH, with the project's options and caches."""

import shlex
import shutil
from pathlib import Path

import pytest

from codegate.grading import Sandboxes, TestReport, TestSelection, mark_tests
from codegate.languages.go.runners import GO
from codegate.sandbox import Toolchain
from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.grading.worlds import Files, Opener, Room, room_of, statuses, tree
from tests.kit.environment import MODULE, WITH_GO
from tests.kit.layer import make_layer, opener

HEAD = """\
package shop

import (
	"flag"
	"os"
	"testing"
	"time"
)

var _, _, _, _ = time.Now, os.Exit, flag.Int, testing.Short

"""

FILE = "shop_test.go"


def run(opened: Opener, content: Files, command: str = "go test ./...", **selection: object) -> TestReport:
    room = Room(opened, "go", {"go.mod": MODULE, "shop.go": "package shop\n"})
    return room.run(content, FILE, command=tuple(command.split()), **selection)


@pytest.fixture(scope="module")
def opened(go: Sandboxes) -> Opener:
    """Opens sandboxes with this machine's Go, and with what a build has compiled."""
    return room_of(go, WITH_GO).opened


TAGGED = "//go:build special\n\npackage shop\n\nfunc Two() int { return 2 }\n"
OPTIONS = """
var own = flag.Int("own", 0, "")

func TestOptions(t *testing.T) {
	if got := Two() + *own; got != 9 || !testing.Short() {
		t.Errorf("got %d", got)
	}
}

func TestFails(t *testing.T) { t.Fatal() }
"""


@pytest.mark.bwrap
def test_the_projects_options_count_and_tests_leave_their_marks(opened: Opener) -> None:
    content = {"tagged.go": TAGGED, FILE: HEAD + OPTIONS}
    marked = mark_tests(tree(content), (FILE,), "go")
    command = "go test -v -short -failfast -run Nothing -tags special -own=7 -count 3 ./... -timeout 1s"
    report = run(opened, content, command, copies=marked)
    assert statuses(report, FILE) == {"TestOptions": "passed", "TestFails": "failed"}, report.output
    assert report.proven
    assert report.receipts[f"{FILE}::TestOptions"]


@pytest.mark.bwrap
@pytest.mark.parametrize(
    "text",
    [
        "func TestPasses(t *testing.T) { go func() { time.Sleep(time.Second / 20); panic(1) }() }\n"
        "func TestMain(m *testing.M) { m.Run(); time.Sleep(time.Minute) }\n",
        "func TestPasses(t *testing.T) {}\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(1) }\n",
    ],
)
def test_a_package_that_fails_without_a_failing_test_proves_nothing(opened: Opener, text: str) -> None:
    report = run(opened, {FILE: HEAD + text})
    assert "--- PASS: TestPasses" in report.output
    assert (report.results, report.proven) == ({}, False)


@pytest.mark.full  # compiles the standard library for the race detector
@pytest.mark.bwrap
def test_a_race_detector_without_a_compiler_names_the_compiler(
    bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    """Go itself says only that cgo is off, and turning it on is no remedy."""
    go = shutil.which("go")
    assert go is not None
    home = "/opt/env/home"
    variables = {"GOPROXY": "off", "GOMODCACHE": f"{home}/go/pkg/mod", "GOCACHE": "/tmp/cache"}
    layer = make_layer(tmp_path, PATH=str(Path(go).resolve().parent), **variables)
    report = run(opener(bwrap_backend, layer, Toolchain("go", "")), {FILE: HEAD}, "go test -race ./...")
    assert 'C compiler "gcc" not found' in report.output


@pytest.mark.parametrize(
    ("command", "build", "test"),
    [
        ("go test -race ./...", ["-race"], []),
        ("make && go test -tags=a,b -v -coverprofile=c.out ./... | tee log", ["-tags=a,b"], []),
        ("go test -count 1 -tags integration -integration ./... -timeout 60s", ["-tags=integration"], ["-integration"]),
        ("gotestsum -- -race", [], []),
        ("go test ./pkg/... -parallel 4 -args -update=false x", [], ["-test.parallel=4", "-update=false", "x"]),
        (
            "go test -linkshared -race -buildvcs -tags integration ./...",
            ["-linkshared", "-race", "-tags=integration"],
            [],
        ),
        ("go test --short -ldflags {files}", ["-ldflags"], ["-test.short"]),
        ("go test -ldflags '-X main.v=1' -run -x -own ./...", ["-ldflags=-X main.v=1"], ["-own"]),
    ],
)
def test_which_options_the_compiler_gets_and_which_the_tests(command: str, build: list[str], test: list[str]) -> None:
    selection = TestSelection(("a_test.go",), runner="go", command=tuple(shlex.split(command)))
    settings = GO.command(selection, ("a_test.go",), "0" * 32).stdin.decode()
    assert f'"build_options": {build}'.replace("'", '"') in settings
    assert f'"test_options": {test}'.replace("'", '"') in settings
