"""``codegate mine``: a suite from a repository's own history, and what belongs to keeping one."""

import re
import shlex
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click

from codegate.cli import mine_exchange, mine_report
from codegate.cli.options import FOLDER, json_option, request_options
from codegate.cli.output import emit, say
from codegate.cli.progress import mine_progress
from codegate.errors import ExitCode, UsageError
from codegate.host_program import without_credentials
from codegate.mining import MineRequest, fetch_pull_heads, read_summary
from codegate.operations import mine, mining_words
from codegate.operations.plan import usual_power
from codegate.sandbox import cache_folder

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
@click.option("--pull-requests", is_flag=True, help="Fetch the heads of pull requests from origin first, by git.")
@request_options(MineRequest)
@click.option("--strict", is_flag=True, help=f"Validate {_STRICT_ROUNDS} times, with other clocks and time zones too.")
@click.option("--profile", is_flag=True, help="Print test runs and seconds of each step, after the mining.")
@json_option
def history(
    repository: Path, out: Path, request: MineRequest, pull_requests: bool, strict: bool, profile: bool
) -> ExitCode:
    """Mine a suite of proven problems from the history of REPOSITORY (a local clone).

    The result of each change is recorded: after an interrupt the same command continues, without --fresh. Exits 0 when
    at least one problem was found, 3 when none was.
    """
    rounds = max(request.rounds, _STRICT_ROUNDS) if strict else request.rounds
    request = request.model_copy(update={"rounds": rounds, "memory": cache_folder() / "mining"})
    if pull_requests:
        say(f"{fetch_pull_heads(repository)} heads of pull requests")
    before = read_summary(out) or {}
    with mine_progress() as progress:
        report = mine(repository, out, request, progress)
    for line in mining_words(report):
        say(line)
    for line in report.profile.lines() if profile else []:
        say(line)
    if report.suite is not None and report.suite.digest == before.get("suite_digest"):
        say("the suite is the one that was there before")
    elif report.suite is not None and report.suite.active:
        for line in usual_power(report.suite).sentences():
            say(f"gate: {line}")
    emit(report.summary())
    return ExitCode.PASS if report.problems else ExitCode.INCONCLUSIVE
