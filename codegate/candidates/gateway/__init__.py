"""The gateway, an agent's only way to its model.

It holds the key, counts and limits the calls, and records them.
"""

from codegate.candidates.gateway.gateway import Gateway, MakeCall
from codegate.candidates.gateway.meter import AgentLimits, DollarsLost, check_dollars_left
from codegate.candidates.gateway.paid import ModelCall, PaidAnswers

__all__ = ["AgentLimits", "DollarsLost", "Gateway", "MakeCall", "ModelCall", "PaidAnswers", "check_dollars_left"]
