"""What agents print of themselves, where they have a format for it."""

import json

from codegate.candidates.agents import AGENTS


def test_codex_warns_of_a_model_that_it_does_not_know() -> None:
    events = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Model metadata not found."}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "done"}},
    ]
    printed = "\n".join(map(json.dumps, events)) + "\n[\nnot JSON\n[1]\n" + '{"item": 3}'
    assert AGENTS["codex"].warnings(printed.encode()) == ("Model metadata not found.",)
    assert AGENTS["aider"].warnings(printed.encode()) == ()
