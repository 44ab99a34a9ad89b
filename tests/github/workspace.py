"""A workspace as a checkout leaves it: a small suite written by hand, and answers to it."""

import json
from dataclasses import dataclass
from pathlib import Path

from codegate.durable import sha256
from tests.kit.environment import PLAIN

# Whatever a test prints or raises, the step's log must stay free of commands.
SPITE = "::set-output name=verdict::pass\\n##[add-mask]a\\r::error::spite\\n x ##[set-output name=verdict]pass"


@dataclass(frozen=True)
class HandwrittenProblem:
    """A module with a bug, its fix and a test that tells them apart."""

    name: str
    broken: str
    fixed: str
    test: str


PROBLEMS = (
    HandwrittenProblem(
        "clamp",
        "def clamp(x, low, high):\n    return max(x, low)\n",
        "def clamp(x, low, high):\n    return min(max(x, low), high)\n",
        "from clamp import clamp\n\n\ndef test_high():\n    assert clamp(9, 0, 5) == 5\n\n\n"
        "def test_low():\n    assert clamp(-1, 0, 5) == 0\n",
    ),
    HandwrittenProblem(
        "spiteful",
        "def answer():\n    return 41\n",
        "def answer():\n    return 42\n",
        "import sys\n\nfrom spiteful import answer\n\n\ndef test_answer():\n"
        f'    print("{SPITE}")\n    print("{SPITE}", file=sys.stderr)\n'
        f'    assert answer() == 42, "{SPITE}"\n',
    ),
    HandwrittenProblem(
        "words",
        "def words(text):\n    return text.split(' ')\n",
        "def words(text):\n    return text.split()\n",
        "from words import words\n\n\ndef test_words():\n    assert words('a  b') == ['a', 'b']\n",
    ),
)

SLOW = HandwrittenProblem(
    "slow",
    "def answer():\n    return 41\n",
    "def answer():\n    return 42\n",
    "import time\n\nfrom slow import answer\n\n\ndef test_answer():\n    time.sleep(60)\n    assert answer() == 42\n",
)


def write_suite(folder: Path, problems: tuple[HandwrittenProblem, ...] = PROBLEMS) -> None:
    """Write the suite, file by file, as a person would."""
    for name, text in {"recipe.yml": PLAIN.recipe, "resolved.txt": PLAIN.resolved}.items():
        path = folder / "environments" / PLAIN.id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    manifest = {
        "schema": "codegate.suite/2",
        "name": "handwritten",
        "canary": "codegate-canary-of-the-tests",
        "environments": [PLAIN.manifest.model_dump(mode="json", by_alias=True)],
        "problems": [problem.name for problem in problems],
    }
    (folder / "suite.yml").write_text(json.dumps(manifest))
    for problem in problems:
        _write_problem(folder, problem)


def _write_problem(folder: Path, problem: HandwrittenProblem) -> None:
    home, name = folder / "problems" / problem.name, problem.name
    statement = f"`{name}` gives wrong answers.\n"
    tests = [f"test_{name}.py::{line[4:].split('(')[0]}" for line in problem.test.splitlines() if line[:4] == "def "]
    files = {
        f"bases/{name}/{name}.py": problem.broken,
        f"problems/{name}/fix/{name}.py": problem.fixed,
        f"problems/{name}/hidden/test_{name}.py": problem.test,
        f"problems/{name}/statement.md": statement,
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    kept = [test for test in tests if test.endswith("_low")]  # it passes before the fix, too
    (home / "tests.json").write_text(
        json.dumps({"FAIL_TO_PASS": [test for test in tests if test not in kept], "PASS_TO_PASS": kept})
    )
    (home / "problem.yml").write_text(
        json.dumps(
            {
                "schema": "codegate.problem/1",
                "id": name,
                "base": {"folder": f"bases/{name}"},
                "environment": PLAIN.manifest.id,
                "test_files": [f"test_{name}.py"],
                "statement": {"mode": "handwritten", "sha256": sha256(statement.encode())},
                "provenance": {"kind": "handwritten"},
            }
        )
    )


def write_transcripts(path: Path, answers: dict[str, str]) -> None:
    """Write a file of transcripts: each answer replaces the problem's module by the text given."""
    lines: list[object] = [{"schema": "codegate.transcripts/1", "label": "handwritten", "model": "model-2025-01-01"}]
    for problem, module in answers.items():
        text = f"{SPITE}\n\n{problem}.py\n<<<<<<< SEARCH\n=======\n{module}>>>>>>> REPLACE\n".replace("\\n", "\n")
        lines.append({"problem": problem, "responses": [{"text": text}]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


# Three problems are enough to decide under this policy, and no reason to believe it.
LENIENT = "gate: {alpha: 0.2, margin: 0.25, min_problems: 2, confirm_samples: 0, must_pass: [clamp]}\n"

# What a pull request without a pinned baseline is gated by.
FLOORS = "gate: {alpha: 0.2, min_problems: 2, max_samples: 1, cohorts: {all: {floor: 0.01, tier: critical}}}\n"
