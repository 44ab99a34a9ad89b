import json
import re
import shutil
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from codegate.durable import sha256
from codegate.environments import Recipe, environment_of
from codegate.errors import CodegateError, UsageError
from codegate.mining.build import BuiltProblem
from codegate.mining.importing import ImportedChange, ImportReport, compare_tests, cut_row, finish, import_rows
from codegate.mining.units import Rejected
from codegate.suite import (
    Base,
    Problem,
    ProblemManifest,
    Provenance,
    Statement,
    TestSets,
    Tree,
    TreeFile,
    apply_patch,
    make_patch,
    make_problem,
    read_commit,
    write_suite,
)
from codegate.suite.exchange import check_row, export_suite, read_rows, repository_slug
from codegate.suite.exchange.rows import write_rows
from tests.kit.repository import make_repository, run_git
from tests.suite import builders

BASE_FILES = {
    "shop/__init__.py": b"",
    "shop/price.py": b"def total(prices):\n    return sum(prices[1:])\n",
    "shop/latin.py": "# Größe\nx = 1\n".encode("latin-1"),
    "shop/logo.bin": bytes(range(256)),
    "tests/test_price.py": b"from shop.price import total\n\n\ndef test_none():\n    assert total([]) == 0\n",
    "tests/test_same.py": b"def test_same():\n    pass\n",
    "tests/old.bin": b"\0\xff",
}
TEST_AFTER = BASE_FILES["tests/test_price.py"] + b"\n\ndef test_one():\n    assert total([3]) == 3\n"
FIXED = b"def total(prices):\n    return sum(prices)\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("imported") / "shop"
    make_repository(place, BASE_FILES)
    run_git(place, "remote", "add", "origin", "git@example.com:acme/shop.git")
    return place


@pytest.fixture(scope="module")
def commit(repository: Path) -> str:
    return run_git(repository, "rev-parse", "main")


def row_of(commit: str, repository: Path, **changes: object) -> dict[str, Any]:
    """A row as SWE-bench has them: short ids in the patches, no line feed at the end of one."""
    base = read_commit(repository, commit)
    fix = {"shop/price.py": TreeFile(FIXED), "shop/logo.bin": TreeFile(b"\0new", "100755")}
    hidden = {"tests/test_price.py": TreeFile(TEST_AFTER), "tests/old.bin": None}
    return {
        "repo": "acme/shop",
        "instance_id": "acme__shop-12",
        "base_commit": commit,
        "patch": make_patch(base, fix).rstrip("\n"),
        "test_patch": make_patch(base, hidden),
        "problem_statement": "Totals are wrong\r\n\r\nThe first price is left out.",
        "hints_text": "maybe a slice?\n",
        "created_at": "2024-05-06T07:08:09Z",
        "version": "1.0",
        "environment_setup_commit": "f" * 40,
        "FAIL_TO_PASS": '["tests/test_price.py::test_one"]',
        "PASS_TO_PASS": '["tests/test_price.py::test_none", "tests/test_price.py::test_gone"]',
        **changes,
    }


def cut_one(row: dict[str, Any], repository: Path) -> ImportedChange:
    return cut_row(check_row(row, "row 1")[1], repository)


def built(unit: ImportedChange) -> BuiltProblem:
    """A unit as validation leaves it."""
    parts = unit.parts
    manifest = ProblemManifest(
        id="shop-12",
        base=Base(commit=unit.row.base_commit),
        environment=builders.ENVIRONMENT.id,
        test_files=parts.test_files,
        public_tests=parts.public_tests,
        hidden_deleted=tuple(path for path, file in parts.hidden.items() if file is None),
        fix_deleted=tuple(path for path, file in parts.fix.items() if file is None),
        statement=Statement(mode="sources", sha256=sha256(b"x")),
        provenance=Provenance(kind="direct"),
    )
    tests = TestSets(FAIL_TO_PASS=("tests/test_price.py::test_one",), PASS_TO_PASS=("tests/test_price.py::test_none",))
    problem = make_problem(manifest, "x", tests, parts.hidden, parts.fix, builders.ENVIRONMENT.manifest)
    return BuiltProblem(problem, builders.ENVIRONMENT)


def exported(folder: Path, repository: Path, problem: Problem, slug: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of a suite of ``problem``."""
    shutil.rmtree(folder / "suite", ignore_errors=True)
    suite = builders.suite(folder / "suite", problem)
    assert suite.problems == (problem,)
    export_suite(suite, folder / "rows", repository, slug)
    return read_rows(folder / "rows", lambda row, place: (place, row))[0]


def test_an_exported_row_has_the_twelve_fields_as_texts(tmp_path: Path, repository: Path, commit: str) -> None:
    provenance = Provenance(
        kind="squash", commit="b" * 40, pull_request=9, title="fix: ß", date=datetime(2024, 1, 2, 3, 4, 5, 6, UTC)
    )
    hidden = {
        "tests/test_add.py": TreeFile(b"def test_add():\n    assert True\n"),
        'tests/näme "q".bin': TreeFile(bytes(range(256))),
        "tests/run.sh": TreeFile(b"#!/bin/sh\r\n", "100755"),
        "tests/old.bin": None,
    }
    fix = {"shop/price.py": None, "shop/logo.bin": TreeFile(b"\0new", "100755")}
    problem = builders.problem("shop-1", base=Base(commit=commit), provenance=provenance, hidden=hidden, fix=fix)
    [row] = exported(tmp_path, repository, problem)
    assert list(row) == [
        "repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement", "hints_text", "created_at",
        "version", "environment_setup_commit", "FAIL_TO_PASS", "PASS_TO_PASS",
    ]  # fmt: skip
    assert all(isinstance(value, str) for value in row.values())
    assert (row["repo"], row["instance_id"], row["base_commit"]) == ("acme/shop", "acme__shop-9", commit)
    assert (row["created_at"], row["version"]) == ("2024-01-02T03:04:05Z", "py311")
    assert row["environment_setup_commit"] == commit
    assert json.loads(row["FAIL_TO_PASS"]) == ["tests/test_add.py::test_add"]
    for name, changes in (("patch", fix), ("test_patch", hidden)):  # what another tool makes of it, with git
        assert apply_patch(read_commit(repository, commit), row[name]) == changes
    unit = cut_row(check_row(row, "row 1")[1], repository)
    assert (unit.parts.fix, unit.parts.hidden, unit.parts.test_files) == (fix, hidden, problem.manifest.test_files)


@pytest.mark.parametrize(
    ("address", "slug"),
    [
        ("https://gitlab.example.com/group/team/shop.git", "team/shop"),
        ("https://git.sr.ht/~ada/shop", "local/demo"),
        ("/srv/git/acme/shop.git", "local/demo"),
    ],
)
def test_an_export_is_named_by_the_remote_on_a_server(tmp_path: Path, address: str, slug: str) -> None:
    commit = make_repository(tmp_path / "shop", {"a.py": b"x = 1\n"})
    run_git(tmp_path / "shop", "remote", "add", "origin", address)
    suite = builders.suite(tmp_path / "suite", builders.problem("p-1", base=Base(commit=commit)))
    assert repository_slug(suite, tmp_path / "shop") == slug


def test_problems_that_a_row_cannot_hold_are_left_out(tmp_path: Path, repository: Path, commit: str) -> None:
    latin = {"shop/latin.py": TreeFile("# Maß\n".encode("latin-1"))}
    bases = {"bases/kept": Tree({"src/add.py": TreeFile(b"x = 1\n")})}
    environment = environment_of("e-1", Recipe(), "", day=date(2026, 11, 1))
    problem = partial(builders.problem, environment=environment.manifest)
    problems = [
        problem("latin-1", base=Base(commit=commit), fix=latin),
        problem("kept-2", base=Base(folder="bases/kept"), base_digest=bases["bases/kept"].digest()),
        problem("good-3", base=Base(commit=commit)),
        problem("service-4", base=Base(commit=commit), service={}),
        problem(
            "question-5", base=Base(commit=commit), tests=TestSets(FAIL_TO_PASS=("answer::prose",)), hidden={},
            fix={"answer.md": TreeFile(b"Yes.")}, answer="prose", test_files=(),
        ),
    ]  # fmt: skip
    suite = write_suite(
        tmp_path / "suite", name="s", repository=None, bases=bases, problems=problems,
        environments=[environment],
    )  # fmt: skip
    report = export_suite(suite, tmp_path / "rows", repository)
    assert report.ids == {"good-3": "good-3"}
    assert re.search("not UTF-8", report.left_out["latin-1"])
    assert re.search("base commit", report.left_out["kept-2"])
    assert [name for name, reason in report.left_out.items() if "a row cannot have" in reason] == [
        "service-4", "question-5",
    ]  # fmt: skip
    assert [row.id for row in read_rows(tmp_path / "rows", check_row)[0]] == ["good-3"]
    latin_alone = write_suite(
        tmp_path / "latin", name="t", repository=None, problems=problems[:1], environments=[environment]
    )
    with pytest.raises(UsageError, match=r"no problem of suite t can be exported; latin-1: .*not UTF-8"):
        export_suite(latin_alone, tmp_path / "none", repository)
    with pytest.raises(UsageError, match="owner/name"):
        export_suite(suite, tmp_path / "none", repository, slug="no/t/one")


def test_a_published_row_is_split_by_its_patches(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository), repository)
    assert set(unit.parts.fix) == {"shop/price.py", "shop/logo.bin"}
    assert unit.parts.fix["shop/logo.bin"] == TreeFile(b"\0new", "100755")
    assert dict(unit.parts.hidden) == {"tests/old.bin": None, "tests/test_price.py": TreeFile(TEST_AFTER)}
    assert unit.parts.test_files == ("tests/test_price.py",)
    assert unit.parts.public_tests == ("tests/test_price.py", "tests/test_same.py")
    assert unit.parts.source_lines == 1
    found = unit.prospect.unit
    assert (found.kind, found.pull_request, found.title) == ("direct", 12, "Totals are wrong")
    assert found.date == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_a_row_without_a_date_has_its_base_commits(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository, created_at=None), repository)
    assert unit.prospect.unit.date == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_a_statement_of_control_characters_has_no_title(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository, problem_statement="\x1c"), repository)
    assert unit.prospect.unit.title == ""


NEW = "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"base_commit": "0" * 40}, "is not in"),
        ({"patch": NEW.format("../../evil", "100644")}, "does not apply|plain relative"),
        ({"patch": NEW.format(".git/config", "100644")}, "does not apply|plain relative"),
        ({"patch": NEW.format("shop/x", "120000")}, "symbolic link"),
        ({"patch": "--- a/nowhere\n+++ b/nowhere\n@@ -1 +1 @@\n-a\n+b\n"}, "does not apply"),
        ({"patch": "no patch at all"}, "does not apply"),
        ({"patch": "\n"}, "patch changes nothing"),
        ({"test_patch": " "}, "test_patch changes nothing"),
        ({"patch": NEW.format("tests/test_price.py", "100644").replace("test_price", "test_n"),
          "test_patch": NEW.format("tests/test_n.py", "100644")}, "both change"),
        ({"test_patch": NEW.format("tests/data.txt", "100644"), "FAIL_TO_PASS": "[]"}, "no test module"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_cut_is_refused(
    repository: Path, commit: str, changes: dict[str, str], words: str
) -> None:
    before = sorted(path for path in repository.parent.rglob("*") if ".git" not in path.parts)
    with pytest.raises(CodegateError, match=words):
        cut_one(row_of(commit, repository, **changes), repository)
    assert sorted(path for path in repository.parent.rglob("*") if ".git" not in path.parts) == before


def test_a_named_test_file_is_run_whatever_its_name(repository: Path, commit: str) -> None:
    row = row_of(commit, repository, test_patch=NEW.format("tests/checks.py", "100644"))
    row["FAIL_TO_PASS"] = '["tests/checks.py::CheckIt"]'
    unit = cut_one(row, repository)
    assert unit.parts.test_files == ("tests/checks.py",)


def test_what_was_published_and_what_was_measured_stand_side_by_side(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository), repository)
    made, agreement = finish(built(unit), unit)
    assert agreement.exact
    assert agreement.lines == (
        "published: 1 of 1 fail-to-pass and 1 of 2 pass-to-pass measured alike",
        "published as pass-to-pass only: tests/test_price.py::test_gone",
    )
    manifest = made.problem.manifest
    assert (manifest.id, manifest.provenance.kind, manifest.statement.mode) == ("acme__shop-12", "imported", "imported")
    assert manifest.provenance.evidence == agreement.lines
    assert made.problem.statement == unit.row.problem_statement
    assert manifest.tags["published"] == "agrees"
    assert manifest.provenance.upstream == row_of(commit, repository)["instance_id"]


def test_a_row_that_publishes_no_tests_does_not_differ(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository, FAIL_TO_PASS=[], PASS_TO_PASS=[]), repository)
    made, agreement = finish(built(unit), unit)
    assert (agreement.exact, agreement.lines) == (None, ("the row publishes no tests",))
    assert "published" not in made.problem.manifest.tags


def test_an_id_that_was_cut_at_a_blank_stands_for_those_it_begins() -> None:
    _, row = check_row({
        "repo": "a/b", "instance_id": "a__b-1", "base_commit": "a" * 40, "patch": "x", "test_patch": "y",
        "problem_statement": "z", "FAIL_TO_PASS": ["t.py::a[x", "t.py::b"], "PASS_TO_PASS": ["t.py::c[1]"],
    }, "row 1")  # fmt: skip
    found = compare_tests(
        row, TestSets(FAIL_TO_PASS=("t.py::a[x y]", "t.py::a[x z]", "t.py::d"), PASS_TO_PASS=("t.py::c[1]",))
    )
    assert found.lines == (
        "published: 1 of 2 fail-to-pass and 1 of 1 pass-to-pass measured alike",
        "published as fail-to-pass only: t.py::b",
        "measured as fail-to-pass only: t.py::d",
    )
    assert not found.exact


@pytest.mark.requirement("D12")
def test_rows_from_elsewhere_are_proven_or_named(tmp_path: Path, repository: Path, commit: str) -> None:
    rows = [row_of(commit, repository, instance_id=f"acme__shop-{number}") for number in (1, 2)]
    rows += [{"repo": 1}, row_of(commit, repository, instance_id="acme__shop-3", base_commit="0" * 40)]
    write_rows(tmp_path / "rows", rows)

    def build(unit: ImportedChange) -> BuiltProblem | Rejected:
        return built(unit) if unit.row.id.endswith("1") else Rejected("no_f2p", "passes before")

    def run(name: str, out: str, home: Path | None = repository) -> ImportReport:
        return import_rows(tmp_path / name, tmp_path / out, "shop", home, build)

    with pytest.raises(UsageError, match="Give --repository"):
        run("rows", "out", None)
    report = run("rows", "out")
    assert [problem.id for problem in report.suite.problems] == ["acme__shop-1"]
    assert list(report.agreements) == ["acme__shop-1"]
    assert report.rejected == {"acme__shop-2": Rejected("no_f2p", "passes before")}
    assert [entry[:8] for entry in report.skipped] == ["row 3: r", "acme__sh"]
    assert "is not in" in report.skipped[1]
    with pytest.raises(UsageError, match="exists already"):
        run("rows", "out")
    write_rows(tmp_path / "bad", rows[1:2])
    with pytest.raises(UsageError, match="acme__shop-2: no_f2p: passes before"):
        run("bad", "none")
    assert not (tmp_path / "none").exists()
