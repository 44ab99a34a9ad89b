"""A repository of Java in a recorded build: Maven itself runs the tests, and they have their controls."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from codegate.suite import TreeFile, load_suite, make_patch, read_commit
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY
from tests.mining.test_java import CART, MORE, POM, SOURCE, TEST, TESTS
from tests.running.world import codegate, results

pytestmark = [pytest.mark.bwrap, pytest.mark.full, pytest.mark.timeout(1800)]

#: Ends the virtual machine behind a report in which everything is passed.
FORGED = """package org.shop;

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
RECIPE = {
    "setup": ["mvn -B -ntp test -Dtest=CartTest -Dsurefire.failIfNoSpecifiedTests=false"],
    "tests": "mvn -B -ntp test",
    "env": {"MAVEN_OPTS": "-Xmx512m"},
}
#: Old versions of Maven have a compiler plugin and a Surefire by default that know neither this Java nor JUnit 5.
OURS = POM.replace(
    "<dependencies>",
    "<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>"
    "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>"
    "<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin></plugins>"
    "</build><dependencies>",
)


def test_a_fix_is_mined_proved_and_graded_by_maven(history: HistoryBuilder, tmp_path: Path) -> None:
    if shutil.which("mvn") is None:
        pytest.skip("this machine has no Maven")
    base = history.commit(
        "begin", {"pom.xml": OURS, ".gitignore": "target\n", SOURCE: CART % "total = price;", TEST: TESTS % ""}
    )
    history.commit(f"Fix the total (#7){BODY}", {SOURCE: CART % "total += price;", TEST: TESTS % MORE})
    history.write({"codegate.yml": yaml.safe_dump({"environment": RECIPE})})
    place = ("--sandbox", "bwrap")
    mined = codegate("mine", history.folder, "--out", "suite", "--name", "cart", *place, cwd=tmp_path)
    assert mined.code == 0, mined.stderr
    (problem,) = load_suite(tmp_path / "suite").problems
    assert (problem.manifest.language, problem.manifest.runner) == ("java", "maven")
    assert (f"{TEST}::total",) == problem.tests.FAIL_TO_PASS
    assert (f"{TEST}::empty",) == problem.tests.PASS_TO_PASS
    assert problem.manifest.controls is not None
    assert problem.manifest.controls.killed
    run = ("run", "suite", "--repository", history.folder, *place, "--samples", "1")
    done = codegate(*run, "--candidate", "reference", "--out", "reference", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert results(tmp_path / "reference") == {("cart-7", 0): True}
    patch = make_patch(read_commit(history.folder, base), {SOURCE: TreeFile(FORGED.encode())})
    answer = {"instance_id": "cart-7", "model_name_or_path": "forger", "model_patch": patch}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    graded = codegate(*run[:-2], "--predictions", "answers.jsonl", "--out", "forged", cwd=tmp_path)
    assert graded.code in (0, 1), graded.stderr
    assert results(tmp_path / "forged") == {("cart-7", 0): False}
