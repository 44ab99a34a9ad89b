"""Sandboxes for untrusted code: one interface and its backends.

A backend gets an environment recipe, files and commands; it returns what a trusted supervisor observed. Nothing here
knows what a problem or a model is.
"""

from codegate.sandbox.cache import cache_folder
from codegate.sandbox.conformance.preflight import Assurance, preflight
from codegate.sandbox.contract import (
    Backend,
    BuildSandbox,
    Command,
    Completed,
    Description,
    EnvironmentRecipe,
    FilesRefused,
    Layer,
    NotInstalled,
    PreparedEnvironment,
    Sandbox,
    SandboxClosed,
    SandboxError,
    SandboxFile,
    SandboxLimits,
    SandboxUnavailable,
    Toolchain,
    Unreachable,
)
from codegate.sandbox.layer_images import remove_layer_images
from codegate.sandbox.pool import Lease, SandboxPool
from codegate.sandbox.selection import STOP_SECONDS, Choice, check_choice, close_soon, reap_job, select_backend

__all__ = [
    "STOP_SECONDS",
    "Assurance",
    "Backend",
    "BuildSandbox",
    "Choice",
    "Command",
    "Completed",
    "Description",
    "EnvironmentRecipe",
    "FilesRefused",
    "Layer",
    "Lease",
    "NotInstalled",
    "PreparedEnvironment",
    "Sandbox",
    "SandboxClosed",
    "SandboxError",
    "SandboxFile",
    "SandboxLimits",
    "SandboxPool",
    "SandboxUnavailable",
    "Toolchain",
    "Unreachable",
    "cache_folder",
    "check_choice",
    "close_soon",
    "preflight",
    "reap_job",
    "remove_layer_images",
    "select_backend",
]
