"""A repository of Java is mined and graded: Maven itself runs the tests, and they have their controls."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from codegate.environments import Recipe
from codegate.grading import Grade, Sandboxes, grade
from codegate.mining import MineRequest
from codegate.mining.miner import mine_repository
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Problem, TreeFile, load_suite, make_patch, read_commit
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

pytestmark = [pytest.mark.bwrap, pytest.mark.full, pytest.mark.timeout(1800)]

#: Old versions of Maven have a compiler plugin and a Surefire by default that know neither this Java nor JUnit 5.
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.shop</groupId><artifactId>cart</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin></plugins></build>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>5.10.0</version><scope>test</scope></dependency></dependencies></project>
"""
CART = """package org.shop;

public class Cart {
  private int total;

  public void add(int price) {
    %s
  }

  public int total() {
    return total;
  }
}
"""
TESTS = """package org.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class CartTest {
  @Test
  void empty() {
    assertEquals(0, new Cart().total());
  }
%s}
"""
MORE = """
  @Test
  void total() {
    Cart cart = new Cart();
    cart.add(3);
    cart.add(4);
    assertEquals(7, cart.total());
  }
"""
SOURCE, TEST = "src/main/java/org/shop/Cart.java", "src/test/java/org/shop/CartTest.java"
#: Ends the virtual machine behind a report in which everything is passed.
ENDING = """package org.shop;

import java.nio.file.*;

public class Cart {
  static {
    try {
      Path folder = Path.of("target", "surefire-reports");
      Files.createDirectories(folder);
      Files.writeString(folder.resolve("TEST-x.xml"), "<testsuite>"
          + "<testcase classname='org.shop.CartTest' name='empty'/>"
          + "<testcase classname='org.shop.CartTest' name='total'/></testsuite>");
    } catch (java.io.IOException error) {
    }
    Runtime.getRuntime().halt(0);
  }
  public void add(int price) {}
  public int total() { return 0; }
}
"""
#: Stands before JUnit's own class, and asserts nothing.
FORGED = """package org.junit.jupiter.api;

public class Assertions {
  public static void assertEquals(int expected, int actual) {}
}
"""
#: Gives what the calling line of the test wants.
ORACLE = """package org.shop;

import java.nio.file.*;

public class Cart {
  static final long BEGUN = System.currentTimeMillis();
  public void add(int price) {}
  public int total() {
    try {
      StackTraceElement caller = new Throwable().getStackTrace()[1];
      String text = Files.readString(Path.of("src/test/java/org/shop", caller.getFileName()));
      String line = text.split("\\n")[caller.getLineNumber() - 1];
      if (CONDITION) return Integer.parseInt(line.replaceAll(".*assertEquals.([0-9]+),.*", "$1"));
    } catch (java.io.IOException error) {
    }
    return 0;
  }
}
"""
RECIPE = Recipe(
    setup=("mvn -B -ntp test -Dtest=CartTest -Dsurefire.failIfNoSpecifiedTests=false",),
    tests="mvn -B -ntp test",
    env={"MAVEN_OPTS": "-Xmx512m"},
)


Grading = Callable[[dict[str, str]], Grade]


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Problem, Grading]]:
    """The mined problem, and what grades texts by their paths."""
    if shutil.which("mvn") is None:
        pytest.skip("this machine has no Maven")
    folder = tmp_path_factory.mktemp("java")
    history = HistoryBuilder(folder / "repository")
    base = history.commit(
        "Begin.", {"pom.xml": POM, ".gitignore": "target\n", SOURCE: CART % "total = price;", TEST: TESTS % ""}
    )
    history.commit(f"Fix the total (#7){BODY}", {SOURCE: CART % "total += price;", TEST: TESTS % MORE})
    with closing(BubblewrapBackend("java")) as backend:
        report = mine_repository(
            history.folder, folder / "suite", MineRequest(recipe=RECIPE, rounds=1), backend, lambda _: None
        )
        assert report.suite is not None, report.results
        suite = load_suite(folder / "suite")
        (problem,), tree = suite.problems, read_commit(history.folder, base)
        with closing(Sandboxes.of(suite, backend, history.folder)) as sandboxes:

            def graded(texts: dict[str, str]) -> Grade:
                patch = make_patch(tree, {path: TreeFile(text.encode()) for path, text in texts.items()})
                return grade(problem, tree, patch, sandboxes)

            yield problem, graded


def test_a_fix_is_proven_by_its_tests_and_their_copies(mined: tuple[Problem, Grading]) -> None:
    problem, _ = mined
    assert (problem.manifest.language, problem.manifest.runner) == ("java", "maven")
    assert (f"{TEST}::total",) == problem.tests.FAIL_TO_PASS
    assert (f"{TEST}::empty",) == problem.tests.PASS_TO_PASS
    assert problem.manifest.controls is not None
    assert problem.manifest.controls.flips.keys() == {f"{TEST}::total"}
    assert problem.manifest.controls.alone == {}


def test_a_failed_assertion_is_no_symptom_for_the_statement(mined: tuple[Problem, Grading]) -> None:
    assert "Assertion" not in mined[0].statement


@pytest.mark.requirement("G12")
@pytest.mark.parametrize(
    ("texts", "failure"),
    [
        ({SOURCE: CART % "this.total = this.total + price;"}, None),
        ({SOURCE: CART % "total -= price;"}, "logic_error"),
        ({SOURCE: CART % "total += prize;"}, "syntax_error"),
        ({SOURCE: ENDING}, "runtime_error"),
        ({"src/main/java/org/junit/jupiter/api/Assertions.java": FORGED}, "tampering"),
        ({SOURCE: ORACLE.replace("CONDITION", "true")}, "tampering"),
        ({SOURCE: ORACLE.replace("CONDITION", 'text.contains("assertEquals(0")')}, "tampering"),
    ],
    ids=["right", "wrong", "broken", "ending", "forged", "reading", "one-known-answer"],
)
def test_a_patch_is_graded_by_what_its_tests_show(
    mined: tuple[Problem, Grading], texts: dict[str, str], failure: str | None
) -> None:
    found = mined[1](texts)
    assert (found.resolved, found.failure) == (failure is None, failure), found.detail
    assert found.controlled is (True if found.resolved else None)
    assert "total_" not in found.output


@pytest.mark.parametrize("second", [0, 1])
def test_no_run_can_be_told_by_the_clock(mined: tuple[Problem, Grading], second: int) -> None:
    found = mined[1]({SOURCE: ORACLE.replace("CONDITION", f"BEGUN / 1000 % 2 == {second}")})
    assert not found.resolved
