"""unittest, for test files whose own loading protocols pytest does not follow."""

from codegate.grading.runners.pytest import Pytest, python_command, shared_settings
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command


class Unittest(Pytest):
    """One interpreter for each file; a result class of ours reports every phase of every test.

    Ids are those that pytest gives (``tests/test_x.py::Case::test_method``), and so is what the phases mean; a subtest
    is a call of its test.
    """

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        settings = {**shared_settings(selection, files[0], token), "django": False}
        return python_command("unittest_driver", settings, selection)
