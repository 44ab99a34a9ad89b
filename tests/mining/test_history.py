import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import ExitCode, UsageError
from codegate.mining.sources.history import check_repository, read_merged_changes
from tests.kit.repository import HistoryBuilder


def test_direct_commits_come_newest_first_and_the_root_is_no_unit(history: HistoryBuilder) -> None:
    root = history.commit("begin", {"a.py": "1\n"})
    first = history.commit("Change a\n\nBecause.", {"a.py": "2\n3\n"})
    second = history.commit("Drop a", {"a.py": None, "b.py": "b\n"})

    newest, oldest = read_merged_changes(history.folder)

    assert (newest.commit, newest.base) == (second, first)
    assert (oldest.commit, oldest.base, oldest.kind, oldest.pull_request) == (first, root, "direct", None)
    assert oldest.title == "Change a"
    assert oldest.message == "Change a\n\nBecause."
    assert (oldest.author, oldest.email) == ("Ada", "ada@example.org")
    assert oldest.date.isoformat() == "2025-03-01T02:00:00+00:00"
    (change,) = oldest.changes
    assert (change.path, change.status, change.added, change.removed) == ("a.py", "M", 2, 1)
    assert {(c.path, c.status) for c in newest.changes} == {("a.py", "D"), ("b.py", "A")}


MERGES = [
    ("Merge pull request #12 from ada/fix-sum\n\nSum up empty lists", 12, "Sum up empty lists"),
    ("Merge branch 'fix-sum' into 'main'\n\nSum up empty lists\n\nSee merge request team/sum!34", 34,
     "Sum up empty lists"),
    ("Merged in fix-sum (pull request #56)\n\nSum up empty lists", 56, "Sum up empty lists"),
    ("Merge #78\n\n78: Sum up empty lists r=bob a=ada\n\nText.", 78, "Sum up empty lists"),
    ("Auto merge of #90 - ada:fix-sum, r=bob\n\nSum up empty lists", 90, "Sum up empty lists"),
    ("Merge pull request 'Sum up empty lists' (#11) from ada/fix-sum into main", 11, "Sum up empty lists"),
    ("Merged PR 21: Sum up empty lists", 21, "Sum up empty lists"),
    ("Merge pull request #12 from ada/fix-sum", 12, "sum: start at 0"),
    ("Merge branch 'fix-sum'", None, "sum: start at 0"),
    ("Merge commit from fork\n\n* Sum up empty lists", None, "Sum up empty lists"),
    ("Merge commit from fork", None, "sum: start at 0"),
    ("Merge commit from fork\n\nThe sums of lists are lost, and\nso are those of texts.", None, "sum: start at 0"),
]  # fmt: skip


def test_merges_of_every_forge(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    expected: dict[str, tuple[str, int | None, str]] = {}
    for place, (message, number, title) in enumerate(MERGES):
        history.branch(f"fix-{place}")
        history.commit("sum: start at 0", {"a.py": f"{place}\n"})
        history.git("checkout", "--quiet", "main")
        parent = history.commit("elsewhere", {"b.py": f"{place}\n"})
        expected[history.merge(f"fix-{place}", message)] = parent, number, title

    units = [unit for unit in read_merged_changes(history.folder) if unit.kind == "merge"]

    assert {unit.commit: (unit.base, unit.pull_request, unit.title) for unit in units} == expected
    for unit in units:
        assert not unit.merges_forward
        assert "* sum: start at 0" in unit.message
        assert [change.path for change in unit.changes] == ["a.py"]


def test_a_merge_of_several_commits_has_the_title_of_the_fix(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    history.branch("work")
    for number, subject in enumerate(("Mend the docs", "fix: panic without functions", "Add a test")):
        history.commit(subject, {"a.py": f"{number}\n"})
    history.git("checkout", "--quiet", "main")
    history.commit("elsewhere", {"b.py": "1\n"})
    history.merge("work", "Merge branch 'ada-work'")
    assert read_merged_changes(history.folder)[0].title == "fix: panic without functions"


def test_merges_of_long_lived_branches_are_told_apart(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    for number, message in enumerate((
        "Merge branch 'main' into feature",
        "Merge branch 'master' of github.com:ada/sum",
        "Merge remote-tracking branch 'upstream/fix'",
        "Merge branch 'release/1.2'",
        "Merge tag 'v1.2'",
        "Merge branch '2.x-line'",
    )):  # fmt: skip
        history.branch(f"other-{number}")
        history.commit("work", {"a.py": f"{number}\n"})
        history.merge(f"other-{number}", message)
        assert read_merged_changes(history.folder)[0].merges_forward, message


@pytest.mark.parametrize(("subject", "number"), [("Sum up empty lists (#7)", 7), ("Sum up empty lists (!8)", 8)])
def test_squashed_pull_requests(history: HistoryBuilder, subject: str, number: int) -> None:
    history.commit("begin", {"a.py": "1\n"})
    history.commit(f"{subject}\n\n* text", {"a.py": "2\n"})

    unit = read_merged_changes(history.folder)[0]

    assert (unit.kind, unit.pull_request, unit.title) == ("squash", number, "Sum up empty lists")


def test_nothing_in_a_message_or_a_name_is_taken_for_structure(history: HistoryBuilder) -> None:
    names = ["commit", "line\nbreak.py", 'quote".py', "tab\t.py", "ünïcode 文.py", ":100644 M", "1\t2\tx.py", "-\t-\ty"]
    history.commit("begin", {"a.py": "1\n"})
    message = "\x01commit\n\ncommit\n:100644 100644 aaa bbb M\n1\t1\ta.py\ncommit"
    history.commit(message, dict.fromkeys(names, "1\n2\n"))
    history.commit("after", {"a.py": "2\n"})

    after, hostile = read_merged_changes(history.folder)

    assert after.title == "after"
    assert hostile.message == message
    assert {change.path: change.added for change in hostile.changes} == dict.fromkeys(names, 2)


def test_binary_files_have_no_line_counts_and_undecodable_names_survive(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    raw = b"caf\xe9.bin"
    (history.folder / raw.decode("utf-8", "surrogateescape")).write_bytes(b"\0\1\2")
    history.commit("data")

    (change,) = read_merged_changes(history.folder)[0].changes

    assert change.path.encode("utf-8", "surrogateescape") == raw
    assert (change.added, change.removed) == (None, None)


def test_renames_are_a_deletion_and_an_addition_whatever_the_repository_configures(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n2\n3\n"})
    history.commit("move", {"a.py": None, "b.py": "1\n2\n3\n"})
    history.git("config", "diff.renames", "copies")
    history.git("config", "log.showSignature", "true")
    history.git("config", "log.diffMerges", "separate")

    unit = read_merged_changes(history.folder)[0]

    assert [(change.path, change.status) for change in unit.changes] == [("a.py", "D"), ("b.py", "A")]


def test_since_and_branch_choose_the_units(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    for number in range(4):
        history.commit(f"step {number}", {"a.py": f"{number}\n"})
        history.later(hours=12)
    history.branch("other")
    history.commit("on the branch", {"a.py": "x\n"})
    history.git("checkout", "--quiet", "main")

    assert len(read_merged_changes(history.folder)) == 4
    assert [unit.title for unit in read_merged_changes(history.folder, since=date(2025, 3, 2))] == ["step 3", "step 2"]
    assert read_merged_changes(history.folder, branch="other")[0].title == "on the branch"


def test_a_long_history_is_read_by_few_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", "."], cwd=folder, check=True)
    stream = bytearray()
    for number in range(1001):
        stream += b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 9\nFix %05d\n" % (number, number)
        stream += b"M 100644 inline pkg/mod_%d.py\ndata 6\n%05d\n\n" % (number % 97, number)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=bytes(stream), check=True)

    started: list[Any] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            started.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    units = read_merged_changes(folder)

    assert len(units) == 1000
    assert 0 < len(started) < 50


class TestRefusals:
    def test_not_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is not a folder"):
            check_repository(tmp_path / "absent")

    def test_not_a_repository(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"is not a git repository\. Give the path of a clone"):
            check_repository(tmp_path)

    def test_git_missing(self, history: HistoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(UsageError, match=r"git is not installed.*[Ii]nstall it"):
            check_repository(history.folder)

    def test_empty_history(self, history: HistoryBuilder) -> None:
        with pytest.raises(UsageError, match="its history is empty") as caught:
            check_repository(history.folder)
        assert caught.value.exit_code is ExitCode.USAGE

    def test_current_branch_unborn(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.git("checkout", "--quiet", "--orphan", "nothing")
        with pytest.raises(UsageError, match="Choose one of its branches: main"):
            check_repository(history.folder)

    def test_shallow_clone(self, history: HistoryBuilder, tmp_path: Path) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.commit("more", {"a.py": "2\n"})
        clone = tmp_path / "shallow"
        history.git("clone", "--quiet", "--depth=1", f"file://{history.folder}", str(clone))
        with pytest.raises(UsageError, match=r"shallow clone.*git fetch --unshallow.*fetch-depth: 0"):
            check_repository(clone)

    @pytest.mark.parametrize("branch", ["absent", "--output=x", " "])
    def test_no_such_branch(self, history: HistoryBuilder, branch: str) -> None:
        history.commit("begin", {"a.py": "1\n"})
        with pytest.raises(UsageError, match="branch"):
            check_repository(history.folder, branch)
