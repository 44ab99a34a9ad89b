"""The action's inputs, as the runner gives them: ``INPUT_<NAME>``, upper-cased, hyphens kept, blanks to underscores."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal, cast, get_args

from codegate.errors import UsageError
from codegate.operations.rules import Places, inside, relative
from codegate.running.shards import ShardChoice, shard_choice

OnInconclusive = Literal["neutral", "pass", "fail"]
Mode = Literal["gate", "nightly", "baseline", "mine", "validate", "plan", "merge", "report", "upgrades"]
CommentWhen = Literal["always", "changes", "regression", "never"]
"""When a pull request gets a first comment; one that is there is always kept up to date."""

DEFAULTS: Final[Mapping[str, str]] = {
    "mode": "gate",
    "report-path": "codegate-report",
    "artifact-name": "codegate-report",
    "run-artifact": "codegate-run",
    "shards-path": "codegate-shards",
    "comment": "always",
    "check": "false",
    "issue": "true",
}
"""Of the inputs that have one; action.yml says the same."""


AUTO: Final = "auto"
"""Of the input ``resume``: what an earlier attempt of this workflow run kept."""


@dataclass(frozen=True)
class Inputs(Places):
    """The inputs of the action, parsed and checked. None and empty mean: as the configuration says, or its default.

    action.yml describes them. Paths that are text are relative to the workspace, and to the top of the base commit
    where that decides. ``reports`` is the folder for the reports and the run, and ``resume`` the id of a workflow run,
    or ``auto`` for an earlier attempt of this one.
    """

    mode: Mode
    token: str
    samples: int | None
    models: int | None
    jobs: int | None
    max_model_calls: int | None
    max_minutes: int | None
    budget_usd: Decimal | None
    reports: Path
    on_inconclusive: OnInconclusive | None
    cache: Path | None
    environments: str | None
    resume: str | None
    run_artifact: str
    shard: ShardChoice | None
    run_id: str | None
    shards: int | None
    shards_path: Path
    comment: CommentWhen
    check: bool
    issue: bool
    artifact_name: str


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Read the inputs; raises UsageError where a value is not what the input takes, or a path leaves the workspace."""
    workspace = Path(environment.get("GITHUB_WORKSPACE") or ".").resolve()

    def text(name: str) -> str:
        return environment.get(f"INPUT_{name.upper().replace(' ', '_')}", "").strip() or DEFAULTS.get(name, "")

    def path(name: str) -> str | None:
        if not text(name):
            return None
        inside(workspace, text(name), f"input `{name}`")
        return relative(workspace, text(name), f"input `{name}`")

    def number(name: str, most: int) -> int | None:
        digits = text(name)
        if not digits:
            return None
        # Few digits first: converting thousands of them is an error of its own.
        if not digits.isascii() or not digits.isdigit() or len(digits) > 9 or not 1 <= int(digits) <= most:
            raise UsageError(f"input `{name}` must be a whole number from 1 to {most}, and is {digits[:40]!r}.")
        return int(digits)

    def dollars(name: str) -> Decimal | None:
        value = text(name)
        if value and not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", value):
            raise UsageError(f"input `{name}` must be a sum of dollars such as 20 or 7.50, and is {value[:40]!r}.")
        return Decimal(value) if value else None

    def choice(name: str, allowed: tuple[str, ...]) -> str | None:
        value = text(name) or None
        if value is not None and value not in allowed:
            raise UsageError(f"input `{name}` must be one of {', '.join(allowed)}, and is {value[:40]!r}.")
        return value

    def flag(name: str) -> bool:
        return choice(name, ("true", "false")) == "true"

    def folder(name: str) -> Path:
        """Return a folder for files of this step's: neither a link, which a checkout may bring, nor git's own."""
        chosen = workspace / relative(workspace, text(name), f"input `{name}`")
        if chosen != inside(workspace, text(name), f"input `{name}`"):
            raise UsageError(f"input `{name}` leads over a symbolic link.", "Name another folder.")
        if chosen == workspace or ".git" in (part.lower() for part in chosen.relative_to(workspace).parts):
            raise UsageError(f"input `{name}` is no folder to write to.", "Name a folder in the workspace.")
        return chosen

    run_id = text("run-id") or None
    resume = text("resume") or None
    if resume is not None and resume != AUTO and not re.fullmatch(r"[1-9][0-9]{0,17}", resume):
        raise UsageError(f"input `resume` must be {AUTO} or the id of a workflow run, and is {resume[:40]!r}.")
    return Inputs(
        workspace=workspace,
        mode=cast("Mode", choice("mode", get_args(Mode))),
        token=text("github-token"),
        suite=path("suite"),
        candidates=tuple(line.strip() for line in text("candidates").splitlines() if line.strip()),
        config=path("config"),
        baseline=path("baseline"),
        samples=number("samples", 100),
        models=number("max-concurrency", 256),
        jobs=number("jobs", 256),
        max_model_calls=number("max-model-calls", 999_999_999),
        max_minutes=number("max-minutes", 100_000),
        budget_usd=dollars("budget-usd"),
        repository=path("repository"),
        reports=folder("report-path"),
        on_inconclusive=cast("OnInconclusive | None", choice("on-inconclusive", get_args(OnInconclusive))),
        cache=folder("cache") if text("cache") else None,
        environments=text("environments") or None,
        resume=resume,
        run_artifact=text("run-artifact"),
        shard=shard_choice(text("shard"), run_id) if text("shard") else None,
        run_id=run_id,
        shards=number("shards", 256),
        shards_path=folder("shards-path"),
        comment=cast("CommentWhen", choice("comment", get_args(CommentWhen))),
        check=flag("check"),
        issue=flag("issue"),
        artifact_name=text("artifact-name"),
    )
