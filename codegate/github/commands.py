"""What carries out codegate's own commands within a step: the command line, which is a floor above."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from codegate.errors import ExitCode


@dataclass(frozen=True)
class Done:
    """How a command ended, and the document that it printed."""

    code: ExitCode
    document: dict[str, Any]


Command = Callable[[Sequence[str]], Done]
"""Carries out a command with ``--json``; its lines for people go to the step's log. Raises ``CodegateError``."""
