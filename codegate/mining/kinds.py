"""Tell bug fixes from features and other changes.

About half of the changes whose tests fail before and pass after them are features. Signals tell the two apart: the
first telling word of a change's title, its labels on GitHub, whether its tests use names that it adds, and its size.
Each signal has a weight in bits, and all are shown. A change counts as a bug fix unless the bits for another kind
prevail. The words alone order the queue. Weights are the binary logarithm of how much more often a signal was seen
among hand-labelled, executed bug fixes than among other executed changes (``bench/mining_kinds.py``), pulled towards
zero.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from codegate.languages import IDENTIFIER, read
from codegate.mining.cut import Cut, uses_of_tests
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import MergedChange
from codegate.mining.units import BUG_LIKE, BugScore
from codegate.suite import Kind, TreeFile
from codegate.wording import count_of, encodable

BUGS: Final[frozenset[Kind]] = frozenset({"bugfix", "security"})

#: Patterns of each kind's names in titles, commit types and labels.
_NAMES: Final[Mapping[Kind, str]] = {
    "security": r"sec|secur\w*|vulnerab\w*|cve(?:-[\d-]+)?",
    "bugfix": r"(?:bug|hot)?[- ]?fix(?:e[sd]|ing|up)?|bugs?|regressions?|defects?|crash(?:es)?|broken",
    "perf": r"perf|performance|speed\w*",
    "feature": r"feat\w*|enh\w*|add(?:s|ed|ing)?|new|improvements?|proposals?|deprecat\w*",
    "refactor": r"ref|refactor\w*|clean\w*|chores?|maintenance|typ(?:es?|ing)|style|docs?|document\w*|tests?|build|ci"
    r"|remov\w*|misc|debt",
}  # fmt: skip
#: Patterns of further words in titles. Words for accepting more input (support, allow, enable) are left out, because
#: such a change is a feature as often as a bug fix.
_WORDS: Final[Mapping[Kind, str]] = {
    "security": r"ghsa|redos|xss|csrf|\w+ (?:injection|traversal)|__proto__|prototype",
    "bugfix": r"repair\w*|properly|correct(?:s|ed|ly)?|handl(?:e[sd]?|ing)|respect\w*|honou?r\w*|preserv\w+|ensur\w+"
    r"|restor\w+|reject\w*|refus\w+|make sure|keep\w*|work ?around|patch\w*|catch\w*|escap\w+|prevent\w*|avoid\w*"
    r"|guard\w*|protect\w*|stop\w*|never|no longer|do(?:es)? ?n[o']t|disallow\w*|forbid\w*|crash\w*|incorrect\w*"
    r"|wrong\w*|br(?:ea|o)k\w*|leak\w*|races?|deadlock\w*|overflow\w*|off[- ]by[- ]one|fail\w*|hang(?:s|ing)?|infinite"
    r"|corrupt\w*|typo|(?:edge|corner)[- ]cases?|misleading|inconsisten\w+|unexpected\w*|mistaken\w*|works?|lost"
    r"|los(?:es|ing)|missing|invalid|duplicated?|ignor(?:es|ed|ing)|panics?|(?:Type|Value|Key|Index|Attribute)Error",
    "perf": r"faster|optimi[sz]\w+|efficien\w+|quadratic|reduc\w+",
    "feature": r"implement\w*|introduc\w+|provides?|creates?|expos\w+|includes?|extend\w*|offer\w*",
    "refactor": r"renam\w+|mov(?:e[sd]?|ing)|simplif\w+|moderni[sz]\w+|rewr[io]t\w+|extract\w*|split|convert\w*|drop\w*"
    r"|delet\w+|replac\w+|unif\w+|inline|reformat\w*|annotat\w+|migrat\w+|port|bump|upgrad\w+|lint\w*|tidy",
}  # fmt: skip
_WORD: Final = re.compile(
    "|".join(rf"(?P<{kind}>\b(?:{_NAMES[kind]}|{words})\b)" for kind, words in _WORDS.items()), re.IGNORECASE
)
#: References such as "Fixes #12, #13:", in which "fixes" says nothing.
_REFERENCE: Final = re.compile(r"(?:\b(?:close|fix|resolve)(?:e?[sd])?:? )?(?:#|\bgh-)\d+,?", re.IGNORECASE)
#: The text before a word that opens a title: nothing, or a prefix such as "parser:" or "[core]".
_PREFIX: Final = re.compile(r"(?:^|[:\[\]/])[^\w\"'`]*$")
_UNSURE: Final = re.compile(r"(?:needs?|possible|potential|maybe|not)[ -:]|\?|tracker|wontfix|triage", re.IGNORECASE)
_TYPE: Final = re.compile(r"\s*([A-Za-z]+)(?:\([^()]{0,60}\))?!?:\s+")

_DECLARED: Final = 3.0  # bits of a label, or of a type such as `fix:`
_OPENING: Final = 2.0
_WITHIN: Final = 1.0
_NEW_NAME: Final = 3.0
_NEW_OPERATOR: Final = 1.5
_NOT_IMPORTABLE: Final = 2.0
_TINY: Final = 4  # changed lines of source
_LARGE: Final = 30
_FEW_TESTS: Final = 2
_MANY_TESTS: Final = 4

#: Initialising, copying, pickling, comparing and hashing are fixed more often than they are added.
_OFTEN_FIXED: Final = frozenset(
    {"__init__", "__new__", "__copy__", "__deepcopy__", "__reduce__", "__getstate__", "__setstate__", "__eq__",
     "__ne__", "__hash__"}
)  # fmt: skip
_MAX_TITLE: Final = 500
_SHOWN: Final = 4


@dataclass(frozen=True)
class Signal:
    """One sign of a kind of change.

    Attributes:
        name: the type of sign.
        bits: its weight.
        detail: the words or names in which it was seen.
    """

    name: str
    kind: Kind
    bits: float
    detail: str

    @property
    def bug_bits(self) -> float:
        """Return the bits for a fix, negative for other kinds."""
        return self.bits if self.kind in BUGS else -self.bits

    def __str__(self) -> str:
        return " ".join(f"{self.bug_bits:+.1f} {self.name}: {encodable(self.detail)}".split())[:200]


@dataclass(frozen=True)
class KindScore(BugScore):
    """A change's kind, and the score that decided it."""

    kind: Kind


def score_change(unit: MergedChange, enrichment: Enrichment | None = None) -> BugScore:
    """Return how strongly a change's words suggest a bug fix.

    ``enrichment`` has its words on GitHub.
    """
    return _score([*_words(unit, enrichment)])


def classify_kind(
    unit: MergedChange, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None = None
) -> KindScore:
    """Return a change's kind, and the score that decided it."""
    found = signals(unit, cut, outcomes, enrichment)
    bug = _score(found)
    kinds: list[Kind] = [signal.kind for signal in found if (signal.kind in BUGS) == (bug.score >= BUG_LIKE)]
    return KindScore(bug.score, bug.evidence, "security" if "security" in kinds else [*kinds, "bugfix"][0])


def signals(unit: MergedChange, cut: Cut, outcomes: TestOutcomes, enrichment: Enrichment | None = None) -> list[Signal]:
    """Return a change's signals: from words, from tests, from size."""
    return [*_words(unit, enrichment), *_tested(cut, outcomes), *_size(cut, outcomes)]


def without_type(title: str) -> str:
    """Return ``title`` without a type and scope such as ``fix(parser):``."""
    match = _TYPE.match(title)
    return title[match.end() :] if match is not None and _named(match[1]) else title


def _score(found: list[Signal]) -> BugScore:
    ordered = sorted(found, key=lambda signal: -signal.bits)
    return BugScore(sum(signal.bug_bits for signal in found), tuple(map(str, ordered)))


def _words(unit: MergedChange, enrichment: Enrichment | None) -> Iterator[Signal]:
    yield from _title_or_branch(unit)
    if enrichment is not None:
        if enrichment.title != unit.title:
            yield from _title("title on GitHub", enrichment.title)
        labels = [*enrichment.labels, *(label for issue in enrichment.issues for label in issue.labels)]
        kinds = {_named(label): label for label in reversed(labels) if not _UNSURE.search(label)}
        yield from (Signal("label", kind, _DECLARED, label) for kind, label in kinds.items() if kind is not None)
        for issue in enrichment.issues:
            yield from _title("issue", issue.title, 0.5)


def _title_or_branch(unit: MergedChange) -> list[Signal]:
    """Return the title's signals; without any, the branch's.

    For a merge without a title, the last line of its message counts, which is the subject of its first commit.
    """
    merged = unit.kind == "merge" and unit.message.startswith(unit.title) and unit.title.startswith("Merge ")
    title = unit.message.rpartition("\n* ")[2] if merged else unit.title
    return [*_title("title", title)] or [*_title("branch", unit.branch, 0.5)]


def _title(name: str, title: str, factor: float = 1.0) -> Iterator[Signal]:
    text = _REFERENCE.sub("", title[:_MAX_TITLE])
    typed = _TYPE.match(text)
    declared = _named(typed[1]) if typed is not None else None
    found: list[Signal] = []
    for match in _WORD.finditer(text):
        kind, opens = _kind(match), _PREFIX.search(text[: match.start()]) is not None
        if opens or kind != "refactor":  # a title may well mention docs, types or a split
            bits = factor * (_DECLARED if declared and not found else _OPENING if opens else _WITHIN)
            found.append(Signal(name if opens else f"in {name}", kind, bits, match[0].lower()))
    # "Add a test and fix the typo" is both; "fix X by adding Y" is a fix; "feat: handle X" is what its author declared.
    bug = sorted((signal for signal in found if signal.kind in BUGS), key=lambda signal: signal.kind != "security")
    yield from dict.fromkeys([*found[:1], *(bug[:1] if declared is None or declared in BUGS else ())])


def _named(text: str) -> Kind | None:
    words = re.findall(r"[A-Za-z]+", text)
    named = (kind for kind, names in _NAMES.items() if any(re.fullmatch(names, word, re.IGNORECASE) for word in words))
    return next(named, None)


def _kind(match: re.Match[str]) -> Kind:
    return next(kind for kind in _NAMES if match[kind])


def _tested(cut: Cut, outcomes: TestOutcomes) -> Iterator[Signal]:
    names = new_names(cut)
    operators = [name for name in names if _is_operator(_last(name))]
    others = [name for name in names if name not in operators]
    for sign, bits, found in (("tested new name", _NEW_NAME, others), ("new operator", _NEW_OPERATOR, operators)):
        if found:
            yield Signal(sign, "feature", bits, ", ".join(found[:_SHOWN]))
    tests = outcomes.fail_to_pass
    if all(outcomes.kinds.get(test) == "collection" or test in outcomes.none_to_pass for test in tests):
        yield Signal("not importable", "feature", _NOT_IMPORTABLE, "no failing test could be imported before")


def new_names(cut: Cut) -> list[str]:
    """Return public names that the fix adds and tests use.

    Moved names are not new. A new parameter, ``dumps().indent``, counts if tests give it to a function of the base. New
    operators, such as ``__add__``, always count as used.
    """
    before = {name for path in cut.fix for name in _declared(path, cut.base.get(path))}
    after = {name for path, file in cut.fix.items() for name in _declared(path, file)}
    gone = {_last(name) for name in before - after}
    tests = uses_of_tests(cut)
    # Options and plug-ins are named in string literals.
    tested = tests.words | tests.keywords | {word for text in tests.texts for word in IDENTIFIER.findall(text)}

    def used(name: str) -> bool:
        function, is_parameter, _ = name.partition("()")
        if is_parameter:
            return function in before and _last(function) in tests.called and _last(name) in tests.keywords
        return _last(name) in tested or _is_operator(_last(name))

    return sorted(name for name in after - before if _last(name) not in gone and used(name))


def _declared(path: str, file: TreeFile | None) -> Iterator[str]:
    source = read(path, file)
    for each in source.declarations() if source is not None else ():
        if each.public and each.kind not in {"import", "key", "attribute"} and each.name not in _OFTEN_FIXED:
            yield each.qualified
            yield from (f"{each.qualified}().{name}" for name in each.parameters)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_operator(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")  # tests use it without its name


def _size(cut: Cut, outcomes: TestOutcomes) -> Iterator[Signal]:
    lines, tests = cut.source_lines, len(outcomes.fail_to_pass)
    if lines <= _TINY:
        yield Signal("tiny", "bugfix", 1.5, count_of(lines, "changed line"))
    elif lines > _LARGE:
        yield Signal("large", "feature", 1.5, count_of(lines, "changed line"))
    if tests <= _FEW_TESTS:
        yield Signal("few tests", "bugfix", 0.5, f"{tests} fail-to-pass")
    elif tests >= _MANY_TESTS:
        yield Signal("many tests", "feature", 1.0, f"{tests} fail-to-pass")
