"""Maven and Gradle run the tests of a recorded build, and a failed build without a failed test proves nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from codegate.grading import Sandboxes, TestReport, TestSelection, run_tests
from codegate.grading.controls.copies import Copies, Variant
from codegate.grading.runners import find_runner
from codegate.languages.controls import EditableTest
from codegate.suite import TreeFile
from tests.grading.worlds import room_of, statuses, tree

CART, OTHER = "web/src/test/java/org/shop/CartTest.java", "web/src/test/java/org/shop/OtherTest.java"
REPORT = """<testsuite name="org.shop.CartTest$Empty" tests="7">
  <testcase name="adds" classname="org.shop.CartTest" time="0.5"/>
  <testcase name="old()" classname="org.shop.CartTest"/>
  <testcase name="rows(int)[1]" classname="org.shop.CartTest"/>
  <testcase name="isWrong" classname="org.shop.CartTest"><failure message="the sum ==&gt; expected: &lt;3&gt;"
    type="org.opentest4j.AssertionFailedError">org.opentest4j.AssertionFailedError: the sum
	at org.shop.CartTest.isWrong(CartTest.java:8)</failure></testcase>
  <testcase name="breaks" classname="org.shop.CartTest"><error message="no cart"
    type="java.lang.IllegalStateException">java.lang.IllegalStateException: no cart</error></testcase>
  <testcase name="isSkipped" classname="org.shop.CartTest"><skipped/></testcase>
  <testcase name="isNothing" classname="org.shop.CartTest$Empty"/>
  <testcase name="isSteady" classname="org.shop.CartTest"><flakyFailure type="java.lang.AssertionError"/></testcase>
  <testcase name="ofGradle" classname="org.shop.CartTest"><failure message="java.lang.AssertionError: 3"
    type="java.lang.AssertionError">java.lang.AssertionError: 3</failure></testcase>
  <testcase name="another" classname="org.shop.StrangerTest"/>
</testsuite>
"""
PASSED = '<testsuite><testcase name="adds" classname="org.shop.CartTest"/></testsuite>'
#: Stands in for Maven: it prints what it is given, and writes the reports that there are, once the tests compile.
MAVEN = """#!/usr/bin/env python3
import os, pathlib, sys
print("[INFO]", sys.argv[1:])
test = pathlib.Path("web/src/test/java/org/shop/CartTest.java").read_text()
if "absent" in test:
    place, _, message = test.partition(" ")[2].partition(" ")
    print("[INFO] -----\\n[ERROR] /workspace/web/src/%s:[7,43] %s\\n" % (place, message or "cannot find symbol"))
    sys.exit(1)
print(pathlib.Path("printed").read_text(), flush=True)
folder = pathlib.Path("web/target/surefire-reports")
folder.mkdir(parents=True)
for path in pathlib.Path(".").glob("*.xml"):
    (folder / ("TEST-%s" % path.name)).write_text(path.read_text())
sys.exit(int(pathlib.Path("status").read_text()))
"""


Run = Callable[..., TestReport]


@pytest.fixture
def run(sandboxes: Sandboxes) -> Run:
    """Runs the program that stands in for Maven."""

    def run(*files: str, status: int = 0, copies: Copies | None = None, **texts: str) -> TestReport:
        content = tree({CART: "", "status": str(status), "printed": "", **texts})
        content = content.overlay({"mvn": TreeFile(MAVEN.encode(), "100755")})
        selection = TestSelection(files, runner="maven", command=("./mvn",), copies=copies or Copies())
        return run_tests(room_of(sandboxes).opened, content, selection)

    return run


def settings(runner: str, *files: str, **given: Any) -> dict[str, Any]:
    """Return what the driver is told."""
    command = find_runner(runner).command(TestSelection(files, runner=runner, **given), files, "token")
    return dict(json.loads(command.stdin))


@pytest.mark.bwrap
def test_results_are_those_of_the_selected_classes_by_file_and_method(run: Run) -> None:
    report = run(CART, status=1, **{"cart.xml": REPORT})
    assert statuses(report, CART) == {
        "adds": "passed",
        "old": "passed",
        "rows(int)[1]": "passed",
        "isWrong": "failed",
        "breaks": "error",
        "isSkipped": "skipped",
        "Empty.isNothing": "passed",
        "isSteady": "passed",
        "ofGradle": "failed",
    }
    assert report.proven
    assert report.results[f"{CART}::ofGradle"].message == "3"
    assert report.results[f"{CART}::isWrong"].exception == "java.lang.AssertionError"
    wrong, broken = report.crashes[f"{CART}::isWrong"], report.crashes[f"{CART}::breaks"]
    assert (wrong.exception, wrong.message, wrong.parents) == (
        "java.lang.AssertionError", "the sum ==> expected: <3>", ("AssertionError",)
    )  # fmt: skip
    assert (broken.exception, broken.message, broken.parents) == ("java.lang.IllegalStateException", "no cart", ())


@pytest.mark.bwrap
def test_passes_are_unknown_where_the_build_fails_without_a_failed_test(run: Run) -> None:
    assert run(CART, status=0, **{"cart.xml": PASSED}).results
    report = run(CART, status=1, **{"cart.xml": PASSED})
    assert not report.results
    (error,) = report.collection_errors
    assert (error.id, error.exception) == (CART, "NoReport")


@pytest.mark.bwrap
def test_a_class_that_is_not_reported_takes_no_other_along(run: Run) -> None:
    report = run(CART, OTHER, status=1, **{"cart.xml": REPORT, OTHER: ""})
    assert report.results[f"{CART}::adds"].status == "passed"
    assert [error.id for error in report.collection_errors] == [OTHER]


@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("place", "parents"),
    [
        ("test/java/org/shop/CartTest.java", ()),
        ("test/java/org/shop/NotSelectedTest.java", ()),
        ("main/java/org/shop/Cart.java", ("SyntaxError",)),
    ],
)
def test_what_does_not_compile_is_the_fault_of_its_file(run: Run, place: str, parents: tuple[str, ...]) -> None:
    report = run(CART, **{CART: f"absent {place}", "old.xml": PASSED})
    (error,) = report.collection_errors
    assert error.crash is not None
    assert (error.crash.message, error.crash.parents) == (f"web/src/{place}: cannot find symbol", parents)


@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("package", "dependency"),
    [("org.apache.commons.lang3", "org.apache.commons.lang3"), ("org.shop.vendor", None), ("price", None)],
)
def test_an_absent_package_is_a_missing_dependency_unless_it_is_the_projects_own(
    run: Run, package: str, dependency: str | None
) -> None:
    text = f"absent main/java/org/shop/Cart.java package {package} does not exist"
    (error,) = run(CART, **{CART: text}).collection_errors
    assert error.crash is not None
    assert (error.crash.dependency, error.crash.parents) == (dependency, () if dependency else ("SyntaxError",))


def test_options_of_the_project_are_kept_and_its_goals_are_not() -> None:
    command = ("./mvnw", "-Pci", "-P", "fast", "clean", "verify", "-Dx=y", "--offline", "-pl", "all", "-Dtest=Old")
    given = settings("maven", CART, OTHER, command=command, order="reversed", hash_seed=7)
    assert given["command"][:10] == [
        "./mvnw", "-o", "-B", "-Pci", "-P", "fast", "-Dx=y", "test",
        "-Dtest=org.shop.CartTest,org.shop.OtherTest", "-DreuseForks=false",
    ]  # fmt: skip
    assert given["command"][given["command"].index("-pl") :][:3] == ["-pl", "web", "-am"]
    assert "-Djunit.jupiter.execution.order.random.seed=7" in given["command"]
    assert given["reports"] == ["web/target/surefire-reports"]


def test_a_module_is_named_from_the_folder_of_the_recipe() -> None:
    given = settings("maven", CART, folder="web")
    assert "-pl" not in given["command"]
    assert (given["folder"], given["reports"]) == ("web", ["target/surefire-reports"])


def test_gradle_runs_a_class_at_a_time_and_takes_no_kept_result() -> None:
    command = ("./gradlew", "build", "--build-cache", "-x", "lint", "-Px=y", "--tests", "Old")
    given = settings("gradle", CART, command=command)
    assert given["command"] == [
        "./gradlew", "--offline", "--no-daemon", "--no-build-cache", "--console=plain", "-Px=y",
        ":web:test", "--tests", "org.shop.CartTest", "--tests", "org.shop.CartTest$*",
    ]  # fmt: skip
    assert given["reports"] == ["web/build/test-results/test"]
    assert find_runner("gradle").batches((CART, OTHER)) == ((CART,), (OTHER,))
    assert find_runner("maven").batches((CART, OTHER, "src/test/java/ATest.java")) == (
        (CART, OTHER), ("src/test/java/ATest.java",)
    )  # fmt: skip


ADDS = EditableTest(file=CART, name="adds", span=(0, 0), word=(0, ""), marks=(), sites=())
COPIES = Copies(variants={word: Variant(ADDS)
                          for word in ("0123456789ab", "ba9876543210")})  # fmt: skip
COPIED = """<testsuite><testcase name="adds_0123456789ab" classname="org.shop.CartTest"/>
<testcase name="adds_ba9876543210" classname="org.shop.CartTest"><failure message="3"
  type="java.lang.AssertionError">java.lang.AssertionError: 3</failure></testcase></testsuite>"""


@pytest.mark.bwrap
@pytest.mark.parametrize(("status", "crash", "count"), [(0, "", 2), (1, "", 0), (0, "The forked VM terminated", 0)])
def test_copies_do_not_hide_that_a_build_fails(run: Run, status: int, crash: str, count: int) -> None:
    printed = f"{crash}\n[ERROR] CartTest.adds_ba9876543210:3"
    report = run(CART, status=status, copies=COPIES, **{"cart.xml": COPIED, "printed": printed})
    assert len(report.results) == count
    assert "-Dmaven.test.failure.ignore=true" in report.output
    assert "CartTest.adds" not in report.output
    assert set(report.texts) == ({f"{CART}::adds_ba9876543210"} if count else set())
