from pathlib import Path

import pytest

from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.languages import PathClassifier
from codegate.mining.cut import duplicates
from codegate.mining.sources.history import read_merged_changes
from codegate.mining.sources.pulls import fetch_pull_heads, read_pull_heads
from codegate.suite import read_commit
from tests.kit.repository import HistoryBuilder

LINES = "".join(f"{number}\n" for number in range(40))


def _pull(history: HistoryBuilder, number: int, ref: str = "refs/pull/{}/head") -> None:
    """Make the current commit the head of pull request ``number`` and go back to main."""
    history.git("update-ref", ref.format(number), "HEAD")
    history.git("checkout", "--quiet", "main")


def _pick(history: HistoryBuilder, *commits: str) -> str:
    history.later(hours=1)
    history.git("-c", "user.name=Eve", "-c", "user.email=eve@example.org", "cherry-pick", *commits)
    return history.git("rev-parse", "HEAD")


def _kept(history: HistoryBuilder) -> set[str]:
    units = read_merged_changes(history.folder)
    head = PathClassifier.of(read_commit(history.folder, "HEAD"))
    return {unit.commit for unit in units} - duplicates(units, head, history.folder)


class TestMerges:
    @pytest.mark.parametrize("ref", ["refs/pull/{}/head", "refs/merge-requests/{}/head", "refs/codegate/pr/{}",
                                     "refs/remotes/origin/pr/{}"])  # fmt: skip
    def test_the_merged_head_names_a_merge_with_a_message_by_hand(self, history: HistoryBuilder, ref: str) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.branch("topic")
        history.commit("work", {"a.py": "2\n"})
        _pull(history, 12, ref)
        history.merge("topic", "Bring Ada's work in")

        assert [(unit.kind, unit.pull_request) for unit in read_merged_changes(history.folder)] == [("merge", 12)]

    def test_a_head_that_the_merger_added_to_names_the_merge(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.branch("topic")
        history.commit("work", {"a.py": "2\n"})
        history.git("update-ref", "refs/pull/12/head", "HEAD")
        history.commit("polish", {"a.py": "3\n"})
        history.merge("topic", "Bring Ada's work in")

        assert read_merged_changes(history.folder)[0].pull_request == 12

    def test_several_heads_in_one_merge_name_nothing(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.branch("topic")
        for number in (12, 13):
            history.commit(f"work {number}", {"a.py": f"{number}\n"})
            history.git("update-ref", f"refs/pull/{number}/head", "HEAD")
        history.commit("polish", {"a.py": "3\n"})
        history.merge("topic", "Bring everything in")

        assert read_merged_changes(history.folder)[0].pull_request is None

    def test_the_message_has_the_last_word(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.branch("topic")
        history.commit("work", {"a.py": "2\n"})
        _pull(history, 12)
        history.merge("topic", "Merge pull request #7 from ada/topic")

        assert read_merged_changes(history.folder)[0].pull_request == 7


class TestSeries:
    def _series(self, history: HistoryBuilder) -> tuple[str, list[str]]:
        history.commit("begin", {"a.py": LINES})
        history.branch("topic")
        test = history.commit("Add a test", {"tests/test_a.py": "def test_a(): ...\n"})
        fix = history.commit("Fix sums of nothing", {"a.py": LINES.replace("7\n", "seven\n")})
        _pull(history, 12)
        return history.commit("elsewhere", {"b.py": "1\n"}), [test, fix]

    def test_rebased_commits_are_one_unit(self, history: HistoryBuilder) -> None:
        base, commits = self._series(history)
        tip = _pick(history, *commits)

        unit, elsewhere = read_merged_changes(history.folder)

        assert (unit.kind, unit.pull_request, unit.commit, unit.base) == ("rebase", 12, tip, base)
        assert {change.path for change in unit.changes} == {"a.py", "tests/test_a.py"}
        assert unit.title == "Fix sums of nothing"
        assert "Add a test" in unit.message
        assert elsewhere.pull_request is None

    def test_the_same_subject_alone_is_no_series(self, history: HistoryBuilder) -> None:
        self._series(history)
        history.commit("Add a test", {"tests/test_other.py": "x = 1\n"}, author="Bob <bob@example.org>")
        history.commit("Fix sums of nothing", {"b.py": "2\n"}, author="Bob <bob@example.org>")

        assert {unit.pull_request for unit in read_merged_changes(history.folder)} == {None}

    def test_commits_in_between_split_a_series(self, history: HistoryBuilder) -> None:
        _, commits = self._series(history)
        _pick(history, commits[0])
        history.commit("in between", {"c.py": "1\n"})
        _pick(history, commits[1])

        assert [unit.pull_request for unit in read_merged_changes(history.folder)].count(12) == 1

    def test_a_head_that_was_pushed_as_it_is(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.branch("topic")
        history.commit("work", {"a.py": "2\n"})
        _pull(history, 12)
        history.git("-c", "user.name=A", "-c", "user.email=a@b", "merge", "--ff-only", "topic")

        assert [(unit.kind, unit.pull_request) for unit in read_merged_changes(history.folder)] == [("direct", 12)]


class TestOnePullRequestTwice:
    def test_neighbours_are_fused(self, history: HistoryBuilder) -> None:
        base = history.commit("begin", {"a.py": "1\n"})
        history.commit("Fix sums (#7)", {"a.py": "2\n"})
        tip = history.commit("Test sums (#7)\n\nCloses #3", {"tests/test_a.py": "1\n"})

        (unit,) = read_merged_changes(history.folder)

        assert (unit.kind, unit.commit, unit.base, unit.title) == ("rebase", tip, base, "Fix sums")
        assert len(unit.changes) == 2
        assert unit.closes == (3,)

    def test_a_revert_is_not_fused_away(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.commit("Fix sums (#7)", {"a.py": "2\n"})
        history.commit("Revert fix of sums (#7)", {"a.py": "1\n"})

        assert [len(unit.changes) for unit in read_merged_changes(history.folder)] == [1, 1]

    def test_of_strangers_the_one_with_most_code_is_kept(self, history: HistoryBuilder) -> None:
        history.commit("begin", {"a.py": "1\n", "CHANGES": ""})
        fix = history.commit("Sum up nothing (#7)", {"a.py": "2\n", "tests/test_a.py": "1\n"})
        other = history.commit("elsewhere", {"b.py": "1\n"})
        history.commit("Update CHANGES (#7)", {"CHANGES": "".join(f"line {n}\n" for n in range(50))})

        assert _kept(history) == {fix, other}


def test_a_backport_is_a_duplicate_by_its_patch(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": LINES, "CHANGES": ""})
    history.branch("1.x")
    history.commit("Old news", {"CHANGES": "old\n", "a.py": LINES.replace("39\n", "old\n")})
    old = history.commit("Sum up nothing", {"a.py": LINES.replace("39\n", "old\n").replace("\n7\n", "\nseven\n")})
    history.git("checkout", "--quiet", "main")
    fix = history.commit("Sums", {"a.py": LINES.replace("\n7\n", "\nseven\n"), "tests/test_a.py": "1\n"})
    history.git("-c", "user.name=A", "-c", "user.email=a@b", "merge", "--quiet", "-s", "ours", "-m",
                "Merge branch '1.x'", "1.x")  # fmt: skip

    kept = _kept(history)

    assert fix in kept
    assert old not in kept


def test_changes_of_a_maintenance_branch_that_is_merged_forward_are_units(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    history.branch("1.x")
    history.branch("topic")
    history.commit("work", {"a.py": "2\n"})
    history.git("checkout", "--quiet", "1.x")
    base = history.git("rev-parse", "HEAD")
    history.git("-c", "user.name=A", "-c", "user.email=a@b", "merge", "--quiet", "--no-ff", "-m",
                "Merge pull request #12 from ada/topic", "topic")  # fmt: skip
    inner = history.git("rev-parse", "HEAD")
    history.git("checkout", "--quiet", "main")
    history.commit("elsewhere", {"b.py": "1\n"})
    history.merge("1.x", "Merge branch '1.x'")

    outer, unit, _ = read_merged_changes(history.folder)

    assert outer.merges_forward
    assert (unit.commit, unit.base, unit.pull_request) == (inner, base, 12)


def test_a_branch_that_a_long_lived_one_went_through_merges_forward(history: HistoryBuilder) -> None:
    history.commit("begin", {"a.py": "1\n"})
    history.branch("release/1")
    history.commit("on release", {"a.py": "2\n"})
    history.git("branch", "topic")
    history.commit("on release too", {"a.py": "3\n"})
    history.git("checkout", "--quiet", "main")
    history.merge("topic", "Merge branch 'topic'")

    assert read_merged_changes(history.folder)[0].merges_forward


class TestFetching:
    def test_heads_come_from_the_origin_and_nothing_else_changes(self, history: HistoryBuilder, tmp_path: Path) -> None:
        history.commit("begin", {"a.py": "1\n"})
        history.branch("topic")
        commit = history.commit("work", {"a.py": "2\n"})
        _pull(history, 12)
        clone = tmp_path / "clone"
        history.git("clone", "--quiet", "--branch=main", str(history.folder), str(clone))
        before = (clone / ".git" / "HEAD").read_bytes()

        assert fetch_pull_heads(clone) == 1
        assert read_pull_heads(clone) == {12: commit}
        assert (clone / ".git" / "HEAD").read_bytes() == before
        assert not (clone / ".git" / "FETCH_HEAD").exists()

    def test_no_such_remote(self, history: HistoryBuilder) -> None:
        with pytest.raises(UsageError, match=r"no remote 'origin'.*git remote add"):
            fetch_pull_heads(history.folder)

    def test_offline(self, history: HistoryBuilder) -> None:
        history.git("remote", "add", "origin", "http://ada:secret@127.0.0.1:1/sums.git")
        with pytest.raises(InfrastructureError, match=r"could not be fetched.*mine without") as caught:
            fetch_pull_heads(history.folder)
        assert caught.value.exit_code is ExitCode.INFRASTRUCTURE
        assert "secret" not in str(caught.value)

    def test_an_address_that_is_a_command_is_not_run(self, history: HistoryBuilder, tmp_path: Path) -> None:
        history.git("config", "protocol.ext.allow", "always")
        history.git("remote", "add", "origin", f"ext::touch {tmp_path / 'ran'}")
        with pytest.raises(InfrastructureError):
            fetch_pull_heads(history.folder)
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize(
        ("setting", "included"),
        [
            ("credential.helper", False),
            ("credential.http://127.0.0.1:1.helper", True),
            ("core.sshCommand", False),
            ("core.askPass", False),
            ("core.gitProxy", False),
        ],
    )
    def test_a_program_that_the_repository_names_is_not_run(
        self, history: HistoryBuilder, tmp_path: Path, setting: str, included: bool
    ) -> None:
        history.git("remote", "add", "origin", "http://127.0.0.1:1/sums.git")
        if included:
            history.git("config", "include.path", str(tmp_path / "more"))
            history.git("config", "--file", str(tmp_path / "more"), setting, f"!touch {tmp_path / 'ran'}")
        else:
            history.git("config", setting, f"!touch {tmp_path / 'ran'}")
        with pytest.raises(UsageError, match="names a program to run"):
            fetch_pull_heads(history.folder)
        assert not (tmp_path / "ran").exists()


def test_refs_that_only_look_like_pull_requests_are_none(history: HistoryBuilder) -> None:
    commit = history.commit("begin", {"a.py": "1\n"})
    history.git("update-ref", "refs/pull/12/merge", commit)
    history.git("update-ref", "refs/pull/x/head", commit)
    history.git("update-ref", "refs/pull/9/head", history.git("rev-parse", "HEAD^{tree}"))

    assert read_pull_heads(history.folder) == {}
