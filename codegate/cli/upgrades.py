"""``codegate upgrades``: find newer models and agents than those pinned."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from pydantic import Field

from codegate.cli.options import as_command
from codegate.cli.output import emit, note, say
from codegate.errors import ExitCode
from codegate.operations.upgrades import find_upgrades, write_upgrade
from codegate.running import CONFIG_NAME
from codegate.strict import File


@as_command()
def command(
    config: Annotated[File, "Configuration file."] = Path(CONFIG_NAME),
    write: Annotated[
        str | None,
        Field(examples=["[TITLE]"], json_schema_extra={"flag_value": ""}),
        "Change the configuration to the proposal with this title; without one, to the first. A wrong title lists all.",
    ] = None,
) -> ExitCode:
    """Show which pinned models end, and what could replace them.

    Newer models and agents could replace what codegate.yml pins. Models are looked up in their providers' lists, if a
    key is set, and agents in npm's registry or PyPI. The replacement of a model is the newest in the list whose name
    differs only in its numbers. What ends soonest comes first.

    --write changes the file to one proposal, in all candidates that pin the same, and keeps its comments and layout.
    Without a proposal it changes nothing.

    Exits 0, and 4 if a provider or a registry did not answer; the others are looked up all the same.
    """
    found = find_upgrades(config)
    for one in found.found:
        say(one.words())
    if not found.found:
        say(found.nothing())
    for words in (*found.unknown, *found.failed):
        note(words)
    chosen = found.choose(write) if write is not None else None
    if chosen is not None:
        write_upgrade(config, chosen)
        say(f"{config}: {chosen.title}")
    emit(
        {
            "schema": "codegate.upgrades/1",
            "upgrades": [
                {**asdict(one), "ends": str(one.ends) if one.ends else None, "title": one.title if one.to else None}
                for one in found.found
            ],
            "unknown": found.unknown,
            "failed": found.failed,
            "written": chosen.title if chosen is not None else None,
        }
    )
    return ExitCode.INFRASTRUCTURE if found.failed else ExitCode.PASS
