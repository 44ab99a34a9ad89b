"""``codegate mine``: a suite from a repository's own history."""

from datetime import datetime
from pathlib import Path

import click

from codegate.cli.options import FOLDER, jobs_option, json_option, sandbox_option
from codegate.cli.output import emit, say
from codegate.cli.progress import mine_progress
from codegate.errors import ExitCode
from codegate.mining import MineOptions, MineReport, mine
from codegate.running import new_run_id, opened_backend
from codegate.sandbox import Choice


@click.command()
@click.argument("repository", type=FOLDER)
@click.option("--out", type=FOLDER, required=True, help="Folder of the suite; a suite there is replaced.")
@click.option("--name", help="Name of the suite; default the repository's folder.")
@click.option("--branch", help="Whose history; default HEAD's.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Leave out changes before this day.")
@click.option("--max-problems", type=click.IntRange(min=1), help="Stop when this many are validated.")
@click.option("--budget-minutes", type=click.FloatRange(min=0.1), help="Start no change after this long.")
@click.option("--python", help="Minor version of the interpreter, for example 3.11; default this one's.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True, help="Validation runs.")
@click.option("--include-new-tests", is_flag=True, help="Keep changes whose tests cannot be imported before the fix.")
@jobs_option
@sandbox_option
@json_option
def command(
    repository: Path,
    out: Path,
    name: str | None,
    branch: str | None,
    since: datetime | None,
    max_problems: int | None,
    budget_minutes: float | None,
    python: str | None,
    rounds: int,
    include_new_tests: bool,
    jobs: int,
    sandbox: Choice,
    as_json: bool,
) -> ExitCode:
    """Mine a suite of proven problems from the history of REPOSITORY (a local clone).

    Exits 0 when at least one problem was found, 3 when none was.
    """
    options = MineOptions(
        name=name,
        branch=branch,
        since=since.date() if since else None,
        max_problems=max_problems,
        budget_minutes=budget_minutes,
        concurrency=jobs,
        python=python,
        rounds=rounds,
        include_new_tests=include_new_tests,
    )
    with opened_backend(sandbox, new_run_id()) as backend, mine_progress() as progress:
        report = mine(repository, out, options, backend, progress)
    for line in describe_funnel(report):
        say(line, as_json=as_json)
    if as_json:
        emit(report.summary())
    return ExitCode.PASS if report.problems else ExitCode.INCONCLUSIVE


def describe_funnel(report: MineReport) -> list[str]:
    """Return the funnel, the reasons and the cost for people."""
    funnel = " → ".join(f"{stage.count} {stage.name}" for stage in report.funnel)
    reasons = ", ".join(f"{count} {reason}" for reason, count in report.reasons.items())
    each = report.seconds_per_problem
    cost = f"{report.seconds['total']:.1f} s" + (f", {each:.1f} s per validated problem" if each else "")
    return [f"funnel: {funnel}", f"left out: {reasons or 'nothing'}", f"suite: {report.out} ({cost})"]
