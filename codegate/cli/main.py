"""The ``codegate`` command: imports only the subcommand that is asked for, and maps errors to exit codes."""

import sys
from importlib import import_module
from typing import Any, Final, NoReturn

import click

from codegate import __version__
from codegate.cli.output import print_error
from codegate.errors import CodegateError, ExitCode

_COMMANDS: Final = {
    "demo": "Mine, run and gate a bundled history: no key, no Docker needed.",
    "init": "Write a codegate.yml to start from.",
    "doctor": "Check what this machine has: git, sandboxes, keys.",
    "mine": "Mine a suite from a repository's past bug fixes.",
    "validate": "Prove again, by execution, that every problem of a suite is sound.",
    "run": "Run candidates on a suite, and gate them when a baseline is given.",
    "grade": "Grade patches from a predictions file.",
    "gate": "Compare a run with the pinned baseline.",
    "baseline": "Pin a run as the baseline, or show the pinned one.",
    "report": "Write a run's reports again.",
    "action": "Entry point of the GitHub Action.",
}


class _LazyGroup(click.Group):
    """A group that imports a subcommand's module when it is called, and knows its help line without that."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"codegate.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"codegate.cli.{cmd_name} has no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="codegate")
def group() -> None:
    """Gate model upgrades on your own past bugs.

    Exit codes: 0 pass, 1 regressed, 2 usage or configuration error, 3 inconclusive or incomparable,
    4 infrastructure, 130 interrupted.
    """


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    A click usage error and a ``CodegateError`` become one line and their exit code; anything else is a bug and
    keeps its traceback.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code: Any = group.main(args=words, prog_name="codegate", standalone_mode=False)
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        print_error(CodegateError(error.format_message()), as_json="--json" in words)
        code = ExitCode.USAGE
    except CodegateError as error:
        print_error(error, as_json="--json" in words)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("codegate: interrupted.", err=True)
        code = ExitCode.INTERRUPTED
    sys.exit(int(code) if isinstance(code, int) else 0)
