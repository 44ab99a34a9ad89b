"""Let a candidate solve a problem; return its ``Attempt``.

A candidate solves by a single shot, by a loop with tools, or with an agent. The model works on a tree in memory; an
agent works in a sandbox that the caller opens. Only a patch of its source files goes to grading.
"""

from codegate.solving.agent import agent_attempt
from codegate.solving.attempt import Attempt, AttemptStop, AttemptSummary, request_bytes
from codegate.solving.context import ShowContext, show_context
from codegate.solving.edits import BlockEdit, contains_code, parse_edits
from codegate.solving.harness import read_harness
from codegate.solving.installing import read_agent_files
from codegate.solving.prompts import read_prompt
from codegate.solving.single_shot import first_request
from codegate.solving.solve import prompt_version_of, solve
from codegate.solving.tool_loop import first_turn
from codegate.solving.toolbox import tool_specs

__all__ = [
    "Attempt",
    "AttemptStop",
    "AttemptSummary",
    "BlockEdit",
    "ShowContext",
    "agent_attempt",
    "contains_code",
    "first_request",
    "first_turn",
    "parse_edits",
    "prompt_version_of",
    "read_agent_files",
    "read_harness",
    "read_prompt",
    "request_bytes",
    "show_context",
    "solve",
    "tool_specs",
]
