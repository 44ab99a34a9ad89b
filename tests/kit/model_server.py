"""A model server on this machine: the two APIs' wire formats, faults included."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tests.kit.http import Reply, Request, Server, as_json

GREETING = b"Reply with the single word OK."
__all__ = ["Reply", "WireServer", "as_json", "chat_answer", "messages_answer", "wire_server"]


class WireServer(Server):
    """Answers every POST with the next reply, the last one for ever; a run's first small request with OK.

    That one is in ``greeted``, and has to be one of chat completions.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.replies: list[Reply] = []
        self.received: list[Request] = []
        self.greeted: list[Request] = []
        self.released = threading.Event()
        super().__init__(self._reply, host)

    def _reply(self, request: Request) -> Reply:
        if GREETING in request.raw:
            self.greeted.append(request)
            return as_json(chat_answer(model=request.body["model"], message={"content": "OK"}))
        if (request.method, request.path) == ("GET", "/v1/models"):  # a run looks for the model's context there
            return Reply(status=404)
        self.received.append(request)
        if request.method != "POST":
            return Reply(status=404)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def close(self) -> None:
        self.released.set()
        super().close()


@contextlib.contextmanager
def wire_server(*replies: Reply, host: str = "127.0.0.1") -> Iterator[WireServer]:
    server = WireServer(host)
    server.replies = list(replies)
    try:
        yield server
    finally:
        server.close()


def chat_answer(**changes: Any) -> dict[str, Any]:
    """Return a Chat Completions answer; ``message``/``choice`` update the inner objects."""
    message = {"role": "assistant", "content": "Hello.", **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **changes.pop("choice", {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "local-model",
        "choices": [choice],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        **changes,
    }


def messages_answer(**changes: Any) -> dict[str, Any]:
    """Return a Messages API answer."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "local-model",
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 3},
        **changes,
    }
