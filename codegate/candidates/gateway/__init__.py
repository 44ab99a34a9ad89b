"""The gateway: an agent's only way to its model, which holds the key, counts, bounds and records."""

from codegate.candidates.gateway.gateway import Gateway, Keeps
from codegate.candidates.gateway.meter import AgentLimits

__all__ = ["AgentLimits", "Gateway", "Keeps"]
