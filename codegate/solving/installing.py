"""What an agent is installed from: a recipe of locked packages, resolved when a candidate first asks for it."""

import contextlib
import json
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS, Agent
from codegate.durable import digest, write_atomic
from codegate.errors import UsageError
from codegate.sandbox import AgentRecipe, cache_folder
from codegate.sandbox.environment import node_site
from codegate.sandbox.npm import NODE, resolve_npm
from codegate.sandbox.resolution import lock_wheels
from codegate.solving.prompts import check_named_file
from codegate.strict import read_text

_MAX_FILES: Final = 1 << 20
_NODE: Final = f"{NODE}==22.20.0"


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


def agent_recipe(candidate: CandidateSpec, python: str) -> AgentRecipe | None:
    """Return what the candidate's agent is installed from; None where it is in the sandbox already.

    The same agent, version and day give the same recipe on this machine: it is kept in the cache.

    Args:
        candidate: with an agent.
        python: minor version of the environment's interpreter, which agents in Python run on.

    Raises:
        UsageError: there is no such version, or the agent needs a newer Python.
        InfrastructureError: the registry cannot be reached.
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
    day = settings.as_of or _tomorrow()
    beside = settings.install or agent.beside
    key = digest([agent.name, settings.version, str(day), python if agent.registry != "npm" else "", beside])
    kept = cache_folder() / "agents" / f"{key}.json"
    with contextlib.suppress(OSError, ValueError):
        lock, packages = json.loads(kept.read_text(encoding="utf-8"))
        return AgentRecipe(python, lock, tuple((name, text) for name, text in packages))
    version = str(settings.version)
    if agent.registry == "npm":
        recipe = _npm(agent, version, day)
    else:
        own = settings.install or (f"{agent.package}=={version}", *agent.beside)
        recipe = AgentRecipe(python, lock_wheels(own, python, day))
    write_atomic(kept, json.dumps([recipe.lock, recipe.packages]).encode())
    return recipe


@cache
def _tomorrow() -> date:
    """Return the day after that on which this process first asked: a run over midnight installs one agent."""
    return datetime.now(UTC).date() + timedelta(days=1)


def recipe_digest(recipe: AgentRecipe) -> str:
    """Return the digest that identifies an agent's installation."""
    return digest([recipe.lock, recipe.packages])[:16]


def _npm(agent: Agent, version: str, day: date) -> AgentRecipe:
    node = AgentRecipe("3.11", lock_wheels((_NODE,), "3.11", day))
    manifest = json.dumps({"private": True, "dependencies": {agent.package: version}})
    lock = resolve_npm(node_site(node), manifest, day)
    if lock is None:
        raise UsageError(f"npm knows no {agent.package}@{version}.", f"{agent.tried} is one that was tried.")
    return AgentRecipe("3.11", node.lock, (("package-lock.json", lock), ("package.json", manifest)))
