"""Plan, execute, record and resume runs.

A suite, candidates and a sandbox backend go in; a ``Run`` comes out. It is on disk from its first outcome on.
"""

from codegate.running.attempt import Progress
from codegate.running.config import CONFIG_NAME, Config, ScoreWeights, config_schema, configuration, named_candidates
from codegate.running.gate import Gate, candidate_samples, choose_candidate, gate_run, run_exit_code
from codegate.running.journal import Journal, load_run
from codegate.running.opening import interruptible, opened_backend
from codegate.running.outcome import Outcome, ProblemOrigin, ProblemRecord, Run, RunManifest
from codegate.running.plan import RunOptions, new_run_id, origin_of, plan_run
from codegate.running.session import RunSpec, run_suite
from codegate.running.shards import merge_shards

__all__ = [
    "CONFIG_NAME",
    "Config",
    "Gate",
    "Journal",
    "Outcome",
    "ProblemOrigin",
    "ProblemRecord",
    "Progress",
    "Run",
    "RunManifest",
    "RunOptions",
    "RunSpec",
    "ScoreWeights",
    "candidate_samples",
    "choose_candidate",
    "config_schema",
    "configuration",
    "gate_run",
    "interruptible",
    "load_run",
    "merge_shards",
    "named_candidates",
    "new_run_id",
    "opened_backend",
    "origin_of",
    "plan_run",
    "run_exit_code",
    "run_suite",
]
