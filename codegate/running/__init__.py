"""Does the work: plans candidates x problems x samples, schedules them, journals every outcome, resumes.

A suite, candidates and a sandbox backend go in; a ``Run`` comes out and is on the disk all the while.
"""

from codegate.running.answers import Answers, read_answers, run_predictions
from codegate.running.calls import CallLimitReached
from codegate.running.config import (
    CONFIG_NAME,
    Config,
    config_schema,
    configuration,
    load_config,
    named_candidates,
    priced,
)
from codegate.running.expense import BASELINE_SAMPLES, CallNeeds, SampleExpense, call_needs, sample_expense
from codegate.running.gate import Gate, gate_run, run_exit_code
from codegate.running.journal import MANIFEST, RUN_FILES, Journal, load_run
from codegate.running.merging import merge_shards, shard_folders
from codegate.running.outcome import Outcome, Run, RunManifest
from codegate.running.plan import RunOptions, candidate_settings, new_run_id, plan_run, suite_model
from codegate.running.predictions import grade_predictions
from codegate.running.readiness import check_images
from codegate.running.samples import candidate_samples, choose_candidate
from codegate.running.scheduler import Progress
from codegate.running.session import RunRequest, check_same_plan, opened_backend, plan_shards, run_suite
from codegate.running.shards import ShardChoice, shard_choice
from codegate.solving import AttemptSummary

__all__ = [
    "BASELINE_SAMPLES",
    "CONFIG_NAME",
    "MANIFEST",
    "RUN_FILES",
    "Answers",
    "AttemptSummary",
    "CallLimitReached",
    "CallNeeds",
    "Config",
    "Gate",
    "Journal",
    "Outcome",
    "Progress",
    "Run",
    "RunManifest",
    "RunOptions",
    "RunRequest",
    "SampleExpense",
    "ShardChoice",
    "call_needs",
    "candidate_samples",
    "candidate_settings",
    "check_images",
    "check_same_plan",
    "choose_candidate",
    "config_schema",
    "configuration",
    "gate_run",
    "grade_predictions",
    "load_config",
    "load_run",
    "merge_shards",
    "named_candidates",
    "new_run_id",
    "opened_backend",
    "plan_run",
    "plan_shards",
    "priced",
    "read_answers",
    "run_exit_code",
    "run_predictions",
    "run_suite",
    "sample_expense",
    "shard_choice",
    "shard_folders",
    "suite_model",
]
