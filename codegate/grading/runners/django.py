"""Django's test runner: projects with a ``manage.py``, and Django itself with its ``tests/runtests.py``."""

from codegate.grading.runners.pytest import Pytest, python_command, shared_settings
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command


class Django(Pytest):
    """One interpreter for each file; databases are SQLite's, as no server runs in a sandbox.

    Ids are those that pytest gives (``shop/tests.py::CartTests::test_total``). The project's folder, with its
    ``manage.py``, is the selection's first import root; none is the tree itself.
    """

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        project = selection.python_path[0] if selection.python_path else ""
        settings = {**shared_settings(selection, files[0], token), "django": True, "project": project}
        return python_command("unittest_driver", settings, selection)
