"""Coding agents by name: what each is installed from, and how it is started for one task without anybody at hand.

To add one: a file with a class that has the methods of ``Agent``, and a line in this table. Measured for the versions
that the files name; how an agent may be used is between its maker and its user, so none is shipped: codegate installs
it from its registry when a candidate asks for it.
"""

from typing import Final

from codegate.candidates.agents.aider import Aider
from codegate.candidates.agents.claude_code import ClaudeCode
from codegate.candidates.agents.codex import Codex
from codegate.candidates.agents.command import OwnCommand
from codegate.candidates.agents.contract import Agent, Start, Task
from codegate.candidates.agents.mini_swe_agent import MiniSweAgent
from codegate.candidates.agents.opencode import OpenCode
from codegate.candidates.agents.programs import LangGraph, OpenAIAgents

__all__ = ["AGENTS", "OWN_COMMAND", "Agent", "OwnCommand", "Start", "Task"]

OWN_COMMAND: Final = OwnCommand.name
AGENTS: Final[dict[str, Agent]] = {
    agent.name: agent
    for agent in (
        ClaudeCode(), Codex(), OpenCode(), MiniSweAgent(), Aider(), OpenAIAgents(), LangGraph(), OwnCommand(),
    )
}  # fmt: skip
