from codegate.languages import PathClassifier
from codegate.mining.cut import MAX_SOURCE_LINES, Cut, cut, duplicates, reject_by_paths
from codegate.mining.sources.history import MergedChange, read_merged_changes
from codegate.mining.units import Reason
from codegate.suite import TreeFile, read_commit
from tests.kit.repository import HistoryBuilder

BASE: dict[str, str | bytes | None] = {
    "pkg/__init__.py": "",
    "pkg/sums.py": "def total(xs):\n    return xs[0] + sum(xs[1:])\n",
    "tests/test_sums.py": "from pkg.sums import total\n\ndef test_one():\n    assert total([1]) == 1\n",
    "tests/data/old.bin": b"\0old",
    "README.md": "sums\n",
    ".github/workflows/ci.yml": "on: push\n",
    "requirements.txt": "x\n",
}
FIX: dict[str, str | bytes | None] = {"pkg/sums.py": "def total(xs):\n    return sum(xs)\n"}
TEST: dict[str, str | bytes | None] = {
    "tests/test_sums.py": "from pkg.sums import total\n\ndef test_none():\n    assert total([]) == 0\n"
}


def _units(history: HistoryBuilder, *changes: dict[str, str | bytes | None]) -> list[MergedChange]:
    history.commit("begin", BASE)
    for change in changes:
        history.commit("change", change)
    return read_merged_changes(history.folder)


def _cut(history: HistoryBuilder, unit: MergedChange) -> Cut | Reason:
    return cut(unit, read_commit(history.folder, unit.base), read_commit(history.folder, unit.commit))


def _judge(history: HistoryBuilder, unit: MergedChange) -> Cut | Reason:
    head = PathClassifier.of(read_commit(history.folder, "HEAD"))
    return reject_by_paths(unit, head) or _cut(history, unit)


def test_tests_are_hidden_sources_are_the_fix_and_the_rest_is_neither(history: HistoryBuilder) -> None:
    change = FIX | TEST | {
        "tests/data/old.bin": None,
        "tests/data/new.bin": b"\0new",
        "tests/test_ünïcode.py": "def test_it():\n    pass\n",
        "pkg/crlf.py": b"x = 1\r\n",
        "README.md": "more\n",
        "requirements.txt": "y\n",
    }  # fmt: skip
    (unit,) = _units(history, change)

    parts = _judge(history, unit)

    assert isinstance(parts, Cut)
    assert set(parts.fix) == {"pkg/sums.py", "pkg/crlf.py"}
    assert parts.fix["pkg/crlf.py"] == TreeFile(b"x = 1\r\n")
    assert set(parts.hidden) == {
        "tests/test_sums.py", "tests/data/old.bin", "tests/data/new.bin", "tests/test_ünïcode.py",
    }  # fmt: skip
    assert parts.hidden["tests/data/old.bin"] is None
    assert parts.hidden["tests/data/new.bin"] == TreeFile(b"\0new")
    assert parts.test_files == ("tests/test_sums.py", "tests/test_ünïcode.py")
    assert parts.public_tests == ("tests/test_sums.py",)
    assert parts.source_lines == 2
    assert parts.base["README.md"].data == b"sums\n"


def test_the_runners_own_configuration_decides_what_is_a_test(history: HistoryBuilder) -> None:
    history.commit("begin", BASE | {"pytest.ini": "[pytest]\npython_files = check_*.py\ntestpaths = checks\n"})
    history.commit(
        "change", FIX | {"checks/check_sums.py": "def test_it(): pass\n", "pkg/test_bench.py": "import pkg\n"}
    )
    (unit,) = read_merged_changes(history.folder)

    parts = _judge(history, unit)

    assert isinstance(parts, Cut)
    assert parts.test_files == ("checks/check_sums.py",)
    assert set(parts.fix) == {"pkg/sums.py", "pkg/test_bench.py"}


REFUSED: list[tuple[dict[str, str | bytes | None], Reason]] = [
    (FIX, "no_test"),
    (FIX | {"tests/test_sums.py": None}, "no_test"),
    (FIX | {"tests/data/old.bin": b"\0new"}, "no_test"),
    (TEST, "tests_only"),
    ({"README.md": "x\n"}, "docs_only"),
    ({".github/workflows/ci.yml": "on: pull_request\n"}, "ci_only"),
    ({"requirements.txt": "y\n"}, "deps_only"),
    ({"requirements.txt": "y\n", "README.md": "x\n"}, "no_src"),
    (TEST | {"requirements.txt": "y\n"}, "tests_only"),
    (TEST | {"pkg/sums.py": "# total\ndef total( xs ):\n  return xs[0]+sum(xs[1:])\n"}, "format_only"),
    (TEST | {"pkg/sums.py": None, "pkg/totals.py": BASE["pkg/sums.py"]}, "rename_only"),
    (FIX | TEST | {"pkg/table.dat": b"\0\1"}, "binary_src"),
    (TEST | {"pkg/sums.rb": "x\n"}, "unsupported_language"),
    ({"lib/sums.rb": "x\n"}, "unsupported_language"),
    (TEST | {"lib/sums.js": "x\n"}, "no_test"),
    (FIX | TEST | {"pkg/big.py": "x = 1\n" * (MAX_SOURCE_LINES + 1)}, "too_large"),
    ({}, "no_src"),
]


def test_what_cannot_be_cut_says_why(history: HistoryBuilder) -> None:
    """Each change is made to the base and taken back."""
    history.commit("begin", BASE)
    for number, (change, _) in enumerate(REFUSED):
        history.commit(f"change {number}", change)
        history.commit("undo", {**dict.fromkeys(change), **{path: BASE[path] for path in change if path in BASE}})
    units = [unit for unit in read_merged_changes(history.folder) if unit.title != "undo"]
    head = PathClassifier.of(read_commit(history.folder, "HEAD"))
    found = [reject_by_paths(unit, head) or _cut(history, unit) for unit in reversed(units)]
    assert found == [reason for _, reason in REFUSED]


def test_symbolic_links_are_refused(history: HistoryBuilder) -> None:
    history.commit("begin", BASE)
    (history.folder / "pkg" / "link.py").symlink_to("sums.py")
    history.commit("change", FIX | TEST)
    (unit,) = read_merged_changes(history.folder)
    assert _judge(history, unit) == "symlink"


def test_a_fix_keeps_encodings_modes_and_folders_in_the_place_of_files(history: HistoryBuilder) -> None:
    history.commit("begin", BASE | {"pkg/cli": "x\n", "pkg/latin.py": b"# \xe9\n"})
    (history.folder / "pkg" / "cli").unlink()
    history.write({"run.py": "x = 1\n"})
    (history.folder / "run.py").chmod(0o755)
    history.commit("change", FIX | TEST | {"pkg/cli/__init__.py": "x = 1\n", "pkg/latin.py": b"# \xe9\nx = 1\n"})
    (unit,) = read_merged_changes(history.folder)
    parts = _judge(history, unit)
    assert isinstance(parts, Cut)
    assert parts.fix == {
        "pkg/cli": None,
        "pkg/cli/__init__.py": TreeFile(b"x = 1\n"),
        "pkg/latin.py": TreeFile(b"# \xe9\nx = 1\n"),
        "pkg/sums.py": TreeFile(b"def total(xs):\n    return sum(xs)\n"),
        "run.py": TreeFile(b"x = 1\n", "100755"),
    }


def test_a_change_of_a_submodule_is_refused(history: HistoryBuilder) -> None:
    history.commit("begin", BASE)
    history.write(FIX | TEST)
    history.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/other")
    history.git("add", "pkg", "tests")
    history.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "change")
    (unit,) = read_merged_changes(history.folder)
    assert _judge(history, unit) == "submodule"


def test_a_submodule_that_stays_as_it_is_does_no_harm(history: HistoryBuilder) -> None:
    history.write(BASE)
    history.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/other")
    history.git("add", *BASE)
    history.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "begin")
    history.write(FIX | TEST)
    history.git("add", "pkg", "tests")
    history.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "change")
    (unit,) = read_merged_changes(history.folder)
    assert isinstance(_judge(history, unit), Cut)


def test_sources_that_no_parser_takes_are_cut_all_the_same(history: HistoryBuilder) -> None:
    (unit,) = _units(history, TEST | {"pkg/sums.py": "print 'python 2'\n" + "(" * 5000})
    assert isinstance(_judge(history, unit), Cut)


def test_the_same_change_twice_is_a_duplicate_and_the_first_is_kept(history: HistoryBuilder) -> None:
    undo = {"pkg/sums.py": BASE["pkg/sums.py"], "tests/test_sums.py": BASE["tests/test_sums.py"]}
    units = _units(history, FIX | TEST, undo, FIX | TEST)
    head = PathClassifier.of(read_commit(history.folder, "HEAD"))
    assert duplicates(units, head) == {units[0].commit}


def test_of_two_units_with_one_number_the_one_with_more_code_is_kept(history: HistoryBuilder) -> None:
    history.commit("begin", BASE)
    history.commit("Prepare (#7)", {"pkg/sums.py": "def total(xs):\n    return 0\n"})
    history.commit("Something else", {"README.md": "x"})  # what touches would be fused
    history.commit("Fix sums (#7)", FIX | TEST | {"pkg/new.py": "x = 1\n"})
    fix, _, prepare = read_merged_changes(history.folder)
    assert duplicates([fix, prepare], PathClassifier.of(read_commit(history.folder, "HEAD"))) == {prepare.commit}
