"""The options of mining."""

import os
import re
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from codegate.candidates import CandidateSpec, check_snapshot, parse_candidate
from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.mining.languages import NameOf, language_namer
from codegate.mining.sources.enrichment import open_forge
from codegate.mining.sources.history import check_repository, project_name
from codegate.sandbox import Choice, check_choice
from codegate.strict import File, Strict
from codegate.suite import Kind, is_plain_path

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
DEFAULT_KINDS: Final[tuple[Kind, ...]] = ("bugfix", "security")

Statements = Literal["any", "executed"]
"""Which problems are kept: ``any`` keeps all, ``executed`` those whose statement shows an executed example."""


_SLUG: Final = re.compile(r"[^A-Za-z0-9._-]+")


def _folder(path: str) -> str:
    return "" if (folder := os.path.normpath(path)) == "." else folder


def _model(value: Any) -> Any:
    return parse_candidate(value) if isinstance(value, str) else value


class MineRequest(Strict):
    """Options of mining.

    A field with a description is an option of ``codegate mine``.

    Attributes:
        only: full id of the one commit to try; the problems of an existing suite are kept without a new try. None: all
            commits.
        recipe: the project's own set-up, which builds every environment; None: that of ``config``, or a proposed one.
        memory: folder that stores the results of changes, so that a later run goes on from there; None: nothing is
            stored.
    """

    refresh: bool = Field(
        default=False, description="Keep the suite there: add what was merged since, retire what fails."
    )
    github: str | None = Field(
        default=None,
        examples=["OWNER/NAME"],
        description="Fetch issues and labels from GitHub; auto: of origin. Needs GITHUB_TOKEN.",
    )
    name: str | None = Field(
        default=None, description="Name of the suite; default: that of its remote origin, else of its folder."
    )
    path: Annotated[str, AfterValidator(_folder)] = Field(
        default="", description="Folder to mine, such as a service of a monorepo: its tests, its changes."
    )
    branch: str | None = Field(default=None, description="Branch whose history is mined; default HEAD.")
    since: date | None = Field(
        default=None,
        description="Leave out changes before this day. By default those older than 3 years are tried only if newer "
        "ones make fewer than 30 problems.",
    )
    max_problems: int | None = Field(
        default=None,
        ge=1,
        description="Most problems of the suite. Those with an executed example come first: mining goes on until there "
        "are so many of them, or twice as many problems in all.",
    )
    budget_minutes: float | None = Field(
        default=None,
        ge=0.1,
        description="Stop after this time; work in progress is discarded, but a set-up that runs is waited for.",
    )
    kinds: tuple[Kind, ...] = Field(default=DEFAULT_KINDS, description="Kind of change to keep; repeatable.")
    statements: Statements = Field(
        default="any",
        description="executed: leave out problems whose statement has no executed example, but words alone.",
    )
    rewrite: Annotated[CandidateSpec | None, BeforeValidator(_model)] = Field(
        default=None, description="Model that rewrites each statement, one call a problem: provider:model[@base_url]."
    )
    config: File | None = Field(
        default=None,
        description="File whose `environment` says how to set the project up; default: its codegate.yml.",
    )
    rounds: int = Field(default=3, ge=1, le=20, description="Validation runs.")
    include_new_tests: bool = Field(
        default=False, description="Keep changes whose tests cannot be imported before the fix."
    )
    fresh: bool = Field(default=False, description="Try every change again, whatever earlier minings recorded.")
    jobs: int = Field(default=2, ge=1, le=256, description="Concurrent sandboxes.")
    sandbox: Annotated[Choice, AfterValidator(check_choice)] = "auto"
    only: str | None = None
    recipe: Recipe | None = None
    memory: Path | None = None

    def decisive(self) -> dict[str, Any]:
        """Return the options that can change results, as JSON."""
        return {
            **({"recipe": self.recipe.model_dump(mode="json")} if self.recipe is not None else {}),
            **({"path": self.path} if self.path else {}),
            "rounds": self.rounds,
            "include_new_tests": self.include_new_tests,
            "kinds": sorted(self.kinds),
            "statements": self.statements,
            "rewrite": self.rewrite.key() if self.rewrite else None,
        }

    def names(self) -> NameOf:
        """Return the function that returns a file's language."""
        return language_namer(reports=self.recipe is not None and bool(self.recipe.report))


def check_options(repository: Path, out: Path, options: MineRequest) -> str:
    """Check the options and return the suite's name.

    Raises:
        UsageError: an option is wrong, the repository cannot be mined, or ``out`` holds something that is no suite.
    """
    if options.path and not is_plain_path(options.path):
        raise UsageError(f"--path {options.path!r} is not a folder of the repository.", "Give it from the root.")
    if options.rewrite is not None:
        check_snapshot(options.rewrite)
    if options.github == "auto":
        check_repository(repository, options.branch)  # --github auto needs its origin
    if options.github is not None:
        open_forge(repository, options.github)
    if not options.kinds:
        raise UsageError("there is no kind of change to keep.", "Name one, such as bugfix.")
    if (
        out.exists()
        and not (out / "suite.yml").exists()
        and (not out.is_dir() or {path.name for path in out.iterdir()} - {"funnel.jsonl", "mining.json"})
    ):
        raise UsageError(f"{out} exists and is no suite.", "Choose another folder.")
    own = f"{project_name(repository)}-{options.path.rpartition('/')[2]}"
    name = options.name or _SLUG.sub("-", own).strip("-._")[:60] or "suite"
    if _SLUG.search(name) or not name[0].isalnum() or len(name) > 60:
        raise UsageError(f"{name!r} is not a name for a suite.", "Use letters, digits, dots, dashes; at most 60.")
    return name
