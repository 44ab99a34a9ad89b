"""node:test, which is part of Node."""

from typing import ClassVar

from codegate.grading.runners.javascript import JavaScript


class Node(JavaScript):
    """See ``JavaScript``."""

    name: ClassVar[str] = "node"
    reporter: ClassVar[str] = "node_reporter.cjs"
