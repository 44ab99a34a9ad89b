"""All coding agents, by name: their installation and start.

To add one: a file with a class that has the methods of ``Agent``, and a line in this table. The settings were tried
with the versions that the files name. An agent's licence is between its maker and its user, so codegate ships none: it
installs an agent from its registry when a candidate names it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from codegate.candidates.agents.aider import Aider
from codegate.candidates.agents.claude_code import ClaudeCode
from codegate.candidates.agents.codex import Codex
from codegate.candidates.agents.command import OwnCommand
from codegate.candidates.agents.contract import Agent, Task
from codegate.candidates.agents.copilot import Copilot
from codegate.candidates.agents.mini_swe_agent import MiniSweAgent
from codegate.candidates.agents.opencode import OpenCode
from codegate.candidates.agents.programs import LangGraph, OpenAIAgents
from codegate.candidates.agents.servers import ServerPackage, mcp_servers, server_packages
from codegate.candidates.harness import Harness, Part, longest_line, part_of

__all__ = [
    "AGENTS",
    "OWN_COMMAND",
    "PLACES",
    "Agent",
    "OwnCommand",
    "ServerPackage",
    "Task",
    "harness_parts",
    "server_packages",
]

OWN_COMMAND: Final = OwnCommand.name
AGENTS: Final[dict[str, Agent]] = {
    agent.name: agent
    for agent in (
        ClaudeCode(), Codex(), Copilot(), OpenCode(), MiniSweAgent(), Aider(), OpenAIAgents(), LangGraph(),
        OwnCommand(),
    )
}  # fmt: skip

PLACES: Final[Mapping[str, Part]] = {place: part for agent in AGENTS.values() for place, part in agent.places.items()}
"""What of a repository any agent reads: an old commit's files there are shown to none."""


def harness_parts(agent: Agent, harness: Harness, version: str | None) -> Iterator[tuple[str, str]]:
    """Yield each harness part's name and a pattern.

    A line of a model request that matches the pattern shows that the agent used the part. Requests do not show hooks: a
    hook's pattern matches nothing, and the agent's output shows it. ``version`` is the agent's.
    """
    for event in agent.hooks(harness, version):
        yield f"hook {event}", "(?!)"
    for server, _ in mcp_servers(agent, harness):
        yield f"MCP server {server}", f"^{agent.server_tools.format(re.escape(server))}$"
    for file in harness.laid or ():
        name, _, _ = file.path.rpartition(".")
        match "servers" if file.path == harness.mcp else part_of(file.path, agent.places):
            case "instructions":
                shown = file.path
            case "skill" if name.endswith("/SKILL"):
                shown = f"skill {name.split('/')[-2]}"
            case "sub-agent" | "command" as part:
                shown = f"{part} {name.rpartition('/')[2]}"
            case _:
                continue
        if line := longest_line(file.text):
            yield shown, re.escape(line)
