"""A team's repository: a suite, a configuration, a pinned baseline and the shipped workflows."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.action.act.harness import ACTION, REPOSITORY, TEMPLATES
from tests.github.workspace import LENIENT, PROBLEMS, HandwrittenProblem, write_suite
from tests.kit.github.artifacts import REPOSITORY_ID
from tests.kit.repository import run_git as git

BRANCH = "another-model"
PULL = 7
OURS: dict[str, Any] = {"id": REPOSITORY_ID, "full_name": REPOSITORY}
THEIRS: dict[str, Any] = {"id": REPOSITORY_ID + 1, "full_name": "mallory/demo"}


def codegate(*words: str, cwd: Path) -> None:
    """Run the installed command; it succeeds."""
    program = Path(sys.executable).with_name("codegate")
    done = subprocess.run([str(program), *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True)
class Repository:
    """The checkout, on the branch that is worked on."""

    folder: Path

    def configure(self, candidate: str, more: str = "") -> None:
        """Write a configuration that names a candidate, and whatever else."""
        text = f"suite: suites/handwritten\ncandidates: [{candidate}]\n{LENIENT}{more}"
        (self.folder / "codegate.yml").write_text(text)

    def commit(self, message: str) -> str:
        """Commit everything, and return the commit."""
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message", message)
        return git(self.folder, "rev-parse", "HEAD")

    def pull_request(self, *, fork: bool = False) -> dict[str, Any]:
        """Return the event of a pull request of the branch that is checked out."""
        head = THEIRS if fork else OURS
        base = {"ref": "main", "sha": git(self.folder, "rev-parse", "main"), "repo": OURS}
        return {
            "action": "synchronize",
            "number": PULL,
            "pull_request": {
                "number": PULL,
                "head": {"ref": BRANCH, "sha": git(self.folder, "rev-parse", "HEAD"), "repo": {**head, "fork": fork}},
                "base": base,
            },
            **self.event(),
        }

    def event(self, **more: Any) -> dict[str, Any]:
        """Return what every event says of the repository."""
        return {
            "repository": {**OURS, "default_branch": "main", "fork": False},
            "sender": {"login": "octocat"},
            **more,
        }


def make_repository(
    folder: Path,
    problems: tuple[HandwrittenProblem, ...] = PROBLEMS,
    files: Mapping[str, str] | None = None,
) -> Repository:
    """Make the repository with the shipped workflows and ``files``, the way that the documentation says."""
    folder.mkdir(parents=True)
    write_suite(folder / "suites" / "handwritten", problems)
    made = Repository(folder)
    made.configure("reference")
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    for path in TEMPLATES.glob("*.yml"):
        install(folder, path.name)
    git(folder, "init", "--quiet", "--initial-branch=main", ".")
    git(folder, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
    made.commit("begin")
    return made


def install(folder: Path, name: str, changes: Mapping[str, str] | None = None) -> None:
    """Write a shipped workflow as it is, but for the commit of the action and the changes given."""
    text = (TEMPLATES / name).read_text().replace("$default-branch", "main")
    for old, new in {f"codegate-ci/codegate@{'0' * 40}": ACTION, **(changes or {})}.items():
        assert old in text, f"{name} has no {old!r}"
        text = text.replace(old, new)
    target = folder / ".github" / "workflows" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def pin_baseline(repository: Repository) -> None:
    """Pin the reference as the baseline, and commit the pin with the baseline's file."""
    folder = repository.folder
    codegate("run", "--sandbox", "docker", "--samples", "1", "--no-gate", "--out", "runs/first", cwd=folder)
    codegate("baseline", "pin", "runs/first", "--min-samples", "1", cwd=folder)
    (folder / ".gitignore").write_text("/runs/\n/codegate-report/\n")
    repository.commit("pin")
