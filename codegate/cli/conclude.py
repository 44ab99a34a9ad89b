"""The end of a run: show its report."""

import click

from codegate.cli.output import columns, json_wanted, say
from codegate.errors import ExitCode
from codegate.operations import Report
from codegate.reporting import render_console, render_json


def conclude(report: Report) -> ExitCode:
    """Print the report of a finished run and where its files are, and return the exit code."""
    if json_wanted():
        click.echo(render_json(report.view))
    say(render_console(report.view, width=columns()))
    for name, path in report.files.items():
        say(f"{name:9} {path}")
    if report.trace:
        say(report.trace)
    return report.exit_code
