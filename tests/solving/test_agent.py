"""Agents in real sandboxes, against a model that plays a part: real ones, and one of our own that misbehaves."""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, Completion, Forwarded, ProviderError, open_provider
from codegate.candidates.agents import AGENTS
from codegate.grading import Sandboxes
from codegate.sandbox import Backend, EnvironmentRecipe, Sandbox
from codegate.solving import Attempt, agent_attempt
from codegate.solving.agent import AgentFailed
from codegate.solving.attempt import ModelCall
from codegate.suite import Problem, Tree, apply_patch
from tests.kit.scripted_model import AGENT, Run, Say, ScriptedModel, Turn, fixing
from tests.solving.worlds import FIXED, once, small_problem, small_tree

MODEL = "scripted-2026-01-01"
TREE = Tree({path: file for path, file in small_tree().items() if not file.is_link})
FIX = "sed -i 's|n // 3|n // 2|' src/pkg/maths.py"
EDIT = "<<<<<<< SEARCH\n    return n // 3\n=======\n    return n // 2\n>>>>>>> REPLACE\n"
NAMES = [name for name in AGENTS if name != "command"]
IN_EVERY_TEST_RUN = ("claude-code", "openai-agents")


class Nothing:
    """Keeps no answers."""

    def take(self, request: str) -> Forwarded | None:
        return None

    def keep(self, request: str, answer: Forwarded) -> None:
        pass


@pytest.fixture
def boxes(backend: Backend) -> Iterator[Sandboxes]:
    found = Sandboxes(backend, {"py311": ""})
    yield found
    found.close()


def attempt(
    boxes: Sandboxes, model: ScriptedModel, agent: str = "command", *, call: ModelCall = once, **settings: Any
) -> Attempt:
    kind = AGENTS[agent]
    provider = "anthropic" if kind.protocols[0] == "messages" else "openai"
    base = model.url if provider == "anthropic" else f"{model.url}/v1"
    own = {"command": ["{python}", "-c", AGENT]} if agent == "command" else {"version": kind.tried}
    spec = CandidateSpec.model_validate(
        {"agent": agent, **own, "provider": provider, "model": MODEL, "base_url": base, "minutes": 3, **settings}
    )
    opened = open_provider(spec)
    assert opened is not None

    @contextlib.contextmanager
    def open_for_agent(problem: Problem, recipe: EnvironmentRecipe | None, seconds: float) -> Iterator[Sandbox]:
        with boxes.open_for_agent(problem.environment, recipe, seconds) as sandbox:
            yield sandbox

    try:
        return agent_attempt(small_problem(), TREE, spec, opened, 0, open_for_agent, call, Nothing())
    finally:
        opened.close()


def changed(done: Attempt) -> dict[str, bytes | None]:
    return {path: None if file is None else file.data for path, file in apply_patch(TREE, done.patch).items()}


def fixing_by_blocks(turn: Turn) -> Say | Run:
    """Fix the bug without a shell, in the file as the model is told its name."""
    said = "\n".join(str(message["content"]) for message in turn.body["messages"])
    name = re.findall(r"^\S*maths\.py$", said, re.MULTILINE)[-1]
    return Say(f"{name}\n```python\n{EDIT}```\n")


@pytest.mark.parametrize(
    "agent", [pytest.param(name, marks=[] if name in IN_EVERY_TEST_RUN else [pytest.mark.full]) for name in NAMES]
)
@pytest.mark.timeout(900)
def test_an_agent_fixes_the_bug(agent: str, boxes: Sandboxes) -> None:
    with ScriptedModel(fixing_by_blocks if agent == "aider" else fixing(FIX), MODEL) as model:
        done = attempt(boxes, model, agent)
    assert changed(done) == {"src/pkg/maths.py": FIXED.encode()}
    assert done.stop == "answered"
    assert done.iterations == model.answered
    assert done.usage.input_tokens == 1000 * model.answered
    assert done.agent is not None
    assert (done.agent.exit_code, done.agent.refused, done.dropped) == (0, {}, ())
    assert done.messages[-1].role == "assistant"
    assert "half() returns a third of its argument." in "".join(message.text for message in done.messages)


@pytest.mark.full
@pytest.mark.parametrize("agent", [name for name in NAMES if name != "aider"])
@pytest.mark.timeout(900)
def test_an_agent_in_a_loop_ends_at_its_limit(agent: str, boxes: Sandboxes) -> None:
    def play(turn: Turn) -> Say | Run:
        return Run(f"echo {turn.results}") if turn.shell else Say("A title.")

    with ScriptedModel(play, MODEL) as model:
        done = attempt(boxes, model, agent, max_iterations=5)
    assert (done.stop, done.iterations, model.answered, done.patch) == ("iterations", 5, 5, "")
    assert done.agent is not None
    assert done.agent.ended_by == "calls"


@pytest.mark.full
@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.timeout(900)
def test_an_agent_whose_model_refuses_its_key_ends_at_once(agent: str, boxes: Sandboxes) -> None:
    with (
        ScriptedModel(fixing(FIX), MODEL, status=401, failures=99) as model,
        pytest.raises(ProviderError, match="401"),
    ):
        attempt(boxes, model, agent)
    assert len(model.requests) <= 3


def test_a_lazy_agent_changes_nothing(boxes: Sandboxes) -> None:
    with ScriptedModel(lambda _turn: Say("It looks fine."), MODEL) as model:
        done = attempt(boxes, model)
    assert (done.patch, done.stop, done.iterations, done.contains_code) == ("", "answered", 1, False)


def test_an_agent_that_hangs_is_ended_with_all_of_its_processes(boxes: Sandboxes) -> None:
    hang = f"{FIX}; (trap '' TERM; setsid sh -c 'while :; do sleep 1; done' &) ; sleep 600"
    with ScriptedModel(fixing(hang), MODEL) as model:
        done = attempt(boxes, model, minutes=0.1)
    assert done.stop == "limit"
    assert done.agent is not None
    assert done.agent.ended_by == "minutes"
    assert changed(done) == {"src/pkg/maths.py": FIXED.encode()}, "what it had edited by then counts"


def test_limits_of_tokens_end_an_agent(boxes: Sandboxes) -> None:
    with ScriptedModel(lambda turn: Run(f"echo {turn.results}"), MODEL) as model:
        done = attempt(boxes, model, tokens=2500)
    assert (done.stop, model.answered) == ("limit", 3)


def test_a_hostile_agent_gets_nothing(boxes: Sandboxes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-Zq7Lw2Xv9Rt4Bn8Kp1Md6Ys3")
    tries = [
        "python3 -c \"import socket; socket.create_connection(('1.1.1.1', 443), 2)\"; echo network $?",
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c canary; env | grep -c sk-canary",
        "git log 2>&1 | head -1; ls -a / /workspace; find / -name 'test_hidden*' 2>/dev/null | wc -l",
        'python3 - <<"E"\n'
        "import json, os, urllib.error, urllib.request\n"
        'for path, model in (("/models/x", None), ("/chat/completions", "other"), ("/files", None)):\n'
        '    data = json.dumps({"model": model, "messages": []}).encode()\n'
        '    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, data)\n'
        "    try: print(path, urllib.request.urlopen(request).status)\n"
        "    except urllib.error.HTTPError as error: print(path, error.code)\n"
        "E",
        "rm -rf tests; echo 'import os; os._exit(0)' > conftest.py",
        "echo x > src/pkg/new.py; ln -s /etc/passwd src/l.py",
        "head -c 3000000 /dev/zero | tr '\\0' x > src/pkg/huge.py; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    ]

    def play(turn: Turn) -> Say | Run:
        return Run(tries[turn.results]) if turn.results < len(tries) else Say("ok")

    with ScriptedModel(play, MODEL) as model:
        done = attempt(boxes, model)
    said = [message.text for message in done.messages if message.role == "tool"]
    assert "network 1" in said[0]
    assert said[1].split() == ["0", "0"]
    assert said[2].splitlines()[-1] == "0"
    assert [line.split()[1] for line in said[3].splitlines()] == ["404", "400", "404"]
    assert done.agent is not None
    assert sum(done.agent.refused.values()) == 3
    assert all(each.body["model"] == MODEL for each in model.requests)
    assert changed(done) == {"src/pkg/new.py": b"x\n"}
    assert {each.path: each.reason for each in done.dropped} == {
        "conftest.py": "test",
        "src/l.py": "unsafe",
        "src/pkg/huge.py": "too_large",
        "tests/conftest.py": "test",
        "tests/test_maths.py": "test",
    }


def test_an_agent_that_calls_no_model_is_named(boxes: Sandboxes) -> None:
    with ScriptedModel(fixing(FIX), MODEL) as model, pytest.raises(AgentFailed, match="status 3; it said 'oops'"):
        attempt(boxes, model, command=["sh", "-c", "echo oops >&2; exit 3"])


def test_attempts_run_side_by_side(boxes: Sandboxes) -> None:
    with ScriptedModel(fixing(FIX), MODEL) as model:
        found: list[Attempt] = []
        threads = [threading.Thread(target=lambda: found.append(attempt(boxes, model))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [changed(done) for done in found] == [{"src/pkg/maths.py": FIXED.encode()}] * 4
    assert json.dumps([done.iterations for done in found]) == "[2, 2, 2, 2]"


def test_commands_of_an_agent_import_what_the_tests_do(boxes: Sandboxes) -> None:
    look = "cd /; python3 -c 'import pkg.maths, sys; print(pkg.maths.half(9), \"/opt/codegate/site\" in sys.path)'"
    with ScriptedModel(fixing(look), MODEL) as model:
        done = attempt(boxes, model)
    assert "3 True" in next(message.text for message in done.messages if message.role == "tool")


def test_waiting_for_a_provider_is_no_fault_of_the_agent(boxes: Sandboxes) -> None:
    def slow(action: Callable[[], Completion], _size: int) -> Completion:
        time.sleep(20)
        return action()

    with ScriptedModel(fixing(FIX), MODEL) as model, pytest.raises(AgentFailed, match="waited"):
        attempt(boxes, model, call=slow, minutes=0.4)
