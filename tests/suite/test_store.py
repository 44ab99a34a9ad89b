import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from codegate.durable import sha256
from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.suite import (
    Base,
    Problem,
    ProblemManifest,
    Provenance,
    TestSets,
    Tree,
    TreeFile,
    load_base,
    load_suite,
    load_tree,
    update_problem,
    write_suite,
)
from codegate.suite.folder import MAX_FOLDER_FILES, read_folder
from tests.kit import problem as kit

from .builders import ENVIRONMENT, FIX, HIDDEN, STATEMENT, TESTS, problem, suite

SERVICE = {
    "routes": [
        {"method": "GET", "path": "/a", "answers": [{"body": {"no": [1, None, 0.5]}, "headers": {"x": "1.10"}}]}
    ],
    "expects": [{"method": "GET", "path": "/a", "query": {"q": "no"}, "exactly": 1}],
}
BASE = Tree({"src/add.py": TreeFile(b"x\n"), "tests/test_public.py": TreeFile(b"")})


def test_defaults_are_not_written(tmp_path: Path) -> None:
    written = suite(tmp_path / "s", problem("one", limits={"seconds": 30, "cpus": 1.0}))
    stored = yaml.safe_load((tmp_path / "s/problems/one/problem.yml").read_text("utf-8"))
    assert stored.keys() == {
        *("schema", "id", "base", "environment", "test_files", "public_tests", "hidden_deleted", "fix_deleted"),
        *("statement", "limits", "tags", "provenance", "file_modes"),
    }
    assert stored["limits"] == {"seconds": 30}
    assert stored["provenance"] == {"kind": "handwritten", "title": "no: 1.10 # not a comment"}
    assert yaml.safe_load((tmp_path / "s/suite.yml").read_text("utf-8"))["schema"] == "codegate.suite/2"
    assert load_suite(tmp_path / "s") == written


def test_what_is_written_is_what_is_loaded(tmp_path: Path) -> None:
    asked = TestSets(FAIL_TO_PASS=("service::GET /a?q=no exactly 1",))
    one = problem("one")
    two = problem("two", hidden={"tests/test_add.py": TreeFile(b"")}, fix={}, service=SERVICE, tests=asked)
    written = suite(tmp_path / "s", two, one, repository="../repository")
    loaded = load_suite(tmp_path / "s")
    assert loaded == written
    assert loaded.problems == (two, one)
    assert loaded.problems[1].hidden == HIDDEN
    assert loaded.problems[1].fix == FIX
    assert loaded.problems[1].statement == STATEMENT
    assert loaded.environments == {"py311": ENVIRONMENT}
    assert loaded.manifest.repository == "../repository"
    assert loaded.problems[1].manifest.provenance.title == "no: 1.10 # not a comment"
    assert loaded.problems[1].manifest.tags == {"area": "no", "size": "1.10"}
    (tmp_path / "s/problems/one/hidden/tests/run.sh").chmod(0o600)  # as a checkout or an archive might
    assert load_suite(tmp_path / "s").digest == written.digest


@example(title="\x85", key="\u2028", value="a\n\x85 b\r\n\t\u2029\ufeff", test="\x00\x1b \x85")
@given(
    title=st.text(max_size=40),
    key=st.text(max_size=10),
    value=st.text(max_size=30),
    test=st.text(min_size=1, max_size=30),
)
def test_no_text_is_changed_by_the_way_over_the_disk(
    tmp_path_factory: pytest.TempPathFactory, title: str, key: str, value: str, test: str
) -> None:
    folder = tmp_path_factory.mktemp("suites") / "s"
    made = problem(
        provenance=Provenance(kind="direct", title=title),
        tags={key: value},
        tests=TestSets(FAIL_TO_PASS=(test,)),
        statement=value,
    )
    assert suite(folder, made).problems == (made,)
    shutil.rmtree(folder)


def test_the_files_are_the_ones_that_the_documentation_names(tmp_path: Path) -> None:
    suite(tmp_path / "s")
    found = {path.relative_to(tmp_path / "s").as_posix() for path in (tmp_path / "s").rglob("*") if path.is_file()}
    assert found == {
        "suite.yml", "environments/py311/recipe.yml", "environments/py311/resolved.txt", "problems/p-1/problem.yml",
        "problems/p-1/statement.md", "problems/p-1/tests.json", "problems/p-1/hidden/tests/test_add.py",
        "problems/p-1/hidden/tests/run.sh", 'problems/p-1/hidden/tests/data/näme "quoted".bin',
        "problems/p-1/fix/src/add.py",
    }  # fmt: skip
    canary = yaml.safe_load((tmp_path / "s/suite.yml").read_text())["canary"]
    assert (tmp_path / "s/problems/p-1/problem.yml").read_text().startswith(f"# {canary}\n")


def test_the_same_suite_is_the_same_bytes(tmp_path: Path) -> None:
    suite(tmp_path / "a")
    suite(tmp_path / "b")
    for path in (tmp_path / "a").rglob("*"):
        other = tmp_path / "b" / path.relative_to(tmp_path / "a")
        assert path.is_dir() or path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"base": Base(commit="b" * 40)},
        {"base": Base(folder="base"), "base_digest": "c" * 64},
        {"statement": STATEMENT + "x"},
        {"tests": TestSets(FAIL_TO_PASS=TESTS.FAIL_TO_PASS)},
        {"tests": TestSets(FAIL_TO_PASS=("x",), PASS_TO_PASS=TESTS.PASS_TO_PASS)},
        {"tests": TestSets(FAIL_TO_PASS=TESTS.expected)},
        {"hidden": {**HIDDEN, "tests/test_add.py": TreeFile(b"")}},
        {"hidden": {**HIDDEN, "tests/run.sh": TreeFile(b"#!/bin/sh\n")}},
        {"hidden": {**HIDDEN, "tests/test_old.py": TreeFile(b"")}},
        {"hidden": {path: file for path, file in HIDDEN.items() if file is not None}},
        {"fix": {**FIX, "src/add.py": TreeFile(b"")}},
        {"fix": {**FIX, "src/add.py": None}},
        {"fix": {}},
        {"environment": ENVIRONMENT.manifest.model_copy(update={"resolved": "0" * 64})},
        {"environment": ENVIRONMENT.manifest.model_copy(update={"recipe": "0" * 64})},
        {"limits": {"seconds": 121}},
        {"limits": {"memory_mb": 2048}},
        {"limits": {"output_kb": 64}},
        {"python_path": ("lib",)},
        {"test_files": ("tests/test_add.py", "tests/run.sh")},
        {"public_tests": ()},
        {"command": ("pytest", "-x")},
        {"before": ("make assets",)},
        {"service": SERVICE},
    ],
)
def test_whatever_can_change_a_grade_changes_the_digest(change: dict[str, Any]) -> None:
    assert problem(**change).digest != problem().digest


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"tags": {}},
        {"status": "quarantined", "quarantine": {"reason": "manual", "evidence": "", "expires": "2027-01-01"}},
        {"provenance": Provenance(kind="merge", commit="d" * 40, pull_request=7, title="x", bug_score=3)},
        {"environment": ENVIRONMENT.manifest.model_copy(update={"day": date(2025, 1, 1), "id": "else"})},
    ],
)
def test_what_cannot_change_a_grade_does_not_change_the_digest(change: dict[str, Any]) -> None:
    assert problem(**change).digest == problem().digest


def test_the_digest_of_a_suite_covers_its_problems_and_not_their_order(tmp_path: Path) -> None:
    one, two = problem("one"), problem("two", statement="x")
    digests = [
        suite(tmp_path / str(n), *made).digest for n, made in enumerate([(one, two), (two, one), (one,), (two,)])
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_the_digest_is_the_one_of_this_version_of_the_format() -> None:
    # Baselines are refused when it changes: never without a new `schema`.
    assert problem().digest == "b8b36183d98b80c987220a2594694319f7fbb5d9e899f1d5e7a1d8428c46c7ba"


def edit(place: str, **changes: Any) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        data = yaml.safe_load((folder / place).read_text())
        for key, value in changes.items():
            data[key] = value
        (folder / place).write_text(yaml.safe_dump(data))

    return apply


def put(place: str, data: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(data)

    return apply


def link(place: str) -> Callable[[Path], None]:
    """Move what is at ``place`` out of the suite and leave a link to it."""

    def apply(folder: Path) -> None:
        outside = folder.parent / "outside"
        (folder / place).rename(outside)
        (folder / place).symlink_to(outside)

    return apply


def add_link(place: str, target: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(target)

    return apply


def remove(place: str) -> Callable[[Path], None]:
    return lambda folder: (folder / place).unlink()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fifo(folder: Path) -> None:
    os.mkfifo(folder / "problems/p-1/hidden/pipe")


def environment(**changes: Any) -> dict[str, Any]:
    return {**ENVIRONMENT.manifest.model_dump(mode="json"), **changes}


P = "problems/p-1"


@pytest.mark.parametrize(
    ("spoil", "place", "words"),
    [
        (remove("suite.yml"), "", "it has no suite.yml. Make one with `codegate mine REPOSITORY --out FOLDER`."),
        (link("suite.yml"), "suite.yml", "is a symbolic link"),
        (link("environments/py311/resolved.txt"), "resolved.txt", "is a symbolic link"),
        (link("environments/py311"), "py311", "is a symbolic link"),
        (link(P), P, "is a symbolic link"),
        (link(f"{P}/statement.md"), "statement.md", "is a symbolic link"),
        (link(f"{P}/hidden/tests"), "hidden/tests", "is a symbolic link"),
        (add_link(f"{P}/fix/passwd", "/etc/passwd"), "passwd", "is a symbolic link"),
        (fifo, "pipe", "is not a regular file"),
        (edit("suite.yml", environments=[environment(id="../py311")]), "", "environments.0.id: "),
        (edit("suite.yml", environments=[environment(id="missing")]), "environments/missing", "does not exist"),
        (edit("suite.yml", environments=[environment(inputs="0" * 64)]), "", "give both `base` and `inputs`"),
        (remove("environments/py311/recipe.yml"), "recipe.yml", "does not exist"),
        (edit("suite.yml", environments=[environment(), environment()]), "suite.yml", "listed twice"),
        (edit("suite.yml", problems=["p-1", "p-1"]), "suite.yml", "listed twice"),
        (edit("suite.yml", problems=["p-2"]), "problems/p-2/problem.yml", "does not exist"),
        (edit("suite.yml", name=False), "suite.yml", "name: Input should be a valid string (put it in quotes)"),
        (edit("suite.yml", schema="codegate.suite/3"), "suite.yml", "schema: Input should be 'codegate.suite/2'"),
        (edit("suite.yml", canary="x\nid: 1"), "suite.yml", "canary"),
        (put("suite.yml", b"a: &a [*a]"), "suite.yml", "anchors"),
        (put("environments/py311/recipe.yml", b"setup: [evil]\n"), "recipe.yml", "is not what suite.yml says"),
        (put("environments/py311/resolved.txt", b"\xff"), "resolved.txt", "is not UTF-8"),
        (put(f"{P}/statement.md", b"New."), "statement.md", f"or set {sha256(b'New.')} if"),
        (put(f"{P}/statement.md", STATEMENT.replace("\n", "\r\n").encode()), "statement.md", "must not convert"),
        (edit(f"{P}/problem.yml", id="other"), "problem.yml", "id is 'other', but the folder is 'p-1'"),
        (edit(f"{P}/problem.yml", environment="py399"), "problem.yml", "environment 'py399' is not in suite.yml"),
        (edit(f"{P}/problem.yml", test_files=["tests/test_other.py"]), "", "test_files: 'tests/test_other.py'"),
        (edit(f"{P}/problem.yml", test_files=["tests/test_old.py"]), "problem.yml", "is not in"),
        (edit(f"{P}/problem.yml", test_files=[]), "problem.yml", "test_files"),
        (edit(f"{P}/problem.yml", python_path=["../lib"]), "problem.yml", "python_path.0: not a plain"),
        (edit(f"{P}/problem.yml", fix_deleted=["src/add.py"]), "problem.yml", "fix_deleted: 'src/add.py' is listed"),
        (edit(f"{P}/problem.yml", hidden_deleted=["a.py", "a.py"]), "", "hidden_deleted: 'a.py' is listed twice"),
        (edit(f"{P}/problem.yml", file_modes={"fix/src/add.py": "120000"}), "problem.yml", "file_modes"),
        (edit(f"{P}/problem.yml", file_modes={"fix/missing.py": "100755"}), "", "there is no file 'fix/missing.py'"),
        (edit(f"{P}/problem.yml", base={"commit": "main"}), "problem.yml", "base.commit"),
        (edit(f"{P}/problem.yml", base={"commit": "a" * 40, "folder": "x"}), "problem.yml", "exactly one of"),
        (edit(f"{P}/problem.yml", base={"folder": "bases/x"}), "bases/x", "does not exist"),
        (edit(f"{P}/problem.yml", limits={"seconds": 1e9}), "problem.yml", "limits.seconds"),
        (edit(f"{P}/problem.yml", service=SERVICE), "tests.json", "'service::GET /a?q=no exactly 1' is not in"),
        (edit(f"{P}/problem.yml", service={"expects": [{"method": "GET", "path": "/a"}]}), "", "give either `exactly`"),
        (edit(f"{P}/problem.yml", answer="prose"), "problem.yml", "give either `test_files` or"),
        (edit(f"{P}/problem.yml", answer="prose", test_files=[]), "tests.json", "one test, answer::prose, and"),
        (edit(f"{P}/problem.yml", status="quarantined"), "problem.yml", "`quarantine` goes with"),
        (put(f"{P}/tests.json", b'{"FAIL_TO_PASS": ["a", "a"]}'), "tests.json", "a test id is listed twice"),
        (put(f"{P}/tests.json", b'{"FAIL_TO_PASS": ["a"], "PASS_TO_PASS": ["a"]}'), "tests.json", "a test id is"),
        (put(f"{P}/hidden/tests/.git/config", b"x"), ".git/config", "is not a usable path"),
        (put(f"{P}/hidden/tests/new\nline", b"x"), "new\\nline", "is not a usable path"),
        (put(f"{P}/fix/huge", b"\0" * ((16 << 20) + 1)), "huge", "is larger than 16777216 bytes"),
    ],
)  # fmt: skip
def test_a_hostile_or_broken_suite_is_refused_in_one_line_that_names_the_file(
    tmp_path: Path, spoil: Callable[[Path], None], place: str, words: str
) -> None:
    folder = tmp_path / "s"
    suite(folder)
    spoil(folder)
    with pytest.raises(UsageError) as caught:
        load_suite(folder)
    message = str(caught.value)
    assert words in message
    assert place in message
    assert str(folder) in message
    assert message.isprintable()
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_suite_of_an_older_form_is_refused_with_the_command_that_makes_it_anew(tmp_path: Path) -> None:
    suite(tmp_path / "s")
    wheels = {"id": "py311", "python": "3.11", "lock": "environments/py311/requirements.lock"}
    edit("suite.yml", schema="codegate.suite/1", environments=[wheels])(tmp_path / "s")
    with pytest.raises(UsageError, match=r"suite.yml is of an older form \(codegate.suite/1\)") as caught:
        load_suite(tmp_path / "s")
    assert f"`codegate mine REPOSITORY --out {tmp_path / 's'}`" in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_place_without_a_suite(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not a suite: there is no such folder\. Make one with `codegate mine "):
        load_suite(tmp_path / "missing")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_FOLDER_FILES == 50_000
    monkeypatch.setattr("codegate.suite.folder.MAX_FOLDER_FILES", 9)
    monkeypatch.setattr("codegate.suite.folder.MAX_FOLDER_BYTES", 90)
    for number in range(9):
        (tmp_path / f"{number}").write_bytes(b"0123456789")
    assert len(read_folder(tmp_path)) == 9
    (tmp_path / "8").write_bytes(b"0123456789x")
    with pytest.raises(UsageError, match="have more than"):
        read_folder(tmp_path)
    (tmp_path / "9").write_bytes(b"")
    (tmp_path / "8").write_bytes(b"")
    with pytest.raises(UsageError, match="more than 9 files"):
        read_folder(tmp_path)


def test_a_recorded_environment_is_stored_whole_and_known_by_its_inputs_and_what_was_resolved(tmp_path: Path) -> None:
    def recorded(resolved: str = "six 1.17.0\n", recipe: str = "setup: [make]\n", inputs: str = "0" * 64) -> Problem:
        base = Base(commit="b" * 40)
        entry = kit.environment_with(resolved, "recorded", recipe=recipe, base=base, inputs=inputs)
        problems = [problem(environment=entry.manifest)]
        written = write_suite(tmp_path / "s", name="demo", repository=None, environments=[entry], problems=problems)
        loaded = load_suite(tmp_path / "s")
        assert loaded.environments == {"recorded": entry}
        assert loaded.digest == written.digest
        return loaded.problems[0]

    first = recorded().digest
    assert recorded(recipe="setup: [make]\nseconds: 60\n").digest == first
    assert len({first, recorded(resolved="six 1.16.0\n").digest, recorded(inputs="1" * 64).digest}) == 3


def test_a_suite_that_is_written_again_keeps_the_tree_that_an_environment_is_built_from(tmp_path: Path) -> None:
    built = kit.environment_with("", "built", base=Base(folder="bases/built"), inputs="0" * 64)
    one = problem(environment=built.manifest, base=Base(folder="bases/one"), base_digest=BASE.digest())
    fields: dict[str, Any] = {"name": "demo", "repository": None, "environments": [built], "problems": [one]}
    write_suite(tmp_path / "s", **fields, bases={"bases/one": BASE, "bases/built": BASE})
    again = write_suite(tmp_path / "s", **fields)
    assert load_tree(again, Base(folder="bases/built")) == BASE


def test_a_base_folder_is_part_of_the_suite_and_of_the_digest(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    suite(folder)
    for path, file in BASE.items():
        put(f"bases/one/{path}", file.data)(folder)
    edit(f"{P}/problem.yml", base={"folder": "bases/one"})(folder)
    loaded = load_suite(folder)
    assert loaded.problems[0].digest == problem(base=Base(folder="bases/one"), base_digest=BASE.digest()).digest
    assert load_base(loaded, loaded.problems[0]) == BASE
    # Written again, it is there again.
    rewritten = write_suite(folder, name="demo", repository=None, environments=[ENVIRONMENT], problems=loaded.problems)
    assert rewritten.digest == loaded.digest
    assert load_base(rewritten, rewritten.problems[0]) == BASE
    put("bases/one/src/add.py", b"other\n")(folder)
    assert load_suite(folder).digest != loaded.digest
    link("bases/one")(folder)
    with pytest.raises(UsageError, match="symbolic link"):
        load_suite(folder)
    with pytest.raises(UsageError, match="symbolic link"):
        load_base(loaded, loaded.problems[0])


def test_a_suite_is_replaced_and_what_else_lay_there_stays(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    suite(folder, problem("old"))
    put("README.md", b"mine\n")(folder)
    put(".git/HEAD", b"ref\n")(folder)
    put("funnel.jsonl", b"{}\n")(folder)
    suite(folder, problem("new"))
    assert [made.id for made in load_suite(folder).problems] == ["new"]
    assert names(folder) == [".git", "README.md", "environments", "funnel.jsonl", "problems", "suite.yml"]
    assert names(folder / "problems") == ["new"]
    assert names(tmp_path) == ["s"]


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mined").mkdir()
    (tmp_path / "mined/mining.json").write_text("{}")
    suite(tmp_path / "empty")
    suite(tmp_path / "mined")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("empty")
    for name in ("full", "file", "link"):
        with pytest.raises(UsageError, match="Choose another folder"):
            suite(tmp_path / name)
    assert names(tmp_path / "full") == ["thesis.tex"]
    assert names(tmp_path) == ["empty", "file", "full", "link", "mined"]


@pytest.mark.parametrize(
    "made",
    [
        problem("bad", hidden={"tests/test_add.py": TreeFile(b"x", "120000")}),
        problem("bad", test_files=("tests/missing.py",)),
        problem("bad", fix={"../../escape.py": TreeFile(b"x")}, fix_deleted=()),
        problem("bad", fix={".git/config": TreeFile(b"x")}),
        problem("bad", tests=TestSets(FAIL_TO_PASS=("a", "a"))),
        replace(problem("bad"), statement="not what the manifest says"),
        problem("bad", environment=ENVIRONMENT.manifest.model_copy(update={"id": "other"})),
    ],
)
def test_what_could_not_be_loaded_again_is_not_written(tmp_path: Path, made: Problem) -> None:
    folder = tmp_path / "deep" / "s"
    before = suite(folder, problem("old"))
    with pytest.raises(UsageError):
        suite(folder, problem("new"), made)
    assert load_suite(folder) == before
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["s"]
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file grow beyond 64 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("fault", ["disk", "rename"])
@pytest.mark.parametrize("existing", [True, False])
def test_a_disk_that_fills_up_leaves_the_old_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, existing: bool
) -> None:
    folder = tmp_path / "suites" / "s"
    if existing:
        before = suite(folder, problem("old"))
        put("README.md", b"mine")(folder)
    large = problem("new", fix={"big.py": TreeFile(b"x" * 100_000)})
    if fault == "rename":
        rename = Path.rename

        def refused(path: Path, target: Path) -> Path:
            if path.name.startswith(".codegate-new"):
                raise OSError(28, "No space left on device")
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", refused)
    full = small_files() if fault == "disk" else nullcontext()
    with full, pytest.raises(InfrastructureError, match="cannot write "):
        suite(folder, large)
    assert names(tmp_path / "suites") == (["s"] if existing else [])
    if existing:
        assert load_suite(folder) == before
        assert (folder / "README.md").read_bytes() == b"mine"


def test_a_place_that_cannot_be_written_is_infrastructure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write suite"):
        suite(tmp_path / "file" / "s")


def test_updating_a_problem_changes_its_files_and_nothing_else(tmp_path: Path) -> None:
    before = suite(tmp_path / "s", problem("one"), problem("two"))
    other = (tmp_path / "s/problems/two/problem.yml").read_bytes()
    old = before.problems[0]
    changes = {"status": "quarantined", "quarantine": {"reason": "flaky", "evidence": "x", "expires": "2027-01-01"}}
    manifest = ProblemManifest.model_validate({**old.manifest.model_dump(by_alias=True), **changes})
    after = update_problem(before, replace(old, manifest=manifest))
    assert [made.active for made in after.problems] == [False, True]
    assert after.digest == before.digest
    assert after.problems[0].hidden == HIDDEN  # the modes of files too
    tests = TestSets(FAIL_TO_PASS=TESTS.FAIL_TO_PASS)
    again = update_problem(after, replace(after.problems[1], tests=tests))
    assert again.problems[1].tests == tests
    assert again.digest != before.digest
    assert again == load_suite(tmp_path / "s")
    assert (tmp_path / "s/problems/two/problem.yml").read_bytes() == other


def test_only_a_problem_of_the_suite_is_updated(tmp_path: Path) -> None:
    made = suite(tmp_path / "s")
    with pytest.raises(UsageError, match="has no problem other"):
        update_problem(made, problem("other"))
    link(P)(tmp_path / "s")
    with pytest.raises(UsageError, match="symbolic link"):
        update_problem(made, made.problems[0])
