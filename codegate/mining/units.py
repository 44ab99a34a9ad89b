"""Judging a unit by its words: reasons to leave it out, and how much it looks like a bug fix.

The score only orders the queue (and sets aside what calls itself something else): whether a unit is a bug fix
with tests that show it is decided by execution.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from codegate.mining.sources.history import Unit
from codegate.mining.sources.references import closing_references

Reason = Literal[
    "bot",
    "merge_forward",
    "backport",
    "revert",
    "reversed",
    "release",
    "not_a_fix",
    "ci_only",
    "docs_only",
    "tests_only",
    "deps_only",
    "format_only",
    "rename_only",
    "too_large",
    "no_src",
    "no_test",
    "submodule",
    "binary_src",
    "symlink",
    "lfs_pointer",
    "unreadable",
    "unsupported_language",
    "duplicate",
    "no_runner",
    "env_unresolved",
    "env_no_passing_test",
    "timeout",
    "collect_error_gold",
    "no_f2p",
    "only_new_tests",
    "other_kind",
    "unsolvable_new_symbol",
    "p2f_in_gold",
    "f2p_flaky",
    "oracle_fails",
    "nop_resolves",
    "leak",
    "no_statement",
    "budget",
]
"""Why a unit is no problem. ``not_a_fix``: its own words say feature, refactoring or the like; ``other_kind``: what it
changed and how its tests fail say so.
``reversed``: a later change reverts this one, or names its pull request as the cause of another bug.
``no_statement``: no text and no probe shows what happens before the fix, or what should.
``lfs_pointer``: a changed file's bytes are not in git but in LFS, where nothing is fetched from.
``unreadable``: a changed path is no UTF-8, or codegate stumbled over one of the unit's files."""

BUG_LIKE: Final = 1
MAX_BRANCH_SOURCES: Final = 10
"""Source files of a merged branch that no pull request stands for; one with more is no single change."""

_CODE: Final = frozenset(
    {"py", "pyx", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "go", "rs", "java", "kt", "scala", "c",
     "cc", "cpp", "h", "hpp", "cs", "rb", "php", "swift"}
)  # fmt: skip
_TEST_NAME: Final = re.compile(r"(?:^|[_.-])(?:tests?|spec)(?:[_.-]|$)|Tests?$", re.IGNORECASE)
_NOT_A_FIX: Final = -2

_BOTS: Final = re.compile(
    r"\[bot\]|^(?:dependabot|renovate|pyup|greenkeeper|snyk|pre-commit-ci|github-actions|allcontributors"
    r"|imgbot|codecov|mergify|semantic-release|web-flow-bot)\b|-bot$",
    re.IGNORECASE,
)
_BOT_BRANCHES: Final = re.compile(
    r"(?:^|[/:])(?:dependabot|renovate|pyup-\w+|greenkeeper|snyk-\w+|pre-commit-ci-update-config)\b"
)
_REVERT: Final = re.compile(r"(?:revert|reapply|back out|backout)\b", re.IGNORECASE)
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
_CONVENTIONAL: Final = re.compile(r"(?P<type>[A-Za-z]+)(?:\([^)]*\))?!?:\s")
_CONVENTIONAL_FIX: Final = frozenset({"fix", "fixes", "hotfix", "bugfix", "bug"})
_CONVENTIONAL_OTHER: Final = frozenset(
    {"feat", "feature", "docs", "doc", "chore", "ci", "style", "refactor", "test", "tests", "build", "perf", "revert"}
)
_TRACKER_KEY: Final = re.compile(r"\[?(?!UTF-|ISO-|RFC-|PEP-|GH-|CVE-|SHA-)[A-Z][A-Z0-9]{1,9}-\d+\]?[:\s]")
_FIX_VERB: Final = re.compile(r"(?:\[?\w+\]?[:/]\s+)?(?:hot|bug)?fix(?:es|ed|ing)?\b", re.IGNORECASE)
_BUG_WORDS: Final = re.compile(
    r"\b(?:fix(?:es|ed|ing)?|bugs?|bugfix|regressions?|crash(?:es|ed|ing)?|incorrect(?:ly)?|wrong(?:ly)?|broken|breaks?"
    r"|leak(?:s|ed|ing)?|race|deadlock|overflow|underflow|off[- ]by[- ]one|fail(?:s|ed|ing|ure)?|errors?|exceptions?"
    r"|invalid|missing|hang(?:s|ing)?|infinite|corrupt(?:s|ed)?|mishandl\w+|prevent|avoid|correct(?:ly)?|handle[sd]?"
    r"|respect|honou?r|do(?:n't| not)|never|stop|security|CVE-\d+-\d+|TypeError|ValueError|KeyError|IndexError"
    r"|AttributeError|ZeroDivisionError|RecursionError|UnicodeDecodeError|NoneType)\b",
    re.IGNORECASE,
)
_OTHER_WORK: Final = re.compile(
    r"(?:\w+:\s+)?(?:add(?:s|ed|ing)?|implement(?:s|ed)?|introduce[sd]?|new|drop(?:s|ped)?|remove[sd]?|deprecate[sd]?"
    r"|rename[sd]?|refactor(?:s|ed|ing)?|move[sd]?|bump(?:s|ed)?|upgrade[sd]?|document(?:s|ed)?|reformat\w*|clean ?up"
    r"|simplify|moderni[sz]e|type[- ]?hints?|typing)\b",
    re.IGNORECASE,
)
_BUG_LABEL: Final = re.compile(r"(?:^|[^a-z])(?:bugs?|bugfix|regressions?|defects?|crash)(?:[^a-z]|$)", re.IGNORECASE)
_BUG_BRANCH: Final = re.compile(r"(?:^|[/:_-])(?:fix(?:es)?|bug(?:fix)?|hotfix|issue|regression)[-/_\d]", re.IGNORECASE)


@dataclass(frozen=True)
class Rejected:
    """A unit that is no problem: why, and what was seen."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True)
class BugScore:
    """How much a unit looks like a bug fix, and which of its words said so."""

    score: int
    evidence: tuple[str, ...]


def score_unit(unit: Unit, labels: Iterable[str] = ()) -> BugScore:
    """Return the bug score of ``unit`` from its title, text and branch name, and from its forge's labels.

    Weights: conventional ``fix:`` +3 (another type -3), a label for defects on the change or on an issue that it
    closes +3, closing keyword +2, tracker key +2, a title that begins with "fix" +2, another word for a defect in
    the title +1, branch name +1, a title that begins with another kind of work -2.
    """
    points: list[tuple[int, str]] = []
    conventional = _CONVENTIONAL.match(unit.title)
    kind = conventional["type"].lower() if conventional else ""
    other = kind in _CONVENTIONAL_OTHER
    if kind in _CONVENTIONAL_FIX:
        points.append((3, f"type:{kind}"))
    elif other:
        points.append((-3, f"type:{kind}"))
    label = next((label for label in labels if _BUG_LABEL.search(label)), None)
    if label is not None:
        points.append((3, f"label:{label[:40]}"))
    closes = closing_references(unit.message)
    if closes.words and not other:
        points.append((2, f"closes:{closes.words}"))
    if _TRACKER_KEY.match(unit.title):
        points.append((2, "tracker key"))
    elif closes.tickets and not closes.words and not other:
        points.append((2, f"ticket:{closes.tickets[0][:40]}"))
    word = _BUG_WORDS.search(unit.title, conventional.end() if conventional else 0)
    if _FIX_VERB.match(unit.title) and kind not in _CONVENTIONAL_FIX:
        points.append((2, "title:fix"))
    elif word is not None:
        points.append((1, f"title:{word[0].lower()}"))
    elif _OTHER_WORK.match(unit.title):
        points.append((-2, f"title:{_first_word(unit.title)}"))
    if _BUG_BRANCH.search(unit.branch):
        points.append((1, "branch"))
    return BugScore(sum(value for value, _ in points), tuple(evidence for _, evidence in points))


def reject_by_text(unit: Unit, bug: BugScore) -> Reason | None:
    """Return why the unit's own words rule it out, or None."""
    if unit.merges_forward:
        return "merge_forward"
    if unit.kind == "merge" and unit.pull_request is None and _sources(unit) > MAX_BRANCH_SOURCES:
        return "too_large"
    if _is_bots(unit):
        return "bot"
    if _REVERT.match(unit.title):
        return "revert"
    if _BACKPORT.search(unit.title) or _CHERRY_PICKED.search(unit.message):
        return "backport"
    if _RELEASE.match(unit.title):
        return "release"
    if bug.score <= _NOT_A_FIX:
        return "not_a_fix"
    return None


def reversed_units(units: Iterable[Unit]) -> dict[str, str]:
    """Return the commits of units that a later one took back or blames, each with the later one's commit.

    A fix that was itself a bug is no measure of another fix: the right solution may fail its tests.

    Args:
        units: a history, in any order.
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


def _is_bots(unit: Unit) -> bool:
    # A merge is often made by a bot, of what a person wrote: its branch tells.
    if unit.kind == "merge" and unit.pull_request is not None and unit.branch:
        return _BOT_BRANCHES.search(unit.branch) is not None
    return bool(_BOTS.search(unit.author) or "[bot]" in unit.email or _BOT_BRANCHES.search(unit.branch))


def _sources(unit: Unit) -> int:
    """Return how many files a unit changed that look like source, whatever the repository configures."""
    suffixes = (path.rpartition("/")[2].rpartition(".") for path in (change.path for change in unit.changes))
    return sum(suffix in _CODE and not _TEST_NAME.search(stem) for stem, _, suffix in suffixes)


def _first_word(title: str) -> str:
    return title.split(maxsplit=1)[0].lower()[:40] if title.split() else ""
