"""Suites: their files, types and digests, with trees and patches.

Nothing here uses the network or runs a problem's code.
"""

from codegate.suite.git import GitError, git, object_id, read_commit
from codegate.suite.gitstore import find_ignored
from codegate.suite.loaded import EVIDENCE, RECIPE, Environment, Problem, Suite
from codegate.suite.model import (
    Base,
    ControlAudit,
    EnvironmentManifest,
    Kind,
    Language,
    LeakAudit,
    PlainPath,
    ProblemLimits,
    ProblemManifest,
    Provenance,
    Quality,
    Quarantine,
    QuarantinedTest,
    RunnerName,
    Statement,
    SuiteManifest,
    TestSets,
)
from codegate.suite.patch import MAX_CHANGED_BYTES, MAX_PATCH_BYTES, apply_patch, make_patch
from codegate.suite.proved import (
    SANDBOX,
    ProvedEnvironment,
    ProvedPlace,
    describe_place,
    images_of,
    is_place_field,
    proved_places,
    record_proved,
    sandbox_place,
)
from codegate.suite.reader import check_model, parse_yaml, read_json, read_yaml
from codegate.suite.repair import PatchError
from codegate.suite.repository import find_repository, load_base, load_tree, repository_path
from codegate.suite.store import load_suite, make_problem, update_problem, write_suite
from codegate.suite.tree import Changes, Subtree, Tree, TreeFile, check_path, is_plain_path, parent_folders

__all__ = [
    "EVIDENCE",
    "MAX_CHANGED_BYTES",
    "MAX_PATCH_BYTES",
    "RECIPE",
    "SANDBOX",
    "Base",
    "Changes",
    "ControlAudit",
    "Environment",
    "EnvironmentManifest",
    "GitError",
    "Kind",
    "Language",
    "LeakAudit",
    "PatchError",
    "PlainPath",
    "Problem",
    "ProblemLimits",
    "ProblemManifest",
    "ProvedEnvironment",
    "ProvedPlace",
    "Provenance",
    "Quality",
    "Quarantine",
    "QuarantinedTest",
    "RunnerName",
    "Statement",
    "Subtree",
    "Suite",
    "SuiteManifest",
    "TestSets",
    "Tree",
    "TreeFile",
    "apply_patch",
    "check_model",
    "check_path",
    "describe_place",
    "find_ignored",
    "find_repository",
    "git",
    "images_of",
    "is_place_field",
    "is_plain_path",
    "load_base",
    "load_suite",
    "load_tree",
    "make_patch",
    "make_problem",
    "object_id",
    "parent_folders",
    "parse_yaml",
    "proved_places",
    "read_commit",
    "read_json",
    "read_yaml",
    "record_proved",
    "repository_path",
    "sandbox_place",
    "update_problem",
    "write_suite",
]
