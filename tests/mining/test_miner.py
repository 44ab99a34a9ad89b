import json
import re
import signal
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from codegate.environments import Recipe
from codegate.errors import ExitCode, Interrupted, UsageError
from codegate.mining import MineEvent, MineReport, MineRequest, mine_repository
from codegate.mining.report import ChangeResult
from codegate.mining.sources.history import path_from
from codegate.mining.units import Reason
from codegate.operations.suites import mining_words
from codegate.sandbox import EnvironmentRecipe
from codegate.sandbox.bubblewrap import BubblewrapBackend, BubblewrapEnvironment
from codegate.suite import load_base, load_suite
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

pytestmark = pytest.mark.bwrap

SUMS = "def total(items):\n    return items[0] + sum(items[1:])\n"
SUMS_FIXED = "def total(items):\n    return sum(items)\n"
UNITS = b"FACTOR = 1000\r\nCUBE = FACTOR * FACTOR * FACTOR\r\nNAME = 'metres a day'\r\n"
TEST_SUMS = "from pkg.sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
TEXT = "def title(text):\n    return text[0].upper() + text[1:]\n"
TEST_TEXT = "from pkg import text\n\n\ndef test_title():\n    assert text.title('ab') == 'Ab'\n"
FLAKY = """
import os

from pkg import text

seen = []

def test_first():
    seen.append(1)

def test_needs_first():
    assert seen

def test_needs_seed():
    assert os.environ["PYTHONHASHSEED"] != "1"

def test_title():
    assert text.title("ab") == "Ab"

def test_empty():
    assert text.title("") == ""
"""


def _build(history: HistoryBuilder) -> dict[str, str]:
    """Build a history with every kind of end; return the commits by name."""
    commits = {}
    history.commit(
        "begin",
        {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "pkg/text.py": TEXT, "tests/test_sums.py": TEST_SUMS,
         "tests/test_text.py": TEST_TEXT, "tests/data/naïve.bin": b"\0\1", "README.md": "x\n"},
    )  # fmt: skip
    commits["docs"] = history.commit("Say more", {"README.md": "more\n"})
    history.branch("ada/fix-nothing")
    history.commit("start at zero", {"pkg/sums.py": SUMS_FIXED})
    nothing = TEST_SUMS + "\n\ndef test_nothing():\n    assert total([]) == 0\n"
    history.commit("test it", {"tests/test_sums.py": nothing})
    commits["merge"] = history.merge(
        "ada/fix-nothing",
        "Merge pull request #2 from ada/fix-nothing\n\nSum up nothing\n\n"
        "The total of an empty list raises an IndexError. The total should be zero. Fixes #1.",
    )
    commits["flaky"] = history.commit(
        f"Fix it (#3){BODY}",
        {"pkg/text.py": "def title(text):\n    return text[:1].upper() + text[1:]\n", "tests/test_text.py": FLAKY},
    )
    commits["bot"] = history.commit("Bump x", {"pkg/sums.py": "# x\n" + SUMS_FIXED}, "dependabot[bot] <d@b>")
    commits["format"] = history.commit(
        "Fix style", {"pkg/sums.py": "# y\n" + SUMS_FIXED, "tests/test_sums.py": nothing + "# y\n"}
    )
    commits["crlf"] = history.commit(
        f"Fix the ünits{BODY}",
        {"pkg/ünits.py": UNITS, "tests/test_ünits.py": "from pathlib import Path\nimport pkg.sums\n\n"
         "def test_data():\n    assert (Path(__file__).parent / 'data' / 'new.bin').read_bytes() == b'\\0\\xff'\n\n"
         "def test_factor():\n    from pkg import ünits\n    assert ünits.FACTOR == 1000\n"
         "    assert ünits.NAME == 'metres a day'\n",
         "tests/data/new.bin": b"\0\xff", "tests/data/naïve.bin": None},
    )  # fmt: skip
    means = "from pkg.means import mean\n\ndef test_it():\n    assert mean([1]) == 1\n"
    commits["feature"] = history.commit(
        "Know means", {"pkg/means.py": "def mean(xs):\n    return sum(xs) / len(xs)\n",
                       "tests/test_means.py": means},
    )  # fmt: skip
    commits["same"] = history.commit(
        "Tell means apart", {"pkg/means.py": "def mean(values):\n    return sum(values) / len(values)\n",
                             "tests/test_means.py": means.replace("1", "2")},
    )  # fmt: skip
    history.git("revert", "--no-commit", "HEAD")
    commits["revert"] = history.commit('Revert "Tell means apart"')
    return commits


@pytest.fixture(scope="module")
def mined(
    bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory
) -> tuple[HistoryBuilder, dict[str, str], MineReport, list[MineEvent]]:
    home = tmp_path_factory.mktemp("mined")
    history = HistoryBuilder(home / "repository")
    commits = _build(history)
    events: list[MineEvent] = []
    report = mine_repository(
        history.folder, home / "pkg", MineRequest(name="pkg", rounds=2), bwrap_backend, events.append
    )
    return history, commits, report, events


Mined = tuple[HistoryBuilder, dict[str, str], MineReport, list[MineEvent]]


@pytest.mark.requirement("M2")
def test_every_unit_ends_as_a_problem_or_with_a_reason(mined: Mined) -> None:
    _, commits, report, _ = mined
    ends = {result.commit: result.problem or result.reason for result in report.results}
    assert {name: ends[commit] for name, commit in commits.items()} == {
        "docs": "docs_only",
        "merge": "pkg-2",
        "flaky": "pkg-3",
        "bot": "bot",
        "format": "format_only",
        "crlf": f"pkg-{commits['crlf'][:12]}",
        "feature": "only_new_tests",
        "same": "no_f2p",
        "revert": "revert",
    }
    assert len(report.results) == len(commits)
    assert report.funnel == {
        "units": 9, "source and tests": 5, "environment": 5, "fail-to-pass": 4, "validated": 3,
    }  # fmt: skip


@pytest.mark.requirement("M2")
def test_the_suite_is_complete_and_its_trees_are_byte_exact(mined: Mined) -> None:
    history, commits, report, _ = mined
    suite = load_suite(report.out)
    assert suite.digest == (report.suite.digest if report.suite else "")
    merge, flaky, crlf = suite.problems
    assert [problem.id for problem in suite.problems] == list(report.problems)
    assert merge.statement.startswith("# Sum up nothing\n\nFor example:\n\n```python\nfrom pkg.sums import total\n")
    assert "The commit that fixed it says:\n\n> The total of an empty" in merge.statement
    assert merge.manifest.statement.sources == ("commit", "probe")
    assert flaky.manifest.statement.mode == "sources"
    assert load_base(suite, merge) == load_base(suite, merge, history.folder)
    assert merge.manifest.base.commit == history.git("rev-parse", f"{commits['merge']}^1")
    assert merge.manifest.provenance.kind == "merge"
    assert merge.manifest.provenance.pull_request == 2
    assert merge.manifest.tags == {
        "tier": "XS", "component": "pkg/sums", "year": "2025", "fails_by": "exception", "statement": "executed",
    }  # fmt: skip
    assert merge.tests.FAIL_TO_PASS == ("tests/test_sums.py::test_nothing",)
    assert merge.tests.PASS_TO_PASS == ("tests/test_sums.py::test_total",)
    created = crlf.fix["pkg/ünits.py"]
    assert created is not None
    assert created.data == UNITS
    data = crlf.hidden["tests/data/new.bin"]
    assert data is not None
    assert data.data == b"\0\xff"
    assert crlf.manifest.hidden_deleted == ("tests/data/naïve.bin",)
    assert "tests/test_ünits.py::test_factor" in crlf.tests.FAIL_TO_PASS
    assert [problem.manifest.quality.exact_texts for problem in suite.problems if problem.manifest.quality] == [0, 0, 1]
    (environment,) = suite.manifest.environments
    assert environment.base is not None  # of the newest tree: one build serves the whole history


def test_the_profile_counts_every_test_run_of_units_kept_and_rejected(mined: Mined) -> None:
    profile = mined[2].profile
    assert profile.count == {True: 3, False: 3}
    # Of two of these the fixed state and the unfixed one are run; no test of "same" fails before it.
    assert sum(count.runs for count in profile.rejected.runs.values()) == 4
    lines = profile.lines()
    assert {len(line) for line in lines[1:]} == {len(lines[1])}
    assert {line.split()[0] for line in lines[2:]} == {
        "cut", "environment", "validation", "statement", "quality", "leak", "variation", "oracle", "total",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("out", "expected"), [("repository/suites/x", "../.."), ("x", "../repository"), ("far/away/x", None)]
)
def test_a_suite_names_its_repository_where_it_is_around_or_beside_it(
    history: HistoryBuilder, out: str, expected: str | None
) -> None:
    assert path_from(history.folder.parent / out, history.folder) == expected


def test_planted_order_and_seed_dependence_is_quarantined_with_evidence(mined: Mined) -> None:
    suite = mined[2].suite
    assert suite is not None
    flaky = suite.problems[1]
    assert flaky.tests.FAIL_TO_PASS == ("tests/test_text.py::test_empty",)
    assert {entry.id.rpartition("::")[2] for entry in flaky.tests.QUARANTINED} == {
        "test_needs_first",
        "test_needs_seed",
    }
    assert all(entry.quarantine.reason == "flaky" for entry in flaky.tests.QUARANTINED)


def test_the_funnel_is_written_beside_the_suite_and_told_as_it_goes(mined: Mined) -> None:
    _, _, report, events = mined
    rows = [json.loads(line) for line in (report.out / "funnel.jsonl").read_text().splitlines()]
    assert [row["commit"] for row in rows] == [result.commit for result in report.results]
    assert {row["status"] for row in rows} == {"accepted", "rejected"}
    summary = json.loads((report.out / "mining.json").read_text())
    assert summary["funnel"]["validated"] == 3
    assert summary["reasons"] == report.reasons
    assert summary["seconds_per_problem"] == pytest.approx(report.seconds["total"] / 3, abs=0.001)
    kinds = [event.kind for event in events if event.kind != "trying"]
    assert kinds[:3] == ["scanned", "tried", "tried"], "a recipe is found, and taken"
    assert sorted(kinds[3:]) == [*["problem"] * 3, *["unit"] * 3]
    assert all(event.important for event in events if event.kind == "problem")
    assert (events[-1].done, events[-1].total, events[-1].accepted) == (6, 6, 3), "of those to try"
    meanwhile = [event.message for event in events if event.kind == "trying"]
    assert any(re.match(r"trying [0-9a-f]{12} \(validation, \d+ s\)", message) for message in meanwhile), meanwhile


@pytest.mark.full
def test_how_many_run_at_once_changes_no_problem_and_no_estimate_is_longer_than_the_budget(
    mined: Mined, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    history, told = mined[0], list[str]()

    def progress(event: MineEvent) -> None:
        if event.kind == "trying":
            told.append(event.message)

    options = MineRequest(name="pkg", max_problems=2, jobs=4, rounds=1, budget_minutes=5.0)
    again = mine_repository(history.folder, tmp_path / "out", options, bwrap_backend, progress)
    assert again.problems == ("pkg-2", "pkg-3"), "those with an executed example"
    assert again.reasons["not_needed"] == 1, "proven with words alone, and one too many"
    assert told[0].endswith("; at most 5 min left"), "as long as too few units have ended for an estimate"
    for message in told:
        left = re.search(r"; at most (\d+) min left", message)
        assert left is None or int(left[1]) <= 5, message


@pytest.mark.full
def test_old_changes_are_tried_only_until_there_are_enough_problems(
    mined: Mined, bwrap_backend: BubblewrapBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.mining.queue.RECENT", timedelta())
    monkeypatch.setattr("codegate.mining.queue.ENOUGH", 1)
    options = MineRequest(name="pkg", rounds=1)
    report = mine_repository(mined[0].folder, tmp_path / "out", options, bwrap_backend, lambda _: None)
    assert len(report.problems) == 1
    assert "enough problems were found (1)" in {result.detail for result in report.results if result.reason == "budget"}


@pytest.mark.full
def test_problems_with_an_executed_example_come_before_those_with_words_alone(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    twice = "def twice(text):\n    return text\n"
    history.commit("begin", {"sums.py": f"{SUMS}\n\nMOST = 10\n", "twice.py": twice})
    tests = "from twice import twice\n\ndef test_twice():\n    assert twice('plum') == 'plumplum'\n"
    history.commit("Fix texts that are not doubled", {"twice.py": f"{twice[:-1]} * 2\n", "tests/test_twice.py": tests})
    most = "import sums\n\ndef test_most():\n    assert sums.MOST == 4321\n"
    quoted = history.commit(f"Fix sums{BODY}", {"sums.py": f"{SUMS}\n\nMOST = 4321\n", "tests/test_sums.py": most})
    options = MineRequest(rounds=1, max_problems=1)
    events: list[MineEvent] = []
    report = mine_repository(history.folder, tmp_path / "out", options, bwrap_backend, events.append)
    found = [event.words for event in events if event.kind == "problem"]
    assert found[0].startswith("1 problem, 0 with an executed example, more are wanted; ")
    assert found[1].startswith("2 problems; ")
    (problem,) = load_suite(report.out).problems
    assert problem.manifest.provenance.title == "Fix texts that are not doubled"
    assert problem.manifest.tags["statement"] == "executed"
    (other,) = (result for result in report.results if result.commit == quoted)
    assert (other.problem, other.reason, other.detail) == (None, "not_needed", "enough problems were found (1)")
    assert report.untried == ""
    assert "proved, not needed: 1 change (--max-problems)" in mining_words(report)
    assert (report.funnel["fail-to-pass"], report.funnel["validated"]) == (2, 1)
    options = MineRequest(rounds=1, only=quoted, statements="executed")
    report = mine_repository(history.folder, tmp_path / "executed", options, bwrap_backend, lambda _: None)
    assert report.reasons == {"no_statement": 1}


def test_a_change_whose_failing_test_the_base_has_already_is_left_out(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    tests = "from twice import twice\n\ndef test_twice():\n    assert twice('plum') == 'plumplum'\n"
    wrong = "def twice(text):\n    return text\n"
    history.commit("Add a test that fails", {"twice.py": wrong, "tests/test_twice.py": tests})
    right, tidier = f"{wrong[:-1]} * 2\n", tests.replace("import twice\n", "import twice  # the fixed one\n")
    history.commit("Fix texts that are not doubled", {"twice.py": right, "tests/test_twice.py": tidier})
    report = mine_repository(history.folder, tmp_path / "out", MineRequest(rounds=1), bwrap_backend, lambda _: None)
    (result,) = (each for each in report.results if each.reason == "leak")
    assert result.detail == "the base has the failing tests: tests/test_twice.py::test_twice"


@pytest.mark.full
def test_an_interrupt_leaves_no_suite_and_no_sandbox(mined: Mined, tmp_path: Path) -> None:
    backend = BubblewrapBackend("interrupted")

    def interrupt(event: MineEvent) -> None:
        if event.kind in {"unit", "problem"}:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        mine_repository(mined[0].folder, tmp_path / "out", MineRequest(), backend, interrupt)
    assert caught.value.exit_code is ExitCode.INTERRUPTED
    assert list(tmp_path.iterdir()) == []
    backend.close()


class _Stuck(BubblewrapBackend):
    """A backend whose worker asks for the end as Ctrl-C does, and then never comes back."""

    def __init__(self) -> None:
        super().__init__("stuck")
        self.never = threading.Event()
        self.ended = False

    def prepare(self, recipe: EnvironmentRecipe) -> BubblewrapEnvironment:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        self.never.wait(250)
        self.ended = True
        return super().prepare(recipe)


def test_an_interrupt_ends_mining_although_a_worker_is_stuck(
    mined: Mined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.mining.queue.GRACE_SECONDS", 0.2)
    backend = _Stuck()
    before = set(threading.enumerate())
    with pytest.raises(Interrupted):
        mine_repository(mined[0].folder, tmp_path / "out", MineRequest(rounds=1, jobs=1), backend, lambda _: None)
    assert not backend.ended
    for thread in threading.enumerate():
        if thread.name == "codegate-stop":  # on a busy machine, mining ends before the backend is closed
            thread.join(60)
    assert [thread for thread in threading.enumerate() if not thread.daemon and thread not in before] == []
    backend.never.set()
    backend.close()


def test_nothing_to_mine_is_told_and_writes_no_suite(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    history.commit("begin", {"a.py": "1\n"})
    history.commit("change", {"a.py": "2\n"})
    report = mine_repository(history.folder, tmp_path / "out", MineRequest(rounds=1), bwrap_backend, lambda _: None)
    assert report.suite is None
    assert report.reasons == {"no_test": 1}
    assert mining_words(report)[-1].endswith("docs/mining.md#when-little-comes-out")
    assert sorted(path.name for path in report.out.iterdir()) == ["funnel.jsonl", "mining.json"]
    assert (
        mine_repository(history.folder, tmp_path / "out", MineRequest(rounds=1), bwrap_backend, lambda _: None).suite
        is None
    )


def test_every_change_is_in_one_count_of_the_words_and_of_the_document(tmp_path: Path) -> None:
    def result(reason: Reason | None, problem: str | None = None) -> ChangeResult:
        return ChangeResult("1" * 40, "merge", None, "Fix", "2025-01-01", 1.0, (), reason, problem)

    ends = [result(None, "a"), result("not_needed"), *[result("budget")] * 3, *[result("no_test")] * 5]
    report = MineReport(None, tmp_path, tuple(ends), {"total": 1.0})
    assert {
        "funnel: 10 units → 5 source and tests (2 tried) → 2 environment → 2 fail-to-pass → 1 validated",
        "left out: 5 no_test",
        "not tried: 3 changes: the time was used up; the same command goes on with them",
        "proved, not needed: 1 change (--max-problems)",
    } <= set(mining_words(report))
    cut = replace(report, results=(*ends, replace(result("budget"), seconds=118.4)))
    assert cut.untried == (
        "4 changes: the time was used up; the same command goes on with them. 1 cut off, the longest after 118 s, "
        "will begin again: --budget-minutes must be longer than one takes"
    )
    document = report.summary()
    assert document["funnel"]["units"] == 10 == document["funnel"]["validated"] + sum(document["reasons"].values())
    assert (document["not_tried"], document["funnel"]["fail-to-pass"]) == (3, 2)


def test_no_time_left_starts_nothing(mined: Mined, bwrap_backend: BubblewrapBackend, tmp_path: Path) -> None:
    options = MineRequest().model_copy(update={"budget_minutes": 0.0})
    events: list[MineEvent] = []
    report = mine_repository(mined[0].folder, tmp_path / "out", options, bwrap_backend, events.append)
    assert report.reasons["budget"] == 6
    assert {event.done for event in events} == {0}, "what was not tried is not done"
    assert events[0].message == "9 units, 6 to try, sandbox bwrap"
    assert list(report.funnel.values()) == [9, 6, 0, 0, 0]
    assert "not tried: 6 changes: the time was used up; the same command goes on with them" in mining_words(report)


@pytest.mark.full
def test_a_budget_cuts_off_what_is_under_way_and_keeps_what_is_proven(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    nothing = "\n\ndef test_nothing():\n    assert total([]) == 0\n"
    slow = "\n\ndef test_slow():\n    import time\n    time.sleep(100)\n"
    history.commit(
        "begin", {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "pkg/text.py": TEXT, "tests/test_sums.py": TEST_SUMS}
    )
    slow_one = history.commit(
        f"Fix sums{BODY}", {"pkg/sums.py": SUMS_FIXED, "tests/test_sums.py": TEST_SUMS + nothing + slow}
    )
    empty = TEST_TEXT + "\n\ndef test_empty():\n    assert text.title('') == ''\n"
    fixed = TEXT.replace("text[0]", "text[:1]")
    titles = history.commit(f"Fix titles{BODY}", {"pkg/text.py": fixed, "tests/test_text.py": empty})
    history.commit("Do not wait", {"tests/test_sums.py": TEST_SUMS + nothing})
    options = MineRequest(rounds=1, jobs=1, only=titles, memory=tmp_path / "memory")
    first = mine_repository(history.folder, tmp_path / "out", options, bwrap_backend, lambda _: None)
    assert len(first.problems) == 1

    for _ in range(2):
        options = MineRequest(rounds=1, jobs=1, budget_minutes=0.2, memory=tmp_path / "memory")
        report = mine_repository(history.folder, tmp_path / "out", options, bwrap_backend, lambda _: None)
        assert report.problems == first.problems
        (cut,) = (result for result in report.results if result.commit == slow_one)
        assert (cut.reason, cut.remembered) == ("budget", False)
        assert re.match(r"cut off after \d+ s, when the time budget was used up; ", cut.detail)
        assert "1 cut off, the longest after " in report.untried


def test_a_tree_that_no_sandbox_takes_is_no_problem(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    history.folder.joinpath("elsewhere").symlink_to("/etc/passwd")
    history.commit("begin", {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "tests/test_sums.py": TEST_SUMS})
    history.commit("Fix sums", {"pkg/sums.py": SUMS_FIXED, "tests/test_sums.py": TEST_SUMS + "\n# more\n"})
    report = mine_repository(history.folder, tmp_path / "out", MineRequest(rounds=1), bwrap_backend, lambda _: None)
    assert report.reasons == {"symlink": 1}
    assert "elsewhere" in report.results[0].detail


def test_a_fix_that_the_real_grader_does_not_accept_is_no_problem(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    tests = "import unittest\nfrom pkg.sums import total\n\nclass Sums(unittest.TestCase):\n"
    tests += "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    nothing = f"{tests}\n    def test_nothing(self):\n        self.assertEqual(total([]), 0)\n"
    history.commit("begin", {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "tests/test_sums.py": tests})
    history.commit(
        f"Fix sums{BODY}",
        {"pkg/sums.py": SUMS_FIXED, "pkg/old.py": "print 'python 2'\n", "tests/test_sums.py": nothing},
    )
    options = MineRequest(rounds=1, recipe=Recipe(tests="python -m unittest"))
    report = mine_repository(history.folder, tmp_path / "out", options, bwrap_backend, lambda _: None)
    assert report.reasons == {"oracle_fails": 1}
    assert report.results[0].detail.startswith("syntax_error: pkg/old.py")


@pytest.mark.parametrize("options", [MineRequest(name="../x"), MineRequest(name="x y"), MineRequest(branch="absent")])
def test_wrong_options_are_refused(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path, options: MineRequest
) -> None:
    history.commit("begin", {"a.py": "1\n"})
    with pytest.raises(UsageError):
        mine_repository(history.folder, tmp_path / "out", options, bwrap_backend, lambda _: None)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_left_alone(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path
) -> None:
    history.commit("begin", {"a.py": "1\n"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="is no suite"):
        mine_repository(history.folder, tmp_path / "out", MineRequest(rounds=1), bwrap_backend, lambda _: None)


def _raise(*_: object, **__: object) -> None:
    raise KeyError("odd")


@pytest.mark.full
def test_an_odd_unit_costs_itself_and_nothing_else(
    bwrap_backend: BubblewrapBackend, history: HistoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = TEST_SUMS + "\n\ndef test_nothing():\n    assert total([]) == 0\n"
    history.commit("begin", {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "tests/test_sums.py": TEST_SUMS})
    name = "tests/test_\udcff.py"
    history.commit("Fix sums of bytes", {"pkg/sums.py": SUMS_FIXED, "tests/test_sums.py": nothing, name: TEST_SUMS})
    history.commit("break", {"pkg/sums.py": SUMS, "tests/test_sums.py": TEST_SUMS, name: TEST_SUMS + "\n"})
    history.commit(f"Fix sums{BODY}", {"pkg/sums.py": SUMS_FIXED + "\n", "tests/test_sums.py": nothing + "\n"})
    report = mine_repository(history.folder, tmp_path / "out", MineRequest(rounds=1), bwrap_backend, lambda _: None)
    ends = {result.title: result.reason for result in report.results}
    assert ends == {"Fix sums of bytes": "unreadable", "break": "unreadable", "Fix sums": None}

    monkeypatch.setattr("codegate.mining.build.write_statement", _raise)  # stands for what nobody thought of
    report = mine_repository(history.folder, tmp_path / "none", MineRequest(rounds=1), bwrap_backend, lambda _: None)
    assert report.reasons == {"unreadable": 3}
    assert report.results[0].detail == "KeyError: 'odd'"


class _Counting(BubblewrapBackend):
    """A backend that counts the environments that it is asked for."""

    prepared = 0

    def prepare(self, recipe: EnvironmentRecipe) -> BubblewrapEnvironment:
        self.prepared += 1
        return super().prepare(recipe)


@pytest.mark.full
def test_no_unit_is_tried_when_enough_problems_are_remembered(
    mined: Mined, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    options = MineRequest(name="pkg", rounds=1, max_problems=1, memory=tmp_path / "memory")
    first = mine_repository(mined[0].folder, tmp_path / "out", options, bwrap_backend, lambda _: None)
    counting = _Counting("counting")
    again = mine_repository(mined[0].folder, tmp_path / "out", options, counting, lambda _: None)
    counting.close()
    assert (again.problems, again.reasons) == (first.problems, first.reasons)
    assert counting.prepared == 1, "for the recipe's try"
