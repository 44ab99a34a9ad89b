"""The end of a run: show its report."""

import click

from codegate.cli.output import say
from codegate.errors import ExitCode
from codegate.operations import Report
from codegate.reporting import render_console, render_json


def conclude(report: Report, *, as_json: bool) -> ExitCode:
    """Print a report and where its files are, and return the exit code.

    Args:
        report: of a finished run.
        as_json: print the report's JSON on stdout, and people's lines on stderr.
    """
    if as_json:
        click.echo(render_json(report.view))
    say(render_console(report.view), as_json=as_json)
    for name, path in report.files.items():
        say(f"{name:9} {path}", as_json=as_json)
    if report.trace:
        say(report.trace, as_json=as_json)
    return report.exit_code
