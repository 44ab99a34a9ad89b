"""How a candidate answers: single shot or a loop with tools; a problem goes in, an ``Attempt`` comes out.

The model works on a tree in memory, and only a patch of its source files leaves this room. Running the public
tests is the caller's to provide, since it needs a sandbox.
"""

from codegate.solving.attempt import Attempt, AttemptStop, AttemptSummary, DroppedPath
from codegate.solving.calls import ModelCall
from codegate.solving.edits import contains_code
from codegate.solving.solve import prompt_version_of, record_attempt, solve
from codegate.solving.toolbox import TestTool

__all__ = [
    "Attempt",
    "AttemptStop",
    "AttemptSummary",
    "DroppedPath",
    "ModelCall",
    "TestTool",
    "contains_code",
    "prompt_version_of",
    "record_attempt",
    "solve",
]
