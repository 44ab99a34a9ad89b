"""Exercism's exercises, as Aider's benchmark has them, become rows by an example's script; the exercise is our own."""

import json
import subprocess
import sys
from pathlib import Path

from codegate.mining.importing import cut_row
from codegate.suite.exchange import check_row, read_rows

SCRIPT = Path(__file__).parents[2] / "examples" / "exercism" / "rows.py"
EXERCISE = {
    ".docs/instructions.md": "# Halve\n\nHalve a number.\n",
    ".meta/config.json": json.dumps(
        {"files": {"solution": ["halve.py"], "test": ["halve_test.py"], "example": [".meta/example.py"]}}
    ),
    ".meta/example.py": "def halve(number):\n    return number / 2\n",
    "halve.py": "def halve(number):\n    pass\n",
    "halve_test.py": "from halve import halve\n\n\ndef test_halve():\n    assert halve(4) == 2\n",
    "notes.txt": "given\n",
}


def test_an_exercise_is_a_row_whose_base_has_neither_tests_nor_example(tmp_path: Path) -> None:
    for exercise in ("halve", "twice"):
        for name, text in EXERCISE.items():
            place = tmp_path / "exercises" / exercise / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    subprocess.run([sys.executable, SCRIPT, tmp_path / "exercises", tmp_path / "stubs"], check=True)
    rows, skipped = read_rows(tmp_path / "stubs.jsonl", check_row)
    assert (len(rows), skipped) == (2, [])
    for row in rows:
        unit = cut_row(row, tmp_path / "stubs")
        assert unit.parts.base.keys() == {"halve.py", "notes.txt"}
        fix = unit.parts.fix["halve.py"]
        assert fix is not None
        assert fix.data.decode() == EXERCISE[".meta/example.py"]
        assert unit.parts.test_files == ("halve_test.py",)
        assert row.problem_statement == EXERCISE[".docs/instructions.md"]
