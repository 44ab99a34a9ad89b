"""The gateway: an agent's only way to its model, which holds the key, counts, bounds and records."""

from codegate.candidates.gateway.gateway import AgentLimits, Gateway, Keeps

__all__ = ["AgentLimits", "Gateway", "Keeps"]
