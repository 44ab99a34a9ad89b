"""``codegate demo --agent``: a gate of a repository's AGENTS.md, with a small agent and a model that plays a part.

The model is a server on loopback in this process. It knows each problem's fix and does what AGENTS.md says: nothing
here measures a model.
"""

import json
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from codegate.candidates import CandidateSpec
from codegate.cli.progress import run_progress
from codegate.gating import GatePolicy
from codegate.operations import Report, gate, pin, samples_of
from codegate.running import Gate, Journal, Run, RunOptions, RunSpec, run_suite
from codegate.running.bases import base_trees
from codegate.sandbox import Choice
from codegate.solving import read_agent_files, read_harness
from codegate.suite import Changes, Suite, Tree, load_suite, make_patch

_MODEL: Final = "plays-a-part-2025-06-01"
PROBLEMS: Final = 16
POLICY: Final = GatePolicy(min_problems=PROBLEMS, margin=0.2)
"""So few problems can show that a drop of 20 percentage points is ruled out, and none of 10."""
_STEPS: Final = "# Working here\n\nReproduce the bug, fix its cause, and run the tests.\n"
_SHORT: Final = "Keep every change to a single line."
TEXTS: Final[Mapping[str, str]] = {
    "pinned": _STEPS,
    "worse": f"{_STEPS}{_SHORT}\n",
    "good": f"{_STEPS}Write comments in British English.\n",
}
"""What AGENTS.md says, by the name of the run."""


def gate_instructions(
    out: Path, bundle: Path, sandbox: Choice, say: Callable[[str], None]
) -> Iterator[tuple[str, Report]]:
    """Pin the agent with its AGENTS.md, then yield the gate's report on each change of that file.

    ``out`` holds the repository and the suite that was mined from it.
    """
    suite = load_suite(out / "suite")
    with _played(suite) as address:
        say("3. An agent of a few lines, with AGENTS.md of the repository as its harness, makes the baseline")
        made, _ = _run(out, bundle, address, "pinned", sandbox, say)
        baseline, _ = pin([samples_of(made)], out / "baseline.json", out / "codegate.lock", min_samples=1)
        for number, name in enumerate(("worse", "good"), start=4):
            say(f"{number}. AGENTS.md is changed: {TEXTS[name].splitlines()[-1]!r}")
            _, journal = _run(out, bundle, address, name, sandbox, say)
            yield name, gate(journal, Gate(baseline, POLICY), reports=out / "reports" / name)


def _run(
    out: Path, bundle: Path, address: str, name: str, sandbox: Choice, say: Callable[[str], None]
) -> tuple[Run, Journal]:
    """Run the agent on the suite, with AGENTS.md as it is in the run called ``name``."""
    (out / "repository" / "AGENTS.md").write_text(TEXTS[name], encoding="utf-8")
    agent = {"name": "command", "command": ["{python}", "{files}/agent.py"], "files": ["agent.py"]}
    spec = CandidateSpec.model_validate(
        {
            "name": f"{name} AGENTS.md (a model that plays a part)", "agent": agent, "harness": ".",
            "provider": "openai", "model": _MODEL, "base_url": f"{address}/v1",
        }
    )  # fmt: skip
    candidate = read_harness(read_agent_files(spec, bundle), out / "repository")
    wanted = RunSpec(out / "suite", [candidate], sandbox=sandbox, out=out / "runs" / name, options=RunOptions())
    with run_progress() as progress:
        return run_suite(wanted, progress, lambda text: say(f"   {text}"))


@contextmanager
def _played(suite: Suite) -> Iterator[str]:
    """Give the address of a model that knows how each problem of ``suite`` is fixed."""
    bases = base_trees(suite, None, 1)
    fixes = {one.statement.strip(): _Fix.of(bases(one.id), one.fix) for one in suite.problems}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(_answer(asked["messages"], fixes)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class _Fix:
    """The shell command that writes a fix, and how many lines it adds."""

    command: str
    lines: int

    @classmethod
    def of(cls, base: Tree, fix: Changes) -> "_Fix":
        written = [
            f"mkdir -p {shlex.quote(str(Path(path).parent))} && printf %s {shlex.quote(file.data.decode())} > {path}"
            for path, file in fix.items()
            if file is not None
        ]
        added = [line for line in make_patch(base, fix).split("\n") if line[:1] == "+" and line[:4] != "+++ "]
        return cls(" && ".join(written), len(added))


def _answer(messages: list[dict[str, Any]], fixes: Mapping[str, _Fix]) -> dict[str, Any]:
    """Return the answer of the model to a conversation, as chat completions has it."""
    prompt = next((message["content"] for message in messages if message["role"] == "user"), "")
    fix = next((own for statement, own in fixes.items() if statement in prompt), _Fix("true", 0))
    single_line = any(_SHORT in str(message["content"]) for message in messages if message["role"] == "system")
    message: dict[str, Any] = {"role": "assistant", "content": "Done."}
    if single_line and fix.lines > 1:
        message["content"] = "The fix takes more than one line, so I leave it."
    elif messages[-1]["role"] == "user":
        function = {"name": "shell", "arguments": json.dumps({"command": fix.command})}
        message |= {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 50, "total_tokens": len(prompt) // 4 + 50}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": _MODEL, "choices": [choice], "usage": usage}
