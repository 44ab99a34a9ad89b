"""``codegate mine``: a suite from a repository's own history, and what belongs to keeping one."""

import os
import re
import shlex
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args

import click

from codegate.candidates import parse_candidate
from codegate.cli import mine_exchange, mine_report
from codegate.cli.options import FILE, FOLDER, Finite, jobs_option, json_option, sandbox_option
from codegate.cli.output import emit, say
from codegate.cli.plan import USUAL_RATE
from codegate.cli.progress import mine_progress
from codegate.errors import ExitCode, UsageError
from codegate.forge import DEFAULT_API
from codegate.gating import GatePolicy
from codegate.gating.power import power_statement
from codegate.host_program import without_credentials
from codegate.mining import (
    DEFAULT_KINDS,
    KINDS,
    GitHubEnrichment,
    MineOptions,
    Statements,
    fetch_pull_heads,
    find_slug,
    read_summary,
)
from codegate.operations import mine, mining_words
from codegate.running.plan import suite_model
from codegate.sandbox import Choice, cache_folder
from codegate.suite import Kind

_STRICT_ROUNDS: Final = 5
_ADDRESS: Final = re.compile(r"[a-z][a-z+]*://|[\w.-]+@[\w.-]+:")


class _MineGroup(click.Group):
    """``codegate mine REPOSITORY …``, and subcommands beside it: what is none of their names is a repository."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            named = bool(args) and not args[0].startswith("-") and not Path(args[0]).exists()
            near = get_close_matches(args[0], self.commands, 1, 0.7) if named else []
            if near:
                raise UsageError(
                    f"{args[0]} is neither a folder nor a command of `codegate mine`.", f"Did you mean {near[0]}?"
                )
            args = ["history", *args]
        return super().parse_args(ctx, args)


class _History(click.Command):
    """The subcommand that runs when none is named."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        parent = ctx.parent or ctx
        formatter.write_usage(parent.command_path, " ".join(self.collect_usage_pieces(ctx)))


class _Clone(click.Path):
    """The folder of a clone; an address comes with the command that clones it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and _ADDRESS.match(value):
            address = without_credentials(value.encode()).decode()
            name = address.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
            raise UsageError(
                f"{address} is an address, and only a clone on this machine can be mined.",
                f"Clone it with its whole history, and mine that:\n"
                f"git clone {shlex.quote(address)} && codegate mine {shlex.quote(name)}",
            )
        return super().convert(value, param, ctx)


@click.group(cls=_MineGroup)
def command() -> None:
    """Mine a suite from a repository's past bug fixes, and keep it."""


command.add_command(mine_report.command)
command.add_command(mine_exchange.choose_command)
command.add_command(mine_exchange.export_command)
command.add_command(mine_exchange.import_command)


@command.command(
    "history",
    cls=_History,
    epilog="Also: `codegate mine report SUITE` says what a suite is worth, `codegate mine choose SUITE` makes a "
    "smaller one of it, `codegate mine export SUITE` and `codegate mine import FILE` exchange it with other tools. A "
    "repository in a folder of one of these names is written ./report.",
)
@click.argument("repository", type=_Clone(path_type=Path, file_okay=False))
@click.option(
    "--out",
    type=FOLDER,
    default=Path("suites/mine"),
    show_default=True,
    help="Folder of the suite; a suite there is replaced.",
)
@click.option("--refresh", is_flag=True, help="Keep the suite there: add what was merged since, retire what fails.")
@click.option("--pull-requests", is_flag=True, help="Fetch the heads of pull requests from origin first, by git.")
@click.option(
    "--github", metavar="OWNER/NAME", help="Fetch issues and labels from GitHub; auto: of origin. Needs GITHUB_TOKEN."
)
@click.option("--name", help="Name of the suite; default: that of its remote origin, else of its folder.")
@click.option("--path", default=".", help="Folder to mine, such as a service of a monorepo: its tests, its changes.")
@click.option("--branch", help="Branch whose history is mined; default HEAD.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Leave out changes before this day; default: older than 3 years only until there are 30 problems.",
)
@click.option(
    "--max-problems",
    type=click.IntRange(min=1),
    help="Most problems of the suite, those with an executed example first.",
)
@click.option(
    "--budget-minutes",
    type=Finite(min=0.1),
    help="Stop after this time; work in progress is discarded.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    default=DEFAULT_KINDS,
    show_default=True,
    help="Kind of change to keep; repeatable.",
)
@click.option(
    "--statements",
    type=click.Choice(get_args(Statements)),
    default="any",
    show_default=True,
    help="executed: leave out problems whose statement has no executed example, but words alone.",
)
@click.option("--rewrite", help="Model that rewrites each statement, one call a problem: provider:model[@base_url].")
@click.option(
    "--config", type=FILE, help="File whose `environment` says how to set the project up; default: its codegate.yml."
)
@click.option("--strict", is_flag=True, help=f"Validate {_STRICT_ROUNDS} times, with other clocks and time zones too.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True, help="Validation runs.")
@click.option("--include-new-tests", is_flag=True, help="Keep changes whose tests cannot be imported before the fix.")
@click.option("--fresh", is_flag=True, help="Try every change again, whatever earlier minings recorded.")
@click.option("--profile", is_flag=True, help="Print test runs and seconds of each step, after the mining.")
@jobs_option
@sandbox_option
@json_option
def history(
    repository: Path,
    out: Path,
    refresh: bool,
    pull_requests: bool,
    github: str | None,
    name: str | None,
    path: str,
    branch: str | None,
    since: datetime | None,
    max_problems: int | None,
    budget_minutes: float | None,
    kinds: tuple[Kind, ...],
    statements: Statements,
    rewrite: str | None,
    config: Path | None,
    strict: bool,
    rounds: int,
    include_new_tests: bool,
    fresh: bool,
    profile: bool,
    jobs: int,
    sandbox: Choice,
) -> ExitCode:
    """Mine a suite of proven problems from the history of REPOSITORY (a local clone).

    The result of each change is recorded: after an interrupt the same command continues, without --fresh. Exits 0 when
    at least one problem was found, 3 when none was.
    """
    options = MineOptions(
        name=name,
        path="" if (folder := os.path.normpath(path)) == "." else folder,
        branch=branch,
        since=since.date() if since else None,
        max_problems=max_problems,
        budget_minutes=budget_minutes,
        concurrency=jobs,
        rounds=max(rounds, _STRICT_ROUNDS) if strict else rounds,
        include_new_tests=include_new_tests,
        kinds=kinds,
        statements=statements,
        rewrite=parse_candidate(rewrite) if rewrite else None,
        forge=_forge(repository, github) if github else None,
        refresh=refresh,
        memory=cache_folder() / "mining",
        fresh=fresh,
    )
    if pull_requests:
        say(f"{fetch_pull_heads(repository)} heads of pull requests")
    before = read_summary(out) or {}
    with mine_progress() as progress:
        report = mine(repository, out, options, progress, sandbox=sandbox, config=config)
    for line in mining_words(report):
        say(line)
    for line in report.profile.lines() if profile else []:
        say(line)
    if report.suite is not None and report.suite.digest == before.get("suite_digest"):
        say("the suite is the one that was there before")
    elif report.suite is not None and report.suite.active:
        for line in power_statement(suite_model(report.suite, USUAL_RATE), GatePolicy()).sentences():
            say(f"gate: {line}")
    emit(report.summary())
    return ExitCode.PASS if report.problems else ExitCode.INCONCLUSIVE


def _forge(repository: Path, named: str) -> GitHubEnrichment:
    api_url = os.environ.get("GITHUB_API_URL") or DEFAULT_API
    slug = find_slug(repository, api_url) if named == "auto" else named
    if slug is None:
        raise UsageError(f"the origin of {repository} is not on {api_url}.", "Give --github OWNER/NAME.")
    return GitHubEnrichment(slug, os.environ.get("GITHUB_TOKEN", ""), cache_folder(), api_url)
