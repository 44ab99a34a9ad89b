"""One function per command, objects in and objects out.

The command line and the action both call these. Nothing here parses arguments, prints, or chooses an exit code other
than the one in its result.
"""

from codegate.operations.affected import Affected, affected
from codegate.operations.baselines import append, origin, pin, read_runs, refresh, reset, samples_of, watch
from codegate.operations.editing import add_problem, review_suite
from codegate.operations.plan import plan
from codegate.operations.pooling import pool_suites
from codegate.operations.project import Repository, look_at, try_on_head
from codegate.operations.requests import PlanRequest, RunRequest, asked_run, continued, project_here
from codegate.operations.runs import Report, gate, judge, merge, record_run, report, run, sweep_runs
from codegate.operations.suites import (
    check_policy,
    comparable_places,
    issue_text,
    mine,
    mine_commit,
    mining_words,
    proof_words,
    read_recipe,
    validate,
    validation_words,
)

__all__ = [
    "Affected",
    "PlanRequest",
    "Report",
    "Repository",
    "RunRequest",
    "add_problem",
    "affected",
    "append",
    "asked_run",
    "check_policy",
    "comparable_places",
    "continued",
    "gate",
    "issue_text",
    "judge",
    "look_at",
    "merge",
    "mine",
    "mine_commit",
    "mining_words",
    "origin",
    "pin",
    "plan",
    "pool_suites",
    "project_here",
    "proof_words",
    "read_recipe",
    "read_runs",
    "record_run",
    "refresh",
    "report",
    "reset",
    "review_suite",
    "run",
    "samples_of",
    "sweep_runs",
    "try_on_head",
    "validate",
    "validation_words",
    "watch",
]
