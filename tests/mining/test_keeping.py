"""Mining that goes on, suites that are refreshed, and problems of one commit."""

import json
import re
import shlex
from pathlib import Path

import pytest

from codegate.environments import Recipe
from codegate.errors import Interrupted, UsageError
from codegate.mining import MineEvent, MineReport, MineRequest, mine_repository
from codegate.operations.editing import review_suite
from codegate.operations.suites import mine_commit
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import load_suite
from tests.kit.repository import HistoryBuilder
from tests.mining.shell_world import COMMAND, RUN
from tests.mining.statement_world import BODY
from tests.running.world import codegate

SUMS = "total() {\n  echo $(($1 + $2))\n}\n\nmean() {\n  echo $(($1 + $2))\n}\n"
FIXED = SUMS.replace("$1 + $2", "${1:-0} + ${2:-0}", 1)
BOTH = FIXED.replace("$(($1 + $2))", "$((($1 + $2) / 2))")
TEST = 'test_total() {\n  [ "$(total 1 2)" = 3 ]\n}\n'
NOTHING = 'test_nothing() {\n  [ "$(total)" = 0 ]\n}\n'
MEAN = 'test_mean() {\n  [ "$(mean 1 3)" = 2 ]\n}\n'
RECIPE = Recipe(tests=shlex.join(COMMAND), report=("report.xml",))


def _begin(history: HistoryBuilder) -> str:
    """Commit a bug and its fix, in a language that is run in no time; return the fix's commit."""
    recipe = json.dumps({"environment": {"tests": RECIPE.tests, "report": RECIPE.report}})
    begin = {"lib/add.sh": SUMS, "tests/sums_test.sh": TEST, "run.sh": RUN, "codegate.yml": recipe}
    history.commit("begin", {**begin})
    return history.commit(
        f"Fix the total of nothing (#3){BODY}", {"lib/add.sh": FIXED, "tests/sums_test.sh": TEST + NOTHING}
    )


def _mean(history: HistoryBuilder) -> str:
    return history.commit(
        f"Fix the mean, which was the sum (#4){BODY}", {"lib/add.sh": BOTH, "tests/sums_test.sh": TEST + NOTHING + MEAN}
    )


def _mine(
    history: HistoryBuilder, out: Path, backend: BubblewrapBackend, options: MineRequest
) -> tuple[MineReport, list[MineEvent]]:
    events: list[MineEvent] = []
    return mine_repository(
        history.folder, out, options.model_copy(update={"rounds": 1, "recipe": RECIPE}), backend, events.append
    ), events


@pytest.mark.bwrap
def test_a_stopped_mining_goes_on_where_it_was(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    _begin(history)
    _mean(history)
    options = MineRequest(name="pkg", recipe=RECIPE, memory=tmp_path / "memory", rounds=1, jobs=1)
    stopping = BubblewrapBackend("stopping")

    def stop(event: MineEvent) -> None:
        if event.kind in {"unit", "problem"}:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="The same command goes on"):
        mine_repository(history.folder, tmp_path / "out", options, stopping, stop)
    stopping.close()
    report, _ = _mine(history, tmp_path / "out", bwrap_backend, options)
    assert sorted(report.problems) == ["pkg-3", "pkg-4"]
    remembered = {result.problem: result.remembered for result in report.results}
    assert True in remembered.values()

    again, _ = _mine(history, tmp_path / "again", bwrap_backend, options)
    assert [result.remembered for result in again.results] == [True, True]
    assert again.suite is not None
    assert report.suite is not None
    assert again.suite.digest == report.suite.digest
    assert again.seconds_per_problem is None


@pytest.mark.bwrap
def test_what_was_built_from_a_commit_that_is_gone_is_not_looked_up(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    fix = _begin(history)
    history.commit("go on", {"lib/more.sh": ""})
    options = MineRequest(name="pkg", memory=tmp_path / "memory")
    _mine(history, tmp_path / "out", bwrap_backend, options)
    history.git("reset", "--quiet", "--hard", fix)
    again, _ = _mine(history, tmp_path / "again", bwrap_backend, options)
    assert [(result.problem, result.remembered) for result in again.results] == [("pkg-3", False)]
    assert again.suite is not None
    [environment] = again.suite.environments.values()
    assert environment.manifest.base is not None
    assert environment.manifest.base.commit == fix


@pytest.mark.full
@pytest.mark.bwrap
def test_another_question_is_asked_anew_and_a_fresh_mining_looks_nothing_up(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    _begin(history)
    options = MineRequest(name="pkg", memory=tmp_path / "memory", rounds=1, jobs=1)
    _mine(history, tmp_path / "out", bwrap_backend, options)
    other, _ = _mine(
        history, tmp_path / "other", bwrap_backend, options.model_copy(update={"kinds": ("feature", "bugfix")})
    )
    assert [result.remembered for result in other.results] == [False]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "memory").rglob("end.json")}
    fresh, _ = _mine(history, tmp_path / "fresh", bwrap_backend, options.model_copy(update={"fresh": True}))
    assert [result.remembered for result in fresh.results] == [False]
    assert any(path.stat().st_mtime_ns > then for path, then in before.items()), "it records what it finds"


@pytest.mark.full
@pytest.mark.bwrap
def test_a_refresh_adds_what_is_new_retires_what_fails_and_renumbers_nothing(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    _begin(history)
    out = tmp_path / "suite"
    first, _ = _mine(history, out, bwrap_backend, MineRequest(name="pkg"))
    assert first.problems == ("pkg-3",)
    _mean(history)
    history.commit("Say more", {"README.md": "x"})
    history.commit(
        f"Fix it again (#4){BODY}",
        {"lib/add.sh": BOTH + "\n# again\n", "tests/sums_test.sh": TEST + NOTHING + MEAN + "\n"},
    )
    second, events = _mine(history, out, bwrap_backend, MineRequest(refresh=True))
    assert second.problems == ("pkg-3", "pkg-4")
    assert [event.message for event in events if event.kind == "kept"] == ["pkg-3: active"]
    assert len(second.results) == 3  # the history before is not looked at again
    assert second.suite is not None
    assert first.suite is not None
    assert second.suite.manifest.canary == first.suite.manifest.canary
    assert second.suite.problems[0].digest == first.suite.problems[0].digest
    assert second.suite.manifest.scanned == history.git("rev-parse", "HEAD")

    # The fix of pkg-3 does not do any more: it is retired, kept, and its id is nobody else's.
    broken = out / "problems" / "pkg-3" / "fix" / "lib" / "add.sh"
    broken.write_text(SUMS + "# nothing\n")
    third, _ = _mine(history, out, bwrap_backend, MineRequest(refresh=True))
    assert third.problems == ("pkg-3", "pkg-4")
    assert third.suite is not None
    retired = third.suite.problems[0].manifest
    assert retired.status == "retired"
    assert retired.quarantine is not None
    assert "0 of 1" in retired.quarantine.evidence
    assert [problem.id for problem in third.suite.active] == ["pkg-4"]
    summary = json.loads((out / "mining.json").read_text())
    assert summary["retired"] == ["pkg-3"]
    fourth, _ = _mine(history, out, bwrap_backend, MineRequest(refresh=True))
    assert fourth.kept is not None
    assert fourth.kept.retired == ()


@pytest.mark.full
@pytest.mark.bwrap
def test_a_new_suite_takes_no_review_back(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    _begin(history)
    out = tmp_path / "suite"
    options = MineRequest(name="pkg", memory=tmp_path / "memory", rounds=1)
    _mine(history, out, bwrap_backend, options)
    review_suite(load_suite(out), drop=["pkg-3"])
    with pytest.raises(UsageError, match="dropped 1 problem: pkg-3"):
        _mine(history, out, bwrap_backend, options)
    assert load_suite(out).active == ()
    _mine(history, tmp_path / "other", bwrap_backend, options)


def test_a_refresh_needs_a_suite(history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path) -> None:
    _begin(history)
    with pytest.raises(UsageError, match="is not a suite"):
        _mine(history, tmp_path / "out", bwrap_backend, MineRequest(refresh=True))


@pytest.mark.full
@pytest.mark.bwrap
def test_a_refresh_retires_nothing_for_what_the_place_lacks(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    _begin(history)
    out = tmp_path / "suite"
    _mine(history, out, bwrap_backend, MineRequest(name="pkg"))
    (tmp_path / "other").mkdir()
    other = HistoryBuilder(tmp_path / "other")
    other.commit("begin", {"README": "another project"})
    report, _ = _mine(other, out, bwrap_backend, MineRequest(refresh=True))
    assert report.kept is not None
    assert report.kept.retired == ()
    assert "is not in" in report.kept.faults["pkg-3"]
    assert [problem.id for problem in load_suite(out).active] == ["pkg-3"]

    # The same fix, on a machine that is too slow for it today.
    manifest = out / "problems" / "pkg-3" / "problem.yml"
    hurried = re.sub(r"(?m)^(\s+seconds): .*$", r"\1: 0.001", manifest.read_text())
    assert hurried != manifest.read_text()
    manifest.write_text(hurried)
    report, _ = _mine(history, out, bwrap_backend, MineRequest(refresh=True))
    assert report.kept is not None
    assert report.kept.retired == ()
    assert "time or memory" in report.kept.faults["pkg-3"]


@pytest.mark.full
@pytest.mark.bwrap
def test_what_a_refresh_did_not_come_to_is_for_the_next(
    history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
) -> None:
    _begin(history)
    out = tmp_path / "suite"
    _mine(history, out, bwrap_backend, MineRequest(name="pkg"))
    _mean(history)
    none = 'test_three() {\n  [ "$(total 1 2 3)" = 6 ]\n}\n'
    fixed = BOTH.replace("${2:-0}", "${2:-0} + ${3:-0}")
    history.commit(
        f"Fix the total of three (#5){BODY}", {"lib/add.sh": fixed, "tests/sums_test.sh": TEST + NOTHING + MEAN + none}
    )
    some, _ = _mine(history, out, bwrap_backend, MineRequest(refresh=True, max_problems=1, jobs=1))
    assert len(some.problems) == 2
    rest, _ = _mine(history, out, bwrap_backend, MineRequest(refresh=True))
    assert sorted(rest.problems) == ["pkg-3", "pkg-4", "pkg-5"]
    assert rest.suite is not None
    assert rest.suite.manifest.scanned == history.git("rev-parse", "HEAD")


@pytest.mark.bwrap
def test_one_commit_becomes_a_problem_and_the_others_stay(history: HistoryBuilder, tmp_path: Path) -> None:
    """The second change calls itself no bug fix, and is taken all the same."""
    fix = _begin(history)
    more = history.commit(
        f"Divide in mean (#4){BODY}", {"lib/add.sh": BOTH, "tests/sums_test.sh": TEST + NOTHING + MEAN}
    )
    out = tmp_path / "suite"
    words = ("--suite", out, "--repository", history.folder, "--sandbox", "bwrap")
    made = codegate("new", "problem", "--from-commit", fix[:12], *words, "--json", cwd=tmp_path)
    assert made.code == 0, made.stderr + made.stdout
    (first,) = made.document["problems"]
    before = load_suite(out)
    assert (before.manifest.problems, before.manifest.scanned) == ((first,), None)
    proved = before.problems[0].manifest
    assert (proved.language, proved.runner, proved.command) == ("junit", "junit", COMMAND)
    assert before.problems[0].tests.FAIL_TO_PASS == ("tests/sums_test.sh::test_nothing",)
    assert before.problems[0].tests.PASS_TO_PASS == ("tests/sums_test.sh::test_total",)
    assert proved.controls is not None
    report = mine_commit(history.folder, out, more, MineRequest(rounds=1, sandbox="bwrap"), lambda _event: None)
    assert len(report.problems) == 2, report.results
    assert load_suite(out).problems[0].digest == before.problems[0].digest
    again = codegate("new", "problem", "--from-commit", more, *words, cwd=tmp_path)
    assert (again.code, "the suite has a problem of it already" in again.stdout) == (3, True), again.stdout
    with pytest.raises(UsageError):
        mine_commit(history.folder, out, "0" * 40, MineRequest(sandbox="bwrap"), lambda _event: None)
    assert codegate("new", "problem", "x", "--from-commit", fix, *words, cwd=tmp_path).code == 2
