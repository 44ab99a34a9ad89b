"""The first request to a candidate's model: as small as one can be, with the candidate's own settings.

It shows what no retry fixes: a server that is not there, a wrong key, another model, a parameter that is refused.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from codegate.candidates import CandidateSpec, Completion, Forwarded, Message, ProblemKey, Provider
from codegate.candidates.protocols import PROTOCOLS
from codegate.candidates.registry import protocol_of
from codegate.solving.attempt import request_bytes
from codegate.solving.toolbox import tool_specs

_QUESTION: Final = "Reply with the single word OK."
_OUTPUT_TOKENS: Final = 256
"""Enough for a model that reasons a little; it bounds one that does not end."""


@dataclass(frozen=True)
class FirstRequest:
    """One request: ``send`` makes it; its size and its output limit bound its cost."""

    send: Callable[[], Completion]
    size: int
    output_limit: int


def smallest_request(candidate: CandidateSpec, provider: Provider) -> FirstRequest:
    """Return the smallest request to the candidate's model: tools and parameters as in every other.

    An agent's goes through its provider in the agent's protocol; no agent starts. Only the output limit is lower.
    """
    sampling = candidate.sampling
    # A budget for thinking has to be below the limit.
    limit = sampling.output_limit if isinstance(sampling.thinking, int) else min(_OUTPUT_TOKENS, sampling.output_limit)
    sampling = sampling.model_copy(update={"max_output_tokens": limit})
    if candidate.agent is None:
        messages = (Message(role="user", text=_QUESTION),)
        tools = tool_specs() if candidate.solver == "tool_loop" else ()
        key = ProblemKey(problem="", sample=0)

        def ask() -> Completion:
            return provider.complete(key, messages, tools, sampling)

        return FirstRequest(ask, request_bytes(messages, tools), limit)
    spoken = PROTOCOLS[name := protocol_of(candidate)]
    conversation: dict[str, Any] = {spoken.conversation_fields[-1]: [{"role": "user", "content": _QUESTION}]}
    request = spoken.clean({"model": candidate.model, **conversation}, candidate.model, sampling).request

    def forward() -> Completion:
        answer: Forwarded = cast("Any", provider).forward(name, request, {})
        return answer.completion

    return FirstRequest(forward, len(json.dumps(request)), limit)
