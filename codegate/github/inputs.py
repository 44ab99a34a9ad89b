"""Read and check the action's inputs.

The runner gives them as ``INPUT_<NAME>``, in upper case and with hyphens.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from codegate.errors import UsageError
from codegate.operations.rules import Places, real_path, relative
from codegate.running.shards import ShardChoice, shard_choice

OnInconclusive = Literal["neutral", "pass", "fail"]
Mode = Literal["gate", "nightly", "baseline", "mine", "plan", "merge", "report", "upgrades"]
CommentWhen = Literal["always", "changes", "regression", "never"]
"""When a pull request gets its first comment. An existing comment is always updated."""

AUTO: Final = "auto"
"""Value of the input ``resume`` that continues the run of an earlier attempt of this workflow run."""


def _what(info: ValidationInfo) -> str:
    return f"input `{Inputs.model_fields[info.field_name or ''].alias}`"


def _not_an_address(path: str, info: ValidationInfo) -> str:
    """Return ``path``; refuse an address without showing it.

    An address may contain a token.
    """
    if "://" in path:
        raise UsageError(
            f"{_what(info)} is an address, not a path in the workspace.",
            "Check that repository out with actions/checkout, and name its folder.",
        )
    return path


def _inside(path: str, info: ValidationInfo) -> str:
    _not_an_address(path, info)
    real_path(info.data["workspace"], path, _what(info))
    return relative(info.data["workspace"], path, _what(info))


def _folder(path: str | Path, info: ValidationInfo) -> Path:
    """Return a folder's path, checked to be safely writable.

    The path must not lead over a link, because a checkout can contain one, or into git's own folder.
    """
    workspace, text = info.data["workspace"], _not_an_address(str(path), info)
    chosen: Path = workspace / relative(workspace, text, _what(info))
    if chosen != real_path(workspace, text, _what(info)):
        raise UsageError(f"{_what(info)} leads over a symbolic link.", "Name another folder.")
    if chosen == workspace or ".git" in (part.lower() for part in chosen.relative_to(workspace).parts):
        raise UsageError(f"{_what(info)} is no folder to write to.", "Name a folder in the workspace.")
    return chosen


def _up_to(most: int) -> BeforeValidator:
    def whole(text: str, info: ValidationInfo) -> int:
        # Digits are counted first, because Python refuses to convert thousands of them.
        if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
            raise UsageError(f"{_what(info)} must be a whole number from 1 to {most}, and is {text[:40]!r}.")
        return int(text)

    return BeforeValidator(whole)


def _like(pattern: str, words: str) -> BeforeValidator:
    def check(text: str, info: ValidationInfo) -> str:
        if not re.fullmatch(pattern, text):
            raise UsageError(f"{_what(info)} must be {words}, and is {text[:40]!r}.")
        return text

    return BeforeValidator(check)


_Inside = Annotated[str | None, AfterValidator(_inside)]
_Flag = Annotated[bool, _like("true|false", "one of true, false")]


class Inputs(Places):
    """The inputs of the action, checked; action.yml describes them."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    suite: _Inside = None
    candidates: Annotated[
        tuple[str, ...], BeforeValidator(lambda text: tuple(filter(None, map(str.strip, text.splitlines()))))
    ] = ()
    config: _Inside = None
    baseline: _Inside = None
    repository: _Inside = None
    path: _Inside = None
    mode: Mode = "gate"
    token: str = Field(default="", alias="github-token")
    samples: Annotated[int | None, _up_to(100)] = None
    models: Annotated[int | None, _up_to(256)] = Field(default=None, alias="max-concurrency")
    jobs: Annotated[int | None, _up_to(256)] = None
    max_model_calls: Annotated[int | None, _up_to(999_999_999)] = None
    max_minutes: Annotated[int | None, _up_to(100_000)] = None
    budget_usd: Annotated[
        Decimal | None, _like(r"[0-9]{1,6}(\.[0-9]{1,6})?", "a sum of dollars such as 20 or 7.50")
    ] = None
    reports: Annotated[Path, BeforeValidator(_folder)] = Field(
        default=Path("codegate-report"), alias="report-path", validate_default=True
    )
    on_inconclusive: OnInconclusive | None = None
    cache: Annotated[Path | None, BeforeValidator(_folder)] = None
    environments: str | None = None
    resume: Annotated[str | None, _like(f"{AUTO}|[1-9][0-9]{{0,17}}", f"{AUTO} or the id of a workflow run")] = None
    run_artifact: str = "codegate-run"
    run_id: str | None = None
    shard: Annotated[
        ShardChoice | None, BeforeValidator(lambda text, info: shard_choice(text, info.data["run_id"]))
    ] = None
    shards: Annotated[int | None, _up_to(256)] = None
    shards_path: Annotated[Path, BeforeValidator(_folder)] = Field(
        default=Path("codegate-shards"), validate_default=True
    )
    comment: CommentWhen = "always"
    check: _Flag = False
    issue: _Flag = True
    artifact_name: str = "codegate-report"


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Read the action's inputs from the environment, checked.

    Raises:
        UsageError: a value is wrong, or a path leads out of the workspace.
    """
    names = [field.alias or "" for name, field in Inputs.model_fields.items() if name != "workspace"]
    texts = {name: environment.get(f"INPUT_{name.upper()}", "").strip() for name in names}
    workspace = Path(environment.get("GITHUB_WORKSPACE") or ".").resolve()
    try:
        return Inputs.model_validate({"workspace": workspace, **{name: text for name, text in texts.items() if text}})
    except ValidationError as error:
        wrong = error.errors()[0]
        choices = wrong.get("ctx", {}).get("expected", "").replace("'", "").replace(" or ", ", ")
        why = f"must be one of {choices}" if choices else f"is refused ({wrong['msg']})"
        raise UsageError(f"input `{wrong['loc'][0]}` {why}, and is {str(wrong['input'])[:40]!r}.") from error
