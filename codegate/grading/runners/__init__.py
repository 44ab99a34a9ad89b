"""The test runners that codegate knows, by name.

To add one: a class with the three methods of ``Runner`` in a module here, its name in ``suite.RunnerName``, and a
line in this table. Its tests run a real project of that framework.
"""

from codegate.grading.runners.contract import Runner, Said
from codegate.grading.runners.go import Go
from codegate.grading.runners.javascript import JavaScript
from codegate.grading.runners.junit import JUnit
from codegate.grading.runners.python import Django, Pytest, Unittest
from codegate.suite import RunnerName

__all__ = ["Runner", "Said", "find_runner"]

_RUNNERS: dict[RunnerName, Runner] = {
    "pytest": Pytest(),
    "unittest": Unittest(),
    "django": Django(),
    "node": JavaScript("node", "node_reporter.cjs"),
    "jest": JavaScript("jest", "jest_reporter.cjs"),
    "vitest": JavaScript("vitest", "vitest_main.mjs"),
    "mocha": JavaScript("mocha", "mocha_reporter.cjs"),
    "junit": JUnit(),
    "go": Go(),
}


def find_runner(name: RunnerName) -> Runner:
    """Return the runner of that name."""
    return _RUNNERS[name]
