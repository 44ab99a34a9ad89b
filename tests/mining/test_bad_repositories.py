"""Repositories that go wrong in their own way: each ends with units, a reason or a clear error, never a traceback."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.mining import MineReport, MineRequest, mine_repository
from codegate.mining.cut import cut
from codegate.mining.kinds import score_change
from codegate.mining.sources.history import MergedChange, read_merged_changes
from codegate.mining.units import reject_by_text
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import GitError, read_commit
from tests.kit.repository import HistoryBuilder

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def _cut(history: HistoryBuilder, unit: MergedChange) -> object:
    return cut(unit, read_commit(history.folder, unit.base), read_commit(history.folder, unit.commit))


@pytest.mark.bwrap
class TestMining:
    """Nothing here comes as far as a sandbox."""

    def _mine(self, repository: Path, out: Path, backend: BubblewrapBackend) -> MineReport:
        request = MineRequest(name="bad", recipe=Recipe(tests="python -m unittest"))
        return mine_repository(repository, out, request, backend, lambda event: None)

    def test_empty(self, history: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend) -> None:
        with pytest.raises(UsageError, match="its history is empty"):
            self._mine(history.folder, tmp_path / "out", bwrap_backend)

    def test_one_commit(self, history: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend) -> None:
        history.commit("begin", {"a.py": "1\n"})
        assert self._mine(history.folder, tmp_path / "out", bwrap_backend).results == ()

    def test_bare_with_submodules_and_names_that_are_no_text(
        self, history: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend
    ) -> None:
        test = "import unittest\n\nclass TestB(unittest.TestCase):\n    def test_b(self): ...\n"
        commit = history.commit("begin", {"a.py": "1\n", "test_b.py": test})
        history.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor")
        history.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Fix vendor")
        odd = os.fsdecode(b"test_caf\xe9.py")
        history.commit("Fix vendor again")
        history.commit("Fix names", {"a.py": "2\n", odd: "def test_a(): ...\n"})
        bare = tmp_path / "bare.git"
        history.git("clone", "--quiet", "--bare", str(history.folder), str(bare))

        report = self._mine(bare, tmp_path / "out", bwrap_backend)

        assert report.suite is None
        assert report.reasons == {"submodule": 2, "unreadable": 1}


class TestPointers:
    @pytest.mark.parametrize("path", ["a.py", "tests/test_a.py", "tests/data.bin"])
    def test_files_that_are_elsewhere(self, history: HistoryBuilder, path: str) -> None:
        files: dict[str, str | bytes | None] = {"a.py": "1\n", "tests/test_a.py": "def test_a(): ...\n"}
        history.commit("begin", {**files, "tests/data.bin": "x", ".gitattributes": "*.none filter=lfs\n"})
        changed: dict[str, str | bytes | None] = {"a.py": "2\n", "tests/test_a.py": "def test_b(): ...\n"}
        history.commit("Fix a", {**changed, path: POINTER})

        assert _cut(history, read_merged_changes(history.folder)[0]) == "lfs_pointer"


class TestDamage:
    def test_a_missing_object_is_said(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n", "tests/test_a.py": "1\n"})
        history.commit("Fix a", {"a.py": "2\n", "tests/test_a.py": "2\n"})
        history.commit("Fix more", {"a.py": "3\n", "tests/test_a.py": "3\n"})
        blob = history.git("rev-parse", "HEAD~1:a.py")
        (history.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
        history.commit("Fix b", {"b.py": "1\n"})

        newest, *others = read_merged_changes(history.folder)

        assert [change.added for change in newest.changes] == [1]
        assert {change.added for unit in others for change in unit.changes} == {None}
        with pytest.raises(GitError, match=r"objects are missing.*Fetch them"):
            read_commit(history.folder, others[1].commit)

    @pytest.mark.parametrize("what", ["HEAD~1", "HEAD~1^{tree}"])
    def test_a_damaged_commit_or_tree_is_said(self, history: HistoryBuilder, what: str) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.commit("Fix a", {"a.py": "2\n"})
        history.commit("Fix more", {"a.py": "3\n"})
        name = history.git("rev-parse", what)
        file = history.folder / ".git" / "objects" / name[:2] / name[2:]
        file.chmod(0o644)
        file.write_bytes(b"\x78\x9c rubbish")

        with pytest.raises(GitError, match="failed in"):
            read_merged_changes(history.folder)


class TestOtherForms:
    def test_a_work_tree_of_its_own(self, history: HistoryBuilder, tmp_path: Path) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.commit("Fix a", {"a.py": "2\n"})
        tree = tmp_path / "tree"
        history.git("worktree", "add", "--quiet", str(tree))

        assert read_merged_changes(tree) == read_merged_changes(history.folder)

    def test_sha256(self, tmp_path: Path) -> None:
        folder = tmp_path / "long"
        folder.mkdir()
        for command in (
            "init --quiet --object-format=sha256",
            "commit --quiet --allow-empty -m begin",
            "commit --quiet --allow-empty -m nothing",
        ):
            identity = ["-c", "user.name=A", "-c", "user.email=a@b"]
            subprocess.run(["git", *identity, *command.split()], cwd=folder, check=True)

        (unit,) = read_merged_changes(folder)

        assert len(unit.commit) == len(unit.base) == 64


class TestMessages:
    def test_long_and_odd_messages(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        texts = [
            "Fix \x1b[31mred\x1b[0m \u202eevil\r\a (#7)",
            "",
            "\n\n\n",
            "fix " * 200_000,
            "Merge pull request '" + "' " * 50_000,
            "fixes " + "a/" * 100_000,
            "Fixes #1" + ", #1" * 50_000,
            "closes https://" + "x/" * 100_000,
            "(#1) " * 50_000 + "!",
            "<!--" * 50_000,
        ]
        for number, text in enumerate(texts):
            (history.folder / "message").write_text(text)
            history.write({"a.py": f"{number}\n"})
            history.git("add", "a.py")
            history.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--cleanup=verbatim",
                        "--allow-empty-message", "--file=message")  # fmt: skip

        started = time.process_time()
        units = read_merged_changes(history.folder)[::-1]
        reasons = [reject_by_text(unit, score_change(unit)) for unit in units]

        assert time.process_time() - started < 15
        assert len(reasons) == len(texts)
        assert units[0].title == "Fix  [31mred [0m  evil"
        assert all(len(unit.title) <= 500 and len(unit.message) <= 1 << 16 for unit in units)
        assert units[6].closes == (1,)

    def test_merges_inside_of_merges_without_end(self, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tmp_path)], check=True)
        stream = bytearray(_commit(1, 1, b"begin") + _commit(2, 2, b"begin", 1))
        for number in range(3, 1500):  # each merge's second parent is a line that begins with such a merge
            stream += _commit(number, number, b"Merge branch 'main' of elsewhere", 1, number - 1)
        subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path, input=bytes(stream), check=True)

        assert read_merged_changes(tmp_path)


def _commit(mark: int, second: int, message: bytes, *parents: int) -> bytes:
    above = b"".join(
        b"%s :%d\n" % (b"from" if place == 0 else b"merge", parent) for place, parent in enumerate(parents)
    )
    head = b"commit refs/heads/main\nmark :%d\ncommitter A <a@b> %d +0000\ndata %d\n%s\n"
    return head % (mark, second, len(message), message) + above + b"M 100644 inline a.py\ndata 6\n%05d\n\n" % mark
