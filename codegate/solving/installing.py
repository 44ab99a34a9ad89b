"""What an agent is installed in: a recorded build of its packages alone, made when a candidate first asks for it."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS
from codegate.environments import Recipe, environment_of, index_secrets
from codegate.errors import UsageError
from codegate.solving.prompts import check_named_file
from codegate.strict import read_text
from codegate.suite import Environment

_MAX_FILES: Final = 1 << 20
_NODE: Final = "22"


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
    end = f"{settings.as_of}T00:00:00Z"
    dates = {"UV_EXCLUDE_NEWER": end, "npm_config_before": end} if settings.as_of is not None else {}
    recipe = Recipe(tools=tools, setup=(install,), env=dates, secrets=index_secrets())
    return environment_of("agent", recipe, "", day=settings.as_of or datetime.now(UTC).date())
