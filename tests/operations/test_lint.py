"""Lint: stable codes for what a suite's files lack, and what --fix mends."""

import json
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.operations.editing import add_problem
from codegate.operations.lint import fix_suite, lint_suite, update_digests
from codegate.suite import Suite, load_suite
from tests.running.world import codegate

TODAY = date(2025, 6, 1)
BUNDLED = Path(__file__).parents[2] / "suites"


@pytest.fixture
def functions(tmp_path: Path) -> Suite:
    shutil.copytree(BUNDLED / "functions", tmp_path / "suite")
    return load_suite(tmp_path / "suite")


def found(suite: Suite) -> set[tuple[str, str]]:
    return {(finding.code, finding.place) for finding in lint_suite(suite, TODAY)}


def rewrite(suite: Suite, problem: str, old: str, new: str) -> None:
    path = suite.folder / "problems" / problem / "problem.yml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "folder", [path.parent for path in sorted(BUNDLED.glob("*/suite.yml"))], ids=lambda path: path.name
)
def test_every_bundled_suite_is_clean(folder: Path) -> None:
    assert lint_suite(load_suite(folder), TODAY) == ()


def test_every_finding_has_its_code(functions: Suite) -> None:
    home = functions.folder / "problems" / "chunks"
    (home / "statement.md").write_text("Make test_chunks.py pass.\n")
    update_digests(functions.folder)
    rewrite(functions, "chunks", functions.manifest.canary, "nothing")
    rewrite(functions, "chunks", "tags:\n  category: structure\n", "")
    path = home / "problem.yml"
    text = path.read_text()
    path.write_text(text[: text.index("controls:")] + "status: quarantined\nquarantine:\n  reason: manual\n"
                    "  evidence: seen\n  expires: 2025-01-01\n")  # fmt: skip
    rewrite(functions, "chunks", "title: Chunks", "title: ''")
    (functions.folder / "problems" / "left-over").mkdir()
    assert found(load_suite(functions.folder)) == {
        ("CG001", "chunks"), ("CG002", "chunks"), ("CG003", "chunks"), ("CG004", "chunks"), ("CG006", "chunks"),
        ("CG007", "chunks"), ("CG005", "problems/chunks/problem.yml"), ("CG008", "problems/left-over"),
    }  # fmt: skip


def test_a_test_that_the_model_sees_may_be_named(functions: Suite) -> None:
    problem = next(each for each in functions.problems if each.id == "chunks")
    test = problem.tests.FAIL_TO_PASS[0].rpartition("::")[2].partition("[")[0]
    seen = replace(problem, manifest=problem.manifest.model_copy(update={"public_tests": ("tests/seen.py",)}))
    for text, codes in ((f"`tests/seen.py::{test}`", set()), (f"`{test}`", {"CG002"})):
        named = replace(seen, statement=f"{problem.statement}\nThese tests will be changed: {text}.\n")
        suite = replace(functions, problems=(named,))
        assert {code for code, place in found(suite) if place == "chunks"} == codes


@pytest.mark.requirement("D8")
def test_a_fix_writes_titles_and_canaries_and_changes_no_digest(functions: Suite) -> None:
    rewrite(functions, "chunks", "title: Chunks", "title: ''")
    rewrite(functions, "luhn", f"# {functions.manifest.canary}\n", "")
    manifest = functions.folder / "suite.yml"
    manifest.write_text(manifest.read_text().partition("\n")[2])
    fixed = fix_suite(load_suite(functions.folder))
    assert found(fixed) == set()
    assert fixed.digest == functions.digest
    assert fixed.problems[0].manifest.provenance.title


def test_an_edited_statement_is_refused_until_it_is_taken_over(functions: Suite) -> None:
    (functions.folder / "problems" / "luhn" / "statement.md").write_text("Another one.\n")
    with pytest.raises(UsageError, match="is not what"):
        load_suite(functions.folder)
    assert update_digests(functions.folder) == ("problems/luhn/statement.md",)
    assert load_suite(functions.folder).digest != functions.digest


def test_an_edited_recipe_is_refused_until_it_and_what_it_resolved_are_taken_over(functions: Suite) -> None:
    home, manifest = functions.folder / "environments" / "py311", functions.folder / "suite.yml"
    known, text = functions.environments["py311"].manifest, manifest.read_text()
    recipe, resolved = f"  recipe: {known.recipe}\n", f"  resolved: {known.resolved}\n"
    # As somebody may have written it by hand: in another order, and nothing is known of either text.
    manifest.write_text(text.replace(recipe + resolved, f"  resolved: '{'0' * 64}'\n  recipe: '{'0' * 64}'\n"))
    (home / "recipe.yml").write_text("tools: {python: '3.11'}\n")
    with pytest.raises(UsageError, match="is not what"):
        load_suite(functions.folder)
    changed = update_digests(functions.folder)
    assert changed == ("environments/py311/recipe.yml", "environments/py311/resolved.txt")
    taken = load_suite(functions.folder)
    assert taken.environments["py311"].recipe == "tools: {python: '3.11'}\n"
    assert taken.digest != functions.digest


def test_the_command_exits_by_its_findings(functions: Suite, tmp_path: Path) -> None:
    assert codegate("lint", functions.folder, cwd=tmp_path).code == 0
    rewrite(functions, "chunks", "title: Chunks", "title: ''")
    done = codegate("lint", functions.folder, "--json", cwd=tmp_path)
    assert (done.code, [one["code"] for one in done.document["findings"]]) == (3, ["CG003"])
    assert codegate("lint", functions.folder, "--fix", cwd=tmp_path).code == 0
    assert codegate("lint", tmp_path, cwd=tmp_path).code == 2


def test_a_new_problem_is_a_valid_one(functions: Suite, tmp_path: Path) -> None:
    made = codegate("new", "problem", "Off-by-one", "--suite", functions.folder, "--json", cwd=tmp_path)
    assert made.code == 0, made.stderr
    suite = load_suite(functions.folder)
    assert suite.problems[-1].id == "Off-by-one"
    assert found(suite) == {("CG006", "Off-by-one")}
    assert suite.manifest.canary == functions.manifest.canary
    assert [one.digest for one in suite.problems[:-1]] == [one.digest for one in functions.problems]
    for name in ("chunks", "../x", "9", ""):
        with pytest.raises(UsageError, match="name"):
            add_problem(suite, name)
    assert json.loads(codegate("new", "problem", "--suite", functions.folder, "--json", cwd=tmp_path).stdout)["error"]
