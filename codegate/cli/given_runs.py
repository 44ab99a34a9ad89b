"""Runs that a command is given by their folders, and who gives them."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from codegate.errors import UsageError
from codegate.gating import Origin, RunSamples
from codegate.running import Run, candidate_samples, choose_candidate, load_run
from codegate.suite import GitError, git

_SECONDS = 10.0


def read_runs(folders: Sequence[Path], name: str | None) -> list[RunSamples]:
    """Return the samples that each of the runs in ``folders`` has of the candidate called ``name``.

    Raises:
        UsageError: a folder holds no run, or not exactly one candidate fits.
    """
    return [run_samples(load_run(folder), name) for folder in folders]


def run_samples(run: Run, name: str | None) -> RunSamples:
    """Return the samples that ``run`` has of the candidate called ``name``; raises as ``choose_candidate``."""
    spec = choose_candidate(run, name)
    return RunSamples(
        run=run.manifest.id,
        finished=max((outcome.finished for outcome in run.of(spec.key())), default="") or run.manifest.created,
        suite_digest=run.manifest.suite_digest,
        spec=spec,
        samples=candidate_samples(run, spec),
        looks=len(run.manifest.looks),
    )


def origin() -> Origin:
    """Return who acts on which commit: of a workflow its actor and commit, else git's user and HEAD here."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        return Origin(_text(os.environ.get("GITHUB_ACTOR")), _commit(os.environ.get("GITHUB_SHA")))
    return Origin(_git_user(), _commit(_git_here("rev-parse", "--verify", "HEAD")))


def _git_here(*arguments: str) -> str | None:
    try:
        return git(Path(), *arguments, timeout=_SECONDS, limit=1 << 16).decode("utf-8", "replace")
    except GitError:
        return None


def _git_user() -> str | None:
    """Return the name that git would put on a commit: the repository's own setting, else the user's."""
    if own := _text(_git_here("config", "--get", "user.name")):
        return own
    program = shutil.which("git")
    if program is None:
        return None
    try:  # not sealed: the user's own settings, read from where no repository has a say
        done = subprocess.run(
            [program, "config", "--global", "--get", "user.name"],
            cwd="/", capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return _text(done.stdout.decode("utf-8", "replace"))


def _text(value: str | None) -> str | None:
    """Return one printable line of at most 200 characters, None where there is none."""
    words = "".join(sign if sign.isprintable() else " " for sign in value or "").split()
    return " ".join(words)[:200] or None


def _commit(value: str | None) -> str | None:
    text = (value or "").strip().lower()
    return text if len(text) in {40, 64} and set(text) <= set("0123456789abcdef") else None


def check_new(path: Path, what: str) -> None:
    """Refuse to write over ``path``.

    Raises:
        UsageError: it is there.
    """
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already.", f"Give another {what}, or --replace to write over it.")
