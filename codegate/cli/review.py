"""``codegate review``: write a page of problems; drop rejected ones."""

import shlex
from pathlib import Path
from typing import Annotated

from pydantic import Field

from codegate.cli.options import SuiteFolder, as_command
from codegate.cli.output import emit, say
from codegate.durable import write_atomic
from codegate.operations.editing import review_suite
from codegate.operations.requests import Repository
from codegate.reporting import render_review, review_view, reviewed_problem
from codegate.strict import File
from codegate.suite import load_base, load_suite

_PAGE = Path("review.html")
_Ids = Annotated[tuple[str, ...], Field(examples=["ID"])]


@as_command()
def command(
    suite: SuiteFolder,
    out: Annotated[File | None, f"Write the page here; default: {_PAGE}, unless --drop or --keep is given."] = None,
    drop: Annotated[_Ids, "Leave this problem out of runs; can be given repeatedly."] = (),
    keep: Annotated[_Ids, "Take back the drop of this problem; likewise."] = (),
    repository: Repository = None,
) -> None:
    """Write a page that shows every problem of SUITE.

    It has the statements, fixes and hidden tests. Open it in a browser and mark the problems to drop. It then shows the
    command that writes the decisions, with --drop and --keep. A dropped problem stays in the suite's files as
    `retired`, and is in no run.
    """
    loaded = review_suite(load_suite(suite), drop, keep)
    statuses = {problem.id: problem.manifest.status for problem in loaded.problems}
    for name in dict.fromkeys((*drop, *keep)):
        say(f"{name}: {'dropped' if name in drop else statuses[name]}")
    page = out or (None if drop or keep else _PAGE)
    if page is not None:
        ordered = sorted(loaded.problems, key=lambda one: not one.quoted)  # first those without executed examples
        problems = tuple(reviewed_problem(one, load_base(loaded, one, repository)) for one in ordered)
        view = review_view(loaded, shlex.join(["codegate", "review", str(suite)]), problems)
        write_atomic(page, render_review(view).encode("utf-8"))
        say(f"page: {page}")
    dropped = [problem.id for problem in loaded.problems if problem.dropped]
    say(f"{loaded.name}: {len(loaded.active)} of {len(statuses)} problems active, {len(dropped)} dropped in review")
    emit(
        {
            "schema": "codegate.review/1",
            "suite": loaded.name,
            "suite_digest": loaded.digest,
            "page": str(page) if page is not None else None,
            "problems": statuses,
            "dropped": dropped,
        }
    )
