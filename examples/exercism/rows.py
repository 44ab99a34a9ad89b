"""Turn a folder of Exercism exercises, as Aider's polyglot benchmark has them, into SWE-bench rows.

``python rows.py EXERCISES OUT`` makes a repository of the stubs, a branch for each exercise, and ``OUT.jsonl`` for
``codegate mine import OUT.jsonl --format swe-bench --repository OUT --out SUITE``, which proves each by execution.
"""

import json
import subprocess
import sys
from pathlib import Path

NOT_SHOWN = (".approaches", ".docs", ".meta")


def git(out: Path, *words: str) -> str:
    """Return what git prints in ``out``."""
    command = ["git", "-C", out, "-c", "user.name=rows", "-c", "user.email=rows@localhost", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def changed(out: Path, files: dict[str, bytes]) -> str:
    """Return the patch that ``files`` are, and leave them in the index."""
    for name, data in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)
    git(out, "add", "--all", "--force")
    return git(out, "diff", "--cached", "--binary")


def row(exercise: Path, out: Path) -> dict[str, str]:
    """Return the row of an exercise whose stubs are committed on a branch of its name."""
    listed = json.loads((exercise / ".meta" / "config.json").read_text(encoding="utf-8"))["files"]
    tests = [*listed["test"], *(name for name in listed.get("editor", []) if "test" in name)]
    shown = [path for path in sorted(exercise.rglob("*")) if path.is_file()]
    names = [name for name in (str(path.relative_to(exercise)) for path in shown) if not name.startswith(NOT_SHOWN)]
    git(out, "switch", "--quiet", "--orphan", exercise.name)
    changed(out, {name: (exercise / name).read_bytes() for name in names if name not in tests})
    git(out, "commit", "--quiet", "--message", exercise.name)
    patches = []
    # A manifest among the solutions has no example: it stays as it is.
    solved = dict(zip(listed["solution"], listed["example"], strict=False))
    for files in (solved, {name: name for name in tests}):
        patches.append(changed(out, {name: (exercise / source).read_bytes() for name, source in files.items()}))
        git(out, "reset", "--quiet", "--hard")
    return {
        "instance_id": exercise.name,
        "repo": "exercism/exercises",
        "base_commit": git(out, "rev-parse", "HEAD").strip(),
        "patch": patches[0],
        "test_patch": patches[1],
        "problem_statement": "\n".join(
            path.read_text(encoding="utf-8") for path in sorted(exercise.glob(".docs/in*.md"))
        ),
    }


if __name__ == "__main__":
    folder, repository = Path(sys.argv[1]), Path(sys.argv[2])
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    exercises = sorted(path.parent.parent for path in folder.glob("*/.meta/config.json"))
    lines = [json.dumps(row(exercise, repository)) + "\n" for exercise in exercises]
    repository.with_name(f"{repository.name}.jsonl").write_text("".join(lines), encoding="utf-8")
