"""The options of mining."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

from codegate.candidates import CandidateSpec, check_snapshot
from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.mining.languages import NameOf, names_by
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit, project_name
from codegate.suite import Kind, is_plain_path

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
DEFAULT_KINDS: Final[tuple[Kind, ...]] = ("bugfix", "security")

Statements = Literal["any", "executed"]
"""Which problems are kept: all, or those alone whose statement shows an executed example."""


_SLUG: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Forge(Protocol):
    """Knows more about pull requests and issues than git does."""

    def fetch(self, units: Iterable[Unit]) -> dict[str, Enrichment]:
        """Return, by commit, what the forge has of ``units``.

        Raises ``CodegateError`` when that fails.
        """
        ...


@dataclass(frozen=True)
class MineOptions:
    """What to mine and how much.

    Attributes:
        name: the suite's name; None: that of the suite being refreshed, else the repository's folder name.
        path: folder of the repository to mine, such as a service of a monorepo; empty: all of it.
        branch: whose history; None: HEAD's.
        since: leave out units before this day.
        only: full id of the one commit to try; a suite that is there keeps its problems untried. None: all of them.
        max_problems: of the suite; those with an executed example come first; None: no limit.
        budget_minutes: end after this long: units under way are cut off, and tried again next time; None: no limit.
        concurrency: units under way at the same time.
        recipe: the project's own set-up, which every environment is built by; None: it is found.
        rounds: validation runs of each state.
        include_new_tests: keep units whose tests cannot be imported before the fix.
        kinds: what to keep.
        statements: ``executed``: leave out problems whose statement has words alone.
        rewrite: a model that rewrites each statement, one call a problem; None: none does.
        forge: knows more about pull requests and issues than git does; None: no forge is queried.
        refresh: keep the suite that is there: add what was merged since, retire what no longer holds.
        memory: folder in which the ends of units are remembered, for this run to go on where an earlier one stopped;
            None: nothing is.
        fresh: record in ``memory``, but look nothing up there.
    """

    name: str | None = None
    path: str = ""
    branch: str | None = None
    since: date | None = None
    only: str | None = None
    max_problems: int | None = None
    budget_minutes: float | None = None
    concurrency: int = 2
    recipe: Recipe | None = None
    rounds: int = 3
    include_new_tests: bool = False
    kinds: tuple[Kind, ...] = DEFAULT_KINDS
    statements: Statements = "any"
    rewrite: CandidateSpec | None = None
    forge: Forge | None = None
    refresh: bool = False
    memory: Path | None = None
    fresh: bool = False

    def decisive(self) -> dict[str, Any]:
        """Return the options that results depend on, as JSON."""
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
        """Return the function that names a file's language."""
        return names_by(reports=self.recipe is not None and bool(self.recipe.report))


def check_options(repository: Path, out: Path, options: MineOptions) -> str:
    """Check the options and return the suite's name.

    Raises:
        UsageError: an option is wrong, or ``out`` holds something that is no suite.
    """
    if options.rounds < 1 or options.concurrency < 1:
        raise UsageError("rounds and concurrency must be at least 1.")
    if options.path and not is_plain_path(options.path):
        raise UsageError(f"--path {options.path!r} is not a folder of the repository.", "Give it from the root.")
    if options.max_problems is not None and options.max_problems < 1:
        raise UsageError("max-problems must be at least 1.")
    if options.rewrite is not None:
        check_snapshot(options.rewrite)
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
