"""Bug fix or not: what kind of change a proven unit is, by a sum of named signals.

That tests fail before a change and pass after it says no more than that they belong together: about half of such
changes are features. What tells them apart is what the change calls itself, whether its tests use names that it
brought along, how they fail without it, and how large it is. Each of these adds its weight, in bits, and all of
them are shown; nothing is learned behind the scenes. The same weights order the queue, by the words alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from codegate.mining.cut import Cut
from codegate.mining.kinds.names import (
    DeclaredNames,
    added_source_lines,
    added_test_lines,
    declared_names,
    function_names,
)
from codegate.mining.kinds.words import Signal, changelog_signals, enrichment_signals, word_signals
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.units import BUG_LIKE, BugScore
from codegate.suite import Kind
from codegate.wording import count_of

_BUGS: Final = frozenset({"bugfix", "security"})

#: Bits for the kind that a signal speaks for. Each is the binary logarithm of how much more often the signal was seen
#: among hand-labelled, executed bug fixes than among other executed changes (204 changes of eight repositories; in
#: brackets how many bug fixes : others), pulled towards zero where signals overlap or are few. Signals without
#: numbers were not in that data: labels and the words of issues are weighted as a conventional type is.
_WORDS: Final[dict[str, float]] = {
    "title type": 3.0,  # fix 16:0, feat 0:8
    "title tag": 2.0,
    "title: fix": 3.0,  # 40:0
    "title: handle": 1.0,  # 14:3, with those of the next
    "title: prevent": 1.5,
    "title: add": 2.0,  # 3:65
    "title: deprecate": 2.5,  # 0:4
    "title: speed up": 2.5,  # 0:5
    "title: rework": 1.5,  # 2:11
    "title: change": 0.0,  # 6:5
    "title defect": 1.5,  # 13:4
    "title offer": 1.0,  # 0:11
    "body: fix": 1.5,
    "body: handle": 0.5,
    "body: prevent": 0.5,
    "body: add": 1.0,
    "body defect": 0.5,
    "changelog section": 2.5,  # fixes 14:2, features 2:17
    "changelog: fix": 1.5,  # 7:0
    "changelog: add": 1.5,  # 0:14
    "report": 1.0,  # 17:6
    "closes": 0.5,  # 19:18; of old, a word that closes an issue opens more fixes than features
    "fix branch": 1.5,  # 10:2
    "feature branch": 1.0,  # 0:1
    "security": 2.0,
    "label": 3.0,
    "issue: fix": 0.5,
    "issue: add": 1.0,
    "issue defect": 1.0,
    "issue offer": 0.5,
    "issue report": 1.0,
}
_NAMES: Final[dict[str, float]] = {
    "tested new definition": 3.0,  # 1:46
    "tested new parameter": 1.5,  # 3:18
    "tested new attribute": 1.0,  # 2:17
    "tested new operator": 1.5,  # 1:19
    "new definition": 1.0,  # 5:23
    "misses a new name": 1.5,  # 0:17, overlaps with the above
    "not importable": 2.0,  # 1:16
    "warns of deprecation": 1.5,  # 1:10
}
_SHAPE: Final[dict[str, float]] = {
    "hangs": 2.0,
    "names a bug": 1.0,  # 13:5
    "tiny": 1.5,  # 40:4
    "small": 0.5,  # 24:20
    "middle": 0.5,  # 16:33
    "large": 1.5,  # 5:38
    "huge": 1.5,  # 3:21
    "many files": 1.0,  # 1:16
    "new file": 1.0,  # 0:4
    "few tests": 0.5,  # 78:65
    "many tests": 1.0,  # 10:51
    "only new tests": 0.5,  # 65:46
    "new and old tests": 1.0,  # 4:39
}
WEIGHTS: Final = {**_WORDS, **_NAMES, **_SHAPE}

#: Most changed source lines, and most fail-to-pass tests, of each size.
_SIZES: Final[tuple[tuple[str, int, Kind], ...]] = (
    ("tiny", 4, "bugfix"), ("small", 12, "bugfix"), ("middle", 30, "feature"), ("large", 60, "feature"),
)  # fmt: skip
_FEW_TESTS: Final = 3
_MANY_FILES: Final = 3
_SHOWN: Final = 4

_WARNS: Final = re.compile(r"\b(?:Pending)?DeprecationWarning\b|@deprecated\b|\bDeprecated:|\bwarn_deprecated\b")
_ABOUT_BUG: Final = re.compile(r"regression|\bbug\b|_bug_?|issue[s_ -]?/?\d|(?:#|\bgh-?)\d{2,}", re.IGNORECASE)
_UNKNOWN_NAME: Final = re.compile(
    r"(?:has no attribute|unexpected keyword argument|cannot import name|No module named) ?['\"](?P<python>[\w.]+)['\"]"
    r"|['\"]?(?P<free>[\w$]+)['\"]? is not defined"
    r"|(?P<javascript>[\w$]+) is not a (?:function|constructor)"
    r"|undefined: (?:\w+\.)?(?P<go>\w+)|has no field or method (?P<member>\w+)|unknown field (?P<field>\w+)"
)


@dataclass(frozen=True)
class KindOf(BugScore):
    """What kind of change a unit is, and the score that says so."""

    kind: Kind


def score_unit(unit: Unit, enrichment: Enrichment | None = None) -> BugScore:
    """Return how much the words of a unit, and of what a forge says of it, speak for a bug fix: the queue's order."""
    return _score(_weighed([*word_signals(unit), *(enrichment_signals(unit, enrichment) if enrichment else ())]))


def classify_kind(unit: Unit, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None = None) -> KindOf:
    """Return what kind of change ``unit`` is."""
    found = signals(unit, cut, outcomes, enrichment)
    scored = _score(found)
    return KindOf(scored.score, scored.evidence, _verdict(found, scored.score))


def signals(unit: Unit, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None = None) -> tuple[Signal, ...]:
    """Return everything that was seen and has a weight, each once for each kind; see ``classify_kind``."""
    names = declared_names(cut)
    found = [
        *word_signals(unit),
        *changelog_signals(unit, cut),
        *(enrichment_signals(unit, enrichment) if enrichment is not None else ()),
        *_name_signals(names),
        *_failure_signals(outcomes, names),
        *_code_signals(cut),
        *_shape_signals(unit, cut, outcomes),
    ]
    return _weighed(found)


def _weighed(found: list[Signal]) -> tuple[Signal, ...]:
    kept = [signal for signal in reversed(found) if signal.name in WEIGHTS]
    return tuple({(signal.name, signal.kind): signal for signal in kept}.values())[::-1]


def _score(found: tuple[Signal, ...]) -> BugScore:
    ordered = sorted(found, key=lambda signal: -abs(_bits(signal)))
    evidence = tuple(f"{_bits(signal):+.1f} {_line(signal)}" for signal in ordered if _bits(signal))
    return BugScore(sum(map(_bits, found)), evidence)


def _verdict(found: tuple[Signal, ...], score: float) -> Kind:
    if score >= BUG_LIKE:
        return "security" if any(signal.kind == "security" for signal in found) else "bugfix"
    votes: dict[Kind, float] = {"feature": 0.0, "refactor": 0.0, "perf": 0.0}
    for signal in found:
        if signal.kind in votes and signal.name not in _SHAPE:
            votes[signal.kind] += WEIGHTS[signal.name]
    return max(votes, key=lambda kind: votes[kind])


def _bits(signal: Signal) -> float:
    return WEIGHTS[signal.name] if signal.kind in _BUGS else -WEIGHTS[signal.name]


def _line(signal: Signal) -> str:
    text = f"{signal.name}: {signal.detail}" if signal.detail else signal.name
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())[:200]


def _name_signals(names: DeclaredNames) -> Iterator[Signal]:
    for sort in ("definition", "parameter", "attribute", "operator"):
        used = [name for name, of in names.used.items() if of == sort]
        if used:
            yield Signal(f"tested new {sort}", "feature", ", ".join(used[:_SHOWN]))
    if names.unused:
        yield Signal("new definition", "feature", ", ".join(names.unused[:_SHOWN]))


def _failure_signals(outcomes: TestOutcomes, names: DeclaredNames) -> Iterator[Signal]:
    tests = outcomes.fail_to_pass
    if all(outcomes.kinds.get(test) == "collection" or test in outcomes.none_to_pass for test in tests):
        yield Signal("not importable", "feature", "no failing test could be imported before the change")
        return
    if "timeout" in outcomes.kinds.values():
        yield Signal("hangs", "bugfix", "a test did not end before the change")
    unknown = []
    for test in tests:
        result = outcomes.evidence.get(test)
        match = _UNKNOWN_NAME.search(result.message) if result is not None else None
        word = match[match.lastgroup or 0].rpartition(".")[2] if match is not None else ""
        # Only of a name that the change declares: `None` has no attribute either, and that is a bug.
        if word in names.words:
            unknown.append(word)
    if unknown and 2 * len(unknown) >= len(tests):
        yield Signal("misses a new name", "feature", ", ".join(list(dict.fromkeys(unknown))[:_SHOWN]))


def _code_signals(cut: Cut) -> Iterator[Signal]:
    warns = next((found for line in added_source_lines(cut) if (found := _WARNS.search(line))), None)
    if warns is not None:
        yield Signal("warns of deprecation", "feature", warns[0])
    about = next((found for line in added_test_lines(cut) if (found := _ABOUT_BUG.search(line))), None)
    if about is not None:
        yield Signal("names a bug", "bugfix", about[0])


def _shape_signals(unit: Unit, cut: Cut, outcomes: TestOutcomes) -> Iterator[Signal]:
    size, kind = next(((name, of) for name, most, of in _SIZES if cut.source_lines <= most), ("huge", "feature"))
    yield Signal(size, "bugfix" if kind == "bugfix" else "feature", f"{cut.source_lines} changed lines of source")
    if len(cut.fix) >= _MANY_FILES:
        yield Signal("many files", "feature", count_of(len(cut.fix), "source file"))
    if any(change.status == "A" and change.path in cut.fix for change in unit.changes):
        yield Signal("new file", "feature")
    count = len(outcomes.fail_to_pass)
    if count <= _FEW_TESTS:
        yield Signal("few tests", "bugfix", f"{count} fail-to-pass")
    else:
        yield Signal("many tests", "feature", f"{count} fail-to-pass")
    known = {path: function_names(path, cut.base.get(path)) for path in cut.test_files if path.endswith(".py")}
    there = [
        name.partition("[")[0].rpartition("::")[2] in known[path]
        for path, _, name in (test.partition("::") for test in outcomes.fail_to_pass)
        if path in known
    ]
    if there and not any(there):
        yield Signal("only new tests", "bugfix", "no failing test function was there before the change")
    elif there and not all(there):
        yield Signal("new and old tests", "feature", f"{sum(there)} of {len(there)} were there before the change")
