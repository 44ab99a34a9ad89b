"""A suite of three bugs written by hand, a model server that knows their answers, and the command as a process."""

import contextlib
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from codegate.candidates import CandidateSpec
from codegate.durable import sha256
from codegate.running import Run, RunOptions, RunRequest, run_suite
from codegate.suite import (
    Base,
    EnvironmentManifest,
    LockedEnvironment,
    Problem,
    ProblemManifest,
    Provenance,
    Statement,
    Suite,
    TestSets,
    TreeFile,
    git,
    make_problem,
    write_suite,
)
from tests.running.forked import Forker

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


def make_suite(folder: Path, lock: str, python: str = "3.11") -> Suite:
    """Write ``folder/suite`` and the repository ``folder/repository`` that its base commit is in."""
    repository = folder / "repository"
    for name in NAMES:
        path = repository / "calc" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source(name, fixed=False))
    (repository / "calc" / "__init__.py").write_text("")
    (repository / "tests").mkdir()
    (repository / "tests" / "test_public.py").write_text(
        "from calc.half import half\n\n\ndef test_zero():\n    assert half(0) == 0\n"
    )
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(repository, "init", "--quiet", ".")
    git(repository, "add", ".")
    git(repository, *identity, "commit", "--quiet", "-m", "base")
    commit = git(repository, "rev-parse", "HEAD").decode().strip()
    environment = EnvironmentManifest(
        id="py311",
        python=python,
        lock="environments/py311/requirements.lock",
        lock_sha256=sha256(lock.encode()),
        rung="minimal",
    )
    return write_suite(
        folder / "suite",
        name="calc",
        repository="../repository",
        environments=[LockedEnvironment(environment, lock)],
        problems=[_problem(name, commit, environment) for name in NAMES],
    )


def _problem(name: str, commit: str, environment: EnvironmentManifest) -> Problem:
    statement = f"{name}() returns a wrong number.\n"
    test = f"from calc.{name} import {name}\n\n\ndef test_{name}():\n    assert {name}(7) == {eval_body(name)}\n"
    manifest = ProblemManifest(
        id=f"calc-{name}",
        base=Base(commit=commit),
        environment=environment.id,
        test_files=(f"tests/test_{name}.py",),
        public_tests=("tests/test_public.py",),
        statement=Statement(mode="handwritten", sha256=sha256(statement.encode())),
        provenance=Provenance(kind="handwritten"),
    )
    return make_problem(
        manifest,
        statement,
        TestSets(FAIL_TO_PASS=(f"tests/test_{name}.py::test_{name}",)),
        {f"tests/test_{name}.py": TreeFile(test.encode())},
        {f"calc/{name}.py": TreeFile(source(name, fixed=True).encode())},
        environment,
    )


def eval_body(name: str) -> int:
    return {"double": 14, "half": 3, "square": 49}[name]


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
    """An OpenAI-compatible server on this machine that counts what it is asked."""

    def __init__(self) -> None:
        self.script: Script = always_right
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.keys.append(self.headers.get("Authorization", ""))
                with contextlib.suppress(OSError):  # the client was stopped
                    outer.answer(self, request)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        text = json.dumps(request["messages"])
        name = next(name for name in NAMES if re.search(rf"{name}(\(\))? returns a wrong number", text))
        with self._lock:
            turn = self.asked.count(name)
            self.asked.append(name)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        said = self.script(name, turn, request)
        self._released.wait(600 if said.hang else said.seconds)
        with self._lock:
            self._now -= 1
        if said.hang:
            return
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.tool_calls:
            message |= {"tool_calls": said.tool_calls}
        finish = said.finish or ("tool_calls" if said.tool_calls else "stop")
        body = said.raw if said.raw is not None else json.dumps({
            "id": "1", "object": "chat.completion", "created": 1, "model": request.get("model", MODEL),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": said.tokens, "total_tokens": 10 + said.tokens},
        }).encode()  # fmt: skip
        handler.send_response(said.status)
        for header, value in {"Content-Type": "application/json", **said.headers}.items():
            handler.send_header(header, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

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

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.stdout)


_FORKER = Forker()


def start(
    *arguments: object, cwd: Path, file_bytes: int | None = None, environment: Mapping[str, str] | None = None
) -> "subprocess.Popen[str]":
    """Start the command in a session of its own; no file that it writes may grow over ``file_bytes``."""
    limit = [] if file_bytes is None else ["prlimit", f"--fsize={file_bytes}"]
    return subprocess.Popen(
        [*limit, sys.executable, "-m", "codegate", *(str(argument) for argument in arguments)],
        cwd=cwd,
        env=_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def codegate(
    *arguments: object, cwd: Path, file_bytes: int | None = None, environment: Mapping[str, str] | None = None
) -> Done:
    """Run the command to its end; no way for a user to go wrong gives a traceback."""
    words = [str(argument) for argument in arguments]
    code, stdout, stderr = _FORKER.run(words, cwd, _environment(environment), file_bytes)
    assert "Traceback" not in stderr, stderr
    return Done(code, stdout, stderr)


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


def run_here(suite: Suite, out: Path, *candidates: CandidateSpec, samples: int = 1, **options: Any) -> Run:
    """Carry out a run in this process with bubblewrap; ``out`` is continued when it holds a run.

    Whether the problems are sound is looked at where a test says ``precheck=True``.
    """
    resume = out if (out / "run.json").exists() else None
    chosen = RunOptions(**({"precheck": False} | options))
    request = RunRequest(suite.folder, candidates, samples, "bwrap", out, resume, chosen)
    return run_suite(request, lambda step: None, lambda text: None)[0]
