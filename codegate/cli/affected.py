"""``codegate affected``: tell whether a change needs the gate."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from codegate.cli.options import Argument, as_command
from codegate.cli.output import emit, json_wanted, note, write
from codegate.errors import UsageError
from codegate.operations.affected import affected
from codegate.running import CONFIG_NAME
from codegate.strict import printable
from codegate.wording import count_of

_MOST_SHOWN: Final = 20


@as_command()
def command(
    base: Annotated[str, Argument()],
    head: Annotated[str, Argument()],
    config: Annotated[str, "The configuration, from the repository's top."] = CONFIG_NAME,
    also: Annotated[
        tuple[str, ...], Field(examples=["PATH"]), "A further file or folder that matters; repeatable."
    ] = (),
) -> None:
    """Print gate=true if HEAD changes a file the gate reads.

    Otherwise print gate=false. Changes are counted from the merge base with BASE. The gate reads the configuration and
    the files that it names, in BASE or in HEAD: suite, prompts, agents' files, recorded answers, the lock and its
    baseline. Only commits are read, not the work tree. stderr lists the changed files.

    Exits 0 with either answer. Exits 2 without an answer: a commit is missing, neither commit has the configuration, or
    the clone is shallow.
    """
    if not base:
        raise UsageError("BASE is empty: this event has no base commit.", "Gate it without asking, or name a commit.")
    found = affected(Path.cwd(), base, head, config, also)
    for path, what in list(found.files.items())[:_MOST_SHOWN]:
        note(f"{printable(path)} changed: {what}")
    if (more := len(found.files) - _MOST_SHOWN) > 0:
        note(f"{count_of(more, 'more file')} changed that the gate reads")
    if not found.files:
        note(f"nothing changed that the gate reads: {', '.join(map(printable, sorted(found.watched)))}")
    answer = bool(found.files)
    if not json_wanted():
        write(f"gate={str(answer).lower()}")
    emit(
        {
            "schema": "codegate.affected/1",
            "gate": answer,
            "files": [{"path": path, "reason": what} for path, what in found.files.items()],
            "watched": [{"path": path, "reason": what} for path, what in sorted(found.watched.items())],
        }
    )
