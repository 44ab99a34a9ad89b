"""What the engine itself costs: replayed answers without a patch, which are graded without a sandbox.

    python -m bench.engine SUITE [--outcomes 10000]

Prints, for every tenth of the run, milliseconds and processor milliseconds per outcome and the memory in use: they are
flat where the engine's work does not grow with what is done already.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from codegate.candidates import CandidateSpec
from codegate.running import Progress, RunOptions, RunSpec, run_suite
from codegate.suite import load_suite

SAMPLES = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--outcomes", type=int, default=10_000)
    chosen = parser.parse_args()
    problems = [problem.id for problem in load_suite(chosen.suite).active]
    candidates = max(1, round(chosen.outcomes / (len(problems) * SAMPLES)))
    with tempfile.TemporaryDirectory() as folder:
        specs = [_candidate(Path(folder), number, problems) for number in range(candidates)]
        steps = _Steps(candidates * len(problems) * SAMPLES)
        request = RunSpec(
            chosen.suite, tuple(specs), SAMPLES, "bwrap", Path(folder) / "run", None, RunOptions(precheck=False)
        )
        begun = time.perf_counter()
        run, journal = run_suite(request, steps, print)
        print(f"{len(run.outcomes)} outcomes in {time.perf_counter() - begun:.1f} s, all told; ", end="")
        begun = time.perf_counter()
        journal.load()
        print(f"read again in {time.perf_counter() - begun:.1f} s")


def _candidate(folder: Path, number: int, problems: list[str]) -> CandidateSpec:
    path = folder / f"{number}.jsonl"
    header = {"schema": "codegate.transcripts/1", "label": "handwritten", "model": f"idle-{number}-2026-01-01"}
    answers = [{"problem": name, "responses": [{"text": "I do not know."}]} for name in problems]
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *answers)))
    return CandidateSpec(provider="replay", model=str(path), name=f"idle {number}")


class _Steps:
    """Prints a line for every tenth of the run."""

    def __init__(self, total: int) -> None:
        self._tenth = max(total // 10, 1)
        self._last = (time.perf_counter(), time.process_time())

    def __call__(self, step: Progress) -> None:
        if step.done % self._tenth:
            return
        now = (time.perf_counter(), time.process_time())
        wall, processor = (1000 * (a - b) / self._tenth for a, b in zip(now, self._last, strict=True))
        self._last = now
        print(f"{step.done:7,}: {wall:5.2f} ms, {processor:5.2f} ms of processor, {_megabytes():,.0f} MB")


def _megabytes() -> float:
    """Return the process's resident memory: https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    main()
