"""Solve a problem by a single shot or a loop with tools: an ``Attempt`` comes out.

The model works on a tree in memory, and only a patch of its source files leaves this room. The caller runs the public
tests, since that needs a sandbox.
"""

from codegate.solving.attempt import Attempt, AttemptStop, AttemptSummary
from codegate.solving.solve import prompt_version_of, record_attempt, solve

__all__ = [
    "Attempt",
    "AttemptStop",
    "AttemptSummary",
    "prompt_version_of",
    "record_attempt",
    "solve",
]
