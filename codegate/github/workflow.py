"""The one writer of the step's log, outputs and summary.

The runner reads commands out of the log: ``::name::`` at the start of a line and ``##[name]`` anywhere in one.
Everything printed goes through ``untrusted`` here, so that no model, test or file name can give a command.
Protocol: github.com/actions/runner, ``ActionCommand`` and ``FileCommandManager``.
"""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from codegate.errors import InfrastructureError

MAX_SUMMARY_BYTES: Final = 1 << 20
MAX_MESSAGE_CHARACTERS: Final = 4000

# Everything that some reader takes for the end of a line, or for nothing at all.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]")


def untrusted(text: str) -> str:
    """Return ``text`` as lines that the runner reads no command in."""
    lines = (_CONTROL.sub(" ", line) for line in re.split("\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", text))
    return "\n".join(_disarmed(line) for line in lines)


def _disarmed(line: str) -> str:
    # A zero-width space would be invisible but also survives copying; a visible blank is honest.
    return line.replace("##[", "# #[").replace("::", ": :").encode("utf-8", "replace").decode("utf-8")


def log(text: str) -> None:
    """Print ``text`` to the step's log."""
    click.echo(untrusted(text))


def annotate(kind: str, title: str, message: str) -> None:
    """Add an annotation (``error``, ``warning`` or ``notice``) to the step."""
    data = untrusted(message)[:MAX_MESSAGE_CHARACTERS].replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    shown = untrusted(title)[:200].replace("%", "%25").replace("\n", " ").replace(":", "%3A").replace(",", "%2C")
    click.echo(f"::{kind} title={shown}::{data}")


def write_outputs(environment: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Set the step's outputs; outside of a workflow, do nothing.

    Raises:
        InfrastructureError: the runner's file cannot be written.
    """
    name = environment.get("GITHUB_OUTPUT")
    if not name:
        return
    parts = []
    for key, value in outputs.items():
        delimiter = f"ghadelimiter_{secrets.token_hex(16)}"
        parts.append(f"{key}<<{delimiter}\n{untrusted(value)}\n{delimiter}\n")
    _append(Path(name), "".join(parts))


def write_summary(environment: Mapping[str, str], markdown: str) -> None:
    """Add ``markdown`` to the job summary; outside of a workflow, do nothing.

    The runner throws the whole summary away when it is over 1 MiB, so it is cut at a line before that.
    """
    name = environment.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    data = markdown.encode("utf-8", "replace")
    if len(data) > MAX_SUMMARY_BYTES - 1024:
        data = data[: MAX_SUMMARY_BYTES - 1024].rsplit(b"\n", 1)[0] + b"\n\n_Cut: see the report._\n"
    _append(Path(name), data.decode("utf-8", "replace"))


def _append(path: Path, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InfrastructureError(f"cannot write {path}: {error.strerror or error}.") from error
