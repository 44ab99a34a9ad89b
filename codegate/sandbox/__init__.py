"""Where code runs: one small protocol and the backends that keep it.

In come an environment recipe, files and commands; out comes what a trusted supervisor observed. Nothing here
knows what a problem or a model is.
"""

from codegate.sandbox.assurance import Assurance, Finding, known_escapes
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import (
    Backend,
    Command,
    Completed,
    Description,
    EnvironmentRecipe,
    FilesRefused,
    PreparedEnvironment,
    Sandbox,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
    SandboxUnavailable,
)
from codegate.sandbox.environment import TOOLS_LOCK
from codegate.sandbox.gomod import GoModule, go_sum_text, read_go_mod, read_go_sum
from codegate.sandbox.host_program import run_program
from codegate.sandbox.interpreter import index_environment
from codegate.sandbox.npm import check_npm_manifest, normal_lock, resolve_npm
from codegate.sandbox.pool import SandboxPool
from codegate.sandbox.preflight import preflight
from codegate.sandbox.selection import CHOICE_PATTERN, Choice, check_choice, reap_job, select_backend

__all__ = [
    "CHOICE_PATTERN",
    "TOOLS_LOCK",
    "Assurance",
    "Backend",
    "Choice",
    "Command",
    "Completed",
    "Description",
    "EnvironmentRecipe",
    "FilesRefused",
    "Finding",
    "GoModule",
    "PreparedEnvironment",
    "Sandbox",
    "SandboxClosed",
    "SandboxError",
    "SandboxFile",
    "SandboxLimits",
    "SandboxPool",
    "SandboxUnavailable",
    "cache_folder",
    "check_choice",
    "check_npm_manifest",
    "go_sum_text",
    "index_environment",
    "known_escapes",
    "normal_lock",
    "preflight",
    "read_go_mod",
    "read_go_sum",
    "reap_job",
    "resolve_npm",
    "run_program",
    "select_backend",
]
