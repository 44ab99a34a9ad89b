"""The action's inputs, as the runner gives them: ``INPUT_<NAME>``, upper-cased, hyphens kept, blanks to underscores."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from codegate.errors import UsageError
from codegate.sandbox import Choice

OnInconclusive = Literal["neutral", "pass", "fail"]


@dataclass(frozen=True)
class Inputs:
    """The inputs of the action, parsed and checked.

    Attributes:
        suite: folder of the suite, inside the workspace.
        candidates: short forms; empty means those of ``config``.
        config: configuration file, or None.
        baseline: lock of the pinned baseline, or None: then nothing is gated.
        on_inconclusive: what an inconclusive or incomparable verdict does to the step.
    """

    suite: Path | None
    candidates: tuple[str, ...]
    config: Path | None
    baseline: Path | None
    samples: int | None
    models: int | None
    jobs: int | None
    max_model_calls: int | None
    sandbox: Choice
    repository: Path | None
    reports: Path
    on_inconclusive: OnInconclusive


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Read the inputs from the action's environment.

    Raises:
        UsageError: a value is not what the input takes, or a path leaves the workspace.
    """
    workspace = Path(environment.get("GITHUB_WORKSPACE") or ".").resolve()

    def text(name: str) -> str:
        return environment.get(f"INPUT_{name.upper().replace(' ', '_')}", "").strip()

    def path(name: str) -> Path | None:
        if not text(name):
            return None
        chosen = (workspace / text(name)).resolve()
        if not chosen.is_relative_to(workspace):
            raise UsageError(f"input `{name}` leaves the workspace.", "Give a path inside the repository.")
        return chosen

    def number(name: str) -> int | None:
        if not text(name):
            return None
        if not text(name).isascii() or not text(name).isdigit() or not 1 <= int(text(name)) <= 1_000_000:
            raise UsageError(f"input `{name}` must be a whole number of at least 1.")
        return int(text(name))

    def choice(name: str, allowed: tuple[str, ...]) -> str:
        value = text(name) or allowed[0]
        if value not in allowed:
            raise UsageError(f"input `{name}` must be one of: {', '.join(allowed)}.")
        return value

    return Inputs(
        suite=path("suite"),
        candidates=tuple(line.strip() for line in text("candidates").splitlines() if line.strip()),
        config=path("config"),
        baseline=path("baseline"),
        samples=number("samples"),
        models=number("max-concurrency"),
        jobs=number("jobs"),
        max_model_calls=number("max-model-calls"),
        sandbox=cast("Choice", choice("sandbox", get_args(Choice))),
        repository=path("repository"),
        reports=path("report-path") or workspace / "codegate-report",
        on_inconclusive=cast("OnInconclusive", choice("on-inconclusive", get_args(OnInconclusive))),
    )
