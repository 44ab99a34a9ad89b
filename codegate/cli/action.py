"""``codegate action``: what the action's image runs."""

import os

import click

from codegate.errors import ExitCode
from codegate.github import run_action


@click.command()
def command() -> ExitCode:
    """Run as a GitHub Action: reads INPUT_* and GITHUB_*, writes outputs and summary."""
    return run_action(os.environ)
