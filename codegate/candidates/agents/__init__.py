"""All coding agents, by name: their installation and start.

An agent is a file with an ``Agent`` in it. Our own are listed here; other packages add theirs by an entry point of
``codegate.agents``. The settings of ours were tried with the versions that the files name. An agent's licence is
between its maker and its user, so codegate ships none: it installs an agent from its registry when a candidate names
it.
"""

import contextlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from codegate.candidates.agents.aider import Aider
from codegate.candidates.agents.claude_code import ClaudeCode
from codegate.candidates.agents.codex import Codex
from codegate.candidates.agents.command import OwnCommand
from codegate.candidates.agents.contract import Agent, Task
from codegate.candidates.agents.copilot import Copilot
from codegate.candidates.agents.mini_swe_agent import MiniSweAgent
from codegate.candidates.agents.opencode import OpenCode
from codegate.candidates.agents.programs import LangGraph, OpenAIAgents
from codegate.candidates.harness import Harness, Part, longest_line, part_of
from codegate.errors import UsageError
from codegate.plugins import load_plugin, plugin_names

__all__ = [
    "AGENTS",
    "OWN_COMMAND",
    "Agent",
    "OwnCommand",
    "ServerPackage",
    "Task",
    "agent_named",
    "agent_names",
    "harness_parts",
    "harness_places",
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
"""Our own agents, by name."""

_GROUP: Final = "codegate.agents"

_NAMING: Final = {"npx": ("-p", "--package"), "uvx": ("--from",)}
"""Options that name the package if it differs from the program to run."""
_PLAIN: Final = ("-y", "--yes", "-q", "--quiet")
_NPM: Final = re.compile(r"((?:@[a-z0-9~][\w.~-]{0,100}/)?[a-z0-9~][\w.~-]{0,100})(?:@[\w.^~*-]{1,60})?")
_PYPI: Final = re.compile(r"([A-Za-z0-9][\w.-]{0,100})(?:\[[\w,.-]{1,100}\])?(?:(?:==|@)[\w.!+-]{1,60})?")
_MOST: Final = 20


@dataclass(frozen=True)
class ServerPackage:
    """The package that an MCP server is started from.

    Attributes:
        words: the beginning of the server's command line, from ``npx`` or ``uvx`` to the program's name.
        registry: where the package is installed from.
        requirement: the package as the registry's installer takes it, with a version if one is named.
        name: the package's name without a version.
        program: the program of the package to run.
    """

    words: tuple[str, ...]
    registry: Literal["npm", "pypi"]
    requirement: str
    name: str
    program: str


def agent_names() -> tuple[str, ...]:
    """Return the names of all agents, ours first."""
    return (*AGENTS, *(name for name in plugin_names(_GROUP) if name not in AGENTS))


@cache
def agent_named(name: str) -> Agent:
    """Return the agent called ``name``, one of ``agent_names``.

    Raises:
        UsageError: another package's agent cannot be loaded, or is no ``Agent`` of that name.
    """
    found = AGENTS.get(name) or load_plugin(_GROUP, name)
    if not isinstance(found, Agent) or getattr(found, "name", None) != name:  # the class may lack a name
        raise UsageError(f"the entry point {name!r} of {_GROUP} is no Agent with this name.", "Update the package.")
    return found


@cache
def harness_places() -> Mapping[str, Part]:
    """Return the paths that any agent reads, with their kinds.

    Files of an old commit at these paths are shown to no agent.

    Raises:
        UsageError: another package's agent cannot be loaded.
    """
    agents = map(agent_named, agent_names())
    return {place: part for agent in agents for place, part in agent.places.items()}


def harness_parts(agent: Agent, harness: Harness, version: str | None) -> Iterator[tuple[str, str]]:
    """Yield each harness part's name and a pattern.

    A line of a model request that matches the pattern shows that the agent used the part. Hooks are not in requests: a
    hook's pattern matches nothing, and the agent's output shows its use. ``version`` is the agent's.
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


def mcp_servers(agent: Agent, harness: Harness) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and settings of each MCP server."""
    for file in harness.laid or ():
        if file.path == harness.mcp or part_of(file.path, agent.places) == "servers":
            with contextlib.suppress(ValueError):  # files in a run's folder may be broken
                yield from agent.servers(file.path, file.text).items()


def server_packages(agent: Agent, harness: Harness | None) -> tuple[ServerPackage, ...]:
    """Return the packages that the harness's MCP servers run from.

    A server that is started from an address or a path has no package. Such a server cannot start in the sandbox; the
    report on the harness's parts shows that.
    """
    servers = mcp_servers(agent, harness) if harness is not None else ()
    found = (package for _, server in servers if (package := _package(server)) is not None)
    return tuple(dict.fromkeys(found))[:_MOST]


def _package(server: Mapping[str, Any]) -> ServerPackage | None:
    command, arguments = server.get("command"), server.get("args")
    listed = [*(command if isinstance(command, list) else [command]),
              *(arguments if isinstance(arguments, list) else [])]  # fmt: skip
    program, *words = [word for word in listed if isinstance(word, str)] or [""]
    if program not in _NAMING:
        return None
    at, named = 0, ""
    while at < len(words) and words[at].startswith("-"):
        option, _, value = words[at].partition("=")
        if option in _NAMING[program] and not named:
            at += not value
            named = value or "".join(words[at : at + 1])
        elif option not in _PLAIN:
            return None  # an unknown option can ask for another package or index
        at += 1
    run = "".join(words[at : at + 1])
    asked = named or run
    found = (_NPM if program == "npx" else _PYPI).fullmatch(asked)
    if not run or found is None:
        return None
    before = (program, *words[: at + 1])
    if program == "npx":
        return ServerPackage(before, "npm", asked, found[1], run if named else posixpath.basename(found[1]))
    requirement = asked.removesuffix("@latest").replace("@", "==")
    return ServerPackage(before, "pypi", requirement, found[1], run if named else found[1])
