"""Writes docs/cli.md from the commands' own help texts: ``python .ci/command_docs.py``, or ``-`` to print it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from codegate.cli.main import group

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
HEAD = """\
# Commands

What each command says with `--help`. With `--json` a command prints one machine-readable document on stdout; everything
for people goes to stderr. What the exit codes mean: [running](running.md#exit-codes).
"""


def written() -> str:
    """Return the page."""
    context = click.Context(group, info_name="codegate", **group.context_settings)
    return "\n".join([HEAD, *_sections(group, context)])


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    depth = "#" * (2 + max(0, len(context.command_path.split()) - 2))
    # The width is that of a page, whatever terminal this runs in.
    context.terminal_width = context.max_content_width = 100
    yield f"{depth} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _sections(found, click.Context(found, parent=context, info_name=name))


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(written())
    else:
        PAGE.write_text(written(), encoding="utf-8")
