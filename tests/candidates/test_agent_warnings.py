"""What agents print of themselves, where they have a format for it."""

import json

import pytest

from codegate.candidates.agents import AGENTS, Task
from codegate.candidates.harness import Harness, HarnessFile


def test_codex_warns_of_a_model_that_it_does_not_know() -> None:
    events = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Model metadata not found."}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "done"}},
    ]
    printed = "\n".join(map(json.dumps, events)) + "\n[\nnot JSON\n[1]\n" + '{"item": 3}'
    assert AGENTS["codex"].warnings(printed.encode()) == ("Model metadata not found.",)
    assert AGENTS["aider"].warnings(printed.encode()) == ()


@pytest.mark.parametrize(("version", "counted"), [("2.1.330", ("Stop",)), ("2.2.0", ("Stop",)), ("2.1.50", ())])
def test_an_older_claude_code_starts_without_the_option_that_shows_hooks(
    version: str, counted: tuple[str, ...]
) -> None:
    file = HarnessFile(path=".claude/settings.json", text=json.dumps({"hooks": {"Stop": [{"hooks": []}]}}))
    harness = Harness(laid=(file,))
    task = Task("p", "m", "messages", "http://a", "k", harness=harness, version=version)
    assert AGENTS["claude-code"].hooks(harness, version) == counted
    assert ("--include-hook-events" in AGENTS["claude-code"].start(task).argv) is bool(counted)
