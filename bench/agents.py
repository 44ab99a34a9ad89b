"""What each ready agent takes for one attempt that fixes a small bug, with a model that answers at once.

    python -m bench.agents [--sandbox bwrap|docker] [AGENT ...]

Prints seconds of the attempt and of the agent in it, processor seconds of the agent and of its commands, and the memory
of its largest process. The attempt before, which installs the agent, is not counted.
"""

import argparse
import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from codegate.candidates import open_provider
from codegate.candidates.agents import AGENTS
from codegate.grading import Sandboxes
from codegate.sandbox import Command, Completed, Sandbox, select_backend
from codegate.solving import agent_attempt
from codegate.suite import Environment, Problem
from tests.kit.environment import PLAIN, PYTHON, sandboxes_of
from tests.kit.scripted_model import ScriptedModel, fixing
from tests.solving.worlds import FIX, PLAIN_TREE, KeepsNothing, agent_spec, fixing_by_blocks, once, small_problem


class Watched:
    """A sandbox that remembers what its commands took."""

    def __init__(self, sandbox: Sandbox, done: list[Completed]) -> None:
        self._sandbox, self._done = sandbox, done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def run(self, command: Command) -> Completed:
        self._done.append(self._sandbox.run(command))
        return self._done[-1]


def attempt(boxes: Sandboxes, name: str) -> tuple[float, Completed]:
    """Return the seconds of an attempt, and what its agent took; fails where it does not fix the bug."""
    part = fixing_by_blocks if name == "aider" else fixing(FIX)
    done: list[Completed] = []

    @contextlib.contextmanager
    def open_for_agent(problem: Problem, packages: Sequence[Environment], seconds: float) -> Iterator[Any]:
        with boxes.open_for_agent(problem.environment, packages, seconds) as (sandbox, lock):
            yield Watched(sandbox, done), lock

    with ScriptedModel(part) as model:
        spec = agent_spec(name, model)
        opened = open_provider(spec)
        begun = time.perf_counter()
        made = agent_attempt(small_problem(), PLAIN_TREE, spec, opened, 0, PYTHON, open_for_agent, once, KeepsNothing())
        seconds = time.perf_counter() - begun
    if "n // 2" not in made.patch:
        message = f"{name} did not fix the bug: {made.stop}"
        raise SystemExit(message)
    return seconds, done[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=[name for name in AGENTS if name != "command"])
    parser.add_argument("--sandbox", default="bwrap")
    options = parser.parse_args()
    backend = select_backend(options.sandbox, "bench")
    boxes = sandboxes_of(backend, PLAIN)
    print(f"{'agent':16} {'version':>9} {'attempt':>9} {'agent':>9} {'processor':>10} {'memory':>8}")
    try:
        for name in options.agents:
            attempt(boxes, name)
            seconds, took = attempt(boxes, name)
            print(
                f"{name:16} {AGENTS[name].tried:>9} {seconds:7.1f} s {took.wall_seconds:7.1f} s "
                f"{took.cpu_seconds:8.1f} s {took.peak_memory_bytes / 1e6:5.0f} MB"
            )
    finally:
        boxes.close()
        backend.close()


if __name__ == "__main__":
    main()
