"""``codegate action``: what the action's image runs."""

import io
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stdout

import click

from codegate.errors import ExitCode, Interrupted, UsageError
from codegate.github import Done, reap_action, run_action


@click.command()
@click.option("--reap", is_flag=True, help="Only remove the sandboxes that the job's steps left behind.")
def command(reap: bool) -> ExitCode:
    """Run as a GitHub Action: reads INPUT_* and GITHUB_*, writes outputs and summary."""
    return reap_action(os.environ) if reap else run_action(os.environ, carry_out)


def carry_out(arguments: Sequence[str]) -> Done:
    """Carry out a command of this command line, and return how it ended with the document that it printed.

    Raises:
        CodegateError: as the command.
    """
    from codegate.cli.main import group  # noqa: PLC0415 - which this command is one of

    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            code = group.main(args=[*arguments, "--json"], prog_name="codegate", standalone_mode=False)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from error
    except click.Abort as error:
        raise Interrupted("the step was cancelled.") from error
    text = printed.getvalue()
    return Done(ExitCode(code) if isinstance(code, int) else ExitCode.PASS, json.loads(text) if text.strip() else {})
