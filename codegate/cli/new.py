"""``codegate new``: add a problem, by hand or from history."""

from pathlib import Path
from typing import Annotated

import click
from pydantic import Field

from codegate.cli.options import Argument, Sandbox, as_command
from codegate.cli.output import emit, say
from codegate.cli.progress import mine_progress
from codegate.errors import ExitCode, UsageError
from codegate.mining import MineRequest
from codegate.operations.editing import add_problem
from codegate.operations.suites import mine_commit
from codegate.sandbox import Choice
from codegate.strict import File, Folder
from codegate.suite import Suite, load_suite


@click.group()
def command() -> None:
    """Add a problem to a suite."""


@as_command(command, "problem")
def problem_command(
    suite: Annotated[Folder, "Folder of the suite; with --from-commit it may be new."],
    name: Annotated[str | None, Argument()] = None,
    commit: Annotated[
        str | None, Field(examples=["SHA"]), "--from-commit", "Make it of this merged change, as mining would."
    ] = None,
    repository: Annotated[Folder | None, "With --from-commit: the clone that has it; default: this folder."] = None,
    config: Annotated[File | None, "With --from-commit: configuration with the recipe, `environment`."] = None,
    sandbox: Sandbox = "auto",
) -> ExitCode:
    """Add the problem NAME to a suite.

    Without --from-commit its files hold a valid example. Replace the base tree (bases/NAME), the fix, the hidden tests,
    their ids in tests.json and the statement by the real ones. Then run `codegate lint SUITE --fix`, which takes the
    new statement over, and prove the problem with `codegate validate SUITE`.

    With --from-commit the problem is made as mining makes it (its tests, its environment, its statement) and proved;
    the suite's other problems stay as they are. Exits 3, with the reason, if the change makes no problem.
    """
    if commit is not None:
        if name:
            raise UsageError("--from-commit names the problem itself.", "Leave out the name.")
        return _from_commit(suite, repository or Path(), commit, config, sandbox)
    if name is None:
        raise UsageError("a problem by hand needs a name.", "codegate new problem NAME --suite SUITE")
    made = add_problem(load_suite(suite), name)
    say(f"{suite / 'problems' / name} and {suite / 'bases' / name}: an example to replace")
    return _conclude(made, name)


def _from_commit(suite: Path, repository: Path, commit: str, config: Path | None, sandbox: Choice) -> ExitCode:
    with mine_progress() as progress:
        report = mine_commit(repository, suite, commit, MineRequest(jobs=1, sandbox=sandbox, config=config), progress)
    result = report.results[0]
    say(f"{result.problem} is in {suite}" if result.problem else f"no problem: {result.reason}: {result.detail}")
    return _conclude(report.suite, result.problem, result.reason, result.detail)


def _conclude(suite: Suite | None, problem: str | None, reason: str | None = None, detail: str = "") -> ExitCode:
    digest, problems = suite.digest if suite is not None else None, [problem] if problem else []
    made = {"suite_digest": digest, "problems": problems, "reason": reason, "detail": detail}
    emit({"schema": "codegate.new/1", **made})
    return ExitCode.PASS if problem else ExitCode.INCONCLUSIVE
