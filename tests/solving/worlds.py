"""A small repository with a bug, and candidates that work on it."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from codegate.candidates import CandidateSpec, Completion, ForwardedAnswer, SolverName, open_provider
from codegate.candidates.agents import AGENTS
from codegate.candidates.gateway import MakeCall, PaidAnswers
from codegate.candidates.replay import ReplayProvider
from codegate.grading import Sandboxes
from codegate.solving import Attempt, agent_attempt
from codegate.suite import Problem, Tree, TreeFile
from tests.kit.environment import PLAIN, PYTHON
from tests.kit.problem import changes, problem
from tests.kit.scripted_model import Run, Say, ScriptedModel, Turn

BUGGY = "def half(n):\n    return n // 3\n"
FIXED = "def half(n):\n    return n // 2\n"
STATEMENT = "half() returns a third of its argument.\n"


def small_tree() -> Tree:
    return Tree(
        {
            "src/pkg/__init__.py": TreeFile(b""),
            "src/pkg/maths.py": TreeFile(BUGGY.encode()),
            "src/pkg/run.py": TreeFile(b"#!/usr/bin/env python\nprint(1)\n", "100755"),
            "src/pkg/dos.py": TreeFile(b"a = 1\r\nb = 2\r\n"),
            "src/pkg/latin.py": TreeFile(b"name = '\xe9'\n"),
            "src/pkg/link.py": TreeFile(b"../../../../etc/passwd", "120000"),
            "src/out": TreeFile(b"/etc", "120000"),
            "tests/test_maths.py": TreeFile(
                b"from pkg.maths import half\n\n\ndef test_zero():\n    assert half(0) == 0\n"
            ),
            "tests/conftest.py": TreeFile(b""),
            "pyproject.toml": TreeFile(b"[project]\nname = 'pkg'\n"),
            "README.md": TreeFile(b"# pkg\n"),
        }
    )


def small_problem(fix: str = FIXED) -> Problem:
    return problem(
        "small-1",
        PLAIN.manifest,
        hidden=changes({"tests/test_hidden.py": "SECRET = 'hidden-test-text'\n"}),
        fix=changes({"src/pkg/maths.py": fix}),
        wanted=["tests/test_hidden.py::test_half"],
        statement=STATEMENT,
        public_tests=("tests/test_maths.py",),
    )


def call(name: str, number: int = 0, **arguments: Any) -> dict[str, str]:
    return {"id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}


def once(work: Callable[[], Completion], request_bytes: int, begin: Callable[[], None] = lambda: None) -> Completion:
    assert request_bytes > 0
    begin()
    return work()


def replayed(folder: Path, *responses: dict[str, Any]) -> ReplayProvider:
    """Return a provider that gives these answers to the small problem."""
    header = {"schema": "codegate.transcripts/1", "label": "handwritten", "model": "by-hand-1"}
    line = {"problem": "small-1", "responses": list(responses)}
    path = folder / "transcripts.jsonl"
    path.write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n")
    return ReplayProvider(path)


def replay_candidate(solver: SolverName = "single_shot", max_iterations: int = 5) -> CandidateSpec:
    return CandidateSpec(provider="replay", model="transcripts.jsonl", solver=solver, max_iterations=max_iterations)


# Agents

MODEL = "scripted-2026-01-01"
FIX = "sed -i 's|n // 3|n // 2|' src/pkg/maths.py"
BLOCK = "<<<<<<< SEARCH\n    return n // 3\n=======\n    return n // 2\n>>>>>>> REPLACE\n"
PLAIN_TREE = Tree({path: file for path, file in small_tree().items() if not file.is_link})


def agent_spec(name: str, model: ScriptedModel, **settings: Any) -> CandidateSpec:
    """Return the candidate of an agent, in the version that was tried, and ``model``."""
    agent = AGENTS[name]
    provider = "anthropic" if agent.protocols[0] == "messages" else "openai"
    address = model.url if provider == "anthropic" else f"{model.url}/v1"
    version = {"version": agent.tried} if name != "command" else {}
    return CandidateSpec.model_validate(
        {"agent": name, **version, "provider": provider, "model": MODEL, "base_url": address, **settings}
    )


def fixing_by_blocks(turn: Turn, edit: str = BLOCK) -> Say | Run:
    """Fix the bug without a shell, in the file as the model is told its name."""
    said = "\n".join(str(message["content"]) for message in turn.body["messages"])
    name = re.findall(r"^\S*maths\.py$", said, re.MULTILINE)[-1]
    return Say(f"{name}\n```python\n{edit}```\n")


class KeepsNothing(PaidAnswers):
    """Keeps no answers."""

    def __init__(self) -> None:
        self.spent = Decimal(0)

    def spend(self, usd: Decimal) -> None:
        pass

    def take(self, turn: str) -> ForwardedAnswer | None:
        return None

    def prepare(self, turn: str, answer: ForwardedAnswer) -> bytes:
        return b""

    def keep(self, prepared: bytes) -> None:
        pass


def attempt_in(
    boxes: Sandboxes, spec: CandidateSpec, base: Tree = PLAIN_TREE, call: MakeCall = once, asked: Problem | None = None
) -> Attempt:
    """Return the attempt of an agent at the small problem, or at ``asked``."""
    opened = open_provider(spec)
    assert opened is not None
    with closing(opened):
        return agent_attempt(
            asked or small_problem(), base, spec, opened, 0, PYTHON,
            lambda problem, packages, seconds: boxes.open_for_agent(problem.environment, packages, seconds),
            call, KeepsNothing(),
        )  # fmt: skip
