"""Agents in real sandboxes, against a model that plays a part: real ones, and one of our own that misbehaves."""

import contextlib
import json
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import Completion, ProviderError
from codegate.candidates.agents import AGENTS
from codegate.candidates.gateway import MakeCall, gateway
from codegate.grading import Sandboxes
from codegate.http import HttpRequest
from codegate.running import Journal, RunOptions
from codegate.running.calls import ModelCalls
from codegate.sandbox import Backend, Command, EnvironmentRecipe, SandboxLimits
from codegate.service import Answer, Route, Service
from codegate.solving import Attempt, collecting
from codegate.solving.agent import AgentFailed
from codegate.suite import Problem, TreeFile, apply_patch
from tests.kit.environment import PLAIN, sandboxes_of
from tests.kit.layer import make_layer
from tests.kit.problem import changes, problem
from tests.kit.repository import make_repository, run_git
from tests.kit.runs import manifest
from tests.kit.scripted_model import AGENT, Run, Say, ScriptedModel, Turn, fixing
from tests.solving.worlds import (
    BLOCK,
    FIX,
    FIXED,
    MODEL,
    PLAIN_TREE,
    agent_spec,
    attempt_in,
    fixing_by_blocks,
    once,
    small_problem,
)

NAMES = [name for name in AGENTS if name != "command"]
ALL = ["command", *(pytest.param(name, marks=pytest.mark.full) for name in NAMES)]
HELD_BACK = {"claude-code": {"metadata"}, "codex": {"client_metadata", "prompt_cache_key"}, "aider": set()}
"""What the gateway does not pass on of an agent's requests."""
IN_EVERY_TEST_RUN = {("claude-code", "bwrap")}
"""Each sandbox has an agent, a program of Node or of Python; nightly each has all."""
KEY = "sk-canary-Zq7Lw2Xv9Rt4Bn8Kp1Md6Ys3"
HIDDEN = "hidden-test-text"

# Looks for all that an agent must not have, and leaves what it found in a source file. What it looks for is split, so
# that it does not find itself.
PRYING = """python3 - {port} {root} <<"END"
import glob, os, pathlib, socket, subprocess, sys
key, text, name, found = b"sk-can" + b"ary", b"hidden-" + b"test-text", "test_hid" + "den.py", set()
for address in ("127.0.0.1", int(sys.argv[1])), ("1.1.1.1", 443), ("169.254.169.254", 80), ("172.17.0.1", 22):
    try:
        socket.create_connection(address, 2)
        found.add("network")
    except OSError:
        pass
places = glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
repositories = ["."]
for folder, folders, files in os.walk(sys.argv[2]):
    folders[:] = [each for each in folders if os.path.join(folder, each) not in ("/proc", "/sys", "/dev")]
    if {{"objects", "refs"}} <= set(folders):
        repositories.append(folder)
    if name in files:
        found.add("hidden test")
    toolchains = "/usr", "/lib", sys.base_prefix  # of the machine, like Rust's
    if not folder.startswith(toolchains) and not {{"node_modules", ".rustup"}} & set(folder.split("/")):
        paths = (os.path.join(folder, each) for each in files)
        places += [path for path in paths if os.path.isfile(path) and os.path.getsize(path) < 300_000]
for place in places:
    try:
        data = pathlib.Path(place).read_bytes()
    except OSError:
        continue
    if key in data:
        found.add("key in " + os.path.basename(place))
    if text in data:
        found.add("hidden text")
for place in repositories:
    asked = ["git", "-c", "safe.directory=*", "-C", place, "rev-list", "--all"]
    try:
        if subprocess.run(asked, capture_output=True).stdout:
            found.add("history")
    except OSError:
        pass
if any(key.decode() in value for value in os.environ.values()):
    found.add("key in os.environ")
pathlib.Path("src/pkg").mkdir(parents=True, exist_ok=True)
pathlib.Path("src/pkg/found.py").write_text("FOUND = " + repr(sorted(found)))
END
"""


@pytest.fixture
def both(backend: Backend) -> Iterator[Sandboxes]:
    """Each kind of sandboxes: for what hangs on its walls, its signals or its files."""
    with contextlib.closing(sandboxes_of(backend, PLAIN)) as found:
        yield found


@pytest.fixture(
    params=[
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.full]),
        pytest.param("bwrap", marks=pytest.mark.bwrap),
    ]
)
def boxes(request: pytest.FixtureRequest) -> Iterator[Sandboxes]:
    """Bubblewrap's sandboxes, and Docker's by night."""
    with contextlib.closing(sandboxes_of(request.getfixturevalue(f"{request.param}_backend"), PLAIN)) as found:
        yield found


@pytest.fixture
def bait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a key and a repository of the hidden tests, beside a process with the key in its environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    (tmp_path / "key.txt").write_text(KEY)
    make_repository(tmp_path / "repository", {path: file.data for path, file in small_problem().hidden.items() if file})
    run_git(tmp_path / "repository", "reset", "--quiet", "--hard")
    with subprocess.Popen(["sleep", "900"], env={**os.environ}) as process:
        yield tmp_path
        process.kill()


def attempt(
    boxes: Sandboxes,
    model: ScriptedModel,
    agent: str = "command",
    *,
    call: MakeCall = once,
    asked: Problem | None = None,
    **settings: Any,
) -> Attempt:
    own = {"command": ["{python}", "-c", AGENT]} if agent == "command" else {}
    spec = agent_spec(agent, model, **{"minutes": 3, **own, **settings})
    return attempt_in(boxes, spec, call=call, asked=asked)


def changed(done: Attempt) -> dict[str, bytes | None]:
    return {path: None if file is None else file.data for path, file in apply_patch(PLAIN_TREE, done.patch).items()}


SolvedOnce = tuple[Attempt, ScriptedModel, list[tuple[dict[str, Any], str]]]
Solved = Callable[[str, Sandboxes], SolvedOnce]


@pytest.fixture(scope="module")
def solved() -> Solved:
    """Return an agent's attempt that fixes the bug, its model, and the requests and betas that it sent; made once."""

    found: dict[tuple[str, str], SolvedOnce] = {}
    read = gateway.read_document

    def solve(agent: str, boxes: Sandboxes) -> SolvedOnce:
        sent: list[tuple[dict[str, Any], str]] = []

        def recorded(request: HttpRequest) -> dict[str, Any]:
            document = read(request)
            sent.append((json.loads(json.dumps(document)), request.headers.get("anthropic-beta", "")))
            return document

        key = agent, boxes.backend.name
        if key not in found:
            with (
                pytest.MonkeyPatch.context() as patch,
                ScriptedModel(fixing_by_blocks if agent == "aider" else fixing(FIX)) as model,
            ):
                patch.setattr(gateway, "read_document", recorded)
                found[key] = attempt(boxes, model, agent), model, sent
        return found[key]

    return solve


@pytest.mark.parametrize(
    ("agent", "backend"),
    [
        pytest.param(
            name,
            place,
            marks=[getattr(pytest.mark, place), *([] if (name, place) in IN_EVERY_TEST_RUN else [pytest.mark.full])],
        )
        for name in NAMES
        for place in ("docker", "bwrap")
    ],
    indirect=["backend"],
)
@pytest.mark.timeout(900)
@pytest.mark.requirement("C3")
def test_an_agent_fixes_the_bug(agent: str, both: Sandboxes, solved: Solved) -> None:
    done, model, sent = solved(agent, both)
    assert changed(done) == {"src/pkg/maths.py": FIXED.encode()}
    assert done.stop == "answered"
    assert done.iterations == model.answered
    assert done.usage.input_tokens == 1000 * model.answered
    assert done.agent is not None
    # The scripted model is in no catalogue, and Codex says so.
    refused = {clause for clause in done.agent.refused if "Model metadata" not in clause}
    assert (done.agent.exit_code, refused, done.dropped) == (0, set(), ())
    assert done.messages[-1].role == "assistant"
    assert "half() returns a third of its argument." in "".join(message.text for message in done.messages)
    # Fields that a newer version sends are passed on or named here: nothing is lost without a word.
    assert len(sent) == len(model.requests)
    changed_fields = set()
    for (asked, betas), got in zip(sent, model.requests, strict=True):
        changed_fields |= {name for name in asked if got.body.get(name) != asked[name]}
        assert got.headers.get("anthropic-beta", "") == betas
    assert agent not in HELD_BACK or changed_fields == HELD_BACK[agent]


@pytest.mark.requirement("C3")
def test_packages_beside_a_project_can_be_read_and_not_written(
    backend: Backend, empty: EnvironmentRecipe, tmp_path: Path
) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "own").write_text("of the agent")
    (tmp_path / "env" / "own").chmod(0o600)
    prepared = backend.prepare(replace(empty, beside=(("agent", make_layer(tmp_path)),)))
    with contextlib.closing(backend.open(prepared, SandboxLimits())) as sandbox:
        done = sandbox.run(Command(("sh", "-c", "cd /opt/codegate/agent/env; cat own; echo x >own || touch ours")))
    assert (done.stdout, done.ok) == (b"of the agent", False)


@pytest.mark.full
@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.timeout(900)
def test_an_agent_in_a_loop_ends_at_its_limit(agent: str, boxes: Sandboxes) -> None:
    def play(turn: Turn) -> Say | Run:
        if agent == "aider":  # it asks again for an edit that does not fit
            return fixing_by_blocks(turn, BLOCK.replace("n // 3", "no such line"))
        return Run(f"echo {turn.results}") if turn.shell else Say("A title.")

    with ScriptedModel(play) as model:
        done = attempt(boxes, model, agent, max_iterations=3)
    assert (done.stop, done.iterations, model.answered, done.patch) == ("iterations", 3, 3, "")
    assert done.agent is not None
    assert done.agent.ended_by == "calls"


@pytest.mark.full
@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.timeout(900)
def test_an_agent_whose_model_refuses_its_key_ends_at_once(agent: str, boxes: Sandboxes) -> None:
    with (
        ScriptedModel(fixing(FIX), status=401, failures=99) as model,
        pytest.raises(ProviderError, match="401"),
    ):
        attempt(boxes, model, agent)
    assert len(model.requests) <= 3


@pytest.mark.parametrize("agent", ALL)
@pytest.mark.timeout(900)
def test_a_lazy_agent_changes_nothing(agent: str, boxes: Sandboxes) -> None:
    example = '[{"role": "assistant", "content": "An example:\\n```python\\nx = 1\\n```"}, {"role": "user"'
    own: dict[str, Any] = (
        {"command": ["{python}", "-c", AGENT.replace('[{"role": "user"', example)]} if agent == "command" else {}
    )
    with ScriptedModel(lambda _turn: Say("It looks fine.")) as model:
        done = attempt(boxes, model, agent, **own)
    assert (done.patch, done.stop, done.contains_code) == ("", "answered", False)


@pytest.mark.parametrize("agent", ALL)
@pytest.mark.timeout(900)
@pytest.mark.requirement("G4")
def test_an_agent_that_pries_finds_nothing(agent: str, boxes: Sandboxes, bait: Path) -> None:
    def play(turn: Turn) -> Say | Run:
        command = PRYING.format(port=model.url.rpartition(":")[2], root="/")
        if agent == "aider":  # it has no shell, but takes up files that its model names
            return Say(f"Add {bait}/key.txt, /proc/self/environ and tests/test_hidden.py.\n```bash\n{command}```\n")
        return Run(command) if turn.shell and not turn.results else Say("I looked around.")

    with ScriptedModel(play) as model:
        done = attempt(boxes, model, agent)
    assert changed(done) == ({} if agent == "aider" else {"src/pkg/found.py": b"FOUND = []"})
    asked = json.dumps([request.body for request in model.requests])
    assert KEY not in asked
    assert HIDDEN not in asked


def test_what_pries_finds_everything_outside_of_a_sandbox(bait: Path) -> None:
    with ScriptedModel(lambda _turn: Say("")) as model:
        command = PRYING.format(port=model.url.rpartition(":")[2], root=bait)
        subprocess.run(["sh", "-c", command], cwd=bait, check=True)
    keys = ["key in environ", "key in key.txt", "key in os.environ"]
    everything = ["hidden test", "hidden text", "history", *keys, "network"]
    assert (bait / "src/pkg/found.py").read_text() == f"FOUND = {everything}"


def test_an_agent_that_hangs_is_ended_with_all_of_its_processes(boxes: Sandboxes) -> None:
    hang = f"{FIX}; (trap '' TERM; setsid sh -c 'while :; do sleep 1; done' &) ; sleep 600"
    with ScriptedModel(fixing(hang)) as model:
        done = attempt(boxes, model, minutes=0.1)
    assert done.stop == "limit"
    assert done.agent is not None
    assert done.agent.ended_by == "minutes"
    assert changed(done) == {"src/pkg/maths.py": FIXED.encode()}, "what it had edited by then counts"


@pytest.mark.requirement("C8")
def test_a_hostile_agent_gets_nothing(both: Sandboxes) -> None:
    tries = [
        'python3 - <<"E"\n'
        "import json, os, urllib.error, urllib.request\n"
        'for path, model in (("/models/x", None), ("/chat/completions", "other"), ("/files", None)):\n'
        '    data = json.dumps({"model": model, "messages": []}).encode()\n'
        '    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, data)\n'
        "    try: print(path, urllib.request.urlopen(request).status)\n"
        "    except urllib.error.HTTPError as error: print(path, error.code)\n"
        "E",
        "rm -rf tests; echo 'import os; os._exit(0)' > conftest.py",
        "echo x > src/pkg/new.py; ln -s /etc/passwd src/l.py; mkfifo src/f.py; chmod 0 src/pkg/new.py src",
        "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo '* filter=x' > .gitattributes",
    ]

    def play(turn: Turn) -> Say | Run:
        return Run(tries[turn.results]) if turn.results < len(tries) else Say("ok")

    with ScriptedModel(play) as model:
        done = attempt(both, model)
    said = [message.text for message in done.messages if message.role == "tool"]
    assert [line.split()[1] for line in said[0].splitlines()] == ["404", "400", "404"]
    assert done.agent is not None
    assert sum(done.agent.refused.values()) == 3
    assert all(each.body["model"] == MODEL for each in model.requests)
    assert changed(done) == {"src/pkg/new.py": b"x\n"}
    assert {each.path: each.reason for each in done.dropped} == {
        "conftest.py": "test",
        ".gitattributes": "configuration",
        "src/l.py": "unsafe",
        "tests/conftest.py": "test",
        "tests/test_maths.py": "test",
    }
    assert apply_patch(PLAIN_TREE, done.tests) == {
        "conftest.py": TreeFile(b"import os; os._exit(0)\n"),
        "tests/conftest.py": None,
        "tests/test_maths.py": None,
    }


@pytest.mark.requirement("F2")
def test_what_an_agent_leaves_is_its_answer_to_the_byte_the_mode_and_the_link(both: Sandboxes) -> None:
    leave = r"""
chmod +x src/pkg/maths.py; chmod -x src/pkg/run.py
printf '\351' >> src/pkg/latin.py; printf '\0\377' > src/pkg/table.bin
printf '#!/bin/sh\n' > tool; chmod +x tool
ln -s maths.py src/pkg/link.py
rm src/pkg/dos.py; mkdir src/pkg/dos.py; echo x > src/pkg/dos.py/__init__.py
printf 'out/*\n!out/kept.py\n' > .gitignore
mkdir -p out env/lib venv; printf '*' > env/.gitignore
for n in $(seq 1200); do echo x > out/m$n.py; done; echo x > out/kept.py; echo x > env/lib/a.py; echo x > venv/a.py
"""
    with ScriptedModel(fixing(leave)) as model:
        done = attempt(both, model)
    files = {path: file.data for path, file in PLAIN_TREE.items()}
    assert apply_patch(PLAIN_TREE, done.patch) == {
        "out/kept.py": TreeFile(b"x\n"),
        "src/pkg/dos.py": None,
        "src/pkg/dos.py/__init__.py": TreeFile(b"x\n"),
        "src/pkg/latin.py": TreeFile(files["src/pkg/latin.py"] + b"\xe9"),
        "src/pkg/link.py": TreeFile(b"maths.py", "120000"),
        "src/pkg/maths.py": TreeFile(files["src/pkg/maths.py"], "100755"),
        "src/pkg/run.py": TreeFile(files["src/pkg/run.py"]),
        "src/pkg/table.bin": TreeFile(b"\0\xff"),
        "tool": TreeFile(b"#!/bin/sh\n", "100755"),
    }
    assert done.dropped == ()


def test_the_largest_files_over_the_limit_are_named_with_it(boxes: Sandboxes) -> None:
    leave = f"{FIX}; head -c 9000000 /dev/urandom > src/pkg/huge.bin; head -c 70000000 /dev/zero > src/pkg/zeros.bin"
    with ScriptedModel(fixing(leave)) as model:
        done = attempt(boxes, model)
    assert changed(done) == {"src/pkg/maths.py": FIXED.encode()}
    assert [drop.shown for drop in done.dropped] == [
        "src/pkg/huge.bin (too_large: 9000000 bytes; a patch may have 8388608 bytes)",
        "src/pkg/zeros.bin (too_large: 70000000 bytes; an answer's files may have 67108864 bytes)",
    ]


def test_files_over_the_number_that_an_answer_may_have_are_named_with_it(
    boxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MAX_FILES", 2)
    with ScriptedModel(fixing(f"{FIX}; touch src/pkg/new1.py src/pkg/new2.py")) as model:
        done = attempt(boxes, model)
    assert changed(done) == {"src/pkg/maths.py": FIXED.encode(), "src/pkg/new1.py": b""}
    assert [drop.shown for drop in done.dropped] == ["src/pkg/new2.py (too_large: an answer may have 2 files)"]


def test_an_agent_is_asked_a_question_in_its_own_words(boxes: Sandboxes) -> None:
    fix, wanted = changes({"answer.md": "It waits."}), ["answer::prose"]
    question = problem(
        "q", PLAIN.manifest, hidden={}, fix=fix, wanted=wanted, statement="Why?\n", answer="prose", test_files=()
    )
    with ScriptedModel(lambda turn: Say("It waits.")) as model:
        assert attempt(boxes, model, asked=question).messages[-1].text == "It waits."
    assert [message["content"] for message in model.requests[0].body["messages"]] == ["Why?"]


def test_an_agent_that_calls_no_model_is_named(boxes: Sandboxes) -> None:
    with ScriptedModel(fixing(FIX)) as model, pytest.raises(AgentFailed, match="status 3; it said 'oops'"):
        attempt(boxes, model, command=["sh", "-c", "echo oops >&2; exit 3"])


def test_commands_of_an_agent_have_the_environments_variables_and_call_the_service(boxes: Sandboxes) -> None:
    service = Service(routes=(Route(method="GET", path="/rate", answers=(Answer(body="0.25"),)),))
    problem = small_problem()
    problem = replace(problem, manifest=problem.manifest.model_copy(update={"service": service}))
    look = """python3 - <<"END"
import os, pkg.maths, urllib.request
print(pkg.maths.half(9), os.environ["PYTHONPATH"])
print(urllib.request.urlopen(os.environ["CODEGATE_SERVICE_URL"] + "/rate").read())
END"""
    with ScriptedModel(fixing(look)) as model:
        done = attempt(boxes, model, asked=problem)
    assert "3 src\nb'0.25'" in next(message.text for message in done.messages if message.role == "tool")


def queued(wait: Callable[[], object]) -> MakeCall:
    """Return a way to make calls that waits before each."""

    def call(action: Callable[[], Completion], _size: int, begin: Callable[[], None]) -> Completion:
        wait()
        begin()
        return action()

    return call


def test_waiting_for_a_provider_is_no_fault_of_the_agent(boxes: Sandboxes) -> None:
    ended = threading.Event()
    with ScriptedModel(fixing(FIX)) as model, pytest.raises(AgentFailed, match="waited"):
        attempt(boxes, model, call=queued(lambda: ended.wait(120)), minutes=0.1)
    ended.set()


def test_a_limit_that_ends_an_agent_before_its_first_answer_is_that_limit(boxes: Sandboxes) -> None:
    with ScriptedModel(fixing(FIX)) as model:
        done = attempt(boxes, model, usd="0.000001", prices={"input": 1, "output": 1})
    assert (done.stop, model.answered) == ("limit", 0)
    assert done.agent is not None
    assert done.agent.ended_by == "usd"


ASKING_AT_ONCE = """\
import json, os, threading, time, urllib.request
def ask():
    body = {"model": os.environ["CODEGATE_MODEL"], "messages": [{"role": "user", "content": "?"}]}
    urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode()).read()
threads = [threading.Thread(target=ask) for _ in range(8)]
for step in [thread.start for thread in threads] + [thread.join for thread in threads]:
    step()
time.sleep(1)
"""


def test_calls_that_wait_at_once_take_no_more_of_an_agents_time_than_passes(boxes: Sandboxes) -> None:
    with ScriptedModel(lambda _: Say("Done.")) as model:
        done = attempt(boxes, model, call=queued(lambda: time.sleep(1)), command=["{python}", "-c", ASKING_AT_ONCE])
    assert done.agent is not None
    assert 1 <= done.tool_seconds <= done.agent.seconds - 1


def test_no_call_is_made_once_its_agent_has_ended(boxes: Sandboxes, tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "r", manifest())
    leaving = ASKING_AT_ONCE.replace(".read()", ".read(); os._exit(0)")

    def slowly(_turn: Turn) -> Say:
        time.sleep(0.5)
        return Say("Done.")

    with ScriptedModel(slowly) as model, journal.writing():
        spec = agent_spec("command", model, command=["{python}", "-c", leaving])
        calls = ModelCalls(RunOptions(models=1), journal, threading.Event())
        attempt_in(boxes, spec, call=partial(calls.make, spec))
        for thread in threading.enumerate():
            if thread.name == "codegate-gateway":
                thread.join()
        assert model.answered < 5, "of eight"
    assert journal.calls.spending().calls == model.answered


def test_the_wait_for_a_free_sandbox_is_no_time_of_the_agent(boxes: Sandboxes, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead, real, opened = Counter[str](), time.monotonic, boxes.open_for_agent

    def crowded(*args: Any) -> Any:
        ahead["seconds"] += 10_000
        return opened(*args)

    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead["seconds"])
    monkeypatch.setattr(boxes, "open_for_agent", crowded)
    with ScriptedModel(fixing(FIX)) as model:
        done = attempt(boxes, model)
    assert done.agent is not None
    assert 0 < done.agent.seconds < 10_000


OWN = """\
import os, pathlib, sys
import colorama, tools
assert "third" in sys.argv[1], sys.argv
tools.call_the_model()
assert os.system("python3 -c 'import colorama' 2>/dev/null"), "what it starts sees the environment's packages alone"
path = pathlib.Path("src/pkg/maths.py")
path.write_text(path.read_text().replace("n // 3", "n // 2"))
"""
TOOLS = """\
import json, os, urllib.request
def call_the_model():
    body = {"model": os.environ["CODEGATE_MODEL"], "messages": [{"role": "user", "content": "?"}]}
    urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode()).read()
"""


@pytest.mark.requirement("C12")
def test_an_own_agent_brings_its_files_and_packages(boxes: Sandboxes) -> None:
    own: dict[str, Any] = {"files": ["main.py", "tools.py"], "file_texts": [OWN, TOOLS], "install": ["colorama==0.4.6"]}
    with ScriptedModel(fixing(FIX)) as model:
        done = attempt(boxes, model, command=["{python}", "{files}/main.py", "{prompt}"], **own)
    assert done.agent is not None
    assert (changed(done), done.agent.exit_code) == ({"src/pkg/maths.py": FIXED.encode()}, 0)
    assert done.agent.lock is not None, "what was installed is recorded"
