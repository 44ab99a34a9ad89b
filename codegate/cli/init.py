"""``codegate init``: a configuration file to start from, and the workflows that gate pull requests with it."""

import contextlib
import json
import os
import re
from importlib import resources
from pathlib import Path
from typing import Final

import click

import codegate
from codegate.candidates import CandidateSpec
from codegate.cli.options import FILE, json_option
from codegate.cli.output import emit, say
from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.gating import GatePolicy
from codegate.running import CONFIG_NAME
from codegate.running.plan import BASELINE_SAMPLES, call_needs
from codegate.suite import GitError, git, load_suite

ACTION: Final = f"codegate-ci/codegate@v{codegate.__version__}"
PLACEHOLDER: Final = f"codegate-ci/codegate@{'0' * 40} # filled in by `codegate init`"
"""What the templates say: no such commit exists, so a copy that nobody filled in fails at once."""

BRANCH: Final = "$default-branch"
"""What the templates call it; GitHub fills it in where an organisation offers them."""

_WORKFLOWS: Final = Path(".github", "workflows")
_ALWAYS: Final = ("codegate-baseline.yml", "codegate-comment.yml", "codegate-mine.yml", "codegate-nightly.yml")
_GATE: Final = "codegate-gate.yml"
_MATRIX: Final = "codegate-matrix.yml"  # both are called the same, and only one of them may be there
_REFERENCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}@[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_UNPINNED: Final = "# zizmor: ignore[unpinned-uses] pin it: `codegate init --workflows --force --action {name}@COMMIT`"
"""Follows a tag: only the remote repository knows its commit, and ``init`` does not use the network."""

_SUITE: Final = Path("suites", "mine")
_CANDIDATE: Final = CandidateSpec(provider="openai", model="gpt-4.1-2025-04-14", solver="tool_loop")
_TEXT: Final = """\
# Configuration of codegate; every key but `candidates` has a default (docs/configuration.md).
suite: suites/mine              # made by: codegate mine . --out suites/mine
candidates:
  - provider: openai            # or anthropic; any OpenAI-compatible server with base_url
    model: {model}   # a dated snapshot: floating aliases are refused
    solver: tool_loop           # or single_shot
concurrency:
  models: 4
  sandboxes: 2
{limit}
# baseline: codegate.lock       # once it is pinned (codegate baseline pin RUN): then a missing one is an error
gate:
  margin: 0.10                  # a drop of ten percentage points is too much
  alpha: 0.05
# samples: 10                   # per problem, whatever they show; without it a gate asks as often as its verdict needs
"""


@click.command()
@click.option("--out", type=FILE, default=Path(CONFIG_NAME), show_default=True, help="Where to write it.")
@click.option("--workflows", is_flag=True, help=f"Write the GitHub workflows too, into {_WORKFLOWS}.")
@click.option("--matrix", is_flag=True, help="With --workflows: gate in shards side by side, for a large suite.")
@click.option(
    "--action",
    default=ACTION,
    show_default=True,
    metavar="OWNER/REPO@REF",
    help="What the workflows use; give a commit for REF, for tags can be moved.",
)
@click.option("--force", is_flag=True, help="With --workflows: overwrite those that are there.")
@json_option
def command(out: Path, workflows: bool, matrix: bool, action: str, force: bool, as_json: bool) -> None:
    """Write a codegate.yml to start from; an existing file is left alone.

    Where suites/mine is there, the limit of model calls leaves room for its baseline and its gate to finish.

    With --workflows, also: the gate on pull requests, the nightly run, the making of the baseline, the comment on
    pull requests from forks, and the mining of a suite.
    """
    if not workflows and (matrix or force or action != ACTION):
        raise UsageError("--matrix, --action and --force are about the workflows.", "Give --workflows, too.")
    present = os.path.lexists(out)
    if present and not workflows:
        raise UsageError(f"{out} exists.", "Remove it first, or give another --out.")
    texts = _workflows(action, matrix=matrix, force=force) if workflows else {}
    if not present:
        limit = _limit(out.parent / _SUITE)
        write_atomic(out, _TEXT.format(model=_CANDIDATE.model, limit=limit).encode("utf-8"))
    say(f"{out} is left as it is" if present else f"wrote {out}", as_json=as_json)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text.encode("utf-8"))
        say(f"wrote {path}", as_json=as_json)
    if workflows and not _is_pinned(action):
        name, _, reference = action.partition("@")
        say(
            f"The workflows use {action}, and the owner of that tag can move it. To pin its present commit:\n"
            f"  git ls-remote https://github.com/{name} {reference}\n"
            f"  codegate init --workflows --force --action {name}@COMMIT",
            as_json=as_json,
        )
    if as_json:
        written = [path.as_posix() for path in texts]
        emit({"schema": "codegate.files/1", "config": None if present else str(out), "workflows": written})


def _limit(suite: Path) -> str:
    """Return the lines about ``max_model_calls``: a number that the workflows can finish with, and why it is that."""
    if not (suite / "suite.yml").exists():
        return (
            "# max_model_calls:              # no limit yet: there is no suite to compute it from. Once there is one,\n"
            "#                               # `codegate plan` prints a limit that the workflows can finish with"
        )
    problems, policy = len(load_suite(suite).active), GatePolicy()
    needs = call_needs(problems, (_CANDIDATE,), policy)
    calls = _CANDIDATE.max_iterations
    return (
        f"# {problems} problems, up to {calls} calls an answer: a baseline of {BASELINE_SAMPLES} samples makes at most "
        f"{needs.baseline} calls,\n"
        f"# a gate with one candidate and the confirmation of a regression {needs.gate}; a tenth more is for retries\n"
        f"max_model_calls: {needs.limit:<15}# the run stops, resumable, before it makes more (codegate plan)"
    )


def _workflows(action: str, *, matrix: bool, force: bool) -> dict[Path, str]:
    """Return the text of every workflow to write, by where it goes, after a look at what is there."""
    if not _REFERENCE.fullmatch(action):
        raise UsageError(f"--action {action[:100]!r} is no OWNER/REPO@REF.", f"Give one such as {ACTION}.")
    if not Path(".git").exists():
        raise UsageError("this is not the root of a git repository.", f"GitHub reads {_WORKFLOWS} there only.")
    gate, other = (_MATRIX, _GATE) if matrix else (_GATE, _MATRIX)
    if os.path.lexists(_WORKFLOWS / other):
        raise UsageError(f"{_WORKFLOWS / other} exists, and gates already.", "Remove it first: one of them may gate.")
    paths = {name: _WORKFLOWS / name for name in (gate, *_ALWAYS)}
    there = [str(path) for path in paths.values() if os.path.lexists(path)]
    if there and not force:
        raise UsageError(f"{', '.join(there)} exists already.", "Remove it first, or give --force to overwrite it.")
    templates, branch = _templates(), json.dumps(_default_branch())
    used = action if _is_pinned(action) else f"{action} {_UNPINNED.format(name=action.partition('@')[0])}"
    return {
        path: (templates / name).read_text(encoding="utf-8").replace(PLACEHOLDER, used).replace(BRANCH, branch)
        for name, path in paths.items()
    }


def _is_pinned(action: str) -> bool:
    return _COMMIT.fullmatch(action.partition("@")[2]) is not None


def _default_branch() -> str:
    """Return the branch that pull requests go to: what the remote says, else the one that is checked out."""
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        with contextlib.suppress(GitError):
            found = git(Path(), "symbolic-ref", "--short", name).decode("utf-8", "replace").strip()
            return found.removeprefix("origin/") if name.startswith("refs/") else found
    return "main"


def _templates() -> Path:
    packaged = Path(str(resources.files(codegate))) / "workflow_templates"
    checkout = Path(codegate.__file__).parents[1] / ".github" / "workflow-templates"
    return packaged if packaged.is_dir() else checkout
