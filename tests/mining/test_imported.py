import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.mining.build import Built
from codegate.mining.imported import ImportedUnit, compare, finish, import_rows
from codegate.mining.importing import import_suite
from codegate.mining.units import Rejected
from codegate.strict import LARGEST
from codegate.suite import (
    Base,
    EnvironmentManifest,
    LeakAudit,
    LockedEnvironment,
    PackageFile,
    ProblemManifest,
    Provenance,
    Quality,
    Quarantine,
    QuarantinedTest,
    Statement,
    Suite,
    TestSets,
    Tree,
    TreeFile,
    apply_patch,
    load_suite,
    make_patch,
    make_problem,
    read_commit,
    write_suite,
)
from codegate.suite.exchange import FIELDS, Row, Skipped, check_row, export_suite, read_rows, write_rows
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
PACKAGES = '{"lockfileVersion": 3}\n'
QUARANTINE = Quarantine(reason="flaky", evidence="seen\ntwice", expires=date(2027, 1, 1))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("imported") / "shop"
    builders.make_repository(place, BASE_FILES)
    builders.run_git(place, "remote", "add", "origin", "git@example.com:acme/shop.git")
    return place


@pytest.fixture(scope="module")
def commit(repository: Path) -> str:
    return builders.run_git(repository, "rev-parse", "main")


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


def cut_one(row: dict[str, Any], repository: Path) -> ImportedUnit | Skipped:
    [later], skipped = import_rows([Row(1, row)], repository)
    assert not skipped
    return later()


def built(unit: ImportedUnit) -> Built:
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
    problem = make_problem(manifest, "x", tests, parts.hidden, parts.fix, builders.ENVIRONMENT)
    return Built(problem, LockedEnvironment(builders.ENVIRONMENT, builders.LOCK))


def hard_suite(folder: Path, repository: Path, commit: str) -> Suite:
    """A suite of everything that a row of twelve fields has no place for."""
    environment = EnvironmentManifest(
        id="node20",
        python="3.12",
        lock="environments/node20/requirements.lock",
        lock_sha256=sha256(builders.LOCK.encode()),
        rung="lockfile",
        packages=(PackageFile(path="environments/node20/package-lock.json", sha256=sha256(PACKAGES.encode())),),
        image="registry.example.com/base@sha256:" + "1" * 64,
    )
    hidden = {
        "tests/test_add.py": TreeFile(b"def test_add():\n    assert True\n"),
        "tests/test_same.py": TreeFile(BASE_FILES["tests/test_same.py"]),
        'tests/näme "q".bin': TreeFile(bytes(range(256))),
        "tests/run.sh": TreeFile(b"#!/bin/sh\r\n", "100755"),
        "tests/latin.txt": TreeFile("ß".encode("latin-1")),
        "tests/old.bin": None,
        "tests/never-was.py": None,
    }
    fix = {"shop/latin.py": TreeFile("# Maß\n".encode("latin-1")), "shop/price.py": None, "shop/logo.bin": None}
    tests = TestSets(
        FAIL_TO_PASS=("tests/test_add.py::test_add",),
        PASS_TO_PASS=("tests/test_same.py::test_same[\u2028é]",),
        NONE_TO_PASS=("tests/test_add.py::test_add",),
        EXPECTED_FAIL=("tests/test_same.py::test_x",),
        QUARANTINED=(QuarantinedTest(id="tests/test_same.py::test_y", quarantine=QUARANTINE),),
    )
    known: dict[str, Any] = {"hidden": hidden, "fix": fix, "tests": tests}
    full = builders.problem(
        "shop-1",
        base=Base(commit=commit),
        environment=environment,
        language="javascript",
        runner="junit",
        command=("npm", "test"),
        reports=("out.xml",),
        python_path=("", "src", "lib"),
        kind="security",
        kind_evidence=("word: CVE",),
        interface=("def f(x): ...",),
        leak_audit=LeakAudit(fix_lines=1, findings=("x.py has it",)),
        quality=Quality(hunk_coverage=0.5, hunks=2),
        status="retired",
        quarantine=QUARANTINE,
        limits={"seconds": 7.5},
        provenance=Provenance(
            kind="squash", commit="b" * 40, pull_request=9, title="fix: ß", date=datetime(2024, 1, 2, 3, 4, 5, 6, UTC)
        ),
        **known,
    )
    again = builders.problem("shop-2", base=Base(commit=commit), provenance=full.manifest.provenance, **known)
    tree = Tree(
        {"src/add.py": TreeFile(b"x = 1\n"), "src/gone.py": TreeFile(b"\0\xff"), "tests/test_old.py": TreeFile(b"")}
    )
    kept = builders.problem("kept-3", base=Base(folder="bases/kept"), base_digest=tree.digest())
    environments = [LockedEnvironment(environment, builders.LOCK, {"package-lock.json": PACKAGES})]
    environments.append(LockedEnvironment(builders.ENVIRONMENT, builders.LOCK))
    write_suite(folder, name="hard", repository=None, environments=environments, problems=(), scanned=commit)
    for path, file in tree.items():
        (folder / "bases/kept" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bases/kept" / path).write_bytes(file.data)
    return write_suite(
        folder, name="hard", repository=None, environments=environments, problems=[full, again, kept], scanned=commit
    )


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory, repository: Path, commit: str) -> tuple[Suite, tuple[Row, ...]]:
    """The hard suite, and its rows."""
    folder = tmp_path_factory.mktemp("hard")
    suite = hard_suite(folder / "suite", repository, commit)
    export_suite(suite, folder / "rows", "swe-bench", repository)
    return suite, read_rows(folder / "rows")[0]


@pytest.mark.parametrize("suffix", ["rows.jsonl", "rows.json"])
def test_a_suite_comes_back_as_it_was(
    tmp_path: Path, repository: Path, hard: tuple[Suite, tuple[Row, ...]], suffix: str
) -> None:
    suite, _ = hard
    file = tmp_path / suffix
    report = export_suite(suite, file, "swe-bench", repository)
    assert report.ids == {"shop-1": "acme__shop-9", "shop-2": "shop-2", "kept-3": "kept-3"}
    assert (list(report.notes), report.left_out) == (["kept-3"], {})
    if suffix.endswith("json"):
        file.write_text(json.dumps([row.data for row in read_rows(file)[0]]))
    back = import_suite(file, "swe-bench", tmp_path / "back", repository=repository)
    assert not back.skipped
    assert back.suite.digest == suite.digest
    assert back.suite.problems == suite.problems
    assert back.suite.manifest.model_copy(update={"repository": None}) == suite.manifest
    assert (back.suite.locks, back.suite.packages) == (suite.locks, suite.packages)
    assert load_suite(tmp_path / "back").problems == suite.problems


def test_an_exported_row_has_the_twelve_fields_as_texts(
    repository: Path, commit: str, hard: tuple[Suite, tuple[Row, ...]]
) -> None:
    suite, rows = hard[0], [row.data for row in hard[1]]
    assert all(tuple(row)[:12] == FIELDS for row in rows)
    assert all(isinstance(value, str) for row in rows for value in row.values())
    first = rows[0]
    assert (first["repo"], first["base_commit"], first["created_at"]) == ("acme/shop", commit, "2024-01-02T03:04:05Z")
    assert (first["version"], first["environment_setup_commit"]) == ("node20", commit)
    assert json.loads(first["FAIL_TO_PASS"]) == ["tests/test_add.py::test_add"]
    for row in rows:
        "".join(row.values()).encode("utf-8")
    # What another tool reads of it is the same problem: it needs none of our fields.
    foreign = {name: value for name, value in first.items() if not name.startswith("codegate_")}
    unit = cut_one(foreign, repository)
    assert isinstance(unit, ImportedUnit)
    assert unit.parts.fix == suite.problems[0].fix
    assert unit.parts.fixed == read_commit(repository, commit).overlay(suite.problems[0].hidden).overlay(unit.parts.fix)


def _changed(row: dict[str, Any], field: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    return {**row, field: json.dumps(change(json.loads(row[field])))}


def _lock_at(path: str) -> Callable[[Any], Any]:
    return lambda found: {**found, "manifest": {**found["manifest"], "lock": path}}


TAMPERINGS: list[tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = [
    ("not the one", lambda row: {**row, "problem_statement": "easier"}),
    ("not the one", lambda row: {**row, "problem_statement": "\ud800"}),
    ("does not apply", lambda row: {**row, "patch": "--- a/q\n+++ b/q\n@@ -1 +1 @@\n-a\n+b\n"}),
    ("not in test_patch", lambda row: {**row, "test_patch": ""}),
    ("digest", lambda row: _changed(row, "codegate_tests", lambda found: {**found, "PASS_TO_PASS": []})),
    ("digest", lambda row: _changed(row, "codegate_problem", lambda found: {**found, "limits": {"seconds": 9}})),
    ("digest", lambda row: {**row, "codegate_digest": '"0"'}),
    ("no text", lambda row: {**row, "codegate_digest": None}),
    ("no text", lambda row: {**row, "codegate_problem": {}}),
    ("not usable JSON", lambda row: {**row, "codegate_problem": "{"}),
    ("problem: id", lambda row: _changed(row, "codegate_problem", lambda found: {**found, "id": "../../x"})),
    ("sha256", lambda row: _changed(row, "codegate_environment", lambda found: {**found, "lock": "evil==1"})),
    ("not in environments", lambda row: _changed(row, "codegate_environment", _lock_at("suite.yml"))),
    ("manifest", lambda row: _changed(row, "codegate_environment", lambda found: [])),
    ("lock", lambda row: _changed(row, "codegate_environment", _lock_at("../x"))),
    ("JSON object", lambda row: {**row, "codegate_trees": "7"}),
    ("plain relative", lambda row: {**row, "codegate_trees": '{"fix": {"../x": {"mode": "100644", "text": ""}}}'}),
    ("no file", lambda row: {**row, "codegate_trees": '{"fix": {"x": {"mode": "120000", "text": "/etc"}}}'}),
    ("does not change", lambda row: {**row, "codegate_trees": '{"fix": {"x": true}}'}),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, repository: Path, commit: str) -> dict[str, Any]:
    """An exported row."""
    folder = tmp_path_factory.mktemp("exported")
    unit = cut_one(row_of(commit, repository), repository)
    assert isinstance(unit, ImportedUnit)
    made, _ = finish(built(unit), unit)
    suite = write_suite(
        folder / "suite", name="shop", repository=None, environments=[made.environment], problems=[made.problem]
    )
    export_suite(suite, folder / "rows", "swe-bench", repository)
    return read_rows(folder / "rows")[0][0].data


@pytest.mark.parametrize(("words", "tamper"), TAMPERINGS)
def test_a_row_that_was_changed_is_refused(
    tmp_path: Path,
    repository: Path,
    exported: dict[str, Any],
    words: str,
    tamper: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    write_rows(tmp_path / "changed", [tamper(exported)])
    with pytest.raises(UsageError, match=words):
        import_suite(tmp_path / "changed", "swe-bench", tmp_path / "back", repository=repository)
    assert [path.name for path in tmp_path.iterdir()] == ["changed"]


@pytest.mark.parametrize(
    "folder", ["suite.yml", "environments/x", "problems", "problems/kept-3/fix", "problems/other/b"]
)
def test_a_base_folder_is_no_place_of_the_suites_own(
    tmp_path: Path, hard: tuple[Suite, tuple[Row, ...]], folder: str
) -> None:
    row = hard[1][2].data
    write_rows(
        tmp_path / "changed", [_changed(row, "codegate_problem", lambda found: {**found, "base": {"folder": folder}})]
    )
    with pytest.raises(UsageError, match="suite's own files"):
        import_suite(tmp_path / "changed", "swe-bench", tmp_path / "back")


def test_rows_of_one_environment_or_base_folder_must_agree(tmp_path: Path, hard: tuple[Suite, tuple[Row, ...]]) -> None:
    row = hard[1][2].data
    other = _changed(row, "codegate_problem", lambda found: {**found, "id": "other"})
    inside = _changed(other, "codegate_problem", lambda found: {**found, "base": {"folder": "bases/kept/src"}})
    python = _changed(
        other, "codegate_environment", lambda found: {**found, "manifest": {**found["manifest"], "rung": "ci"}}
    )
    write_rows(tmp_path / "several", [row, other, inside, python, row])
    report = import_suite(tmp_path / "several", "swe-bench", tmp_path / "back")
    assert [problem.id for problem in report.suite.problems] == ["kept-3", "other"]
    assert [entry.number for entry in report.skipped] == [3, 4, 5]


def test_a_published_row_is_split_by_its_patches(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository), repository)
    assert isinstance(unit, ImportedUnit)
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
    assert isinstance(unit, ImportedUnit)
    assert unit.prospect.unit.date == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


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
def test_a_row_that_cannot_be_cut_is_skipped(
    repository: Path, commit: str, changes: dict[str, str], words: str
) -> None:
    before = sorted(path for path in repository.parent.rglob("*") if ".git" not in path.parts)
    unit = cut_one(row_of(commit, repository, **changes), repository)
    assert isinstance(unit, Skipped)
    assert re.search(words, unit.reason), unit.reason
    assert sorted(path for path in repository.parent.rglob("*") if ".git" not in path.parts) == before


def test_a_named_test_file_is_run_whatever_its_name(repository: Path, commit: str) -> None:
    row = row_of(commit, repository, test_patch=NEW.format("tests/checks.py", "100644"))
    row["FAIL_TO_PASS"] = '["tests/checks.py::CheckIt"]'
    unit = cut_one(row, repository)
    assert isinstance(unit, ImportedUnit)
    assert unit.parts.test_files == ("tests/checks.py",)


def test_what_was_published_and_what_was_measured_stand_side_by_side(repository: Path, commit: str) -> None:
    unit = cut_one(row_of(commit, repository), repository)
    assert isinstance(unit, ImportedUnit)
    made, agreement = finish(built(unit), unit)
    assert agreement.exact
    assert (agreement.published, agreement.agreed) == ((1, 2), (1, 1))
    assert agreement.kept_lost == ("tests/test_price.py::test_gone",)
    manifest = made.problem.manifest
    assert (manifest.id, manifest.provenance.kind, manifest.statement.mode) == ("acme__shop-12", "imported", "imported")
    assert manifest.provenance.evidence == agreement.lines()
    assert made.problem.statement == unit.row.statement
    assert manifest.tags["published"] == "agrees"
    assert json.loads(manifest.provenance.upstream["PASS_TO_PASS"])[1] == "tests/test_price.py::test_gone"


def test_an_id_that_was_cut_at_a_blank_stands_for_those_it_begins() -> None:
    _, row = check_row(Row(1, {
        "repo": "a/b", "instance_id": "a__b-1", "base_commit": "a" * 40, "patch": "x", "test_patch": "y",
        "problem_statement": "z", "FAIL_TO_PASS": ["t.py::a[x", "t.py::b"], "PASS_TO_PASS": ["t.py::c[1]"],
    }))  # fmt: skip
    found = compare(
        row, TestSets(FAIL_TO_PASS=("t.py::a[x y]", "t.py::a[x z]", "t.py::d"), PASS_TO_PASS=("t.py::c[1]",))
    )
    assert (found.lost, found.gained, found.agreed) == (("t.py::b",), ("t.py::d",), (1, 1))
    assert not found.exact
    assert any("t.py::d" in line for line in found.lines())


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_WHOLE = st.integers(-(10**18), 10**18)  # a file with longer ones is refused when it is read
_FOREIGN = st.fixed_dictionaries(
    {},
    optional={
        "hints_text": st.none() | _TEXTS,
        "created_at": st.none() | _WHOLE | _TEXTS,
        "version": st.none() | st.floats(-LARGEST, LARGEST) | _TEXTS,
        "environment_setup_commit": st.none() | _TEXTS,
        "problem_statement": _TEXTS.map(lambda text: f"x{text}"),
        "FAIL_TO_PASS": st.lists(_TEXTS, max_size=3),
        "PASS_TO_PASS": st.lists(_TEXTS, max_size=3).map(json.dumps),
        "difficulty": st.none() | _TEXTS | st.lists(_WHOLE, max_size=2),
    },
)


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(changes=_FOREIGN)
def test_the_fields_of_a_published_row_come_out_as_they_went_in(
    tmp_path: Path, repository: Path, commit: str, changes: dict[str, Any]
) -> None:
    row = row_of(commit, repository, **changes)
    unit = cut_one(row, repository)
    assert isinstance(unit, ImportedUnit)
    made, _ = finish(built(unit), unit)
    shutil.rmtree(tmp_path / "suite", ignore_errors=True)
    suite = write_suite(
        tmp_path / "suite", name="shop", repository=None, environments=[made.environment], problems=[made.problem]
    )
    assert suite.problems == (made.problem,)
    report = export_suite(suite, tmp_path / "rows", "swe-bench", repository, slug="some/fork")
    assert report.ids == {"acme__shop-12": "acme__shop-12"}
    [out] = [entry.data for entry in read_rows(tmp_path / "rows")[0]]
    assert {name: out.get(name) for name in row} == row


def test_a_published_patch_that_no_longer_says_the_fix_is_not_exported(
    tmp_path: Path, repository: Path, commit: str
) -> None:
    unit = cut_one(row_of(commit, repository), repository)
    assert isinstance(unit, ImportedUnit)
    made, _ = finish(built(unit), unit)
    other = {"shop/price.py": TreeFile(b"total = sum\n")}
    p = made.problem
    changed = make_problem(p.manifest, p.statement, p.tests, p.hidden, other, p.environment)
    suite = write_suite(
        tmp_path / "suite", name="s", repository=None, environments=[made.environment], problems=[changed]
    )
    export_suite(suite, tmp_path / "rows", "swe-bench", repository)
    [row] = read_rows(tmp_path / "rows")[0]
    assert apply_patch(read_commit(repository, commit), row.data["patch"]) == other
    assert row.data["test_patch"] == unit.row.test_patch


def test_rows_from_elsewhere_are_proven_or_named(tmp_path: Path, repository: Path, commit: str) -> None:
    rows = [row_of(commit, repository, instance_id=f"acme__shop-{number}") for number in (1, 2)]
    rows.append({"repo": 1})
    write_rows(tmp_path / "rows", rows)

    def build(unit: ImportedUnit) -> Built | Rejected:
        return built(unit) if unit.id.endswith("1") else Rejected("no_f2p", "passes before")

    with pytest.raises(UsageError, match="Give --repository"):
        import_suite(tmp_path / "rows", "swe-bench", tmp_path / "out")
    report = import_suite(tmp_path / "rows", "swe-bench", tmp_path / "out", repository=repository, build=build)
    assert [problem.id for problem in report.suite.problems] == ["acme__shop-1"]
    assert list(report.agreements) == ["acme__shop-1"]
    assert report.rejected == {"acme__shop-2": Rejected("no_f2p", "passes before")}
    assert [entry.number for entry in report.skipped] == [3]
    with pytest.raises(UsageError, match="exists already"):
        import_suite(tmp_path / "rows", "swe-bench", tmp_path / "out", repository=repository, build=build)
    write_rows(tmp_path / "bad", rows[1:2])
    with pytest.raises(UsageError, match="acme__shop-2: no_f2p: passes before"):
        import_suite(tmp_path / "bad", "swe-bench", tmp_path / "none", repository=repository, build=build)
    assert not (tmp_path / "none").exists()
