"""Forks a process per run, so that killing twenty of them does not cost twenty imports. Run as a module."""

import json
import os
import sys
from functools import partial
from pathlib import Path

from codegate.candidates import CandidateSpec
from codegate.running import RunOptions, RunRequest, run_suite


def main() -> None:
    """Start a run for every line of stdin; say its process id, and how it ended once it did."""
    import openai  # noqa: F401  imported once, here

    say = partial(print, flush=True)
    say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(_run(order))
        say(pid)
        _, status = os.waitpid(pid, 0)
        say(os.waitstatus_to_exitcode(status))


def _run(order: dict[str, str]) -> int:
    out = Path(order["out"])
    candidates = [
        CandidateSpec(provider="openai", model="model-x", base_url=order["url"], sampling={"max_output_tokens": number})
        for number in (100, 200)
    ]
    resume = out if (out / "run.json").exists() else None
    request = RunRequest(Path(order["suite"]), candidates, 1, "bwrap", out, resume, RunOptions(models=2, sandboxes=2))
    run, _ = run_suite(request, lambda step: None, lambda text: None)
    return 0 if all(outcome.grade for outcome in run.outcomes) else 1


if __name__ == "__main__":
    main()
