"""CPU seconds of ``codegate --help`` and of each command's help: user and system time of the whole process.

Run it with the interpreter that codegate is installed for: ``python -m bench.startup``. The smallest of five runs
counts: everything else that a machine does can only add to it.
"""

import resource
import subprocess
import sys

RUNS = 5
WANTED = 0.15
COMMANDS = (
    "", "demo", "init", "doctor", "mine", "validate", "run", "grade", "gate", "baseline", "history",
    "report", "action",
)  # fmt: skip


def cpu_seconds(command: str) -> float:
    """Return the processor time of one ``codegate COMMAND --help``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "codegate", *([command] if command else []), "--help"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line per command."""
    for command in COMMANDS:
        seconds = min(cpu_seconds(command) for _ in range(RUNS))
        goal = f"  (goal {WANTED} s)" if not command else ""
        print(f"{seconds:6.3f} s  codegate {command + ' ' if command else ''}--help{goal}")


if __name__ == "__main__":
    main()
