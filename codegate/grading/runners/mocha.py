"""Mocha."""

from typing import ClassVar

from codegate.grading.runners.javascript import JavaScript


class Mocha(JavaScript):
    """See ``JavaScript``."""

    name: ClassVar[str] = "mocha"
    reporter: ClassVar[str] = "mocha_reporter.cjs"
