"""unittest, for test files whose own loading protocols pytest does not follow."""

import json

from codegate.grading.drivers import driver_source
from codegate.grading.runners.pytest import Pytest, instruments_of
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command


class Unittest(Pytest):
    """One interpreter for each file; a result class of ours reports every phase of every test.

    Ids are those that pytest gives (``tests/test_x.py::Case::test_method``), and so is what the phases mean; a subtest
    is a call of its test.
    """

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        return unittest_command(selection, files[0], token, django=False, project="")


def unittest_command(selection: TestSelection, file: str, token: str, *, django: bool, project: str) -> Command:
    """Return the command that runs one file under unittest, or under Django's runner in the folder ``project``."""
    settings = {
        "token": token,
        "file": file,
        "python_path": selection.python_path,
        "order": selection.order,
        "django": django,
        "project": project,
        "behaviour": driver_source("behaviour_driver"),
        **instruments_of(selection),
    }
    source = driver_source("unittest_driver")
    return Command(
        argv=("{python}", "-I", "-S", "-B", "-c", source, "{records}", "{site}", "{workspace}"),
        stdin=json.dumps(settings).encode("utf-8"),
        environment={"PYTHONHASHSEED": str(selection.hash_seed), "TZ": selection.timezone},
    )
