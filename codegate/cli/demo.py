"""``codegate demo``: mine, run and gate a bundled history.

It uses real sandboxes and needs no key. A small library's git history is unpacked and mined; a pinned candidate makes
the baseline; a good and a worse one are compared with it. The candidates are transcripts written by hand, and their
labels say so: nothing here measures a model. With ``--agent``, a repository's AGENTS.md is gated: the agent is a small
one, and its model is a loopback server in this process that knows each problem's fix and does what AGENTS.md says.
"""

import json
import os
import shlex
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

import codegate
from codegate.candidates import CandidateSpec
from codegate.cli.options import Jobs, Sandbox, as_command
from codegate.cli.output import json_wanted, say, write
from codegate.cli.progress import mine_progress, run_progress
from codegate.errors import ExitCode, UsageError
from codegate.gating import GatePolicy
from codegate.mining import MineRequest
from codegate.operations.baselines import pin, samples_of
from codegate.operations.runs import Report, gate
from codegate.operations.suites import mine, mining_words
from codegate.reporting import render_json
from codegate.running import Gate, Journal, Run, RunOptions, RunSpec, new_run_id, run_suite
from codegate.running.bases import base_trees
from codegate.sandbox import Choice, SandboxUnavailable, cache_folder, select_backend
from codegate.solving import read_agent_files, read_harness
from codegate.strict import Folder
from codegate.suite import Changes, Suite, Tree, git, load_suite, make_patch

_JOBS: Final = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, 8)
_PROBLEMS: Final = 30
_MARK: Final = ".codegate-demo"
_MADE: Final = ("repository", "suite", "runs", "reports", "baseline.json", "codegate.lock")
# For the demo with --agent: the model that is played by this process, and AGENTS.md by the run's name.
_MODEL: Final = "plays-a-part-2025-06-01"
_AGENT_PROBLEMS: Final = 16
_AGENT_POLICY: Final = GatePolicy(min_problems=_AGENT_PROBLEMS, margin=0.2)
"""With so few problems a gate can rule out a drop of 20 percentage points, but not one of 10."""
_STEPS: Final = "# Working here\n\nReproduce the bug, fix its cause, and run the tests.\n"
_SHORT: Final = "Keep every change to a single line."
_AGENTS_MD: Final[Mapping[str, str]] = {
    "pinned": _STEPS,
    "worse": f"{_STEPS}{_SHORT}\n",
    "good": f"{_STEPS}Write comments in British English.\n",
}


@as_command()
def command(
    out: Annotated[Folder, "Folder of the demo."] = Path("codegate-demo"),
    agent: Annotated[bool, "Gate a change of AGENTS.md, with a small agent, in place of models."] = False,
    fresh: Annotated[bool, "Prove every problem again, without the results of an earlier demo."] = False,
    jobs: Annotated[Jobs, Field(json_schema_extra={"shown": "the processors of this machine, at most 8"})] = _JOBS,
    sandbox: Sandbox = "auto",
) -> ExitCode:
    """Mine a bundled history, and gate two candidates on it.

    The good candidate passes, the worse one has regressed. With --agent, two changes of AGENTS.md are gated instead:
    one makes an agent worse, the other does not.

    Exits 0 if the gate gives exactly these verdicts, else 3. With --sandbox auto, bubblewrap is preferred where it
    works: it needs no image. A later demo of the same version reuses the proofs of an earlier one, and says so.
    """
    started = time.monotonic()
    chosen = _quick_sandbox() if sandbox == "auto" else sandbox
    _clear(out)
    say(f"1. A library's history, unpacked into {out / 'repository'}")
    _unpack(out / "repository")
    say(f"2. Mining its bug fixes; every problem is proven by execution ({chosen} sandboxes, no network inside)")
    with mine_progress() as progress:
        # One round with and without the fix is enough, because the bundled history has no flaky test.
        memory = cache_folder() / "mining"
        request = MineRequest(
            name="quickstart",
            max_problems=_AGENT_PROBLEMS if agent else _PROBLEMS,
            jobs=jobs,
            rounds=1,
            memory=memory,
            fresh=fresh,
            sandbox=chosen,
        )
        mined = mine(out / "repository", out / "suite", request, progress)
    for line in mining_words(mined):
        say(f"   {line}")
    reports = dict(_gate_instructions(out, chosen, jobs)) if agent else {"": _gate_models(out, chosen, jobs)}
    for report in reports.values():
        for verdict in report.verdicts:
            say(f"{verdict.label}: {verdict.kind.upper()}. {verdict.reason}")
        for name in ("html", "junit", "json"):
            say(f"{name:6} {report.files[name]}")
    say(f"Done in {time.monotonic() - started:.0f} s. Next, in a repository of yours: codegate init")
    if json_wanted():
        write(render_json(report.view))
    kinds = [verdict.kind for report in reports.values() for verdict in report.verdicts]
    return (
        ExitCode.PASS if kinds == (["regressed", "pass"] if agent else ["pass", "regressed"]) else ExitCode.INCONCLUSIVE
    )


def _gate_models(out: Path, chosen: Choice, jobs: int) -> Report:
    say("3. The pinned candidate makes the baseline (its answers were written by hand, as are the next two)")
    pinned, _ = _run(out, "pinned", [_handwritten("pinned")], chosen, jobs)
    # One sample per problem, because handwritten answers do not vary.
    baseline, _ = pin([samples_of(pinned)], out / "baseline.json", out / "codegate.lock", min_samples=1)
    say("4. A good and a worse candidate, compared with it")
    _, journal = _run(out, "upgrade", [_handwritten("good"), _handwritten("worse")], chosen, jobs)
    return gate(journal, Gate(baseline, GatePolicy()), reports=out / "reports")


def _handwritten(name: str) -> CandidateSpec:
    return CandidateSpec(provider="replay", model=f"{name}.jsonl", name=f"{name} (handwritten)")


def _quick_sandbox() -> Choice:
    # bubblewrap is preferred, because it needs no image.
    try:
        select_backend("bwrap", new_run_id()).close()
    except SandboxUnavailable:
        return "auto"
    return "bwrap"


def _bundle() -> Path:
    packaged = Path(str(resources.files(codegate))) / "bundled" / "quickstart"
    return packaged if packaged.is_dir() else Path(codegate.__file__).parents[1] / "suites" / "quickstart"


def _clear(out: Path) -> None:
    if out.exists() and any(out.iterdir()) and not (out / _MARK).exists():
        raise UsageError(f"{out} exists and is no earlier demo.", "Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARK).touch()
    for name in _MADE:
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _unpack(repository: Path) -> None:
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main", ".")
    git(repository, "fast-import", "--quiet", stdin=(_bundle() / "history.fast-export").read_bytes())
    git(repository, "reset", "--quiet", "--hard", "main")


def _run(out: Path, name: str, candidates: list[CandidateSpec], sandbox: Choice, jobs: int) -> tuple[Run, Journal]:
    # No checks before the run: mining has proved the problems, and no answer costs anything.
    options = RunOptions(jobs=jobs, transcripts=_bundle() / "transcripts", precheck=False)
    wanted = RunSpec(out / "suite", candidates, sandbox=sandbox, out=out / "runs" / name, options=options)
    with run_progress() as progress:
        return run_suite(wanted, progress, lambda text: say(f"   {text}"))


def _gate_instructions(out: Path, sandbox: Choice, jobs: int) -> Iterator[tuple[str, Report]]:
    suite = load_suite(out / "suite")
    with _serve_fixes(suite) as address:
        say("3. An agent of a few lines, with AGENTS.md of the repository as its harness, makes the baseline")
        made, _ = _run(out, "pinned", [_agent(out, address, "pinned")], sandbox, jobs)
        baseline, _ = pin([samples_of(made)], out / "baseline.json", out / "codegate.lock", min_samples=1)
        for number, name in enumerate(("worse", "good"), start=4):
            say(f"{number}. AGENTS.md is changed: {_AGENTS_MD[name].splitlines()[-1]!r}")
            _, journal = _run(out, name, [_agent(out, address, name)], sandbox, jobs)
            yield name, gate(journal, Gate(baseline, _AGENT_POLICY), reports=out / "reports" / name)


def _agent(out: Path, address: str, name: str) -> CandidateSpec:
    (out / "repository" / "AGENTS.md").write_text(_AGENTS_MD[name], encoding="utf-8")
    agent = {"name": "command", "command": ["{python}", "{files}/agent.py"], "files": ["agent.py"]}
    spec = CandidateSpec.model_validate(
        {
            "name": f"{name} AGENTS.md (a model that plays a part)", "agent": agent, "harness": ".",
            "provider": "openai", "model": _MODEL, "base_url": f"{address}/v1",
        }
    )  # fmt: skip
    return read_harness(read_agent_files(spec, _bundle()), out / "repository")


@contextmanager
def _serve_fixes(suite: Suite) -> Iterator[str]:
    """Serve a model that knows all fixes; yield its address."""
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
            """Print no requests."""

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
