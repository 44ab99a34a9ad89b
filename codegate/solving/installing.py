"""What an agent and its MCP servers are installed from: packages, locked when a candidate first asks for them."""

import contextlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS, server_packages
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
_NODE_PYTHON: Final = "3.11"  # the wheel fits every version


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
        UsageError: there is no such version or package, or the agent needs a newer Python.
        InfrastructureError: the registry cannot be reached.
    """
    settings = candidate.agent
    if settings is None:
        return None
    agent, version = AGENTS[settings.name], str(settings.version)
    npm, pypi = server_packages(agent, candidate.harness)
    if agent.registry == "npm":
        npm = {**npm, agent.package: version}
    own = (f"{agent.package}=={version}", *agent.beside) if agent.registry == "pypi" else ()
    wheels = (*(settings.install or own), *pypi)
    if not npm and not wheels:
        return None
    if int(python.partition(".")[2]) < agent.least_python:
        raise UsageError(
            f"{agent.name} needs Python 3.{agent.least_python} or newer, and the problem's environment has {python}.",
            "Leave such problems out, or choose an agent that needs no Python.",
        )
    day, python = settings.as_of or _tomorrow(), python if wheels else _NODE_PYTHON
    kept = cache_folder() / "agents" / f"{digest([wheels, npm, str(day), python])}.json"
    with contextlib.suppress(OSError, ValueError):
        lock, node, packages = json.loads(kept.read_text(encoding="utf-8"))
        return AgentRecipe(python, lock, node, tuple((name, text) for name, text in packages))
    recipe = AgentRecipe(python, lock_wheels(wheels, python, day) if wheels else "")
    if npm:
        recipe = _with_npm(recipe, npm, day)
    write_atomic(kept, json.dumps([recipe.lock, recipe.node, recipe.packages]).encode())
    return recipe


@cache
def _tomorrow() -> date:
    """Return the day after that on which this process first asked: a run over midnight installs one agent."""
    return datetime.now(UTC).date() + timedelta(days=1)


def recipe_digest(recipe: AgentRecipe) -> str:
    """Return the digest that identifies an agent's installation."""
    return digest([recipe.lock + recipe.node, recipe.packages])[:16]


def _with_npm(recipe: AgentRecipe, wanted: dict[str, str], day: date) -> AgentRecipe:
    recipe = replace(recipe, node=lock_wheels((_NODE,), _NODE_PYTHON, day))
    manifest = json.dumps({"private": True, "dependencies": wanted})
    lock = resolve_npm(node_site(recipe), manifest, day)
    if lock is None:
        names = ", ".join(f"{name}@{version}" for name, version in wanted.items())
        raise UsageError(
            f"npm knows no {names}{', or they do not go together' if len(wanted) > 1 else ''}.",
            "Check the agent's `version` and `as_of`, and the packages that the harness's MCP servers name.",
        )
    return replace(recipe, packages=(("package-lock.json", lock), ("package.json", manifest)))
