"""The test runners that codegate knows, by name.

To add one: a class with the three methods of ``Runner`` in a module here, its name in ``suite.RunnerName``, and a
line in ``find_runner``. Its tests run a real project of that framework.
"""

from codegate.grading.runners.contract import Runner, Said
from codegate.grading.runners.django import Django
from codegate.grading.runners.go import Go
from codegate.grading.runners.jest import Jest
from codegate.grading.runners.junit import JUnit
from codegate.grading.runners.mocha import Mocha
from codegate.grading.runners.node import Node
from codegate.grading.runners.pytest import Pytest
from codegate.grading.runners.unittest import Unittest
from codegate.grading.runners.vitest import Vitest
from codegate.suite import RunnerName

__all__ = ["Runner", "Said", "find_runner"]

_RUNNERS: dict[RunnerName, Runner] = {
    "pytest": Pytest(),
    "unittest": Unittest(),
    "django": Django(),
    "node": Node(),
    "jest": Jest(),
    "vitest": Vitest(),
    "mocha": Mocha(),
    "junit": JUnit(),
    "go": Go(),
}


def find_runner(name: RunnerName) -> Runner:
    """Return the runner of that name."""
    return _RUNNERS[name]
