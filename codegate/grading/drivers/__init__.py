"""Send programs into sandboxes and run them there.

The drivers are never imported: their text is sent and run by an isolated interpreter (``-I -S -B``), so they use the
standard library only, in syntax that Python 3.8 knows. Standard input brings their settings, and argument 1 is the
descriptor of the pipe for their answers. Drivers that run tests are in the folders ``drivers`` of the languages. A
driver may import names from others, whose text is sent together with its own.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from codegate.sandbox import Command

_FUTURE: Final = "from __future__ import annotations\n"
_IMPORT: Final = re.compile(r"^from (codegate\.[\w.]+\.drivers)\.(\w+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)
_OWN: Final = "codegate.grading.drivers"


@cache
def driver_source(file: str, package: str = _OWN) -> str:
    """Return the source of the driver ``file`` in ``package``."""
    name = file if "." in file else f"{file}.py"
    return resources.files(package).joinpath(name).read_text("utf-8")


def driver_command(
    driver: str,
    settings: Mapping[str, Any],
    *places: str,
    package: str = _OWN,
    interpreter: tuple[str, ...] = ("{python}",),
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 60.0,
    seeded: bool = False,
) -> Command:
    """Return the command that runs a Python driver.

    The driver answers through a pipe (``Command.records``), which code of the repository cannot reach. The interpreter
    ignores Python's variables, start-up files and the current folder, so that it runs nothing but the driver until the
    driver loads other code. The driver reads ``settings`` as JSON from standard input. Its arguments are the pipe's
    descriptor and ``places`` (paths, see ``Command.argv``). ``package`` is the Python package that has the driver. If
    ``seeded``, ``PYTHONHASHSEED`` in ``environment`` is the seed of hashes.
    """
    program = _program(driver, package)
    programs = (_program("seeded_driver", _OWN), program) if seeded else (program,)
    return Command(
        argv=(*interpreter, "-I", "-S", "-B", "-c", *programs, "{records}", *places),
        stdin=json.dumps(settings).encode("ascii"),
        environment=environment or {},
        timeout_seconds=timeout_seconds,
        records=True,
    )


@cache
def _program(driver: str, package: str) -> str:
    found = _with_imports(driver, package)
    texts = (_IMPORT.sub("", driver_source(name, place)).replace(_FUTURE, "") for place, name in found)
    return _FUTURE + "\n".join(texts)


def _with_imports(driver: str, package: str) -> dict[tuple[str, str], None]:
    found: dict[tuple[str, str], None] = {}
    for place, name in _IMPORT.findall(driver_source(driver, package)):
        found |= _with_imports(name, place)
    return {**found, (package, driver): None}
