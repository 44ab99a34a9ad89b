"""The action's inputs, as the runner gives them: ``INPUT_<NAME>``, upper-cased, hyphens kept, blanks to underscores."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from codegate.errors import UsageError

OnInconclusive = Literal["neutral", "pass", "fail"]

DEFAULT_REPORTS = "codegate-report"


@dataclass(frozen=True)
class Inputs:
    """The inputs of the action, parsed and checked. None and empty mean: as the configuration says, or its default.

    Attributes:
        workspace: the checked-out repository; every path below is inside it.
        suite: folder of the suite.
        candidates: short forms.
        config: configuration file.
        baseline: lock of the pinned baseline.
        samples: per problem and candidate.
        models: model calls under way at once.
        jobs: sandboxes running at once.
        max_model_calls: the run stops before it makes more.
        repository: where the base commits are.
        reports: folder for the reports and the run.
        on_inconclusive: what an inconclusive or incomparable verdict does to the step; None: what the policy says.
    """

    workspace: Path
    suite: Path | None
    candidates: tuple[str, ...]
    config: Path | None
    baseline: Path | None
    samples: int | None
    models: int | None
    jobs: int | None
    max_model_calls: int | None
    repository: Path | None
    reports: Path
    on_inconclusive: OnInconclusive | None


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Read the inputs from the action's environment.

    Raises:
        UsageError: a value is not what the input takes, or a path leaves the workspace.
    """
    workspace = Path(environment.get("GITHUB_WORKSPACE") or ".").resolve()

    def text(name: str) -> str:
        return environment.get(f"INPUT_{name.upper().replace(' ', '_')}", "").strip()

    def path(name: str) -> Path | None:
        return inside(workspace, text(name), f"input `{name}`") if text(name) else None

    def number(name: str, most: int) -> int | None:
        digits = text(name)
        if not digits:
            return None
        # Few digits first: converting thousands of them is an error of its own.
        if not digits.isascii() or not digits.isdigit() or len(digits) > 9 or not 1 <= int(digits) <= most:
            raise UsageError(f"input `{name}` must be a whole number from 1 to {most}, and is {digits[:40]!r}.")
        return int(digits)

    def choice(name: str, allowed: tuple[str, ...]) -> str | None:
        value = text(name) or None
        if value is not None and value not in allowed:
            raise UsageError(f"input `{name}` must be one of {', '.join(allowed)}, and is {value[:40]!r}.")
        return value

    return Inputs(
        workspace=workspace,
        suite=path("suite"),
        candidates=tuple(line.strip() for line in text("candidates").splitlines() if line.strip()),
        config=path("config"),
        baseline=path("baseline"),
        samples=number("samples", 100),
        models=number("max-concurrency", 256),
        jobs=number("jobs", 256),
        max_model_calls=number("max-model-calls", 999_999_999),
        repository=path("repository"),
        reports=path("report-path") or inside(workspace, DEFAULT_REPORTS, "the default of input `report-path`"),
        on_inconclusive=cast("OnInconclusive | None", choice("on-inconclusive", get_args(OnInconclusive))),
    )


def inside(workspace: Path, relative: str, what: str) -> Path:
    """Return the real path of ``relative`` in the workspace, whose content may come from a stranger's branch.

    Raises:
        UsageError: it leaves the workspace, by itself or over a link; names ``what``.
    """
    try:
        chosen = (workspace / relative).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links is a RuntimeError up to Python 3.12
        raise UsageError(f"{what} is no usable path: {relative[:200]!r}.") from error
    if not chosen.is_relative_to(workspace):
        raise UsageError(f"{what} leaves the workspace: {relative[:200]!r}.", "Give a path inside the repository.")
    return chosen
