"""A suite of three bugs written by hand, a model server that knows their answers, and the command as a process."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegate.candidates import CandidateSpec
from codegate.durable import sha256
from codegate.running import Gate, Progress, Run, RunOptions, RunSpec, run_suite
from codegate.suite import Base, Environment, EnvironmentManifest, Problem, Suite, load_suite, write_suite
from tests.kit.command import FORKER, ROOT, Done
from tests.kit.environment import PLAIN
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.problem import changes, problem
from tests.kit.repository import make_repository, run_git
from tests.kit.scripted_model import Run as Shell
from tests.kit.scripted_model import Say, Turn, Use

NAMES = ("double", "half", "square")
BODIES = {"double": ("n + 3", "n * 2"), "half": ("n // 3", "n // 2"), "square": ("n ** 3", "n ** 2")}
MODEL = "model-x"


def source(name: str, *, fixed: bool) -> str:
    return f"def {name}(n):\n    return {BODIES[name][fixed]}\n"


def answer(name: str, *, right: bool = True) -> str:
    """Return a single-shot answer that mends ``name``, or leaves it wrong."""
    wrong, good = (f"    return {body}" for body in BODIES[name])
    replacement = good if right else "    return None"
    return f"calc/{name}.py\n<<<<<<< SEARCH\n{wrong}\n=======\n{replacement}\n>>>>>>> REPLACE\n"


def make_suite(folder: Path, environment: Environment = PLAIN) -> Suite:
    """Write ``folder/suite`` and the repository ``folder/repository`` that its base commit is in."""
    files = {f"calc/{name}.py": source(name, fixed=False).encode() for name in NAMES}
    public = b"from calc.half import half\n\n\ndef test_zero():\n    assert half(0) == 0\n"
    files |= {"calc/__init__.py": b"", "tests/test_public.py": public}
    commit = make_repository(folder / "repository", files)
    run_git(folder / "repository", "reset", "--quiet", "--hard")
    return write_suite(
        folder / "suite",
        name="calc",
        repository="../repository",
        environments=[environment],
        problems=[_problem(name, commit, environment.manifest) for name in NAMES],
    )


def only(suite: Suite, *names: str) -> Suite:
    """Return a suite of which these bugs alone are left; its folder is written to."""
    manifest = suite.folder / "suite.yml"
    manifest.write_text(re.sub(r"(- calc-\w+\n)+", "".join(f"- calc-{name}\n" for name in names), manifest.read_text()))
    return load_suite(suite.folder)


def write_recipe(suite: Path, text: str) -> None:
    """Give the environment of the suite in a folder another recipe, with the digest that it needs."""
    manifest, path = suite / "suite.yml", suite / "environments" / PLAIN.id / "recipe.yml"
    before = sha256(path.read_bytes())
    path.write_text(text)
    manifest.write_text(manifest.read_text().replace(before, sha256(text.encode())))


def _problem(name: str, commit: str, environment: EnvironmentManifest) -> Problem:
    test = f"from calc.{name} import {name}\n\n\ndef test_{name}():\n    assert {name}(7) == {eval_body(name)}\n"
    return problem(
        f"calc-{name}",
        environment,
        base=Base(commit=commit),
        hidden=changes({f"tests/test_{name}.py": test}),
        fix=changes({f"calc/{name}.py": source(name, fixed=True)}),
        wanted=[f"tests/test_{name}.py::test_{name}"],
        statement=f"{name}() returns a wrong number.\n",
        public_tests=("tests/test_public.py",),
    )


def eval_body(name: str) -> int:
    return {"double": 14, "half": 3, "square": 49}[name]


def bug(request: object) -> str | None:
    """Return the function whose bug a request is about."""
    text = json.dumps(request)
    written, mined = r"{0}(\(\))? returns a wrong number", r"import {0}\\n{0}\("
    return next((name for name in NAMES if re.search(f"{written}|{mined}".format(name), text)), None)


def knowing(turn: Turn) -> Say | Shell | Use:
    """Fix the bug that a request is about, each time in other words: at once, by codegate's tools or by a shell."""
    name = bug(turn.body)
    if name is None or turn.results:
        return Say(f"OK {turn.number}")
    if not turn.body.get("tools"):
        return Say(f"{answer(name)}\nAnswer {turn.number}.\n")
    if turn.shell is None:
        return Use("write_file", {"path": f"calc/{name}.py", "content": source(name, fixed=True)})
    wrong, right = BODIES[name]
    return Shell(f"sed -i 's|{wrong.replace('*', '[*]')}|{right}|' calc/{name}.py")


@dataclass
class Said:
    """What the server answers: a status, headers and a body; or bytes; ``hang`` says nothing at all."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: bool = False
    seconds: float = 0.0
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    finish: str | None = None
    tokens: int = 5


Script = Callable[[str, int, dict[str, Any]], Said]
"""From (problem's function, how many requests named it before, request) to the answer."""


def always_right(name: str, turn: int, request: dict[str, Any]) -> Said:
    return Said(answer(name))


class ModelServer:
    """An OpenAI-compatible server on this machine that counts what it is asked.

    The first small request of a run names no problem: ``greeting`` answers it, and ``greeted`` keeps it.
    """

    def __init__(self) -> None:
        self.script: Script = always_right
        self.greeting: Callable[[dict[str, Any]], Said] = lambda request: Said("OK")
        self.greeted: list[dict[str, Any]] = []
        self.context: int | None = None
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._server = Server(self._reply)

    def _reply(self, received: Request) -> Reply | None:
        if received.method == "GET":
            meta = {} if self.context is None else {"meta": {"n_ctx": self.context}}
            return as_json({"object": "list", "data": [{"id": "file.gguf", **meta}]})
        request = received.body
        self.keys.append(received.headers.get("authorization", ""))
        name = bug(request["messages"])
        with self._lock:
            turn = self.asked.count(name) if name else 0
            if name is None:
                self.greeted.append(request)
            else:
                self.asked.append(name)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        said = self.greeting(request) if name is None else self.script(name, turn, request)
        self._released.wait(600 if said.hang else said.seconds)
        with self._lock:
            self._now -= 1
        if said.hang:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.tool_calls:
            message |= {"tool_calls": said.tool_calls}
        finish = said.finish or ("tool_calls" if said.tool_calls else "stop")
        body = said.raw if said.raw is not None else json.dumps({
            "id": "1", "object": "chat.completion", "created": 1, "model": request.get("model", MODEL),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": said.tokens, "total_tokens": 10 + said.tokens},
        }).encode()  # fmt: skip
        return Reply(body, said.status, {"Content-Type": "application/json", **said.headers})

    @property
    def url(self) -> str:
        return f"{self._server.url}/v1"

    @property
    def candidate(self) -> str:
        return f"openai:{MODEL}@{self.url}"

    def spec(self, **changes: Any) -> CandidateSpec:
        return CandidateSpec(provider="openai", model=MODEL, base_url=self.url, **changes)

    def reset(self) -> None:
        """Forget everything; what hangs is let go."""
        self._released.set()
        self._released = threading.Event()
        self.script, self.asked, self.keys, self.most_at_once = always_right, [], [], 0
        self.greeting, self.greeted, self.context = lambda request: Said("OK"), [], None

    def close(self) -> None:
        self._released.set()
        self._server.close()


#: The command, with what tests look at but once.
REMEMBERING = (
    "import sys, tests.kit.remembered as r; r.remember(); from codegate.cli.main import run; run(sys.argv[1:])"
)


def start(
    *arguments: object, cwd: Path, environment: Mapping[str, str] | None = None, remembering: bool = False
) -> "subprocess.Popen[str]":
    """Start the command in a session of its own; ``remembering`` what other runs of the tests found."""
    program = ["-c", REMEMBERING] if remembering else ["-m", "codegate"]
    return subprocess.Popen(
        [sys.executable, *program, *(str(argument) for argument in arguments)],
        cwd=cwd,
        env=_environment({"PYTHONPATH": str(ROOT), **(environment or {})}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def codegate(
    *arguments: object,
    cwd: Path,
    file_bytes: int | None = None,
    environment: Mapping[str, str] | None = None,
    before: str = "",
) -> Done:
    """Run the command to its end, after the program ``before``; no way for a user to go wrong gives a traceback."""
    done = FORKER.run(*arguments, cwd=cwd, environment=_environment(environment), file_bytes=file_bytes, before=before)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _environment(changes: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", **(changes or {})}


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's journal."""
    path = folder / "outcomes.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def results(folder: Path) -> dict[tuple[str, int], bool | None]:
    """Return which (problem, sample) was resolved; None for a fault."""
    return {
        (line["problem"], line["sample"]): line["grade"]["resolved"] if line["grade"] else None
        for line in lines(folder)
    }  # fmt: skip


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def serving() -> Iterator[ModelServer]:
    server = ModelServer()
    try:
        yield server
    finally:
        server.close()


def run_here(
    suite: Suite, out: Path, *candidates: CandidateSpec, samples: int | None = 1, gate: Gate | None = None,
    progress: Callable[[Progress], None] = lambda step: None, announce: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Run:  # fmt: skip
    """Carry out a run in this process with bubblewrap; ``out`` is continued when it holds a run.

    Whether candidates answer and problems are sound is looked at where a test says ``precheck=True``.
    """
    resume = out if (out / "run.json").exists() else None
    chosen = RunOptions(**({"precheck": False} | options))
    request = RunSpec(suite.folder, candidates, samples, "bwrap", out, resume, chosen, gate=gate)
    return run_suite(request, progress, announce)[0]


Execute = Callable[..., Run]
"""``run_here`` of a suite and a folder."""
