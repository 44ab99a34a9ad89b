"""Programs that run inside sandboxes. They are never imported: their text is sent there and run by an interpreter.

One of Python's may import names from others of this package: it is sent together with them.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from codegate.sandbox import Command

_FUTURE: Final = "from __future__ import annotations\n"
_IMPORT: Final = re.compile(r"^from codegate\.grading\.drivers\.(\w+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)


@cache
def driver_source(file: str) -> str:
    """Return the text of one of this package's programs, by its file's name (without ``.py`` for Python's)."""
    name = file if "." in file else f"{file}.py"
    return resources.files("codegate.grading.drivers").joinpath(name).read_text("utf-8")


def driver_command(
    driver: str,
    settings: Mapping[str, Any],
    *places: str,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 60.0,
) -> Command:
    """Return the command that runs a driver of Python's with a records pipe, out of the repository's reach.

    The interpreter is isolated from variables, start-up files and the folder that it is started in: nothing but the
    driver runs until that lets something in.

    Args:
        driver: its name.
        settings: what it reads from its standard input, as JSON.
        places: its arguments behind the pipe's descriptor: ``{site}`` and the like, see ``Command.argv``.
        environment: as of a command.
        timeout_seconds: as of a command.
    """
    return Command(
        argv=("{python}", "-I", "-S", "-B", "-c", _program(driver), "{records}", *places),
        stdin=json.dumps(settings).encode("ascii"),
        environment=environment or {},
        timeout_seconds=timeout_seconds,
        records=True,
    )


@cache
def _program(driver: str) -> str:
    """Return the text of a driver, behind those of what it imports from this package."""
    texts = (_IMPORT.sub("", driver_source(name)).replace(_FUTURE, "") for name in _with_imports(driver))
    return _FUTURE + "\n".join(texts)


def _with_imports(driver: str) -> dict[str, None]:
    """Return the names of what a driver imports from this package and its own, each once, what is needed first."""
    found: dict[str, None] = {}
    for name in _IMPORT.findall(driver_source(driver)):
        found |= _with_imports(name)
    return {**found, driver: None}
