"""Classify a proven change by a sum of signals.

A change counts as a bug fix unless more bits speak for another kind. About half of the changes whose tests fail before
and pass after them are features. Signals tell the two apart: the change's own words, whether its tests use names that
it adds, how they fail without it, and its size. Each signal adds its weight in bits, and all signals are shown. The
weights of the words alone order the queue.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from codegate.languages import IDENTIFIER, added_lines, read
from codegate.mining.cut import Cut, uses_of_tests
from codegate.mining.kinds.words import Signal, changelog_signals, enrichment_signals, word_signals
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.units import BUG_LIKE, BugScore
from codegate.suite import Kind, TreeFile
from codegate.wording import count_of, encodable

_BUGS: Final = frozenset({"bugfix", "security"})

#: Bits of what code and tests show, by the kind that it speaks for; measured as those of the lexicon. In brackets how
#: many bug fixes : others.
_FEATURE: Final = {
    "tested new definition": 3.0,  # 1:46
    "tested new parameter": 1.5,  # 3:18
    "tested new attribute": 1.0,  # 2:17
    "tested new operator": 1.5,  # 1:19
    "new definition": 1.0,  # 5:23
    "misses a new name": 1.5,  # 0:17, overlaps with the above
    "not importable": 2.0,  # 1:16
    "warns of deprecation": 1.5,  # 1:10
    "middle": 0.5,  # 16:33
    "large": 1.5,  # 5:38
    "huge": 1.5,  # 3:21
    "many files": 1.0,  # 1:16
    "new file": 1.0,  # 0:4
    "many tests": 1.0,  # 10:51
    "new and old tests": 1.0,  # 4:39
}
_BUG: Final = {
    "hangs": 2.0,
    "names a bug": 1.0,  # 13:5
    "tiny": 1.5,  # 40:4
    "small": 0.5,  # 24:20
    "few tests": 0.5,  # 78:65
    "only new tests": 0.5,  # 65:46
}
#: Signals that do not count for a feature if a test failed by the old code's behaviour.
_NO_PROOF: Final = ("allow", "tested new parameter")
#: Signals of size; they do not choose between the other kinds.
_SIZE: Final = frozenset({"middle", "large", "huge", "many files", "new file", "many tests", "new and old tests"})

#: Most changed source lines, and most fail-to-pass tests, of each size.
_SIZES: Final = (("tiny", 4), ("small", 12), ("middle", 30), ("large", 60))
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
Sort = Literal["definition", "parameter", "attribute", "operator"]

_CALL: Final = "()"
#: Initialising, copying, pickling, comparing and hashing are fixed more often than they are added.
_FIXED_OPERATORS: Final = frozenset(
    {"__init__", "__new__", "__del__", "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__",
     "__setstate__", "__getnewargs__", "__eq__", "__ne__", "__hash__", "__slots__", "__all__", "__version__",
     "constructor", "__module__", "__doc__", "__name__", "__qualname__", "__dict__", "__wrapped__"}
)  # fmt: skip


@dataclass(frozen=True)
class KindOf(BugScore):
    """A change's kind, and the score behind it."""

    kind: Kind


@dataclass(frozen=True)
class DeclaredNames:
    """Public names that a fix adds to its base.

    Attributes:
        used: operators, and names that added test lines mention, each with its sort, such as ``parameter``.
        unused: definitions that tests do not mention.
    """

    used: Mapping[str, Sort]
    unused: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """Return the last part of each dotted name."""
        return frozenset(_last(name) for name in chain(self.used, self.unused))


def declared_names(cut: Cut) -> DeclaredNames:
    """Return public names that the fix adds, without moved ones."""
    before = dict(chain.from_iterable(_declared(path, cut.base.get(path)) for path in cut.fix))
    after = dict(chain.from_iterable(_declared(path, file) for path, file in cut.fix.items()))
    gone = {_last(name) for name in before.keys() - after.keys()}
    new = {
        name: after[name]
        for name in sorted(after.keys() - before.keys())
        # A parameter is new only if its function was there before.
        if _last(name) not in gone and (_CALL not in name or name.partition(_CALL)[0] in before)
    }
    tests = uses_of_tests(cut)
    # Options and plug-ins are named in string literals.
    tested = tests.words | tests.keywords | {word for text in tests.texts for word in IDENTIFIER.findall(text)}
    used = {name: sort for name, sort in new.items() if sort == "operator" or _last(name) in tested}
    return DeclaredNames(used, tuple(name for name, sort in new.items() if sort == "definition" and name not in used))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _declared(path: str, file: TreeFile | None) -> Iterator[tuple[str, Sort]]:
    source = read(path, file)
    for each in source.declarations() if source is not None else ():
        operator = each.name.startswith("__") and each.name.endswith("__")
        if not each.public or each.kind in {"import", "key"} or each.name in _FIXED_OPERATORS:
            continue
        if each.bare and each.kind != "function":
            continue  # many objects have a member of that name
        yield each.qualified, "attribute" if each.kind == "attribute" else "operator" if operator else "definition"
        for name in each.parameters:
            if name.isidentifier() and not name.startswith("_"):
                yield f"{each.qualified}{_CALL}.{name}", "parameter"


def score_unit(unit: Unit, enrichment: Enrichment | None = None) -> BugScore:
    """Return how strongly a change's words suggest a bug fix.

    ``enrichment`` has its words on GitHub.
    """
    return _score(_once([*word_signals(unit), *(enrichment_signals(unit, enrichment) if enrichment else ())]))


def classify_kind(unit: Unit, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None = None) -> KindOf:
    """Return whether a change is a fix, feature or other."""
    found = signals(unit, cut, outcomes, enrichment)
    scored = _score(found)
    return KindOf(scored.score, scored.evidence, _verdict(found, scored.score))


def signals(unit: Unit, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None = None) -> tuple[Signal, ...]:
    """Return all signals of a change, without repetitions."""
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
    known = _fails_by_behaviour(outcomes, names)
    return _once([signal for signal in found if not (known and signal.name.endswith(_NO_PROOF))])


def _once(found: list[Signal]) -> tuple[Signal, ...]:
    return tuple({(signal.name, signal.kind): signal for signal in reversed(found)}.values())[::-1]


def _score(found: tuple[Signal, ...]) -> BugScore:
    ordered = sorted(found, key=lambda signal: -signal.bits)
    return BugScore(sum(map(_bits, found)), tuple(f"{_bits(signal):+.1f} {_line(signal)}" for signal in ordered))


def _verdict(found: tuple[Signal, ...], score: float) -> Kind:
    if score >= BUG_LIKE:
        return "security" if any(signal.kind == "security" for signal in found) else "bugfix"
    votes: dict[Kind, float] = {"feature": 0.0, "refactor": 0.0, "perf": 0.0}
    for signal in found:
        if signal.kind in votes and signal.name not in _SIZE:
            votes[signal.kind] += signal.bits
    return max(votes, key=lambda kind: votes[kind])


def _bits(signal: Signal) -> float:
    return signal.bits if signal.kind in _BUGS else -signal.bits


def _weighted(name: str, detail: str = "") -> Signal:
    return (
        Signal(name, "bugfix", _BUG[name], detail) if name in _BUG else Signal(name, "feature", _FEATURE[name], detail)
    )


def _line(signal: Signal) -> str:
    text = f"{signal.name}: {signal.detail}" if signal.detail else signal.name
    return " ".join(encodable(text).split())[:200]


def _name_signals(names: DeclaredNames) -> Iterator[Signal]:
    for sort in ("definition", "parameter", "attribute", "operator"):
        used = [name for name, of in names.used.items() if of == sort]
        if used:
            yield _weighted(f"tested new {sort}", ", ".join(used[:_SHOWN]))
    if names.unused:
        yield _weighted("new definition", ", ".join(names.unused[:_SHOWN]))


def _failure_signals(outcomes: TestOutcomes, names: DeclaredNames) -> Iterator[Signal]:
    tests = outcomes.fail_to_pass
    if all(outcomes.kinds.get(test) == "collection" or test in outcomes.none_to_pass for test in tests):
        yield _weighted("not importable", "no failing test could be imported before the change")
        return
    if "timeout" in outcomes.kinds.values():
        yield _weighted("hangs", "a test did not end before the change")
    unknown = [word for test in tests if (word := _missing_name(outcomes, test, names))]
    if unknown and 2 * len(unknown) >= len(tests):
        yield _weighted("misses a new name", ", ".join(list(dict.fromkeys(unknown))[:_SHOWN]))


def _missing_name(outcomes: TestOutcomes, test: str, names: DeclaredNames) -> str:
    """Return the new name that a test misses, or "".

    ``names`` has the new names.
    """
    result = outcomes.evidence.get(test)
    match = _UNKNOWN_NAME.search(result.message) if result is not None else None
    word = match[match.lastgroup or 0].rpartition(".")[2] if match is not None else ""
    return word if word in names.words else ""  # `None` has no attribute either, and that is a bug


def _fails_by_behaviour(outcomes: TestOutcomes, names: DeclaredNames) -> bool:
    """Return whether a test fails without missing a new name."""
    return any(
        outcomes.evidence.get(test) is not None
        and outcomes.kinds.get(test) != "collection"
        and test not in outcomes.none_to_pass
        and not _missing_name(outcomes, test, names)
        for test in outcomes.fail_to_pass
    )


def _code_signals(cut: Cut) -> Iterator[Signal]:
    for name, files, pattern in (
        ("warns of deprecation", cut.fix, _WARNS), ("names a bug", cut.hidden, _ABOUT_BUG)
    ):  # fmt: skip
        given = ((file, cut.base.get(path)) for path, file in files.items() if file is not None)
        lines = (line for file, old in given for line in added_lines(file, old).values())
        found = next((found for line in lines if (found := pattern.search(line))), None)
        if found is not None:
            yield _weighted(name, found[0])


def _shape_signals(unit: Unit, cut: Cut, outcomes: TestOutcomes) -> Iterator[Signal]:
    size = next((name for name, most in _SIZES if cut.source_lines <= most), "huge")
    yield _weighted(size, f"{cut.source_lines} changed lines of source")
    if len(cut.fix) >= _MANY_FILES:
        yield _weighted("many files", count_of(len(cut.fix), "source file"))
    if any(change.status == "A" and change.path in cut.fix for change in unit.changes):
        yield _weighted("new file")
    count = len(outcomes.fail_to_pass)
    few = count <= _FEW_TESTS
    yield _weighted("few tests" if few else "many tests", f"{count} fail-to-pass")
    sources = {path: read(path, cut.base.get(path)) for path in cut.test_files if path.endswith(".py")}
    known = {
        path: {each.name for each in source.declarations() if each.kind == "function"} if source is not None else set()
        for path, source in sources.items()
    }
    there = [
        name.partition("[")[0].rpartition("::")[2] in known[path]
        for path, _, name in (test.partition("::") for test in outcomes.fail_to_pass)
        if path in known
    ]
    if there and not any(there):
        yield _weighted("only new tests", "no failing test function was there before the change")
    elif there and not all(there) and few:  # many tests are mostly new and old ones, which is one sign
        yield _weighted("new and old tests", f"{sum(there)} of {len(there)} were there before the change")
