"""Reject changes by author, title, text and branch.

This is done before anything is executed. The module also lists the reasons for which a change is left out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from codegate.languages import path_language
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import MergedChange
from codegate.mining.sources.messages import is_revert

BeforeCut = Literal[
    "bot", "merge_forward", "backport", "revert", "reversed", "release", "not_a_fix", "ci_only", "docs_only",
    "tests_only", "deps_only", "format_only", "rename_only", "too_large", "no_src", "no_test", "submodule",
    "outside_path", "binary_src", "symlink", "lfs_pointer", "unreadable", "unsupported_language", "duplicate",
    "no_runner",
]  # fmt: skip
BeforeEnvironment = Literal["env_unresolved", "env_no_passing_test", "budget"]
BeforeFailToPass = Literal["timeout", "collect_error_gold", "needs_other_files", "no_f2p"]
BeforeValidated = Literal[
    "only_new_tests", "other_kind", "unsolvable_new_symbol", "p2f_in_gold", "f2p_flaky", "oracle_fails", "leak",
    "no_statement", "not_needed",
]  # fmt: skip
Reason = Literal[BeforeCut, BeforeEnvironment, BeforeFailToPass, BeforeValidated]
"""Why a unit makes no problem; each type names the stage that the unit did not reach.

``not_a_fix``: its own words suggest a feature, a refactoring or the like; ``other_kind``: its changes and the failures
of its tests do.
``reversed``: a later change reverts this one, or names its pull request as the cause of another bug.
``needs_other_files``: its tests need changed files that are not taken for source, so the fix would be cut in half.
``no_statement``: no text and no example shows what happens before the fix, or what should.
``not_needed``: it was proved, and there were enough problems without it.
``outside_path``: it changes nothing below the folder that is mined.
``lfs_pointer``: a changed file's bytes are not in git but in LFS, where nothing is fetched from.
``unreadable``: a changed path is not UTF-8, or reading one of the unit's files raised an unexpected error.
"""

BUG_LIKE: Final = 0.0
"""Lowest score of a bug fix; at 0, the signals for a fix and for other kinds are equally strong."""

MAX_BRANCH_SOURCES: Final = 10
"""Most source files of a merged branch without a pull request; more are several changes."""

_TEST_NAME: Final = re.compile(r"(?:^|[_.-])(?:tests?|spec)(?:[_.-]|$)|Tests?$", re.IGNORECASE)
_NOT_A_FIX: Final = -1.5

_BOTS: Final = re.compile(
    r"\[bot\]|^(?:dependabot|renovate|pyup|greenkeeper|snyk|pre-commit-ci|github-actions|allcontributors"
    r"|imgbot|codecov|mergify|semantic-release|web-flow-bot)\b|-bot$",
    re.IGNORECASE,
)
_BOT_BRANCHES: Final = re.compile(
    r"(?:^|[/:])(?:dependabot|renovate|pyup-\w+|greenkeeper|snyk-\w+|pre-commit-ci-update-config)\b"
)
_REVERTED: Final = re.compile(r"\breverts? (?:commit )?([0-9a-f]{7,40})\b", re.IGNORECASE)
_BLAMED: Final = re.compile(
    r"\b(?:reverts?|regress\w*|broke|breaks?|broken|introduced|caused)\b[^.\n]{0,40}?#(\d+)\b"
    r"|#(\d+)\b[^.\n]{0,20}?\b(?:broke|introduced|caused|regressed)\b",
    re.IGNORECASE,
)
_BACKPORT: Final = re.compile(r"\bback-?port(?:s|ed|ing)?\b|\[\d+(?:\.(?:\d+|x))+\]", re.IGNORECASE)
_CHERRY_PICKED: Final = re.compile(r"^\(cherry picked from commit [0-9a-f]{7,40}\)", re.MULTILINE)
_RELEASE: Final = re.compile(
    r"(?:chore\(release\)|releas(?:e|ing)(?::|\s+(?:v?\d|version|notes)|\s*$)"
    r"|prepare (?:for )?(?:the )?(?:next )?(?:release|version|v?\d+\.\d)"
    r"|bump(?:ed|ing)? (?:the )?(?:version|release|to v?\d)|version (?:bump|v?\d)|post[- ]release|back to development"
    r"|(?:start|begin) (?:of )?(?:work on )?v?\d+\.\d|v?\d+\.\d+(?:\.\d+)?(?:[-.]?(?:a|b|rc|dev|post)\d*)?\s*$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Rejected:
    """Why a change makes no problem, and the evidence."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True)
class BugScore:
    """How much a change's signals suggest a bug fix.

    Attributes:
        evidence: one line for each signal, the heaviest first: its bits (positive: for a bug fix), its name, and what
            was seen.
    """

    score: float
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Prospect:
    """A change to try, its bug score and GitHub's data."""

    unit: MergedChange
    bug: BugScore
    enrichment: Enrichment | None = None


def reject_by_text(unit: MergedChange, bug: BugScore, *, fixes_only: bool = True) -> Reason | None:
    """Return why a change's words rule it out, or None.

    If only fixes are wanted (``fixes_only``), words of another kind of change rule it out too.
    """
    if unit.merges_forward:
        return "merge_forward"
    if unit.kind == "merge" and unit.pull_request is None and _sources(unit) > MAX_BRANCH_SOURCES:
        return "too_large"
    if _is_bots(unit):
        return "bot"
    if is_revert(unit.title):
        return "revert"
    if _BACKPORT.search(unit.title) or _CHERRY_PICKED.search(unit.message):
        return "backport"
    if _RELEASE.match(unit.title):
        return "release"
    if fixes_only and bug.score <= _NOT_A_FIX:
        return "not_a_fix"
    return None


def reverted_commits(units: Iterable[MergedChange]) -> dict[str, str]:
    """Return commits that a later change reverts or calls faulty.

    The result maps each commit to that later change's commit. A commit in the result makes no problem, because a
    correct solution may fail its tests.
    """
    newest_first = sorted(units, key=lambda unit: unit.date, reverse=True)
    reverted: dict[str, str] = {}
    blamed: dict[int, str] = {}
    found: dict[str, str] = {}
    for unit in newest_first:
        later = blamed.get(unit.pull_request or 0) or next(
            (by for commit, by in reverted.items() if unit.commit.startswith(commit)), None
        )
        if later is not None:
            found[unit.commit] = later
        reverted |= {match[1].lower(): unit.commit for match in _REVERTED.finditer(unit.message)}
        blamed |= {int(match[1] or match[2]): unit.commit for match in _BLAMED.finditer(unit.message)}
    return found


def _is_bots(unit: MergedChange) -> bool:
    # Bots often merge what people wrote, so the branch decides, not the author of the merge.
    if unit.kind == "merge" and unit.pull_request is not None and unit.branch:
        return _BOT_BRANCHES.search(unit.branch) is not None
    return bool(_BOTS.search(unit.author) or "[bot]" in unit.email or _BOT_BRANCHES.search(unit.branch))


def _sources(unit: MergedChange) -> int:
    paths = (change.path for change in unit.changes if path_language(change.path))
    return sum(not _TEST_NAME.search(PurePosixPath(path).stem) for path in paths)
