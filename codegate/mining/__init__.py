"""Mine problems from git history, and prove suites again.

``mine_repository`` walks the first-parent history of a local repository, splits each merged change (a *unit*) into
hidden tests and a reference fix, builds an environment of its time, and keeps the changes that execution proves: tests
fail before the fix and pass after it, in any order. ``validate_suite`` runs the same proof again on an existing suite.
Every change that is left out has a reason, and flaky tests are quarantined with their evidence.
"""

from codegate.mining.importing import ImportFormat, import_proven
from codegate.mining.miner import mine_repository, stopped_words
from codegate.mining.options import KINDS, MineRequest, check_options
from codegate.mining.proving.proof import Proof, ValidationReport, validate_suite
from codegate.mining.report import ChangeResult, MineEvent, MineReport, read_summary
from codegate.mining.selection import choose_problems, write_selection
from codegate.mining.sources.enrichment import find_slug
from codegate.mining.sources.pulls import fetch_pull_heads
from codegate.mining.strengths import Distribution, Strengths, assess

__all__ = [
    "KINDS",
    "ChangeResult",
    "Distribution",
    "ImportFormat",
    "MineEvent",
    "MineReport",
    "MineRequest",
    "Proof",
    "Strengths",
    "ValidationReport",
    "assess",
    "check_options",
    "choose_problems",
    "fetch_pull_heads",
    "find_slug",
    "import_proven",
    "mine_repository",
    "read_summary",
    "stopped_words",
    "validate_suite",
    "write_selection",
]
