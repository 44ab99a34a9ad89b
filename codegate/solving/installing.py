"""What an agent and its MCP servers are installed in: recorded builds of their packages, made when first asked for."""

import json
import shlex
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS, server_packages
from codegate.environments import Recipe, environment_of, index_secrets
from codegate.errors import UsageError
from codegate.sandbox.session import BESIDE
from codegate.solving.drivers import driver_source
from codegate.solving.prompts import check_named_file
from codegate.strict import read_text
from codegate.suite import Environment

_MAX_FILES: Final = 1 << 20
_NODE: Final = "22"
_SERVERS: Final = "/opt/env/servers"


def read_agent_files(candidate: CandidateSpec, folder: Path) -> CandidateSpec:
    """Return ``candidate`` with the texts of its agent's own files, which are relative to ``folder``.

    Raises:
        UsageError: a file cannot be read, or is no text in UTF-8, or they are too large together.
    """
    agent = candidate.agent
    if agent is None or agent.files is None:
        return candidate
    for name in agent.files:
        check_named_file(folder, name, "agent's file")
    texts = tuple(read_text(folder / name, _MAX_FILES) for name in agent.files)
    if sum(map(len, texts)) > _MAX_FILES:  # every run and baseline of the candidate holds them
        raise UsageError(
            f"candidate {candidate.label}: the files of its agent have over {_MAX_FILES} characters together.",
            "Leave some out, or bring them as a package (`install`).",
        )
    return candidate.model_copy(update={"agent": agent.model_copy(update={"file_texts": texts})})


def agent_environment(candidate: CandidateSpec, python: str) -> Environment | None:
    """Return what the candidate's agent is installed in; None where it is in the sandbox already.

    Args:
        candidate: with an agent.
        python: minor version of the environment's interpreter, which agents in Python run on.

    Raises:
        UsageError: the agent needs a newer Python.
    """
    settings = candidate.agent
    if settings is None or (AGENTS[settings.name].registry is None and not settings.install):
        return None
    agent = AGENTS[settings.name]
    if int(python.partition(".")[2]) < agent.least_python:
        raise UsageError(
            f"{agent.name} needs Python 3.{agent.least_python} or newer, and the problem's environment has {python}.",
            "Leave such problems out, or choose an agent that needs no Python.",
        )
    if agent.registry == "npm":
        tools, install = {"node": _NODE}, f"npm install --ignore-scripts {agent.package}@{settings.version}"
    else:
        own = settings.install or (f"{agent.package}=={settings.version}", *agent.beside)
        tools, install = {"python": python}, f"uv pip install -- {shlex.join(own)}"
    return _environment("agent", settings.as_of, Recipe(tools=tools, setup=(install,), secrets=index_secrets()))


def servers_environment(candidate: CandidateSpec, python: str) -> Environment | None:
    """Return what the packages of a harness's MCP servers are installed in; None without any.

    A pull request names them, so the build gets no credentials of an index. One that cannot be installed is left out.

    Args:
        candidate: with an agent.
        python: as for ``agent_environment``.
    """
    packages = server_packages(AGENTS[candidate.agent.name], candidate.harness) if candidate.agent else ()
    if not packages:
        return None
    setup, tools = [f"mkdir -p {_SERVERS}"], dict[str, str]()
    for number, package in enumerate(packages):
        place, asked = f"{_SERVERS}/{number}", shlex.quote(package.asked)
        if package.registry == "npm":
            tools["node"] = _NODE
            setup.append(f"mkdir {place} && npm install --ignore-scripts --prefix {place} {asked}")
        else:
            tools["python"] = python
            setup.append(f"uv pip install --target {place} -- {asked}")
    if "node" in tools:
        setup.append(f'cp -L "$(node -p process.execPath)" {_SERVERS}/node')
    return _environment("servers", candidate.agent.as_of if candidate.agent else None, Recipe(tools=tools, setup=setup))


def server_programs(candidate: CandidateSpec) -> dict[str, str]:
    """Return the files that stand for ``npx`` and ``uvx`` in the agent's sandbox, by name."""
    packages = server_packages(AGENTS[candidate.agent.name], candidate.harness) if candidate.agent else ()
    if not packages:
        return {}
    table = [
        {**asdict(package), "folder": f"{BESIDE}/servers/{_SERVERS.removeprefix('/opt/')}/{number}"}
        for number, package in enumerate(packages)
    ]
    program = driver_source("server_driver")
    return {"npx": program, "uvx": program, "servers.json": json.dumps(table)}


def _environment(name: str, as_of: date | None, recipe: Recipe) -> Environment:
    """Return an environment whose packages were released before ``as_of``."""
    end = f"{as_of}T00:00:00Z"
    dates = {"UV_EXCLUDE_NEWER": end, "npm_config_before": end} if as_of is not None else {}
    return environment_of(name, recipe.model_copy(update={"env": dates}), "", day=as_of or datetime.now(UTC).date())
