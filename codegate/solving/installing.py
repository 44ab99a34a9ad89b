"""Define the environments in which an agent's packages are installed.

Each package of the harness's MCP servers has an environment too.
"""

import shlex
from dataclasses import asdict
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import ServerPackage, agent_named, server_packages
from codegate.environments import Recipe, environment_of, index_secrets
from codegate.environments.variables import PACKAGE, ROOT
from codegate.errors import UsageError
from codegate.sandbox.session import BESIDE
from codegate.solving.prompts import check_named_file
from codegate.strict import read_text
from codegate.suite import Environment

_MAX_FILES: Final = 1 << 20
_NODE: Final = "22"


def read_agent_files(candidate: CandidateSpec, folder: Path) -> CandidateSpec:
    """Return the candidate with its agent's files, read from ``folder``."""
    agent = candidate.agent
    if agent is None or agent.files is None:
        return candidate
    for name in agent.files:
        check_named_file(folder, name, "agent's file")
    texts = tuple(read_text(folder / name, _MAX_FILES) for name in agent.files)
    if sum(map(len, texts)) > _MAX_FILES:  # limited, because every run and baseline of the candidate holds them
        raise UsageError(
            f"candidate {candidate.label}: the files of its agent have over {_MAX_FILES} characters together.",
            "Leave some out, or bring them as a package (`install`).",
        )
    return candidate.model_copy(update={"agent": agent.model_copy(update={"file_texts": texts})})


def agent_environment(candidate: CandidateSpec, python: str) -> Environment | None:
    """Return the environment to install an agent in, or None.

    ``python`` is the minor version of the Python that runs agents. None if the candidate has no agent, or nothing is
    installed for it.
    """
    settings = candidate.agent
    if settings is None or (agent_named(settings.name).registry is None and not settings.install):
        return None
    agent = agent_named(settings.name)
    if int(python.partition(".")[2]) < agent.least_python:
        raise UsageError(
            f"{agent.name} needs Python 3.{agent.least_python} or newer, and the problem's environment has {python}.",
            "Leave such problems out, or choose an agent that needs no Python.",
        )
    if agent.registry == "npm":
        tools, setup = {"node": _NODE}, _npm(f"{agent.package}@{settings.version}")
    else:
        own = settings.install or (f"{agent.package}=={settings.version}", *agent.beside)
        tools, setup = {"python": python}, (f"uv pip install --only-binary :all: -- {shlex.join(own)}",)
    return _environment("agent", candidate, Recipe(tools=tools, setup=setup, secrets=index_secrets()))


def server_environments(candidate: CandidateSpec, python: str) -> list[Environment]:
    """Return the environments to install MCP servers' packages in.

    A pull request can name these packages, so the builds run no code of them and have no credentials of an index.
    ``python`` is the minor version of the Python that runs servers.
    """
    found = []
    for name, package in _server_packages(candidate).items():
        if package.registry == "npm":
            node = f'cp -L "$(node -p process.execPath)" {ROOT}/node'
            recipe = Recipe(tools={"node": _NODE}, setup=(*_npm(package.requirement), node))
        else:
            install = f"uv pip install --only-binary :all: --target {PACKAGE} -- {shlex.quote(package.requirement)}"
            recipe = Recipe(tools={"python": python}, setup=(install,))
        found.append(_environment(name, candidate, recipe))
    return found


def _npm(requirement: str) -> tuple[str, ...]:
    return f"mkdir {PACKAGE}", f"npm install --ignore-scripts --prefix {PACKAGE} -- {shlex.quote(requirement)}"


def server_table(candidate: CandidateSpec) -> list[dict[str, object]]:
    """Return each MCP server's package and folder, for ``server_driver.py``."""
    return [
        {**asdict(package), "folder": f"{BESIDE}/{name}/env/{PACKAGE.removeprefix(f'{ROOT}/')}"}
        for name, package in _server_packages(candidate).items()
    ]


def _server_packages(candidate: CandidateSpec) -> dict[str, ServerPackage]:
    packages = server_packages(agent_named(candidate.agent.name), candidate.harness) if candidate.agent else ()
    return {f"server-{number}": package for number, package in enumerate(packages)}


@cache
def _today() -> date:
    """Return the current day, the same for the whole process."""
    return datetime.now(UTC).date()


def _environment(name: str, candidate: CandidateSpec, recipe: Recipe) -> Environment:
    """Return an environment whose packages are older than ``as_of``.

    ``as_of`` is a date in the settings of the candidate's agent. Without it, the environment is built anew each day.
    ``name`` is the environment's id.
    """
    as_of, today = candidate.agent.as_of if candidate.agent else None, _today()
    end = f"{as_of}T00:00:00Z"
    # Builds are cached by recipe. Without ``as_of``, the day keeps builds of earlier days from being used again.
    dates = {"UV_EXCLUDE_NEWER": end, "npm_config_before": end} if as_of is not None else {"CODEGATE_DAY": str(today)}
    return environment_of(name, recipe.model_copy(update={"env": dates}), "", day=as_of or today)
