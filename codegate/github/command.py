"""``codegate action``: what the action's image runs."""

import os

import click

from codegate.errors import ExitCode
from codegate.github.entry import reap_action, run_action


@click.command()
@click.option("--reap", is_flag=True, help="Only remove the sandboxes that the job's steps left behind.")
def command(reap: bool) -> ExitCode:
    """Run as a GitHub Action: reads INPUT_* and GITHUB_*, writes outputs and summary."""
    return reap_action(os.environ) if reap else run_action(os.environ)
