"""Whole runs in this process: real sandboxes, a real server, and whatever a provider or a model may do."""

import json
import os
import re
import shutil
import signal
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, Sampling
from codegate.errors import InfrastructureError, Interrupted, UsageError
from codegate.grading import Grade, OwnTests, Regressions, Sandboxes, grade, run_full_test_suite
from codegate.reporting import build_view, render_console
from codegate.running import Progress, Run, readiness, run_exit_code, session
from codegate.running.calls import CallLimitReached, TimeLimit
from codegate.sandbox import NotInstalled, SandboxError
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.session import SandboxSession
from codegate.service import Expectation, Service
from codegate.solving import Attempt, solve
from codegate.suite import Problem, Suite, Tree, load_suite, update_problem
from tests.running.world import (
    NAMES,
    Execute,
    ModelServer,
    Said,
    answer,
    lines,
    only,
    results,
    run_here,
    serving,
    source,
    write_recipe,
)

pytestmark = pytest.mark.bwrap

REFERENCE = CandidateSpec(provider="reference")
EMPTY = CandidateSpec(provider="empty")


def faults(run: Run) -> set[str | None]:
    return {outcome.fault.cause if outcome.fault else None for outcome in run.outcomes}


def test_reference_solves_all_and_empty_none(execute: Execute) -> None:
    run = execute(REFERENCE, EMPTY, samples=2)
    assert {o.grade.resolved for o in run.of(REFERENCE.key()) if o.grade} == {True}
    assert {o.grade.failure for o in run.of(EMPTY.key()) if o.grade} == {"no_patch"}
    assert len(run.outcomes) == 12
    assert not any(outcome.regressions for outcome in run.outcomes), "where they are not wanted"
    assert run_exit_code(run, ()) == 0


@pytest.mark.requirement("D8")
def test_an_answer_that_recites_the_canary_is_marked(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    canary = suite.manifest.canary
    server.script = lambda name, turn, request: Said(answer(name) + (f"\n{canary}" if name == "half" else ""))
    run = run_here(suite, tmp_path / "r", server.spec())
    assert {outcome.problem: outcome.recited for outcome in run.outcomes} == {
        f"calc-{name}": name == "half" for name in NAMES
    }


def test_a_word_of_the_code_is_graded_though_a_variable_for_a_secret_holds_it(
    suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "calc/double.py")
    monkeypatch.setenv("CACHE_PASSWORD", "calc-double")  # also a problem's id
    monkeypatch.setenv("OPENAI_API_KEY", "calc/half.py")
    run = run_here(suite, tmp_path / "r", server.spec(), REFERENCE)
    assert [outcome.grade and outcome.grade.failure for outcome in run.outcomes] == [None] * 6
    patches = [json.loads(path.read_text())["patch"] for path in (tmp_path / "r/transcripts").rglob("*.json")]
    assert len(patches) == 6
    assert not any("[redacted]" in patch for patch in patches), "which a resumed run grades"


def test_a_server_is_needed_only_where_a_call_is_left(suite: Suite, tmp_path: Path) -> None:
    out, cache = tmp_path / "r", tmp_path / "cache"
    with serving() as server:
        spec = server.spec()
        first = run_here(suite, out, spec, cache=cache)
    journal, graded = (out / "outcomes.jsonl").read_bytes(), results(out)
    assert run_here(suite, out) == first
    assert (out / "outcomes.jsonl").read_bytes() == journal, "nothing is graded twice"
    (out / "outcomes.jsonl").unlink()
    assert run_exit_code(run_here(suite, out), ()) == 0, "paid answers are graded"
    assert results(out) == graded
    assert run_exit_code(run_here(suite, tmp_path / "again", spec, cache=cache), ()) == 0, "so are kept ones"
    with pytest.raises(InfrastructureError, match="nothing listens"):
        run_here(suite, tmp_path / "new", spec)
    assert not (tmp_path / "new").exists()


def test_a_fault_is_tried_again_on_resume(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "r"
    server.script = lambda name, turn, request: Said(status=400) if name == "half" else Said(answer(name))
    assert faults(run_here(suite, out, server.spec())) == {None, "provider.bad_request"}
    server.reset()
    run = run_here(suite, out)
    assert server.asked == ["half"]
    assert faults(run) == {None}
    assert [outcome.lost for outcome in run.outcomes if outcome.lost] == [{"provider.bad_request": 1}]
    assert len(lines(out)) == 4


def test_model_calls_keep_their_limit(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: Said(answer(name), seconds=0.3)
    execute(server.spec(), samples=3, models=2, jobs=1)
    assert len(server.asked) == 9
    assert server.most_at_once == 2


@pytest.mark.full
def test_sandboxes_keep_their_limit(execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    open_now: set[object] = set()
    most: list[int] = []
    opening, closing = BubblewrapBackend.open, SandboxSession.close

    def opened(backend: BubblewrapBackend, *arguments: Any) -> Any:
        place = object()
        open_now.add(place)
        most.append(len(open_now))
        sandbox = opening(backend, *arguments)
        open_now.remove(place)
        open_now.add(sandbox)
        return sandbox

    def closed(sandbox: SandboxSession) -> None:
        open_now.discard(sandbox)
        closing(sandbox)

    monkeypatch.setattr(BubblewrapBackend, "open", opened)
    monkeypatch.setattr(SandboxSession, "close", closed)
    monkeypatch.setattr("codegate.running.attempt.grade", grade)  # each time anew
    execute(REFERENCE, samples=3, models=8, jobs=1)
    assert max(most) == 3, "one at work, and two that wait: started ahead of need, and for the next look at a patch"
    assert not open_now


def test_the_call_limit_stops_resumably_and_counts_over_resumes(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    out = tmp_path / "r"
    with pytest.raises(CallLimitReached, match=r"limit of 2 model calls is reached after 5 of 6 outcomes") as caught:
        run_here(suite, out, server.spec(), REFERENCE, models=1, max_model_calls=2)
    assert f"codegate run {suite.folder} --resume {out}" in str(caught.value)
    assert len(server.asked) == 2
    with pytest.raises(CallLimitReached):
        run_here(suite, out, max_model_calls=2)
    assert len(server.asked) == 2
    run_here(suite, out, max_model_calls=9)
    assert len(server.asked) == 3
    assert len(lines(out)) == 6


def test_the_call_limit_counts_calls_of_attempts_that_came_to_nothing(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    out = tmp_path / "r"
    on_disk: list[int] = []

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        on_disk.append(len((out / "calls.log").read_bytes().splitlines()))
        return Said(answer(name)) if name == "double" else Said(status=400)

    server.script = script
    assert faults(run_here(suite, out, server.spec(), models=1, jobs=1, max_model_calls=4)) == {
        None,
        "provider.bad_request",
    }
    for _ in range(2):
        with pytest.raises(CallLimitReached):
            run_here(suite, out, models=1, jobs=1, max_model_calls=4)
    assert len(server.asked) == 4
    assert all(written >= asked for asked, written in enumerate(on_disk, start=1)), "written before it is made"


def test_who_reaches_the_call_limit_is_told_of_calls_that_failed(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: Said(raw=b"never JSON")
    with pytest.raises(CallLimitReached, match=r"limit of 1 model calls, 1 of which failed \(the last: .*not JSON"):
        execute(server.spec(), models=1, max_model_calls=1)


def test_a_refused_key_ends_the_calls_of_its_candidate_only(execute: Execute, server: ModelServer) -> None:
    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        refused = request["max_tokens"] == 77 and name != "double"
        return Said(status=401) if refused else Said(answer(name))

    server.script = script
    wrong = server.spec(sampling={"max_output_tokens": 77})
    run = execute(wrong, server.spec(), samples=2, models=1)
    assert {o.fault.cause for o in run.of(wrong.key()) if o.fault} == {"provider.authentication"}
    assert all(o.grade and o.grade.resolved for o in run.of(server.spec().key()))
    assert len(server.asked) == 2 + 6, "the first problem, and one that showed that the key is refused"
    assert run_exit_code(run, ()) == 4


def test_a_rate_limit_is_waited_out_without_keeping_other_candidates_waiting(
    execute: Execute, server: ModelServer
) -> None:
    other = server.spec(name="other", sampling=Sampling(temperature=0.5))
    sent: list[float | None] = []

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        sent.append(request.get("temperature"))
        limited = sent.count(None) == 2 and sent[-1] is None
        return Said(status=429, headers={"Retry-After": "2"}) if limited else Said(answer(name))

    server.script = script
    run = execute(server.spec(), other, models=1)
    _, limited, again = [place for place, temperature in enumerate(sent) if temperature is None][:3]
    assert 0.5 in sent[limited:again], "the other candidate's calls are made meanwhile"
    assert faults(run) == {None}


def test_a_slow_answer_is_no_silence(
    suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, shown = threading.Event(), threading.Event()
    doing: list[str] = []

    def check(*_: object, **__: object) -> None:
        looking.wait(120)

    monkeypatch.setattr(readiness, "_check", check)

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        shown.wait(120)
        return Said(answer(name))

    def show(step: Progress) -> None:
        if step.outcome is None:
            doing.append(step.words)
        if re.fullmatch(r"checked \d of 3 problems", step.words):
            looking.set()
        if re.match(r"\d model calls?, the oldest for [1-9]\d* s", step.words):
            shown.set()

    server.script = script
    run_here(suite, tmp_path / "r", server.spec(), progress=show, precheck=True)
    assert looking.is_set(), doing
    assert shown.is_set(), doing


def test_an_answer_that_was_lost_is_kept_beside_the_one_that_replaced_it(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: (
        Said(raw=b"{") if name == "half" and not turn else Said(status=503, headers={"Retry-After": "0"})
        if name == "square" and not turn else Said(answer(name))
    )  # fmt: skip
    run = execute(server.spec())
    assert faults(run) == {None}
    assert {o.problem: o.lost for o in run.outcomes if o.lost} == {"calc-half": {"provider.malformed": 1}}


def test_an_answer_that_was_lost_before_a_limit_ended_the_run_counts_when_it_is_resumed(
    execute: Execute, server: ModelServer
) -> None:
    server.script = lambda name, turn, request: Said(raw=b"{") if not turn else Said(answer(name))
    with pytest.raises(CallLimitReached):
        execute(server.spec(), max_model_calls=1, models=1)
    (first,) = server.asked
    run = execute()
    assert {o.problem: o.lost.get("provider.malformed") for o in run.outcomes}[f"calc-{first}"] == 1


#: Answers, and what each of them fails as.
WRONG: list[tuple[str, set[str]]] = [
    ("I do not know.", {"no_patch"}),
    ("", {"empty_answer"}),
    ("calc/half.py\n<<<<<<< SEARCH\nno such line\n=======\nx\n>>>>>>> REPLACE\n", {"patch_does_not_apply"}),
    ("calc/nowhere.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", {"patch_does_not_apply"}),
    ("../../escape.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n", {"patch_does_not_apply", "no_patch"}),
    ("/etc/escape.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n", {"patch_does_not_apply", "no_patch"}),
    ("tests/test_half.py\n<<<<<<< SEARCH\n=======\ndef test_half(): pass\n>>>>>>> REPLACE\n", {"no_patch"}),
    ("conftest.py\n<<<<<<< SEARCH\n=======\nraise SystemExit\n>>>>>>> REPLACE\n", {"no_patch"}),
    ("calc/half.py\n<<<<<<< SEARCH\n=======\ndef half(\n>>>>>>> REPLACE\n", {"syntax_error"}),
    ("calc/__init__.py\n<<<<<<< SEARCH\n=======\nimport numpy\n>>>>>>> REPLACE\n", {"missing_dependency"}),
]


def test_what_a_model_does_wrong_is_its_own_failure(execute: Execute, server: ModelServer, tmp_path: Path) -> None:
    def number(tokens: int | None, name: str) -> int:
        assert tokens is not None
        return ((tokens - 1000) * len(NAMES) + NAMES.index(name)) % len(WRONG)

    server.script = lambda name, turn, request: Said(WRONG[number(request["max_tokens"], name)][0])
    several = -(-len(WRONG) // len(NAMES))
    specs = [server.spec(sampling={"max_output_tokens": 1000 + number}) for number in range(several)]
    run = execute(*specs)
    for spec in specs:
        for outcome in run.of(spec.key()):
            text, expected = WRONG[number(spec.sampling.max_output_tokens, outcome.problem.removeprefix("calc-"))]
            assert outcome.grade is not None, text
            assert outcome.grade.failure in expected, text
            assert (outcome.grade.resolved, outcome.grade.score) == (False, 0), text
    assert run_exit_code(run, ()) == 0
    assert not list(tmp_path.rglob("escape.py"))


@pytest.mark.requirement("D13")
def test_own_tests_of_the_tool_loop_are_run_and_change_no_grade(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    proof = (
        "from calc.{0} import {0}\n\ndef test_own():\n    assert {0}(8) == {1}\n\ndef test_known():\n    assert True\n"
    )
    right = {"double": 16, "half": 4, "square": 64}

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        if turn:
            return Said("Done.")
        text = source(name, fixed=True) if name == "double" else f"def {name}(n):\n    return None\n"
        calls = [use("write_file", path="tests/test_own.py", content=proof.format(name, right[name]))]
        return Said(
            tool_calls=calls if name == "half" else [*calls, use("write_file", path=f"calc/{name}.py", content=text)]
        )

    server.script = script
    run = run_here(own_suite, tmp_path / "r", server.spec(solver="tool_loop"))
    assert {one.problem: (one.grade.failure, one.own_tests) for one in run.outcomes if one.grade} == {
        "calc-double": (None, OwnTests(passed=2, proved=1)),
        "calc-half": ("no_patch", None),
        "calc-square": ("logic_error", OwnTests(passed=1, proved=0)),
    }
    assert all("test_own" not in one.attempt.patch for one in run.outcomes if one.attempt)


@pytest.mark.requirement("D13")
def test_answers_that_break_a_test_elsewhere_are_found_where_this_is_wanted(
    own_suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking = "calc/half.py\n<<<<<<< SEARCH\n    return n // 3\n=======\n    return 1\n>>>>>>> REPLACE\n"
    server.script = lambda name, turn, request: Said(
        "No idea." if name == "square" else answer(name) + ("" if turn else breaking)
    )
    proved: list[str] = []

    def counted(problem: Problem, base: Tree, sandboxes: Sandboxes) -> frozenset[str]:
        proved.append(problem.id)
        return run_full_test_suite(problem, base, sandboxes)

    monkeypatch.setattr("codegate.running.attempt.run_full_test_suite", counted)
    suite = only(own_suite, "double", "square")
    run = run_here(suite, tmp_path / "r", server.spec(), samples=2, full_test_suite=True)
    assert {(one.problem, one.grade and one.grade.resolved, one.regressions) for one in run.outcomes} == {
        ("calc-double", True, Regressions(compared=1, failing=1, first=("tests/test_public.py::test_zero",))),
        ("calc-double", True, Regressions(compared=1, failing=0)),
        ("calc-square", False, None),
    }
    assert proved == ["calc-double"], "once for both samples"


def test_a_fault_of_the_full_test_suite_is_remembered(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def fail(problem: Problem, base: Tree, sandboxes: Sandboxes) -> frozenset[str]:
        tries.append(problem.id)
        raise SandboxError("the daemon is gone.")

    monkeypatch.setattr("codegate.running.attempt.run_full_test_suite", fail)
    run = run_here(suite, tmp_path / "r", REFERENCE, samples=2, full_test_suite=True)
    assert {(one.grade and one.grade.resolved, one.regressions) for one in run.outcomes} == {(True, None)}
    shown = render_console(build_view([run]), width=200)
    assert re.search(r"full test suite: sandbox +6 +the daemon is gone\.", shown)
    assert Counter(tries) == dict.fromkeys(run.manifest.problems, 3), "two retries, once for both samples"


def test_the_full_test_suite_is_in_no_attempts_time(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead, longest, real = threading.local(), Counter[str](), time.monotonic

    def take(*_: object, passing: object = None, **__: object) -> frozenset[str] | None:
        ahead.seconds = getattr(ahead, "seconds", 0) + 10_000
        return frozenset() if passing is None else None

    def record(limit: TimeLimit, kind: str, began: float) -> None:
        longest[kind.partition(" of ")[0]] = max(longest[kind.partition(" of ")[0]], int(time.monotonic() - began))

    monkeypatch.setattr(time, "monotonic", lambda: real() + getattr(ahead, "seconds", 0))
    monkeypatch.setattr(TimeLimit, "record", record)
    monkeypatch.setattr("codegate.running.attempt.run_full_test_suite", take)
    monkeypatch.setattr("codegate.running.attempt.find_regressions", take)
    run = run_here(suite, tmp_path / "r", REFERENCE, full_test_suite=True)
    assert max(one.grading_seconds for one in run.outcomes) < 10_000
    assert longest["attempt"] < 10_000 <= longest["full test suite"] < 20_000


def test_the_wait_for_a_sandbox_is_in_no_attempts_time(execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead, real, answers = Counter[str](), time.monotonic, threading.Barrier(3)

    def solve_all(*args: Any, **options: Any) -> Attempt:
        made = solve(*args, **options)
        answers.wait(60)  # all three wait for the one sandbox
        return made

    def take(problem: Problem, *_: object, **__: object) -> Grade:
        ahead["seconds"] += 20
        return Grade(resolved=True, score=100.0, tests_total=len(problem.tests.expected))

    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead["seconds"])
    monkeypatch.setattr("codegate.running.attempt.solve", solve_all)
    monkeypatch.setattr("codegate.running.attempt.grade", take)
    run = execute(REFERENCE, jobs=1, models=3)
    assert [int(one.grading_seconds) // 20 for one in run.outcomes] == [1, 1, 1]
    assert max(int(one.seconds or 0) // 20 for one in run.outcomes) == 3, "but in that of its span"


@pytest.mark.requirement("C2")
def test_the_tool_loop_runs_the_public_tests_in_a_real_sandbox(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    told: list[str] = []
    service = Service(expects=(Expectation(method="GET", path="/", at_most=0),))
    (problem,) = only(own_suite, "half").problems
    manifest = problem.manifest.model_copy(update={"service": service})
    tests = problem.tests.model_copy(update={"PASS_TO_PASS": service.tests})
    suite = update_problem(only(own_suite, "half"), replace(problem, manifest=manifest, tests=tests))

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        if turn == 0:
            return Said(tool_calls=[use("run_tests")])
        if turn == 1:
            told.append(request["messages"][-1]["content"])
            return Said(tool_calls=[use("write_file", path=f"calc/{name}.py", content=source(name, fixed=True))])
        return Said("Done.")

    server.script = script
    with pytest.raises(CallLimitReached):
        run_here(suite, tmp_path / "r", server.spec(solver="tool_loop"), max_model_calls=2, models=1)
    run = run_here(suite, tmp_path / "r")
    assert len(server.asked) == 3, "a turn that is paid for is not paid again"
    (outcome,) = run.outcomes
    assert outcome.grade is not None
    assert (outcome.grade.resolved, outcome.grade.tests_total) == (True, 2)
    assert outcome.attempt is not None
    assert outcome.attempt.iterations == 3
    assert [text.startswith("1 passed\n") for text in told] == [True], "what is expected of calls is not shown"


def use(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def test_an_environment_that_cannot_be_built_costs_no_call(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    write_recipe(own_suite.folder, "setup: [exit 7]\n")
    run = run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec(), REFERENCE)
    assert faults(run) == {"environment"}
    assert {o.fault.retries for o in run.outcomes if o.fault} == {1}
    assert all("failed with exit code 7" in o.fault.message for o in run.outcomes if o.fault)
    assert server.asked == []
    assert run_exit_code(run, ()) == 4


def test_a_tool_that_is_not_on_this_machine_is_a_usage_error_before_money_is_spent(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    write_recipe(own_suite.folder, "tools: {ruby: '1.0'}\n")
    with pytest.raises(UsageError, match=r"3 of 3 problems cannot be run here .*no ruby 1.0.*Install ruby 1.0"):
        run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec(), precheck=True)
    assert (server.greeted, server.asked) == ([], [])
    assert not (tmp_path / "r").exists(), "a run that is refused before it begins leaves no folder"


def test_the_look_for_tools_ends_at_once_at_a_signal(
    execute: Execute, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looking(*_: object) -> None:  # it may install packages in an image, for minutes
        signal.raise_signal(signal.SIGINT)
        time.sleep(2)

    monkeypatch.setattr(session, "check_installed", looking)
    with pytest.raises(Interrupted, match="before anything was written"):
        execute(REFERENCE)
    assert not (tmp_path / "r").exists()


def test_a_base_image_that_its_registry_lacks_is_a_usage_error(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: object) -> str:
        raise NotInstalled("python:3.99-slim-bookworm is not there.", "Change `tools`.")

    monkeypatch.setattr(BubblewrapBackend, "base_image", lacking)
    with pytest.raises(UsageError, match=r"python:3.99-slim-bookworm is not there. Change `tools`."):
        execute(REFERENCE)


def test_a_missing_base_commit_is_known_before_money_is_spent(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    problem = own_suite.folder / "problems/calc-square/problem.yml"
    commit = own_suite.problems[2].manifest.base.commit
    assert commit is not None
    problem.write_text(problem.read_text().replace(commit, "f" * 40))
    with pytest.raises(UsageError, match=r"problem calc-square: .*ffffffffffff.* is not in .*fetch-depth: 0"):
        run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec())
    assert server.asked == []
    assert not (tmp_path / "r").exists()


def test_another_version_of_the_suite_is_refused_on_resume(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    run_here(own_suite, tmp_path / "r", REFERENCE)
    kept = (tmp_path / "r" / "outcomes.jsonl").read_bytes()
    fix = own_suite.folder / "problems/calc-half/fix/calc/half.py"
    fix.write_text(fix.read_text() + "\n")
    with pytest.raises(UsageError, match="made with another version of suite calc"):
        run_here(load_suite(own_suite.folder), tmp_path / "r")
    assert (tmp_path / "r" / "outcomes.jsonl").read_bytes() == kept


@pytest.mark.full
def test_a_disk_that_refuses_an_attempt_ends_the_run(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "r"
    run_here(suite, out, REFERENCE)
    kept = results(out)
    (out / "outcomes.jsonl").write_text("".join((out / "outcomes.jsonl").read_text().splitlines(True)[:1]))
    os.truncate(next((out / "transcripts").rglob("calc-square.0.json")), 0)
    next((out / "transcripts").rglob("calc-square.0.json")).unlink()
    folder = next((out / "transcripts").iterdir())
    moved = folder.rename(tmp_path / "moved")
    folder.write_text("a file is in the folder's place")
    with pytest.raises(InfrastructureError, match=r"cannot write .*transcripts"):
        run_here(suite, out)
    folder.unlink()
    moved.rename(folder)
    run_here(suite, out)
    assert results(out) == kept


def test_a_base_tree_is_read_once_in_a_run(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    def play(name: str, turn: int, request: dict[str, Any]) -> Said:
        if turn == 1:  # the second sample
            shutil.rmtree(tmp_path / "world" / "repository", ignore_errors=True)
        return Said(answer(name))

    server.script = play
    run = run_here(own_suite, tmp_path / "run", server.spec(), samples=2, models=1, jobs=1)
    assert [outcome.fault for outcome in run.outcomes] == [None] * 6
