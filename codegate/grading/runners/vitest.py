"""Vitest."""

from typing import ClassVar

from codegate.grading.runners.javascript import JavaScript


class Vitest(JavaScript):
    """See ``JavaScript``."""

    name: ClassVar[str] = "vitest"
    reporter: ClassVar[str] = "vitest_main.mjs"
