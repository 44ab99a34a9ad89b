"""JUnit 3 to 5: the module is compiled, and the launcher of JUnit's platform runs the selected classes."""

from collections.abc import Mapping
from typing import Final

from codegate.grading.controls.instruments import Instruments
from codegate.grading.drivers import driver_command
from codegate.grading.records import read_records
from codegate.grading.runners.contract import RunnerReport
from codegate.grading.runners.results import runner_report
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command, Completed

_DRIVERS: Final = "codegate.languages.java.drivers"
_ROOT: Final = "src/test/java/"


class Java:
    """One virtual machine for each module.

    Ids are the declaring file's path, ``::`` and the method: ``src/test/java/org/shop/CartTest.java::Empty.total`` for
    one of a nested class, ``::total(int)[2]`` for the second row of a method with parameters. Rows and methods of equal
    names count as one test, which passes when all of them pass.
    """

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """See ``Runner.batches``."""
        modules: dict[str, list[str]] = {}
        for file in files:
            modules.setdefault(file.partition(_ROOT)[0], []).append(file)
        return tuple(map(tuple, modules.values()))

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        used = selection.instruments or Instruments()
        settings = {
            "token": token,
            "module": files[0].partition(_ROOT)[0].rstrip("/"),
            "files": files,
            "originals": _originals(used, files),
            "seed": selection.hash_seed if selection.order != "natural" else None,
            "timezone": selection.timezone,
            "output_bytes": selection.output_bytes,
        }
        return driver_command("java_driver", settings, "{site}", "{packages}", "{workspace}", package=_DRIVERS)

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:  # noqa: ARG002
        """See ``Runner.read``."""
        return runner_report(read_records(completed.records, token), files)


def _originals(used: Instruments, files: tuple[str, ...]) -> Mapping[str, str]:
    """Return the texts to compile in place of those of ``files`` that were changed and do not compile."""
    changed = [file for file in files if used.files.get(file) != used.originals.get(file)]
    return {file: used.originals[file].decode("utf-8") for file in changed}


JAVA: Final = Java()
