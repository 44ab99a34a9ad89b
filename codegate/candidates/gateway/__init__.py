"""The gateway, an agent's only way to its model.

It holds the key, counts and limits the calls, and records them.
"""

from codegate.candidates.gateway.gateway import Gateway, MakeCall, PaidAnswerStore
from codegate.candidates.gateway.meter import AgentLimits, DollarsLost, check_dollars_left

__all__ = ["AgentLimits", "DollarsLost", "Gateway", "MakeCall", "PaidAnswerStore", "check_dollars_left"]
