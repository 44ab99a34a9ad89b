"""Records the run behind docs/measures.md: ``python -m tests.docs.record``, with bubblewrap, a few minutes.

A model server on this machine plays two models and a judge over HTTP, in the tool loop, on the bundled suites pooled
into one. ``careful`` knows the reference fixes of all but some problems of arbiter and tiers, where it has a wrong
solution with an edge-case error, needs a second try for some, and writes tests for some. ``hasty`` has wrong solutions
for most of these, and code in most of its answers. What is graded is executed; times are the server's own and the
machine's. Texts are left out of what is kept.
"""

import json
import shutil
import tempfile
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from codegate.operations.runs import judge
from codegate.running import Journal, Outcome, RunOptions, RunSpec, run_suite
from codegate.running.config import load_config
from codegate.running.outcome import json_text
from codegate.suite import Base, Problem, Suite, load_base, load_suite, write_suite
from tests.bundled import test_tiers
from tests.bundled import wrong as arbiter
from tests.kit.http import Reply, Request, Server, as_json

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDED: Final = Path(__file__).parent / "recorded"
SUITES: Final = ("arbiter", "functions", "refactoring", "tiers", "answers")
WRONG: Final = (*arbiter.WRONG, *((name, failure, old, new) for name, _, failure, old, new in test_tiers.WRONG))
CONFIG: Final = """\
candidates:
{candidates}
judge: {{provider: openai, model: judge-2025-06-01, name: judge, base_url: "{url}"}}
prices:
  careful-2025-06-01: {{input: 1, output: 4}}
  hasty-2025-06-01: {{input: 0.1, output: 0.4}}
gate:
  cohorts:
    all: {{floor: 0.5, tier: critical}}
    "suite:functions": {{floor: 0.95, tier: critical}}
"""


def pooled(out: Path) -> Suite:
    """Return the bundled suites as one; each keeps its environment, and the tag ``suite`` has its name."""
    environments, problems, bases = [], [], {}
    for suite in (load_suite(ROOT / "suites" / name) for name in SUITES):
        for entry in suite.manifest.environments:
            own = entry.model_copy(update={"id": f"{suite.name}-{entry.id}"})
            environments.append(replace(suite.environments[entry.id], manifest=own))
        for problem in suite.problems:
            place = f"bases/{problem.id}"
            bases[place] = load_base(suite, problem)
            changes = {"environment": f"{suite.name}-{problem.manifest.environment}", "base": Base(folder=place)}
            changes["tags"] = {**problem.manifest.tags, "suite": suite.name}
            problems.append(replace(problem, manifest=problem.manifest.model_copy(update=changes)))
    return write_suite(out, name="bundled", repository=None, environments=environments, problems=problems, bases=bases)


def files_of(problem: Problem, classes: tuple[str, ...]) -> dict[str, str]:
    """Return the fix of ``problem``, with the first wrong solution of one of ``classes`` where there is one."""
    found = {path: file.data.decode() for path, file in problem.fix.items() if file is not None}
    for name, failure, old, new in WRONG:
        if name == problem.id and failure in classes:
            return {path: text.replace(old, new) for path, text in found.items()}
    return found


def answer(model: str, problem: Problem, turn: int, place: int) -> dict[str, Any]:
    """Return the message of ``model`` at a turn: files to write, then a word; to a question, its answer."""
    careful = model.startswith("careful")
    if problem.manifest.answer is not None:
        more = "" if careful or place % 3 == 0 else "\n```python\npass\n```\n"
        return {"role": "assistant", "content": problem.reference_answer + more}
    wrong = ("edge_case_error",) if careful else ("logic_error", "temporal_reasoning_error")
    miss = place % 4 == 0 if careful else place % 3 != 0
    second = careful and place % 5 == 1
    files = files_of(problem, wrong if miss or (second and turn == 0) else ())
    if careful and place % 3 == 0:
        tests = {path: file for path, file in problem.hidden.items() if file and Path(path).name.startswith("test_")}
        files |= {
            str(Path(path).with_name(Path(path).name.replace("test_", "test_own_", 1))): file.data.decode()
            for path, file in tests.items()
        }
    if turn > second:
        return {"role": "assistant", "content": "Done."}
    calls = [
        {"name": "write_file", "arguments": json.dumps({"path": path, "content": text})} for path, text in files.items()
    ]
    calls += [{"name": "run_tests", "arguments": "{}" if careful else '{"all": true}'}]
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"call_{turn}_{number}", "type": "function", "function": call} for number, call in enumerate(calls)
        ],
    }


def played(suite: Suite) -> Server:
    """Return the server; it knows a problem by its statement, and a turn by the answers before."""
    places = {problem.id: number for number, problem in enumerate(suite.problems)}
    lock, judged = threading.Lock(), Counter[str]()

    def respond(request: Request) -> Reply:
        messages = request.body["messages"]
        text = str(messages[1]["content"])
        problem = next(one for one in suite.problems if one.statement.strip() in text)
        if request.body["model"].startswith("judge"):
            with lock:
                judged[problem.id] += 1
            says = "fail" if places[problem.id] % 6 == 0 else "pass"
            message: dict[str, Any] = {"role": "assistant", "content": f"It looks plausible.\nVERDICT: {says}"}
        else:
            turn = sum(each["role"] == "assistant" for each in messages)
            message = answer(request.body["model"], problem, turn, places[problem.id])
        sizes = [len(json.dumps(each)) // 4 for each in (messages, message)]
        usage = {"prompt_tokens": sizes[0], "completion_tokens": sizes[1], "total_tokens": sum(sizes)}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return as_json({"id": "1", "object": "chat.completion", "created": 1, "model": request.body["model"],
                        "choices": [choice], "usage": usage})  # fmt: skip

    return Server(respond)


def bare(outcome: Outcome) -> Outcome:
    """Return an outcome without the texts and lists that no table shows."""
    attempt, grade = outcome.attempt, outcome.grade
    return outcome.model_copy(
        update={
            "attempt": attempt.model_copy(update={"patch": ""}) if attempt else None,
            "grade": grade.model_copy(update={"tests": (), "output": "", "detail": ""}) if grade else None,
        }
    )


def _silent(_text: str) -> None:
    """Take an announcement."""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        suite = pooled(home / "bundled")
        server = played(suite)
        url = f"{server.url}/v1"
        loop = f'solver: tool_loop, base_url: "{url}"'
        lines = [
            f"  - {{provider: openai, model: {name}-2025-06-01, name: {name}, {loop}}}" for name in ("careful", "hasty")
        ]
        (home / "codegate.yml").write_text(CONFIG.format(candidates="\n".join(lines), url=url))
        settings = load_config(home / "codegate.yml")
        options = RunOptions(models=2, jobs=2, precheck=False)
        request = RunSpec(suite.folder, settings.candidates, 1, "bwrap", home / "run", options=options)
        _, journal = run_suite(request, lambda _step: None, _silent)
        judge(journal.folder, settings.judge, RunOptions(models=2), _silent)
        server.close()
        shutil.rmtree(RECORDED, ignore_errors=True)
        RECORDED.mkdir()
        kept = Journal.open(journal.folder)
        for name in ("run.json", "calls.log", "judge.jsonl"):
            shutil.copy(journal.folder / name, RECORDED / name)
        (RECORDED / "outcomes.jsonl").write_text("".join(json_text(bare(one)) + "\n" for one in kept.outcomes()))
        shutil.copy(home / "codegate.yml", RECORDED / "codegate.yml")


if __name__ == "__main__":
    main()
