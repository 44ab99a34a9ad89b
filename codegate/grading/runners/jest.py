"""Jest."""

from typing import ClassVar

from codegate.grading.runners.javascript import JavaScript


class Jest(JavaScript):
    """See ``JavaScript``."""

    name: ClassVar[str] = "jest"
    reporter: ClassVar[str] = "jest_reporter.cjs"
