import json
import re
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, Completion, ProviderError, SolverName
from codegate.candidates.spec import Prompt
from codegate.errors import InfrastructureError, UsageError
from codegate.solving import Attempt, prompt_version_of, solve
from codegate.solving.prompts import fill_prompts, prompt_version
from codegate.solving.toolbox import MAX_ALL_RESULTS, tool_specs
from codegate.suite import Tree, TreeFile, apply_patch
from tests.solving.worlds import FIXED, call, once, replay_candidate, replayed, small_problem, small_tree

BLOCK = "src/pkg/maths.py\n<<<<<<< SEARCH\n    return n // 3\n=======\n    return n // 2\n>>>>>>> REPLACE\n"
FIX = {"src/pkg/maths.py": FIXED.encode()}


def no_tests(tree: Tree) -> tuple[str, float]:
    raise AssertionError(f"no tests were asked for: {tree}")


def changed(attempt: Attempt) -> dict[str, bytes | None]:
    changes = apply_patch(small_tree(), attempt.patch)
    return {path: None if file is None else file.data for path, file in changes.items()}


def single(folder: Path, response: dict[str, Any]) -> Attempt:
    return solve(small_problem(), small_tree(), replay_candidate(), replayed(folder, response), 0, no_tests, once)


def loop(folder: Path, *responses: dict[str, Any], tests: Any = no_tests, iterations: int = 5) -> Attempt:
    candidate = replay_candidate("tool_loop", iterations)
    return solve(small_problem(), small_tree(), candidate, replayed(folder, *responses), 0, tests, once)


def test_reference_and_empty() -> None:
    for provider in ("reference", "empty"):
        candidate = CandidateSpec.model_validate({"provider": provider})
        attempt = solve(small_problem(), small_tree(), candidate, None, 2, no_tests, once)
        assert changed(attempt) == (FIX if provider == "reference" else {})
        assert (attempt.solver, attempt.sample, attempt.candidate) == (provider, 2, candidate.key())
        assert (attempt.iterations, attempt.stop, attempt.patch_error) == (0, "answered", None)
        assert prompt_version_of(candidate) == attempt.prompt_version == "none"


@pytest.mark.requirement("C2")
def test_single_shot(tmp_path: Path) -> None:
    usage = {"input_tokens": 100, "output_tokens": 9}
    attempt = single(tmp_path, {"text": f"So:\n\n{BLOCK}", "usage": usage, "seconds": 1.25})
    assert changed(attempt) == FIX
    assert (attempt.problem, attempt.candidate) == ("small-1", replay_candidate().key())
    assert (attempt.solver, attempt.stop, attempt.iterations) == ("single_shot", "answered", 1)
    assert (attempt.models, attempt.model_seconds, attempt.usage.output_tokens) == (("by-hand-1",), 1.25, 9)
    assert attempt.contains_code
    assert attempt.patch_error is None
    assert re.fullmatch(r"single_shot/2\+[0-9a-f]{8}", attempt.prompt_version)
    assert [message.role for message in attempt.messages] == ["system", "user", "assistant"]
    assert "hidden-test-text" not in attempt.model_dump_json()
    assert Attempt.model_validate_json(attempt.model_dump_json()) == attempt


def test_a_path_with_blanks_is_one_of_the_tree(tmp_path: Path) -> None:
    tree = small_tree().overlay({"src/my maths.py": TreeFile(b"    return n // 3\n")})
    second = BLOCK.replace("src/pkg/maths.py", "Now the one beside src/pkg/maths.py, which is\n`src/my maths.py`:")
    provider = replayed(tmp_path, {"text": f"{BLOCK}\n{second}"})
    attempt = solve(small_problem(), tree, replay_candidate(), provider, 0, no_tests, once)
    assert apply_patch(tree, attempt.patch).keys() == {"src/pkg/maths.py", "src/my maths.py"}


@pytest.mark.parametrize(
    ("response", "stop"),
    [
        ({"text": BLOCK[:-20], "stop_reason": "length"}, "length"),
        ({"text": "400: the prompt is too long.", "stop_reason": "context_overflow"}, "context_overflow"),
        ({"text": BLOCK, "stop_reason": "content_filter"}, "refusal"),
        ({"text": "I will not.", "stop_reason": "refusal"}, "refusal"),
    ],
)
def test_truncated_and_refused_answers_change_nothing(tmp_path: Path, response: dict[str, Any], stop: str) -> None:
    for attempt in (single(tmp_path, response), loop(tmp_path, response)):
        assert (attempt.stop, attempt.patch) == (stop, "")


def test_complete_edits_of_a_truncated_answer_count(tmp_path: Path) -> None:
    attempt = single(tmp_path, {"text": f"{BLOCK}This is becau", "stop_reason": "length"})
    assert (attempt.stop, changed(attempt)) == ("length", FIX)
    write = call("write_file", path="src/pkg/maths.py", content=FIXED)
    for stop in ("length", "context_overflow"):
        attempt = loop(tmp_path, {"tool_calls": [write]}, {"text": "I have ju", "stop_reason": stop})
        assert (attempt.stop, changed(attempt)) == (stop, FIX)
    attempt = loop(tmp_path, {"tool_calls": [write]}, {"text": "I will not.", "stop_reason": "refusal"})
    assert (attempt.stop, attempt.patch) == ("refusal", "")


def test_no_patch_and_patch_that_does_not_apply(tmp_path: Path) -> None:
    attempt = single(tmp_path, {"text": "Looks right to me."})
    assert (attempt.patch, attempt.patch_error, attempt.contains_code) == ("", None, False)
    attempt = single(tmp_path, {"text": BLOCK + BLOCK})
    assert attempt.patch == ""
    assert "does not occur" in str(attempt.patch_error)
    assert attempt.contains_code


def test_tests_and_outside_paths_do_not_cross(tmp_path: Path) -> None:
    made = "<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n"
    attempt = single(tmp_path, {"text": f"tests/test_maths.py\n{made}\n../evil.py\n{made}\n{BLOCK}"})
    assert changed(attempt) == FIX
    assert {drop.path: drop.reason for drop in attempt.dropped} == {
        "tests/test_maths.py": "test",
        "../evil.py": "unsafe",
    }


@pytest.mark.requirement("C2")
def test_tool_loop(tmp_path: Path) -> None:
    seen: list[Tree] = []

    def run(tree: Tree) -> tuple[str, float]:
        seen.append(tree)
        return "1 failed" if len(seen) == 1 else "1 passed", 1.5

    usage = {"input_tokens": 10, "output_tokens": 1, "cached_tokens": 0}
    attempt = loop(
        tmp_path,
        {
            "text": "Let me see.",
            "tool_calls": [call("read_file", 1, path="src/pkg/maths.py"), call("run_tests", 2)],
            "usage": usage,
        },
        {"tool_calls": [call("replace_in_file", 3, path="src/pkg/maths.py", old="// 3", new="// 2")], "usage": usage},
        {
            "tool_calls": [
                call("run_tests", 4),
                call("run_tests", 5),
                call("list_files", 6),
                call("search", 7, text="half("),
            ],
            "usage": usage,
        },
        {"text": "Mended.", "usage": usage, "seconds": 2.0},
        tests=run,
    )
    assert changed(attempt) == FIX
    assert (attempt.stop, attempt.iterations, attempt.tool_calls, attempt.tool_errors) == ("answered", 4, 7, 0)
    assert attempt.usage.input_tokens == 40
    assert (attempt.model_seconds, attempt.tool_seconds) == (2.0, 3.0)
    assert attempt.contains_code
    assert len(seen) == 2, "an unchanged tree is not tested again"
    assert seen[1]["src/pkg/maths.py"].data == FIXED.encode()
    results = {m.tool_call_id: m.text for m in attempt.messages if m.role == "tool"}
    assert results["c1"].startswith("def half(n):")
    assert (results["c2"], results["c4"]) == ("1 failed", "1 passed")
    assert "nothing has changed" in results["c5"]
    assert "src/pkg/maths.py:1: def half(n):" in results["c7"]
    assert re.fullmatch(r"tool_loop/2\+[0-9a-f]{8}", attempt.prompt_version)
    assert attempt.prompt_version == prompt_version_of(replay_candidate("tool_loop"))


def test_the_last_turn_counts(tmp_path: Path) -> None:
    read = {"tool_calls": [call("list_files")]}
    write = {"tool_calls": [call("write_file", path="src/pkg/maths.py", content=FIXED)]}
    attempt = loop(tmp_path, read, write, {"text": "never asked"}, iterations=2)
    assert (attempt.stop, attempt.iterations) == ("iterations", 2)
    assert changed(attempt) == FIX


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("rm", "{}", "there is no tool 'rm'"),
        ("", "{}", "there is no tool"),
        ("read_file", '{"path": ', "arguments"),
        ("read_file", "[]", "arguments"),
        ("read_file", "", "path: Field required"),
        ("read_file", '{"path": ["a"]}', "arguments.path"),
        ("read_file", '{"path": "a", "mode": "rb"}', "arguments.mode"),
        ("read_file", '{"path": "src/pkg/maths.py", "first_line": -1}', "arguments.first_line"),
        ("read_file", '{"path": "/proc/self/environ"}', "there is no file"),
        ("read_file", '{"path": "../../etc/passwd"}', "there is no file"),
        ("read_file", '{"path": "src/pkg/link.py"}', "symbolic link"),
        ("read_file", '{"path": ".git/config"}', "there is no file"),
        ("read_file", '{"path": "tests/test_hidden.py"}', "there is no file"),
        ("write_file", '{"path": "../x", "content": ""}', "not a plain relative path"),
        ("write_file", '{"path": "a\\u0000b", "content": ""}', "not a plain relative path"),
        ("write_file", '{"path": "x.py", "content": "\\ud800"}', "arguments"),
        ("search", '{"text": ""}', "not empty"),
        ("read_file", "[" * 100_000, "arguments"),
        ("read_file", '{"path": "' + "x" * (3 << 20) + '"}', "longer than"),
    ],
)
def test_wrong_calls_are_answered_and_counted(tmp_path: Path, name: str, arguments: str, told: str) -> None:
    wrong = {"id": "c1", "name": name, "arguments": arguments}
    right = call("list_files", 2)
    attempt = loop(tmp_path, {"tool_calls": [wrong, right]}, {"text": "Done."})
    answers = [message.text for message in attempt.messages if message.role == "tool"]
    assert answers[0].startswith("Error: ")
    assert told in answers[0]
    assert len(answers[0]) < 1000
    assert "src/pkg/maths.py" in answers[1]
    assert (attempt.tool_calls, attempt.tool_errors, attempt.stop) == (
        2,
        1,
        "answered",
    )


def test_calls_over_the_cap_are_not_made(tmp_path: Path) -> None:
    calls = [call("list_files", number) for number in range(100)]
    attempt = loop(tmp_path, {"tool_calls": calls}, {"text": "Done."})
    answers = [message for message in attempt.messages if message.role == "tool"]
    assert len(answers) == 32
    assert "68 more calls were ignored" in answers[-1].text
    assert (attempt.tool_calls, attempt.tool_errors) == (100, 68)


def test_output_is_capped(tmp_path: Path) -> None:
    text = "x" * 99_999 + "\n"
    write = call("write_file", 0, path="src/pkg/big.py", content=text)
    reads = [call("read_file", number, path="src/pkg/big.py") for number in range(32)]
    attempt = loop(
        tmp_path,
        {"tool_calls": [write, call("run_tests", 1)]},
        {"tool_calls": reads},
        {"text": ""},
        tests=lambda _: ("é" * 10**6, 0.0),
    )
    answers = [message.text for message in attempt.messages if message.role == "tool"]
    assert "980000 characters omitted" in answers[1]
    assert len(answers[1]) < 21_000
    assert sum(map(len, answers)) < MAX_ALL_RESULTS + 10_000
    assert "reached the output limit" in answers[-1]


@pytest.mark.parametrize("solver", ["single_shot", "tool_loop"])
def test_names_that_are_not_text_do_not_break_the_transcript(tmp_path: Path, solver: SolverName) -> None:
    base = small_tree().overlay({"src/\udcff\udcfe.py": TreeFile(b"needle = 1\n")})
    calls = [call("list_files", 1), call("search", 2, text="needle"), call("run_tests", 3)]
    turns: tuple[dict[str, Any], ...] = ({"tool_calls": calls}, {"text": "Done."})
    provider = replayed(tmp_path, *(turns if solver == "tool_loop" else turns[1:]))
    candidate = replay_candidate(solver)
    attempt = solve(small_problem(), base, candidate, provider, 0, lambda _: ("F\udcff", 0.0), once)
    assert Attempt.model_validate_json(attempt.model_dump_json()) == attempt
    for message in attempt.messages:
        message.text.encode()


def test_faults_go_through_and_the_caller_wraps_each_call(tmp_path: Path) -> None:
    def broken(tree: Tree) -> tuple[str, float]:
        raise InfrastructureError(f"no sandbox for {tree}")

    with pytest.raises(InfrastructureError, match="no sandbox"):
        loop(tmp_path, {"tool_calls": [call("run_tests")]}, tests=broken)
    for solver in ("single_shot", "tool_loop"):
        name: SolverName = "tool_loop" if solver == "tool_loop" else "single_shot"
        candidate = replay_candidate(name).model_copy(update={"model": "other"})
        with pytest.raises(UsageError, match="needs a provider"):
            solve(small_problem(), small_tree(), candidate, None, 0, no_tests, once)
    with pytest.raises(ProviderError, match="ends after"):
        loop(tmp_path, {"tool_calls": [call("list_files")]})

    wrapped: list[Completion] = []

    def keep(work: Any, request_bytes: int) -> Completion:
        assert request_bytes > len(small_problem().statement)
        wrapped.append(work())
        return wrapped[-1]

    provider = replayed(tmp_path, {"tool_calls": [call("list_files")]}, {"text": "Done."})
    solve(small_problem(), small_tree(), replay_candidate("tool_loop"), provider, 0, no_tests, keep)
    assert [completion.text for completion in wrapped] == ["", "Done."]


def test_versions_follow_the_text() -> None:
    loops = replay_candidate("tool_loop")
    assert prompt_version(replay_candidate()) == prompt_version(replay_candidate())
    assert prompt_version(loops, ["a"]) != prompt_version(loops, ["b"])
    names = [tool.name for tool in tool_specs()]
    assert names == ["read_file", "write_file", "replace_in_file", "delete_file", "list_files", "search", "run_tests"]
    for tool in tool_specs():
        assert tool.parameters["type"] == "object"
        assert tool.parameters["additionalProperties"] is False
        json.dumps(tool.parameters)


def test_a_prompt_of_ones_own_is_sent_with_the_format_of_edits(tmp_path: Path) -> None:
    prompt = Prompt(system_text="Be brief {x}.", task_text="{statement} Files: {context}")
    candidate = replay_candidate().model_copy(update={"prompt": prompt})
    attempt = solve(small_problem(), small_tree(), candidate, replayed(tmp_path, {"text": BLOCK}), 0, no_tests, once)
    system, task = (message.text for message in attempt.messages[:2])
    assert system.startswith("Be brief {x}.")
    assert "<<<<<<< SEARCH" in system
    assert task.startswith("half() returns a third of its argument. Files: ")
    assert attempt.prompt_version.startswith("single_shot/own2+")
    assert changed(attempt) == FIX


@pytest.mark.parametrize(
    ("solver", "own", "task"),
    [
        ({}, {}, "Why?\n\n# Repository\n\nFILES"),
        ({}, {"task_text": "{statement} Briefly. {context}"}, "Why? Briefly. FILES"),
        ({"solver": "tool_loop"}, {"task_text": "{statement} {listing}"}, "Why?\n\n# Repository\n\nFILES"),
        ({"agent": "aider", "version": "0.86.2"}, {}, "Why?"),
        ({"agent": "aider", "version": "0.86.2"}, {"task_text": "{statement} Briefly."}, "Why? Briefly."),
    ],
)
def test_a_question_is_asked_in_ones_own_words_and_as_no_bug(
    solver: dict[str, str], own: dict[str, str], task: str
) -> None:
    candidate = CandidateSpec.model_validate({"provider": "openai", "model": "gpt-5.4-mini-2026-03-17", **solver})
    candidate = candidate.model_copy(update={"prompt": Prompt(**own) if own else None})
    system, asked = fill_prompts(candidate, question=True, statement="Why?", context="FILES")
    assert asked.strip() == task
    assert "bug" not in system
