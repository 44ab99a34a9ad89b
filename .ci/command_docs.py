"""Writes docs/cli.md and the README's table from the commands' own help texts: ``python .ci/command_docs.py``.

With ``-`` it prints the page, with ``--readme`` the README.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from codegate.cli.main import group

ROOT = Path(__file__).resolve().parents[1]
PAGE, README = ROOT / "docs" / "cli.md", ROOT / "README.md"
BEGIN, END = "<!-- commands: written by `make schema` -->\n", "<!-- end of commands -->"
HEAD = """\
# Commands

What each command says with `--help`. With `--json` a command prints one machine-readable document on stdout; everything
for people goes to stderr. What the exit codes mean: [running](running.md#exit-codes).
"""


def written() -> str:
    """Return the page."""
    context = click.Context(group, info_name="codegate", **group.context_settings)
    return "\n".join([HEAD, *_sections(group, context)])


def readme() -> str:
    """Return the README with its table of commands."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    context = click.Context(group)
    commands = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    rows = [f"| `{name}` | {_first_sentence(command)} |" for name, command in commands if command is not None]
    return f"{before}{BEGIN}| command | does |\n|---|---|\n" + "\n".join(rows) + f"\n{END}{rest.partition(END)[2]}"


def _first_sentence(command: click.Command) -> str:
    text = " ".join((command.help or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


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
    elif sys.argv[1:] == ["--readme"]:
        sys.stdout.write(readme())
    else:
        PAGE.write_text(written(), encoding="utf-8")
        README.write_text(readme(), encoding="utf-8")
