"""How an answer ended is part of its grade: truncated, refused, over the context, empty."""

import json
from pathlib import Path

import pytest

from codegate.candidates import Message
from codegate.reporting import build_view, render_comment, render_console, write_reports
from codegate.running import Run
from codegate.running.endings import explain_ending, grade_question, limit_advice
from codegate.solving import Attempt
from tests.kit.environment import PLAIN
from tests.kit.problem import changes, problem
from tests.kit.runs import SPECS, outcome
from tests.running.world import NAMES, Execute, ModelServer, Said, answer

pytestmark = pytest.mark.bwrap

TOO_LONG = json.dumps(
    {
        "error": {
            "message": "This model's maximum context length is 512 tokens. However, your messages resulted in 900.",
            "code": "context_length_exceeded",
        }
    }
).encode()


def one(run: Run, name: str) -> tuple[str | None, str]:
    """Return failure class and detail of the only attempt at a problem."""
    (grade,) = [outcome.grade for outcome in run.outcomes if outcome.problem == f"calc-{name}"]
    assert grade is not None
    return grade.failure, grade.detail


@pytest.mark.parametrize(
    ("seconds", "advice"),
    [
        (600.0, "Raise `timeout_seconds` from 600 to 1200, or"),
        (3600.0, "`timeout_seconds` is 3600 and cannot be raised: raise"),
    ],
)
def test_an_answer_that_takes_too_long_is_told_what_helps(seconds: float, advice: str) -> None:
    candidate = SPECS[0].model_copy(update={"timeout_seconds": seconds})
    [found] = limit_advice(candidate, [outcome(True, lost={"provider.timeout": 1})]).values()
    assert found.startswith(f"{advice} the limit of the server or proxy")


def test_answers_that_ended_early_have_classes_of_their_own(
    execute: Execute, server: ModelServer, tmp_path: Path
) -> None:
    said = {
        "double": Said(answer("double")[:-20], finish="length", tokens=200),
        "half": Said("I cannot help with that.", finish="content_filter"),
        "square": Said("", finish="stop"),
    }
    server.script = lambda name, turn, request: said[name]
    run = execute(server.spec(sampling={"max_output_tokens": 200}))
    assert one(run, "double") == (
        "truncated",
        "The answer was truncated after 200 output tokens: the limit is `sampling.max_output_tokens` (200).",
    )
    assert one(run, "half") == ("refused", "The model or a filter of the provider refused: I cannot help with that.")
    assert one(run, "square")[0] == "empty_answer"
    view = build_view([run])
    reports = write_reports(view, tmp_path / "reports")
    shown = {name: path.read_text() for name, path in reports.items()}
    shown |= {"comment": render_comment(view), "console": render_console(view, width=200)}
    for name, text in shown.items():
        plain = text.replace("\\_", "_").replace("_", " ")
        for failure in ("truncated", "refused", "empty answer"):
            assert failure in plain, (name, failure)


def test_an_answer_that_calls_a_tool_of_its_own_is_said_to(execute: Execute, server: ModelServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    server.script = lambda name, turn, request: Said("", tool_calls=[call])
    said = "the answer has no text: it calls search, and a single shot offers no tools"
    assert one(execute(server.spec()), "double") == ("empty_answer", said)


def test_a_refused_answer_to_a_question_is_not_said_to_have_no_text() -> None:
    fix, wanted = changes({"answer.md": "It waits."}), ["answer::prose"]
    question = problem("q", PLAIN.manifest, hidden={}, fix=fix, wanted=wanted, answer="prose", test_files=())
    attempt = Attempt(
        problem="q", candidate=SPECS[0].key(), sample=0, solver="single_shot", prompt_version="1", stop="refusal",
        messages=(Message(role="assistant", text="I cannot help with that."),),
    )  # fmt: skip
    grade = explain_ending(grade_question(question, attempt), attempt, SPECS[0])
    said = "The model or a filter of the provider refused: I cannot help with that."
    assert (grade.failure, grade.detail, grade.tests[0].message) == ("refused", said, said)


def test_a_prompt_that_does_not_fit_is_no_fault_of_the_provider(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: Said(raw=TOO_LONG, status=400) if name == "half" else Said(answer(name))
    run = execute(server.spec())
    failure, detail = one(run, "half")
    assert failure == "context_overflow"
    assert "maximum context length is 512 tokens" in detail
    assert one(run, "double") == (None, "")
    assert len(server.asked) == len(NAMES), "asked once: no retry makes a prompt shorter"


def test_a_truncated_answer_whose_patch_passes_is_resolved(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: Said(f"{answer(name)}That is beca", finish="length")
    run = execute(server.spec())
    assert {(o.grade.resolved, o.grade.failure) for o in run.outcomes if o.grade} == {(True, None)}


def test_a_truncated_answer_whose_patch_fails_says_both(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: Said(
        f"{answer(name, right=name != 'half')}And th", finish="length" if name == "half" else None
    )
    failure, detail = one(execute(server.spec()), "half")
    assert failure == "truncated"
    assert "after 5 output tokens: a limit of the server below `sampling.max_output_tokens` (32000)" in detail
    assert "What it had changed by then: logic_error" in detail
