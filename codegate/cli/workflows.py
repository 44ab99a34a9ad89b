"""The GitHub workflows that ``codegate init`` writes."""

import contextlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final

import codegate
from codegate.errors import UsageError
from codegate.running import CONFIG_NAME
from codegate.strict import printable
from codegate.suite import GitError, git, is_plain_path

ACTION: Final = "codegate-ci/codegate"
_COMMIT_FILE: Final = "commit"  # file of the package with the commit that it was built from, written by `make dist`
PLACEHOLDER: Final = f"codegate-ci/codegate@{'0' * 40} # filled in by `codegate init`"
"""Placeholder in the templates. No such commit exists, so an unfilled copy fails at once."""

BRANCH: Final = "$default-branch"
"""Placeholder in the templates for the default branch. GitHub fills it in for an organisation's templates."""

WORKFLOWS: Final = Path(".github", "workflows")
_ALWAYS: Final = tuple(f"codegate-{name}.yml" for name in ("baseline", "comment", "mine", "nightly", "upgrade"))
GATE: Final = "codegate-gate.yml"
MATRIX: Final = "codegate-matrix.yml"  # has the same workflow name as GATE, so only one of them may exist
_MINE: Final = "codegate-mine.yml"
_NO_PART: Final = 'default: ""\n'
_READING: Final = re.compile(r"^( +)mode: (?!report$)[a-z]+$", re.MULTILINE)
COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def workflow_texts(action: str, branch: str, config: str, part: str, *, matrix: bool) -> dict[Path, str]:
    """Return the text of every workflow by its path.

    ``action`` is codegate's GitHub Action. Pull requests to ``branch`` are gated, with ``matrix`` in shards. ``config``
    is the configuration and ``part`` the folder that is mined, both by ``path_for_workflows``. Raises UsageError if
    this is no repository's root, or another gate is there.
    """
    if not Path(".git").exists():
        raise UsageError("this is not the root of a git repository.", f"GitHub reads {WORKFLOWS} there only.")
    gate, other = (MATRIX, GATE) if matrix else (GATE, MATRIX)
    if os.path.lexists(WORKFLOWS / other):
        raise UsageError(f"{WORKFLOWS / other} exists, and gates already.", "Remove it first: one of them may gate.")
    templates, texts = _templates(), {}
    for name in (gate, *_ALWAYS):
        text = (templates / name).read_text(encoding="utf-8").replace(PLACEHOLDER, action)
        texts[WORKFLOWS / name] = _with_config(text.replace(BRANCH, json.dumps(branch)), config)
    texts[WORKFLOWS / _MINE] = texts[WORKFLOWS / _MINE].replace(
        _NO_PART, f"default: {_quoted('' if part == '.' else part)}\n"
    )
    return texts


def path_for_workflows(path: Path) -> str:
    """Return a path from the repository's root, "." for itself.

    Raises UsageError if workflows could not name it.
    """
    named = Path(os.path.relpath(path)).as_posix()
    if named != "." and (not is_plain_path(named) or not named.isprintable() or "${{" in named):
        raise UsageError(f"workflows cannot read {printable(named)}.", "Give a plain path in this repository.")
    return named


def workflows_without_config(texts: Mapping[Path, str], config: str) -> list[Path]:
    """Return the existing workflow files that do not read ``config``.

    Only files whose new text in ``texts`` (by path) would read it are checked.
    """
    line = f"config: {_quoted(config)}\n"
    return [path for path, text in texts.items() if line in text and path.is_file() and line not in path.read_text()]


def _with_config(text: str, config: str) -> str:
    if config == CONFIG_NAME:
        return text
    text = text.replace("codegate affected ", f"codegate affected --config {shlex.quote(config)} ")
    return _READING.sub(lambda mode: f"{mode[0]}\n{mode[1]}config: {_quoted(config)}", text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def own_action() -> str:
    """Return the GitHub Action's reference, pinned to this version's commit."""
    package = Path(codegate.__file__).parent
    with contextlib.suppress(GitError, OSError):
        built = package / _COMMIT_FILE
        commit = built.read_text() if built.exists() else git(package.parent, "rev-parse", "--verify", "HEAD").decode()
        if (built.exists() or (package.parent / ".git").exists()) and COMMIT.fullmatch(commit.strip()):
            return f"{ACTION}@{commit.strip()} # v{codegate.__version__}"
    tag = f"action-v{codegate.__version__}"  # the action.yml of this tag names the published image
    raise UsageError(
        "this installation does not know the commit that it was built from, which the workflows are pinned to.",
        f"Name it. `git ls-remote https://github.com/{ACTION} '{tag}^{{}}' {tag}` prints that of the release; if this "
        f"was installed from the clone CLONE:\n"
        f"  codegate init --workflows --action {ACTION}@$(git -C CLONE rev-parse HEAD)",
    )


def default_branch() -> tuple[str, bool]:
    """Return origin's default branch, and whether git knows it.

    A clone's git does. Otherwise the branch is a guess: origin's main or master, else the branch that is checked out.
    """
    with contextlib.suppress(GitError):
        found = git(Path(), "symbolic-ref", "--short", "refs/remotes/origin/HEAD").decode("utf-8", "replace").strip()
        return found.removeprefix("origin/"), True
    for name in ("main", "master"):
        with contextlib.suppress(GitError):
            git(Path(), "rev-parse", "--verify", "--quiet", f"refs/remotes/origin/{name}")
            return name, False
    with contextlib.suppress(GitError):
        return git(Path(), "symbolic-ref", "--short", "HEAD").decode("utf-8", "replace").strip(), False
    return "main", False


def _templates() -> Path:
    packaged = Path(str(resources.files(codegate))) / "workflow_templates"
    checkout = Path(codegate.__file__).parents[1] / ".github" / "workflow-templates"
    return packaged if packaged.is_dir() else checkout
