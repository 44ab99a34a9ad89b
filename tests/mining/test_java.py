"""A repository of Java is mined and graded: the runtime is a wheel, the jars are pinned, and nothing is installed."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from codegate.grading import Grade, Sandboxes, grade
from codegate.mining import MineOptions
from codegate.mining.miner import mine
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Problem, TreeFile, load_suite, make_patch, read_commit
from tests.conftest import PYTHON
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

pytestmark = [pytest.mark.bwrap, pytest.mark.full]

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.shop</groupId><artifactId>cart</artifactId><version>1</version>
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
#: Ends the virtual machine with a report in which everything is passed.
FORGED = """package org.shop;

import java.nio.file.*;

public class Cart {
  static {
    try {
      for (String word : Files.readString(Path.of("/proc/self/cmdline")).split("\\0"))
        if (word.startsWith("--reports-dir="))
          Files.writeString(Path.of(word.substring(14), "TEST-x.xml"), "<testsuite>"
              + "<testcase classname='org.shop.CartTest' name='empty()'/>"
              + "<testcase classname='org.shop.CartTest' name='total()'/></testsuite>");
    } catch (java.io.IOException error) {
    }
    Runtime.getRuntime().halt(0);
  }
  public void add(int price) {}
  public int total() { return 0; }
}
"""


Grading = Callable[[str], Grade]


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Problem, Grading]]:
    """The mined problem, and what grades a text of its source."""
    folder = tmp_path_factory.mktemp("java")
    history = HistoryBuilder(folder / "repository")
    base = history.commit("Begin.", {"pom.xml": POM, SOURCE: CART % "total = price;", TEST: TESTS % ""})
    history.commit(f"Fix the total (#7){BODY}", {SOURCE: CART % "total += price;", TEST: TESTS % MORE})
    with closing(BubblewrapBackend("java")) as backend:
        report = mine(history.folder, folder / "suite", MineOptions(python=PYTHON), backend, lambda _: None)
        assert report.suite is not None, report.results
        suite = load_suite(folder / "suite")
        (problem,), tree = suite.problems, read_commit(history.folder, base)
        sandboxes = Sandboxes(backend, {})
        sandboxes.add(suite.locked(problem.manifest.environment))

        def graded(text: str) -> Grade:
            patch = make_patch(tree, {SOURCE: TreeFile(text.encode())})
            return grade(problem, tree, patch, sandboxes)

        yield problem, graded
        sandboxes.close()


def test_a_fix_is_proven_by_its_tests_and_their_mutants(mined: tuple[Problem, Grading]) -> None:
    problem, _ = mined
    assert (problem.manifest.language, problem.manifest.runner) == ("java", "java")
    assert (f"{TEST}::total",) == problem.tests.FAIL_TO_PASS
    assert (f"{TEST}::empty",) == problem.tests.PASS_TO_PASS
    assert problem.manifest.controls is not None
    assert problem.manifest.controls.killed


def test_a_failed_assertion_is_no_symptom_for_the_statement(mined: tuple[Problem, Grading]) -> None:
    assert "Assertion" not in mined[0].statement


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (CART % "this.total = this.total + price;", None),
        (CART % "total -= price;", "logic_error"),
        (CART % "total += prize;", "syntax_error"),
        (FORGED, "tampering"),
    ],
    ids=["right", "wrong", "broken", "forged"],
)
def test_a_patch_is_graded_by_what_its_tests_show(
    mined: tuple[Problem, Grading], text: str, failure: str | None
) -> None:
    found = mined[1](text)
    assert (found.resolved, found.failure) == (failure is None, failure), found.detail
